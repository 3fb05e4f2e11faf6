"""Hypothetical and supported answers by their definitions, on small universes, by brute force.

Random programs are made of simple rules, so that everything can be written out: for each ground
atom, seen from each evaluation time, all sets of literals that derive it. From those, the
definitions can be read off. Nothing here is shared with the engine.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import count, product
from typing import NamedTuple

from hypothesis import strategies as st

from larspark.analysis.check import check
from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, fact
from larspark.base.terms import Variable, Wildcard
from larspark.language import parse_atom, parse_formula, parse_program
from larspark.language.tree import Formula
from larspark.run.hypothetical import HypotheticalAnswer, TimedAtom

CONSTANTS = ("a", "b")
INPUTS = ("i", "j", "k")
# Derived predicates, from the lowest: a rule asks for lower ones only.
LAYERS = ("p", "q", "r")
# No answer of a random program lies further from its evidence than this.
REACH = 11


class Item(NamedTuple):
    """A part of a rule body; `kind` is one of now, some, always, at."""

    kind: str
    predicate: str
    argument: str
    negated: bool = False
    window: int | None = None
    shift: int = 0
    hop: int = 1

    def __str__(self) -> str:
        atom = f"{self.predicate}({self.argument})"
        every = f" every {self.hop}" if self.hop > 1 else ""
        window = "" if self.window is None else f"[{self.window}{every}] "
        match self.kind:
            case "now":
                text = atom
            case "at":
                text = f"{window}@T{self.shift:+d} {atom}" if self.shift else f"{window}@T {atom}"
            case kind:
                text = f"{window}{kind} {atom}"
        return f"not {text}" if self.negated else text


class SimpleRule(NamedTuple):
    """`shift` is None for a plain head, else the head is at `T + shift`."""

    predicate: str
    shift: int | None
    items: tuple[Item, ...]
    different: bool = False

    def __str__(self) -> str:
        head = f"{self.predicate}(X)"
        if self.shift is not None:
            head = f"@T{self.shift:+d} {head}" if self.shift else f"@T {head}"
        parts = [*map(str, self.items), *(["X != a"] if self.different else [])]
        return f"{head} :- {', '.join(parts)}."


class Token(NamedTuple):
    """A literal: an input atom at t, or the absence of an atom at t, seen from `now`."""

    t: int
    predicate: str
    argument: str
    negated: bool = False
    now: int | None = None

    @property
    def text(self) -> str:
        return f"{'not ' if self.negated else ''}@{self.t} {self.predicate}({self.argument})"


Support = frozenset[Token]


def antichain(sets: Iterable[Support]) -> frozenset[Support]:
    """Those of the sets that contain no other one."""
    kept: list[Support] = []
    for one in sorted(set(sets), key=len):
        if not any(other <= one for other in kept):
            kept.append(one)
    return frozenset(kept)


class Answer(NamedTuple):
    argument: str
    t: int
    hypotheses: frozenset[str]
    evidence: frozenset[str]


@dataclass(eq=False)
class Definition:
    """A random program over the time points from 0 on."""

    rules: tuple[SimpleRule, ...]
    text: str = field(init=False)

    def __post_init__(self) -> None:
        inputs = ", ".join(f"{name}/1" for name in INPUTS)
        self.text = "\n".join([f"#input {inputs}.", *map(str, self.rules)])
        self.derived_supports = cache(self.derived_supports)
        self.seen_alike: set[str] = set()
        for layer in LAYERS:
            rules = [rule for rule in self.rules if rule.predicate == layer]
            if all(
                rule.shift is not None
                and all(
                    item.window is None and item.predicate in (*INPUTS, *self.seen_alike)
                    for item in rule.items
                )
                for rule in rules
            ):
                self.seen_alike.add(layer)

    def checked(self) -> Checked:
        return checked(self.text)

    # All sets of literals that derive an atom

    def supports(self, predicate: str, argument: str, t: int, now: int) -> frozenset[Support]:
        # Where the evaluation time does not matter, one stands for all.
        return self.derived_supports(
            predicate, argument, t, 0 if predicate in self.seen_alike else now
        )

    def derived_supports(
        self, predicate: str, argument: str, t: int, now: int
    ) -> frozenset[Support]:
        found: list[Support] = []
        for rule in self.rules:
            if rule.predicate != predicate or (rule.different and argument == "a"):
                continue
            if rule.shift is None and t != now:
                continue
            times = range(now + 3) if rule.shift is None else [t - rule.shift]
            uses_time = any(item.kind == "at" for item in rule.items)
            for moment in times if uses_time else [0]:
                if moment < 0:
                    continue
                for other in CONSTANTS if any(i.argument == "Y" for i in rule.items) else ["a"]:
                    values = {"X": argument, "Y": other, "a": "a", "b": "b", "_": "_"}
                    ways: list[Support] = [frozenset()]
                    for item in rule.items:
                        more = self.item_supports(item, values[item.argument], moment, now)
                        ways = list(antichain(one | two for one in ways for two in more))
                    found += ways
        return antichain(found)

    def item_supports(self, item: Item, value: str, moment: int, now: int) -> frozenset[Support]:
        points = self.points(item, moment, now)
        if item.negated == (item.kind == "always"):
            # One time point suffices: some, or not always.
            ways = (self.literal_supports(item, value, point, now) for point in points)
            return antichain(way for each in ways for way in each)
        joined: list[Support] = [frozenset()]
        if not points and item.kind == "always":
            return frozenset()
        for point in points:
            more = self.literal_supports(item, value, point, now)
            joined = list(antichain(one | two for one in joined for two in more))
        return frozenset(joined)

    def points(self, item: Item, moment: int, now: int) -> list[int]:
        if item.kind == "now":
            return [now]
        late = now % item.hop
        first = -1 if item.window is None else now - late - item.window
        window = range(max(0, first), now - late + 1)
        if item.kind == "at":
            point = moment + item.shift
            return [point] if point >= 0 and (item.window is None or point in window) else []
        return list(window)

    def literal_supports(self, item: Item, value: str, point: int, now: int) -> frozenset[Support]:
        if item.negated:
            return frozenset([frozenset([self.denied(item.predicate, value, point, now)])])
        values = CONSTANTS if value == "_" else (value,)
        if item.predicate in INPUTS:
            return frozenset(frozenset([Token(point, item.predicate, v)]) for v in values)
        return antichain(
            way for v in values for way in self.supports(item.predicate, v, point, now)
        )

    def denied(self, predicate: str, argument: str, t: int, now: int) -> Token:
        """The absence of an atom; where the evaluation time does not matter, it has none."""
        matters = predicate not in INPUTS and predicate not in self.seen_alike
        return Token(t, predicate, argument, True, now if matters else None)

    # Truth, evaluated directly

    def model(self, facts: frozenset[Token], now: int, last: int) -> set[tuple[str, str, int]]:
        """All atoms that hold up to `last`, seen from `now`; of positive programs."""
        held = {(token.predicate, token.argument, token.t) for token in facts}
        for layer in LAYERS:
            for rule in self.rules:
                if rule.predicate == layer:
                    held |= self.consequences(rule, held, now, last)
        return held

    def consequences(
        self, rule: SimpleRule, held: set[tuple[str, str, int]], now: int, last: int
    ) -> set[tuple[str, str, int]]:
        found = set()
        for moment, argument, other in product(range(last + 3), CONSTANTS, CONSTANTS):
            t = now if rule.shift is None else moment + rule.shift
            values = {"X": argument, "Y": other, "a": "a", "b": "b"}
            allowed = t >= 0 and not (rule.different and argument == "a")
            if allowed and all(self.true(i, values, moment, now, held) for i in rule.items):
                found.add((rule.predicate, argument, t))
        return found

    def true(
        self,
        item: Item,
        values: dict[str, str],
        moment: int,
        now: int,
        held: set[tuple[str, str, int]],
    ) -> bool:
        chosen = CONSTANTS if item.argument == "_" else (values[item.argument],)
        points = self.points(item, moment, now)
        each = [any((item.predicate, c, point) in held for c in chosen) for point in points]
        return bool(each) and (all(each) if item.kind == "always" else any(each))

    # The definitions

    def status(self, token: Token, facts: frozenset[Token], t: int) -> str:
        """Is what a negative literal denies certain, impossible, or open at t?"""
        values = CONSTANTS if token.argument == "_" else (token.argument,)
        if token.predicate in INPUTS:
            if token.t > t:
                return "open"
            present = any(Token(token.t, token.predicate, value) in facts for value in values)
            return "certain" if present else "impossible"
        best = "impossible"
        for value in values:
            for way in self.supports(token.predicate, value, token.t, token.now or 0):
                split = self.split(way, facts, t)
                if split is not None:
                    if not split[0]:
                        return "certain"
                    best = "open"
        return best

    def split(
        self, way: Support, facts: frozenset[Token], t: int
    ) -> tuple[Support, Support] | None:
        """The hypotheses and the evidence of a set of literals; None when it is refuted."""
        hypotheses, evidence = set(), set()
        for token in way:
            if not token.negated:
                if token in facts:
                    evidence.add(token)
                elif token.t > t:
                    hypotheses.add(token)
                else:
                    return None
                continue
            match self.status(token, facts, t):
                case "certain":
                    return None
                case "impossible":
                    evidence.add(token)
                case _:
                    hypotheses.add(token)
        return frozenset(hypotheses), frozenset(evidence)

    def consistent(self, hypotheses: Support, facts: frozenset[Token], t: int) -> bool:
        """Do the hypotheses not derive what they deny?"""
        positive = facts | {token for token in hypotheses if not token.negated}
        denied = {token for token in hypotheses if token.negated}
        for token in denied:
            values = CONSTANTS if token.argument == "_" else (token.argument,)
            for value in values:
                if token.predicate in INPUTS:
                    if Token(token.t, token.predicate, value) in positive:
                        return False
                    continue
                for way in self.supports(token.predicate, value, token.t, token.now or 0):
                    if all(
                        one in positive
                        if not one.negated
                        else one in denied or self.status(one, facts, t) == "impossible"
                        for one in way
                    ):
                        return False
        return True

    def evaluation_times(self, predicate: str, t: int) -> Iterable[int]:
        return [0] if predicate in self.seen_alike else range(t + REACH)

    def hypothetical(
        self, predicate: str, facts: frozenset[Token], t: int
    ) -> dict[tuple[str, int], set[tuple[Support, Support]]]:
        """For each answer the pairs of minimal hypotheses and minimal evidence (also none)."""
        found = {}
        for argument in CONSTANTS:
            for moment in range(t + REACH):
                pairs = set()
                for now in self.evaluation_times(predicate, t):
                    for way in self.supports(predicate, argument, moment, now):
                        split = self.split(way, facts, t)
                        if split is not None and self.consistent(split[0], facts, t):
                            pairs.add(split)
                pairs = {(_texts(h), _texts(e)) for h, e in pairs}
                minimal = {(h, e) for h, e in pairs if not any(other < h for other, _ in pairs)}
                found[argument, moment] = {
                    (h, e)
                    for h, e in minimal
                    if not any(o == h and other < e for o, other in minimal)
                }
        return found

    def disagreement(
        self,
        predicate: str,
        answers: Iterable[HypotheticalAnswer],
        facts: frozenset[Token],
        t: int,
    ) -> dict[str, set[Answer]]:
        """What the engine's answers have too many or too few.

        An answer with variables stands for those of its instances that nothing beats, so each one
        has to be supported or beaten.
        """
        exact, instances = ground(answers)
        hypothetical = self.hypothetical(predicate, facts, t)
        supported = self.supported(predicate, facts, t)

        def sound(one: Answer | None) -> bool:
            return (
                one is None
                or one in supported
                or any(
                    h < one.hypotheses or (h == one.hypotheses and e < one.evidence)
                    for h, e in hypothetical.get((one.argument, one.t), ())
                )
            )

        settled = {one: list(self.settled(predicate, one, facts, t)) for one in instances}
        found = {
            "too many": exact - supported,
            "unsound": {one for one, each in settled.items() if not any(map(sound, each))},
            "too few": supported - exact - {one for each in settled.values() for one in each},
        }
        return {name: wrong for name, wrong in found.items() if wrong}

    def settled(
        self, predicate: str, instance: Answer, facts: frozenset[Token], t: int
    ) -> Iterator[Answer | None]:
        """Decide what an instance denies, now that its variables have values; None if it is false.

        An answer does not tell from which evaluation time it is seen: any will do from which its
        literals suffice.
        """
        has = instance.hypotheses | instance.evidence
        for now in self.evaluation_times(predicate, t):
            ways = self.supports(predicate, instance.argument, instance.t, now)
            if not any(_texts(way) <= has for way in ways):
                continue
            tokens = {text: self.token(text, now) for text in instance.hypotheses}
            status = {
                text: self.status(token, facts, t)
                for text, token in tokens.items()
                if token.negated
            }
            hoped = frozenset(tokens.values())
            if "certain" in status.values() or not self.consistent(hoped, facts, t):
                yield None
            else:
                decided = {text for text, how in status.items() if how == "impossible"}
                hypotheses, evidence = instance.hypotheses - decided, instance.evidence | decided
                yield Answer(instance.argument, instance.t, hypotheses, evidence)

    def token(self, text: str, now: int) -> Token:
        found = re.fullmatch(r"(not )?@(\d+) (\w)\((\w)\)", text)
        assert found is not None
        negated, moment, predicate, argument = found.groups()
        if negated:
            return self.denied(predicate, argument, int(moment), now)
        return Token(int(moment), predicate, argument)

    def supported(self, predicate: str, facts: frozenset[Token], t: int) -> set[Answer]:
        """All supported answers: those that rest on some fact."""
        return {
            Answer(argument, moment, hypotheses, evidence)
            for (argument, moment), pairs in self.hypothetical(predicate, facts, t).items()
            for hypotheses, evidence in pairs
            if any(not text.startswith("not ") for text in evidence)
        }


def _texts(tokens: Support) -> frozenset[str]:
    return frozenset(token.text for token in tokens)


# What the engine says, made comparable


def ground(answers: Iterable[HypotheticalAnswer]) -> tuple[set[Answer], set[Answer]]:
    """The engine's answers without variables, and all instances of those with variables."""
    exact: set[Answer] = set()
    instances: set[Answer] = set()
    for answer in map(_without_wildcards, answers):
        names = sorted({name for item in answer.hypotheses for name in _variables(item)})
        for values in product(CONSTANTS, repeat=len(names)):
            chosen = dict(zip(names, values, strict=True))
            if any(_violates(restriction, chosen) for restriction in answer.where):
                continue
            argument, t = answer.answer["X"], answer.answer["T"]
            assert isinstance(t, int), answer
            (instances if names else exact).add(
                Answer(
                    chosen["X"] if argument is None else str(argument),
                    t,
                    frozenset(_ground_text(item, chosen) for item in answer.hypotheses),
                    frozenset(_ground_text(item, chosen) for item in answer.evidence),
                )
            )
    return exact, instances


