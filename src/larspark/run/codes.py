"""The codes of problems that engines and sessions report."""

CODES: dict[str, str] = {
    "L401": "the stream holds an atom of a predicate that the program derives",
    "L402": "an element lies before a time point that was already answered",
    "L403": "the engine cannot run this program",
    "L404": "there is no engine of this name",
    "L405": "the program can place atoms ever further into the future, so a run needs an end",
    "L406": "the engine needs an optional package that is not installed",
    "L407": "a saved state is damaged, of another version, or of another program",
    "L408": "the time point was already passed",
    "L409": "what is to be explained is not there, or not any more",
    "L410": "the ground program is too large for the engine",
    "L411": "too many candidates turned out to be no answer streams",
    "L419": "a time point is too far from 0",
}
