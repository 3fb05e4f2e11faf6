"""The check of a program: all analyses, and the problems they find."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from larspark.analysis.checked import Checked
from larspark.analysis.dependencies import dependency_edges, evaluation_order, strata
from larspark.analysis.fragment import fragment, has_nested_windows, is_choice, is_constraint
from larspark.analysis.frames import Offset
from larspark.analysis.lookback import lookback
from larspark.analysis.misuse import endless_always_problems, head_problems, misuse_problems
from larspark.analysis.partition import partition_key
from larspark.analysis.pitfalls import pitfall_problems
from larspark.analysis.reach import Reach, reach
from larspark.analysis.safety import examples, query_problems, rule_problems
from larspark.analysis.signatures import Roles, roles, signature_problems, split_facts
from larspark.analysis.silence import silence_problems
from larspark.base.atoms import Signature
from larspark.base.problems import Problem, Severity, placed
from larspark.language.tree import Formula, Program, Rule
from larspark.logic.traversal import depth, formulas

# Deeper formulas are refused, so that analyses and engines can recurse.
DEPTH_LIMIT = 150


def check(program: Program, background: Iterable[Signature] = (), *, ends: bool = False) -> Checked:
    """Check a program; the result holds its properties and all problems.

    `background` are predicates that further files give; `ends` says that the user ends the
    timeline (`--until`), so that every `always` has a last time point.
    """
    sound, too_deep = _split_by_depth(program)
    facts = split_facts(sound)
    parts = roles(sound, facts, background)
    rules, remembered = facts.rules, program.remembered & parts.derived
    edges = dependency_edges(rules)
    layers = strata(edges, parts.derived)
    order = evaluation_order(edges, parts.derived)
    future = reach(rules, order, parts, remembered)
    choices = layers is None or any(is_choice(rule.head) for rule in rules)
    several_models = choices or any(map(is_constraint, rules))
    checked = Checked(
        program=program,
        rules=rules,
        background=facts.background,
        elements=facts.elements,
        inputs=parts.inputs,
        background_signatures=parts.background,
        derived=parts.derived,
        shown=parts.shown,
        edges=edges,
        strata=layers,
        fragment=fragment(rules, edges, layers, several_models),
        lookback=lookback(rules, order, parts, remembered, choices),
        future_reach=future.future(parts.derived),
        endless=future.endless(parts.derived),
        nested_windows=has_nested_windows(rules),
        several_models=several_models,
        partition_key=None,
    )
    problems = [*too_deep, *signature_problems(sound, facts, parts)]
    problems.extend(_rule_problems(rules, parts, 0 if ends else future.end, future))
    if all(problem.severity is Severity.WARNING for problem in problems):
        problems.extend(silence_problems(program, rules, parts))
    problems = [placed(problem, program.texts) for problem in problems]
    return replace(
        checked, partition_key=partition_key(checked), problems=tuple(sorted(problems, key=_place))
    )


def formula_problems(formula: Formula) -> list[Problem]:
    """The problems of a query."""
    if depth(formula) > DEPTH_LIMIT:
        return [_too_deep(formula)]
    problems = [*query_problems(formula), *misuse_problems(formula, frozenset(), frozenset())]
    return sorted(problems, key=_place)


def _rule_problems(
    rules: Sequence[Rule], parts: Roles, end: Offset, known: Reach
) -> Iterator[Problem]:
    binding = examples(rules)
    for rule in rules:
        problems = [*rule_problems(rule, binding), *head_problems(rule)]
        for formula in formulas(rule):
            problems.extend(misuse_problems(formula, parts.derived, parts.background))
        problems.extend(endless_always_problems(rule, end))
        yield from problems
        if all(problem.severity is Severity.WARNING for problem in problems):
            yield from pitfall_problems(rule, parts.derived, known)


def _split_by_depth(program: Program) -> tuple[Program, list[Problem]]:
    """The program without the rules that nest too deeply, and a problem for each of these."""
    sound: list[Rule] = []
    problems: list[Problem] = []
    for rule in program.rules:
        deepest = max(formulas(rule), key=depth)
        if depth(deepest) > DEPTH_LIMIT:
            problems.append(_too_deep(deepest))
        else:
            sound.append(rule)
    return replace(program, rules=tuple(sound)), problems


def _too_deep(formula: Formula) -> Problem:
    message = f"the formula nests more than {DEPTH_LIMIT} levels deep"
    hint = "give parts of it a name, with rules of their own"
    return Problem("L205", message, formula.span, hint)


def _place(problem: Problem) -> tuple[str, int, int, str]:
    """A sort key: problems in the order of the text, those of directives first."""
    if problem.span is None:
        return ("", 0, 0, problem.code)
    return (problem.span.source, problem.span.line, problem.span.column, problem.code)
