"""Streaming on Spark: one engine for each shard of keys, its state in Spark's state store.

Facts walk `intake` (rows to facts, packed for their shards), `step` (one shard, one micro-batch:
nothing of Spark) and `output` (answers as rows). `query` puts them together for Spark; that
module, `operator` and `failures` need PySpark, the others do not.
"""
