"""How far back the output at a time point can see the stream.

What counts is the output: the atoms that hold at the evaluation time. So the need for derived atoms
is passed down from the shown predicates, rule by rule, and each rule is charged for the data that
it reads to give what is needed. A rule is evaluated at the evaluation time, whichever chain of
rules asks for it: chains do not add up, except through `#remember`, whose atoms were derived by
an earlier evaluation.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from larspark.base.atoms import Signature
from larspark.language.tree import At, AtomFormula, Comparison, NamedWindow, Rule, Truth, Windowed
from larspark.meaning.checked import Lookback
from larspark.meaning.frames import ALL, NONE, NOW, Floor, Frame, Range, first_frame, frames
from larspark.meaning.reach import Reach, variable_times
from larspark.meaning.signatures import head_predicates
from larspark.meaning.walk import formulas

_NOTHING = Floor(0)


class Reading(NamedTuple):
    """What a rule reads: data down to a floor, or another predicate's atoms in a range."""

    floor: Floor
    predicate: Signature | None = None
    times: Range = NOW
