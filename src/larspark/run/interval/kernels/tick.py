"""One time point in one call: facts flow through the whole network, and changes come out.

The network is described by tables of integers (see `tick_tables`). A change waits as a frame until
all its consumers received it; the consumer that is served may itself make a change, whose frame
then comes first. So changes flow in the same order as through the nodes in Python.

An array that is made of an address is only written by functions that receive it: where no one
reads it again Numba takes the writing for dead code.

Where Python has to help - to make room, or with arithmetic - the kernel returns a status, and goes
on with the same work when it is called again.
"""

import numpy as np

from larspark.run.interval.kernels.addressing import array_at, table_at
from larspark.run.interval.kernels.compile import helper, inlined, kernel, maker
from larspark.run.interval.kernels.counts import (
    ENTRIES,
    ENTRIES_USED,
    FREE_ENTRY_COUNT,
    FREE_STEP_COUNT,
    PROFILE_HEADER_SIZE,
    STEPS,
    STEPS_USED,
)
from larspark.run.interval.kernels.cover import Emission, add_to_store
from larspark.run.interval.kernels.expire import expire_store
from larspark.run.interval.kernels.layout import (
    CHUNK_TABLE,
    CHUNKS_USED,
    EXPIRED_UPTO,
    FOREVER,
    FROM,
    HEAD,
    KEYS,
    LAST_END,
    LINK_COLUMN,
    NONE,
    ROWS,
    SCHEDULED,
    SHORTAGE,
    STOPPED_AT,
    STORE_FULL,
    STORE_HEADER_SIZE,
    TAIL,
    TO,
    UNSCHEDULED,
    WHEEL,
    WHEEL_MASK,
    Ints,
)
from larspark.run.interval.kernels.probe import look_up, probe_width
from larspark.run.interval.kernels.profile import count_lines
from larspark.run.interval.kernels.remove import remove_from_store
from larspark.run.interval.kernels.scan import PICKS, TIME, run_program
from larspark.run.interval.kernels.select import pass_first
from larspark.run.interval.kernels.tick_tables import (
    AWAITING,
    BASE,
    BATCH,
    BATCH_LINES,
    BATCH_WIDTH,
    CHANGES,
    DEPTH,
    EMITS,
    FANNED,
    FEW,
    FIRED,
    FOLLOWERS,
    FOLLOWERS_COUNT,
    FRAME_BATCH,
    FRAME_LINES,
    FRAME_OP,
    FRAME_OP_END,
    FRAME_SIGN,
    FRAME_SIZE,
    FRAME_WIDTH,
    FRAMES,
    HEAD_FIRST,
    HEAD_LAST,
    HEAD_SIZE,
    HEADS,
    HEADS_COUNT,
    INPUT_ARITY,
    INPUT_LINES,
    INPUT_NEXT_LINE,
    INPUT_OP,
    INPUT_OP_END,
    INPUT_PAUSE,
    INPUT_ROWS,
    INPUT_SIZE,
    INPUTS,
    INPUTS_COUNT,
    JOINED,
    KEPT,
    LIMIT,
    LISTENER_OP,
    LISTENER_OP_END,
    NEEDED,
    NEXT_HEAD,
    NEXT_INPUT,
    NEXT_OUTPUT,
    NODE_HEADER,
    NODE_KIND,
    NODE_OP,
    NODE_OP_END,
    NODE_PAST,
    NODE_RECEIVES,
    NODE_SIZE,
    NODE_START,
    NODE_WIDTH,
    NODES,
    OP_FIRES,
    OP_HEAD,
    OP_NEED,
    OP_NEED_END,
    OP_NODE,
    OP_PROGRAM,
    OP_PROGRAM_SIZE,
    OP_SIGN,
    OP_SIZE,
    OP_STEP,
    OP_STEP_END,
    OPS,
    OUT,
    OUT_LINES,
    OUT_ROOM,
    OUTPUTS,
    OUTPUTS_COUNT,
    PAUSE,
    PENDING_BATCH,
    PENDING_LINES,
    PENDING_NEXT,
    PENDING_OP,
    PENDING_SIGN,
    PENDING_SIZE,
    PENDING_WIDTH,
    PHASE,
    PROBES,
    RECORDS,
    RUNNING,
    RUNS,
    SCANS,
    STEP,
    STEP_HEADER,
    STEP_KIND,
    STEP_PROGRAM,
    STEP_PROGRAM_SIZE,
    STEP_SIZE,
    STEPS_TABLE,
    STOPPED,
    STORED,
    STORES,
    TOP,
)
from larspark.run.interval.kernels.timing_wheel import chunks_needed

