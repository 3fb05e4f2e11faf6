"""The partition key: how a program can be cut by the values of an argument.

A key gives every stream predicate, read or derived, an argument position such that all stream
atoms of a rule have the same variable there. Then what holds for one value of the key depends only
on the elements with this value, and the values can be spread over machines. Background data, and
what follows from it alone, is free: every machine has it.

A rule without stream atoms in its body fires on every machine; the answers for values that are kept
elsewhere are to be dropped there.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from larspark.analysis.checked import Checked
from larspark.analysis.fragment import is_choice
from larspark.base.atoms import Atom, Signature, atom_text
from larspark.base.terms import Variable
from larspark.language.nodes import children
from larspark.language.tree import Aggregate, Formula, Reset, Rule, Windowed
from larspark.language.windows import Window
from larspark.logic.traversal import formulas, occurrences, sees_only_atoms

Key: TypeAlias = dict[Signature, int]
Positions: TypeAlias = dict[Signature, frozenset[int]]
# The patterns of each filter, from the outermost.
Filters: TypeAlias = tuple[tuple[Atom, ...], ...]

# A search through more choices than these is given up; programs that people write need few.
_CHOICES = 1_000


class Need(NamedTuple):
    """What a rule asks of a key: one of these variables at the key's place in all these atoms."""

    rule: int
    atoms: tuple[Atom, ...]
    variables: frozenset[str]
    # Why there is no such variable; empty when there is.
    obstacle: str = ""


def partition_key(checked: Checked) -> Key | None:
    """The key of a program, the first in the order of arguments; None when there is none."""
    return key_for(_needs(checked)) or None


def partition_obstacles(checked: Checked) -> list[tuple[int, str]]:
    """The rules that rule out a key, each with the reason."""
    needs = _needs(checked)
    alone = [(need.rule, need.obstacle) for need in needs if need.obstacle]
    if alone or key_for(needs) is not None:
        return alone
    # More rules never make a key: so the first rule that is one too many is found by halving.
    fits, too_many = 0, len(needs)
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if key_for(needs[:middle]) is None:
            too_many = middle
        else:
            fits = middle
    return [(needs[fits].rule, conflict(needs[fits], key_for(needs[:fits]) or {}))]


def _needs(checked: Checked) -> list[Need]:
    free, chooses = free_predicates(checked), _chooses(checked)
    needs = []
    for number, rule in enumerate(checked.rules):
        read = stream_atoms(rule.body, free)
        atoms = (*stream_atoms((rule.head,), free), *read)
        if read or (atoms and chooses):
            needs.append(need_of(number, rule, atoms))
    return needs


def _chooses(checked: Checked) -> bool:
    """Can two shards that evaluate the same rule get different results?"""
    return checked.strata is None or any(is_choice(rule.head) for rule in checked.rules)


def free_predicates(checked: Checked) -> frozenset[Signature]:
    """Background data and what follows from it alone."""
    if _chooses(checked):
        return checked.background_signatures - checked.inputs - checked.derived
    readers: dict[Signature, list[Signature]] = {}
    for edge in checked.edges:
        readers.setdefault(edge.body, []).append(edge.head)
    given = checked.background_signatures - checked.inputs
    bound = {p for p in readers if p not in given and p not in checked.derived} | checked.inputs
    pending = list(bound)
    while pending:
        for head in readers.get(pending.pop(), ()):
            if head not in bound:
                bound.add(head)
                pending.append(head)
    return (given | checked.derived) - bound


def stream_atoms(body: Sequence[Formula], free: frozenset[Signature]) -> tuple[Atom, ...]:
    atoms = (occurrence.formula.atom for formula in body for occurrence in occurrences(formula))
    return tuple(dict.fromkeys(atom for atom in atoms if atom.signature not in free))


def need_of(number: int, rule: Rule, atoms: tuple[Atom, ...]) -> Need:
    keys: frozenset[str] | None = None
    for window, filters, body in counting_windows(rule):
        reason = _shared_content(window, filters, body)
        if reason:
            return Need(number, atoms, frozenset(), reason)
        if window.keys:
            names = frozenset(key.name for key in window.keys if isinstance(key, Variable))
            keys = names if keys is None else keys & names
        else:
            atoms += filters[-1]
    for atom in atoms:
        if not atom.args:
            return Need(number, atoms, frozenset(), f"`{atom_text(atom)}` has no argument")
    shared = frozenset.intersection(*map(_names, atoms))
    grouped = _grouping(rule, frozenset(atom.signature for atom in atoms), shared)
    if shared and not grouped:
        reason = "its aggregate collects tuples of all values, not of one group"
        return Need(number, atoms, frozenset(), reason)
    shared = grouped
    if not shared:
        listed = ", ".join(f"`{atom_text(atom)}`" for atom in atoms)
        reason = f"no variable is an argument of all of {listed}"
        if len(atoms) == 1:
            reason = f"{listed} has no variable as an argument"
        return Need(number, atoms, shared, reason)
    if keys is not None and not shared & keys:
        return Need(number, atoms, shared & keys, "its tuple windows count by something else")
    return Need(number, atoms, shared if keys is None else shared & keys)


