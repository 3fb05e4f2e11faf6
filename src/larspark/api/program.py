"""Programs, what is known about them, and what a run of one needs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from larspark.analysis.checked import Checked
from larspark.analysis.window_sizes import has_sizes
from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError, Problem
from larspark.language import Parsed, load_program, parse_program, program_text, tree
from larspark.plan.build import plan
from larspark.plan.printed import plan_text
from larspark.run.interval.network_text import network_text
from larspark.run.prepare import Prepared, accepted, background_of, checked_with
from larspark.run.prepare import prepare as prepare_syntax
from larspark.run.protocol import Settings
from larspark.run.registry import Choice, choose
from larspark.run.session import Session
from larspark.show.report import report_json, report_text, summary_text


@dataclass(frozen=True, repr=False)
class Report:
    """What is known about a program before it runs."""

    checked: Checked
    choice: Choice
    background: tuple[Atom, ...] = ()
    settings: Settings = field(default_factory=Settings)

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self.checked.problems

    def plan(self) -> str:
        """The plan by which the interval engine evaluates the rules; raises what it cannot run."""
        return plan_text(plan(self.checked))

    def network(self) -> str:
        """The network that the interval engine compiles the rules to; raises what it cannot do."""
        return network_text(self.checked, self.background, self.settings)

    def to_json(self) -> dict[str, Any]:
        return report_json(self.checked, *self.choice)

    def summary(self) -> str:
        """The engine and why, how far back the program looks, and what it reads and derives."""
        return summary_text(self.checked, *self.choice)

    def __str__(self) -> str:
        return report_text(self.checked, *self.choice)

    def __repr__(self) -> str:
        return "\n".join([*(problem.render() for problem in self.problems), self.summary()])


class Program:
    """A parsed program.

    >>> program = Program.parse("q(X) :- [3] some a(X).")
    >>> program.check().checked.fragment.value
    'positive plain'
    """

    def __init__(self, syntax: tree.Program, warnings: Sequence[Problem] = ()) -> None:
        if not isinstance(syntax, tree.Program):
            raise TypeError("use `lp.Program.parse(text)` or `lp.Program.load(path)`")
        self.syntax = syntax
        self.warnings = tuple(warnings)

    @classmethod
    def parse(
        cls,
        text: str,
        *,
        dialect: str = "lars",
        source: str = "<program>",
        allow: Iterable[str | Path] = (),
        **options: str,
    ) -> "Program":
        """Read a program from text; everything that is wrong with it is raised at once.

        Its background files lie in the current directory or below, or in a directory of `allow`.
        `options` are those of the dialect, such as `reading="prefix"` of `ltl`.
        """
        parsed = parse_program(text, source=source, dialect=dialect, allow=allow, options=options)
        if parsed.program is None and text.endswith(".lars") and "\n" not in text:
            hint = "a program is given as its text; `lp.Program.load` reads one from a file"
            raise LarsparkError([replace(parsed.problems[0], hint=hint)])
        return cls._accept(parsed)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        dialect: str | None = None,
        allow: Iterable[str | Path] = (),
        **options: str,
    ) -> "Program":
        """Read a program from a file, with the files it includes.

        Without `dialect` the suffix of the file decides: `.lars`, `.cql`, `.ltl` and so on.
        Files that it names lie in its directory or below, or in a directory of `allow`. `options`
        are those of the dialect.
        """
        return cls._accept(load_program(path, dialect=dialect, allow=allow, options=options))

    @classmethod
    def _accept(cls, parsed: Parsed) -> "Program":
        return cls(accepted(parsed), parsed.problems)

    @cached_property
    def text(self) -> str:
        """The program in its one normalized form."""
        return program_text(self.syntax)

    def __str__(self) -> str:
        return self.text

    @property
    def tick(self) -> int | None:
        """How many microseconds a time point lasts, if the program says it."""
        return None if self.syntax.tick is None else self.syntax.tick.microseconds

    def check(self, background: Iterable[Atom] = (), *, settings: Settings | None = None) -> Report:
        """What is known about the program; problems are part of the report, not raised."""
        atoms = tuple(background)
        if has_sizes(self.syntax):
            # The data decides which windows there are.
            atoms = (*atoms, *background_of(self.syntax))
        settings = settings or Settings()
        checked = checked_with(self.syntax, atoms, settings)
        return Report(checked, choose(checked, settings), atoms, settings)


def prepare(
    program: Program, background: Iterable[Atom | str] = (), settings: Settings | None = None
) -> Prepared:
    """The program checked against its background data, or everything that is wrong with it."""
    return prepare_syntax(program.syntax, background, settings or Settings())


def open_session(
    program: Program, background: Iterable[Atom | str], engine: str, settings: Settings
) -> Session:
    """A session of a program on an engine."""
    return Session(*prepare(program, background, settings), engine, settings)
