"""Hypothetical answers: what may become true, on which evidence, and what is still missing."""

from larspark.run.hypothetical.hypothesize import Hypotheses, Now, hypothesize
from larspark.run.hypothetical.monitor import Announcement, Monitor, announcement_line
from larspark.run.hypothetical.preconditions import Precondition
from larspark.run.hypothetical.ranked_answers import (
    Change,
    ChangeKind,
    HypotheticalAnswer,
    TimedAtom,
    answer_line,
)

__all__ = [
    "Announcement",
    "Change",
    "ChangeKind",
    "Hypotheses",
    "HypotheticalAnswer",
    "Monitor",
    "Now",
    "Precondition",
    "TimedAtom",
    "announcement_line",
    "answer_line",
    "hypothesize",
]