def _shared_content(window: Window, filters: Filters, body: Formula) -> str:
    """Why the content of a window for one value depends on other values; empty if it does not."""
    if not window.is_known:
        return f"what the window `{window.function}` sees of other values is not known"
    if not window.keys and not filters:
        return f"a {window.noun} without `by` counts the tuples of all values together"
    if window.keys and not sees_only_atoms(body):
        return "the time that a window with `by` covers depends on the tuples of all values"
    return ""


def counting_windows(rule: Rule) -> Iterator[tuple[Window, Filters, Formula]]:
    """The windows whose content depends on how many atoms there are, with the filters above."""
    pending: list[tuple[Formula, Filters]] = [(f, ()) for f in formulas(rule)]
    while pending:
        formula, filters = pending.pop()
        match formula:
            case Windowed(window, body):
                if window.depends_on_others:
                    yield window, filters, body
                if window.filters is not None:
                    filters = (*filters, window.filters)
            case Reset():
                filters = ()
            case _:
                pass
        pending.extend((part, filters) for part in children(formula))


def _grouping(
    rule: Rule, signatures: frozenset[Signature], names: frozenset[str]
) -> frozenset[str]:
    """Those of the variables that have one value for each aggregate over these predicates."""
    for part in rule.body:
        if isinstance(part, Aggregate) and any(
            atom.formula.atom.signature in signatures for atom in occurrences(part)
        ):
            names &= frozenset(variable.name for variable in part.shared)
    return names


def _names(atom: Atom) -> frozenset[str]:
    return frozenset(term.name for term in atom.args if isinstance(term, Variable))


def key_for(needs: Sequence[Need]) -> Key | None:
    """Choose a position for every predicate, so that all needs are met."""
    if any(need.obstacle for need in needs):
        return None
    key: Key = {}
    for part in _connected(needs):
        found = _search(part)
        if found is None:
            return None
        key.update(found)
    return dict(sorted(key.items()))


def extended_key(key: Key, needs: Sequence[Need]) -> Key | None:
    """The key with positions for more predicates, so that more needs are met; None if it cannot."""
    found = _search(needs, key)
    return None if found is None else {**key, **found}


def _connected(needs: Sequence[Need]) -> Iterator[list[Need]]:
    """The needs in groups that share no predicate."""
    by_predicate = _by_predicate(needs)
    seen: set[int] = set()
    for need in needs:
        group: list[Need] = []
        pending = [need]
        while pending:
            current = pending.pop()
            if current.rule not in seen:
                seen.add(current.rule)
                group.append(current)
                for atom in current.atoms:
                    # Each predicate leads to its rules once.
                    pending.extend(by_predicate.pop(atom.signature, ()))
        if group:
            yield group


def _by_predicate(needs: Sequence[Need]) -> dict[Signature, list[Need]]:
    found: dict[Signature, list[Need]] = {}
    for need in needs:
        for signature in dict.fromkeys(atom.signature for atom in need.atoms):
            found.setdefault(signature, []).append(need)
    return found


def _search(needs: Sequence[Need], known: Key | None = None) -> Key | None:
    by_predicate = _by_predicate(needs)
    start = {p: frozenset(range(p.arity)) for p in by_predicate}
    start.update((p, frozenset((n,))) for p, n in (known or {}).items() if p in by_predicate)
    alternatives = [(start, list(needs))]
    for _ in range(_CHOICES):
        if not alternatives:
            return None
        positions, touched = alternatives.pop()
        if not _propagate(positions, touched, by_predicate):
            continue
        undecided = next((p for p in positions if len(positions[p]) > 1), None)
        if undecided is None:
            return {predicate: min(rest) for predicate, rest in positions.items()}
        for position in sorted(positions[undecided], reverse=True):
            decided = {**positions, undecided: frozenset((position,))}
            alternatives.append((decided, by_predicate[undecided]))
    return None


def _propagate(
    positions: Positions, touched: Sequence[Need], by_predicate: dict[Signature, list[Need]]
) -> bool:
    """Remove the positions that no need can use; False when a predicate has none left."""
    pending = deque(touched)
    while pending:
        need = pending.popleft()
        usable = need.variables
        for atom in need.atoms:
            usable &= {_name(atom, position) for position in positions[atom.signature]}
        if not usable:
            return False
        for atom in need.atoms:
            before = positions[atom.signature]
            after = frozenset(position for position in before if _name(atom, position) in usable)
            if after != before:
                positions[atom.signature] = after
                pending.extend(by_predicate[atom.signature])
    return True


def _name(atom: Atom, position: int) -> str | None:
    term = atom.args[position]
    return term.name if isinstance(term, Variable) else None


def conflict(need: Need, key: Key) -> str:
    """Why a rule does not fit the key of the rules before it."""
    divided = ", ".join(
        f"`{signature}` by argument {key[signature] + 1}"
        for signature in sorted({atom.signature for atom in need.atoms})
        if signature in key
    )
    listed = ", ".join(f"`{atom_text(atom)}`" for atom in need.atoms)
    return f"other rules divide {divided}; that does not join {listed}"
