"""Explanations of an atom: the proof that it holds, or what is missing for it."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Element, atom_text
from larspark.base.problems import LarsparkError, Problem, Span
from larspark.feeds.time_format import POINTS, TimeFormat
from larspark.language import parse_formula
from larspark.language.nodes import variables
from larspark.language.tree import At, AtomFormula, Rule
from larspark.logic.traversal import is_ground
from larspark.run.protocol import Settings
from larspark.show.explain.knowledge import Derived, answers_at, find_evaluation, gather, narrow
from larspark.show.explain.outline import Kind, Row, proof_rows, why_not_rows
from larspark.show.explain.proof import Given, ModelChoice, Proof
from larspark.show.explain.proof_formats import proof_json, tree_lines, tree_svg, why_not_json
from larspark.show.explain.proving import prove
from larspark.show.explain.until import find_until
from larspark.show.explain.why_not import WhyNot, why_not
from larspark.show.report import problem_json
from larspark.show.time_text import moment_text, times_written

# An atom at a timestamp.
_STAMPED = re.compile(r"\s*@([0-9]{4}-[0-9][0-9]-\S+)\s+(.*)", re.DOTALL)


def compare_models(models: Sequence[Derived], goal: Element) -> ModelChoice:
    """In which answer streams an element holds, and what is true in exactly those.

    >>> from larspark.base.atoms import Atom
    >>> a, b, c = map(Atom, "abc")
    >>> compare_models([{1: [a, c]}, {1: [b, c]}], Element(1, a)).models
    (1,)
    >>> compare_models([{1: [a, c]}, {1: [a, b]}, {1: [c]}], Element(1, a)).choice
    ()
    """
    streams = [{Element(t, a) for t, atoms in model.items() for a in atoms} for model in models]
    holding = [stream for stream in streams if goal in stream]
    others = [stream for stream in streams if goal not in stream]
    choice: set[Element] = set()
    if holding and others:
        choice = set.intersection(*holding).difference({goal}, *others)
    numbers = tuple(n for n, stream in enumerate(streams, 1) if goal in stream)
    ordered = sorted(choice, key=lambda element: (element.t, atom_text(element.atom)))
    return ModelChoice(numbers, len(models), tuple(ordered))


def explain(
    checked: Checked,
    atom: Atom,
    at: int,
    elements: Iterable[tuple[int, Atom]],
    background: Iterable[Atom] = (),
    model: Derived | None = None,
    settings: Settings = Settings(),  # noqa: B008 - a named tuple cannot change
    *,
    when: int | None = None,
) -> Proof | None:
    """Why an atom holds at `at`; None when it does not.

    `elements` is the stream in arrival order; the program's own elements are added to it. `model`
    is the answer stream to explain, its derived atoms by time point, as an engine gives it; without
    one the definitions are asked. `when` is the time point for which the atom is derived, if that
    is not the evaluation time.
    """
    goal = Element(at if when is None else when, atom)
    known = gather(checked, at, elements, background, settings)
    if atom in known.background:
        return Proof(goal, at, (), (), Given.BACKGROUND)
    if goal in known.elements:
        return Proof(goal, at, (), (goal,), Given.STREAM)
    if atom.signature not in checked.derived:
        return None
    known = narrow(known, goal, at)
    evaluation = find_evaluation(known, goal, at, model, checked.shown)
    proof = None if evaluation is None else prove(evaluation, goal)
    if proof is None:
        return None
    return replace(proof, until=find_until(known, proof))


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """Why an atom holds, or why it does not."""

    answer: Proof | WhyNot
    # How time points are written.
    times: TimeFormat = field(default=POINTS, compare=False)
    # Warnings about the rules of the answer that look back at conclusions which are not kept.
    warnings: tuple[Problem, ...] = ()

    @property
    def holds(self) -> bool:
        return isinstance(self.answer, Proof)

    def rows(self) -> Iterator[Row]:
        """The explanation as an indented tree."""
        with times_written(self.times):
            yield from list(self._rows())

    def _rows(self) -> Iterator[Row]:
        if isinstance(self.answer, Proof):
            yield from proof_rows(self.answer)
        else:
            yield from why_not_rows(self.answer)
        at = self.answer.at
        moment = "" if self.times.stamps else moment_text(at, self.times)
        if moment:
            yield Row(0, Kind.NOTE, f"time point {at} is {moment}")
        for problem in self.warnings:
            place = "" if problem.span is None else f"{problem.span.source}:{problem.span.line}: "
            yield Row(0, Kind.NOTE, f"{place}{problem.message}; {problem.hint}")

    def lines(self, people: bool, width: int | None = None) -> Iterator[str]:
        """Lines of text, for people with Rich's markup; longer ones than `width` where needed."""
        return tree_lines(self.rows(), people, width)

    def to_json(self) -> dict[str, Any]:
        with times_written(self.times):
            if isinstance(self.answer, Proof):
                found = proof_json(self.answer)
            else:
                found = why_not_json(self.answer)
        if self.warnings:
            found["warnings"] = list(map(problem_json, self.warnings))
        return found

    def to_svg(self) -> str:
        if isinstance(self.answer, Proof):
            t = self.times.text(self.answer.element.t)
            title = f"why {atom_text(self.answer.element.atom)} holds at {t}"
        else:
            when = "any time" if self.answer.t is None else self.times.text(self.answer.t)
            title = f"why {atom_text(self.answer.atom)} does not hold at {when}"
        return tree_svg(self.rows(), title)

    def __str__(self) -> str:
        return "\n".join(self.lines(people=False))

    __repr__ = __str__

    def _repr_svg_(self) -> str:
        return self.to_svg()


