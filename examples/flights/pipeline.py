"""The pipeline on Spark: raw tables to facts, facts to answers, answers to typed tables.

Every function maps DataFrames to DataFrames, so the same pipeline runs over files (`run.py`) and
over files that arrive day by day (`../pipeline`).
"""

from pathlib import Path
from typing import Any

from flights import FLIGHTS, WEATHER
from pyspark.sql import DataFrame, SparkSession

import larspark as lp
from larspark.spark import outputs, run

PROGRAM = Path(__file__).parent / "program.lars"

FLIGHT_COLUMNS = (
    "year int, month int, day int, dep_time int, sched_dep_time int, dep_delay int, arr_time int, "
    "sched_arr_time int, arr_delay int, carrier string, flight int, tailnum string, "
    "origin string, dest string, air_time int, distance int, hour int, minute int, "
    "time_hour timestamp"
)
WEATHER_COLUMNS = (
    "origin string, year int, month int, day int, hour int, temp double, dewp double, "
    "humid double, wind_dir int, wind_speed double, wind_gust double, precip double, "
    "pressure double, visib double, time_hour timestamp"
)

# The columns of the answers of each predicate.
TABLES = {
    "late/3": "plane string, flight long, airport string",
    "knock_on/3": "plane string, before long, flight long",
    "unexplained/2": "flight long, airport string",
    "rough/2": "airport string, kind string",
    "stranded/2": "airport string, kind string",
    "trouble/1": "airport string",
    "recovered/1": "airport string",
}


def raw_table(reader: Any, path: Path, columns: str) -> DataFrame:
    """A raw CSV table; `reader` is `spark.read` or `spark.readStream`."""
    return reader.schema(columns).csv(str(path), header=True, nullValue="NA")


def facts(flights: DataFrame, weather: DataFrame) -> dict[str, DataFrame]:
    """The facts of each predicate: their time in the column `at`, then the arguments."""
    departed = flights.where("dep_delay is not null and tailnum is not null").selectExpr(
        "timestamp_seconds(unix_seconds(time_hour) + 60 * (minute + dep_delay)) as at",
        "tailnum as plane",
        "flight",
        "origin as airport",
        "dep_delay as delay",
    )
    cancelled = flights.where("dep_time is null").selectExpr(
        "timestamp_seconds(unix_seconds(time_hour) + 60 * minute) as at",
        "origin as airport",
        "flight",
    )
    hourly = weather.where("wind_speed is not null and visib is not null").selectExpr(
        "time_hour as at", "origin as airport", "wind_speed", "visib", "precip"
    )
    return {"departed": departed, "cancelled": cancelled, "weather": hourly}


def read_facts(spark: SparkSession, folder: Path) -> dict[str, DataFrame]:
    """The facts of the raw tables in a folder."""
    flights = raw_table(spark.read, folder / FLIGHTS, FLIGHT_COLUMNS)
    weather = raw_table(spark.read, folder / WEATHER, WEATHER_COLUMNS)
    return facts(flights, weather)


def answers(found: dict[str, DataFrame]) -> DataFrame:
    """The answers of the program over all facts, as maximal intervals of time points."""
    return run(lp.Program.load(PROGRAM), found, time="at")


def typed_tables(intervals: DataFrame) -> dict[str, DataFrame]:
    """One table for each predicate: typed arguments, time points, timestamps, and the month."""
    return {
        name.partition("/")[0]: table.selectExpr(
            "* except (day)", "date_format(day, 'yyyy-MM') month"
        )
        for name, table in outputs(intervals, TABLES, lp.Program.load(PROGRAM)).items()
    }


def write_tables(tables: dict[str, DataFrame], folder: Path) -> None:
    """Write each table as Parquet, partitioned by month."""
    for name, table in tables.items():
        table.write.mode("overwrite").partitionBy("month").parquet(str(folder / name))


def read_tables(spark: SparkSession, folder: Path) -> dict[str, DataFrame]:
    """The tables that were written; an empty table has no files, so the schema is given."""
    times = "`from` long, `to` long, begins timestamp, ends timestamp, month string"
    return {
        name.partition("/")[0]: spark.read.schema(f"{columns}, {times}").parquet(
            str(folder / name.partition("/")[0])
        )
        for name, columns in TABLES.items()
    }


def arguments(predicate: str) -> list[str]:
    """The argument columns of a predicate."""
    [columns] = (text for name, text in TABLES.items() if name.startswith(f"{predicate}/"))
    return [column.split()[0] for column in columns.split(",")]


def intervals_of(tables: dict[str, DataFrame]) -> list[tuple[lp.Atom, int, int]]:
    """The rows of typed tables as atoms with their intervals, in time order."""
    found = []
    for predicate, table in tables.items():
        columns = [*arguments(predicate), "from", "to"]
        for row in table.select(*columns).toArrow().to_pylist():
            *args, begin, end = (row[name] for name in columns)
            found.append((lp.fact(predicate, *args), begin, end))
    return sorted(found, key=lambda row: (row[1], str(row[0])))
