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


def tree_lines(rows: Iterable[Row], people: bool, width: int | None = None) -> Iterator[str]:
    """The rows with branches before them; for people with Rich's markup.

    What stands aside of a row goes below it where both do not fit the width.

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
        text, aside = printable(row.signed_text), printable(row.aside)
        fits = width is None or len(before) + len(text) + 3 + len(aside) <= width
        if fits or not aside:
            yield before + _content(row.kind, text, aside, people)
        else:
            below = before if row.kind is Kind.RULE else _trunks(closed[1:])
            yield before + _content(row.kind, text, "", people)
            yield below + _content(row.kind, "", aside, people)


def _trunks(closed: Iterable[bool]) -> str:
    return "".join("   " if done else "│  " for done in closed)


def _content(kind: Kind, text: str, aside: str, people: bool) -> str:
    if not people:
        return f"{text}   {aside}" if aside else text
    style = _STYLES[kind]
    text = f"[{style}]{escape(text)}[/]" if style and text else escape(text)
    return f"{text}   [cyan]{escape(aside)}[/]" if aside else text