# What Python is asked for; the kernel returns a number of changes (0 or more) or one of these.
GO = -1  # nothing: the kernel itself goes on
NEEDS_MEMORY = -2  # NEEDED integers for what is being written
NEEDS_ROOM = -3  # the store at AWAITING, for as many rows as its batch has
NEEDS_ROOM_TO_REMOVE = -4
NEEDS_COUNTS = -5  # the profile at AWAITING
NEEDS_WHEEL = -6  # the store at AWAITING
NEEDS_STEP = -7  # step STEP of a firing has to be run over the batch
NEEDS_FALLBACK = -8  # the batch on top stands for the result of a row program


@inlined
def _allocate(state: Ints, size: int) -> int:
    """The address of room for so many integers; 0 if there is none."""
    address = state[TOP]
    state[NEEDED] = size
    if address + 8 * size > state[LIMIT]:
        return 0
    state[TOP] = address + 8 * size
    return address


@helper
def _copy_integers(source: Ints, target: Ints) -> None:
    for number in range(source.shape[0]):
        target[number] = source[number]


@helper
def _set(array: Ints, place: int, value: int) -> None:
    array[place] = value


@maker
def _begin_output(state: Ints, lines: int, width: int) -> bool:
    """Make sure that the work in progress has room to write to."""
    if state[OUT] == 0:
        address = _allocate(state, lines * width)
        if address == 0:
            return False
        state[OUT], state[OUT_LINES], state[OUT_ROOM] = address, 0, lines
    return True


@maker
def _enlarge_output(state: Ints, width: int) -> bool:
    """Give the work in progress twice the room, and a few lines more."""
    room = 2 * state[OUT_ROOM] + 8
    address = _allocate(state, room * width)
    if address == 0:
        return False
    written = state[OUT_LINES] * width
    _copy_integers(array_at(state[OUT], written), array_at(address, written))
    state[OUT], state[OUT_ROOM] = address, room
    return True


@inlined
def _release_output(state: Ints, width: int) -> None:
    """Give back the room that was not needed."""
    if state[TOP] == state[OUT] + 8 * state[OUT_ROOM] * width:
        state[TOP] = state[OUT] + 8 * state[OUT_LINES] * width


@helper
def _write_frame(
    frame: Ints, op: int, op_end: int, sign: int, batch: int, lines: int, width: int
) -> None:
    frame[FRAME_OP] = op
    frame[FRAME_OP_END] = op_end
    frame[FRAME_SIGN] = sign
    frame[FRAME_BATCH] = batch
    frame[FRAME_LINES] = lines
    frame[FRAME_WIDTH] = width


@maker
def _push(state: Ints, op: int, op_end: int, sign: int, batch: int, lines: int, width: int) -> None:
    """Let consumers receive a change before all that waits."""
    frame = array_at(state[FRAMES] + 8 * FRAME_SIZE * state[DEPTH], FRAME_SIZE)
    _write_frame(frame, op, op_end, sign, batch, lines, width)
    state[DEPTH] += 1


@maker
def _has_room_to_remove(header: Ints, lines: int) -> int:
    """Can so many rows be split, and as many row ids be scheduled? The status otherwise."""
    if header[ROWS + 1] - (header[TAIL] - header[HEAD]) < lines:
        return NEEDS_ROOM_TO_REMOVE
    has_wheel = header[CHUNKS_USED] > 0
    if has_wheel and chunks_needed(header[SCHEDULED] + lines) > header[CHUNK_TABLE + 1]:
        return NEEDS_WHEEL
    return GO


