"""Rows inside the executors: from Arrow batches to what the core takes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse
from numpy.typing import NDArray

from .. import _data
from .._classes import Classes

#: The columns that number the rows: the part that a row belongs to, and its place there.
PART, ROW = "__rueful_part", "__rueful_row"

#: The largest number that single precision holds.
_LARGEST = float(np.finfo(np.float32).max)

Mask = NDArray[np.bool_]

#: Columns with the rows of them that are fine, and what was expected there.
Checks: TypeAlias = Iterator[tuple[str, Mask, str]]


@dataclasses.dataclass(frozen=True)
class Columns:
    """What the columns of a batch are."""

    features: tuple[str, ...]
    label: str
    weight: str | None = None
    #: The labels of classes: two with the positive one last, or any number in order.
    classes: tuple[Any, ...] | None = None
    #: Whether each class has a score of its own.
    is_of_many: bool = False
    #: Whether the features are one column of ML vectors or arrays.
    is_vector: bool = False
    #: Whether rows that cannot be learned from are skipped and counted.
    skips: bool = False

    def names(self) -> list[str]:
        """Returns all columns that are needed."""
        return [*self.features, self.label, *([self.weight] if self.weight else [])]

    def table(self, batch: pa.RecordBatch) -> Any:
        """Returns the features as the core takes them."""
        if self.is_vector:
            return _data.matrix(vectors(batch.column(self.features[0])))
        return pa.Table.from_batches([batch.select(list(self.features))])

    def labels(self, batch: pa.RecordBatch) -> _data.Doubles:
        """Returns the labels as numbers: -1 and 1 for two classes, and of many classes their places."""
        column = batch.column(self.label)
        if self.classes is None:
            return doubles_of(column)
        if self.is_of_many:
            return self.places(batch).astype(np.float64)
        return np.where(places_of(column, self.classes) == 1, 1.0, -1.0)

    def places(self, batch: pa.RecordBatch) -> NDArray[np.int64]:
        """Returns the places of the labels among the classes; -1 for those that are none."""
        return places_of(batch.column(self.label), self.classes or ())

    def known(self, names: list[str]) -> Classes:
        """Returns the classes, with the numbers that a model has for them by these names."""
        return Classes(np.array(self.classes), names)

    def weights(self, batch: pa.RecordBatch) -> _data.Doubles | None:
        """Returns how much each row counts."""
        return None if self.weight is None else doubles_of(batch.column(self.weight))

    def usable(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, int]:
        """Returns the rows that can be learned from, and how many others there were.

        Unless such rows are to be skipped, the first one of them is an error.
        """
        good = sound(batch, self._checks(batch), skips=self.skips)
        return only(batch, good), int(np.count_nonzero(~good))

    def _checks(self, batch: pa.RecordBatch) -> Checks:
        label = batch.column(self.label)
        if self.classes is None:
            yield self.label, np.isfinite(doubles_of(label)), "a finite number"
        else:
            shown = " or ".join(repr(one) for one in self.classes)
            expected = shown if len(self.classes) == 2 else f"one of {len(self.classes)} classes"
            is_there = np.asarray(label.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
            yield self.label, is_there, expected
            if not self.is_of_many:
                expected += "; to learn more classes, begin with loss='softmax'"
            yield self.label, places_of(label, self.classes) >= 0, expected
        if self.weight is not None:
            yield self.weight, *weight_check(batch.column(self.weight))
        for name in self.features:
            yield name, *self._feature_check(batch.column(name))

    def _feature_check(self, column: pa.Array) -> tuple[Mask, str]:
        return vector_check(column) if self.is_vector else feature_check(column)

    def predictable(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Returns the rows that a model can take."""
        good = np.ones(len(batch), dtype=bool)
        for name in self.features:
            good &= self._feature_check(batch.column(name))[0]
        return only(batch, good)

    def refuse_features(self, batch: pa.RecordBatch) -> None:
        """Refuses the first row with a feature that no model can take."""
        for name in self.features:
            column = batch.column(name)
            refuse(batch, name, *self._feature_check(column))


def vector_check(column: pa.Array) -> tuple[Mask, str]:
    """Tells which rows of a column of vectors can be features, and what is expected of them."""
    return _are_vectors(column), "a vector of finite numbers that single precision holds"


def feature_check(column: pa.Array) -> tuple[Mask, str]:
    """Tells which rows of a column can be features, and what is expected of them."""
    if not pa.types.is_floating(column.type):
        return np.ones(len(column), dtype=bool), "a value"
    # A cell without a number is a missing one.
    return ~(np.abs(doubles_of(column)) > _LARGEST), "a finite number that single precision holds"


