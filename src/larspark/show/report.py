"""The report of `larspark check`, as text and as JSON."""

from collections.abc import Iterable, Iterator
from dataclasses import astuple
from typing import Any

from larspark.analysis.checked import Checked, Edge, Lookback
from larspark.analysis.dependencies import negative_cycle
from larspark.analysis.fragment import WindowProperties, window_properties
from larspark.analysis.partition import partition_obstacles
from larspark.analysis.past import time_cut
from larspark.base.atoms import Signature
from larspark.base.problems import Problem, Severity
from larspark.language import program_text, rule_text
from larspark.language.tree import Tick
from larspark.language.window_syntax import tick_text
from larspark.run.hypothetical.rule_dependencies import TimeProperties, time_properties
from larspark.run.registry import ENGINES

_WIDTH = 16


def report_json(checked: Checked, engine: str, reason: str) -> dict[str, Any]:
    """The report as data, for `larspark check --json`."""
    key = checked.partition_key
    in_time = time_properties(checked)
    return {
        "fragment": checked.fragment.value,
        "engine": engine,
        "engine_reason": reason,
        "several_models": checked.several_models,
        "strata": None if checked.strata is None else [_names(layer) for layer in checked.strata],
        "cycle": [_edge_json(checked, edge) for edge in _cycle(checked)],
        "lookback": {"time": checked.lookback.time, "tuples": checked.lookback.tuples},
        "future_reach": checked.future_reach,
        "endless": checked.endless,
        "nested_windows": checked.nested_windows,
        "windows": [
            {"window": text, "monotone": monotone, "sparse": sparse}
            for text, monotone, sparse in map(astuple, window_properties(checked))
        ],
        "stratified_in_time": in_time.stratified,
        "delays": None
        if in_time.delays is None
        else {str(p): delay for p, delay in in_time.delays.items()},
        "slices": {
            "possible": ENGINES[engine].slices and time_cut(checked).lookback is not None,
            "obstacles": list(time_cut(checked).obstacles),
        },
        "partition_key": None if key is None else {str(p): n + 1 for p, n in key.items()},
        "partition_obstacles": [
            {
                "rule": rule_text(checked.rules[number]),
                "line": _line(checked, number),
                "reason": why,
            }
            for number, why in partition_obstacles(checked)
        ],
        "input": _names(checked.inputs),
        "background": _names(checked.background_signatures),
        "derived": _names(checked.derived),
        "output": _names(checked.shown),
        "dependencies": [_edge_json(checked, edge) for edge in checked.edges],
        "errors": [problem_json(p) for p in checked.problems if p.severity is Severity.ERROR],
        "warnings": [problem_json(p) for p in checked.problems if p.severity is Severity.WARNING],
        "program": program_text(checked.program),
    }


def problem_json(problem: Problem) -> dict[str, Any]:
    """A problem as data; the place is left out when there is none."""
    data: dict[str, Any] = {
        "code": problem.code,
        "severity": problem.severity.value,
        "message": problem.message,
        "hint": problem.hint,
    }
    if problem.span is not None:
        data |= {
            "source": problem.span.source,
            "line": problem.span.line,
            "column": problem.span.column,
        }
    return data


def summary_text(checked: Checked, engine: str, reason: str) -> str:
    """What a user wants to know first: engine, time, inputs and output."""
    return _table(
        [
            ("engine", [f"{engine}, {reason}"]),
            ("looks back", [_duration(checked, checked.lookback)]),
            *([("looks ahead", [_future(checked)])] if checked.future_heads else []),
            ("reads", [_listed(checked.inputs)]),
            *_given(checked),
            ("derives", [_listed(checked.shown)]),
        ]
    )


def _duration(checked: Checked, lookback: Lookback) -> str:
    tick, time = checked.program.tick, lookback.time
    text = _lookback(lookback)
    if tick is None or not time:
        return text
    return f"{tick_text(Tick(time * tick.microseconds))}: {text}"


def _given(checked: Checked) -> list[tuple[str, list[str]]]:
    given = checked.background_signatures
    return [("background", [_listed(given)])] if given else []


def report_text(checked: Checked, engine: str, reason: str) -> str:
    """The report as text, without the problems."""
    return _table(_sections(checked, engine, reason))


def _table(sections: Iterable[tuple[str, list[str]]]) -> str:
    lines: list[str] = []
    for title, content in sections:
        for number, line in enumerate(content):
            lines.append(f"{title if number == 0 else '':<{_WIDTH}}{line}")
    return "\n".join(lines)