@maker
def _store_batch(state: Ints, node: Ints, batch: Ints, program: Ints, sign: int, floor: int) -> int:
    """Add the result of a row program to a store, or remove it."""
    header = array_at(node[NODE_HEADER], STORE_HEADER_SIZE)
    width = KEYS + program[PICKS]
    nothing = Emission(floor, 0, NONE, False)
    state[AWAITING] = node[NODE_HEADER]
    if node[NODE_KIND] == RUNS:
        _set(header, EXPIRED_UPTO, max(header[EXPIRED_UPTO], floor - 1))
    if state[PHASE] == 0:
        if sign < 0:
            status = _has_room_to_remove(header, batch.shape[0])
            if status != GO:
                return status
        if sign > 0 and node[EMITS] == 0:
            if add_to_store(header, batch, program, nothing, batch) < 0:
                return NEEDS_ROOM
            state[STOPPED] = header[STOPPED_AT]
            return GO
        if not _begin_output(state, batch.shape[0] + 1, width):
            return NEEDS_MEMORY
        while True:
            lines = state[OUT_LINES]
            out = table_at(state[OUT] + 8 * width * lines, state[OUT_ROOM] - lines, width)
            complete = True
            if sign > 0:
                since = floor if node[NODE_KIND] == STORED else -FOREVER
                emission = Emission(since, node[NODE_START], node[NODE_PAST], True)
                count = add_to_store(header, batch, program, emission, out)
                if count < 0:
                    if header[SHORTAGE] == STORE_FULL:
                        return NEEDS_ROOM
                    complete, count = False, ~count
            else:
                count, complete = remove_from_store(header, batch, program, floor, out)
            state[OUT_LINES] = lines + count
            if complete:
                break
            if not _enlarge_output(state, width):
                return NEEDS_MEMORY
        state[STOPPED] = header[STOPPED_AT]
        state[PHASE] = 1
    if sign > 0 and state[OUT_LINES] > 0:
        followers = table_at(node[FOLLOWERS], node[FOLLOWERS_COUNT], 3)
        pieces = table_at(state[OUT], state[OUT_LINES], width)
        while state[PHASE] <= followers.shape[0]:
            number = state[PHASE] - 1
            other = array_at(followers[number, 0], STORE_HEADER_SIZE)
            other_program = array_at(followers[number, 1], followers[number, 2])
            if add_to_store(other, pieces, other_program, nothing, pieces) < 0:
                state[AWAITING] = followers[number, 0]
                return NEEDS_ROOM
            state[PHASE] += 1
    _release_output(state, width)
    return GO


@maker
def _count_batch(state: Ints, node: Ints, batch: Ints, program: Ints, sign: int, floor: int) -> int:
    """Count the result of a row program in a profile."""
    header = array_at(node[NODE_HEADER], PROFILE_HEADER_SIZE)
    width = KEYS + node[NODE_WIDTH]
    if state[PHASE] == 0:
        lines = batch.shape[0]
        entries = header[ENTRIES + 1] - header[ENTRIES_USED] + header[FREE_ENTRY_COUNT]
        steps = header[STEPS + 1] - header[STEPS_USED] + header[FREE_STEP_COUNT]
        if entries < lines or steps < 2 * lines:
            state[AWAITING] = node[NODE_HEADER]
            return NEEDS_COUNTS
        address = _allocate(state, lines * width)
        if address == 0:
            return NEEDS_MEMORY
        counted = table_at(address, lines, width)
        active = np.empty(lines, np.int64)
        filled = run_program(batch, 0, lines, program, active, counted)
        state[BATCH], state[BATCH_LINES], state[BATCH_WIDTH] = address, filled, 0
        if filled == NONE:
            state[STOPPED] = 0
            return GO
        state[PHASE] = 1
    counted = table_at(state[BATCH], state[BATCH_LINES], width)
    if not _begin_output(state, counted.shape[0], width):
        return NEEDS_MEMORY
    while True:
        out = table_at(state[OUT], state[OUT_ROOM], width)
        done, count = count_lines(
            header, counted, state[BATCH_WIDTH], sign, floor, out, state[OUT_LINES]
        )
        # The lines that are counted already.
        state[BATCH_WIDTH] = done
        state[OUT_LINES] = count
        if done == counted.shape[0]:
            break
        if not _enlarge_output(state, width):
            return NEEDS_MEMORY
    _release_output(state, width)
    return GO


@maker
def _scan_batch(state: Ints, batch: Ints, program: Ints) -> int:
    """Write the result of a row program; STOPPED says if it had to stop."""
    width = KEYS + program[PICKS]
    if not _begin_output(state, batch.shape[0], width):
        return NEEDS_MEMORY
    out = table_at(state[OUT], batch.shape[0], width)
    active = np.empty(batch.shape[0], np.int64)
    count = run_program(batch, 0, batch.shape[0], program, active, out)
    state[STOPPED] = 0 if count == NONE else NONE
    state[OUT_LINES] = max(count, 0)
    _release_output(state, width)
    return GO


