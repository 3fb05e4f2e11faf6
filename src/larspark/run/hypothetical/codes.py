"""The problems this room reports."""

CODES: dict[str, str] = {
    "L470": "The premises of the query are an infinite set, because a rule depends on itself.",
    "L471": "The premises of the query are too many to list.",
    "L472": "A window or formula cannot be unfolded into rules over fixed time points.",
    "L473": "A rule head is not an atom or `@T atom`, so what it derives is not determined.",
    "L474": "A time pin is not a time point, a variable, or a variable shifted by a number.",
    "L475": "Negation is not stratified over time.",
    "L476": "An answer may wait without bound, because a rule is not connected.",
    "L477": "A fact comes too late or of a predicate that rules derive.",
}
