"""The table of dialects. A new dialect is a module beside this one and a line in the table."""

from pathlib import Path

from larspark.language.dialect import Dialect
from larspark.language.dialects.cql import CQL
from larspark.language.dialects.etalis import ETALIS
from larspark.language.dialects.lars import LARS
from larspark.language.dialects.laser import LASER
from larspark.language.dialects.ltl import LTL
from larspark.language.dialects.sparql import CQELS, CSPARQL, RSPQL
from larspark.language.dialects.ticker import TICKER

_ALL = (LARS, TICKER, LASER, LTL, ETALIS, CQL, CSPARQL, CQELS, RSPQL)
DIALECTS: dict[str, Dialect] = {dialect.name: dialect for dialect in _ALL}


def dialect_of(path: Path) -> Dialect:
    """The dialect of a file by its suffix; LARS when no dialect has the suffix.

    >>> dialect_of(Path("cooling.laser")).name, dialect_of(Path("rules.txt")).name
    ('laser', 'lars')
    """
    return next((known for known in DIALECTS.values() if path.suffix in known.suffixes), LARS)