@maker
def _take(state: Ints, op: Ints, frame: Ints, floor: int) -> int:
    """Let a node take a batch by a row program, and pass on what follows."""
    node = array_at(state[NODES] + 8 * NODE_SIZE * op[OP_NODE], NODE_SIZE)
    batch = table_at(frame[FRAME_BATCH], frame[FRAME_LINES], frame[FRAME_WIDTH])
    program = array_at(op[OP_PROGRAM], op[OP_PROGRAM_SIZE])
    sign = frame[FRAME_SIGN]
    state[STOPPED] = NONE if state[PHASE] == 0 else state[STOPPED]
    if node[NODE_KIND] == STORED or node[NODE_KIND] == RUNS:
        status = _store_batch(state, node, batch, program, sign, floor)
    elif node[NODE_KIND] == FANNED:
        status = _scan_batch(state, batch, program)
    else:
        status = _count_batch(state, node, batch, program, sign, floor)
    if status != GO:
        return status
    number = frame[FRAME_OP]
    frame[FRAME_OP] = number + 1
    if state[STOPPED] != NONE:
        # The rest of the batch goes through the same row program in Python.
        stopped = state[STOPPED]
        rest = frame[FRAME_BATCH] + 8 * stopped * frame[FRAME_WIDTH]
        left = frame[FRAME_LINES] - stopped
        _push(state, node[NODE_RECEIVES], ~number, sign, rest, left, frame[FRAME_WIDTH])
    if state[OUT] != 0 and state[OUT_LINES] > 0:
        first, end = node[NODE_OP], node[NODE_OP_END]
        if sign > 0:
            first, end = node[LISTENER_OP], node[LISTENER_OP_END]
        if first < end:
            width = KEYS + program[PICKS]
            _push(state, first, end, sign, state[OUT], state[OUT_LINES], width)
    return GO


@maker
def _is_in_vain(state: Ints, op: Ints, floor: int) -> bool:
    """Is there a formula of the rule that holds nowhere from now on?"""
    needs = array_at(state[STORES], op[OP_NEED_END])
    for number in range(op[OP_NEED], op[OP_NEED_END]):
        if array_at(needs[number], STORE_HEADER_SIZE)[LAST_END] < floor:
            return True
    return False


@helper
def _write_pending(pending: Ints, state: Ints, op: Ints, sign: int) -> None:
    pending[PENDING_NEXT] = 0
    pending[PENDING_OP] = op[OP_NODE]
    pending[PENDING_SIGN] = sign * op[OP_SIGN]
    pending[PENDING_BATCH] = state[BATCH]
    pending[PENDING_LINES] = state[BATCH_LINES]
    pending[PENDING_WIDTH] = state[BATCH_WIDTH]


@maker
def _fire(state: Ints, op: Ints, frame: Ints, floor: int) -> int:
    """Run the steps of a rule over a batch; the result waits for the stage of the head."""
    if state[PHASE] == 0:
        if _is_in_vain(state, op, floor):
            frame[FRAME_OP] += 1
            return GO
        state[FIRED] += 1
        state[BATCH], state[BATCH_LINES] = frame[FRAME_BATCH], frame[FRAME_LINES]
        state[BATCH_WIDTH] = frame[FRAME_WIDTH]
        state[STEP] = op[OP_STEP]
        state[PHASE] = 1
    while state[STEP] < op[OP_STEP_END] and state[BATCH_LINES] > 0:
        step = array_at(state[STEPS_TABLE] + 8 * STEP_SIZE * state[STEP], STEP_SIZE)
        batch = table_at(state[BATCH], state[BATCH_LINES], state[BATCH_WIDTH])
        if step[STEP_KIND] == SCANS:
            program = array_at(step[STEP_PROGRAM], step[STEP_PROGRAM_SIZE])
            status = _scan_batch(state, batch, program)
            if status != GO:
                return status
            width = KEYS + program[PICKS]
            if state[STOPPED] != NONE:
                state[OUT] = 0
                return NEEDS_STEP
        elif step[STEP_KIND] == PROBES:
            how = array_at(step[STEP_PROGRAM], step[STEP_PROGRAM_SIZE])
            header = array_at(step[STEP_HEADER], STORE_HEADER_SIZE)
            width = probe_width(batch, how)
            if not _begin_output(state, batch.shape[0], width):
                return NEEDS_MEMORY
            while True:
                out = table_at(state[OUT], state[OUT_ROOM], width)
                done, count = look_up(header, batch, how, 0, out, 0)
                if done == batch.shape[0]:
                    break
                state[OUT_LINES] = 0
                if not _enlarge_output(state, width):
                    return NEEDS_MEMORY
            state[OUT_LINES] = count
            state[JOINED] += count * int(how[0] < 2)
            _release_output(state, width)
        else:
            return NEEDS_STEP
        state[BATCH], state[BATCH_LINES], state[BATCH_WIDTH] = state[OUT], state[OUT_LINES], width
        state[OUT] = 0
        state[STEP] += 1
    if state[BATCH_LINES] > 0:
        address = _allocate(state, PENDING_SIZE)
        if address == 0:
            return NEEDS_MEMORY
        _write_pending(array_at(address, PENDING_SIZE), state, op, frame[FRAME_SIGN])
        head = array_at(state[HEADS] + 8 * HEAD_SIZE * op[OP_HEAD], HEAD_SIZE)
        if head[HEAD_FIRST] == 0:
            _set(head, HEAD_FIRST, address)
        else:
            _set(array_at(head[HEAD_LAST], PENDING_SIZE), PENDING_NEXT, address)
        _set(head, HEAD_LAST, address)
    frame[FRAME_OP] += 1
    return GO


