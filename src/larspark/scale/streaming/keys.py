"""Keys of shards, which Spark spreads evenly.

Spark lays state into the partition that the hash of its key says. By their numbers alone, three
shards of four land in one of two partitions, and the other one waits for it.
"""

from collections.abc import Iterator
from itertools import count

_SEED = 42
_MASK = 0xFFFFFFFF


def shard_keys(shards: int) -> list[int]:
    """A key for each shard: evenly spread when the number of partitions divides that of shards.

    They depend on nothing else, since states are found by them after a restart. A shard is its key
    modulo the number of shards, and the key of the first one is always 0.

    >>> shard_keys(4), [spark_hash(key) % 2 for key in shard_keys(4)]
    ([0, 5, 6, 67], [1, 0, 1, 0])
    """
    return list(_keys(shards))


def _keys(shards: int) -> Iterator[int]:
    free = set(range(shards))
    for shard in range(shards):
        key = next(key for key in count(shard, shards) if spark_hash(key) % shards in free)
        free.remove(spark_hash(key) % shards)
        yield key


def spark_hash(number: int) -> int:
    """What Spark's `hash` gives for an integer of 32 bits: MurmurHash3."""
    mixed = _rotated(number * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK
    value = _rotated(_SEED ^ mixed, 13) * 5 + 0xE6546B64 & _MASK
    # The length in bytes.
    value ^= 4
    value = (value ^ value >> 16) * 0x85EBCA6B & _MASK
    value = (value ^ value >> 13) * 0xC2B2AE35 & _MASK
    value ^= value >> 16
    return value - (1 << 32) if value >> 31 else value


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> (32 - bits)) & _MASK
