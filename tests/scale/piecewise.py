"""A run as Spark does it, without Spark: survey, pack, work on every piece, join."""

from collections import defaultdict
from collections.abc import Sequence
from random import Random

import pyarrow as pa
import pyarrow.compute as pc

from larspark.base.atoms import Atom, Element, atom_text
from larspark.base.facts import Row, RowBatch
from larspark.language import tree
from larspark.run.protocol import Settings
from larspark.run.replay import intervals, replay
from larspark.run.session import Session
from larspark.scale import staged_batch
from larspark.scale.grid import RequestedCuts
from larspark.scale.job import Job, Prepared, load, prepare
from larspark.scale.piece_step import answer_piece
from larspark.scale.shuffle_payloads import FACTS_SCHEMA, merge_partition, pack_partition
from larspark.scale.survey import combine_surveys, survey_partition
from larspark.scale.table_facts import Shape, atom_shape

Interval = tuple[str, int, int]
Partitions = Sequence[Sequence[pa.RecordBatch]]


def job_for(
    prepared: Prepared, sources: Sequence[tuple[Shape, Partitions]], to: int | None
) -> Job | None:
    rows = [
        row
        for shape, partitions in sources
        for batches in partitions
        for batch in survey_partition(batches, shape, prepared.tick, prepared.first_key)
        for row in batch.to_pylist()
    ]
    return prepared.job(combine_surveys(rows), to, parallelism=2)


def answer_pieces(job: Job, sources: Sequence[tuple[Shape, Partitions]]) -> list[Interval]:
    """The answers of all pieces, joined over slices."""
    empty = {"place": None, "predicate": None, "payload": None}
    markers = pa.Table.from_pylist(
        [{"piece": n, **empty} for n in range(job.grid.pieces)], FACTS_SCHEMA
    )
    packed = [
        batch
        for shape, partitions in sources
        for batches in partitions
        for batch in pack_partition(batches, shape, job.text())
    ]
    table = pa.concat_tables([markers, pa.Table.from_batches(packed, FACTS_SCHEMA)])
    found: list[Interval] = []
    for piece in range(job.grid.pieces):
        mask = pa.array([number == piece for number in table["piece"].to_pylist()])
        rows = answer_piece(table.filter(mask), load(job.text())).to_pylist()
        found += [
            (row["atom"], row["from"], row["to"])
            for row in rows
            if row["atom"] is not None and row["from"] <= row["to"]
        ]
    return joined(found)


def answers_in_stages(
    jobs: Sequence[Job], sources: Sequence[tuple[Shape, Partitions]], buckets: int = 3
) -> list[Interval]:
    """The answers of all stages, one after the other, each piece by piece."""
    sent = staged_batch.SCHEMA.empty_table()
    for job in jobs:
        empty = {"place": None, "predicate": None, "payload": None}
        markers = [{"stage": job.stage, "target": n, **empty} for n in range(job.grid.pieces)]
        facts = [
            {"stage": job.stage, "target": row.pop("piece"), **row}
            for shape, partitions in sources
            for batches in partitions
            for batch in pack_partition(batches, shape, job.text())
            for row in batch.to_pylist()
        ]
        rows = pa.Table.from_pylist([*markers, *facts], staged_batch.SCHEMA)
        incoming = pa.concat_tables([rows, sent])
        couriers = [
            target if stage == job.stage else job.grid.pieces + target % 2
            for stage, target in zip(
                incoming["stage"].to_pylist(), incoming["target"].to_pylist(), strict=True
            )
        ]
        addressed = incoming.append_column("piece", pa.array(couriers, pa.int32()))
        sent = pa.concat_tables(
            staged_batch.stage_step(
                addressed.filter(pc.equal(addressed["piece"], piece)),
                load(job.text()),
                buckets,
                None,
            )
            for piece in sorted(set(couriers))
        )
    found: list[Interval] = []
    for number in range(buckets):
        mine = sent.filter(pc.equal(sent["target"], number))
        columns = [mine["target"], pc.equal(mine["place"], 1), mine["payload"]]
        bucket = pa.table(columns, names=["bucket", "complete", "payload"])
        for batch in merge_partition(bucket.to_batches()):
            found += [(row["atom"], row["from"], row["to"]) for row in batch.to_pylist()]
    return sorted(found)


def model_rows(job: Job, shape: Shape, partitions: Partitions) -> list[tuple[int, int, str]]:
    """Times, numbers and atoms of all answer streams."""
    packed = [
        batch for batches in partitions for batch in pack_partition(batches, shape, job.text())
    ]
    table = pa.Table.from_batches(packed, FACTS_SCHEMA)
    found: list[tuple[int, int, str]] = []
    for piece in range(job.grid.pieces):
        mask = pa.array([number == piece for number in table["piece"].to_pylist()])
        rows = answer_piece(table.filter(mask), load(job.text())).to_pylist()
        found += [(row["t"], row["model"], row["atom"]) for row in rows]
    return found


def joined(found: Sequence[Interval]) -> list[Interval]:
    by_atom: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for atom, start, end in found:
        by_atom[atom].append((start, end))
    result = []
    for atom, spans in by_atom.items():
        merged: list[tuple[int, int]] = []
        for start, end in sorted(spans):
            if merged and merged[-1][1] + 1 == start:
                merged[-1] = (merged[-1][0], end)
            else:
                # Two answers for one time point would be one shard too many.
                assert not merged or merged[-1][1] < start, (atom, spans)
                merged.append((start, end))
        result += [(atom, start, end) for start, end in merged]
    return sorted(result)


def text_partitions(
    elements: Sequence[Element], random: Random, ordered: bool
) -> tuple[Shape, Partitions]:
    """Elements as rows with the text of their atoms, in any order, spread over partitions."""
    numbered = list(enumerate(elements))
    random.shuffle(numbered)
    shape = atom_shape(0, "t", "atom", "n" if ordered else None)
    schema = pa.schema([("t", pa.int64()), ("atom", pa.string()), ("n", pa.int64())])
    partitions: list[list[pa.RecordBatch]] = [[] for _ in range(random.randint(1, 3))]
    while numbered:
        size = random.randint(1, len(numbered))
        rows = [{"t": e.t, "atom": atom_text(e.atom), "n": n} for n, e in numbered[:size]]
        numbered = numbered[size:]
        random.choice(partitions).append(pa.RecordBatch.from_pylist(rows, schema))
    return shape, partitions


def arrivals(elements: Sequence[Element], ordered: bool) -> list[Element]:
    """The elements as they arrive: in the order that is given, or by their text."""
    if ordered:
        return sorted(elements, key=lambda element: element.t)
    return sorted(elements, key=lambda element: (element.t, atom_text(element.atom)))


def local_answers(
    prepared: Prepared, elements: Sequence[Element], to: int | None
) -> list[Interval]:
    """The answers of one local engine."""
    session = Session(
        prepared.checked, prepared.background, prepared.engine.name, prepared.settings
    )
    rows = [Row(t, atom, n) for n, (t, atom) in enumerate(elements)]
    batches = [RowBatch(rows)] if rows else []
    pieces = replay(session, batches, to=to, hindsight=prepared.settings.hindsight)
    return sorted((str(atom), start, end) for atom, start, end in intervals(pieces))


def prepared_for(
    program: tree.Program | str,
    background: Sequence[Atom | str] | frozenset[Atom],
    settings: Settings,
    requested: RequestedCuts,
    engine: str = "auto",
) -> Prepared:
    return prepare(program, background, engine, settings, requested)
