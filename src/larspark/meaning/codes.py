"""The codes of this room's problems: what a program means, or fails to mean."""

CODES: dict[str, str] = {
    "L201": "A predicate is used with different numbers of arguments.",
    "L202": "A head variable is bound by no positive body atom.",
    "L203": "A body variable is bound by no positive body atom.",
    "L204": "A wildcard stands where a value is needed.",
    "L205": "A time pin is not a time point.",
    "L206": "A formula nests too deeply.",
    "L211": "An input predicate stands in a head.",
    "L212": "A background predicate stands in a head.",
    "L213": "`#show` names a predicate that is never output.",
    "L214": "`#remember` names a predicate that no rule derives.",
    "L215": "A predicate is given by nothing.",
    "L216": "A predicate looks like a misspelt one.",
    "L217": "A predicate is both background and stream.",
    "L221": "A hop is larger than its window.",
    "L222": "A tuple window looks at a derived predicate.",
    "L223": "A key of `by` is not an argument of the atoms under the window.",
    "L224": "A key of `by` has several positions in one predicate.",
    "L225": "A filter hides an atom below it.",
    "L226": "An `always` has no last time point.",
    "L227": "A head always holds, or never.",
}
