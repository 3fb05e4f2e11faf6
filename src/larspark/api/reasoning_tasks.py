"""Tasks of Section 4 of the LARS paper: satisfiability of a formula, and model checking."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import tzinfo

from larspark.api.atom_ranges import atoms_of_ranges
from larspark.api.program import Program, open_session, prepare
from larspark.api.time_texts import TimeTexts
from larspark.base.atoms import Atom, Signature
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import Arithmetic, Variable, Wildcard
from larspark.feeds import StreamOrTable, as_stream
from larspark.feeds.time_options import TimeLike, zone_option
from larspark.language import parse_formula, tree
from larspark.language.nodes import walk
from larspark.meaning import verification
from larspark.meaning.output_stream import Oracle
from larspark.meaning.verification import Verdict, candidate
from larspark.run.prepare import ground_atoms
from larspark.run.protocol import Settings

# So many elements may be there or not; the solver sees two atoms for each.
CHOICES_LIMIT = 5_000


def satisfy(
    formula: str,
    timeline: tuple[int, int],
    *,
    over: Iterable[Atom | str] = (),
    at: int | None = None,
) -> dict[int, frozenset[Atom]] | None:
    """A stream on the timeline under which a formula holds at `at`, or at the end; None if none.

    The stream consists of the atoms `over`, such as `p(a)` or `p(1..3)`, by default the ground
    atoms of the formula.
    """
    first, last = timeline
    moment = last if at is None else at
    parsed = parse_formula(formula)
    if parsed.formula is None:
        raise LarsparkError(parsed.problems)
    atoms = list(dict.fromkeys(atoms_of_ranges(over))) or _ground_atoms_of(parsed.formula)
    if not first <= moment <= last:
        message = f"the time point {moment} lies outside the timeline, which is [{first}, {last}]"
        raise LarsparkError(Problem("L251", message))
    if (last - first + 1) * len(atoms) > CHOICES_LIMIT:
        message = f"more than {CHOICES_LIMIT} elements can be in the stream or not"
        raise LarsparkError(Problem("L254", message, hint="use a shorter timeline or fewer atoms"))
    program = Program(_program(parsed.formula, atoms, range(first, last + 1)))
    try:
        session = open_session(program, (), "auto", Settings(first, until=last))
    except LarsparkError as error:
        raise LarsparkError([_of_the_formula(problem) for problem in error.problems]) from None
    for model in session.models(moment, 1):
        return {t: found for t, found in sorted(model.stream.items()) if found}
    return None


def _of_the_formula(problem: Problem) -> Problem:
    """A problem of `_program` in the words of the formula, which has no rules."""
    if problem.code != "L221":
        return problem
    message = "a tuple window counts the input of a stream, which is what is looked for here"
    hint = "use a time window"
    return replace(problem, message=message, hint=hint)


def _program(formula: tree.Formula, atoms: list[Atom], points: range) -> tree.Program:
    """A program whose answer streams are the streams under which the formula holds."""
    used = {a.predicate for a in atoms} | {
        part.atom.predicate for part in walk(formula) if isinstance(part, tree.AtomFormula)
    }
    absent, found = _fresh("absent", used), _fresh("found", used)
    rules = [
        tree.Rule(
            tree.Or(
                (
                    tree.At(t, tree.AtomFormula(atom)),
                    tree.At(t, tree.AtomFormula(Atom(absent, (number,)))),
                )
            )
        )
        for number, atom in enumerate(atoms)
        for t in points
    ]
    body = formula.parts if isinstance(formula, tree.And) else (formula,)
    holds = tree.AtomFormula(Atom(found))
    rules += [
        tree.Rule(holds, body, formula.span),
        tree.Rule(tree.Truth(False), (tree.Not(holds),)),
    ]
    shown = frozenset(Signature(atom.predicate, len(atom.args)) for atom in atoms)
    return tree.Program(tuple(rules), shows=shown)


def _fresh(name: str, used: set[str]) -> str:
    while name in used:
        name += "_"
    return name


def _ground_atoms_of(formula: tree.Formula) -> list[Atom]:
    found: dict[Atom, None] = {}
    for part in walk(formula):
        if not isinstance(part, tree.AtomFormula):
            continue
        if any(isinstance(term, Variable | Wildcard | Arithmetic) for term in part.atom.args):
            message = f"`{part.atom}` is not ground, so it is not clear which atoms there are"
            hint = "name the atoms of the stream, as in `--over 'p(a)' --over 'q(1..3)'`"
            raise LarsparkError(Problem("L312", message, part.span, hint))
        found[part.atom] = None
    return list(found)


def verify(
    program: Program | str,
    stream: StreamOrTable,
    answer: Mapping[int, Iterable[Atom | str]] | StreamOrTable,
    *,
    at: TimeLike,
    map: str | None = None,  # noqa: A002 - the same as the option `--map`
    background: Iterable[Atom | str] = (),
    start: TimeLike | None = None,
    hindsight: bool = False,
    until: TimeLike | None = None,
    timezone: str | None = None,
) -> Verdict:
    """Whether `answer` is an answer stream of the program for the stream at a time point.

    The answer has all derived atoms by time point, those that are not shown too; it may repeat
    facts of the stream. The verdict says which rule it violates, or which smaller interpretation
    satisfies the reduct.
    """
    program = Program.parse(program) if isinstance(program, str) else program
    zone = zone_option(timezone)
    stream = as_stream(stream, map).with_tick(program.tick).in_zone(zone)
    texts = TimeTexts(stream.options.tick, None, timezone)
    moment = texts.known(at)
    settings = Settings(texts.point(start), hindsight, texts.point(until))
    checked, atoms = prepare(program, background, settings)
    data = [*checked.elements, *((row.t, row.atom) for row in stream.elements())]
    known = data if hindsight else [element for element in data if element[0] <= moment]
    heard = (stream.first_t, stream.last_t, *(t for t, _ in data))
    times = [t for t in heard if t is not None]
    first = min(times, default=moment) if settings.start is None else settings.start
    last = max(times, default=moment)
    oracle = Oracle(checked, atoms, first, settings.until, hindsight, last)
    if program.syntax.remembered:
        for point in range(first, moment):
            oracle.step(data, point)
    given = set(known)
    added = [element for element in _elements(answer, program, zone) if element not in given]
    timeline = (first, oracle.timeline_end(moment))
    interpretation = candidate(known, added, timeline, oracle.remembered)
    return verification.verify(checked, interpretation, atoms, moment)


def _elements(
    answer: Mapping[int, Iterable[Atom | str]] | StreamOrTable, program: Program, zone: tzinfo
) -> list[tuple[int, Atom]]:
    if isinstance(answer, Mapping):
        return [(t, atom) for t, atoms in answer.items() for atom in ground_atoms(atoms)]
    stream = as_stream(answer).with_tick(program.tick).in_zone(zone)
    return [(row.t, row.atom) for row in stream.elements()]
