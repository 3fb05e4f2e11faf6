"""Columns of codes as constants, atoms and texts."""

from collections.abc import Iterator, Sequence
from itertools import repeat

import pyarrow as pa
import pyarrow.compute as pc

from larspark.base.arrow_numpy import arrow_array, numpy_array
from larspark.base.atoms import Atom, Signature
from larspark.base.terms import Constant, constant_text
from larspark.run.interval.interning import (
    FLOAT,
    TABLE,
    constants_at,
    decode,
    decode_floats,
    integers,
    tags,
)
from larspark.run.interval.kernels.layout import Ints
from larspark.run.interval.text_table import LazyConstants, text_buffers

# The bytes of names, and those with which they begin.
_SMALL = b"abcdefghijklmnopqrstuvwxyz"
_OF_NAMES = _SMALL + _SMALL.upper() + b"0123456789_"
# What `constant_text` writes without quotes, and what it does not only quote, for Arrow.
_NAME = r"\A[a-z][A-Za-z0-9_]*\z"
_ESCAPED = r"[\\\"\n\r\t]"


def atoms_of(signature: Signature, args: Ints, values: Sequence[Constant]) -> Iterator[Atom]:
    """The atoms of rows of argument codes."""
    if not signature.arity:
        return iter([Atom(signature.predicate)] * len(args))
    columns = [decoded(args[:, place], values) for place in range(signature.arity)]
    return map(Atom, repeat(signature.predicate), zip(*columns, strict=True))


def decoded(codes: Ints, values: Sequence[Constant]) -> list[Constant]:
    """The constants of a column of codes."""
    kinds = tags(codes)
    found: list[Constant]
    if not kinds.any():
        found = list(integers(codes).tolist())
    elif (kinds == TABLE).all():
        found = constants_at(integers(codes).tolist(), values)
    elif (kinds == FLOAT).all():
        found = list(decode_floats(codes).tolist())
    else:
        found = [decode(code, values) for code in codes.tolist()]
    return found


def texts_of(signature: Signature, args: Ints, values: Sequence[Constant]) -> pa.Array:
    """Atoms as text, column by column."""
    predicate = constant_text(signature.predicate)
    if not signature.arity:
        return pa.array([predicate] * len(args), pa.string())
    pieces: list[pa.Array | str] = [f"{predicate}("]
    for place in range(signature.arity):
        codes = args[:, place]
        if not tags(codes).any():
            texts = pc.cast(pa.array(integers(codes)), pa.string())
        else:
            # Hashed, which is faster than sorted.
            coded = pc.dictionary_encode(arrow_array(codes))
            texts = _constant_texts(numpy_array(coded.dictionary), values)
            if len(texts) < len(codes):
                texts = pc.take(texts, coded.indices)
        pieces += [texts, ","]
    pieces[-1] = ")"
    return pc.binary_join_element_wise(*pieces, "")


def _constant_texts(codes: Ints, values: Sequence[Constant]) -> pa.Array:
    """Constants as they are written in atoms; a column of texts never leaves Arrow."""
    if isinstance(values, LazyConstants) and (tags(codes) == TABLE).all():
        texts = values.texts(integers(codes))
        if texts is not None and _are_names(texts):
            return texts
        if texts is not None and not pc.any(pc.match_substring_regex(texts, _ESCAPED)).as_py():
            names = pc.match_substring_regex(texts, _NAME)
            quoted = pc.binary_join_element_wise('"', texts, '"', "")
            return pc.if_else(names, texts, quoted)
    return pa.array(map(constant_text, decoded(codes, values)), pa.string())


def _are_names(texts: pa.Array) -> bool:
    """Is every text written without quotes? Looks at bytes, which is quicker than matching."""
    offsets, data = text_buffers(texts)
    begins, ends = offsets[:-1], offsets[1:]
    if not len(begins) or not (begins < ends).all():
        return False
    others = data[begins[0] : ends[-1]].tobytes().translate(None, _OF_NAMES)
    return not others and not data[begins].tobytes().translate(None, _SMALL)
