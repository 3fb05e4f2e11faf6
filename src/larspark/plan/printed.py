"""The plan as text: stable, one operator a line, each with the line of the program it came from."""

from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from larspark.base.atoms import Atom, atom_text, term_text
from larspark.base.problems import Span
from larspark.base.terms import Term, Variable
from larspark.language.nodes import term_variables
from larspark.language.windows import Key, TimeWindow
from larspark.logic.traversal import key_term
from larspark.plan.operators import (
    Collect,
    Contents,
    Derive,
    Each,
    Ever,
    Filters,
    Join,
    Let,
    Mode,
    Operator,
    Plan,
    Reach,
    Seen,
    Sessions,
    Tuples,
    Where,
    Within,
    Without,
)

_WIDTH = 60


def plan_text(plan: Plan) -> str:
    """The plan as an indented tree, from what is derived down to what is read."""
    lines: list[str] = []
    for number, group in enumerate(plan.groups):
        names = ", ".join(map(str, group.predicates))
        lines.append(f"{number + 1}. {names}{' (recursive)' if group.recursive else ''}")
        for rule in group.rules:
            lines.extend(_placed(text, span) for text, span in _derive(rule))
    return "\n".join(lines)


def seen_text(seen: Seen) -> str:
    """A leaf in the words of the language, windows collapsed."""
    # What a tuple window counts among is filtered already.
    counted = () if not isinstance(seen.tuples, Tuples | Sessions) else seen.tuples.among
    only = tuple(patterns for patterns in seen.only if patterns not in counted)
    windows = (*_tuple_windows(seen), *_filters(only), *_time_window(seen.reach))
    words = [f"[{window}]" for window in windows]
    match seen.mode:
        case Mode.NOW:
            pass
        case Mode.SOME | Mode.ALWAYS:
            words.append(seen.mode)
        case Mode.AT:
            words.append(f"@{term_text(0 if seen.time is None else seen.time)}")
        case _:
            assert_never(seen.mode)
    return " ".join([*words, _asked(seen)])


def _asked(seen: Seen) -> str:
    """The atom itself, or `true` for time points."""
    if not isinstance(seen.tuples, Contents):
        return atom_text(seen.atom)
    signature, args = seen.tuples.signature, seen.atom.args[seen.tuples.positions :]
    return "true" if signature is None else atom_text(Atom(signature.predicate, args))


def _placed(text: str, span: Span) -> str:
    return f"{text:<{_WIDTH}}  line {span.line}"


def derive_text(rule: Derive) -> str:
    """The head of a rule, with its line."""
    time = "" if rule.time is None else f"@{term_text(rule.time)} "
    return f"{time}{atom_text(rule.atom)}, line {rule.origin.line}"


def _derive(rule: Derive) -> Iterator[tuple[str, Span]]:
    time = "" if rule.time is None else f"@{term_text(rule.time)} "
    yield f"   derive {time}{atom_text(rule.atom)}", rule.origin
    yield from _operator(rule.source, 2)


def _operator(operator: Operator, depth: int) -> Iterator[tuple[str, Span]]:
    indent = " " + "  " * depth
    match operator:
        case Seen():
            yield f"{indent}{seen_text(operator)}", operator.origin
        case Ever():
            yield f"{indent}ever", operator.origin
        case Join(left, right, on) | Without(left, right, on):
            name = "join" if isinstance(operator, Join) else "without"
            shared = f" on {', '.join(v.name for v in on)}" if on else ""
            yield f"{indent}{name}{shared}", operator.origin
            yield from _operator(left, depth + 1)
            yield from _operator(right, depth + 1)
        case Where(source, comparison, negated, without_value):
            words = f"{term_text(comparison.left)} {comparison.operator}"
            words = f"{'not ' if negated else ''}{words} {term_text(comparison.right)}"
            words += " or has no value" if without_value else ""
            yield f"{indent}where {words}", operator.origin
            yield from _operator(source, depth + 1)
        case Let(source, variable, term):
            yield f"{indent}let {variable.name} = {term_text(term)}", operator.origin
            yield from _operator(source, depth + 1)
        case Each(source, variable, low, high):
            ends = f"from {term_text(low)} to {term_text(high)}"
            yield f"{indent}each {variable.name} {ends}", operator.origin
            yield from _operator(source, depth + 1)
        case Within(source, variable, reach):
            where = "".join(f"[{window}] in " for window in _time_window(reach))
            yield f"{indent}within {where}the timeline: {variable.name}", operator.origin
            yield from _operator(source, depth + 1)
        case Collect(source, function, group):
            words = "some tuple" if function is None else function
            if function not in (None, "count"):
                words += f" of {term_text(source.atom.args[len(group)])}"
            by = ", ".join(variable.name for variable in group)
            yield f"{indent}{words}{' by ' if by else ''}{by}", operator.origin
            yield from _operator(source, depth + 1)
        case _:
            assert_never(operator)


def _time_window(reach: Reach) -> Iterator[str]:
    if reach == Reach():
        return
    yield TimeWindow(reach.past, reach.future, reach.every).text()


def _tuple_windows(seen: Seen) -> Iterator[str]:
    if seen.tuples is None:
        return
    if isinstance(seen.tuples, Contents):
        yield from _contents(seen.tuples, seen.atom.args)
        return
    yield from _filters(seen.tuples.among)
    keys = "" if seen.tuples.by is None else _keys(seen.atom, seen.tuples.by)
    yield f"{seen.tuples.size_text}{keys}"


def _contents(contents: Contents, args: Sequence[Term]) -> Iterator[str]:
    """The windows; from the first one of a position on, it says where they look from."""
    before = None
    for window, position in contents.windows:
        if position != before:
            yield "from now" if position is None else f"from {term_text(args[position])}"
            before = position
        keys = ""
        if window.groups is not None:
            places = dict(window.groups).values()
            keys = " by " + " or ".join(map(keys_text, places))
        yield f"{window.text()}{keys}"


def _keys(atom: Atom, by: tuple[Key, ...]) -> str:
    return " by " + ", ".join(term_text(key_term(key, atom.args)) for key in by)


def keys_text(keys: Iterable[Key]) -> str:
    """Keys with the arguments as numbers: `1`, and `#1 mod 10` in a term."""
    return ", ".join(map(_key_text, keys))


def _key_text(key: Key) -> str:
    if isinstance(key, int):
        return str(key + 1)
    places = {int(variable.name) for variable in term_variables(key)}
    return term_text(key_term(key, [Variable(f"#{n + 1}") for n in range(max(places) + 1)]))


def _filters(filters: Filters) -> Iterator[str]:
    for patterns in filters:
        yield f"only {', '.join(map(atom_text, patterns))}"
