"""The part of PySpark that larspark uses, or the error that says how to get it."""

from larspark.base.problems import LarsparkError, Problem

try:
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException
    from pyspark.sql import Column, DataFrame, GroupedData, Row, SparkSession, Window, functions
    from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
    from pyspark.sql.streaming.listener import StreamingQueryListener
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
except ImportError as error:
    if error.name is None or not error.name.startswith("pyspark"):
        raise
    hint = "install it with `pip install 'larspark[spark]'`"
    raise LarsparkError(Problem("L480", "Spark needs the package pyspark", hint=hint)) from None

__all__ = [
    "Column",
    "DataFrame",
    "DataSource",
    "DataSourceStreamReader",
    "GroupedData",
    "InputPartition",
    "Py4JJavaError",
    "PySparkException",
    "Row",
    "SparkSession",
    "StatefulProcessor",
    "StatefulProcessorHandle",
    "StreamingQuery",
    "StreamingQueryListener",
    "Window",
    "functions",
]
