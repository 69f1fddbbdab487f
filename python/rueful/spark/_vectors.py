"""ML vectors on their way from Java to Python.

Spark keeps a vector as a structure. A dense vector has no indices, and lists that are missing are
slow: Spark writes a batch with many of them to Arrow in time that grows with the square of its
rows. Every column costs Java time for every row, too. So vectors travel as two columns. One has
the values. The other one has the indices and after them the size, and is empty where a vector is
dense. In Python they are put together again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ._names import Batches, named

#: What the column of indices and sizes is called: this, and the name of the vectors.
_INDICES = "__rueful_indices_"

_LISTS = pa.list_(pa.int32())


def _spread(name: str) -> list[Column]:
    vector = F.unwrap_udt(named(name))
    none, size = F.array().cast("array<int>"), vector["size"]
    indices = F.when(size.isNull(), none).otherwise(F.concat(vector["indices"], F.array(size)))
    return [vector["values"].alias(name), indices.alias(_INDICES + name)]


def spread(df: DataFrame, names: list[str] | None = None) -> DataFrame:
    """Returns some columns of rows, or all, with two columns for every column of ML vectors."""
    # Executors have no use for it.
    from pyspark.ml.linalg import VectorUDT

    kinds = {field.name: field.dataType for field in df.schema.fields}
    columns: list[Column] = []
    for name in kinds if names is None else names:
        columns += _spread(name) if isinstance(kinds[name], VectorUDT) else [named(name)]
    return df.select(*columns)


def gathered(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Returns a batch in which the columns of a vector are one again, as Spark has it."""
    names = batch.schema.names
    if not any(name.startswith(_INDICES) for name in names):
        return batch
    own = [name for name in names if not name.startswith(_INDICES)]
    columns = [
        _whole(batch.column(name), batch.column(_INDICES + name))
        if _INDICES + name in names
        else batch.column(name)
        for name in own
    ]
    return pa.RecordBatch.from_arrays(columns, own)


def _whole(values: pa.Array, places: pa.Array) -> pa.StructArray:
    """Returns vectors from their values, and from their indices with sizes after them."""
    lengths = pc.list_value_length(places).to_numpy(zero_copy_only=False)
    is_sparse = lengths > 0
    if is_sparse.any():
        indices, sizes = _apart(places, lengths)
    else:
        indices, sizes = pa.nulls(len(places), _LISTS), pa.nulls(len(places), pa.int32())
    kinds = pa.array(np.where(is_sparse, 0, 1).astype(np.int8))
    return pa.StructArray.from_arrays(
        [kinds, sizes, indices, values],
        ["type", "size", "indices", "values"],
        mask=values.is_null(),
    )


def _apart(places: pa.Array, lengths: NDArray[np.int32]) -> tuple[pa.Array, pa.Array]:
    """Returns indices and sizes, which are missing where vectors are dense."""
    flat = places.flatten().to_numpy(zero_copy_only=False)
    is_dense, ends = lengths == 0, np.cumsum(lengths)
    last = ends[~is_dense] - 1
    sizes = np.zeros(len(lengths), np.int32)
    sizes[~is_dense] = flat[last]
    starts = np.concatenate(([0], ends - np.cumsum(~is_dense))).astype(np.int32)
    indices = pa.ListArray.from_arrays(
        pa.array(starts), pa.array(np.delete(flat, last)), mask=pa.array(is_dense)
    )
    return indices, pa.array(sizes, mask=is_dense)


def gathering(function: Callable[[Iterable[pa.RecordBatch]], Batches]) -> Callable[..., Batches]:
    """Returns a function of batches whose vectors are spread, for `mapInArrow`."""

    def run(batches: Iterable[pa.RecordBatch]) -> Batches:
        yield from function(gathered(batch) for batch in batches)

    return run
