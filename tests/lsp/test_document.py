"""A document that is read where it changed knows what one that is read anew knows."""

import os
import random
from dataclasses import fields, is_dataclass
from pathlib import Path

from tests.lsp.conftest import PIECES

from larspark.lsp.document import Document

EDITS = int(os.environ.get("LARSPARK_EXAMPLES", "300"))
SEED = int(os.environ.get("LARSPARK_SEED", "11"))
PROGRAM = """\
#tick 1 min.
#include "common.lars".
% Machines
hot(M)   :- [3 min] some temp(M, V), V > 90.
alarm(M) :- hot(M), not [5 min] some serviced(M).
busy(M, N) :- N = count of [1 h] err(M, _) by M, N > 3.
@T late(M) :- [10 min] @T due(M), not [+5] some done(M).
p(1). p(2). p("a.b").
seen(X) :-
    p(X),   /* a comment. */
    [#2 by X] some q(X, Y), Y = X + 1.
a or b :- c.
:- seen(X), not p(X).
"""
OWN_PIECES = [*PIECES, "*/", "\n\n", "p(3).\n", "#tick 1 s.\n"]


def places(tree: object) -> list[object]:
    """All that stands in a tree, also what does not count when trees are compared."""
    if is_dataclass(tree):
        return [type(tree), *(places(getattr(tree, each.name)) for each in fields(tree))]
    if isinstance(tree, tuple | list) and not hasattr(tree, "_fields"):
        return [places(each) for each in tree]
    return [tree]


def known(document: Document) -> list[object]:
    """Everything that an editor can ask for."""
    found: list[object] = [document.problems(), document.summary(), places(document.parsed)]
    for name, outline in document.outlines.items():
        found += [(name, each.name, each.span, each.defines) for each in outline.occurrences]
    found += [document.role(signature) for signature in sorted(document.predicates())]
    return found


def test_what_is_kept_of_earlier_versions_changes_nothing(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    common = tmp_path / "common.lars"
    common.write_text("cold(M) :- temp(M, V), V < 5.\n")
    path = tmp_path / "a.lars"
    text = PROGRAM
    document = Document(text, path)
    sound = 0
    for number in range(EDITS):
        if number % 15 == 0:
            text = PROGRAM
        before = text
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice((0, 0, 0, 1, 3)))
        if rng.random() < 0.5:
            # Edits that leave a program mostly as it is: digits, lines, and whole rules.
            start = end = text.find("\n", start) + 1
            piece = rng.choice(("\n", "% more\n", f"p({number}).\n", "r(X) :- p(X), X > 1.\n"))
        else:
            piece = rng.choice(OWN_PIECES)
        if rng.random() < 0.05:
            common.write_text(f"cold(M) :- temp(M, V), V < {number}.\n")
        text = text[:start] + piece + text[end:]
        document = Document(text, path, document)
        anew = Document(text, path)
        if anew.checked is not None:
            sound += 1
            assert known(document) == known(anew)
        else:
            assert document.problems() == anew.problems()
            # Most mistakes are taken back, so that not all programs are broken.
            text = before if rng.random() < 0.7 else text
    assert sound > EDITS // 5


def test_only_what_changed_is_read_again() -> None:
    before = Document(PROGRAM.replace('#include "common.lars".\n', "\n"), None)
    after = Document(before.text.replace("V > 90", "V > 95"), None, before)
    old, new = before.parsed.program, after.parsed.program
    assert old is not None
    assert new is not None
    kept = [one is other for one, other in zip(old.rules, new.rules, strict=True)]
    assert kept == [False, *[True] * (len(old.rules) - 1)]
