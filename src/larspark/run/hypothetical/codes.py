"""The codes of problems with hypothetical answers."""

CODES: dict[str, str] = {
    "L470": "the query has infinitely many sets of premises, because a rule depends on itself",
    "L471": "the query has too many sets of premises, or too large ones",
    "L472": "a formula cannot be unfolded into rules over fixed time points",
    "L473": "a rule head is not an atom or `@T` and an atom",
    "L474": "a time pin is not a time point, a variable, or a variable shifted by a number",
    "L475": "negation is not stratified over time",
    "L476": "an answer may wait without bound, because a rule is not connected",
    "L477": "a fact is not ground",
}
