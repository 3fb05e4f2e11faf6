"""Why one value was refused, before its place in a file is known."""

from larspark.base.problems import Problem, Span

# Lines longer than this are not shown with a problem.
_EXCERPT_LIMIT = 200


class Refused(Exception):  # noqa: N818 - never leaves the room: it becomes a Problem
    """A text or value that cannot be taken, with the place inside it, counted from 0."""

    def __init__(self, code: str, message: str, hint: str = "", offset: int = 0) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.offset = offset

    def moved(self, by: int) -> "Refused":
        """The same refusal for a text that begins `by` characters later."""
        return Refused(self.code, self.message, self.hint, self.offset + by)

    def at(self, source: str, line: int, text: str = "", column: int = 1) -> Problem:
        """The problem, for a text that is `line` of `source` or begins there at `column`.

        >>> print(Refused("L310", "a time is missing", offset=2).at("a.jsonl", 7, "{ }").render())
        a.jsonl:7:3: error L310: a time is missing
          7 | { }
            |   ^
        """
        column += self.offset
        span = Span(source, line, column, line, column + 1)
        shown = text if len(text) <= _EXCERPT_LIMIT else ""
        return Problem(self.code, self.message, span, self.hint, line_text=shown)