def _sections(checked: Checked, engine: str, reason: str) -> Iterator[tuple[str, list[str]]]:
    yield "fragment", [checked.fragment.value + (", nested windows" * checked.nested_windows)]
    yield "engine", [f"{engine}: {reason}"]
    yield "answer streams", [_models(checked)]
    yield "strata", _strata(checked)
    yield "in time", _in_time(time_properties(checked))
    yield "windows", [*map(_window, window_properties(checked))] or ["none"]
    yield "lookback", [_lookback(checked.lookback)]
    yield "future reach", [_future(checked)]
    yield "slices", _slices(checked, engine)
    yield "partition key", _partition(checked)
    yield "input", [_listed(checked.inputs)]
    yield "background", [_listed(checked.background_signatures)]
    yield "output", [_listed(checked.shown)]
    yield "dependencies", _dependencies(checked.edges) or ["none"]
    warnings = sum(problem.severity is Severity.WARNING for problem in checked.problems)
    errors = len(checked.problems) - warnings
    if checked.problems:
        yield "problems", [f"{_count(errors, 'error')}, {_count(warnings, 'warning')}"]


def _slices(checked: Checked, engine: str) -> list[str]:
    if not ENGINES[engine].slices:
        return [f"none, with the engine {engine}"]
    cut = time_cut(checked)
    if cut.lookback is None:
        return ["none", *cut.obstacles]
    return ["long runs are cut by time, for several threads (--jobs)"]


def _models(checked: Checked) -> str:
    if checked.several_models:
        return "none, one or several at a time point"
    return "exactly one at every time point"


def _strata(checked: Checked) -> list[str]:
    if checked.strata is None:
        steps = [f"{edge.head} needs {_asked(edge)}" for edge in _cycle(checked)]
        return ["none, because of a cycle through negation:", *steps]
    if not checked.strata:
        return ["none: no rule derives anything"]
    return [f"{number}  {_listed(layer)}" for number, layer in enumerate(checked.strata, start=1)]


def _in_time(found: TimeProperties) -> list[str]:
    stratified = {True: "stratified", False: "not stratified", None: "stratification not known"}
    lines = [stratified[found.stratified]]
    if found.delays is None:
        return [*lines, "delays not known: some rules have no form over single time points"]
    late = {p: delay for p, delay in found.delays.items() if delay != 0}
    if not late:
        return [*lines, "no delay: atoms are decided by facts up to their own time point"]
    for predicate, delay in late.items():
        far = "without bound" if delay is None else f"by up to {_count(delay, 'time point')}"
        lines.append(f"{predicate} is delayed {far}")
    return lines


def _window(found: WindowProperties) -> str:
    words = {True: "monotone", False: "not monotone", None: "monotone as you define it"}
    sparse = "sparse" if found.sparse else "sparse if its groups are meager (few keys)"
    if found.monotone is None:
        return f"{found.text}  {words[None]}, sparse as you define it"
    return f"{found.text}  {words[found.monotone]}, {sparse}"


def _lookback(lookback: Lookback) -> str:
    if lookback.time is None:
        return "without bound"
    time = _count(lookback.time, "time point")
    if lookback.tuples is None:
        return f"{time}, and tuples without bound"
    if lookback.tuples:
        return f"{time}, and the {_count(lookback.tuples, 'tuple')} before them"
    return time


def _future(checked: Checked) -> str:
    if checked.endless:
        return "without bound: a run needs `--until`"
    if checked.future_reach is None:
        return "depends on the data"
    return _count(checked.future_reach, "time point")


def _partition(checked: Checked) -> list[str]:
    if checked.partition_key is not None:
        return [f"{p} by argument {n + 1}" for p, n in checked.partition_key.items()]
    obstacles = [
        f"{_place(checked, number)}: {why}" for number, why in partition_obstacles(checked)
    ]
    return ["none", *obstacles]


def _dependencies(edges: Iterable[Edge]) -> list[str]:
    needs: dict[Signature, dict[str, None]] = {}
    for edge in edges:
        needs.setdefault(edge.head, {}).setdefault(_asked(edge))
    return [f"{head} needs {', '.join(asked)}" for head, asked in needs.items()]


def _asked(edge: Edge) -> str:
    match edge.kind.value:
        case "negative":
            return f"not {edge.body}"
        case "window":
            return f"[] {edge.body}"
        case _:
            return str(edge.body)


def _cycle(checked: Checked) -> tuple[Edge, ...]:
    return negative_cycle(checked.edges) if checked.strata is None else ()


def _edge_json(checked: Checked, edge: Edge) -> dict[str, Any]:
    return {
        "head": str(edge.head),
        "body": str(edge.body),
        "kind": edge.kind.value,
        "line": _line(checked, edge.rule),
    }


def _line(checked: Checked, number: int) -> int:
    return checked.rules[number].span.line


def _place(checked: Checked, number: int) -> str:
    span = checked.rules[number].span
    return f"{span.source}:{span.line}"


def _names(signatures: Iterable[Signature]) -> list[str]:
    return [str(signature) for signature in sorted(signatures)]


def _listed(signatures: Iterable[Signature]) -> str:
    return ", ".join(_names(signatures)) or "none"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
