"""Learning in rounds: parts learn side by side from their next slices, and are merged.

A part is a partition, and a slice is a range of places in it, so a task that is run again reads the
same rows. Files are read where they lie. All other rows are written out first, with the number of their
part and their place in it. A round is one job: every part learns from its slice with a copy of the model
that was sent to its machine, and the parts are joined in levels.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import pickle
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import ArrayType, LongType, NumericType, StructField, StructType

from .. import _data
from .._rueful import Model, announce, join_parts, part, part_from_bytes, take_parts
from ._names import Batches, mapped, named
from ._rows import PART, ROW, BadRow, Columns, partition
from ._vectors import gathering

#: How many parts are joined at once, and the most bytes of their models, if these are not so large that
#: two have more. By default Spark refuses a driver more than 1 GB of results, and Arrow a group 2 GB.
FAN, BUDGET = 16, 1 << 28

#: The columns of a part on its way.
STATE = "part long, state binary, rows long, skipped long"

#: Rows that lie side by side in a part: its number, and the place of the first of them there.
Stretch: TypeAlias = tuple[int, int, pa.RecordBatch]

#: A function that learns from slices, which come part by part and in order.
Learner: TypeAlias = Callable[[Iterable[Stretch]], Batches]


@dataclasses.dataclass(frozen=True)
class Learned:
    """A model as the program's own file, and how many rows were skipped."""

    state: bytes
    skipped: int = 0


def _state(number: int, model: Model, rows: int, skipped: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {
            "part": pa.array([number], pa.int64()),
            "state": pa.array([model.to_bytes()], pa.binary()),
            "rows": pa.array([rows], pa.int64()),
            "skipped": pa.array([skipped], pa.int64()),
        }
    )


def _with_places(batches: Iterable[pa.RecordBatch]) -> Batches:
    """Gives every row of a partition the number of its part and its place there."""
    mine, place = partition(), 0
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
    return mapped(df, _with_places, schema)


@dataclasses.dataclass(frozen=True)
class Slice:
    """The rows of a round: a range of places in all parts, or in one.

    `done` is a part and how many of its rows were gone through before. They are left out, and so are
    all parts before it.
    """

    start: int
    end: int
    only: int | None = None
    done: tuple[int, int] | None = None

    def holds(self, part: Column, row: Column) -> Column:
        """Tells which rows are those of the slice, by the number of their part and their place."""
        found = (row >= self.start) & (row < self.end)
        if self.only is not None:
            found &= part == self.only
        if self.done is not None:
            own, count = self.done
            found &= (part > own) | ((part == own) & (row >= count))
        return found

    def begins(self, part: int) -> int:
        """Returns the place of the first row in a part."""
        own, count = self.done or (-1, 0)
        return max(self.start, count) if part == own else self.start

    def rows(self, counts: dict[int, int]) -> int:
        """Returns how many rows of parts with these counts are those of the slice."""
        own, _ = self.done or (-1, 0)
        return sum(
            max(0, min(self.end, count) - self.begins(part))
            for part, count in counts.items()
            if part >= own and self.only in (None, part)
        )


#: The most labels that are found.
MOST_LABELS = 100_000


@dataclasses.dataclass(frozen=True)
class Survey:
    """How many rows each part has, and the labels, if they were looked for."""

    counts: dict[int, int]
    labels: list[Any] | None = None

    @staticmethod
    def of(rows: DataFrame, label: str | None) -> Survey:
        """Counts rows, which have the number of their part or are read where they lie.

        Every partition is looked at by one task, without a shuffle.
        """
        kind = LongType() if label is None else rows.schema[label].dataType
        fields = [StructField("part", LongType()), StructField("rows", LongType())]
        schema = StructType([*fields, StructField("labels", ArrayType(kind))])
        counts: dict[int, int] = {}
        labels: set[Any] = set()
        found = mapped(rows, surveyor(label, to_arrow_type(kind)), schema)
        # A word may have any length, and of numbers there are two in a row at most.
        with unmeasured(rows.sparkSession, 2 if isinstance(kind, NumericType) else 0):
            looked = found.collect()
        for row in looked:
            counts[row["part"]] = counts.get(row["part"], 0) + row["rows"]
            labels.update(row["labels"])
            if len(labels) > MOST_LABELS:
                raise ValueError(
                    f"column {label}: found too many labels for classes; "
                    "OnlineRegressor learns to predict numbers"
                )
        return Survey(counts, None if label is None else list(labels))


