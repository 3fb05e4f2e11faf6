"""The table of dialects. A new dialect is a module beside this one and a line in the table."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from larspark.language.dialect import Dialect, Parsed, ProgramText


def _parser(module: str, function: str = "parse") -> Callable[[ProgramText], Parsed]:
    """A function of a dialect's module, which is loaded when a text of the dialect is read."""

    def parse(text: ProgramText) -> Parsed:
        read: Callable[[ProgramText], Parsed] = getattr(
            import_module(f"{__name__}.{module}"), function
        )
        return read(text)

    return parse


_LARS = Dialect("lars", (".lars",), _parser("lars"))
_ALL = (
    _LARS,
    Dialect("ticker", (".ticker",), _parser("ticker")),
    Dialect("laser", (".laser",), _parser("laser")),
    Dialect("ltl", (".ltl",), _parser("ltl"), ("reading",)),
    Dialect("etalis", (".event",), _parser("etalis")),
    Dialect("cql", (".cql",), _parser("cql"), ("tick", "range")),
    Dialect("csparql", (".csparql",), _parser("sparql", "csparql"), ("tick", "t0")),
    Dialect("cqels", (".cqels",), _parser("sparql", "cqels"), ("tick", "report")),
    Dialect("rspql", (".rspql",), _parser("sparql", "rspql"), ("tick", "t0")),
)
DIALECTS: dict[str, Dialect] = {dialect.name: dialect for dialect in _ALL}


def dialect_of(path: Path) -> Dialect:
    """The dialect of a file by its suffix; LARS when no dialect has the suffix.

    >>> dialect_of(Path("cooling.laser")).name, dialect_of(Path("rules.txt")).name
    ('laser', 'lars')
    """
    return next((known for known in DIALECTS.values() if path.suffix in known.suffixes), _LARS)
