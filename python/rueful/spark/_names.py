"""Columns by their names, which may hold anything."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, DecimalType, NumericType, StringType, StructType

Batches: TypeAlias = Iterator[pa.RecordBatch]


def named(name: str) -> Column:
    """Returns the column of exactly this name. Spark takes a dot for a field of a structure."""
    return F.col("`" + name.replace("`", "``") + "`")


def with_doubles(df: DataFrame, label: str) -> DataFrame:
    """Returns rows whose labels are doubles, if they were decimal numbers, as `1.0` is in SQL.

    JSON does not know decimal numbers, and NumPy takes them for objects.
    """
    if not isinstance(df.schema[label].dataType, DecimalType):
        return df
    own = named(label).cast("double").alias(label)
    return df.select(*(own if name == label else named(name) for name in df.columns))


@functools.cache
def _settle() -> None:
    """Keeps what a worker has loaded out of collections of garbage.

    Spark asks for one after every task, and it would look at every object of pandas and SciPy.
    """
    gc.freeze()


def mapped(
    df: DataFrame, function: Callable[[Iterable[pa.RecordBatch]], Batches], schema: StructType | str
) -> DataFrame:
    """Does what `mapInArrow` does, which takes names for expressions, for columns of any names."""
    names = df.columns

    def run(batches: Iterable[pa.RecordBatch]) -> Batches:
        _settle()
        yield from function(pa.RecordBatch.from_arrays(batch.columns, names) for batch in batches)

    return df.toDF(*(f"c{place}" for place in range(len(names)))).mapInArrow(run, schema)


def require(df: DataFrame, argument: str, *names: str | None) -> None:
    """Refuses names of columns that the data do not have."""
    for name in names:
        if name is not None and name not in df.columns:
            shown = ", ".join(df.columns[:10]) + (", ..." if len(df.columns) > 10 else "")
            raise ValueError(f"{argument}: found no column {name}; the data have {shown}")


def require_numbers(df: DataFrame, argument: str, name: str | None) -> None:
    """Refuses the name of a column of anything but numbers."""
    if name is None:
        return
    require(df, argument, name)
    kind = df.schema[name].dataType
    if not isinstance(kind, NumericType | BooleanType):
        raise ValueError(f"{argument}: found a column of {kind.simpleString()}s, expected numbers")


def require_classes(df: DataFrame, argument: str, name: str) -> None:
    """Refuses the name of a column whose values cannot be names of classes."""
    kind = df.schema[name].dataType
    if not isinstance(kind, NumericType | BooleanType | StringType):
        found = kind.simpleString()
        raise ValueError(
            f"{argument}: found a column of {found}s, expected numbers, truths or words"
        )


def refuse_present(df: DataFrame, argument: str, name: str) -> None:
    """Refuses the name of a new column that the data have already."""
    if name in df.columns:
        raise ValueError(f"{argument}: the data have a column {name} already")
