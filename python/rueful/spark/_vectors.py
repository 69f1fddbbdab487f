"""ML vectors on their way from Java to Python.

Spark keeps a vector as a structure. A dense vector has no indices, and lists that are missing are slow:
Spark writes a batch with many of them to Arrow in time that grows with the square of its rows. So vectors
travel as three columns, of values, of indices that are never missing, and of sizes, which dense vectors
do not have. In Python they are put together again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

#: What the columns of indices and sizes are called: this, and the name of the vectors.
_INDICES, _SIZE = "__rueful_indices_", "__rueful_size_"

_LISTS = pa.list_(pa.int32())

Batches: TypeAlias = Iterator[pa.RecordBatch]


def _spread(name: str) -> list[Column]:
    vector = F.unwrap_udt(F.col(f"`{name}`"))
    indices = F.coalesce(vector["indices"], F.array().cast("array<int>"))
    return [
        vector["values"].alias(name),
        indices.alias(_INDICES + name),
        vector["size"].alias(_SIZE + name),
    ]


def spread(df: DataFrame) -> DataFrame:
    """Returns rows with three columns for every column of ML vectors."""
    # Executors have no use for it.
    from pyspark.ml.linalg import VectorUDT

    columns: list[Column] = []
    for field in df.schema.fields:
        is_vector = isinstance(field.dataType, VectorUDT)
        columns += _spread(field.name) if is_vector else [F.col(f"`{field.name}`")]
    return df.select(*columns) if len(columns) > len(df.columns) else df


def gathered(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Returns a batch in which the columns of a vector are one again, as Spark has it."""
    names = batch.schema.names
    if not any(name.startswith(_SIZE) for name in names):
        return batch
    own = [name for name in names if not name.startswith((_SIZE, _INDICES))]
    columns = [_whole(batch, name) if _SIZE + name in names else batch.column(name) for name in own]
    return pa.RecordBatch.from_arrays(columns, own)


def _whole(batch: pa.RecordBatch, name: str) -> pa.StructArray:
    values, sizes = batch.column(name), batch.column(_SIZE + name)
    indices = batch.column(_INDICES + name)
    if sizes.null_count == len(sizes):
        indices = pa.nulls(len(sizes), _LISTS)
    elif sizes.null_count:
        indices = pc.if_else(sizes.is_valid(), indices, pa.scalar(None, indices.type))
    parts = [sizes.is_null().cast(pa.int8()), sizes, indices, values]
    return pa.StructArray.from_arrays(
        parts, ["type", "size", "indices", "values"], mask=values.is_null()
    )


def gathering(function: Callable[[Iterable[pa.RecordBatch]], Batches]) -> Callable[..., Batches]:
    """Returns a function of batches whose vectors are spread, for `mapInArrow`."""

    def run(batches: Iterable[pa.RecordBatch]) -> Batches:
        yield from function(gathered(batch) for batch in batches)

    return run
