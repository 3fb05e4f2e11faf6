"""All kernels compiled ahead: for images, and for hosts on which the first run should be fast."""

from collections.abc import Iterator
from typing import NamedTuple

from larspark.run.interval.kernels.compile import numba_is_there
from larspark.run.interval.kernels.compile_worker import PACKAGE, compile_kernel

# Abbreviations of types: integers, Boolean values, and writable arrays of one and two dimensions.
_TYPES = {"i": "int64", "b": "bool", "1": "int64.1.C", "2": "int64.2.C"}

# The module and the name of each kernel, and the types of the arguments that it is called with.
SIGNATURES = """
accumulate.add_tuples 1 2 2 i i
accumulate.advance_groups 1 i
accumulate.rebuild_groups 1
cover.add_rows 1 2 1 i i i 2 2
cover.keep_rows 1 2 1 i
expire.drop_rows 1 i
expire.expire_rows 1 i b
expire.expire_stores 1 i 2
expire.link_rows 1
last_by_group.group_arrivals 2 1 2 1 2 1 i
last_by_group.group_members 2 2 1
last_by_group.group_rebuild 2 1 1 i
last_tuples.last_arrivals 2 1 2 1 1 i i i
probe.probe 1 2 1
profile.profile_add 1 2 1 i i
profile.profile_expire 1 i
profile.profile_load 1 2
profile.profile_rebuild 1
profile.profile_rows 1
remove.remove_rows 1 2 1 i
saved_groups.load_groups 1 2 2 2 2
saved_groups.take_members 1
scan.scan 2 1
select.code_integers 1 2 i i
select.cut 2 i i 2 i
select.first_arrivals 2 2 1
select.live_rows 1 i
select.pin 1 2
session_groups.open_sessions 2 2 2 1
session_groups.rebuild_heads 2 1 2 1
session_groups.reopen_sessions 2 1 2 2 1 2 2 1
session_groups.session_arrivals 2 1 2 2 1 2 1 1 1 1 i
text_lookup.code_texts int32.1.C.readonly uint8.1.C.readonly uint8.1.C int32.1.C 2 1 1 1
text_lookup.copy_texts uint8.1.C 2 1 int32.1.C uint8.1.C
text_lookup.fill_slots int32.1.C 2 i
text_lookup.keep_texts int32.1.C.readonly uint8.1.C.readonly uint8.1.C int32.1.C 2 1 1
tick.run_tick 1 i i
"""


class Compiled(NamedTuple):
    """A kernel that is in the cache now."""

    name: str
    number: int
    total: int


def compile_all() -> Iterator[Compiled]:
    """Compile every kernel that is not in the cache; without Numba there are none."""
    if not numba_is_there():
        return
    wanted = requests()
    for number, request in enumerate(wanted, 1):
        compile_kernel(request)
        yield Compiled(request.split()[1], number, len(wanted))


def requests() -> list[str]:
    """The kernels as requests to the process that compiles."""
    found = []
    for line in SIGNATURES.split("\n")[1:-1]:
        kernel, *types = line.split()
        module, _, name = kernel.partition(".")
        words = (_TYPES.get(each, each) for each in types)
        found.append(" ".join([f"{PACKAGE}.{module}", name, *words]))
    return found
