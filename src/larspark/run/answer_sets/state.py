"""Saved states: JSON behind a version and a checksum, bound to one program."""

import hashlib
import json
import zlib
from dataclasses import dataclass
from typing import Any

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Element, atom_text
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import constant
from larspark.language import program_text
from larspark.run.protocol import Settings

_MAGIC = b"larspark points 1\n"


@dataclass(frozen=True, slots=True)
class State:
    """Everything that later answers depend on.

    `kept` are the elements that can still be seen, each with whether tuple windows count it, and
    `arrived` says how many input elements there were in all.
    """

    program: str
    settings: Settings
    kept: list[tuple[int, Atom, bool]]
    arrived: int
    waiting: list[Element]
    start: int | None
    latest: int | None
    answered: int | None
    previous: list[Atom]


def write_state(state: State) -> bytes:
    """The state as bytes."""
    payload = {
        "program": state.program,
        "settings": list(state.settings),
        "kept": [[t, counted, *_atom_to_json(atom)] for t, atom, counted in state.kept],
        "arrived": state.arrived,
        "waiting": [[t, *_atom_to_json(atom)] for t, atom in state.waiting],
        "times": [state.start, state.latest, state.answered],
        "previous": [_atom_to_json(atom) for atom in state.previous],
    }
    text = json.dumps(payload, separators=(",", ":")).encode()
    return _MAGIC + len(text).to_bytes(8, "big") + zlib.crc32(text).to_bytes(4, "big") + text


def program_identity(checked: Checked, background: frozenset[Atom]) -> str:
    """What tells a program with its background data from others."""
    text = "\n".join([program_text(checked.program), *sorted(map(atom_text, background))])
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def read_state(data: bytes, program: str, settings: Settings) -> State:
    """The state in these bytes, if it is whole and belongs to this program and these settings."""
    saved = _payload(data)
    if saved["program"] != program:
        raise LarsparkError(Problem("L407", "the saved state belongs to another program"))
    if saved["settings"] != list(settings):
        raise LarsparkError(Problem("L407", "the saved state was made with other settings"))
    start, latest, answered = saved["times"]
    return State(
        program=saved["program"],
        settings=settings,
        kept=[(t, _atom(row), counted) for t, counted, *row in saved["kept"]],
        arrived=saved["arrived"],
        waiting=[Element(t, _atom(row)) for t, *row in saved["waiting"]],
        start=start,
        latest=latest,
        answered=answered,
        previous=[_atom(row) for row in saved["previous"]],
    )


def _payload(data: bytes) -> dict[str, Any]:
    if not data.startswith(_MAGIC):
        message = "this is no state that this engine of this version has saved"
        raise LarsparkError(Problem("L407", message))
    header = len(_MAGIC)
    length, checksum = data[header : header + 8], data[header + 8 : header + 12]
    text = data[header + 12 :]
    if len(text).to_bytes(8, "big") != length or zlib.crc32(text).to_bytes(4, "big") != checksum:
        raise LarsparkError(Problem("L407", "the saved state is damaged"))
    saved: dict[str, Any] = json.loads(text)
    return saved


def _atom_to_json(atom: Atom) -> list[Any]:
    return [atom.predicate, *atom.args]


def _atom(row: list[Any]) -> Atom:
    predicate, *args = row
    return Atom(predicate, tuple(map(constant, args)))