def surveyor(
    label: str | None, kind: pa.DataType
) -> Callable[[Iterable[pa.RecordBatch]], Batches]:
    """Returns the function that counts the rows of a partition by their parts, and finds the labels."""

    def look(batches: Iterable[pa.RecordBatch]) -> Batches:
        mine = partition()
        counts: dict[int, int] = {}
        labels: set[Any] = set()
        for batch in batches:
            if PART in batch.schema.names:
                found = pc.value_counts(batch.column(PART)).to_pylist()
            else:
                found = [{"values": mine, "counts": len(batch)}]
            for one in found:
                counts[one["values"]] = counts.get(one["values"], 0) + one["counts"]
            if label is not None and len(labels) <= MOST_LABELS:
                known = pc.unique(batch.column(label)).to_pylist()
                # A row without a label is refused where it is met, with its place.
                labels.update(one for one in known if one is not None and one == one)
        for own, rows in counts.items():
            looked = {
                "part": pa.array([own], pa.int64()),
                "rows": pa.array([rows], pa.int64()),
                "labels": pa.array([list(labels)], pa.list_(kind)),
            }
            yield pa.RecordBatch.from_pydict(looked)
            # Once is enough: they are those of the whole partition.
            labels.clear()

    return look


@dataclasses.dataclass(frozen=True)
class Written:
    """Rows that were written out with the numbers of their parts and places."""

    rows: DataFrame

    @property
    def spark(self) -> SparkSession:
        """The session."""
        return self.rows.sparkSession

    def survey(self, label: str | None) -> Survey:
        """Counts the rows of each part, and finds the labels, if there is a column of classes."""
        return Survey.of(self.rows, label)

    def states(self, cut: Slice, learn: Learner, parts: int) -> DataFrame:
        """Lets every part learn from its slice."""
        rows = self.rows.where(cut.holds(F.col(PART), F.col(ROW)))
        rows = by_part(rows, 1 if cut.only is not None else parts)

        def run(batches: Iterable[pa.RecordBatch]) -> Batches:
            return learn(_stretches(batches))

        return mapped(rows, gathering(run), STATE)


def _stretches(batches: Iterable[pa.RecordBatch]) -> Iterator[Stretch]:
    """Cuts batches where the part changes, and takes the numbers of the rows away."""
    for batch in batches:
        parts, places = (np.asarray(batch.column(name)) for name in (PART, ROW))
        rows = batch.select([name for name in batch.schema.names if name not in (PART, ROW)])
        cuts = [0, *(np.flatnonzero(np.diff(parts)) + 1).tolist(), len(parts)]
        for start, end in itertools.pairwise(cuts):
            if end > start:
                yield int(parts[start]), int(places[start]), rows.slice(start, end - start)


#: The most rows at which Spark can be told to stop.
_MOST_TAKEN = (1 << 31) - 1

#: The column of the numbers that Spark gives to rows, and where the number of a partition begins in them.
_PLACE, _PARTITION = "__rueful_place", 33


@dataclasses.dataclass(frozen=True)
class InPlace:
    """Rows of files, which are read where they lie."""

    df: DataFrame

    @property
    def spark(self) -> SparkSession:
        """The session."""
        return self.df.sparkSession

    def survey(self, label: str | None) -> Survey:
        """Counts the rows of each part, and finds the labels, if there is a column of classes."""
        return Survey.of(self.df.select(F.lit(True) if label is None else named(label)), label)

    @functools.cached_property
    def _placed(self) -> DataFrame:
        """The rows with the number of their part and their place there, as one number."""
        return self.df.withColumn(_PLACE, F.monotonically_increasing_id())

    def numbered(self) -> DataFrame:
        """Gives every row the number of its part and its place there."""
        part, row = _part_and_row(F.col(_PLACE))
        own = map(named, self.df.columns)
        return self._placed.select(*own, part.alias(PART), row.alias(ROW))

    def states(self, cut: Slice, learn: Learner, parts: int) -> DataFrame:
        """Lets every part learn from its slice.

        Java reads all rows, and hands over those, without their numbers: the rows of a part lie side
        by side from the beginning of the slice on. The slice of one part is read by one task, which
        stops at its end.
        """
        rows = self._placed.where(cut.holds(*_part_and_row(F.col(_PLACE)))).drop(_PLACE)
        length = cut.end - cut.start
        if cut.only is not None and length <= _MOST_TAKEN:
            rows = rows.coalesce(1).limit(length)

        def stretches(batches: Iterable[pa.RecordBatch]) -> Iterator[Stretch]:
            own = partition() if cut.only is None else cut.only
            place = cut.begins(own)
            for batch in batches:
                yield own, place, batch
                place += len(batch)

        def run(batches: Iterable[pa.RecordBatch]) -> Batches:
            return learn(stretches(batches))

        return mapped(rows, gathering(run), STATE)


