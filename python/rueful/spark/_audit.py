"""Audits of any model's predictions over any amount of data, in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from .._audit import Audit
from ._rows import BadRow, feature_check, refuse


def audit(
    df: DataFrame,
    *,
    prediction: str,
    label: str,
    by: str | None = None,
    features: list[str] | None = None,
    weight: str | None = None,
    **settings: Any,
) -> Any:
    """Certifies the predictions of any model, each made before its label was known.

    Parameters
    ----------
    df : DataFrame
        Predictions, labels and features.
    prediction, label : str
        Their columns.
    by : str, optional
        A column whose values are groups. Each is judged for itself.
    features : list of str, optional
        The columns that comparators may use; all others if left out.
    weight : str, optional
        The column that says how much each row counts.
    **settings
        What `rueful.Audit` takes: `loss`, `radius`, `link`, `positive` and so on.

    Returns
    -------
    rueful.Audit, or a dict of them by group
    """
    Audit(**settings)  # Settings that cannot be used are refused here, not in an executor.
    own = {prediction, label, by, weight}
    names = features or [name for name in df.columns if name not in own]
    wanted = [*names, prediction, label, *(name for name in (by, weight) if name)]
    df = df.select(*dict.fromkeys(wanted))

    def judge(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        partition = context.partitionId() if context else 0
        audits: dict[Any, Audit] = {}
        row = 0
        for batch in batches:
            try:
                _check(batch, [prediction, label, *([weight] if weight else [])], names)
                for group, rows in _groups(batch, by):
                    books = audits.setdefault(group, Audit(**settings))
                    books.observe(
                        pa.Table.from_batches([rows.select(names)]),
                        _column(rows, label),
                        np.asarray(_column(rows, prediction), dtype=np.float64),
                        _column(rows, weight) if weight else None,
                    )
            except BadRow as bad:
                where = f"partition {partition}, row {row + bad.row}"
                raise ValueError(f"{where}, {bad.what}") from bad
            except ValueError as why:
                raise ValueError(f"partition {partition}, rows from {row} on: {why}") from why
            row += len(batch)
        for group, books in audits.items():
            state = [books._books.to_bytes()]
            arrays = [
                pa.array([group], kind),
                pa.array([partition], pa.int64()),
                pa.array(state, pa.binary()),
            ]
            yield pa.RecordBatch.from_arrays(arrays, ["group", "partition", "state"])

    group = df.schema[by].dataType if by else LongType()
    kind = _arrow_type(df, by)
    fields = [("group", group), ("partition", LongType()), ("state", BinaryType())]
    schema = StructType([StructField(name, kind) for name, kind in fields])
    found: dict[Any, Audit] = {}
    rows = df.mapInArrow(judge, schema).collect()
    for row in sorted(rows, key=lambda row: row["partition"]):
        books = _restored(bytes(row["state"]), settings)
        if row["group"] in found:
            found[row["group"]].merge(books)
        else:
            found[row["group"]] = books
    if by is None:
        return found.get(0, Audit(**settings))
    return dict(sorted(found.items(), key=lambda one: str(one[0])))


def _restored(state: bytes, settings: dict[str, Any]) -> Audit:
    restored = Audit(**settings)
    restored._books = type(restored._books).from_bytes(state)
    return restored


def _arrow_type(df: DataFrame, by: str | None) -> pa.DataType:
    return df.select(by).limit(0).toArrow().schema.field(0).type if by else pa.int64()


def _check(batch: pa.RecordBatch, given: list[str], features: list[str]) -> None:
    """Refuses rows without a prediction, label or weight, and values that no feature can have."""
    for name in given:
        known = batch.column(name).is_valid().to_numpy(zero_copy_only=False)
        refuse(batch, name, np.asarray(known, dtype=bool), "a value")
    for name in features:
        refuse(batch, name, *feature_check(batch.column(name)))


def _column(rows: pa.RecordBatch, name: str) -> Any:
    return rows.column(name).to_numpy(zero_copy_only=False)


def _groups(batch: pa.RecordBatch, by: str | None) -> Iterator[tuple[Any, pa.RecordBatch]]:
    """Cuts a batch into the rows of each group, in the order in which groups come."""
    if by is None or not len(batch):
        yield 0, batch
        return
    codes = batch.column(by).dictionary_encode(null_encoding="encode")
    places = np.asarray(codes.indices)
    for code, group in enumerate(codes.dictionary.to_pylist()):
        yield group, batch.take(pa.array(np.flatnonzero(places == code)))
