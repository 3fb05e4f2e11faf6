"""The codes of this room's problems: what a program means, or fails to mean."""

CODES: dict[str, str] = {
    "L201": "A predicate is used with different numbers of arguments.",
    "L202": "A head variable is bound by no positive body atom.",
    "L203": "A body variable is bound by no positive body atom.",
    "L204": "A wildcard stands in a head.",
    "L205": "A formula nests too deeply to be analysed.",
    "L211": "An input predicate stands in a head.",
    "L212": "A background predicate stands in a head.",
    "L213": "`#show` names a predicate that is never output.",
    "L214": "`#remember` names a predicate that no rule derives.",
    "L215": "A predicate is given by nothing, so it never holds.",
    "L216": "A predicate looks like a misspelt one.",
    "L217": "A predicate is both background and stream.",
    "L221": "A tuple window looks at a derived predicate.",
    "L222": "A key of `by` is not an argument of the atoms below the window.",
    "L223": "A key of `by` has several positions in one predicate.",
    "L224": "A filter hides an atom below it.",
    "L225": "An `always` has no last time point.",
    "L226": "A head always holds, or never.",
}