def _part_and_row(place: Column) -> tuple[Column, Column]:
    """Returns the number of a part, and the place there, from the number of a row in Spark."""
    row = place.bitwiseAND(F.lit((1 << _PARTITION) - 1))
    return F.shiftright(place, _PARTITION), row


#: The step of a plan that reads files.
_SCAN = "FileSourceScanExec"

#: The steps of a plan that give the same rows in the same order whenever they are run again.
_STEADY = {_SCAN, "ProjectExec", "FilterExec", "UnionExec", "ColumnarToRowExec"}


def in_parts(df: DataFrame, parts: int) -> DataFrame:
    """Returns rows in so many partitions, each of which has its rows in the order of the data.

    Rows that come in the same partitions in the same order are in the same parts again. A shuffle
    alone would bring them in the order in which they happen to arrive.
    """
    numbered = df.withColumn(_PLACE, F.monotonically_increasing_id())
    spread = numbered.coalesce(1) if parts == 1 else numbered.repartition(parts, _PLACE)
    return spread.sortWithinPartitions(_PLACE).drop(_PLACE)


def is_in_place(df: DataFrame) -> bool:
    """Tells whether rows come from files alone, in partitions that are the same in every job.

    Tables in buckets are not such: what is done with their rows decides how Spark reads them.
    """
    execution: Any = df._jdf.queryExecution()
    inside: Any = df.sparkSession
    # Spark calls the time deterministic, because it stands still within a job.
    moving = inside._jvm.org.apache.spark.sql.catalyst.trees.TreePattern.CURRENT_LIKE()
    analyzed = execution.analyzed()
    is_steady = bool(analyzed.deterministic()) and not analyzed.containsPattern(moving)
    plans = [execution.sparkPlan()]
    while plans and is_steady:
        plan = plans.pop()
        name, children = plan.getClass().getSimpleName(), plan.children()
        is_steady = name in _STEADY and not (name == _SCAN and plan.bucketedScan())
        plans += [children.apply(place) for place in range(children.size())]
    return is_steady


def partitions(df: DataFrame) -> int:
    """Returns how many partitions rows come in, and does no work of theirs.

    Where a shuffle decides it when it runs, it is the most that are planned.
    """
    spark, execution = df.sparkSession, df._jdf.queryExecution()
    plan: Any = execution.executedPlan()
    if plan.getClass().getSimpleName() != "AdaptiveSparkPlanExec":
        return int(execution.toRdd().getNumPartitions())
    planned = int(plan.initialPlan().outputPartitioning().numPartitions())
    return planned or int(spark.conf.get("spark.sql.shuffle.partitions"))


#: The settings of how many partitions files are cut into. Without them Spark counts its cores.
_LEAST, _LEAVES = "spark.sql.files.minPartitionNum", "spark.sql.leafNodeDefaultParallelism"

#: How many fits of each session want its files to be cut as they are.
_held: dict[str, int] = {}
_holding = threading.Lock()


@contextlib.contextmanager
def held(spark: SparkSession) -> Iterator[None]:
    """Lets files be cut into the same partitions in every job, while machines come and go.

    Fits of a session that overlap share the setting of the first one.
    """
    inside: Any = spark
    session = str(inside._jsparkSession.sessionUUID())
    with _holding:
        if session not in _held and spark.conf.get(_LEAST, None) is None:
            cores = spark.conf.get(_LEAVES, None) or str(spark.sparkContext.defaultParallelism)
            spark.conf.set(_LEAST, cores)
            _held[session] = 0
        is_ours = session in _held
        if is_ours:
            _held[session] += 1
    try:
        yield
    finally:
        with _holding:
            if is_ours:
                _held[session] -= 1
            if is_ours and not _held[session]:
                del _held[session]
                spark.conf.unset(_LEAST)


#: The settings of how many rows and how many bytes a batch may have on its way to Python.
_ROWS, _BYTES = "spark.sql.execution.arrow.maxRecordsPerBatch", "spark.sql.execution.arrow.maxBytesPerBatch"

#: The bytes that a batch may have unless somebody sets another number, and the number that is no limit.
_USUAL, _ANY = 1 << 26, str((1 << 31) - 1)

#: The bytes of a feature: its number, and a double.
_FEATURE = 12


