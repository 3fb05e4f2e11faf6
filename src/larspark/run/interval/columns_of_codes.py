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
            each = map(constant_text, decoded(numpy_array(coded.dictionary), values))
            texts = pc.take(pa.array(each, pa.string()), coded.indices)
        pieces += [texts, ","]
    pieces[-1] = ")"
    return pc.binary_join_element_wise(*pieces, "")
