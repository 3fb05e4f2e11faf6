"""Equivalence of two programs: a stream under which they differ, or how far none was found."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import TypeGuard

from larspark.api.atom_ranges import atoms_of_ranges
from larspark.api.program import Program
from larspark.base.atoms import Atom, Element
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import Arithmetic, Constant, Term, Variable, Wildcard
from larspark.language import rule_text, tree
from larspark.language.nodes import subterms, term_variables, terms, walk
from larspark.meaning.counterexamples import Kind, Pair, compare, derived_atoms
from larspark.run.prepare import ground_atoms, prepare
from larspark.run.protocol import Settings

# More atoms than this are not tried without being named.
ATOMS_LIMIT = 40


@dataclass(frozen=True, slots=True)
class Equivalence:
    """What a search for a counterexample has found."""

    # A stream under which the programs differ at the time point `at`; None if there is none.
    stream: dict[int, frozenset[Atom]] | None
    at: int | None
    # Facts and rules that have to be added to both programs, as a program.
    context: str
    # For the first and the second program, its answer streams that the other one does not have.
    first: list[dict[int, frozenset[Atom]]]
    second: list[dict[int, frozenset[Atom]]]
    # How far the search looked.
    atoms: tuple[Atom, ...]
    streams: int
    largest: int
    complete: bool

    def __bool__(self) -> bool:
        """Is there no counterexample, as far as the search looked?"""
        return self.stream is None


def equivalent(
    first: Program | str,
    second: Program | str,
    timeline: tuple[int, int],
    *,
    kind: Kind = "data",
    over: Iterable[Atom | str] = (),
    background: Iterable[Atom | str] = (),
    limit: int = 5_000,
) -> Equivalence:
    """Search the timeline for a stream under which two programs differ at one of its time points.

    `kind` is what equivalence has to withstand: `data`, any stream of input atoms; `uniform`, any
    further facts; `strong`, any further rules. The atoms are `over`, by default those of both
    programs, with their constants in place of variables; for `strong` those that they derive are
    always among them. At most `limit` streams are looked at.
    """
    read = [Program.parse(p) if isinstance(p, str) else p for p in (first, second)]
    # Further rules may use what is not shown.
    programs = [replace(p.syntax, shows=None) if kind == "strong" else p.syntax for p in read]
    hindsight = all(program.hindsight is not False for program in programs)
    settings = Settings(timeline[0], hindsight, timeline[1] if hindsight else None)
    given = list(ground_atoms(background))
    (one, known), (other, more) = (prepare(program, given, settings) for program in programs)
    named, derived = tuple(dict.fromkeys(atoms_of_ranges(over))), one.derived | other.derived
    atoms = named or _atoms_of(programs)
    if named and kind == "strong":
        # No rule of the programs may fail for lack of its head.
        more_atoms = (atom for atom in _atoms_of(programs) if atom.signature in derived)
        atoms = tuple(dict.fromkeys((*named, *more_atoms)))
    pair = Pair(one, other, known | more, hindsight)
    found = compare(pair, kind, atoms, timeline, limit)
    counts = found.atoms, found.streams, found.largest, found.complete
    difference = found.difference
    if difference is None:
        return Equivalence(None, None, "", [], [], *counts)
    t, stream, facts, linked = difference
    rules = [
        tree.Rule(_pinned(element), (_pinned(cause),))
        for element in linked
        for cause in linked
        if element != cause
    ]
    answers = []
    for program in programs:
        checked, _ = prepare(replace(program, rules=(*program.rules, *rules)), given, settings)
        seen = pair.timeline_at(t, timeline)
        answers.append(derived_atoms(checked, known | more, stream, facts, seen, t))
    context = [tree.Rule(_pinned(fact)) for fact in facts] + rules
    return Equivalence(
        _by_time(stream),
        t,
        "".join(f"{rule_text(rule)}\n" for rule in context),
        [_by_time(answer) for answer in answers[0] - answers[1]],
        [_by_time(answer) for answer in answers[1] - answers[0]],
        *counts,
    )


def _pinned(element: Element) -> tree.At:
    return tree.At(element.t, tree.AtomFormula(element.atom))


def _by_time(elements: Iterable[Element]) -> dict[int, frozenset[Atom]]:
    found: dict[int, set[Atom]] = {}
    for t, atom in sorted(elements, key=lambda element: element.t):
        found.setdefault(t, set()).add(atom)
    return {t: frozenset(atoms) for t, atoms in found.items()}


def _atoms_of(programs: Iterable[tree.Program]) -> tuple[Atom, ...]:
    """The atoms of the programs, with constants in place of their variables.

    Variables that are compared or computed with stand for the numbers of comparisons and those that
    follow them, all others for the constants in atoms.
    """
    rules = [list(_parts(rule)) for program in programs for rule in program.rules]
    every = [part for parts in rules for part in parts]
    named = [t for part in every if isinstance(part, tree.AtomFormula) for t in part.atom.args]
    compared = [t for part in every if not isinstance(part, tree.AtomFormula) for t in terms(part)]
    numbers = [t for term in compared for t in subterms(term) if isinstance(t, int | float)]
    symbols = [*dict.fromkeys(term for term in named if _is_constant(term)), "a", "b"]
    symbols = symbols[: max(2, len(symbols) - 2)]
    values = [*dict.fromkeys(v for number in numbers or [0] for v in (number, number + 1))]
    found: dict[Atom, None] = {}
    for parts in rules:
        computed = {
            variable.name
            for part in parts
            if not isinstance(part, tree.AtomFormula)
            for term in terms(part)
            for variable in term_variables(term)
        }
        for part in parts:
            if not isinstance(part, tree.AtomFormula):
                continue
            domains = [_values(term, computed, values, symbols) for term in part.atom.args]
            for args in islice(product(*domains), ATOMS_LIMIT + 1):
                found[Atom(part.atom.predicate, args)] = None
    if any(isinstance(p, tree.Windowed) and p.window.depends_on_others for p in every):
        # Windows over tuples and sessions see atoms that no rule names.
        found[Atom("other")] = None
    if len(found) > ATOMS_LIMIT:
        message = f"the programs have more than {ATOMS_LIMIT} ground atoms"
        hint = "name those to look at, as in `--over 'p(a)' --over q`"
        raise LarsparkError(Problem("L254", message, hint=hint))
    return tuple(found)


def _parts(rule: tree.Rule) -> Iterator[tree.Formula]:
    return (part for formula in (rule.head, *rule.body) for part in walk(formula))


def _values(
    term: Term, computed: set[str], numbers: Sequence[Constant], symbols: Sequence[Constant]
) -> Sequence[Constant]:
    if isinstance(term, Variable | Wildcard):
        return numbers if isinstance(term, Variable) and term.name in computed else symbols
    return numbers if isinstance(term, Arithmetic) else (term,)


def _is_constant(term: Term) -> TypeGuard[Constant]:
    return not isinstance(term, Variable | Wildcard | Arithmetic)
