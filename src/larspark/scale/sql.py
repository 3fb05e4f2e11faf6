"""The part of PySpark that larspark uses, or the error that says how to get it."""

from larspark.base.problems import LarsparkError, Problem

try:
    from pyspark.errors import PySparkException
    from pyspark.sql import Column, DataFrame, SparkSession, Window, functions
except ImportError as error:
    if error.name is None or not error.name.startswith("pyspark"):
        raise
    hint = "install it with `pip install 'larspark[spark]'`"
    raise LarsparkError(Problem("L480", "Spark needs the package pyspark", hint=hint)) from None

__all__ = ["Column", "DataFrame", "PySparkException", "SparkSession", "Window", "functions"]