@contextlib.contextmanager
def unmeasured(spark: SparkSession, width: int) -> Iterator[None]:
    """Lets Java fill batches with rows and not measure them, in the jobs of this thread.

    Java would add up the bytes of a batch after every row, which takes nearly as long as to write it.
    Where `width` features are known, and so many for every row of a batch have less than the usual
    bytes, the number of rows is limit enough. Whatever somebody sets for the session stands.
    """
    rows = int(spark.conf.get(_ROWS) or 0)
    if not 0 < rows * width * _FEATURE <= _USUAL:
        yield
        return
    inside = spark.sparkContext
    before = inside.getLocalProperty(_BYTES)
    inside.setLocalProperty(_BYTES, _ANY)
    try:
        yield
    finally:
        inside.setLocalProperty(_BYTES, before)


@dataclasses.dataclass(frozen=True)
class Small:
    """A value that travels with the functions that need it."""

    value: Any


def is_small(spark: SparkSession, value: Any) -> bool:
    """Tells whether a function with a value is far below the size from which on Spark sends it once."""
    inside: Any = spark.sparkContext
    least = int(inside._jvm.PythonUtils.getBroadcastThreshold(inside._jsc))
    return 2 * len(pickle.dumps(value)) < least


@contextlib.contextmanager
def shared(spark: SparkSession, value: Any) -> Iterator[Any]:
    """Sends a value to every machine once, for the jobs inside.

    What is small travels with the functions. Spark sends functions above 1 MB once by itself, but then
    keeps a file of each on the driver for as long as the session lives.
    """
    if is_small(spark, value):
        yield Small(value)
        return
    sent = spark.sparkContext.broadcast(value)
    try:
        yield sent
    finally:
        sent.destroy()


def learner(base: Any, columns: Columns, *, is_only: bool) -> Learner:
    """Returns the function that learns from slices. `base` is the model that was sent to the machines."""

    def learn(stretches: Iterable[Stretch]) -> Batches:
        pupil = None
        for own, place, rows in stretches:
            if pupil is None or own != pupil.number:
                if pupil is not None:
                    yield pupil.state()
                pupil = Pupil(own, part(Model.from_bytes(base.value), is_only=is_only), columns)
            pupil.learn(place, rows)
        if pupil is not None:
            yield pupil.state()

    return learn


class Pupil:
    """A part that learns: its number, its model, and how many rows it had and skipped."""

    def __init__(self, number: int, model: Model, columns: Columns) -> None:
        self.number, self.rows, self.skipped = number, 0, 0
        self._model, self._columns = model, columns
        self._classes = columns.known(model.class_names() or []) if columns.is_of_many else None

    def learn(self, place: int, rows: pa.RecordBatch) -> None:
        """Learns from rows, the first of which has this place in the part."""
        self.rows += len(rows)
        try:
            rows, skipped = self._columns.usable(rows)
            self.skipped += skipped
            if len(rows):
                self._learn(rows)
        except BadRow as bad:
            where = f"partition {self.number}, row {place + bad.row}"
            raise ValueError(f"{where}, {bad.what}") from bad
        except ValueError as why:
            raise ValueError(f"partition {self.number}, rows from {place} on: {why}") from why

    def _learn(self, rows: pa.RecordBatch) -> None:
        columns = self._columns
        table, weights = columns.table(rows), columns.weights(rows)
        if self._classes is None:
            self._model.learn(table, columns.labels(rows), weights)
            return
        labels, new, self._classes = self._classes.numbered_places(columns.places(rows))
        self._model.learn(table, labels, weights, None, new)

    def state(self) -> pa.RecordBatch:
        """Returns the part as a row of a table."""
        return _state(self.number, self._model, self.rows, self.skipped)


def joiner(base: Any, fan: int) -> Callable[[pa.Table], pa.Table]:
    """Returns the function that joins the parts of a group to one part, in their order."""

    def join(states: pa.Table) -> pa.Table:
        states = states.sort_by("part")
        parts = [part_from_bytes(state) for state in states.column("state").to_pylist()]
        joined = join_parts(Model.from_bytes(base.value), parts)
        rows, skipped = (sum(states.column(name).to_pylist()) for name in ("rows", "skipped"))
        group = states.column("part")[0].as_py() // fan
        return pa.Table.from_batches([_state(group, joined, rows, skipped)])

    return join


#: How many rows there must be for every weight and every time that a round is longer than what the
#: model has seen.
PER_WEIGHT = 16


