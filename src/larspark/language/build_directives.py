"""The steps of the parser that make directives."""

from typing import NamedTuple

from larspark.base.atoms import Signature
from larspark.base.problems import Span
from larspark.language.build_windows import Children
from larspark.language.literals import text_of, whole_number
from larspark.language.tokens import Token, span_between
from larspark.language.tree import Background, Tick
from larspark.language.windows import duration


class TickDirective(NamedTuple):
    tick: Tick
    span: Span


class SignaturesDirective(NamedTuple):
    """`#input`, `#show` or `#remember`."""

    word: str
    signatures: tuple[Signature, ...]
    span: Span


class IncludeDirective(NamedTuple):
    path: str
    span: Span


Directive = TickDirective | SignaturesDirective | IncludeDirective | Background


class DirectiveSteps:
    """One method for each directive."""

    def tick(self, children: Children) -> TickDirective | None:
        first, _, size = children
        length = duration(size)
        if length == 0:
            size.number.source.report("L114", "a time point cannot last 0", size.number.span)
        return TickDirective(Tick(length), span_between(first, size.last)) if length else None

    def signatures_directive(self, children: Children) -> SignaturesDirective:
        first, word, signatures = children
        span = span_between(first, word)
        return SignaturesDirective(word.text, tuple(signature for signature, _ in signatures), span)

    def background(self, children: Children) -> Background:
        first, _, path, _, (signature, last) = children
        return Background(text_of(path), signature, span_between(first, last))

    def include(self, children: Children) -> IncludeDirective:
        _, _, path = children
        return IncludeDirective(text_of(path), path.span)

    def signatures(self, children: Children) -> Children:
        return children[::2]

    def signature(self, children: Children) -> tuple[Signature, Token]:
        name, _, arity = children
        return Signature(text_of(name), whole_number(arity) or 0), arity