def _without_wildcards(answer: HypotheticalAnswer) -> HypotheticalAnswer:
    numbers = count()
    hypotheses = tuple(
        item
        if item.negated
        else TimedAtom(
            item.t,
            Atom(
                item.atom.predicate,
                tuple(
                    Variable(f"any{next(numbers)}") if isinstance(arg, Wildcard) else arg
                    for arg in item.atom.args
                ),
            ),
        )
        for item in answer.hypotheses
    )
    return replace(answer, hypotheses=hypotheses)


def _variables(item: TimedAtom) -> Iterator[str]:
    for arg in item.atom.args:
        if isinstance(arg, Variable):
            yield arg.name


def _violates(restriction: str, chosen: dict[str, str]) -> bool:
    left, _, right = restriction.partition("!=")
    return chosen.get(left, left) == chosen.get(right, right)


def _ground_text(item: TimedAtom, chosen: dict[str, str]) -> str:
    args = tuple(chosen[a.name] if isinstance(a, Variable) else a for a in item.atom.args)
    return str(TimedAtom(item.t, Atom(item.atom.predicate, args), item.negated))


# Random programs and streams


@st.composite
def items(draw: st.DrawFn, lower: tuple[str, ...], negated: bool, kinds: tuple[str, ...]) -> Item:
    """A part of a body; a pinned one without a window needs `T` to be bound to the head."""
    kind = draw(st.sampled_from(kinds))
    predicate = draw(st.sampled_from((*INPUTS, *lower)))
    free = ("X", "X", "_", "a") if negated else ("X", "X", "X", "Y", "_", "a")
    argument = draw(st.sampled_from(free))
    match kind:
        case "pin":
            return Item("at", predicate, argument, negated, None, draw(st.integers(-1, 2)))
        case "at":
            return Item("at", predicate, argument, negated, draw(st.integers(0, 2)))
        case "now":
            return Item("now", predicate, argument, negated)
        case _:
            hop = draw(st.sampled_from((1, 1, 1, 2)))
            size = draw(st.integers(hop if hop > 1 else 0, 2))
            return Item(kind, predicate, argument, negated, size, 0, hop)


