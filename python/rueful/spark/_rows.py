"""Rows inside the executors: from Arrow batches to what the core takes."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse

from .. import _data

#: The columns that number the rows: the part that a row belongs to, and its place there.
PART, ROW = "__rueful_part", "__rueful_row"


@dataclasses.dataclass(frozen=True)
class Columns:
    """What the columns of a batch are."""

    features: tuple[str, ...]
    label: str
    weight: str | None = None
    classes: tuple[Any, Any] | None = None
    #: Whether the features are one column of ML vectors or arrays.
    is_vector: bool = False

    def table(self, batch: pa.RecordBatch) -> Any:
        """Returns the features as the core takes them."""
        if not self.is_vector:
            return pa.Table.from_batches([batch.select(list(self.features))])
        return _data.sparse(_matrix(batch.column(self.features[0])))

    def labels(self, batch: pa.RecordBatch) -> _data.Doubles:
        """Returns the labels as numbers: -1 and 1 for classes."""
        column = batch.column(self.label)
        self._refuse_nulls(column, self.label)
        if self.classes is None:
            return np.asarray(column.cast(pa.float64()), dtype=np.float64)
        positive = pa.compute.equal(column, pa.scalar(self.classes[1], column.type))
        known = pa.compute.or_(
            positive, pa.compute.equal(column, pa.scalar(self.classes[0], column.type))
        )
        if not pa.compute.all(known, min_count=0).as_py():
            row = int(np.flatnonzero(~np.asarray(known))[0])
            raise ValueError(
                f"row {row}, column {self.label}: found {column[row].as_py()!r}, "
                f"expected {self.classes[0]!r} or {self.classes[1]!r}"
            )
        return np.where(np.asarray(positive), 1.0, -1.0)

    def weights(self, batch: pa.RecordBatch) -> _data.Doubles | None:
        """Returns how much each row counts."""
        if self.weight is None:
            return None
        column = batch.column(self.weight)
        self._refuse_nulls(column, self.weight)
        return np.asarray(column.cast(pa.float64()), dtype=np.float64)

    @staticmethod
    def _refuse_nulls(column: pa.Array, name: str) -> None:
        if column.null_count:
            row = int(np.flatnonzero(np.asarray(column.is_null()))[0])
            raise ValueError(f"row {row}, column {name}: found no value, expected one")


def _matrix(column: pa.Array) -> Any:
    """Returns a column of ML vectors or of arrays as a sparse matrix."""
    if column.null_count:
        row = int(np.flatnonzero(np.asarray(column.is_null()))[0])
        raise ValueError(f"row {row}, column of features: found no value, expected a vector")
    if not pa.types.is_struct(column.type):
        rows = [np.asarray(row, dtype=np.float64) for row in column.to_pylist()]
        return scipy.sparse.csr_matrix(np.vstack(rows)) if rows else scipy.sparse.csr_matrix((0, 0))
    data: list[Any] = []
    indices: list[Any] = []
    starts, width = [0], 0
    for row in column.to_pylist():
        values = np.asarray(row["values"], dtype=np.float64)
        is_sparse = row["type"] == 0
        places = np.asarray(row["indices"], dtype=np.int64) if is_sparse else np.arange(len(values))
        width = max(width, row["size"] if is_sparse else len(values))
        data.append(values)
        indices.append(places)
        starts.append(starts[-1] + len(values))
    flat = (np.concatenate(data), np.concatenate(indices), np.asarray(starts))
    return scipy.sparse.csr_matrix(flat, shape=(len(data), width))
