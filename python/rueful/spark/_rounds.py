"""Learning in rounds: parts learn side by side from their next slices, and are merged.

A part is a partition, and a slice is a range of places in it, so a task that is run again reads the
same rows. Files are read where they lie. All other rows are written out first, with the number of their
part and their place in it. A round is one job: every part learns from its slice with a copy of the model
that travels with the function, and the parts are joined in levels.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

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

Batches: TypeAlias = Iterator[pa.RecordBatch]

#: A function that learns from slices.
Learner: TypeAlias = Callable[[Iterable[pa.RecordBatch]], Batches]


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


def _with_places(batches: Iterable[pa.RecordBatch]) -> Batches:
    """Gives every row of a partition the number of its part and its place there."""
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


def numbered(df: DataFrame) -> DataFrame:
    """Gives every row the number of its part, which is its partition, and its place there."""
    schema = StructType(
        [*df.schema.fields, *(StructField(name, LongType()) for name in (PART, ROW))]
    )
    return df.mapInArrow(_with_places, schema)


@dataclasses.dataclass(frozen=True)
class Slice:
    """The rows of a round: a range of places in all parts, in one, or in all but one."""

    start: int
    end: int
    only: int | None = None
    but: int | None = None

    def of(self, batches: Batches, many: int) -> Batches:
        """Yields the rows of the slice. If more than `many` rows follow, they are not read.

        A worker that does not read all rows is not used again by Spark, so a few rows are read to
        their end.
        """
        left = many
        for batch in batches:
            part, place = batch.column(PART)[0].as_py(), batch.column(ROW)[0].as_py()
            is_wanted = part != self.but and self.only in (None, part)
            end = self.end if is_wanted else 0
            start = min(max(self.start - place, 0), len(batch))
            rows = batch.slice(start, max(min(end - place, len(batch)) - start, 0))
            if len(rows):
                yield rows
            left -= max(place + len(batch) - max(end, place), 0)
            if left < 0:
                return


@dataclasses.dataclass(frozen=True)
class Written:
    """Rows that were written out with the numbers of their parts and places."""

    rows: DataFrame

    def counts(self) -> dict[int, int]:
        """Returns how many rows each part has."""
        return {row[PART]: row["count"] for row in self.rows.groupBy(PART).count().collect()}

    def states(self, cut: Slice, learn: Learner, parts: int) -> DataFrame:
        """Lets every part learn from its slice."""
        rows = self.rows.where((F.col(ROW) >= cut.start) & (F.col(ROW) < cut.end))
        rows = rows if cut.but is None else rows.where(F.col(PART) != cut.but)
        rows = rows if cut.only is None else rows.where(F.col(PART) == cut.only)
        return by_part(rows, 1 if cut.only is not None else parts).mapInArrow(learn, STATE)


#: How many rows are read to their end after a slice.
MANY = 100_000


@dataclasses.dataclass(frozen=True)
class InPlace:
    """Rows of files, which are read where they lie."""

    df: DataFrame

    def counts(self) -> dict[int, int]:
        """Returns how many rows each part has."""
        numbers = self.df.select(F.spark_partition_id().cast("long").alias(PART))
        return Written(numbers).counts()

    def states(self, cut: Slice, learn: Learner, parts: int) -> DataFrame:
        """Lets every part learn from its slice."""
        many = MANY

        def run(batches: Iterable[pa.RecordBatch]) -> Batches:
            filled = (batch for batch in batches if len(batch))
            yield from learn(cut.of(_with_places(filled), many))

        return self.df.mapInArrow(run, STATE)


#: The steps of a plan that give the same rows in the same order whenever they are run again.
_STEADY = {"FileSourceScanExec", "ProjectExec", "FilterExec", "UnionExec", "ColumnarToRowExec"}


def is_in_place(df: DataFrame) -> bool:
    """Tells whether rows come from files alone, in partitions that are the same in every job."""
    execution: Any = df._jdf.queryExecution()
    plans, is_steady = [execution.sparkPlan()], bool(execution.analyzed().deterministic())
    while plans and is_steady:
        plan = plans.pop()
        is_steady = plan.getClass().getSimpleName() in _STEADY
        children = plan.children()
        plans += [children.apply(place) for place in range(children.size())]
    return is_steady


def runs(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Cuts a batch where the part changes."""
    parts = np.asarray(batch.column(PART))
    cuts = [0, *(np.flatnonzero(np.diff(parts)) + 1).tolist(), len(parts)]
    for start, end in itertools.pairwise(cuts):
        if end > start:
            yield int(parts[start]), batch.slice(start, end - start)


def learner(base: bytes, columns: Columns, *, is_only: bool) -> Learner:
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
    base: Learned,
    rows: Written | InPlace,
    cut: Slice,
    parts: int,
    columns: Columns,
    *,
    is_only: bool = False,
) -> Learned:
    """Plays one round: the parts learn from their slices, and the model takes them in."""
    states = rows.states(cut, learner(base.state, columns, is_only=is_only), parts)
    left = parts
    while left > FAN and not is_only:
        group = F.floor(F.col("part") / FAN)
        states = states.groupBy(group.alias("group")).applyInArrow(joiner(base.state), STATE)
        left = -(-left // FAN)
    found = sorted(states.collect(), key=lambda row: row["part"])
    model = Model.from_bytes(base.state)
    take_parts(model, [part_from_bytes(bytes(row["state"])) for row in found])
    return Learned(model.to_bytes(), base.skipped + sum(row["skipped"] for row in found))


def learned(base: Learned, rows: Written | InPlace, columns: Columns, first: int) -> Learned:
    """Learns from all rows, in rounds.

    A model that knows nothing yet begins with a slice of one part alone. The first slice of all
    parts is as long as what such a part has seen, if that is more than `first`.
    """
    counts = rows.counts()
    if not counts:
        return base
    parts, longest, head = max(counts) + 1, max(counts.values()), min(counts)
    if len(counts) == 1:
        return play(base, rows, Slice(0, longest, only=head), parts, columns, is_only=True)
    seen = Model.from_bytes(base.state).examples()
    if seen == 0:
        base = play(base, rows, Slice(0, first, only=head), parts, columns, is_only=True)
    for start, end in slices(longest, max(first, seen // len(counts))):
        # The head has learned from its first slice already.
        but = head if seen == 0 and start == 0 else None
        base = play(base, rows, Slice(start, end, but=but), parts, columns)
    return base
