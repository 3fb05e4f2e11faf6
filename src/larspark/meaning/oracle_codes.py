"""The codes of problems that the evaluator of the definitions reports."""

CODES: dict[str, str] = {
    "L250": "a variable is bound by no positive part of the formula",
    "L251": "the time point asked for lies outside the timeline",
    "L252": "the program can place atoms ever further into the future, so the timeline needs an end",
    "L253": "a head with `some` or `always` needs a timeline that ends",
    "L254": "the ground program is too large for the evaluator of the definitions",
    "L255": "too many atoms are left undecided for the evaluator of the definitions",
    "L256": "there are too many answer streams to list",
    "L257": "no window function of this name is registered",
    "L258": "a window function gave something that is no substream of its input",
    "L259": "a window function raised an error",
    "L260": "a window function of your own cannot be evaluated on an open timeline",
    "L261": "the timeline is too long to be searched for an open formula",
    "L262": "the formula is nested too deeply",
    "L263": "a window function of your own cannot stand in a rule head",
    "L264": "the key of a partition is at different positions of one predicate",
}
