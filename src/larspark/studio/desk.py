"""The program of a studio, its stream, and the runs that follow its changes."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from larspark import api
from larspark.base.atoms import Signature
from larspark.base.problems import LarsparkError, Problem, Severity
from larspark.language.formatting import laid_out
from larspark.language.tree import Program
from larspark.lsp.document import Document
from larspark.lsp.features import completions, hover
from larspark.studio.feed import Feed, OutdatedError
from larspark.studio.guard import Guard, OverMemoryError, over_memory, unexpected
from larspark.studio.outcome import Outcome
from larspark.studio.running import Opening, Places, Run

T = TypeVar("T")
# A question is not worked on for longer.
_PATIENCE_SECONDS = 30


class Desk:
    """What one studio works on. `changed` is called when there is something new to show."""

    def __init__(
        self,
        opening: Opening,
        path: Path | None,
        text: str,
        places: Places = Places(),  # noqa: B008
        memory: int | None = None,
    ) -> None:
        self.path = path
        self.places = places
        self.document = Document(text, path)
        # What the file holds.
        self.saved = text
        self.outcome = Outcome(0)
        self._opening = opening
        # The last version without errors, and what it reads.
        self._sound = Document("", None), Program(())
        self._read: Places | None = None
        # The most bytes that the process may take.
        self._memory = memory
        # How often each question was asked.
        self._asked: Counter[str] = Counter()
        self._wanted = 1
        # The first version that reads the data of now.
        self._data = 1
        self._stopped = False
        self._feed: Feed | None = None
        # What the feed was opened for: another program may read the same stream differently.
        self._feed_key: object = None
        self._news = threading.Condition()
        self.news = 0
        threading.Thread(target=self._work, name="runs", daemon=True).start()

    def edit(self, text: str) -> dict[str, Any]:
        """Take a new version of the program; its problems, and which version is to run then.

        A program without errors is run.
        """
        with self._news:
            if text != self.document.text:
                self.document = Document(text, self.path, self.document)
                self._want()
            document, wanted = self.document, self._wanted
        return {**checked_fields(document), "wanted": wanted}

    def use(self, places: Places) -> int:
        """Read another stream; the version that does."""
        with self._news:
            self.places = places
            self._want()
            self._data = self._wanted
            return self._data

    def _want(self) -> None:
        """Let a new version run; the page is told so."""
        self._wanted += 1
        self.news += 1
        self._news.notify_all()

    def stop(self) -> None:
        """End what runs."""
        with self._news:
            self._stopped = True
            self._want()
        if self._feed is not None:
            self._feed.stop()

    def save(self, name: str | None) -> str:
        """Write the program to its file, or to a new one in the current directory."""
        path = self.path
        if path is None:
            name = name or ""
            plain = name.removesuffix(".lars").replace("-", "").replace("_", "").isalnum()
            if not plain or not name.endswith(".lars"):
                hint = "such as `alarm.lars`: letters, digits, `-` and `_`"
                raise LarsparkError(
                    Problem("L505", f"`{name}` is no name for a program", hint=hint)
                )
            path = Path(name)
            if path.exists():
                hint = "choose another name"
                raise LarsparkError(Problem("L505", f"there is a file {path} already", hint=hint))
        self.saved = self.document.text
        path.write_text(self.saved, encoding="utf-8")
        if self.path is None:
            self.path = path
            with self._news:
                self.document = Document(self.document.text, path, self.document)
        return str(path)

    def wait(self, seen: int, seconds: float) -> int:
        """The number of the last news, as soon as it is not the one that was seen."""
        with self._news:
            self._news.wait_for(lambda: self.news != seen, seconds)
            return self.news

    def summary(self) -> dict[str, Any]:
        """Where the last run stands."""
        feed = self._feed
        with self._news:
            outcome, wanted, data = self.outcome, self._wanted, self._data
        fields = outcome.summary()
        fields["wanted"] = wanted
        fields["data"] = data
        fields["live"] = feed is not None and feed.live and not feed.over
        fields["failures"] = [problem_fields(problem) for problem in outcome.problems]
        return fields

    def models(self, at: int) -> dict[str, Any]:
        """The answer streams at a time point."""
        feed = self._feed
        batches = [] if feed is None else feed.known()
        return self._answer("models", lambda outcome: outcome.models(at, batches))

    def explained(self, text: str, at: int, model: int | None) -> dict[str, Any]:
        """Why an atom holds at a time point, or why not."""
        return self._answer("explain", lambda outcome: outcome.explained(text, at, model))

    def hypotheses(self, at: int, most: int) -> list[dict[str, Any]]:
        """What may come to hold after a time point."""
        return self._answer("hypotheses", lambda outcome: outcome.hypotheses(at, most))

    def _answer(self, name: str, question: Callable[[Outcome], T]) -> T:
        """The answer to a question, unless it is asked again before, or takes too long."""
        with self._news:
            self._asked[name] += 1
            number = self._asked[name]
        end = time.monotonic() + _PATIENCE_SECONDS

        def outdated() -> bool:
            return self._asked[name] != number or time.monotonic() > end

        try:
            return Guard(outdated, self._memory).run(lambda: question(self.outcome))
        except OverMemoryError:
            raise over_memory(self._memory or 0) from None
        except OutdatedError:
            if self._asked[name] != number:
                problem = Problem("L504", "another question has come before this one was answered")
                raise LarsparkError(problem) from None
            message = f"this takes longer than {_PATIENCE_SECONDS} s"
            hint = "narrower windows make it easier; the commands of larspark have more patience"
            raise LarsparkError(Problem("L431", message, hint=hint)) from None

    def _publish(self, outcome: Outcome) -> None:
        with self._news:
            if outcome.version != self._wanted:
                return
            self.outcome = outcome
            self.news += 1
            self._news.notify_all()

    def _work(self) -> None:
        version = 0
        while True:
            version, document = self._next(version)
            if self._stopped:
                return
            try:
                self._run(version, document)
            except OutdatedError:
                continue
            except OverMemoryError:
                self._fail(version, over_memory(self._memory or 0))
            except LarsparkError as error:
                self._fail(version, error)
            except Exception as error:
                self._fail(version, unexpected(error))

    def _fail(self, version: int, error: LarsparkError) -> None:
        """Show why a version does not run; the answers of the one before stay."""
        self._publish(replace(self.outcome, version=version, done=True, problems=error.problems))

    def _next(self, done: int) -> tuple[int, Document]:
        """The version that is to run, once it is not the one that was run."""
        with self._news:
            self._news.wait_for(lambda: self._wanted != done)
            return self._wanted, self.document

    def _run(self, version: int, document: Document) -> None:
        def outdated() -> bool:
            return self._wanted != version

        problems = document.problems()
        parsed = document.parsed.program
        if parsed is not None and not any(p.severity is Severity.ERROR for p in problems):
            self._sound = document, parsed
        elif self.outcome.checked is not None and self._read is self.places:
            # The answers of the last program without errors stay.
            self._publish(replace(self.outcome, version=version, done=True, problems=()))
            return
        document, parsed = self._sound
        places = self.places
        program = api.Program(parsed)
        feed = self._feed_for(program)
        guard = Guard(outdated, self._memory)

        def work() -> None:
            Run(version, document, program, self._opening, feed, self._publish, guard).go(outdated)

        guard.run(work)
        self._read = places

    def _feed_for(self, program: api.Program) -> Feed | None:
        """The stream as the program reads it."""
        places = self.places
        if not places.streams:
            return None
        key = (places, program.syntax.tick, program.syntax.named)
        if self._feed is None or key != self._feed_key:
            if self._feed is not None:
                self._feed.stop()
            self._feed = Feed(self._opening.stream(places, program))
            self._feed_key = key
        return self._feed


def checked_fields(document: Document) -> dict[str, Any]:
    """The problems of a program with what mends them, and what is known of it."""
    found = []
    for problem in document.problems():
        span, fix = problem.span, document.fix(problem)
        found.append(
            problem_fields(problem)
            | {
                "line": 1 if span is None else span.line,
                "column": 1 if span is None else span.column,
                "end_line": 1 if span is None else span.end_line,
                "end_column": 1 if span is None else span.end_column,
                "fix": None
                if fix is None
                else {
                    "line": fix.span.line,
                    "column": fix.span.column,
                    "end_column": fix.span.end_column,
                    "text": fix.text,
                    "title": fix.title.replace("`", ""),
                },
            }
        )
    return {"problems": found, "summary": document.summary()}


def problem_fields(problem: Problem) -> dict[str, Any]:
    """A problem without its place."""
    return {
        "code": problem.code,
        "severity": problem.severity.value,
        "message": problem.message,
        "hint": problem.hint,
    }


def completion_fields(
    document: Document, line: int, column: int, stream: Collection[Signature]
) -> list[dict[str, str]]:
    """What may stand at a place; `stream` are the predicates of the facts."""
    return [
        {
            "label": found.label,
            "kind": found.kind,
            "detail": found.detail,
            "snippet": found.snippet,
        }
        for found in completions(document, line, column, stream)
    ]


def hover_text(document: Document, line: int, column: int) -> str | None:
    """What is known of what stands at a place, in Markdown."""
    # What the predicates are is known once the text has been checked.
    document.problems()
    found = hover(document, line, column)
    return None if found is None else found[0]


def formatted(document: Document) -> str:
    """The program with normalized spaces."""
    return laid_out(document.text) if document.is_lars else document.text
