"""A hierarchical timing wheel: events by time, each added and taken in a constant time.

There is a wheel for each of the eight bytes of a time. An event waits in the wheel of the highest
byte in which its time differs from now, at the slot of that byte. When time comes to a slot of a
higher wheel, its events move to lower ones: at most seven times, and once or twice in practice.
Times count from the start of the timeline.
"""

from larspark.run.interval.kernels.compile import helper, inlined
from larspark.run.interval.kernels.layout import NONE, Ints

# Columns of an event; what follows belongs to those who add it.
EVENT_NEXT, EVENT_TIME, EVENT_DATA = 0, 1, 2
# Counters of a wheel, in an array of their own.
NOW, EVENTS_USED, FREE_EVENTS, FREE_EVENT_COUNT, EVENT_COUNTERS = 0, 1, 2, 3, 4
SLOTS, LEVELS = 256, 8
_BITS, _MASK = 8, 255


@inlined
def new_event(events: Ints, counters: Ints) -> int:
    """An event that is not on the wheel; there has to be room."""
    event = counters[FREE_EVENTS]
    if event != NONE:
        counters[FREE_EVENTS] = events[event, EVENT_NEXT]
        counters[FREE_EVENT_COUNT] -= 1
        return event
    counters[EVENTS_USED] += 1
    return counters[EVENTS_USED] - 1


@inlined
def free_event(events: Ints, counters: Ints, event: int) -> None:
    """Free an event, which is recognized by its time."""
    events[event, EVENT_TIME] = NONE
    events[event, EVENT_NEXT] = counters[FREE_EVENTS]
    counters[FREE_EVENTS] = event
    counters[FREE_EVENT_COUNT] += 1


@inlined
def schedule_event(events: Ints, counters: Ints, wheels: Ints, event: int) -> None:
    """Put an event on the wheel; its time is not before now."""
    time = events[event, EVENT_TIME]
    differing, level = (time ^ counters[NOW]) >> _BITS, 0
    while differing != 0:
        differing >>= _BITS
        level += 1
    slot = level * SLOTS + ((time >> (_BITS * level)) & _MASK)
    events[event, EVENT_NEXT] = wheels[slot]
    wheels[slot] = event


@helper
def reversed_list(events: Ints, event: int) -> int:
    """A list of events the other way round."""
    before = NONE
    while event != NONE:
        following = events[event, EVENT_NEXT]
        events[event, EVENT_NEXT] = before
        before = event
        event = following
    return before


@helper
def advance_wheel(events: Ints, counters: Ints, wheels: Ints, last: int, ordered: bool) -> int:
    """Advance to the next time with events, not after `last`.

    Returns the first event of a list, which leaves the wheel, or NONE. With `ordered` the event
    that was added last comes first.
    """
    level = 0
    while level < LEVELS:
        now, above = counters[NOW], _BITS * (level + 1)
        low = (now >> (_BITS * level)) & _MASK
        found = NONE
        # Right now there may be new events; slots of higher wheels begin after now.
        for slot in range(low + int(level > 0), SLOTS):
            if wheels[level * SLOTS + slot] != NONE:
                found = slot
                break
        if found == NONE:
            if (now ^ last) >> (above - 1) >> 1 == 0:
                # Events of higher wheels come after `last`.
                break
            level += 1
            continue
        time = (now >> (above - 1) >> 1 << (above - 1) << 1) | found << (_BITS * level)
        if time > last:
            break
        event = wheels[level * SLOTS + found]
        wheels[level * SLOTS + found] = NONE
        counters[NOW] = time
        if level == 0:
            return event
        if ordered:
            event = reversed_list(events, event)
        while event != NONE:
            following = events[event, EVENT_NEXT]
            schedule_event(events, counters, wheels, event)
            event = following
        level = 0
    counters[NOW] = max(counters[NOW], last)
    return NONE
