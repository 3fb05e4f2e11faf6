"""What a language server answers, in terms of places in the text; no protocol in here."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from larspark.analysis.checked import Checked
from larspark.base.atoms import Signature
from larspark.language import rule_text
from larspark.language.printer import written_text
from larspark.language.term_text import name_text
from larspark.language.tokens import Token
from larspark.language.tree import Rule
from larspark.lsp.document import Document, Replacement
from larspark.lsp.symbols import Occurrence

# Words with what they mean, for completion and for a look at them.
WORD_HELP = {
    "some": "`some f`: f holds at some time point of the window",
    "always": "`always f`: f holds at every time point of the window",
    "not": "`not f`: f does not hold",
    "reset": "`reset f`: f over the whole stream, whatever window stands around it",
    "and": "`f and g`: both hold",
    "or": "`f or g`: at least one holds",
    "now": "`now`: the evaluation time",
    "only": "`[only p(_)] f`: f over the elements that match the pattern alone",
    "by": "`[#2 by M]`: a window for each value of `M`; `count of ... by M`: a group for each",
    "every": "`[60 every 15]`: the window moves in steps of 15 time points",
    "session": "`[session 5]`: the stretch of activity that reaches to now",
    "mod": "`X mod Y`: the remainder of a division",
    "count": "`N = count of [60] err(M, _) by M`: how many",
    "sum": "`S = sum of V in [60] load(V)`: the exact sum",
    "avg": "`A = avg of V in [60] temp(V)`: the exact average, rounded once",
    "min": "`A = min of V in [60] temp(V)`: the smallest value",
    "max": "`A = max of V in [60] temp(V)`: the largest value",
}
DIRECTIVES = {
    "tick": "`#tick 1 min.`: how long one time point lasts",
    "input": "`#input temp/2.`: the predicates of the stream",
    "show": "`#show alarm/1.` or `#show alarm(machine).`: the predicates that are output",
    "remember": "`#remember hot/1.`: conclusions join the stream and are seen by later windows",
    "background": '`#background "lines.csv" as line/2.`: background data from a file',
    "include": '`#include "common.lars".`: the rules of another file',
}
WINDOWS = {
    "[5] ": "the last 5 time points and now",
    "[5 min] ": "the last 5 minutes; needs `#tick`",
    "[+5] ": "now and the next 5 time points",
    "[#3] ": "the last 3 tuples",
    "[#3 by X] ": "the last 3 tuples of each `X`",
    "[60 every 60] ": "a tumbling window",
    "[session 5] ": "the stretch of activity that reaches to now",
    "[*] ": "the whole past",
}


@dataclass(frozen=True, slots=True)
class Suggestion:
    """An entry of a completion list."""

    label: str
    kind: str
    detail: str
    # The text to insert, with `$1` and so on for the places to fill.
    snippet: str = ""


def completions(
    document: Document, line: int, column: int, stream: Collection[Signature] = ()
) -> Iterator[Suggestion]:
    """What may stand at a place; `stream` are the predicates of a stream that is known."""
    before = document.text.split("\n")[line - 1][: column - 1]
    word = before.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
    if word.endswith("#") and "[" not in before[before.rfind("]") + 1 :]:
        for name, text in DIRECTIVES.items():
            yield Suggestion(name, "directive", text)
        return
    if word.endswith("["):
        for window, text in WINDOWS.items():
            yield Suggestion(window.strip()[1:-1], "window", text, window[1:])
        return
    begun = document.own.at(line, column)
    # What is being written is no suggestion, unless it stands elsewhere, too.
    own = begun.name if begun is not None and len(document.occurrences(begun)) == 1 else None
    written = document.predicates()
    for signature in sorted(written.union(stream)):
        if signature == own and signature not in stream:
            continue
        name = name_text(signature.predicate)
        places = ", ".join(f"${{{n}:_}}" for n in range(1, signature.arity + 1))
        snippet = f"{name}({places})" if signature.arity else name
        role = document.role(signature).replace("`", "")
        if signature not in written:
            role = f"{signature}: facts of the stream"
        yield Suggestion(name, "predicate", role, snippet)
    for name in _variables_around(document, line):
        yield Suggestion(name, "variable", "variable of this rule")
    for name, text in WORD_HELP.items():
        yield Suggestion(name, "word", text)


def _variables_around(document: Document, line: int) -> list[str]:
    """The variables of the statement on a line."""
    outline = document.own
    numbers = {
        number
        for number in range(len(outline.statements))
        if outline.statement_span(number).line <= line <= outline.statement_span(number).end_line
    }
    return sorted(
        {
            found.name
            for found in outline.occurrences
            if isinstance(found.name, str) and found.statement in numbers
        }
    )


def hover(document: Document, line: int, column: int) -> tuple[str, Token] | None:
    """What is known of what stands at a place, in Markdown."""
    found = document.own.at(line, column)
    if found is not None and isinstance(found.name, Signature):
        return _about(document, found.name), found.token
    for statement in document.own.statements:
        for token in statement.tokens:
            if token.line == line and token.column <= column < token.end_column:
                text = WORD_HELP.get(token.text)
                if text is None and statement.tokens[0].type == "HASH":
                    text = DIRECTIVES.get(token.text)
                # A name may be written like a word of the language.
                is_word = token.type != "NAME" or token.text == "now"
                return (text, token) if text and is_word else None
    return None


def _about(document: Document, signature: Signature) -> str:
    lines = [document.role(signature)]
    checked = document.known
    if checked is not None:
        numbers = {edge.rule for edge in checked.edges if edge.head == signature}
        rules = [checked.rules[number] for number in sorted(numbers)]
        if rules:
            shown = [_written(checked, rule) for rule in rules[:5]]
            lines.append("```lars\n" + "\n".join(shown) + "\n```")
        if len(rules) > 5:
            lines.append(f"and {len(rules) - 5} more rules")
        lines.append(document.summary())
    return "\n\n".join(lines)


def _written(checked: Checked, rule: Rule) -> str:
    """A rule as it is written, and its line."""
    text = written_text(checked.program, rule).removesuffix(".")
    return f"{text}.  % line {rule.span.line}" if text else rule_text(rule)


def definitions(document: Document, line: int, column: int) -> list[Occurrence]:
    """Where a predicate is derived or declared, or a variable first stands."""
    found = document.own.at(line, column)
    if found is None:
        return []
    everywhere = document.occurrences(found)
    if not isinstance(found.name, Signature):
        return everywhere[:1]
    heads = [each for each in everywhere if each.defines]
    return heads or [each for each in everywhere if each.declares] or everywhere[:1]


def renamed(document: Document, line: int, column: int, new: str) -> list[Replacement] | str:
    """The replacements that rename a symbol, or why it cannot be renamed so."""
    found = document.own.at(line, column)
    if found is None:
        return "only predicates and variables can be renamed"
    if isinstance(found.name, Signature):
        taken = Signature(new, found.name.arity)
        if taken != found.name and taken in document.predicates():
            return f"there is a predicate `{taken}` already"
        text = name_text(new)
    else:
        if not (new.isascii() and new.isidentifier() and new.lstrip("_")[:1].isupper()):
            return "a variable starts with a capital letter"
        inside = (each for each in document.own.occurrences if each.statement == found.statement)
        if new != found.name and any(each.name == new for each in inside):
            return f"the rule has a variable `{new}` already"
        text = new
    return [Replacement(each.span, text) for each in document.occurrences(found)]


# The kinds of tokens that editors colour, in the order of their numbers.
TOKEN_KINDS = ("keyword", "function", "variable", "string", "number", "operator", "macro")
_KINDS = {"VARIABLE": 2, "WILDCARD": 2, "STRING": 3, "NUMBER": 4, "HASH": 6}
_OPERATORS = frozenset(("IF", "ARROW", "COMPARE", "PLUS", "MINUS", "STAR", "SLASH", "AT_SIGN"))
_PLAIN = frozenset(("LPAR", "RPAR", "LSQB", "RSQB", "LBRACE", "RBRACE", "COMMA", "COLON"))


def coloured(document: Document) -> Iterator[tuple[Token, int]]:
    """The tokens of the text with the numbers of their kinds."""
    predicates = {id(found.token) for found in document.own.occurrences
                  if isinstance(found.name, Signature)}  # fmt: skip
    for statement in document.own.statements:
        for token in statement.tokens:
            kind = token.type
            if id(token) in predicates:
                yield token, 1
            elif kind in _KINDS:
                yield token, _KINDS[kind]
            elif kind in _OPERATORS:
                yield token, 5
            elif kind not in ("NAME", "SEMICOLON") and kind not in _PLAIN:
                yield token, 0