def explain_atom(
    checked: Checked,
    atom: Atom,
    at: int,
    elements: Iterable[tuple[int, Atom]],
    background: Iterable[Atom] = (),
    models: Sequence[Derived] | None = None,
    settings: Settings = Settings(),  # noqa: B008 - a named tuple cannot change
    *,
    when: int | None = None,
    times: TimeFormat | None = None,
) -> Explanation:
    """Why an atom holds at `at`, or what is missing.

    `models` are the answer streams at `at`, derived atoms by time point, when an engine has them;
    otherwise the definitions give them. Everything else is as in `explain`.
    """
    elements = list(elements)
    background = frozenset(background)
    goal = Element(at if when is None else when, atom)
    if times is None:
        tick = checked.program.tick
        microseconds = None if tick is None else tick.microseconds
        times = TimeFormat(microseconds, applies=lambda: False)
    if models is None and checked.several_models:
        known = gather(checked, at, elements, background, settings)
        models = [answer.derived for answer in answers_at(known, at)[0]]
    choice = None if models is None else compare_models(models, goal)
    model = None
    if models and choice is not None:
        model = models[choice.models[0] - 1] if choice.models else models[0]
    proof = explain(checked, atom, at, elements, background, model, settings, when=when)
    if proof is not None:
        several = choice is not None and choice.total > 1 and bool(choice.models)
        proof = replace(proof, models=choice) if several else proof
        forgotten = _forgotten(checked, (step.rule for step in proof.steps))
        return Explanation(proof, times, forgotten)
    with times_written(times):
        missing = why_not(checked, atom, at, elements, background, model, settings, when=when)
    if missing is None:
        note = "the model that was given holds it, but is no answer stream: no rule supports it"
        missing = WhyNot(atom, goal.t, at, (), note)
    return Explanation(missing, times, _forgotten(checked, _rules(missing)))


def _rules(missing: WhyNot) -> Iterator[Rule]:
    """The rules that could give an atom, and those for what they miss."""
    for miss in missing.misses:
        yield miss.rule
        if miss.below is not None:
            yield from _rules(miss.below)


def _forgotten(checked: Checked, rules: Iterable[Rule]) -> tuple[Problem, ...]:
    """The warnings about these rules that windows look back at conclusions which are not kept."""
    places = [rule.span for rule in rules]

    def concerned(span: Span) -> bool:
        return any(
            span.source == place.source and place.line <= span.line <= place.end_line
            for place in places
        )

    return tuple(
        problem
        for problem in checked.problems
        if problem.code == "L227" and problem.span is not None and concerned(problem.span)
    )


def parse_goal(text: str, point: Callable[[str], int] = int) -> tuple[Atom, int | None]:
    """Parse the atom to explain: `p(a)`, or `@17 p(a)` for another time point.

    That one may also be a timestamp, which `point` turns into a time point.

    >>> parse_goal("@43 exp(a3, m)")
    (Atom(predicate='exp', args=('a3', 'm')), 43)
    """
    if stamped := _STAMPED.fullmatch(text):
        return parse_goal(stamped[2])[0], point(stamped[1])
    parsed = parse_formula(text, "<atom>")
    if parsed.formula is None:
        raise LarsparkError(parsed.problems)
    match parsed.formula:
        case AtomFormula(atom) if all(map(is_ground, atom.args)):
            return atom, None
        case At(int() as t, AtomFormula(atom)) if all(map(is_ground, atom.args)):
            return atom, t
        case _:
            message = "only a ground atom can be explained"
            hint = "write it without variables, such as `p(a,3)` or `@17 p(a,3)`"
            name = next((variable.name for variable in variables(parsed.formula)), None)
            if name is not None:
                message = f"`{name}` is a variable, and only an atom without variables is explained"
                hint = f'write `"{name}"` if the text is meant; names start with a small letter'
            raise LarsparkError(Problem("L104", message, parsed.formula.span, hint))