@maker
def _serve(state: Ints, floor: int) -> int:
    """Let the next consumer of the change on top receive it."""
    depth = state[DEPTH]
    frame = array_at(state[FRAMES] + 8 * FRAME_SIZE * (depth - 1), FRAME_SIZE)
    if frame[FRAME_OP_END] < 0:
        return NEEDS_FALLBACK
    if frame[FRAME_OP] == frame[FRAME_OP_END]:
        state[DEPTH] = depth - 1
        return GO
    op = array_at(state[OPS] + 8 * OP_SIZE * frame[FRAME_OP], OP_SIZE)
    fires = op[OP_FIRES] != 0
    status = _fire(state, op, frame, floor) if fires else _take(state, op, frame, floor)
    if status == GO:
        state[OUT] = 0
        state[PHASE] = 0
    return status


@maker
def _begin_input(state: Ints, line: Ints) -> int:
    """Pass the elements of a predicate on; of those that come again perhaps only one."""
    width = TIME + 1 + line[INPUT_ARITY]
    address, lines = line[INPUT_ROWS], line[INPUT_LINES]
    if lines >= FEW and line[INPUT_PAUSE] <= 0:
        size = 16
        while size < 2 * lines:
            size *= 2
        out = _allocate(state, lines * width)
        if out == 0:
            return NEEDS_MEMORY
        numbers = np.empty(lines, np.int64)
        places = np.full(size, NONE, np.int32)
        count = pass_first(
            table_at(address, lines, width), places, table_at(out, lines, width), numbers
        )
        if 8 * (lines - count) < lines:
            line[INPUT_PAUSE] = PAUSE
        address, lines = out, count
    else:
        line[INPUT_PAUSE] -= 1
    _push(state, line[INPUT_OP], line[INPUT_OP_END], 1, address, lines, width)
    return GO


@maker
def _is_idle(header: Ints, t: int) -> bool:
    """Is no row of a store scheduled for this time point, which is the next one?"""
    wheel = array_at(header[WHEEL], header[WHEEL + 1])
    return header[EXPIRED_UPTO] + 1 == t and wheel[t & WHEEL_MASK] == 0


@maker
def _emit_output(state: Ints, t: int) -> int:
    """Write what began and ended in the next output: its number, how many of each, the rows."""
    number = state[NEXT_OUTPUT]
    state[AWAITING] = array_at(state[OUTPUTS], number + 1)[number]
    header = array_at(state[AWAITING], STORE_HEADER_SIZE)
    width = header[LINK_COLUMN]
    new = header[TAIL] - header[UNSCHEDULED]
    if new == 0 and _is_idle(header, t):
        _set(header, EXPIRED_UPTO, t)
    else:
        most = 3 + 2 * width * (new + header[SCHEDULED])
        address = _allocate(state, most)
        if address == 0:
            return NEEDS_MEMORY
        if state[CHANGES] == 0:
            state[CHANGES] = address
        state[TOP] = address
        emitted, begun, ended = expire_store(header, t, True)
        if begun == NONE:
            return NEEDS_WHEEL
        if begun + ended > 0:
            size = 3 + width * (begun + ended)
            _write_changes(emitted, begun, ended, array_at(address, size), width, number)
            state[TOP] = address + 8 * size
    state[NEXT_OUTPUT] = number + 1
    return GO


@helper
def _write_changes(
    emitted: Ints, begun: int, ended: int, out: Ints, width: int, number: int
) -> None:
    out[0] = number
    out[1] = begun
    out[2] = ended
    at = 3
    for line in range(begun + ended):
        source = line if line < begun else emitted.shape[0] - begun - ended + line
        for column in range(width):
            out[at + column] = emitted[source, column]
        at += width


