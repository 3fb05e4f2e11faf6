"""A solver kept from tick to tick: only changed rules are added, switched on or switched off.

The solver lets a program grow, but an atom that has rules gets no more of them, and nothing is ever
taken out. So every rule that may end has a switch, and every atom ends in an open place for later
rules: `a :- end`, where `end` is false until it gets rules of its own, and a new end. The solver
finds positive cycles only among rules added together; where a new rule could close one with older
rules, and where rules switched off forever outgrow the rest, a new solver takes over.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from clingo import Control, SolveHandle, TruthValue
from clingo import Model as Solution
from clingo.backend import Backend

from larspark.base.atoms import Atom, Signature
from larspark.run.answer_sets.solver import ModelElements, Solvable, first_solution, new_control

# With less garbage than this no new solver is made.
_PATIENCE = 5_000

# After so many forced changes the solver optimizes instead of looking for more.
_FORCED_CHANGES = 10

# Priorities of atoms lie below the priority of keeping close to the output before.
_CLOSENESS = 2**30


@dataclass(slots=True)
class LiveRule:
    """A ground rule; `switch` is None while it is not written, and for rules that last."""

    heads: tuple[int, ...]
    positive: tuple[int, ...]
    negative: tuple[int, ...]
    lasting: bool
    active: bool = True
    switch: int | None = None


@dataclass(slots=True)
class LiveAtom:
    """The solver's atom, the open place for later rules, and whether the atom was output before."""

    literal: int
    end: int
    before: int | None = None


class LiveProgram:
    """Ground rules inside a solver that stays; see `GroundRules`.

    `recursive` says whether an atom can depend on itself. `text` gives the text of atoms that are
    output, if the closest output is asked for, and None for all others.
    """

    def __init__(self, recursive: Callable[[int], bool], text: Callable[[int], str | None]) -> None:
        self._recursive = recursive
        self._text = text
        self.control = new_control()
        self._rules: dict[int, LiveRule] = {}
        self._next = 0
        self._atoms: dict[int, LiveAtom] = {}
        self._new: dict[int, None] = {}
        self._switched: dict[int, None] = {}
        self._released: list[int] = []
        self._allocated = 0
        # The texts of output atoms, in order and with their priorities.
        self._texts: list[str] = []
        self._priorities: dict[str, int] = {}
        self._crowded = False
        # The atoms that the solver knows to have been output before.
        self._before: frozenset[int] = frozenset()

    def add(
        self,
        heads: tuple[int, ...],
        positive: tuple[int, ...],
        negative: tuple[int, ...],
        *,
        lasting: bool,
    ) -> int:
        self._next += 1
        self._rules[self._next] = LiveRule(heads, positive, negative, lasting)
        self._new[self._next] = None
        return self._next

    def suspend(self, rule: int) -> None:
        self._rules[rule].active = False
        self._switched[rule] = None

    def resume(self, rule: int) -> None:
        self._rules[rule].active = True
        self._switched[rule] = None

    def is_active(self, rule: int) -> bool:
        return self._rules[rule].active

    def drop(self, rule: int) -> None:
        gone = self._rules.pop(rule)
        self._new.pop(rule, None)
        self._switched.pop(rule, None)
        if gone.switch is not None:
            self._released.append(gone.switch)

    def forget(self, atom: int) -> None:
        gone = self._atoms.pop(atom, None)
        if gone is not None:
            self._released.append(gone.end)
            if gone.before is not None:
                self._released.append(gone.before)

    def literals(self) -> dict[int, int]:
        """The solver's literals of all atoms that rules mention."""
        return {number: atom.literal for number, atom in self._atoms.items()}

    def flush(self) -> None:
        """Bring the solver up to date."""
        if self._wasteful() or any(map(self._closes_circle, self._new)):
            self._start_again()
        self._write()
        if self._crowded:
            self._start_again()
            self._write()
        for literal in self._released:
            self.control.release_external(literal)
        for number in self._switched:
            rule = self._rules[number]
            if rule.switch is not None:
                self.control.assign_external(rule.switch, rule.active)
        self._released.clear()
        self._switched.clear()

    def keep(self, before: frozenset[int]) -> list[int]:
        """Say which atoms were output before; gives the literals that would keep them."""
        for number in before ^ self._before:
            atom = self._atoms.get(number)
            if atom is not None and atom.before is not None:
                self.control.assign_external(atom.before, number in before)
        self._before = before
        return [
            atom.literal if number in before else -atom.literal
            for number, atom in self._atoms.items()
            if atom.before is not None
        ]

    def snapshot(self) -> tuple[Control, dict[int, int]]:
        """A solver for the current rules alone, and its literals."""
        control = new_control()
        literals: dict[int, int] = {}
        with control.backend() as backend:
            for rule in self._rules.values():
                if not rule.active:
                    continue
                for atom in _mentioned(rule):
                    if atom not in literals:
                        literals[atom] = backend.add_atom()
                body = [literals[atom] for atom in rule.positive]
                body += [-literals[atom] for atom in rule.negative]
                backend.add_rule([literals[atom] for atom in rule.heads], body)
        return control, literals

    def _wasteful(self) -> bool:
        return self._allocated > 3 * (len(self._rules) + 2 * len(self._atoms)) + _PATIENCE

    def _closes_circle(self, number: int) -> bool:
        """Would a new rule for an older atom be wrong?"""
        heads = self._rules[number].heads
        older = [head for head in heads if head in self._atoms]
        return bool(older) and (len(heads) > 1 or self._recursive(older[0]))

    def _start_again(self) -> None:
        self.control = new_control()
        self._atoms = {}
        self._new = dict.fromkeys(self._rules)
        self._released = []
        self._allocated = 0
        self._crowded = False
        self._before = frozenset()
        for rule in self._rules.values():
            rule.switch = None
        self._texts, self._priorities = [], {}

    def _write(self) -> None:
        new, self._new = self._new, {}
        # The place for rules of an atom: itself if it is new, else its end, once for all of them.
        places: dict[int, int] = {}
        with self.control.backend() as backend:
            mentioned = dict.fromkeys(a for number in new for a in _mentioned(self._rules[number]))
            texts = {atom: self._text(atom) for atom in mentioned if atom not in self._atoms}
            self._make_room(
                {text for text in texts.values() if text is not None}.difference(self._priorities)
            )
            for atom, text in texts.items():
                self._atoms[atom] = self._new_atom(backend, text)
                places[atom] = self._atoms[atom].literal
            for number in new:
                rule = self._rules[number]
                body = [self._atoms[atom].literal for atom in rule.positive]
                body += [-self._atoms[atom].literal for atom in rule.negative]
                if not rule.lasting:
                    rule.switch = self._external(backend, rule.active)
                    body.append(rule.switch)
                for atom in rule.heads:
                    if atom not in places:
                        places[atom] = self._extend(backend, self._atoms[atom])
                backend.add_rule([places[atom] for atom in rule.heads], body)

    def _new_atom(self, backend: Backend, text: str | None) -> LiveAtom:
        atom = LiveAtom(backend.add_atom(), self._external(backend, False))
        backend.add_rule([atom.literal], [atom.end])
        self._allocated += 1
        if text is not None:
            atom.before = self._external(backend, False)
            changed = backend.add_atom()
            backend.add_rule([changed], [atom.literal, -atom.before])
            backend.add_rule([changed], [-atom.literal, atom.before])
            backend.add_minimize(_CLOSENESS, [(changed, 1)])
            backend.add_minimize(self._priorities[text], [(-atom.literal, 1)])
            self._allocated += 1
        return atom

    def _extend(self, backend: Backend, atom: LiveAtom) -> int:
        place, atom.end = atom.end, self._external(backend, False)
        backend.add_rule([place], [atom.end])
        return place

    def _external(self, backend: Backend, holds: bool) -> int:
        literal = backend.add_atom()
        backend.add_external(literal, TruthValue.True_ if holds else TruthValue.False_)
        self._allocated += 1
        return literal

    def _make_room(self, new: Iterable[str]) -> None:
        """Give new texts priorities, above those of all later texts and below all earlier ones."""
        groups: dict[int, list[str]] = {}
        for text in sorted(new):
            groups.setdefault(bisect_left(self._texts, text), []).append(text)
        for place, texts in groups.items():
            low = self._priorities[self._texts[place]] if place < len(self._texts) else 0
            high = self._priorities[self._texts[place - 1]] if place else _CLOSENESS
            step = (high - low) // (len(texts) + 1)
            # When there is no room left between two texts a new solver makes room.
            self._crowded = self._crowded or not step
            for distance, text in enumerate(texts, start=1):
                self._priorities[text] = high - distance * step
        self._texts = sorted(self._priorities)