@st.composite
def rules(draw: st.DrawFn, layer: int, negation: bool, windows: bool, pins: bool) -> SimpleRule:
    lower = LAYERS[:layer]
    timed = pins and (not windows or draw(st.booleans()))
    kinds: tuple[str, ...] = ("pin",)
    if windows:
        # T is bound either to the head alone, or to the evaluation time too.
        free = draw(st.booleans())
        kinds = ("pin",) if timed and free else ("now", "some", "always", "at")
    most = 2 if windows else 3
    parts = draw(st.lists(items(lower, False, kinds), min_size=1, max_size=most))
    # X, and T if there is one, have to be bound by something that is seen.
    parts[0] = parts[0]._replace(argument="X")
    if timed and not any(item.kind == "at" for item in parts):
        parts[0] = Item("at", parts[0].predicate, "X", window=draw(st.integers(0, 2)))
    if negation and draw(st.booleans()):
        item = draw(items(lower, True, kinds))
        if item.kind != "at" or any(part.kind == "at" for part in parts):
            parts.append(item)
    shift = draw(st.integers(-1, 2)) if timed else None
    return SimpleRule(LAYERS[layer], shift, tuple(parts), draw(st.booleans()))


@st.composite
def definitions(
    draw: st.DrawFn, negation: bool = False, windows: bool = True, pins: bool = True
) -> Definition:
    """A program whose last layer is the query's predicate `r`; without pins all heads are plain."""
    chosen = []
    for layer in range(len(LAYERS)):
        most = 1 if layer == 0 and windows else 2
        chosen += draw(st.lists(rules(layer, negation, windows, pins), min_size=1, max_size=most))
        alike = Definition(tuple(chosen)).seen_alike
        chosen = [_decidable(rule, alike) for rule in chosen]
    return Definition(tuple(chosen))


def _decidable(rule: SimpleRule, alike: set[str]) -> SimpleRule:
    """Without denials of what depends on the evaluation time, where no window says which."""
    if rule.shift is None or any(item.window is not None for item in rule.items):
        return rule
    kept = [i for i in rule.items if not i.negated or i.predicate in (*INPUTS, *alike)]
    return rule._replace(items=tuple(kept))


def streams(last: int = 4) -> st.SearchStrategy[frozenset[Token]]:
    parts = st.tuples(st.integers(0, last), st.sampled_from(INPUTS), st.sampled_from(CONSTANTS))
    return st.frozensets(parts.map(lambda part: Token(*part)), max_size=9)


def elements(facts: Iterable[Token]) -> list[tuple[int, Atom]]:
    return sorted((token.t, fact(token.predicate, token.argument)) for token in facts)


def checked(text: str, background: Iterable[str] = ()) -> Checked:
    parsed = parse_program(text)
    assert parsed.problems == (), parsed.problems
    return check(parsed.program, {parse_atom(atom).signature for atom in background})


def formula(text: str) -> Formula:
    parsed = parse_formula(text)
    assert parsed.formula is not None, parsed.problems
    return parsed.formula
