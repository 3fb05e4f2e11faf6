"""The kernel of partition windows: the last tuples of every group."""

import numpy as np

from larspark.run.interval.kernels.compile import filling, kernel
from larspark.run.interval.kernels.hash_chains import mix
from larspark.run.interval.kernels.layout import FOREVER, FROM, NONE, TO, Ints
from larspark.run.interval.kernels.scan import TIME

# Columns of a group, and of a member; a member's columns after that are those of its batch row.
GROUP_NEXT, SIZE, OLDEST, NEWEST, GROUP_KEYS = 0, 1, 2, 3, 4
MEMBER_NEXT, NUMBER, MEMBER_ROW = 0, 1, 2
GROUPS_USED, MEMBERS_USED, MEMBERS_FREE, MEMBERS_IDLE, ARRIVED = 0, 1, 2, 3, 4


@kernel
def group_arrivals(
    groups: Ints, heads: Ints, members: Ints, counters: Ints, batch: Ints, keys: Ints, size: int
) -> tuple[Ints, Ints]:
    """Insert the rows of a batch in order, each pushing out the one `size` before it.

    Returns the rows with their times in the window, as far as known; and the earlier rows that are
    pushed out, with the time from which they are out.
    """
    width = batch.shape[1]
    inside = np.empty(batch.shape, np.int64)
    outside = np.empty((batch.shape[0], width), np.int64)
    count = 0
    arrived = counters[ARRIVED]
    for source in range(batch.shape[0]):
        for column in range(width):
            inside[source, column] = batch[source, column]
        state = 0
        for number in range(keys.shape[0]):
            state = mix(state, batch[source, keys[number]])
        bucket = state & (heads.shape[0] - 1)
        group = heads[bucket]
        while group != NONE:
            same = True
            for number in range(keys.shape[0]):
                if groups[group, GROUP_KEYS + number] != batch[source, keys[number]]:
                    same = False
                    break
            if same:
                break
            group = groups[group, GROUP_NEXT]
        if group == NONE:
            group = counters[GROUPS_USED]
            counters[GROUPS_USED] += 1
            groups[group, GROUP_NEXT] = heads[bucket]
            heads[bucket] = group
            groups[group, SIZE] = 0
            for number in range(keys.shape[0]):
                groups[group, GROUP_KEYS + number] = batch[source, keys[number]]
        member = counters[MEMBERS_FREE]
        if member != NONE:
            counters[MEMBERS_FREE] = members[member, MEMBER_NEXT]
            counters[MEMBERS_IDLE] -= 1
        else:
            member = counters[MEMBERS_USED]
            counters[MEMBERS_USED] += 1
        members[member, MEMBER_NEXT] = NONE
        members[member, NUMBER] = arrived + source
        for column in range(width):
            members[member, MEMBER_ROW + column] = batch[source, column]
        if groups[group, SIZE] == 0:
            groups[group, OLDEST] = member
        else:
            members[groups[group, NEWEST], MEMBER_NEXT] = member
        groups[group, NEWEST] = member
        groups[group, SIZE] += 1
        if groups[group, SIZE] > size:
            oldest = groups[group, OLDEST]
            groups[group, OLDEST] = members[oldest, MEMBER_NEXT]
            groups[group, SIZE] -= 1
            now = batch[source, TIME]
            if members[oldest, NUMBER] >= arrived:
                inside[members[oldest, NUMBER] - arrived, TO] = now - 1
            else:
                for column in range(width):
                    outside[count, column] = members[oldest, MEMBER_ROW + column]
                outside[count, FROM] = now
                outside[count, TO] = FOREVER
                count += 1
            members[oldest, MEMBER_NEXT] = counters[MEMBERS_FREE]
            counters[MEMBERS_FREE] = oldest
            counters[MEMBERS_IDLE] += 1
    counters[ARRIVED] += batch.shape[0]
    return inside, outside[:count]


@filling
def group_rebuild(groups: Ints, heads: Ints, counters: Ints, width: int) -> None:
    """Enter all groups into a hash table that has grown."""
    for bucket in range(heads.shape[0]):
        heads[bucket] = NONE
    for group in range(counters[GROUPS_USED]):
        state = 0
        for column in range(GROUP_KEYS, GROUP_KEYS + width):
            state = mix(state, groups[group, column])
        bucket = state & (heads.shape[0] - 1)
        groups[group, GROUP_NEXT] = heads[bucket]
        heads[bucket] = group


@kernel
def group_members(groups: Ints, members: Ints, counters: Ints) -> Ints:
    """The lines of all members, group by group."""
    used = counters[MEMBERS_USED] - counters[MEMBERS_IDLE]
    out = np.empty((used, members.shape[1]), np.int64)
    count = 0
    for group in range(counters[GROUPS_USED]):
        member = groups[group, OLDEST]
        for _ in range(groups[group, SIZE]):
            for column in range(members.shape[1]):
                out[count, column] = members[member, column]
            count += 1
            member = members[member, MEMBER_NEXT]
    return out
