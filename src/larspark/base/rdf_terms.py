"""RDF terms as constants: what stands in the atoms of RDF data, and in queries over them.

An IRI keeps its brackets, a number is a number, and a plain string is its text. Other literals keep
their tag or type: `"chat"@fr`, `"2020-01-01"^^<...#date>`. A blank node is `_:b1`.
"""

from larspark.base.atoms import Signature
from larspark.base.terms import INTEGER_MAX, INTEGER_MIN, Constant, constant

# Triples of streams are `i(S, P, O, Stream)`, those of static graphs `g(S, P, O, Graph)`.
STREAMED = Signature("i", 4)
DATA = "g"

_XSD = "http://www.w3.org/2001/XMLSchema#"
_INTEGERS = frozenset(
    _XSD + name
    for name in (
        *("integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger"),
        *("nonPositiveInteger", "negativeInteger", "unsignedInt", "unsignedLong"),
        *("unsignedShort", "unsignedByte"),
    )
)
_FRACTIONS = frozenset(_XSD + name for name in ("decimal", "double", "float"))


def iri_text(iri: str) -> str:
    """An IRI as a constant.

    >>> iri_text("http://example.org/a")
    '<http://example.org/a>'
    """
    return f"<{iri}>"


def literal_constant(text: str, datatype: str | None, language: str | None) -> Constant:
    """A literal as a constant; a number out of range keeps its type.

    >>> literal_constant("21.50", _XSD + "decimal", None), literal_constant("a", None, None)
    (21.5, 'a')
    >>> literal_constant("chat", None, "fr")
    '"chat"@fr'
    """
    if language:
        return f'"{text}"@{language.lower()}'
    if datatype is None or datatype == _XSD + "string":
        return text
    number = _number(text.strip(), datatype)
    return f'"{text}"^^<{datatype}>' if number is None else number


def _number(text: str, datatype: str) -> Constant | None:
    try:
        if datatype in _INTEGERS and len(text) < 25:
            value = int(text)
            return value if INTEGER_MIN <= value <= INTEGER_MAX else None
        if datatype in _FRACTIONS and len(text) < 400:
            return constant(float(text))
    except ValueError:
        pass
    return None
