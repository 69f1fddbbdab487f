"""Learning in rounds: parts learn side by side from their next slices, and are merged.

The rows are written out with the number of their part and their place in it. A slice is a range of
places, so a task that is run again reads the same rows. A round is one job: every part learns from
its slice with a copy of the model that travels with the function, and the parts are joined in levels.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from .._rueful import Model, join_parts, part, part_from_bytes, take_parts
from ._rows import PART, ROW, BadRow, Columns

#: How many parts are joined at once.
FAN = 16

#: The columns of a part on its way.
STATE = "part long, state binary, skipped long"

Batches = Iterator[pa.RecordBatch]


@dataclasses.dataclass(frozen=True)
class Learned:
    """A model as the program's own file, and how many rows were skipped."""

    state: bytes
    skipped: int = 0


def _state(number: int, model: Model, skipped: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {
            "part": pa.array([number], pa.int64()),
            "state": pa.array([model.to_bytes()], pa.binary()),
            "skipped": pa.array([skipped], pa.int64()),
        }
    )


def numbered(df: DataFrame) -> DataFrame:
    """Gives every row the number of its part, which is its partition, and its place there."""

    def number(batches: Iterable[pa.RecordBatch]) -> Batches:
        from pyspark import TaskContext

        context = TaskContext.get()
        mine, place = context.partitionId() if context else 0, 0
        for batch in batches:
            rows = len(batch)
            own = pa.array(np.full(rows, mine, dtype=np.int64))
            places = pa.array(np.arange(place, place + rows, dtype=np.int64))
            place += rows
            arrays = [*batch.columns, own, places]
            yield pa.RecordBatch.from_arrays(arrays, [*batch.schema.names, PART, ROW])

    schema = StructType(
        [*df.schema.fields, *(StructField(name, LongType()) for name in (PART, ROW))]
    )
    return df.mapInArrow(number, schema)


def runs(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Cuts a batch where the part changes."""
    parts = np.asarray(batch.column(PART))
    cuts = [0, *(np.flatnonzero(np.diff(parts)) + 1).tolist(), len(parts)]
    for start, end in itertools.pairwise(cuts):
        if end > start:
            yield int(parts[start]), batch.slice(start, end - start)


def learner(
    base: bytes, columns: Columns, *, is_only: bool
) -> Callable[[Iterable[pa.RecordBatch]], Batches]:
    """Returns the function that learns from slices, which come part by part and in order."""

    def learn(batches: Iterable[pa.RecordBatch]) -> Batches:
        number, model, skipped = -1, None, 0
        for batch in batches:
            for own, rows in runs(batch):
                if own != number:
                    if model is not None:
                        yield _state(number, model, skipped)
                    model = part(Model.from_bytes(base), is_only=is_only)
                    number, skipped = own, 0
                assert model is not None
                skipped += _learn(model, rows, columns, own)
        if model is not None:
            yield _state(number, model, skipped)

    return learn


def _learn(model: Model, rows: pa.RecordBatch, columns: Columns, number: int) -> int:
    """Learns from rows of a part, and returns how many of them were skipped."""
    try:
        rows, skipped = columns.usable(rows)
        if len(rows):
            model.learn(columns.table(rows), columns.labels(rows), columns.weights(rows))
    except BadRow as bad:
        place = rows.column(ROW)[bad.row].as_py()
        raise ValueError(f"partition {number}, row {place}, {bad.what}") from bad
    except ValueError as why:
        place = rows.column(ROW)[0].as_py()
        raise ValueError(f"partition {number}, rows from {place} on: {why}") from why
    return skipped


def joiner(base: bytes) -> Callable[[pa.Table], pa.Table]:
    """Returns the function that joins the parts of a group to one part, in their order."""

    def join(states: pa.Table) -> pa.Table:
        states = states.sort_by("part")
        parts = [part_from_bytes(state) for state in states.column("state").to_pylist()]
        joined = join_parts(Model.from_bytes(base), parts)
        skipped = sum(states.column("skipped").to_pylist())
        group = states.column("part")[0].as_py() // FAN
        return pa.Table.from_batches([_state(group, joined, skipped)])

    return join


def slices(longest: int, first: int) -> list[tuple[int, int]]:
    """Returns the ranges of places of each round after the first. They double."""
    found, start, length = [], 0, first
    while start < longest:
        found.append((start, start + length))
        start, length = start + length, 2 * length
    return found


def by_part(rows: DataFrame, parts: int) -> DataFrame:
    """Brings the rows of every part to a task, in their order."""
    if parts == 1:
        return rows.coalesce(1).sortWithinPartitions(PART, ROW)
    if hasattr(rows, "repartitionById"):
        gathered = rows.repartitionById(parts, F.col(PART).cast("int"))
    else:
        gathered = rows.repartition(parts, PART)
    return gathered.sortWithinPartitions(PART, ROW)


def play(
    base: Learned, rows: DataFrame, parts: int, columns: Columns, *, is_only: bool = False
) -> Learned:
    """Plays one round: the parts of these rows learn, and the model takes them in."""
    learn = learner(base.state, columns, is_only=is_only)
    states = by_part(rows, parts).mapInArrow(learn, STATE)
    left = parts
    while left > FAN and not is_only:
        group = F.floor(F.col("part") / FAN)
        states = states.groupBy(group.alias("group")).applyInArrow(joiner(base.state), STATE)
        left = -(-left // FAN)
    found = sorted(states.collect(), key=lambda row: row["part"])
    model = Model.from_bytes(base.state)
    take_parts(model, [part_from_bytes(bytes(row["state"])) for row in found])
    return Learned(model.to_bytes(), base.skipped + sum(row["skipped"] for row in found))


def learned(base: Learned, rows: DataFrame, columns: Columns, first: int) -> Learned:
    """Learns from all numbered rows, in rounds.

    A model that knows nothing yet begins with a slice of one part alone. The first slice of all
    parts is as long as what such a part has seen, if that is more than `first`.
    """
    counts = {row[PART]: row["count"] for row in rows.groupBy(PART).count().collect()}
    if not counts:
        return base
    if len(counts) == 1:
        return play(base, rows, 1, columns, is_only=True)
    parts, seen = max(counts) + 1, Model.from_bytes(base.state).examples()
    is_head = F.lit(False)
    if seen == 0:
        is_head = (F.col(PART) == min(counts)) & (F.col(ROW) < first)
        base = play(base, rows.where(is_head), 1, columns, is_only=True)
    for start, end in slices(max(counts.values()), max(first, seen // len(counts))):
        here = (F.col(ROW) >= start) & (F.col(ROW) < end) & ~is_head
        base = play(base, rows.where(here), parts, columns)
    return base
