"""The words of the language and their terminals."""

# Words that mean something where the grammar wants them, and are names everywhere else.
WORDS = {
    word: word.upper()
    for word in (
        *("and", "or", "not", "some", "always", "reset", "true", "false", "at", "in", "mod"),
        *("every", "by", "only", "as"),
        *("tick", "input", "show", "background", "remember", "include"),
    )
}
