"""CQL: conditions and expressions."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Literal, cast

from larspark.base.problems import Span
from larspark.language.dialects.cql.query_tokens import MAX_DEPTH, Stop, TokenReader, string_value
from larspark.language.dialects.cql.query_tree import (
    AggregateCall,
    Column,
    Compared,
    Condition,
    Exists,
    Expression,
    Junction,
    Negation,
    Operation,
    Query,
    Select,
    Value,
)
from larspark.language.tokens import brief, number_of

_FUNCTIONS = ("count", "sum", "avg", "min", "max")
_COMPARISONS = {"=": "=", "<>": "!=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


class ExpressionParser(TokenReader, ABC):
    """Reads conditions and expressions, with the subqueries in them."""

    @abstractmethod
    def _bracketed(self) -> Query:
        """A query in brackets."""

    def _condition(self) -> Condition:
        first = self._place()
        found = self._disjunction()
        return self._as_condition(found, self._from(first))

    def _as_condition(self, found: Condition | Expression, span: Span) -> Condition:
        if isinstance(found, Compared | Junction | Negation | Exists):
            return found
        self._text.report("L112", "expected a condition, found a value", span)
        raise Stop

    def _expression(self) -> Expression:
        first = self._place()
        found = self._sum()
        return self._as_value(found, self._from(first))

    def _as_value(self, found: Condition | Expression, span: Span) -> Expression:
        if isinstance(found, Compared | Junction | Negation | Exists):
            self._text.report("L113", "expected a value, found a condition", span)
            raise Stop
        return found

    def _disjunction(self) -> Condition | Expression:
        return self._junction("or", self._conjunction)

    def _conjunction(self) -> Condition | Expression:
        return self._junction("and", self._negation)

    def _junction(
        self, word: Literal["and", "or"], part: Callable[[], Condition | Expression]
    ) -> Condition | Expression:
        first = self._place()
        found = part()
        if self._peek() != word:
            return found
        parts = [self._as_condition(found, self._from(first))]
        while self._take(word):
            at = self._place()
            parts.append(self._as_condition(part(), self._from(at)))
        return Junction(word, tuple(parts), self._from(first))

    def _negation(self) -> Condition | Expression:
        first = self._place()
        if self._take("not"):
            self._nest()
            body = self._as_condition(self._negation(), self._from(first))
            self._depth -= 1
            return Negation(body, self._from(first))
        if self._take("exists"):
            return Exists(self._subquery(), None, self._from(first))
        return self._comparison()

    def _subquery(self) -> Select:
        first = self._place()
        query = self._bracketed()
        if not isinstance(query, Select):
            self._refuse("this kind of subquery", self._from(first), "write a SELECT")
            raise Stop
        return query

    def _comparison(self) -> Condition | Expression:
        first = self._place()
        left = self._sum()
        word = self._peek()
        if word in _COMPARISONS:
            self._next()
            at = self._place()
            value = self._as_value(left, self._from(first))
            if self._peek() in ("all", "any", "some") and self._peek(1) == "(":
                token = self._next()
                self._refuse(f"a comparison with {token.text.upper()}", token.span, "use EXISTS")
                self._bracketed()
                return Compared("=", value, value, self._from(first))
            right = self._as_value(self._sum(), self._from(at))
            return Compared(_COMPARISONS[word], value, right, self._from(first))
        if word in ("not", "in", "between", "like", "is"):
            return self._special(self._as_value(left, self._from(first)), first)
        return left

    def _special(self, left: Expression, first: Span) -> Condition:
        """`[NOT] IN`, `[NOT] BETWEEN`, and what is refused: LIKE and NULL."""
        negated = self._take("not") is not None
        found: Condition
        if self._take("in"):
            if self._peek(1) == "select":
                found = Exists(self._subquery(), left, self._from(first))
            else:
                found = self._listed(left, first)
        elif self._take("between"):
            low = self._expression()
            self._need("and")
            high = self._expression()
            span = self._from(first)
            parts = (Compared(">=", left, low, span), Compared("<=", left, high, span))
            found = Junction("and", parts, span)
        elif word := self._take("like"):
            self._refuse("LIKE", word.span)
            self._sum()
            found = Compared("=", left, left, self._from(first))
        elif word := self._take("is"):
            self._refuse("NULL", word.span, "there is no NULL here")
            self._take("not")
            self._need("null")
            found = Compared("=", left, left, self._from(first))
        else:
            self._unexpected("`IN`, `BETWEEN` or a comparison")
        return Negation(found, self._from(first)) if negated else found

    def _listed(self, left: Expression, first: Span) -> Condition:
        self._need("(")
        values = [self._expression()]
        while self._take(","):
            values.append(self._expression())
        self._need(")")
        span = self._from(first)
        parts = tuple(Compared("=", left, value, span) for value in values)
        return parts[0] if len(parts) == 1 else Junction("or", parts, span)

    def _sum(self) -> Condition | Expression:
        return self._chain(("+", "-"), self._product)

    def _product(self) -> Condition | Expression:
        return self._chain(("*", "/"), self._unary)

    def _chain(
        self, operators: tuple[str, ...], part: Callable[[], Condition | Expression]
    ) -> Condition | Expression:
        first = self._place()
        found = part()
        while True:
            if self._peek() in ("||", "%"):
                self._refuse(f"`{self._peek()}`", self._place())
                self._next()
                part()
                continue
            token = self._take(*operators)
            if token is None:
                return found
            left = self._as_value(found, self._from(first))
            at = self._place()
            right = self._as_value(part(), self._from(at))
            operator = cast(Literal["+", "-", "*", "/"], token.text)
            found = self._operation(operator, (left, right), first)

    def _operation(
        self, operator: Literal["+", "-", "*", "/"], operands: tuple[Expression, ...], first: Span
    ) -> Operation:
        height = 1 + max(getattr(operand, "height", 0) for operand in operands)
        if height > MAX_DEPTH:
            message = f"an expression has more than {MAX_DEPTH} operators above each other"
            self._text.report("L107", message, first)
            raise Stop
        return Operation(operator, operands, self._from(first), height)

    def _unary(self) -> Condition | Expression:
        first = self._place()
        if self._take("+"):
            return self._unary_operand(first)
        if self._take("-"):
            operand = self._unary_operand(first)
            if isinstance(operand, Value) and isinstance(operand.constant, int | float):
                return Value(-operand.constant, operand.kind, self._from(first))
            return self._operation("-", (operand,), first)
        return self._primary()

    def _unary_operand(self, first: Span) -> Expression:
        self._nest()
        operand = self._as_value(self._unary(), self._from(first))
        self._depth -= 1
        return operand

    def _primary(self) -> Condition | Expression:
        kind = self._type()
        if kind == "NUMBER":
            token = self._next()
            number = number_of(token)
            return Value(number, "integer" if token.text.isdigit() else "float", token.span)
        if kind == "STRING":
            token = self._next()
            return Value(string_value(token), "text", token.span)
        if self._peek() == "(":
            return self._parenthesis()
        if self._peek() == "null":
            return self._left_out("NULL", "there is no NULL here", self._next)
        if self._peek() == "case":
            return self._left_out("CASE", "write one query for each case, and UNION", self._case)
        if kind == "NAME" and self._peek(1) == "(":
            return self._call()
        return self._column()

    def _left_out(self, what: str, hint: str, skip: Callable[[], object]) -> Value:
        """A value in place of what is refused by its name, so that reading goes on behind it."""
        span = self._place()
        self._refuse(what, span, hint)
        skip()
        return Value(0, "integer", span)

    def _case(self) -> None:
        """Go on behind the `END` of a `CASE`."""
        depth = 0
        while self._at < len(self._tokens):
            word = self._next().text.lower()
            depth += (word == "case") - (word == "end")
            if depth == 0:
                return

    def _parenthesis(self) -> Condition | Expression:
        self._nest()
        if self._peek(1) == "select":
            hint = "use IN, EXISTS or a view"
            value = self._left_out("a subquery as a value", hint, self._bracketed)
            self._depth -= 1
            return value
        self._need("(")
        found = self._disjunction()
        if self._peek() == ",":
            self._refuse("a row of values", self._place(), "compare one value after the other")
            raise Stop
        self._need(")")
        self._depth -= 1
        return found

    def _call(self) -> Expression:
        first = self._next()
        function = first.text.lower()
        self._next()
        if function not in _FUNCTIONS:
            hint = "the functions are COUNT, SUM, AVG, MIN and MAX"
            self._refuse(f"the function {brief(first.text.upper())}", first.span, hint)
            self._skip_arguments()
            self._over()
            return Value(0, "integer", first.span)
        self._nest()
        distinct = self._take("distinct") is not None
        argument = None
        if function == "count" and not distinct and self._take("*"):
            pass
        else:
            argument = self._expression()
        self._need(")")
        self._depth -= 1
        self._over()
        name = cast(Literal["count", "sum", "avg", "min", "max"], function)
        return AggregateCall(name, argument, distinct, self._span(first))

    def _over(self) -> None:
        if over := self._take("over"):
            self._refuse("OVER", over.span, "use GROUP BY")
            if self._take("("):
                self._skip_arguments()

    def _skip_arguments(self) -> None:
        """Go on behind the bracket that closes the one before."""
        opened = 1
        while opened and self._at < len(self._tokens):
            word = self._next().text
            opened += (word == "(") - (word == ")")

    def _column(self) -> Column:
        first = self._name("a column")
        if self._take("."):
            second = self._name("a column")
            return Column(first.text.lower(), second.text.lower(), self._span(first))
        return Column("", first.text.lower(), first.span)
