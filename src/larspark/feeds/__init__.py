"""Reading of streams and background data, and writing of answers."""

from larspark.feeds.background import read_background
from larspark.feeds.ground_atoms import atom_of_values, parse_ground_atom
from larspark.feeds.point_tables import PointTables
from larspark.feeds.stream import Stream, StreamOrTable, as_stream
from larspark.feeds.write import change_line, interval_line, point_line

__all__ = [
    "PointTables",
    "Stream",
    "StreamOrTable",
    "as_stream",
    "atom_of_values",
    "change_line",
    "interval_line",
    "parse_ground_atom",
    "point_line",
    "read_background",
]
