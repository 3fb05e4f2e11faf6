"""Scripts of CQL: registered streams and relations, views, and the query whose rows are answers."""

from collections.abc import Iterable, Iterator

from larspark.base.atoms import Signature
from larspark.base.problems import Span
from larspark.language.dialects.cql.query_bodies import Columns
from larspark.language.dialects.cql.query_conditions import calls
from larspark.language.dialects.cql.query_rules import QueryRules
from larspark.language.dialects.cql.query_scope import Names, Relation
from larspark.language.dialects.cql.query_tree import (
    Answer,
    CqlStatement,
    Declared,
    Named,
    Query,
    Register,
    Select,
    SetOperation,
    Streamed,
    Unread,
    View,
)
from larspark.language.source import Source
from larspark.language.tree import NamedData, Program, Tick

ANSWER = "answer"


def script_program(
    text: Source, statements: Iterable[CqlStatement], tick: Tick, half_open: bool
) -> Program:
    """The program of a script; incomplete when there are errors."""
    script = _Script(text, tuple(statements), half_open)
    shown = script.translate()
    rules = script.rules
    return Program(
        tuple(rules.rules),
        tick,
        frozenset(data.signature for data in script.given if data.is_stream),
        None if shown is None else frozenset((shown,)),
        frozenset(rules.remembered),
        source=text.name,
        texts={text.name: text.text},
        named=tuple(script.given),
    )


