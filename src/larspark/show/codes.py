"""The codes of problems that showing answers reports."""

CODES: dict[str, str] = {
    "L501": "A predicate that should be shown is in neither the program nor the stream.",
}
