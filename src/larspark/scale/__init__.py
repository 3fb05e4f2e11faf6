"""Spark: a program cut by key and by time, the local engine inside every piece.

`cuts` says how a program can be cut. `batch` runs it over DataFrames; that module and `session`
need PySpark, the others do not.
"""