class _Script:
    def __init__(self, text: Source, statements: tuple[CqlStatement, ...], half_open: bool) -> None:
        self._text = text
        self._statements = statements
        self._relations: dict[str, Relation] = {}
        self.given: list[NamedData] = []
        names = {statement.name for statement in statements if not isinstance(statement, Answer)}
        self._names = Names({*names, ANSWER})
        self.rules = QueryRules(text, self._relations, self._names, half_open)
        self.rules.broken.update(s.name for s in statements if isinstance(s, Unread))

    def translate(self) -> Signature | None:
        """Add all rules; returns the predicate of the answers."""
        self._refuse_answer()
        for statement in self._statements:
            if isinstance(statement, Register) and not statement.of_view:
                self._register(statement)
        shown: Signature | None = None
        waiting: View | None = None
        answered: Answer | None = None
        for statement in self._statements:
            if waiting is not None and not (isinstance(statement, Register) and statement.of_view):
                self._unnamed(waiting)
                waiting = None
            match statement:
                case View(""):
                    waiting = statement
                case View():
                    shown = self._view(statement, statement.columns)
                case Register(of_view=True):
                    if waiting is None:
                        message = "`vtable :` names the query of a `vquery :` before it"
                        self._text.report("L152", message, statement.span)
                    else:
                        shown = self._named_view(waiting, statement)
                    waiting = None
                case Answer():
                    if answered is not None:
                        message = "only the last query is answered, not this one"
                        hint = "make it a view, or write a script for each"
                        self._text.warn("L152", message, answered.span, hint)
                        self._look_at(answered.query)
                    answered = statement
                case _:
                    pass
        if waiting is not None:
            self._unnamed(waiting)
        if answered is not None:
            columns = self.rules.derive(answered.query, ANSWER)
            shown = None if columns is None else Signature(ANSWER, len(columns))
        elif shown is None and not self._text.problems and not self.rules.broken:
            message = "there is no query whose rows are the answers"
            self._text.report("L104", message, Span(self._text.name, 1, 1, 1, 1))
        self._warn_of_sets()
        return shown

    def _refuse_answer(self) -> None:
        """Refuse the name of the answers for anything else."""
        if any(isinstance(statement, Answer) for statement in self._statements):
            for statement in self._statements:
                if isinstance(statement, Register | View) and statement.name == ANSWER:
                    message = f"`{ANSWER}` is the name of the answers"
                    self._text.report("L151", message, statement.span, "choose another name")

    def _look_at(self, query: Query) -> None:
        """Report what is wrong with a query, and add none of its rules."""
        rules, remembered = list(self.rules.rules), set(self.rules.remembered)
        self.rules.derive(query, ANSWER)
        self.rules.rules[:], self.rules.remembered = rules, remembered

    def _unnamed(self, view: View) -> None:
        message = "a `vquery :` needs a name"
        hint = "write `vtable : register stream NAME (columns);` after it"
        self._text.report("L152", message, view.span, hint)

    def _register(self, statement: Register) -> None:
        if self._is_new(statement.name, statement):
            columns = statement.columns
            self._relations[statement.name] = Relation(statement.name, columns, statement.is_stream)
            signature = Signature(statement.name, len(columns))
            names = tuple(column.name for column in columns)
            kinds = tuple("number" if c.kind == "float" else c.kind for c in columns)
            data = NamedData(statement.name, signature, names, kinds, statement.is_stream)
            self.given.append(data)

    def _is_new(self, name: str, statement: Register | View) -> bool:
        if name in self._relations:
            self._text.report("L151", f"`{name}` is there already", statement.span)
            return False
        return True

    def _view(self, view: View, names: tuple[str, ...]) -> Signature | None:
        columns = self.rules.derive(view.query, view.name)
        if columns is not None and names and len(names) != len(columns):
            message = f"the view has {len(names)} columns, and its query {len(columns)}"
            self._text.report("L152", message, view.span)
            columns = None
        if not self._is_new(view.name, view):
            return None
        if columns is None:
            self.rules.broken.add(view.name)
            return None
        if names:
            columns = tuple(
                Declared(name, column.kind) for name, column in zip(names, columns, strict=True)
            )
        return self._add(view, columns, _is_stream(view.query))

    def _named_view(self, view: View, register: Register) -> Signature | None:
        """The query of a `vquery :` under the name and with the columns of its `vtable :`."""
        columns = self.rules.derive(view.query, register.name)
        if not self._is_new(register.name, register):
            return None
        named = View(register.name, (), view.query, view.span)
        if columns is None:
            # What reads the view has no problem of its own.
            self._add(named, register.columns, register.is_stream)
            return None
        if len(columns) != len(register.columns):
            message = f"`{register.name}` has {len(register.columns)} columns, and its query "
            self._text.report("L152", message + str(len(columns)), register.span)
            return None
        if register.is_stream != _is_stream(view.query):
            kind = "a stream" if register.is_stream else "a relation"
            message = f"`{register.name}` is registered as {kind}, and its query gives none"
            hint = "RSTREAM(...), ISTREAM(...) and DSTREAM(...) give streams"
            self._text.report("L152", message, register.span, hint)
            return None
        return self._add(named, register.columns, register.is_stream)

    def _add(self, view: View, columns: Columns, is_stream: bool) -> Signature:
        signature = Signature(view.name, len(columns))
        self._relations[view.name] = Relation(view.name, columns, is_stream, is_view=True)
        if is_stream:
            self.rules.remembered.add(signature)
        return signature

    def _warn_of_sets(self) -> None:
        """Say once that equal rows are one, where the original would keep or count each."""
        for statement in self._statements:
            if isinstance(statement, View | Answer):
                for select in _selects(statement.query):
                    if _counts_equal_rows(select):
                        message = "rows are sets here: equal rows of a time point are one row"
                        hint = "the STREAM system keeps and counts each of them"
                        self._text.warn("L153", message, select.span, hint)
                        return


def _is_stream(query: Query) -> bool:
    return isinstance(query, Streamed) or (isinstance(query, Select) and query.operator is not None)


def _selects(query: Query) -> Iterator[Select]:
    match query:
        case Select():
            yield query
        case Streamed(_, inner):
            yield from _selects(inner)
        case SetOperation(_, left, right):
            yield from _selects(left)
            yield from _selects(right)
        case Named():
            pass


def _counts_equal_rows(select: Select) -> bool:
    found = [call for item in select.items for call in calls(item.expression)]
    found += calls(select.having)
    if not found and not select.groups:
        return not select.distinct
    return any(call.function in ("count", "sum", "avg") and not call.distinct for call in found)
