"""The kernels of session windows: the open session of every group, and when it is over.

A group exists as long as its session may go on. Every group is in a queue once, no later than its
session is over; a session that went on in the meantime is put back when its turn comes. So an
element costs a constant, and a logarithm of the number of groups for the queue.
"""

from typing import NamedTuple

import numpy as np

from larspark.run.interval.kernels.compile import helper, inlined, kernel
from larspark.run.interval.kernels.hash_chains import mix
from larspark.run.interval.kernels.layout import FOREVER, FROM, NONE, TO, Ints
from larspark.run.interval.kernels.scan import TIME

# Columns of a group, and of a member; a member's columns after that are those of its batch row.
GROUP_NEXT, OLDEST, NEWEST, BEGIN, LAST, GROUP_KEYS = 0, 1, 2, 3, 4, 5
MEMBER_NEXT, NUMBER, MEMBER_ROW = 0, 1, 2
# Counters. The queue has as many entries as there are groups.
GROUPS_USED, GROUPS_FREE, GROUPS, MEMBERS_USED, MEMBERS_FREE, MEMBERS = 0, 1, 2, 3, 4, 5
# The members of sessions that are over and not emitted yet: the first one, and how many.
CLOSED, CLOSED_COUNT, ARRIVED, COUNTER_COUNT = 6, 7, 8, 9
# Columns of an entry of the queue, which is a binary heap.
OVER, GROUP, ENTRY_SIZE = 0, 1, 2
# The kind of session window: the gap, the longest session (NONE: any), and 1 for ended sessions.
GAP, LONGEST, ENDED = 0, 1, 2


class Sessions(NamedTuple):
    """The arrays of a window: groups with a hash table, members, the queue, and the counters."""

    groups: Ints
    heads: Ints
    members: Ints
    queue: Ints
    counters: Ints


@inlined
def over(kind: Ints, begin: int, last: int) -> int:
    """The last time point of a session with its first and its last element at these times."""
    end = last + kind[GAP]
    if kind[LONGEST] != NONE:
        end = min(end, begin + kind[LONGEST])
    return end


@helper
def _sink(queue: Ints, size: int, place: int) -> None:
    """Move an entry down to where no later one is before it."""
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and queue[child + 1, OVER] < queue[child, OVER]:
            child += 1
        if queue[place, OVER] <= queue[child, OVER]:
            break
        for column in range(ENTRY_SIZE):
            kept = queue[place, column]
            queue[place, column] = queue[child, column]
            queue[child, column] = kept
        place = child


