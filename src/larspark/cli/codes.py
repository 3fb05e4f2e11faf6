"""The codes of problems that the command line reports."""

CODES: dict[str, str] = {
    "L503": "There is no file of this name.",
}
