"""Streaming on Spark: one engine for each shard of keys, its state in Spark's state store.

Facts go through `intake` (rows to facts, packed for their shards), `shard_step` (one shard, one
micro-batch, without Spark) and `output` (answers as rows). `stream_query` builds the Spark query.
"""
