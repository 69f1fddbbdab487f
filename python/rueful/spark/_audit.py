"""Audits of any model's predictions over any amount of data, in one pass."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any, Self

import numpy as np
import pyarrow as pa
import scipy.sparse
from numpy.typing import NDArray
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, LongType, StructField, StructType

from .. import _data
from .._audit import Audit
from .._classes import OF_TWO
from ._names import mapped, named, require, require_numbers, with_doubles
from ._rounds import FAN, partitions
from ._rows import (
    BadRow,
    Checks,
    Mask,
    doubles_of,
    feature_check,
    is_skip,
    lengths_of,
    only,
    partition,
    places_of,
    sound,
    vector_check,
    vectors,
    weight_check,
)
from ._vectors import gathering, spread

#: The types of columns of vectors.
_VECTORS = VectorUDT | ArrayType


def audit(
    df: DataFrame,
    *,
    prediction: str,
    label: str,
    by: str | None = None,
    features: list[str] | str | None = None,
    weight: str | None = None,
    handle_invalid: str = "error",
    **settings: Any,
) -> Any:
    """Certifies the predictions of any model, each made before its label was known.

    Parameters
    ----------
    df : DataFrame
        Predictions, labels and features.
    prediction, label : str
        Their columns. With `classes`, a prediction is an ML vector or an array with a number for
        every class.
    by : str, optional
        A column whose values are groups. Each is judged for itself.
    features : list of str or str, optional
        The columns that comparators may use, or one column of ML vectors or arrays; all other
        columns if left out.
    weight : str, optional
        The column that says how much each row counts.
    handle_invalid : str
        What becomes of rows with bad values: `error`, or `skip`, which leaves them out. The
        `skipped_rows` of an audit count them.
    **settings
        What `rueful.Audit` takes: `loss`, `radius`, `link`, `positive`, `classes` and so on.

    Returns
    -------
    PartsAudit, which is a rueful.Audit, or a dict of them by group
    """
    PartsAudit(**settings)  # Settings that cannot be used are refused here, not in an executor.
    for argument, name in zip(
        ("prediction", "label", "by", "weight"), (prediction, label, by, weight), strict=True
    ):
        require(df, argument, name)
    require(df, "features", *([features] if isinstance(features, str) else features or ()))
    own = {prediction, label, by, weight}
    others = [name for name in df.columns if name not in own]
    given = Given(
        prediction,
        label,
        weight,
        (features,) if isinstance(features, str) else tuple(features or others),
        isinstance(features, str) and isinstance(df.schema[features].dataType, _VECTORS),
        is_skip("handle_invalid", handle_invalid),
        settings,
    )
    given.check_kinds(df)
    wanted = [*given.features, prediction, label, *(name for name in (by, weight) if name)]
    df = spread(with_doubles(df, label), list(dict.fromkeys(wanted)))

    def judge(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        mine = partition()
        audits: dict[Any, PartsAudit] = {}
        row = 0
        for batch in batches:
            try:
                good = given.sound(batch)
                for group, rows in _groups(only(batch, good), by):
                    given.observe(audits.setdefault(group, PartsAudit(**settings)), rows)
                for group, rows in _groups(only(batch, ~good), by):
                    audits.setdefault(group, PartsAudit(**settings)).skipped_rows += len(rows)
            except BadRow as bad:
                where = f"partition {mine}, row {row + bad.row}"
                raise ValueError(f"{where}, {bad.what}") from bad
            except ValueError as why:
                raise ValueError(f"partition {mine}, rows from {row} on: {why}") from why
            row += len(batch)
        for group, books in audits.items():
            yield _state(pa.array([group], kind), mine, books)

    def join(states: pa.Table) -> pa.Table:
        """Joins the books that some partitions have of a group."""
        states = states.sort_by("partition")
        first, *others = (_restored(one, settings) for one in states.to_pylist())
        for other in others:
            first.merge(other)
        group = states.column("group").combine_chunks().slice(0, 1)
        number = states.column("partition")[0].as_py() // FAN
        return pa.Table.from_batches([_state(group, number, first)])

    group = df.schema[by].dataType if by else LongType()
    kind = _arrow_type(df, by)
    fields = [("group", group), ("partition", LongType()), ("state", BinaryType())]
    fields.append(("skipped", LongType()))
    schema = StructType([StructField(name, kind) for name, kind in fields])
    found: dict[Any, PartsAudit] = {}
    states, left = mapped(df, gathering(judge), schema), partitions(df)
    while left > FAN:
        joined = F.floor(F.col("partition") / FAN).alias("joined")
        states = states.groupBy("group", joined).applyInArrow(join, schema)
        left = -(-left // FAN)
    for row in sorted(states.collect(), key=lambda row: row["partition"]):
        books = _restored(row, settings)
        if row["group"] in found:
            found[row["group"]].merge(books)
        else:
            found[row["group"]] = books
    if by is None:
        return found.get(0, PartsAudit(**settings))
    return dict(sorted(found.items(), key=lambda one: str(one[0])))


class PartsAudit(Audit):
    """An audit of rows on many machines. It counts those that could not be judged and were skipped."""

    #: How many rows were skipped.
    skipped_rows = 0

    def merge(self, other: Audit) -> Self:
        """Takes in an audit of other rounds under the same settings, and its skipped rows."""
        super().merge(other)
        self.skipped_rows += getattr(other, "skipped_rows", 0)
        return self


@dataclasses.dataclass(frozen=True)
class Given:
    """What the columns of a batch are, and the settings of the audit."""

    prediction: str
    label: str
    weight: str | None
    features: tuple[str, ...]
    #: Whether the features are one column of ML vectors or arrays.
    is_vector: bool
    #: Whether bad rows are skipped.
    skips: bool
    settings: dict[str, Any]

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The classes, if there is a prediction for each of them."""
        classes = self.settings.get("classes")
        return None if classes is None else tuple(classes)

    @property
    def _is_of_two(self) -> bool:
        """Whether labels are two classes."""
        return self.classes is None and self.settings.get("loss", "logistic") in OF_TWO

    @property
    def _positive(self) -> Any:
        """The label of the positive class, if it is named."""
        return self.settings.get("positive") if self._is_of_two else None

    def check_kinds(self, df: DataFrame) -> None:
        """Refuses vectors where numbers are expected, and numbers where vectors are."""
        require_numbers(df, "weight", self.weight)
        says_many = isinstance(df.schema[self.prediction].dataType, _VECTORS)
        if says_many and self.classes is None:
            raise ValueError(
                f"column {self.prediction}: found vectors; loss='softmax' and classes=[...] judge "
                "the probabilities of all classes, in the order of the vectors"
            )
        if self.classes is not None and not says_many:
            raise ValueError(
                f"column {self.prediction}: expected a vector or an array with a number for every "
                "class"
            )
        if self.classes is None:
            require_numbers(df, "prediction", self.prediction)
            if self._positive is None:
                require_numbers(df, "label", self.label)
        for name in self.features if not self.is_vector else ():
            if isinstance(df.schema[name].dataType, _VECTORS):
                raise ValueError(
                    f"column {name}: found vectors among the columns of the features; "
                    f"name them alone, as features={name!r}, or leave them out"
                )

    def sound(self, batch: pa.RecordBatch) -> Mask:
        """Tells which rows can be judged. Unless others are to be skipped, the first one is an error."""
        return sound(batch, self._checks(batch), skips=self.skips)

    def _checks(self, batch: pa.RecordBatch) -> Checks:
        label, said = batch.column(self.label), batch.column(self.prediction)
        for name in (self.prediction, self.label, *([self.weight] if self.weight else [])):
            known = batch.column(name).is_valid().to_numpy(zero_copy_only=False)
            yield name, np.asarray(known, dtype=bool), "a value"
        if self.weight is not None:
            yield self.weight, *weight_check(batch.column(self.weight))
        if self.classes is None:
            if self._positive is None:
                yield self.label, *self._label_check(label)
            yield self.prediction, *self._score_check(said)
        else:
            places, (are_numbers, numbers) = places_of(label, self.classes), vector_check(said)
            yield self.label, places >= 0, f"one of {len(self.classes)} classes"
            yield self.prediction, are_numbers, numbers
            are_whole = lengths_of(said) == len(self.classes)
            yield self.prediction, are_whole, f"a vector of {len(self.classes)} numbers"
            fine = (places >= 0) & are_numbers & are_whole
            yield self.prediction, *self._share_check(said, places, fine)
        for name in self.features:
            check = vector_check if self.is_vector else feature_check
            yield name, *check(batch.column(name))

    def _share_check(
        self, said: pa.Array, places: NDArray[np.int64], fine: Mask
    ) -> tuple[Mask, str]:
        """Looks at the predictions that are fine so far: some losses want probabilities."""
        books, found = PartsAudit(**self.settings)._books, fine.copy()
        kept = pa.array(fine)
        rows = self._said(said.filter(kept)).ravel()
        found[fine] = books.can_judge(places[fine].astype(np.float64), rows)
        expected = "probabilities that add up to 1, where the class that came has more than 0"
        return found, expected

    def _label_check(self, column: pa.Array) -> tuple[Mask, str]:
        labels = doubles_of(column)
        if self._is_of_two:
            expected = "-1 or 1, or 0 or 1; positive names another label for the positive class"
            return np.isin(labels, (-1.0, 0.0, 1.0)), expected
        return np.isfinite(labels), "a finite number"

    def _score_check(self, column: pa.Array) -> tuple[Mask, str]:
        scores = doubles_of(column)
        if self.settings.get("link") == "logistic":
            return (scores > 0) & (scores < 1), "a probability strictly between 0 and 1"
        return np.isfinite(scores), "a finite number"

    def observe(self, books: Audit, rows: pa.RecordBatch) -> None:
        """Takes down what was said of some rows."""
        books.observe(
            vectors(rows.column(self.features[0]))
            if self.is_vector
            else pa.Table.from_batches([rows.select(list(self.features))]),
            _column(rows, self.label),
            self._said(rows.column(self.prediction)),
            _column(rows, self.weight) if self.weight else None,
        )

    def _said(self, column: pa.Array) -> _data.Doubles:
        """Returns predictions: a number for every row, or a row of numbers."""
        if self.classes is None:
            return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
        said = vectors(column)
        return np.asarray(said.toarray() if scipy.sparse.issparse(said) else said)


