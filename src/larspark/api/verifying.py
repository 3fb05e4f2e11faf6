"""Model checking (Section 4 of the LARS paper): is an interpretation an answer stream?"""

from collections.abc import Iterable, Mapping

from larspark.api.program import Program, prepare
from larspark.api.time_texts import TimeTexts
from larspark.base.atoms import Atom
from larspark.feeds import StreamOrTable, as_stream
from larspark.feeds.time_options import TimeLike
from larspark.meaning import verification
from larspark.meaning.output_stream import Oracle
from larspark.meaning.verification import Verdict, candidate
from larspark.run.prepare import ground_atoms
from larspark.run.protocol import Settings


def verify(
    program: Program | str,
    stream: StreamOrTable,
    answer: Mapping[int, Iterable[Atom | str]] | StreamOrTable,
    *,
    at: TimeLike,
    map: str | None = None,  # noqa: A002 - the same as the option `--map`
    background: Iterable[Atom | str] = (),
    start: TimeLike | None = None,
    hindsight: bool = False,
    until: TimeLike | None = None,
    timezone: str | None = None,
) -> Verdict:
    """Whether `answer` is an answer stream of the program for the stream at a time point.

    The answer has all derived atoms by time point, those that are not shown too; it may repeat
    facts of the stream. The verdict says which rule it violates, or which smaller interpretation
    satisfies the reduct.
    """
    program = Program.parse(program) if isinstance(program, str) else program
    stream = as_stream(stream, map).with_tick(program.tick)
    texts = TimeTexts(stream.options.tick, None, timezone)
    moment = texts.known(at)
    settings = Settings(texts.point(start), hindsight, texts.point(until))
    checked, atoms = prepare(program, background, settings)
    data = [*checked.elements, *((row.t, row.atom) for row in stream.elements())]
    known = data if hindsight else [element for element in data if element[0] <= moment]
    heard = (stream.first_t, stream.last_t, *(t for t, _ in data))
    times = [t for t in heard if t is not None]
    first = min(times, default=moment) if settings.start is None else settings.start
    last = max(times, default=moment)
    oracle = Oracle(checked, atoms, first, settings.until, hindsight, last)
    if program.syntax.remembered:
        for point in range(first, moment):
            oracle.step(data, point)
    given = set(known)
    added = [element for element in _elements(answer, program) if element not in given]
    timeline = (first, oracle.timeline_end(moment))
    interpretation = candidate(known, added, timeline, oracle.remembered)
    return verification.verify(checked, interpretation, atoms, moment)


def _elements(
    answer: Mapping[int, Iterable[Atom | str]] | StreamOrTable, program: Program
) -> list[tuple[int, Atom]]:
    if isinstance(answer, Mapping):
        return [(t, atom) for t, atoms in answer.items() for atom in ground_atoms(atoms)]
    stream = as_stream(answer).with_tick(program.tick)
    return [(row.t, row.atom) for row in stream.elements()]
