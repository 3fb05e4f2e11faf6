"""The windows of a program, and what the LARS paper (Section 4) asks of them.

A window is monotone if it shows no less when the stream has more. It is sparse if nested windows
only show polynomially many different parts of a stream, so that formulas are checked in polynomial
time. Groups are meager if there are constantly many; that depends on the values of their keys.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from larspark.analysis.checked import Checked
from larspark.language.nodes import walk
from larspark.language.printer import window_text
from larspark.language.tree import Rule, Windowed
from larspark.language.windows import FilterWindow, NamedWindow, Window
from larspark.logic.traversal import formulas


@dataclass(frozen=True, slots=True)
class WindowProperties:
    """What is known of a window; None where only the data or its definition could say it."""

    text: str
    monotone: bool | None
    sparse: bool | None


def window_properties(checked: Checked) -> tuple[WindowProperties, ...]:
    """The different windows of the rules, in the order of the text."""
    found = dict.fromkeys(_windows(checked.rules))
    return tuple(_properties(window) for window in found)


def _windows(rules: Iterable[Rule]) -> Iterable[Window]:
    for rule in rules:
        for formula in formulas(rule):
            for part in walk(formula):
                if isinstance(part, Windowed):
                    yield part.window


def _properties(window: Window) -> WindowProperties:
    text = f"[{window_text(window)}]"
    if isinstance(window, NamedWindow):
        return WindowProperties(text, None, None)
    if window.bounds is not None or isinstance(window, FilterWindow):
        return WindowProperties(text, True, True)
    # Input decides what the window shows, and one more element can push another one out.
    return WindowProperties(text, False, None if window.keys else True)
