"""The codes of problems that only the engines for answer sets report."""

CODES: dict[str, str] = {
    "L412": "listing answer streams took longer than the time limit",
}
