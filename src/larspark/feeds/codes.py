"""The codes of the problems that feeds report."""

CODES: dict[str, str] = {
    "L301": "A source cannot be opened or read.",
    "L302": "The format of a source is not known.",
    "L303": "A mapping from columns to atoms is missing or not well written.",
    "L304": "A column that a mapping names does not exist, or exists twice.",
    "L305": "A column has a type that cannot be a time or an argument.",
    "L306": "A line is too long.",
    "L307": "A text is not valid UTF-8.",
    "L308": "A line is not a JSON object.",
    "L309": "A JSON line has the wrong keys.",
    "L310": "A time is not a natural number.",
    "L311": "A timestamp needs a tick to become a time point.",
    "L312": "A text is not a ground atom.",
    "L313": "A value cannot be a constant.",
    "L314": "A fact arrived later than the allowed lateness.",
    "L315": "A statement is not a fact of the kind that the file may hold.",
    "L316": "A record or fact does not have the expected number of values.",
    "L317": "A source that can be read only once was read again.",
    "L318": "An option of a stream has a value that it cannot have.",
}
