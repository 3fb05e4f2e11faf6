"""The encodings of the Ticker paper as programs that clingo reads: Algorithms 1, 2 and 3.

The static encoding is evaluated as a whole at each tick. The incremental one consists of parts:
every tick adds rules that are pinned to it, and a part's name says how long they last.

`p_at(X,T)` stands for p(X) at T, and `p_nr(X,T,C)` for an input atom that is the C-th of all. Texts
are written in quotes, so that clingo orders them as larspark does.

Three things differ from the paper. One rule with bounds replaces the n+1 rules of a window. Windows
are clipped where the timeline begins. And `[#n] always p` compares the time points that the window
covers with those at which it shows p: the rule of the paper that spoils atoms cut off at the first
of these time points expires one tuple too early.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias, assert_never

from larspark.base.atoms import Atom, Signature
from larspark.base.facts import Row
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import Constant, Term, Variable, Wildcard
from larspark.language.printer import origin_comment, window_text
from larspark.language.term_text import atom_text
from larspark.run.answer_sets.clingo_terms import (
    RuleNames,
    applied,
    comparison,
    fresh,
    plain_term,
    written,
)
from larspark.run.answer_sets.plain_rules import (
    NOW,
    Condition,
    ExtendedAtom,
    InTimeline,
    IsTime,
    Mode,
    PinnedAtom,
    PlainRule,
    Test,
    TimePoint,
    Windows,
    plain_rules,
)
from larspark.run.answer_sets.ticker_fragment import counts_tuples, fragment_problems, term_problems
from larspark.run.prepare import Prepared

_OWN = r"(?:now|cnt|tick|time|(?:w|seen|spoil|covers)\d+|\w+_(?:at|nr)){}\Z"


class Part(NamedTuple):
    """How long the rules of a tick last: `time` time points, `tuples` atoms, or forever."""

    time: int | None = None
    tuples: int | None = None

    @property
    def name(self) -> str:
        if self.time is not None:
            return f"time_{self.time}"
        return "always" if self.tuples is None else f"count_{self.tuples}"

    def has(self, tick: "Tick", now: "Tick") -> bool:
        """Are the rules of a tick still there at a later one?"""
        if self.time is not None:
            return now.t - tick.t < self.time
        return self.tuples is None or now.number - tick.number < self.tuples

    def until(self, tick: "Tick") -> str:
        """The tick at which the rules of a tick expire."""
        time = "*" if self.time is None else str(tick.t + self.time)
        count = "*" if self.tuples is None else str(tick.number + self.tuples)
        return f"({time},{count})"


class Tick(NamedTuple):
    """A time point, how many input atoms there were, and the last of them if it is new."""

    t: int
    number: int
    atom: Atom | None = None


_ALWAYS = Part()
# A window of an encoding is its number, with the patterns of the atom below it.
_Pattern: TypeAlias = tuple[Constant | Variable | Wildcard, ...]


@dataclass(frozen=True, slots=True)
class _Watched:
    """An extended atom, or a time point, that has a relation of its own."""

    number: int
    signature: Signature | None
    pattern: _Pattern
    windows: Windows
    mode: Mode

    @property
    def variables(self) -> list[str]:
        return list(dict.fromkeys(p.name for p in self.pattern if isinstance(p, Variable)))

    @property
    def tuples(self) -> int | None:
        window = self.windows[0] if self.windows else None
        return window.tuples_back if window is not None and window.selects_input else None

    @property
    def time(self) -> int | None:
        bounds = self.windows[0].bounds if self.windows else None
        return None if bounds is None else bounds.past


@dataclass(slots=True)
class TickerEncoding:
    """The encodings of one program.

    >>> from larspark.language import parse_program
    >>> from larspark.run.prepare import prepare
    >>> from larspark.run.protocol import Settings
    >>> program = parse_program("b(X) :- [2] some a(X).").program
    >>> print("\\n".join(TickerEncoding(prepare(program, (), Settings())).windows()))
    % w1: [2] some a(X)
    w1(X) :- a_at(X,T), now(N), N-2 <= T, T <= N.
    """

    prepared: Prepared
    counts: bool = False
    _rules: list[PlainRule] = field(default_factory=list)
    _suffix: str = ""
    _watched: dict[tuple[object, ...], _Watched] = field(default_factory=dict)
    _base: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        checked = self.prepared.checked
        known = frozenset(self.prepared.background) | checked.background
        problems = fragment_problems(checked, known)
        if problems:
            raise LarsparkError(problems)
        self._rules = plain_rules(checked.rules) or []
        self.counts = counts_tuples(checked.program)
        predicates = [signature.predicate for signature in self._predicates]
        while any(re.match(_OWN.format(self._suffix), predicate) for predicate in predicates):
            self._suffix += "_"
        last = ""
        for rule in self._rules:
            origin = origin_comment(checked.program, rule.origin)
            self._base += [origin] if origin != last else []
            self._base.append(self._rule(rule))
            last = origin

    # The static encoding.

    def static(self, ticks: Sequence[Tick] = (), at: int | None = None) -> str:
        """Algorithm 1, with the encoding of a stream up to its last tick."""
        self._check_stream(ticks)
        lines = ["% The static encoding (Algorithm 1 of Ticker) for clingo.", *self._legend()]
        given = ["now(t)", "cnt(c)"] if self.counts else ["now(t)"]
        facts = " and ".join(f"`{self._own(fact)}`" for fact in given)
        if not ticks and at is None:
            lines.append(
                f"% Add {facts} for the evaluation at t{' after c input atoms' * self.counts}."
            )
        lines += ["", "% The rules, with a relation for each window.", *self._base]
        windows = self.windows()
        lines += ["", "% What the windows show.", *windows] if windows else []
        lines += ["", "% An atom holds now if it holds at the evaluation time."]
        lines += [
            line for s in self._predicates for line in self._now(s, f"{self._own('now')}(N)", "N")
        ]
        lines += self._shared()
        if ticks:
            lines += ["", *self._stream(ticks)]
        if ticks or at is not None:
            lines += ["", f"{self._own('now')}({ticks[-1].t if ticks else at})."]
            lines += [f"{self._own('cnt')}({ticks[-1].number})."] if self.counts and ticks else []
        return "".join(f"{line}\n" for line in lines)

    def windows(self) -> list[str]:
        """The rules that say what each window shows at the evaluation time."""
        lines: list[str] = []
        for watched in self._watched.values():
            lines += [self._title(watched), *self._static_window(watched)]
        return lines

    def _static_window(self, watched: _Watched) -> Iterator[str]:
        t, n, c, d = fresh(watched.variables, "T", "N", "C", "D")
        now, cnt, number = self._own("now"), self._own("cnt"), watched.number
        if watched.tuples is not None:
            count = f"{cnt}({c}), {c}-{watched.tuples} < {d}, {d} <= {c}"
            shown = f"{self._seen(watched, '_nr', t, d)}, {count}"
            if watched.mode is not Mode.ALWAYS:
                yield f"{self._head(watched, t)} :- {shown}."
                return
            yield f"{self._name('seen', watched, t)} :- {shown}."
            yield f"{self._own(f'covers{number}')}({t}) :- {self._own('tick')}({t},{d}), {count}."
            yield from self._unspoilt_tuples(watched, t)
            return
        bounds = "" if watched.time is None else f"{n}-{watched.time} <= {t}, "
        if watched.mode is not Mode.ALWAYS:
            within = f", {now}({n}), {bounds}{t} <= {n}" if watched.windows else ""
            yield f"{self._head(watched, t)} :- {self._seen(watched, '_at', t)}{within}."
            return
        atom, at = self._plain(watched), self._seen(watched, "_at", t)
        spoil = self._name("spoil", watched)
        yield f"{self._head(watched)} :- {atom}, not {spoil}."
        if watched.time == 0:
            return
        time = f"{self._own('time')}({t})"
        yield f"{spoil} :- {atom}, {now}({n}), {time}, {bounds}{t} < {n}, not {at}."

    def _unspoilt_tuples(self, watched: _Watched, t: str) -> Iterator[str]:
        atom, spoil = self._plain(watched), self._name("spoil", watched)
        covers = self._own(f"covers{watched.number}")
        yield f"{self._head(watched)} :- {atom}, not {spoil}."
        yield f"{spoil} :- {atom}, {covers}({t}), not {self._name('seen', watched, t)}."

    # The incremental encoding.

    def parts(self) -> str:
        """Algorithm 2: what each tick adds, in one part for each duration."""
        arguments = "(t,c)" if self.counts else "(t)"
        lines = ["% The incremental encoding (Algorithm 2 of Ticker) for clingo.", *self._legend()]
        lines += self._use(arguments)
        lines += ["", "#program base.", *self._base, *self._lasting_windows(), *self._shared()]
        for part, rules in self._tick_rules("t", "c").items():
            lines += ["", f"#program {part.name}{arguments}.", *rules]
        return "".join(f"{line}\n" for line in lines)

    def pinned(self, t: int) -> str:
        """The rules that the time point t adds, with the tick at which they expire."""
        lines = [f"% What the time point {t} adds to the incremental encoding of Ticker."]
        lines += [line for line in self._pins([Tick(t, 0)], Tick(t, 0)) if line]
        return "".join(f"{line}\n" for line in lines)

    def incremental(self, ticks: Sequence[Tick]) -> str:
        """Algorithm 3: the rules that have not expired at the last tick, and its stream."""
        self._check_stream(ticks)
        now = ticks[-1]
        at = f"({now.t},{now.number})"
        lines = [f"% The incremental program of Ticker at the tick {at}, for clingo."]
        lines += [*self._legend(), "", *self._base, *self._lasting_windows(), *self._shared()]
        lines += ["", *self._stream(ticks), *self._pins(ticks, now)]
        return "".join(f"{line}\n" for line in lines)

    def _pins(self, ticks: Sequence[Tick], now: Tick) -> Iterator[str]:
        """The rules of ticks that are still there, by when they expire."""
        written: set[tuple[str, str]] = set()
        for tick in ticks:
            # The stream has the facts about the ticks.
            fact = self._tick_fact(str(tick.t), str(tick.number))
            for part, rules in self._tick_rules(str(tick.t), str(tick.number)).items():
                if not part.has(tick, now):
                    continue
                until = part.until(tick)
                new = [r for r in rules if r[0] != "%" and r != fact and (r, until) not in written]
                if new:
                    yield ""
                    yield f"% Added at ({tick.t},{tick.number}), expires at {until}."
                    yield from new
                written.update((rule, until) for rule in new)

    def _tick_rules(self, t: str, c: str) -> dict[Part, list[str]]:
        """The rules of a tick by how long they last, with a title before those of a window."""
        found: dict[Part, list[str]] = {_ALWAYS: [self._tick_fact(t, c)]}
        for watched in self._watched.values():
            for part, rule in self._pinned_window(watched, t, c):
                lines = found.setdefault(part, [])
                title = self._title(watched)
                lines += [rule] if title in lines else [title, rule]
        moved = found.setdefault(Part(time=1), [])
        moved += ["% An atom holds now if it holds at the last time point."]
        moved += [line for s in self._predicates for line in self._now(s, "", t)]
        return found

    def _tick_fact(self, t: str, c: str) -> str:
        return f"{self._own('tick')}({t},{c})." if self.counts else f"{self._own('time')}({t})."

    def _pinned_window(self, watched: _Watched, t: str, c: str) -> Iterator[tuple[Part, str]]:
        if watched.tuples is not None:
            part = Part(tuples=watched.tuples)
            shown = self._seen(watched, "_nr", t, c)
            if watched.mode is not Mode.ALWAYS:
                yield part, f"{self._head(watched, t)} :- {shown}."
                return
            yield part, f"{self._name('seen', watched, t)} :- {shown}."
            yield part, f"{self._own(f'covers{watched.number}')}({t})."
            return
        size = watched.time
        if watched.mode is not Mode.ALWAYS:
            part = Part(time=None if size is None else size + 1)
            body = "" if watched.signature is None else f" :- {self._seen(watched, '_at', t)}"
            yield part, f"{self._head(watched, t)}{body}."
        elif size != 0:
            before = str(int(t) - 1) if t.isdecimal() else f"{t}-1"
            at, time = self._seen(watched, "_at", before), f"{self._own('time')}({before})"
            spoil = self._name("spoil", watched)
            yield Part(time=size), f"{spoil} :- {self._plain(watched)}, {time}, not {at}."

    def _lasting_windows(self) -> Iterator[str]:
        """The rules of windows that no tick is part of."""
        for watched in self._watched.values():
            if watched.mode is Mode.ALWAYS:
                yield self._title(watched)
                if watched.tuples is not None:
                    yield from self._unspoilt_tuples(watched, fresh(watched.variables, "T")[0])
                else:
                    spoil = self._name("spoil", watched)
                    yield f"{self._head(watched)} :- {self._plain(watched)}, not {spoil}."

    # What both encodings have.

    @property
    def _predicates(self) -> list[Signature]:
        checked = self.prepared.checked
        found = checked.inputs | checked.derived | checked.background_signatures
        return sorted(found)

    def _legend(self) -> Iterator[str]:
        at, nr = self._own("p_at"), self._own("p_nr")
        yield '% Texts are written in quotes; `V < ""` holds for numbers alone.'
        if self.counts:
            yield f"% A stream: `{self._own('tick')}(T,C)` for every time point T and each number C"
            yield "% that input atoms have been counted to at it;"
            yield f"% `{at}(X,T)` and `{nr}(X,T,C)` for an input atom p(X) at T, the C-th of all."
        else:
            yield f"% A stream: `{self._own('time')}(T)` for every time point T,"
            yield f"% `{at}(X,T)` for an input atom p(X) at T."

    def _use(self, arguments: str) -> Iterator[str]:
        yield "% Ground `base`, and of every tick so far the parts that have not expired:"
        yield f"% `always{arguments}`; `time_d{arguments}` until d time points later;"
        if self.counts:
            yield f"% `count_n{arguments}` until n input atoms later."

    def _shared(self) -> Iterator[str]:
        """Background data, facts with a time, and what is shown."""
        checked = self.prepared.checked
        time = self._own("time")
        if self.counts:
            yield ""
            yield f"{time}(T) :- {self._own('tick')}(T,_)."
        known = sorted({*self.prepared.background, *checked.background}, key=atom_text)
        if known or checked.elements:
            yield ""
            yield "% Background data holds at every time point."
        watched = {w.signature for w in self._watched.values()} | self._pinned_atoms()
        for atom in known:
            if atom.signature in watched:
                yield f"{self._atom(atom, '_at', 'T')} :- {time}(T)."
            else:
                yield f"{self._atom(atom)}."
        for t, atom in checked.elements:
            yield f"{self._atom(atom, '_at', str(t))} :- {time}({t})."
        yield ""
        yield "#show."
        for signature in sorted(checked.shown):
            yield f"#show {signature.predicate}/{signature.arity}."

    def _pinned_atoms(self) -> set[Signature]:
        """The predicates that bodies look for at a time."""
        return {
            atom.atom.signature
            for rule in self._rules
            for atom in (*rule.positive, *rule.negative)
            if atom.mode is Mode.AT
        }

    def _stream(self, ticks: Sequence[Tick]) -> Iterator[str]:
        yield "% The stream."
        for t, count, atom in ticks:
            facts = []
            if self.counts or atom is None:
                facts.append(self._tick_fact(str(t), str(count)))
            # Tuple windows count atoms of any predicate.
            if atom is not None and atom.signature in self._predicates:
                facts.append(f"{self._atom(atom, '_at', str(t))}.")
                if self.counts:
                    facts.append(f"{self._atom(atom, '_nr', str(t), str(count))}.")
            if facts:
                yield " ".join(facts)

    def _check_stream(self, ticks: Sequence[Tick]) -> None:
        """Raise what in a stream clingo cannot hold, or what the program derives itself."""
        atoms = sorted({tick.atom for tick in ticks if tick.atom is not None}, key=atom_text)
        derived = self.prepared.checked.derived
        problems = [problem for atom in atoms for problem in term_problems("", atom.args, None)]
        for signature in sorted(derived & {atom.signature for atom in atoms}):
            message = f"the stream holds `{signature.predicate}`, which the program derives"
            problems.append(Problem("L401", message))
        if problems:
            raise LarsparkError(dict.fromkeys(problems))

    def _now(self, signature: Signature, now: str, t: str) -> Iterator[str]:
        columns = [f"X{column + 1}" for column in range(signature.arity)]
        plain = applied(signature.predicate, columns)
        at = applied(self._own(f"{signature.predicate}_at"), [*columns, t])
        after = f", {now}" if now else ""
        yield f"{plain} :- {at}{after}."
        yield f"{at} :- {plain}{after}."

    def _rule(self, rule: PlainRule) -> str:
        names = RuleNames(rule)
        heads = " ; ".join(self._head_atom(head, names) for head in rule.heads)
        body = [self._point(point, names) for point in rule.points]
        body += [self._literal(atom, names) for atom in rule.positive]
        body += [f"not {self._literal(atom, names)}" for atom in rule.negative]
        bound = {atom.time for atom in rule.positive if atom.mode is Mode.AT}
        bound |= {point.time for point in rule.points}
        for condition in rule.conditions:
            body += self._condition(condition, names, bound)
        if not body:
            return f"{heads}."
        # What stands after a conditional literal would belong to its condition.
        body.sort(key=lambda literal: literal.startswith("#false :"))
        text = ", ".join(body).replace(", #false :", "; #false :")
        return f"{heads} :- {text}.".lstrip()

    def _head_atom(self, head: PinnedAtom, names: RuleNames) -> str:
        args = [names.term(term) for term in head.atom.args]
        if head.time is None:
            return applied(head.atom.predicate, args)
        return applied(self._own(f"{head.atom.predicate}_at"), [*args, names.term(head.time)])

    def _point(self, point: TimePoint, names: RuleNames) -> str:
        if not point.windows:
            return f"{self._own('time')}({names.term(point.time)})"
        watched = self._watch(None, (), point.windows, Mode.AT)
        return self._head(watched, names.term(point.time))

    def _literal(self, extended: ExtendedAtom, names: RuleNames) -> str:
        atom, time = extended.atom, extended.time
        args = [names.term(term) for term in atom.args]
        if extended.mode is Mode.SOME and extended.windows == NOW:
            return applied(atom.predicate, args)
        if extended.mode is Mode.AT and not extended.windows and time is not None:
            return applied(self._own(f"{atom.predicate}_at"), [*args, names.term(time)])
        pattern = tuple(
            Variable(names.term(term)) if isinstance(term, Variable) else plain_term(term)
            for term in atom.args
        )
        watched = self._watch(atom.signature, pattern, extended.windows, extended.mode)
        given = list(dict.fromkeys(names.term(t) for t in atom.args if isinstance(t, Variable)))
        given += [] if time is None else [names.term(time)]
        return applied(self._own(f"w{watched.number}"), given)

    def _watch(
        self, signature: Signature | None, pattern: _Pattern, windows: Windows, mode: Mode
    ) -> _Watched:
        """The relation of an extended atom; those that differ in names alone share one."""
        order = {
            name: n
            for n, name in enumerate(
                dict.fromkeys(part.name for part in pattern if isinstance(part, Variable))
            )
        }
        form = tuple(("", order[p.name]) if isinstance(p, Variable) else p for p in pattern)
        key = (signature, form, windows, mode)
        if key not in self._watched:
            number = len(self._watched) + 1
            self._watched[key] = _Watched(number, signature, pattern, windows, mode)
        return self._watched[key]

    def _condition(
        self, condition: Condition, names: RuleNames, bound: set[Term | None]
    ) -> list[str]:
        match condition:
            case Test():
                return comparison(condition, names, bound)
            case InTimeline(term):
                return [] if term in bound else [f"{self._own('time')}({names.term(term)})"]
            case IsTime(term):
                value = names.term(term)
                return [] if term in bound or isinstance(term, int) else [f"{value} = {value}+0"]
            case _:
                assert_never(condition)

    def _own(self, name: str) -> str:
        """A name of the encoding's own; `p_at(X)` keeps what is in brackets."""
        base, bracket, rest = name.partition("(")
        return f"{base}{self._suffix}{bracket}{rest}"

    def _name(self, kind: str, watched: _Watched, *more: str) -> str:
        return applied(self._own(f"{kind}{watched.number}"), [*watched.variables, *more])

    def _head(self, watched: _Watched, t: str = "") -> str:
        return self._name("w", watched, *([t] if watched.mode is Mode.AT else []))

    def _seen(self, watched: _Watched, kind: str, *more: str) -> str:
        if watched.signature is None:
            return f"{self._own('time')}({more[0]})"
        args = [written(part) for part in watched.pattern]
        return applied(self._own(f"{watched.signature.predicate}{kind}"), [*args, *more])

    def _plain(self, watched: _Watched) -> str:
        predicate = "" if watched.signature is None else watched.signature.predicate
        return applied(predicate, [written(part) for part in watched.pattern])

    def _title(self, watched: _Watched) -> str:
        windows = "".join(f"[{window_text(window)}] " for window in watched.windows)
        t = fresh(watched.variables, "T")[0]
        mode = f"@{t}" if watched.mode is Mode.AT else watched.mode.value
        below = "true"
        if watched.signature is not None:
            below = atom_text(Atom(watched.signature.predicate, watched.pattern))
        return f"% {self._own(f'w{watched.number}')}: {windows}{mode} {below}"

    def _atom(self, atom: Atom, kind: str = "", *more: str) -> str:
        args = [written(term) for term in atom.args]
        name = self._own(f"{atom.predicate}{kind}") if kind else atom.predicate
        return applied(name, [*args, *more])


def ticks_of(rows: Iterable[Row], start: int, at: int) -> list[Tick]:
    """The ticks of a stream up to a time point (Definition 5), in the order of arrival."""
    arrived: dict[int, dict[Atom, None]] = {}
    for row in rows:
        if start <= row.t <= at and row.atom is not None:
            arrived.setdefault(row.t, {})[row.atom] = None
    ticks: list[Tick] = []
    count = 0
    for t in range(start, at + 1):
        ticks.append(Tick(t, count))
        for atom in arrived.get(t, ()):
            count += 1
            ticks.append(Tick(t, count, atom))
    return ticks
