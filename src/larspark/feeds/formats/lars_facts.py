"""Facts in the language itself: `@36 tram(a1,b).` in streams, `line(a1,l1).` in background data.

A fact may span lines, and a line may hold several facts; comments are those of the language.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, NamedTuple

from larspark.base.atoms import Atom
from larspark.base.problems import Problem
from larspark.feeds.byte_source import LINE_LIMIT, line_blocks, text_of
from larspark.feeds.ground_atoms import GroundAtoms, number
from larspark.feeds.ordering import Arrival, Blocks
from larspark.feeds.reading import Refused
from larspark.feeds.times import time_point

# Quantifiers are possessive, so that matching takes linear time.
_ONE_FACT = re.compile(r'\s*+@([0-9]{1,18})\s++([^%/"@\s][^%/"@]*)\.\s*+')
# Text that neither ends a fact nor begins a comment. A dot between digits is part of a number.
_ORDINARY = re.compile(r'(?:[^"%/.]++|"(?:[^"\\]++|\\.)*+"|/(?![/*])|(?<=[0-9])\.(?=[0-9]))*+')
_CLOSING = {"%*": "*%", "/*": "*/"}
_TIME = re.compile(r"@\s*(-?[0-9]+)")
_BEFORE_BODY = re.compile(r'(?:[^":]++|"(?:[^"\\\n]++|\\.)*+"?+|:(?!-))*+')


class Statement(NamedTuple):
    """A statement without its full stop and comments, and the position of its start."""

    text: str
    line: int
    column: int


def stream_blocks(file: BinaryIO, source: str) -> Blocks:
    """The stream facts of each block of lines."""
    return _blocks(file, source, _stream_fact)


def background_blocks(file: BinaryIO, source: str) -> Blocks:
    """The facts of background data, which has no times: every `t` is 0."""
    return _blocks(file, source, _background_fact)


_Fact = Callable[[str, GroundAtoms], tuple[int, Atom]]


def _blocks(file: BinaryIO, source: str, fact: _Fact) -> Blocks:
    atoms = GroundAtoms()
    splitter = _Splitter()
    number = 1
    for lines in line_blocks(file):
        yield _arrivals(lines, number, source, splitter, atoms, fact)
        number += len(lines)
    if unfinished := splitter.unfinished(source):
        yield [unfinished]


def _arrivals(
    lines: Iterable[bytes | None],
    first: int,
    source: str,
    splitter: "_Splitter",
    atoms: GroundAtoms,
    fact: _Fact,
) -> Iterator[Arrival | Problem]:
    for place, line in enumerate(lines, first):
        try:
            text = text_of(line)
            if splitter.idle and fact is _stream_fact and (simple := _ONE_FACT.fullmatch(text)):
                try:
                    yield int(simple[1]), (atoms[simple[2]],), place
                    continue
                except Refused:
                    pass
            for statement in splitter.split(text, place):
                try:
                    t, atom = fact(statement.text, atoms)
                    yield t, (atom,), statement.line
                except Refused as refused:
                    yield _problem(refused, statement, source, text, place)
        except Refused as refused:
            yield refused.at(source, place)


def _stream_fact(text: str, atoms: GroundAtoms) -> tuple[int, Atom]:
    _only_facts(text)
    time = _TIME.match(text)
    if time is None:
        raise Refused("L315", "a fact of a stream begins with its time", "write `@36 tram(a1,b).`")
    return time_point(number(time[1]), None), _atom(text, time.end(), atoms)


def _background_fact(text: str, atoms: GroundAtoms) -> tuple[int, Atom]:
    _only_facts(text)
    if text.startswith("@"):
        raise Refused("L315", "background data has no time", "write `line(a1,l1).`")
    return 0, _atom(text, 0, atoms)


def _only_facts(text: str) -> None:
    if text.startswith("#"):
        raise Refused("L315", "a directive is not allowed among facts")
    head = _BEFORE_BODY.match(text)
    if head and head.end() < len(text):
        raise Refused("L315", "a rule is not allowed among facts", offset=head.end())


def _atom(text: str, start: int, atoms: GroundAtoms) -> Atom:
    try:
        return atoms[text[start:]]
    except Refused as refused:
        raise refused.moved(start) from None


def _problem(
    refused: Refused, statement: Statement, source: str, last_line: str, last: int
) -> Problem:
    """The problem at the line of the error, also for a statement over several lines."""
    before = statement.text[: refused.offset]
    line = statement.line + before.count("\n")
    column = statement.column if line == statement.line else 1
    inside = len(before) - (before.rfind("\n") + 1)
    placed = Refused(refused.code, refused.message, refused.hint, inside)
    return placed.at(source, line, last_line if line == last else "", column)


class _Splitter:
    """Splits lines into statements. Comments become spaces, so that positions stay valid."""

    def __init__(self) -> None:
        self._closing = ""
        self._opened = (1, 1)
        self._parts: list[str] = []
        self._size = 0
        self._start = (1, 1)

    @property
    def idle(self) -> bool:
        """Whether no statement or comment is open."""
        return not self._closing and not self._parts

    def split(self, line: str, number: int) -> Iterator[Statement]:
        """The statements that end in this line."""
        position = 0
        while position < len(line):
            if self._closing:
                end = line.find(self._closing, position)
                closed = len(line) if end < 0 else end + 2
                self._closing = self._closing if end < 0 else ""
                self._add(" " * (closed - position), number, position)
                position = closed
                continue
            end = _ordinary_end(line, position)
            self._add(line[position:end], number, position)
            position = end + 1
            match line[end : end + 2]:
                case "%*" | "/*" as opening:
                    self._closing, self._opened = _CLOSING[opening], (number, end + 1)
                    self._add("  ", number, end)
                    position = end + 2
                case stop if stop.startswith("."):
                    if not self._parts:
                        self._start = (number, end + 1)
                    statement = Statement("".join(self._parts), *self._start)
                    self._parts, self._size = [], 0
                    yield statement
                case stop if stop.startswith('"'):
                    self._add(line[end:], number, end)
                    position = len(line)
                case _:
                    position = len(line)
        self._add("\n", number, position)
        if self._size > LINE_LIMIT:
            self._parts, self._size = [], 0
            raise Refused("L306", f"the statement is longer than {LINE_LIMIT} characters")

    def unfinished(self, source: str) -> Problem | None:
        """The problem of a statement or comment that is open at the end of the file."""
        if self._closing:
            refused = Refused("L315", "a comment is not closed", f"close it with `{self._closing}`")
            return refused.at(source, self._opened[0], column=self._opened[1])
        if self._parts:
            refused = Refused("L315", "the last fact is not finished", "end it with a full stop")
            return refused.at(source, self._start[0], column=self._start[1])
        return None

    def _add(self, text: str, line: int, position: int) -> None:
        if not self._parts:
            # Leading whitespace is not part of a statement.
            stripped = text.lstrip()
            if not stripped:
                return
            self._start = (line, position + len(text) - len(stripped) + 1)
            text = stripped
        self._parts.append(text)
        self._size += len(text)


def _ordinary_end(line: str, position: int) -> int:
    match = _ORDINARY.match(line, position)
    return match.end() if match else position