def _state(group: pa.Array, partition: int, books: PartsAudit) -> pa.RecordBatch:
    state = pa.array([books._books.to_bytes()], pa.binary())
    arrays = [group, pa.array([partition], pa.int64()), state]
    arrays.append(pa.array([books.skipped_rows], pa.int64()))
    return pa.RecordBatch.from_arrays(arrays, ["group", "partition", "state", "skipped"])


def _restored(row: Any, settings: dict[str, Any]) -> PartsAudit:
    restored = PartsAudit(**settings)
    restored._books = type(restored._books).from_bytes(bytes(row["state"]))
    restored.skipped_rows = row["skipped"]
    return restored


def _arrow_type(df: DataFrame, by: str | None) -> pa.DataType:
    return df.select(named(by)).limit(0).toArrow().schema.field(0).type if by else pa.int64()


def _column(rows: pa.RecordBatch, name: str) -> Any:
    return rows.column(name).to_numpy(zero_copy_only=False)


def _groups(batch: pa.RecordBatch, by: str | None) -> Iterator[tuple[Any, pa.RecordBatch]]:
    """Cuts a batch into the rows of each group, in the order in which groups come."""
    if by is None:
        yield 0, batch
        return
    codes = batch.column(by).dictionary_encode(null_encoding="encode")
    places = np.asarray(codes.indices)
    for code, group in enumerate(codes.dictionary.to_pylist()):
        yield group, batch.take(pa.array(np.flatnonzero(places == code)))