def weight_check(column: pa.Array) -> tuple[Mask, str]:
    """Tells which rows of a column say how much they count, and what is expected of them."""
    weights = doubles_of(column)
    fine = (weights == 0) | ((weights >= 1e-30) & (weights <= 1e30))
    return fine, "0, or a number between 1e-30 and 1e30"


def partition() -> int:
    """Returns the number of the partition whose rows a task has."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.partitionId() if context else 0


def is_skip(argument: str, how: str) -> bool:
    """Tells whether bad rows are skipped, from what an argument says of them."""
    if how not in ("error", "skip"):
        raise ValueError(f"{argument}: found {how!r}, expected 'error' or 'skip'")
    return how == "skip"


def sound(batch: pa.RecordBatch, checks: Checks, *, skips: bool) -> Mask:
    """Tells which rows pass all checks.

    Unless others are to be skipped, the first one of them is an error.
    """
    good = np.ones(len(batch), dtype=bool)
    for name, fine, expected in checks:
        if not skips:
            refuse(batch, name, fine, expected)
        good &= fine
    return good


def only(batch: pa.RecordBatch, rows: Mask) -> pa.RecordBatch:
    """Returns some rows of a batch."""
    return batch if rows.all() else batch.filter(pa.array(rows))


def refuse(batch: pa.RecordBatch, name: str, fine: Mask, expected: str) -> None:
    """Refuses the first row that is not fine."""
    if not fine.all():
        row = int(np.argmin(fine))
        raise BadRow(row, name, batch.column(name)[row].as_py(), expected)


class BadRow(ValueError):
    """A row that cannot be learned from."""

    def __init__(self, row: int, column: str, found: Any, expected: str) -> None:
        self.row = row
        self.what = f"column {column}: found {_shown(found)}, expected {expected}"
        super().__init__(f"row {row}, {self.what}")


def _shown(value: Any) -> str:
    shown = "no value" if value is None else repr(value)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."


def doubles_of(column: pa.Array) -> _data.Doubles:
    """Returns a column as doubles, where no value is NaN."""
    values = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return np.asarray(values, dtype=np.float64)


def places_of(column: pa.Array, labels: tuple[Any, ...]) -> NDArray[np.int64]:
    """Returns the places of labels among some; -1 for those that are none of them."""
    found = pc.index_in(column, value_set=pa.array(labels, column.type), skip_nulls=True)
    return np.asarray(found.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)


def _lists(column: pa.Array) -> pa.Array:
    """Returns the values of a column of ML vectors or arrays, as lists."""
    return column.field("values") if pa.types.is_struct(column.type) else column


def _are_vectors(column: pa.Array) -> Mask:
    """Tells which rows are vectors of usable numbers."""
    fine = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
    kept = column if fine.all() else column.filter(pa.array(fine))
    lists = _lists(kept)
    values = doubles_of(lists.flatten())
    if not (values.min(initial=0.0) >= -_LARGEST and values.max(initial=0.0) <= _LARGEST):
        good = np.abs(values) <= _LARGEST
        lengths = _lengths(lists)
        rows = np.repeat(np.arange(len(kept)), lengths)[~good]
        fine[np.flatnonzero(fine)[rows]] = False
    return fine


def _lengths(lists: pa.Array) -> NDArray[np.int64]:
    # A row that has no vector has no numbers.
    found = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
    return np.asarray(found, dtype=np.int64)


def lengths_of(column: pa.Array) -> NDArray[np.int64]:
    """Returns how many numbers each vector or array has, with the zeros that are left out."""
    lengths = _lengths(_lists(column))
    if pa.types.is_struct(column.type):
        sizes = column.field("size").fill_null(0).to_numpy(zero_copy_only=False)
        lengths = np.where(_are_sparse(column), sizes, lengths)
    return lengths


def _are_sparse(column: pa.Array) -> Mask:
    """Tells which rows of a column of ML vectors leave zeros out."""
    return np.asarray(column.field("type").to_numpy(zero_copy_only=False) == 0)


def vectors(column: pa.Array) -> Any:
    """Returns a column of ML vectors or of arrays as a matrix.

    It is a sparse one, unless all rows have the same length and leave nothing out.
    """
    lists = _lists(column)
    values, lengths = doubles_of(lists.flatten()), _lengths(lists)
    width = int(lengths_of(column).max(initial=0))
    is_sparse = np.zeros(len(column), dtype=bool)
    if pa.types.is_struct(column.type):
        is_sparse = _are_sparse(column)
    if not is_sparse.any() and np.all(lengths == width):
        return values.reshape(len(column), width)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    places = np.arange(len(values), dtype=np.int64) - np.repeat(starts[:-1], lengths)
    if is_sparse.any():
        own = column.field("indices").filter(pa.array(is_sparse)).flatten()
        places[np.repeat(is_sparse, lengths)] = own.to_numpy(zero_copy_only=False)
    return scipy.sparse.csr_matrix((values, places, starts), (len(column), width))
