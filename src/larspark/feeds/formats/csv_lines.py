"""CSV line by line, as it comes from live sources."""

from collections.abc import Iterable, Iterator

from larspark.base.atoms import Atom
from larspark.base.problems import Problem
from larspark.base.terms import Constant
from larspark.feeds.byte_source import text_of
from larspark.feeds.conversions import text_argument
from larspark.feeds.formats.csv_layout import CsvLayout, header_cells, split_line
from larspark.feeds.mapping import ColumnName, Kind, Mapping
from larspark.feeds.ordering import Arrival
from larspark.feeds.reading import Options, Refused
from larspark.feeds.times import LARGE_TIME, time_point, warn_of_unit

_MISSING = ("", "NaN", "nan", "NAN")
# The sources whose headers are remembered.
_REMEMBERED = 1000


class CsvLines:
    """A reader of CSV records, one per line.

    The first line of a source, such as a connection, is a header if it names the columns of the
    mappings. Without types, a cell is a number if it is a plain one, else text.
    """

    def __init__(self, mappings: tuple[Mapping, ...], options: Options, layout: CsvLayout) -> None:
        self.timestamps = False
        self._mappings = mappings
        self._options = options
        self._layout = layout
        named = (name for mapping in mappings for name in mapping.columns)
        self._needed = list(dict.fromkeys(name for name in named if name))
        # The delimiter of a source, and the positions of its columns.
        self._known: dict[str, tuple[str, dict[str, int], int]] = {}
        self._warned = False

    def arrivals(
        self, lines: Iterable[bytes | None], first: int, source: str, stamp: int = 0
    ) -> Iterator[Arrival | Problem]:
        """The arrivals of lines, numbered from `first`; `stamp` is the time of rows without one.

        An invalid line gives a problem in its place, an invalid cell one for each mapping.
        """
        for number, line in enumerate(lines, first):
            try:
                text = text_of(line).removesuffix("\r")
                if not text or (number == 1 and self._is_header(text, source)):
                    continue
                row = self._row(text, source)
            except Refused as refused:
                yield refused.at(source, number, (line or b"").decode(errors="replace"))
                continue
            for mapping in self._mappings:
                try:
                    yield self._time(row, mapping, stamp), (_atom(row, mapping),), number
                except Refused as refused:
                    yield refused.at(source, number, text)

    @property
    def holding(self) -> bool:
        """False: every line has all of its facts."""
        return False

    def rest(self) -> tuple[()]:
        """Nothing: every line has all of its facts."""
        return ()

    def _is_header(self, text: str, source: str) -> bool:
        """Whether the first line of a source is a header, which is then remembered."""
        delimiter = self._layout.delimiter_of(text, self._needed)
        cells = header_cells(text.removeprefix("\ufeff"), delimiter)
        columns = self._layout.columns
        if columns is not None:
            places = {name: place for place, name in enumerate(columns)}
            self._remember(source, delimiter, places, len(columns))
            return tuple(cells) == columns
        if {*self._needed} <= {*cells}:
            places = {name: place for place, name in enumerate(cells)}
            self._remember(source, delimiter, places, len(cells))
            return True
        return False

    def _remember(self, source: str, delimiter: str, places: dict[str, int], width: int) -> None:
        if len(self._known) >= _REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[source] = delimiter, places, width

    def _row(self, text: str, source: str) -> dict[str, str]:
        """The needed cells of a line by the names of their columns."""
        known = self._known.get(source)
        if known is None:
            named = ", ".join(f"`{name}`" for name in self._needed)
            hint = "begin with a header, or name the columns: `--columns time,sensor,value`"
            raise Refused("L304", f"no header has named the columns {named}", hint)
        delimiter, places, width = known
        cells = split_line(text, delimiter)
        if len(cells) != width:
            raise Refused("L316", f"the record has {len(cells)} values, not {width}")
        missing = [name for name in self._needed if name not in places]
        if missing:
            raise Refused("L304", f"there is no column `{missing[0]}`")
        return {name: cells[places[name]] for name in self._needed}

    def _time(self, row: dict[str, str], mapping: Mapping, stamp: int) -> int:
        if not mapping.time:
            return stamp
        text = row[mapping.time]
        try:
            _check_present(text)
            value = text if mapping.unit is not None else text_argument(text, None)
            t = time_point(value, self._options.tick, mapping.unit, self._options.local)
        except Refused as refused:
            raise refused.of_column(mapping.time) from None
        if mapping.unit is not None or isinstance(value, str):
            self.timestamps = True
        if t > LARGE_TIME and mapping.unit is None and type(value) is int and not self._warned:
            self._warned = warn_of_unit(t, self._options.tick)
        return t


def _atom(row: dict[str, str], mapping: Mapping) -> Atom:
    args: list[Constant] = []
    for arg in mapping.args:
        if not isinstance(arg, ColumnName):
            args.append(arg)
            continue
        try:
            _check_present(row[arg.name])
            args.append(text_argument(row[arg.name], arg.kind or Kind.PLAIN_OR_TEXT))
        except Refused as refused:
            raise refused.of_column(arg.name) from None
    return Atom(mapping.predicate, tuple(args))


def _check_present(cell: str) -> None:
    if cell in _MISSING:
        raise Refused("L313", "there is no value")
