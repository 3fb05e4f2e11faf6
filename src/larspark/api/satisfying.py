"""Satisfiability (Section 4 of the LARS paper): a stream that makes a formula true, or none."""

from collections.abc import Iterable

from larspark.api.program import Program, open_session
from larspark.base.atoms import Atom, Signature
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import Arithmetic, Variable, Wildcard
from larspark.language import parse_formula, tree
from larspark.language.nodes import walk
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

    The stream consists of the atoms `over`, by default the ground atoms of the formula.
    """
    first, last = timeline
    moment = last if at is None else at
    parsed = parse_formula(formula)
    if parsed.formula is None:
        raise LarsparkError(parsed.problems)
    atoms = list(dict.fromkeys(ground_atoms(over))) or _ground_atoms_of(parsed.formula)
    if not first <= moment <= last:
        message = f"the time point {moment} lies outside the timeline, which is [{first}, {last}]"
        raise LarsparkError(Problem("L251", message))
    if (last - first + 1) * len(atoms) > CHOICES_LIMIT:
        message = f"more than {CHOICES_LIMIT} elements can be in the stream or not"
        raise LarsparkError(Problem("L254", message, hint="use a shorter timeline or fewer atoms"))
    program = Program(_program(parsed.formula, atoms, range(first, last + 1)))
    session = open_session(program, (), "auto", Settings(first, until=last))
    for model in session.models(moment, 1):
        return {t: found for t, found in sorted(model.stream.items()) if found}
    return None


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
            hint = "name the atoms of the stream, as in `--over 'p(a),p(b)'`"
            raise LarsparkError(Problem("L312", message, part.span, hint))
        found[part.atom] = None
    return list(found)
