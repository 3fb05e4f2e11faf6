"""Hypothetical answers: what may become true, on which evidence, and what is still missing."""

from larspark.run.hypothetical.answers import (
    Change,
    ChangeKind,
    HypotheticalAnswer,
    TimedAtom,
    answer_line,
)
from larspark.run.hypothetical.codes import CODES
from larspark.run.hypothetical.monitor import Announcement, Monitor, announcement_line
from larspark.run.hypothetical.session import Hypotheses, Now, hypothesize

__all__ = [
    "CODES",
    "Announcement",
    "Change",
    "ChangeKind",
    "Hypotheses",
    "HypotheticalAnswer",
    "Monitor",
    "Now",
    "TimedAtom",
    "announcement_line",
    "answer_line",
    "hypothesize",
]
