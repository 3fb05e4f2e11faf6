"""Every problem code with its title, grouped by the part of larspark that reports it.

`docs/errors.md` is made from this table: `python -m larspark.base.codes > docs/errors.md`.
"""

import sys

ROOMS: dict[str, dict[str, str]] = {
    "Language: reading programs, queries and dialects": {
        "L101": "A character has no place in the language.",
        "L102": "A string is not closed on its line, or has an unknown escape.",
        "L103": "A block comment is not closed.",
        "L104": "Something else was expected here.",
        "L105": "The `.` at the end of a statement is missing.",
        "L106": "A bracket is opened and not closed, or closed and not opened.",
        "L107": "Operators or brackets are nested too deeply.",
        "L108": "The text is too large, or has too many problems to list.",
        "L109": "`not` stands between an atom and its window.",
        "L110": "An operator of another language is written differently here.",
        "L111": "The directive is unknown.",
        "L112": "A formula was expected and a term found.",
        "L113": "A term was expected and a formula found.",
        "L114": "A number is out of range, or not of the kind that is needed.",
        "L115": "A duration has a unit, but `#tick` does not say how long a time point lasts.",
        "L116": "The unit of time is unknown.",
        "L117": "A duration is not a whole number of time points.",
        "L118": "The numbers of a window do not make a window.",
        "L119": "A short form after an atom can be read in two ways.",
        "L120": "A directive is given twice, or contradicts another one.",
        "L121": "A file that a program includes or names as background cannot be used.",
        "L122": "A term applies a function, and there are none.",
        "L123": "`_` stands where a value is computed or compared.",
        "L124": "A time is not a number.",
        "L125": "The key of a window is not a variable.",
        "L126": "The dialect, or an option of it, is unknown.",
        "L127": "An aggregate is not well written.",
        "L128": "An aggregate stands where none can stand.",
        "L131": "Ticker's relation is an ordinary predicate here.",
        "L132": "Ticker's notation has no counterpart.",
        "L141": "Laser evaluates `or` as `and`.",
        "L142": "Laser ignores constants in bodies.",
        "L143": "Laser negates the whole predicate, not the atom.",
        "L144": "Laser takes a name for a variable only if all its letters are capitals.",
        "L145": "Laser's window differs from the definition.",
        "L146": "Laser's notation has no counterpart.",
        "L161": "A temporal formula uses what this logic does not have.",
        "L162": "The name of a temporal formula is taken, or stands before its definition.",
    },
    "Analysis and meaning: checking a program, evaluating the definitions": {
        "L201": "A predicate is used with different numbers of arguments.",
        "L202": "A head variable is bound by no positive body atom.",
        "L203": "A body variable is bound by no positive body atom.",
        "L204": "A wildcard stands in a head.",
        "L205": "A formula nests too deeply to be analysed.",
        "L206": "A local variable of an aggregate is bound by no condition of its element.",
        "L207": "An element of an aggregate does not bind a variable of `by`.",
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
        "L227": "A window looks back at conclusions that hold at the evaluation time only.",
        "L228": "A window has no effect, because no `some`, `always` or `@T` follows it.",
        "L229": "A variable that is used once looks like a name.",
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
    },
    "Feeds: reading streams and background data, live sources and sinks": {
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
        "L320": "A live place is not well written.",
        "L321": "A connection cannot be made, or is lost for good.",
        "L322": "A fact lies ahead of the clock.",
        "L323": "A live place needs an optional package that is not installed.",
        "L324": "A file cannot be written.",
        "L325": "An integer time looks like a Unix time without a unit.",
        "L326": "A CSV column of numbers and other texts is read as text.",
    },
    "Runs: engines, sessions, saved states, hypothetical answers, Spark": {
        "L401": "The stream holds an atom of a predicate that the program derives.",
        "L402": "An element lies before a time point that was already answered.",
        "L403": "The engine cannot run this program.",
        "L404": "There is no engine of this name.",
        "L405": "The program can place atoms ever further into the future, so a run needs an end.",
        "L406": "The engine needs an optional package that is not installed.",
        "L407": "A saved state is damaged, of another version, or of another program.",
        "L408": "The time point was already passed.",
        "L409": "What is to be explained is not there, or not any more.",
        "L410": "The ground program is too large for the engine.",
        "L411": "Too many candidates turned out to be no answer streams.",
        "L412": "Listing answer streams took longer than the time limit.",
        "L413": "The reading of a program needs hindsight, or excludes it.",
        "L419": "A time point is too far from 0.",
        "L470": "The query has infinitely many sets of premises, because a rule depends on itself.",
        "L471": "The query has too many sets of premises, or too large ones.",
        "L472": "A formula cannot be unfolded into rules over fixed time points.",
        "L473": "A rule head is not an atom or `@T` and an atom.",
        "L474": "A time pin is not a time point, a variable, or a variable shifted by a number.",
        "L475": "Negation is not stratified over time.",
        "L476": "An answer may wait without bound, because a rule is not connected.",
        "L477": "A fact is not ground.",
        "L480": "PySpark is not installed.",
        "L481": "Spark needs Java 17 or later, and there is none.",
        "L482": "The program cannot be cut as was asked.",
        "L483": "It is not clear which facts the rows of a DataFrame are.",
        "L484": "A column cannot say in which order facts arrived.",
        "L485": "The columns asked for do not fit an output predicate.",
        "L486": "The program uses a window that executors do not have.",
        "L487": "The files of a run on Spark cannot be read.",
        "L488": "Spark did not start.",
        "L490": "An option of a stream on Spark has a value that it cannot have.",
        "L491": "A checkpoint belongs to another program.",
        "L492": "A checkpoint, or the state in it, is damaged.",
        "L493": "A DataFrame is not a streaming one.",
        "L494": "A checkpoint was made with other shards or sources.",
        "L495": "A query on Spark failed.",
        "L496": "A followed file became shorter.",
    },
    "Showing, the command line and benchmarks": {
        "L501": "A predicate that should be shown is in neither the program nor the stream.",
        "L503": "There is no file of this name.",
        "L551": "There is no benchmark of this name.",
        "L552": "Two engines gave different answers, so their times say nothing.",
    },
}

CODES: dict[str, str] = {code: title for codes in ROOMS.values() for code, title in codes.items()}

_INTRODUCTION = """# Problem codes

Every problem that larspark reports has a code, a place in the text or stream where there is one, \
and a hint where there is a way out. This page is made from `src/larspark/base/codes.py` by \
`python -m larspark.base.codes > docs/errors.md`.
"""


def errors_page() -> str:
    """The text of `docs/errors.md`: a table of codes for each part of larspark."""
    parts = [_INTRODUCTION]
    for room, codes in ROOMS.items():
        rows = "".join(f"| {code} | {title} |\n" for code, title in codes.items())
        parts.append(f"## {room}\n\n| code | problem |\n|---|---|\n{rows}")
    return "\n".join(parts)


if __name__ == "__main__":
    sys.stdout.write(errors_page())
