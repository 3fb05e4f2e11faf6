"""CQL as SQL: at every time point the windows are tables of SQLite, and the query is asked anew.

Rows are sets, as in larspark, and a row with NULL is no row.
"""

import re
import sqlite3
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

Row = tuple[int | str, ...]
# Time, the name of the stream, and the row.
Event = tuple[int, str, Row]

COLUMNS = {"s": ("a", "b"), "u": ("b", "c"), "r": ("a", "c")}
STREAMS = ("s", "u")
SCHEMA = (
    "REGISTER STREAM S (a INTEGER, b INTEGER); REGISTER STREAM U (b INTEGER, c INTEGER);\n"
    "REGISTER RELATION R (a INTEGER, c INTEGER);\n"
)
_SOURCE = re.compile(r"(\w+)\[([^\]]+)\]")


class Step(NamedTuple):
    """A view or the answer: `text` is a SELECT or a set operation, windows in brackets.

    `operator` is ISTREAM, DSTREAM, RSTREAM or empty; the columns are called `columns`.
    """

    name: str
    columns: tuple[str, ...]
    text: str
    operator: str = ""

    def cql(self) -> str:
        text = f"{self.operator}({self.text})" if self.operator else self.text
        view = f"CREATE VIEW {self.name} ({', '.join(self.columns)}) AS " if self.name else ""
        return f"{view}{text};\n"


def script(steps: Sequence[Step]) -> str:
    return SCHEMA + "".join(step.cql() for step in steps)


def answers(
    steps: Sequence[Step],
    events: Sequence[Event],
    relation: Sequence[Row],
    times: range,
    half_open: bool = False,
) -> dict[int, set[Row]]:
    """The rows of the last step at every time point."""
    emitted: list[Event] = list(events)
    columns = dict(COLUMNS)
    streams = set(STREAMS)
    before: dict[str, set[Row]] = {}
    found: dict[int, set[Row]] = {}
    for t in times:
        for step in steps:
            connection = sqlite3.connect(":memory:")
            connection.create_aggregate("sum", 1, _Sum)
            connection.create_aggregate("avg", 1, _Average)
            if step.name:
                columns[step.name] = step.columns
            _fill(connection, "r", COLUMNS["r"], [(0, row) for row in relation])
            for name, rows in before.items():
                if name in columns and name not in streams:
                    _fill(connection, name, columns[name], [(0, row) for row in sorted(rows)])
            query = _with_tables(connection, step.text, emitted, columns, t, times.start, half_open)
            rows = {row for row in connection.execute(query) if None not in row}
            connection.close()
            key = step.name or "answer"
            earlier = before.get(f"{key} rows", set())
            before[f"{key} rows"] = rows
            out = {"ISTREAM": rows - earlier, "DSTREAM": earlier - rows}.get(step.operator, rows)
            if step.operator and step.name:
                streams.add(step.name)
                emitted += [(t, step.name, row) for row in sorted(out)]
            before[key] = out
            found[t] = out
    return found


class _Sum:
    """The exact sum, rounded once; SQLite rounds after each number."""

    def __init__(self) -> None:
        self.numbers: list[int | float] = []

    def step(self, number: int | float | None) -> None:
        if number is not None:
            self.numbers.append(number)

    def finalize(self) -> int | float | None:
        if all(isinstance(number, int) for number in self.numbers):
            return sum(self.numbers) if self.numbers else None
        return float(sum(map(Fraction, self.numbers)))


class _Average(_Sum):
    def finalize(self) -> float | None:
        if not self.numbers:
            return None
        return float(sum(map(Fraction, self.numbers)) / len(self.numbers))


def _with_tables(
    connection: sqlite3.Connection,
    text: str,
    events: Sequence[Event],
    columns: dict[str, tuple[str, ...]],
    t: int,
    start: int,
    half_open: bool,
) -> str:
    """Make a table of each window; returns the query over these tables."""
    tables: dict[str, str] = {}

    def table(match: re.Match[str]) -> str:
        name, window = match[1].lower(), match[2]
        if match[0] not in tables:
            tables[match[0]] = f"w{len(tables)}"
            rows = [(at, row) for at, stream, row in events if stream == name and at <= t]
            kept = _window(rows, window, columns[name], t, half_open)
            _fill(connection, tables[match[0]], columns[name], kept)
        return tables[match[0]]

    return _SOURCE.sub(table, text)


def _window(
    rows: list[tuple[int, Row]], window: str, columns: tuple[str, ...], t: int, half_open: bool
) -> list[tuple[int, Row]]:
    words = window.split()
    match words[0]:
        case "NOW":
            return [(at, row) for at, row in rows if at == t]
        case "ROWS":
            return rows[-int(words[1]) :]
        case "PARTITION":
            keys, number = window.removeprefix("PARTITION BY ").split(" ROWS ")
            places = [columns.index(key) for key in keys.split(", ")]
            groups: dict[Row, list[tuple[int, Row]]] = {}
            for at, row in rows:
                groups.setdefault(tuple(row[place] for place in places), []).append((at, row))
            return [entry for group in groups.values() for entry in group[-int(number) :]]
    if words[1] == "UNBOUNDED":
        return rows
    size, pivot = int(words[1]), t
    if "SLIDE" in words:
        pivot = t // int(words[3]) * int(words[3])
    first = pivot - size + (1 if half_open and size else 0)
    return [(at, row) for at, row in rows if first <= at <= pivot]


def _fill(
    connection: sqlite3.Connection,
    name: str,
    columns: tuple[str, ...],
    rows: Sequence[tuple[int, Row]],
) -> None:
    connection.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
    marks = ", ".join("?" for _ in columns)
    connection.executemany(
        f"INSERT INTO {name} VALUES ({marks})",
        [row for _, row in rows],
    )
