"""Explanations as text trees, plain or with colours."""

from collections.abc import Iterable, Iterator

from rich.markup import escape

from larspark.show.outline import Kind, Row
from larspark.show.printable import printable

_STYLES = {
    Kind.CONCLUSION: "bold",
    Kind.RULE: "dim",
    Kind.PART: "",
    Kind.HOLDING: "green",
    Kind.MISSING: "red",
    Kind.NOTE: "italic",
}


def tree_lines(rows: Iterable[Row], people: bool) -> Iterator[str]:
    """The rows with branches before them; for people with Rich's markup.

    >>> rows = [
    ...     Row(0, Kind.CONCLUSION, "q at 3"),
    ...     Row(0, Kind.RULE, "q :- p.", "rules.lars:1", last=False),
    ...     Row(1, Kind.PART, "p", "@3 p"),
    ... ]
    >>> print(*tree_lines(rows, people=False), sep="\\n")
    q at 3
    │  q :- p.   rules.lars:1
    └─ p   @3 p
    """
    # closed[d]: the branch at depth d was the last one of its parent.
    closed: list[bool] = []
    for row in rows:
        if row.kind is Kind.RULE:
            before = _trunks(closed[1:]) + _trunks([row.last])
        else:
            del closed[row.depth :]
            branch = ("└─ " if row.last else "├─ ") if row.depth else ""
            before = _trunks(closed[1:]) + branch
            closed.append(row.last)
        yield before + _content(row, people)


def _trunks(closed: Iterable[bool]) -> str:
    return "".join("   " if done else "│  " for done in closed)


def _content(row: Row, people: bool) -> str:
    text = printable(row.signed_text)
    aside = printable(row.aside)
    if not people:
        return f"{text}   {aside}" if aside else text
    style = _STYLES[row.kind]
    text = f"[{style}]{escape(text)}[/]" if style else escape(text)
    return f"{text}   [cyan]{escape(aside)}[/]" if aside else text
