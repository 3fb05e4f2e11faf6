"""The words of the language and their terminals."""

# Words that mean something where the grammar wants them, and are names everywhere else.
WORDS = {
    word: word.upper()
    for word in (
        *("and", "or", "not", "some", "always", "reset", "true", "false", "at", "in", "mod"),
        *("every", "by", "only", "as", "session", "ended", "max"),
        *("tick", "input", "show", "background", "remember", "include"),
    )
}

# The functions of aggregates, after `#` and in the short form before `of`.
FUNCTIONS = ("count", "sum", "min", "max", "avg")
# Words of aggregates; they are names wherever they do not make one.
AGGREGATE_WORDS = frozenset((*FUNCTIONS, "of", "in", "where"))


def short_form(function: str) -> str:
    """An example of an aggregate in its short form, for hints."""
    return f"{function} of [5] p(_)" if function == "count" else f"{function} of V in [5] p(V)"
