"""Statements that were read before, so that a text that changes is read only where it changed."""

from typing import Any

from larspark.language.grammar import read_statement
from larspark.language.source import MAX_PROBLEMS
from larspark.language.tokens import Statement
from larspark.language.tree import Rule

_MOST = 50_000


class KeptStatements:
    """Reads statements as `read_statement` does; those without problems are kept.

    A rule that is kept is the same object each time, until its text, its place or the length of
    time points changes.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[object, ...], Rule] = {}

    def read(self, statement: Statement) -> tuple[Any | None, Statement | None]:
        """The rule that a statement holds, and the rest behind a missing dot."""
        key = _key(statement)
        known = self._kept.get(key)
        if known is not None:
            return known, None
        problems = statement.tokens[0].source.problems
        before = len(problems)
        result, rest = read_statement(statement)
        # From so many warnings on, further ones are dropped.
        if isinstance(result, Rule) and rest is None and before == len(problems) < MAX_PROBLEMS:
            if len(self._kept) >= _MOST:
                self._kept.clear()
            self._kept[key] = result
        return result, rest


def _key(statement: Statement) -> tuple[object, ...]:
    """What a rule depends on: its text and its place, and the length of time points."""
    first, last = statement.tokens[0], statement.end or statement.tokens[-1]
    source = first.source
    if first.line == last.line:
        text = source.lines[first.line - 1][first.column - 1 : last.end_column - 1]
    else:
        lines = source.lines[first.line - 1 : last.line]
        lines[0] = lines[0][first.column - 1 :]
        lines[-1] = lines[-1][: last.end_column - 1]
        text = "\n".join(lines)
    return (text, first.line, first.column, source.name, source.tick, statement.end is None)
