"""The saved state of a session: a header in JSON, then the engine's own bytes.

Everything is checked before anything is used: length, checksum, version, program. Nothing in it
is ever run.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from larspark.analysis.checked import Checked
from larspark.base.problems import LarsparkError, Problem
from larspark.language import program_text
from larspark.run.protocol import Settings

_MAGIC = b"larspark state 1\n"
_DIGEST = 2 * hashlib.sha256().digest_size
_LONGEST_HEADER = 1 << 24


@dataclass(frozen=True, slots=True)
class SavedState:
    """What a session has to know to go on."""

    program: str
    engine: str
    settings: Settings
    start: int | None
    answered: int | None
    latest: int | None
    next_seq: int
    payload: bytes

    def to_bytes(self) -> bytes:
        header: dict[str, Any] = {
            "program": self.program,
            "engine": self.engine,
            "settings": list(self.settings),
            "start": self.start,
            "answered": self.answered,
            "latest": self.latest,
            "next_seq": self.next_seq,
            "length": len(self.payload),
        }
        text = json.dumps(header).encode()
        return b"".join((_MAGIC, _digest(text, self.payload), b"\n", text, b"\n", self.payload))

    @classmethod
    def from_bytes(cls, state: bytes) -> "SavedState":
        """Read a saved state; anything else is refused."""
        if not state.startswith(_MAGIC):
            raise _refused("this is no state that larspark of this version has saved")
        digest, _, rest = state[len(_MAGIC) :].partition(b"\n")
        text, _, payload = rest.partition(b"\n")
        if _digest(text, payload) != digest:
            raise _refused("the saved state is damaged")
        if len(text) > _LONGEST_HEADER:
            raise _refused("the saved state has a header that is too long")
        header = json.loads(text)
        try:
            length = header.pop("length")
            saved = cls(payload=payload, **header | {"settings": Settings(*header["settings"])})
        except (KeyError, TypeError, AttributeError):
            raise _refused("the saved state lacks what a state has") from None
        if length != len(payload):
            raise _refused("the saved state is damaged")
        return saved


def _digest(header: bytes, payload: bytes) -> bytes:
    digest = hashlib.sha256(header)
    digest.update(payload)
    return digest.hexdigest().encode()


def digest_of(state: bytes) -> bytes:
    """The digest that a saved state carries: the same for the same state, no other has it."""
    return state[len(_MAGIC) : len(_MAGIC) + _DIGEST]


def program_identity(checked: Checked) -> str:
    """What tells a program from others: a digest of its normalized text."""
    return hashlib.sha256(program_text(checked.program).encode()).hexdigest()


def _refused(message: str) -> LarsparkError:
    return LarsparkError(Problem("L407", message))
