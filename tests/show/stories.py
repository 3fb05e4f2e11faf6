"""Programs and streams from text, for tests that tell a story."""

from larspark.analysis.check import check
from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Element
from larspark.base.problems import Severity
from larspark.language import parse_program
from larspark.language.tree import At, AtomFormula

PLANT = """\
alarm(M) :- [3] always hot(M), not [20] some repaired(M).
@T hot(M) :- [5] @T temp(M,V), V >= 80.
warm(M) :- [3] some temp(M,V), V > 50, machine(M,K), K != old.
twice(M) :- [#3] some temp(M,_), [3] some beep(M).
machine(m1,old). machine(m2,new).
"""


def checked(text: str, source: str = "plant.lars") -> Checked:
    program = parse_program(text, source).program
    assert program is not None, parse_program(text).problems
    found = check(program)
    assert all(problem.severity is Severity.WARNING for problem in found.problems), found.problems
    return found


def stream(text: str) -> list[Element]:
    """Elements written as facts: `@3 p. @4 q(a).`"""
    program = parse_program(text).program
    assert program is not None, parse_program(text).problems
    elements = []
    for rule in program.rules:
        match rule.head:
            case At(int() as t, AtomFormula(Atom() as atom)):
                elements.append(Element(t, atom))
            case head:
                raise AssertionError(head)
    return elements
