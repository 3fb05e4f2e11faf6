"""Text that cannot steer a terminal."""

import re

# Control characters but for the tab, and those that turn the direction of writing around.
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """A line of text that cannot steer a terminal, whatever a stream holds.

    >>> printable("a\x1b[31mb")
    'a�[31mb'
    """
    return _CONTROL.sub("\ufffd", text)
