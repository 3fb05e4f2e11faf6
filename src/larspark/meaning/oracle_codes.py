"""The codes of problems that the evaluator of the definitions reports."""

CODES: dict[str, str] = {
    "L250": "A variable is bound by no positive part of a formula.",
    "L251": "A time point lies outside the timeline.",
    "L252": "Atoms can be placed ever further into the future, so the timeline needs an end.",
    "L253": "A head with `some` or `always` needs a timeline that ends.",
    "L254": "A ground program is too large for the evaluator of the definitions.",
    "L255": "Too many atoms are left undecided for the evaluator of the definitions.",
    "L256": "There are too many answer streams to list.",
    "L257": "No window function of this name is registered.",
    "L258": "A window function gave something that is no substream of its input.",
    "L259": "A window function raised an error.",
    "L260": "A window function of your own cannot be evaluated on an open timeline.",
    "L261": "Too many time points would have to be looked at one by one.",
    "L262": "A formula nests too deeply to be evaluated.",
    "L263": "A window function of your own cannot stand in a rule head.",
    "L264": "The key of a partition has several positions in atoms of one predicate.",
}