@helper
def _push(queue: Ints, size: int, end: int, group: int) -> None:
    """Add an entry to a queue of this size."""
    place = size
    while place > 0 and queue[(place - 1) // 2, OVER] > end:
        for column in range(ENTRY_SIZE):
            queue[place, column] = queue[(place - 1) // 2, column]
        place = (place - 1) // 2
    queue[place, OVER] = end
    queue[place, GROUP] = group


@helper
def _bucket(heads: Ints, lines: Ints, line: int, keys: Ints) -> int:
    """The bucket of a line with keys in these columns."""
    state = 0
    for number in range(keys.shape[0]):
        state = mix(state, lines[line, keys[number]])
    return state & (heads.shape[0] - 1)


@helper
def _found(groups: Ints, group: int, lines: Ints, line: int, keys: Ints) -> int:
    """The group with the keys of a line, in the chain that begins at a group; NONE without one."""
    while group != NONE:
        same = True
        for number in range(keys.shape[0]):
            if groups[group, GROUP_KEYS + number] != lines[line, keys[number]]:
                same = False
                break
        if same:
            break
        group = groups[group, GROUP_NEXT]
    return group


@helper
def _new_group(
    sessions: Sessions, bucket: int, begin: int, lines: Ints, line: int, keys: Ints
) -> int:
    """A group with the keys of a line, whose session has no members yet."""
    groups, heads, counters = sessions.groups, sessions.heads, sessions.counters
    group = counters[GROUPS_FREE]
    if group != NONE:
        counters[GROUPS_FREE] = groups[group, GROUP_NEXT]
    else:
        group = counters[GROUPS_USED]
        counters[GROUPS_USED] += 1
    counters[GROUPS] += 1
    groups[group, GROUP_NEXT] = heads[bucket]
    heads[bucket] = group
    groups[group, OLDEST] = NONE
    groups[group, NEWEST] = NONE
    groups[group, BEGIN] = begin
    for number in range(keys.shape[0]):
        groups[group, GROUP_KEYS + number] = lines[line, keys[number]]
    return group


@helper
def _add_member(sessions: Sessions, group: int, batch: Ints, source: int, number: int) -> None:
    """Append a row of a batch to the members of a group."""
    groups, members, counters = sessions.groups, sessions.members, sessions.counters
    member = counters[MEMBERS_FREE]
    if member != NONE:
        counters[MEMBERS_FREE] = members[member, MEMBER_NEXT]
    else:
        member = counters[MEMBERS_USED]
        counters[MEMBERS_USED] += 1
    counters[MEMBERS] += 1
    members[member, MEMBER_NEXT] = NONE
    members[member, NUMBER] = number
    for column in range(batch.shape[1]):
        members[member, MEMBER_ROW + column] = batch[source, column]
    if groups[group, OLDEST] == NONE:
        groups[group, OLDEST] = member
    else:
        members[groups[group, NEWEST], MEMBER_NEXT] = member
    groups[group, NEWEST] = member


@helper
def _close(sessions: Sessions, group: int, end: int, kind: Ints, inside: Ints) -> None:
    """End the session of a group: members are to be emitted, or hold in the batch until then."""
    groups, members, counters = sessions.groups, sessions.members, sessions.counters
    member = groups[group, OLDEST]
    while member != NONE:
        following = members[member, MEMBER_NEXT]
        number = members[member, NUMBER] - counters[ARRIVED]
        counters[MEMBERS] -= 1
        if kind[ENDED] == 0 and number >= 0:
            inside[number, TO] = end
            members[member, MEMBER_NEXT] = counters[MEMBERS_FREE]
            counters[MEMBERS_FREE] = member
        else:
            members[member, MEMBER_ROW + FROM] = end + 1
            members[member, MEMBER_ROW + TO] = FOREVER if kind[ENDED] == 0 else end + 1
            members[member, MEMBER_NEXT] = counters[CLOSED]
            counters[CLOSED] = member
            counters[CLOSED_COUNT] += 1
        member = following
    groups[group, OLDEST] = NONE
    groups[group, NEWEST] = NONE


@helper
def _forget(sessions: Sessions, group: int, bucket: int) -> None:
    """Remove a group without a session."""
    groups, heads, counters = sessions.groups, sessions.heads, sessions.counters
    before, current = NONE, heads[bucket]
    while current != group:
        before, current = current, groups[current, GROUP_NEXT]
    if before == NONE:
        heads[bucket] = groups[group, GROUP_NEXT]
    else:
        groups[before, GROUP_NEXT] = groups[group, GROUP_NEXT]
    groups[group, GROUP_NEXT] = counters[GROUPS_FREE]
    counters[GROUPS_FREE] = group
    counters[GROUPS] -= 1


@helper
def _close_before(
    sessions: Sessions, upto: int, kind: Ints, group_keys: Ints, inside: Ints
) -> None:
    """End the sessions that are over before a time point."""
    groups, queue, counters = sessions.groups, sessions.queue, sessions.counters
    while counters[GROUPS] > 0 and queue[0, OVER] < upto:
        group = queue[0, GROUP]
        end = over(kind, groups[group, BEGIN], groups[group, LAST])
        if end < upto:
            _close(sessions, group, end, kind, inside)
            _forget(sessions, group, _bucket(sessions.heads, groups, group, group_keys))
            size = counters[GROUPS]
            queue[0, OVER] = queue[size, OVER]
            queue[0, GROUP] = queue[size, GROUP]
        else:
            queue[0, OVER] = end
        _sink(queue, counters[GROUPS], 0)


@helper
def _arrive(
    sessions: Sessions,
    batch: Ints,
    times: Ints,
    sources: Ints,
    keys: Ints,
    kind: Ints,
    inside: Ints,
) -> None:
    """Let elements arrive in order; `sources` are their rows of the batch, if they have one."""
    groups, heads, counters = sessions.groups, sessions.heads, sessions.counters
    for element in range(times.shape[0]):
        time, source = times[element], sources[element]
        bucket = _bucket(heads, batch, source, keys)
        group = _found(groups, heads[bucket], batch, source, keys)
        if group == NONE:
            size = counters[GROUPS]
            group = _new_group(sessions, bucket, time, batch, source, keys)
            _push(sessions.queue, size, over(kind, time, time), group)
        else:
            end = over(kind, groups[group, BEGIN], groups[group, LAST])
            if time > end:
                _close(sessions, group, end, kind, inside)
                groups[group, BEGIN] = time
        groups[group, LAST] = time
        if source != NONE:
            _add_member(sessions, group, batch, source, counters[ARRIVED] + source)


@kernel
def session_arrivals(
    groups: Ints,
    heads: Ints,
    members: Ints,
    queue: Ints,
    counters: Ints,
    batch: Ints,
    times: Ints,
    sources: Ints,
    keys: Ints,
    kind: Ints,
    upto: int,
) -> tuple[Ints, Ints]:
    """Let elements arrive in order, and end the sessions that are over before `upto`.

    Returns the rows of the batch with their times in the window, as far as known; and the members
    of the sessions that are over, with the time at which the ended window shows them, or from which
    they are out.
    """
    sessions = Sessions(groups, heads, members, queue, counters)
    group_keys = np.arange(GROUP_KEYS, groups.shape[1])
    inside = batch.copy()
    for source in range(batch.shape[0]):
        inside[source, FROM] = batch[source, TIME]
        inside[source, TO] = FOREVER
    _arrive(sessions, batch, times, sources, keys, kind, inside)
    _close_before(sessions, upto, kind, group_keys, inside)
    counters[ARRIVED] += batch.shape[0]
    closed = np.empty((counters[CLOSED_COUNT], batch.shape[1]), np.int64)
    member = counters[CLOSED]
    for line in range(closed.shape[0]):
        for column in range(batch.shape[1]):
            closed[line, column] = members[member, MEMBER_ROW + column]
        following = members[member, MEMBER_NEXT]
        members[member, MEMBER_NEXT] = counters[MEMBERS_FREE]
        counters[MEMBERS_FREE] = member
        member = following
    counters[CLOSED] = NONE
    counters[CLOSED_COUNT] = 0
    return inside, closed


@kernel
def open_sessions(groups: Ints, members: Ints, queue: Ints, counters: Ints) -> tuple[Ints, Ints]:
    """The open sessions as begin, last, number of members and keys; and all members in order."""
    width = groups.shape[1] - GROUP_KEYS
    lines = np.empty((counters[GROUPS], 3 + width), np.int64)
    rows = np.empty((counters[MEMBERS], members.shape[1] - MEMBER_ROW), np.int64)
    done = 0
    for line in range(lines.shape[0]):
        group = queue[line, GROUP]
        before, member = done, groups[group, OLDEST]
        while member != NONE:
            for column in range(rows.shape[1]):
                rows[done, column] = members[member, MEMBER_ROW + column]
            done += 1
            member = members[member, MEMBER_NEXT]
        lines[line, 0] = groups[group, BEGIN]
        lines[line, 1] = groups[group, LAST]
        lines[line, 2] = done - before
        for number in range(width):
            lines[line, 3 + number] = groups[group, GROUP_KEYS + number]
    return lines, rows


@kernel
def reopen_sessions(
    groups: Ints,
    heads: Ints,
    members: Ints,
    queue: Ints,
    counters: Ints,
    lines: Ints,
    rows: Ints,
    kind: Ints,
) -> int:
    """Enter open sessions as `open_sessions` gives them; returns how many members they have."""
    sessions = Sessions(groups, heads, members, queue, counters)
    keys = np.arange(3, lines.shape[1])
    done = 0
    for line in range(lines.shape[0]):
        size, begin, last = counters[GROUPS], lines[line, 0], lines[line, 1]
        group = _new_group(sessions, _bucket(heads, lines, line, keys), begin, lines, line, keys)
        groups[group, LAST] = last
        _push(queue, size, over(kind, begin, last), group)
        for source in range(done, done + lines[line, 2]):
            _add_member(sessions, group, rows, source, NONE)
        done += lines[line, 2]
    return done


@kernel
def rebuild_heads(groups: Ints, heads: Ints, queue: Ints, counters: Ints) -> int:
    """Enter all groups into an empty hash table that has grown; returns how many there are."""
    keys = np.arange(GROUP_KEYS, groups.shape[1])
    for entry in range(counters[GROUPS]):
        group = queue[entry, GROUP]
        bucket = _bucket(heads, groups, group, keys)
        groups[group, GROUP_NEXT] = heads[bucket]
        heads[bucket] = group
    return int(counters[GROUPS])
