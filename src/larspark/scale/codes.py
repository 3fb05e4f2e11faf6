"""The codes of problems that running on Spark reports."""

CODES: dict[str, str] = {
    "L480": "PySpark is not installed.",
    "L481": "Spark needs Java 17 or later, and there is none.",
    "L482": "The program cannot be cut as was asked.",
    "L483": "It is not clear which facts the rows of a DataFrame are.",
    "L484": "A column cannot say in which order facts arrived.",
    "L485": "The columns asked for do not fit an output predicate.",
    "L486": "The program uses a window that executors do not have.",
    "L487": "The files of a run on Spark cannot be read.",
    "L488": "Spark did not start.",
    "L495": "A query on Spark failed.",
}
