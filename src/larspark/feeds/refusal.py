"""Why one value was refused, before its place in a file is known."""

from larspark.base.problems import Problem, Span

# Lines longer than this are not shown with a problem.
_EXCERPT_LIMIT = 200


class Refused(Exception):  # noqa: N818 - never leaves the room: it becomes a Problem
    """A text or value that cannot be taken, with the place inside it, counted from 0.

    `quoted` is the text that the place counts in, when the line holds that text in quotes.
    """

    def __init__(
        self, code: str, message: str, hint: str = "", offset: int = 0, quoted: str | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.offset = offset
        self.quoted = quoted

    def moved(self, by: int) -> "Refused":
        """The same refusal for a text that begins `by` characters later."""
        return Refused(self.code, self.message, self.hint, self.offset + by)

    def inside(self, quoted: str) -> "Refused":
        """The same refusal for a line that holds the text in quotes."""
        return Refused(self.code, self.message, self.hint, self.offset, quoted)

    def of_column(self, name: str) -> "Refused":
        """The same refusal for a value of a column."""
        return Refused(self.code, f"column `{name}`: {self.message}", self.hint)

    def at(self, source: str, line: int, text: str = "", column: int = 1) -> Problem:
        """The problem, for a text that is `line` of `source` or begins there at `column`.

        >>> print(Refused("L310", "a time is missing", offset=2).at("a.jsonl", 7, "{ }").render())
        a.jsonl:7:3: error L310: a time is missing
          7 | { }
            |   ^
        """
        if self.quoted is None:
            column += self.offset
        elif (place := text.find(f'"{self.quoted}"')) >= 0:
            # Not found with escapes in it; then the line as a whole is the place.
            column += place + 1 + self.offset
        span = Span(source, line, column, line, column + 1)
        shown = text if len(text) <= _EXCERPT_LIMIT else ""
        return Problem(self.code, self.message, span, self.hint, line_text=shown)