def slices(longest: int, parts: int, before: int, head: int, weights: int) -> list[tuple[int, int]]:
    """Returns the ranges of places of each round.

    A round shows all parts together twice as many rows as the model has seen, because parts that go
    far from a model that knows little are merged badly. Where the model has seen many rows for each
    of its weights, parts do not go far, and a round is longer. The last one is longer by up to a
    half, if it then is the last. `before` is what the model had seen of other data, and `head` what
    it has seen of one part.
    """
    found, start = [], 0
    while start < longest:
        seen = before + max(head, parts * start)
        times = max(2, seen // (PER_WEIGHT * max(1, weights)))
        length, left = max(1, times * seen // parts), longest - start
        end = longest if 2 * left <= 3 * length else start + length
        found.append((start, end))
        start = end
    return found


def beginnings(counts: dict[int, int], first: int) -> Iterator[tuple[int, int, int]]:
    """Yields parts and ranges of places there, from which one learns alone until it knows something.

    Each shows as many rows of the part as all ranges before, so that they are few.
    """
    for part, count in sorted(counts.items()):
        start, end = 0, min(first, count)
        while start < count:
            yield part, start, end
            start, end = end, min(2 * end, count)


def weights_of(model: Model) -> int:
    """Returns how many weights a model learns, as far as it has seen their features."""
    if model.class_names() is None:
        return len(model.weights()[0])
    indices, weights = model.class_weights()
    return len(indices) * max(1, len(weights) - 1)


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
    counts: dict[int, int],
    columns: Columns,
    *,
    is_only: bool = False,
) -> Learned:
    """Plays one round: the parts learn from their slices, and the model takes them in.

    A slice that has not as many rows as were counted is an error. So it is where files are gone, or
    lie in a folder that not all machines see.
    """
    parts = left = max(counts) + 1
    model = Model.from_bytes(base.state)
    width = weights_of(model)
    # So many models may come to the driver.
    most = max(1, min(FAN, BUDGET // len(base.state)))
    fan = max(2, most)
    with shared(rows.spark, base.state) as sent:
        states = rows.states(cut, learner(sent, columns, is_only=is_only), parts)
        while left > most and not is_only:
            group = F.floor(F.col("part") / fan)
            states = states.groupBy(group.alias("group")).applyInArrow(joiner(sent, fan), STATE)
            left = -(-left // fan)
        # Models are large, and Arrow brings them to Python faster than rows of Spark do.
        with unmeasured(rows.spark, width):
            found = sorted(states.toArrow().to_pylist(), key=lambda row: row["part"])
    seen, expected = sum(row["rows"] for row in found), cut.rows(counts)
    if seen != expected:
        raise ValueError(
            f"the data changed while they were learned from: found {seen} rows in a round, expected "
            f"{expected}; they must stay as they are, and all machines must see the same files"
        )
    take_parts(model, [part_from_bytes(row["state"]) for row in found])
    return Learned(model.to_bytes(), base.skipped + sum(row["skipped"] for row in found))


def announced(base: Learned, columns: Columns) -> Learned:
    """Returns a model that knows the names of all classes, for parts that all number them alike.

    New ones get their numbers in the order of the labels.
    """
    model = Model.from_bytes(base.state)
    names = model.class_names() or []
    new = [name for name in map(_data.class_name, columns.classes or ()) if name not in names]
    if not columns.is_of_many or not new:
        return base
    announce(model, new)
    return Learned(model.to_bytes(), base.skipped)


def learned(
    base: Learned,
    rows: Written | InPlace,
    counts: dict[int, int],
    columns: Columns,
    first: int,
) -> Learned:
    """Learns from all rows, in rounds.

    A model that knows nothing yet begins with `first` rows of one part alone, and with more of them if
    it cannot learn from these: all parts must begin from a model that has learned something.
    """
    if not counts:
        return base
    longest = max(counts.values())
    if len(counts) == 1:
        return play(base, rows, Slice(0, longest, only=min(counts)), counts, columns, is_only=True)
    before, done = Model.from_bytes(base.state).examples(), None
    for own, start, end in beginnings(counts, first) if before == 0 else ():
        cut, done = Slice(start, end, only=own), (own, end)
        base = play(base, rows, cut, counts, columns, is_only=True)
        if Model.from_bytes(base.state).examples():
            break
    base = announced(base, columns)
    model = Model.from_bytes(base.state)
    head = model.examples() - before
    if before + head == 0:
        # All rows were gone through, and none could be learned from.
        return base
    for start, end in slices(longest, len(counts), before, head, weights_of(model)):
        cut = Slice(start, end, done=done)
        if cut.rows(counts):
            base = play(base, rows, cut, counts, columns)
    return base