@dataclass(slots=True)
class LiveSolvable(Solvable):
    """A live program whose solver keeps close to the output before by preferences of its own.

    `keep` says what was output before, and gives the literals that would keep it.
    """

    keep: Callable[[frozenset[Atom]], list[int]] | None = None

    def closest(
        self, t: int, shown: frozenset[Signature], previous: frozenset[Atom]
    ) -> ModelElements | None:
        if self.keep is None:
            # Without choices there is only one candidate.
            return self.first()
        kept = self.keep(previous)
        # With a deadline the search is left to the optimization, which checks it.
        found = None if self.deadline is not None else self._without_choice(kept)
        if found is not None:
            return found
        return self._best()

    def _configure(self, opt_mode: Literal["ignore", "opt"]) -> None:
        solving: Any = self.control.configuration.solve
        solving.opt_mode = opt_mode

    def _without_choice(self, kept: list[int]) -> ModelElements | None:
        """The closest answer stream, if every change of the output is forced by itself.

        A single assumption that cannot be kept changes in all answer streams; what keeps all others
        is closer than anything else. Searching for it takes a small part of an optimization.
        """
        self._configure("ignore")
        for _ in range(_FORCED_CHANGES):
            found, core = first_solution(self.control, kept, None, self._found_or_core)
            if found is not None:
                return found
            if len(core) != 1 or core[0] not in kept:
                return None
            kept[kept.index(core[0])] *= -1
        return None

    def _found_or_core(
        self, handle: SolveHandle, solution: Solution | None
    ) -> tuple[ModelElements | None, list[int]]:
        return (None, handle.core()) if solution is None else (self._read(solution), [])


def _mentioned(rule: LiveRule) -> tuple[int, ...]:
    return (*rule.heads, *rule.positive, *rule.negative)
