"""Explanations as pictures: the rows of the tree with lines between them."""

from collections.abc import Iterable, Iterator

from larspark.show.outline import Kind, Row
from larspark.show.svg import CHARACTER, label, line, picture

ROW_HEIGHT = 24
INDENT = 26
MARGIN = 14
# Longer texts are cut, and shown whole when the mouse rests on them.
TEXT_LENGTH = 110

_COLOURS = {
    Kind.CONCLUSION: "#1d4ed8",
    Kind.RULE: "#6b7280",
    Kind.PART: "#111827",
    Kind.HOLDING: "#15803d",
    Kind.MISSING: "#b91c1c",
    Kind.NOTE: "#6b7280",
}
_BRANCH = "#9ca3af"
_ASIDE = "#0e7490"


def tree_svg(rows: Iterable[Row], title: str) -> str:
    """The rows as a picture in one piece."""
    rows = list(rows)
    width = 2 * MARGIN + max((_row_width(row) for row in rows), default=0)
    height = 2 * MARGIN + ROW_HEIGHT * len(rows)
    return picture(width, height, title, [*_branches(rows), *_texts(rows)])


def _left(row: Row) -> int:
    return MARGIN + INDENT * (row.depth + (row.kind is Kind.RULE))


def _middle(number: int) -> float:
    return MARGIN + ROW_HEIGHT * (number + 0.5)


def _row_width(row: Row) -> int:
    texts = min(len(row.signed_text), TEXT_LENGTH) + min(len(row.aside), TEXT_LENGTH)
    return INDENT * (row.depth + 1) + CHARACTER * (texts + 3)


def _texts(rows: list[Row]) -> Iterator[str]:
    for number, row in enumerate(rows):
        weight = 'font-weight="bold"' if row.kind is Kind.CONCLUSION else ""
        x, y = _left(row), _middle(number) + 4
        yield label(x, y, row.signed_text, _COLOURS[row.kind], weight, TEXT_LENGTH)
        if row.aside:
            x += CHARACTER * (min(len(row.signed_text), TEXT_LENGTH) + 3)
            yield label(x, y, row.aside, _ASIDE, "", TEXT_LENGTH)


def _branches(rows: list[Row]) -> Iterator[str]:
    """A line from every row to its parent."""
    # parents[d]: the latest row at depth d.
    parents: list[int] = []
    for number, row in enumerate(rows):
        if row.kind is Kind.RULE or row.kind is Kind.NOTE:
            continue
        del parents[row.depth :]
        if row.depth and parents:
            x = MARGIN + INDENT * (row.depth - 1) + INDENT / 3
            y = _middle(number)
            yield line(x, _middle(parents[-1]) + ROW_HEIGHT / 3, x, y, _BRANCH)
            yield line(x, y, x + INDENT / 2, y, _BRANCH)
        parents.append(number)
