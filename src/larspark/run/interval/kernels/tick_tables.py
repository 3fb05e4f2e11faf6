"""The tables that describe a network to the kernel of a time point, and its state.

`tick_driver` writes them. Addresses are those of headers, row programs and batches.
"""

# The state. Where the memory of a time point begins, its first free integer and its end, and how
# many integers were asked for last.
BASE, TOP, LIMIT, NEEDED = 0, 1, 2, 3
# Changes on their way: how many, and the table of them with its room.
DEPTH, FRAMES, FRAMES_ROOM = 4, 5, 6
# The tables below.
OPS, NODES, STEPS_TABLE, STORES = 7, 8, 9, 10
INPUTS, INPUTS_COUNT, HEADS, HEADS_COUNT, OUTPUTS, OUTPUTS_COUNT = 11, 12, 13, 14, 15, 16
# What comes next.
NEXT_INPUT, NEXT_HEAD, NEXT_OUTPUT = 17, 18, 19
# Records of facts: the number of the input, then the codes of the arguments.
RECORDS = 20
# The work in progress: its phase, where it writes, how many lines it wrote and may write.
PHASE, OUT, OUT_LINES, OUT_ROOM = 21, 22, 23, 24
# A firing in progress: the step that comes next, and its batch.
STEP, BATCH, BATCH_LINES, BATCH_WIDTH = 25, 26, 27, 28
# The batch line at which a row program had to stop, or NONE; what Python has to enlarge.
STOPPED, AWAITING = 29, 30
# Where the changes of outputs are written.
CHANGES = 31
# Counters for statistics.
FIRED, JOINED = 32, 33
# Has the time point begun, and are its facts in?
KEPT, RUNNING = 34, 35
STATE_SIZE = 36

# A change on its way: the consumer that comes next and the end of their list, the sign, the batch.
# If the end is the complement of an operation, the batch has to go through its row program first.
FRAME_OP, FRAME_OP_END, FRAME_SIGN, FRAME_BATCH, FRAME_LINES, FRAME_WIDTH, FRAME_SIZE = range(7)

# An operation is a consumer of a list of them. It lets a node take a batch by a row program, or
# fires a rule: the stores that must not be over, the steps, the sign, the head; its node is then
# the operation by which the head takes the result.
OP_FIRES, OP_NODE, OP_PROGRAM, OP_PROGRAM_SIZE = 0, 1, 2, 3
OP_NEED, OP_NEED_END, OP_STEP, OP_STEP_END, OP_SIGN, OP_HEAD, OP_SIZE = 4, 5, 6, 7, 8, 9, 10

# A node: a store that passes on what is new or gone; one that passes on runs of a length; a profile
# that passes on changes; or none of these, which passes everything on.
STORED, RUNS, COUNTED, FANNED = 0, 1, 2, 3
NODE_KIND, NODE_HEADER, NODE_WIDTH, EMITS, NODE_START, NODE_PAST = 0, 1, 2, 3, 4, 5
# All its consumers; those that receive what is new; the followers of the store; the operation by
# which it takes batches as they are.
NODE_OP, NODE_OP_END, LISTENER_OP, LISTENER_OP_END = 6, 7, 8, 9
FOLLOWERS, FOLLOWERS_COUNT, NODE_RECEIVES, NODE_SIZE = 10, 11, 12, 13

# A step of a firing.
SCANS, PROBES, PYTHON = 0, 1, 2
STEP_KIND, STEP_PROGRAM, STEP_PROGRAM_SIZE, STEP_HEADER, STEP_SIZE = 0, 1, 2, 3, 4

# A predicate of the stream: its consumers, the rows of its elements, and for how many time points
# repeated elements are not looked for.
INPUT_OP, INPUT_OP_END, INPUT_ARITY, INPUT_ROWS, INPUT_LINES = 0, 1, 2, 3, 4
INPUT_NEXT_LINE, INPUT_PAUSE, INPUT_SIZE = 5, 6, 7
# In fewer elements repetitions are not looked for; and where there were few of them in a batch, not
# in so many batches after it.
FEW, PAUSE = 32, 15

# A head: its first and last pending change, which the next table describes.
HEAD_FIRST, HEAD_LAST, HEAD_SIZE = 0, 1, 2
PENDING_NEXT, PENDING_OP, PENDING_SIGN, PENDING_BATCH = 0, 1, 2, 3
PENDING_LINES, PENDING_WIDTH, PENDING_SIZE = 4, 5, 6
