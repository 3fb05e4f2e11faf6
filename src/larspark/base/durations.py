"""Units of durations."""

# The length of each unit in microseconds.
MICROSECONDS = {
    "us": 1,
    "ms": 1_000,
    "msec": 1_000,
    "s": 1_000_000,
    "sec": 1_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}


def duration_text(microseconds: int) -> str:
    """A duration in the largest unit that gives a whole number.

    >>> duration_text(60_000_000), duration_text(1_500_000)
    ('1 min', '1500 ms')
    """
    fitting = [unit for unit, length in MICROSECONDS.items() if microseconds % length == 0]
    unit = max(fitting, key=lambda unit: MICROSECONDS[unit])
    return f"{microseconds // MICROSECONDS[unit]} {unit}"