@maker
def _begin_work(state: Ints, t: int) -> int:
    """What comes next when no change waits: the next input, the next head, the next output."""
    if state[NEXT_INPUT] < state[INPUTS_COUNT]:
        line = array_at(state[INPUTS] + 8 * INPUT_SIZE * state[NEXT_INPUT], INPUT_SIZE)
        if line[INPUT_LINES] > 0:
            status = _begin_input(state, line)
            if status != GO:
                return status
            _set(line, INPUT_LINES, 0)
        state[NEXT_INPUT] += 1
        return GO
    if state[NEXT_HEAD] < state[HEADS_COUNT]:
        head = array_at(state[HEADS] + 8 * HEAD_SIZE * state[NEXT_HEAD], HEAD_SIZE)
        if head[HEAD_FIRST] == 0:
            state[NEXT_HEAD] += 1
            return GO
        pending = array_at(head[HEAD_FIRST], PENDING_SIZE)
        _set(head, HEAD_FIRST, pending[PENDING_NEXT])
        op = pending[PENDING_OP]
        _push(
            state,
            op,
            op + 1,
            pending[PENDING_SIGN],
            pending[PENDING_BATCH],
            pending[PENDING_LINES],
            pending[PENDING_WIDTH],
        )
        return GO
    if state[NEXT_OUTPUT] < state[OUTPUTS_COUNT]:
        return _emit_output(state, t)
    return 0 if state[CHANGES] == 0 else (state[TOP] - state[CHANGES]) // 8


@helper
def _read_records(records: Ints, size: int, inputs: Ints) -> int:
    """Count the records of every input; returns the integers that their rows take."""
    for line in range(inputs.shape[0]):
        inputs[line, INPUT_LINES] = 0
    at, needed = 0, 0
    while at < size:
        line = records[at]
        inputs[line, INPUT_LINES] += 1
        needed += TIME + 1 + inputs[line, INPUT_ARITY]
        at += 1 + inputs[line, INPUT_ARITY]
    return needed


@helper
def _write_rows(records: Ints, size: int, inputs: Ints, rows: Ints, address: int, t: int) -> None:
    """Write the records as rows of pinned atoms, input by input."""
    place = 0
    for line in range(inputs.shape[0]):
        inputs[line, INPUT_NEXT_LINE] = place
        inputs[line, INPUT_ROWS] = address + 8 * place
        place += inputs[line, INPUT_LINES] * (TIME + 1 + inputs[line, INPUT_ARITY])
    at = 0
    while at < size:
        line = records[at]
        arity = inputs[line, INPUT_ARITY]
        place = inputs[line, INPUT_NEXT_LINE]
        rows[place + FROM], rows[place + TO], rows[place + TIME] = t, FOREVER, t
        for number in range(arity):
            rows[place + TIME + 1 + number] = records[at + 1 + number]
        inputs[line, INPUT_NEXT_LINE] = place + TIME + 1 + arity
        at += 1 + arity


@maker
def _begin_tick(state: Ints, t: int, size: int) -> int:
    """Take the facts in: records of an input and codes, unless their rows are given."""
    if size > 0:
        inputs = table_at(state[INPUTS], state[INPUTS_COUNT], INPUT_SIZE)
        records = array_at(state[RECORDS], size)
        needed = _read_records(records, size, inputs)
        address = _allocate(state, needed)
        if address == 0:
            return NEEDS_MEMORY
        _write_rows(records, size, inputs, array_at(address, needed), address, t)
    state[RUNNING] = 1
    return GO


@kernel
def run_tick(state: Ints, t: int, size: int) -> int:
    """Work off a time point; returns the size of what changed in the outputs, or a status.

    `size` is that of the records. A call that goes on after a status has the same arguments.
    """
    if state[RUNNING] == 0:
        if state[KEPT] == 0:
            state[TOP] = state[BASE]
            state[DEPTH], state[OUT], state[PHASE], state[CHANGES] = 0, 0, 0, 0
            state[NEXT_INPUT], state[NEXT_HEAD], state[NEXT_OUTPUT] = 0, 0, 0
            state[KEPT] = 1
        status = _begin_tick(state, t, size)
        if status != GO:
            return status
    while True:
        status = _serve(state, t) if state[DEPTH] > 0 else _begin_work(state, t)
        if status >= 0:
            state[RUNNING], state[KEPT] = 0, 0
        if status != GO:
            return status
