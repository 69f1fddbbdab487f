"""Estimators and models of pyspark.ml."""

from __future__ import annotations

import dataclasses
import re
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
import scipy.sparse
from pyspark import keyword_only
from pyspark.ml import Estimator
from pyspark.ml import Model as SparkModel
from pyspark.ml.functions import array_to_vector
from pyspark.ml.linalg import VectorUDT
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (
    HasFeaturesCol,
    HasHandleInvalid,
    HasLabelCol,
    HasPredictionCol,
    HasProbabilityCol,
    HasRawPredictionCol,
    HasWeightCol,
)
from pyspark.ml.util import (
    DefaultParamsReadable,
    DefaultParamsReader,
    DefaultParamsWritable,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema, to_arrow_type
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    NumericType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from .. import _data
from .._classes import OF_MANY, OF_TWO
from .._report import Report
from .._rueful import Model, part
from . import _files, _rounds
from ._names import (
    mapped,
    named,
    refuse_present,
    require,
    require_classes,
    require_numbers,
    with_doubles,
)
from ._rounds import Learned
from ._rows import BadRow, Columns, is_skip, partition
from ._stream import LearningStream
from ._vectors import gathering, spread

#: The column that the searches of pyspark.ml add to their data, from which they draw the folds.
_DRAWN = re.compile("(CrossValidator|TrainValidationSplit)_[0-9a-f]{12}_rand")


class _Shared(HasLabelCol, HasFeaturesCol, HasWeightCol, HasPredictionCol, HasHandleInvalid):
    """The parameters that all share."""

    def setLabelCol(self, value: str) -> Self:
        """Sets the column of the labels."""
        return self._set(labelCol=value)

    def setFeaturesCol(self, value: str) -> Self:
        """Sets the column of ML vectors or arrays. Without it, all other columns are features."""
        return self._set(featuresCol=value)

    def setWeightCol(self, value: str) -> Self:
        """Sets the column that says how much each row counts."""
        return self._set(weightCol=value)

    def setPredictionCol(self, value: str) -> Self:
        """Sets the column of the predictions."""
        return self._set(predictionCol=value)

    def setHandleInvalid(self, value: str) -> Self:
        """Sets what becomes of rows with bad values: `error`, or `skip`, which leaves them out."""
        return self._set(handleInvalid=value)

    def _skips(self) -> bool:
        """Tells whether rows with bad values are skipped."""
        return is_skip("handleInvalid", self.getHandleInvalid())

    def _features(self, df: DataFrame) -> tuple[tuple[str, ...], bool]:
        """Returns the columns of the features, and whether they are one column of vectors."""
        require(df, "labelCol", self.getLabelCol())
        require_numbers(df, "weightCol", self._weight())
        if self.isSet(self.featuresCol):
            name = self.getFeaturesCol()
            require(df, "featuresCol", name)
            return (name,), _are_vectors(df, name)
        others = {self.getLabelCol(), self._weight()}
        others |= set(filter(_DRAWN.fullmatch, df.columns))
        names = tuple(name for name in df.columns if name not in others)
        for name in names:
            if _are_vectors(df, name):
                raise ValueError(
                    f"column {name}: found vectors among the columns of the features; "
                    f"name them alone, as featuresCol={name!r}, or drop them"
                )
        return names, False

    def _weight(self) -> str | None:
        """Returns the column of the weights. A column without a name is none, as in pyspark.ml."""
        return (self.getWeightCol() or None) if self.isSet(self.weightCol) else None


def _are_vectors(df: DataFrame, name: str) -> bool:
    """Tells whether a column has vectors or arrays. Arrays of anything but numbers are refused."""
    kind = df.schema[name].dataType
    if isinstance(kind, ArrayType) and not isinstance(kind.elementType, NumericType):
        found = kind.elementType.simpleString()
        raise ValueError(f"column {name}: found arrays of {found}s, expected arrays of numbers")
    return isinstance(kind, VectorUDT | ArrayType)


def _spoken(kind: DataType) -> str:
    """Returns what the values of a column are called."""
    return "vectors" if isinstance(kind, VectorUDT) else f"{kind.simpleString()}s"


class _Classes(HasProbabilityCol, HasRawPredictionCol):
    """The parameters of classifiers."""

    def setProbabilityCol(self, value: str) -> Self:
        """Sets the column of the probabilities of all classes."""
        return self._set(probabilityCol=value)

    def setRawPredictionCol(self, value: str) -> Self:
        """Sets the column of the scores of all classes."""
        return self._set(rawPredictionCol=value)


def _work_folder(spark: SparkSession) -> str:
    """Returns a folder that every machine of the cluster sees."""
    place = spark.conf.get("spark.rueful.dir", None) or spark.conf.get("spark.sql.warehouse.dir")
    return f"{place}/_rueful-{uuid.uuid4().hex}"


class _Learned(_Shared, SparkModel, MLReadable, MLWritable):
    """The common part of the models."""

    def __init__(self, learned: Learned | None = None, columns: Columns | None = None) -> None:
        super().__init__()
        self._setDefault(handleInvalid="error")
        self._learned, self._of = learned or Learned(b""), columns
        #: The bytes of the model where it is large, as sent to the machines of a context of Spark.
        self._sent: dict[Any, Any] = {}
        #: What is known of each of the last batches of a stream, if there was one.
        self.windows: list[dict[str, Any]] = []

    @property
    def model(self) -> Model:
        """The run inside."""
        return Model.from_bytes(self.toBytes())

    @property
    def skippedRows(self) -> int:
        """How many rows could not be learned from and were skipped."""
        return self._learned.skipped

    def toBytes(self) -> bytes:
        """Returns the program's own file of the model."""
        return self._learned.state

    def report(self) -> Report:
        """Returns what can be said of the run: what it cost, and what is proved of it."""
        return Report._of(self.model.report())

    def certificate(self, radius: float | None = None) -> float:
        """Returns the certificate: no comparator saved more than this per round."""
        return self.model.certificate(radius)

    def copy(self, extra: Any = None) -> Self:
        """Returns a copy with other parameters."""
        copied = super().copy(extra)
        copied._learned, copied._of = self._learned, self._of
        copied.windows, copied._sent = self.windows, self._sent
        return copied

    def _scored(self, df: DataFrame, column: str) -> DataFrame:
        """Adds the scores as a column of doubles."""

        def said(model: Model, table: Any) -> list[pa.Array]:
            return [pa.array(model.predict(table), pa.float64())]

        return self._with_columns(df, [StructField(column, DoubleType())], said)

    def _state(self, spark: SparkSession) -> Any:
        """Returns the bytes of the model for functions.

        Frames are lazy, and nobody knows when the last of them is done, so Spark keeps a large model
        until the session ends: it is sent once, and not for every frame.
        """
        if _rounds.is_small(spark, self.toBytes()):
            return _rounds.Small(self.toBytes())
        context = spark.sparkContext
        if context not in self._sent:
            self._sent[context] = context.broadcast(self.toBytes())
        return self._sent[context]

    def _columns(self, df: DataFrame) -> Columns:
        """Returns what the columns are. `featuresCol` may have got another name since the fit."""
        columns = self._of
        assert columns is not None
        if self.isSet(self.featuresCol) and columns.features != (self.getFeaturesCol(),):
            name = self.getFeaturesCol()
            if len(columns.features) != 1:
                shown = ", ".join(columns.features[:10])
                shown += ", ..." if len(columns.features) > 10 else ""
                raise ValueError(f"featuresCol: found {name}; the model has the features {shown}")
            columns = dataclasses.replace(columns, features=(name,))
        require(df, "featuresCol", *columns.features)
        for name in columns.features:
            if _are_vectors(df, name) != columns.is_vector:
                expected = "vectors or arrays" if columns.is_vector else "a value in every row"
                found = _spoken(df.schema[name].dataType)
                raise ValueError(f"column {name}: found {found}, expected {expected}")
        return columns

    def _with_columns(
        self, df: DataFrame, fields: list[StructField], said: Callable[[Model, Any], list[pa.Array]]
    ) -> DataFrame:
        """Adds what the model says of the rows."""
        state, columns, learned = self._state(df.sparkSession), self._columns(df), self._of
        assert learned is not None
        kinds, skips = to_arrow_schema(StructType(fields)), self._skips()

        def said_of(model: Model, batch: pa.RecordBatch) -> list[pa.Array]:
            if not len(batch):
                return [pa.array([], kind) for kind in kinds.types]
            if columns.is_vector and batch.column(columns.features[0]).null_count:
                columns.refuse_features(batch)
            try:
                table = columns.table(batch)
                if not columns.is_vector:
                    table = table.rename_columns(list(learned.features))
                return said(model, table)
            except ValueError:
                # The core knows what is wrong, and not where.
                columns.refuse_features(batch)
                raise

        def predict(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            mine, row = partition(), 0
            model = Model.from_bytes(state.value)
            for batch in batches:
                if skips:
                    batch = columns.predictable(batch)
                try:
                    new = said_of(model, batch)
                except BadRow as bad:
                    where = f"partition {mine}, row {row + bad.row}"
                    raise ValueError(f"{where}, {bad.what}") from bad
                row += len(batch)
                names = [*batch.schema.names, *kinds.names]
                yield pa.RecordBatch.from_arrays([*batch.columns, *new], names)

        schema = StructType([*df.schema.fields, *fields])
        return mapped(spread(df), gathering(predict), schema)

    def write(self) -> MLWriter:
        """Returns the writer."""
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader[Any]:
        """Returns the reader."""
        return _Reader(cls)


class _Writer(MLWriter):
    def __init__(self, instance: _Learned) -> None:
        super().__init__()
        self.instance = instance

    def saveImpl(self, path: str) -> None:
        of = self.instance._of
        assert of is not None
        about = {
            "features": list(of.features),
            "label": of.label,
            "weight": of.weight,
            "classes": list(of.classes) if of.classes else None,
            "isOfMany": of.is_of_many,
            "isVector": of.is_vector,
            "skips": of.skips,
            "skippedRows": self.instance.skippedRows,
            "windows": self.instance.windows,
        }
        DefaultParamsWriter.saveMetadata(
            self.instance, path, self.sparkSession, extraMetadata=about
        )
        _files.write(self.sparkSession, f"{path}/{_files.MODEL}", self.instance.toBytes())


class _Reader(MLReader[Any]):
    def __init__(self, kind: type[_Learned]) -> None:
        super().__init__()
        self.kind = kind

    def load(self, path: str) -> Any:
        about = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        classes = about["classes"]
        columns = Columns(
            tuple(about["features"]),
            about["label"],
            about["weight"],
            tuple(classes) if classes else None,
            about.get("isOfMany", False),
            about["isVector"],
            about["skips"],
        )
        state = _files.read(self.sparkSession, f"{path}/{_files.MODEL}")
        model = self.kind(Learned(state, about["skippedRows"]), columns)
        model.windows = about["windows"]
        model._resetUid(about["uid"])
        DefaultParamsReader.getAndSetParams(model, about)
        return model


class OnlineClassificationModel(_Learned, _Classes):
    """Classes that `OnlineClassifier` has learned to tell apart, with a certificate."""

    @property
    def classes(self) -> tuple[Any, ...]:
        """The labels in the order of probabilities; of two, the second is the positive one."""
        assert self._of is not None and self._of.classes is not None
        return self._of.classes

    def _transform(self, dataset: DataFrame) -> DataFrame:
        assert self._of is not None
        refuse_present(dataset, "predictionCol", self.getPredictionCol())
        refuse_present(dataset, "rawPredictionCol", self.getRawPredictionCol())
        if self._has_probabilities():
            refuse_present(dataset, "probabilityCol", self.getProbabilityCol())
        return (self._of_many if self._of.is_of_many else self._of_two)(dataset)

    def _has_probabilities(self) -> bool:
        """Tells whether the loss is one of probabilities, and not of scores alone."""
        task = self.model.task()
        return '"logistic"' in task or '"softmax"' in task

    def _of_many(self, dataset: DataFrame) -> DataFrame:
        """Adds the probabilities and scores of many classes, and the likeliest of them."""
        columns, model = self._of, self.model
        assert columns is not None
        known = columns.known(model.class_names() or [])
        has_probabilities = self._has_probabilities()
        kind = _kind_of(self.classes[0])
        labels = pa.array(self.classes, to_arrow_type(kind))

        vectors = ArrayType(DoubleType())
        made = [(self.getRawPredictionCol(), vectors), (self.getPredictionCol(), kind)]
        made += [(self.getProbabilityCol(), vectors)] if has_probabilities else []
        # A column without a name is left out, as in pyspark.ml.
        kept = [place for place, (name, _) in enumerate(made) if name]

        def all_of(model: Model, table: Any) -> list[pa.Array]:
            found = model.predict_classes(table, has_probabilities)
            if not has_probabilities:
                scores = known.scores(found)
                return [_lists(scores), labels.take(pa.array(scores.argmax(axis=1)))]
            shares = known.probabilities(found)
            with np.errstate(divide="ignore"):
                return [
                    _lists(np.log(shares)),
                    labels.take(pa.array(shares.argmax(axis=1))),
                    _lists(shares),
                ]

        def said(model: Model, table: Any) -> list[pa.Array]:
            all_columns = all_of(model, table)
            return [all_columns[place] for place in kept]

        fields = [StructField(*made[place]) for place in kept]
        found = self._with_columns(dataset, fields, said)
        for field in fields:
            if field.dataType == vectors:
                found = found.withColumn(field.name, array_to_vector(named(field.name)))
        return found

    def _of_two(self, dataset: DataFrame) -> DataFrame:
        score = "__rueful_score"
        found = self._scored(dataset, score)
        has_probabilities = self._has_probabilities()
        kind = (
            dataset.schema[self.getLabelCol()].dataType
            if self.getLabelCol() in dataset.columns
            else None
        )
        low, high = (F.lit(label) for label in self.classes)
        label = F.when(F.col(score) > 0, high).otherwise(low)
        # A column without a name is left out, as in pyspark.ml.
        if self.getRawPredictionCol():
            raw = F.array(-F.col(score), F.col(score))
            found = found.withColumn(self.getRawPredictionCol(), array_to_vector(raw))
        if has_probabilities and self.getProbabilityCol():
            up = 1 / (1 + F.exp(-F.col(score)))
            both = F.array(1 / (1 + F.exp(F.col(score))), up)
            found = found.withColumn(self.getProbabilityCol(), array_to_vector(both))
        # The evaluators of pyspark.ml want numbers to be doubles.
        if isinstance(kind, NumericType):
            kind = DoubleType()
        label = label.cast(kind) if kind is not None else label
        if self.getPredictionCol():
            found = found.withColumn(self.getPredictionCol(), label)
        return found.drop(score)


def _lists(rows: _data.Doubles) -> pa.Array:
    """Returns the rows of a matrix as lists."""
    offsets = np.arange(0, rows.size + 1, rows.shape[1], dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(rows.ravel()))


def _kind_of(label: Any) -> DataType:
    """Returns the type of a column of predicted labels. Numbers are doubles, as in pyspark.ml."""
    if isinstance(label, bool):
        return BooleanType()
    return StringType() if isinstance(label, str) else DoubleType()


class OnlineRegressionModel(_Learned):
    """Numbers that `OnlineRegressor` has learned to predict, with a certificate."""

    def _transform(self, dataset: DataFrame) -> DataFrame:
        refuse_present(dataset, "predictionCol", self.getPredictionCol())
        column = self.getPredictionCol()
        return self._scored(dataset, column) if column else dataset


class _Online(_Shared, Estimator, DefaultParamsReadable, DefaultParamsWritable):
    """The common part of the estimators."""

    _usual_loss: ClassVar[str]
    _kind: ClassVar[type[_Learned]]

    loss = Param(Params._dummy(), "loss", "the loss", typeConverter=TypeConverters.toString)
    radius = Param(
        Params._dummy(),
        "radius",
        "the largest norm of the comparators",
        typeConverter=TypeConverters.toFloat,
    )
    numParts = Param(
        Params._dummy(),
        "numParts",
        "how many parts learn side by side; the partitions of the data if left out",
        typeConverter=TypeConverters.toInt,
    )
    firstSlice = Param(
        Params._dummy(),
        "firstSlice",
        "how many rows one part learns from alone, before all learn side by side",
        typeConverter=TypeConverters.toInt,
    )

    def _begin(self, given: dict[str, Any]) -> None:
        self._setDefault(loss=self._usual_loss, firstSlice=32_768, handleInvalid="error")
        self._set(**{name: value for name, value in given.items() if value is not None})

    def setParams(self, **given: Any) -> Self:
        """Sets some parameters by their names."""
        unknown = [name for name in given if not self.hasParam(name)]
        if unknown:
            raise TypeError(f"setParams: found no parameter {unknown[0]}")
        return self._set(**given)

    def getLoss(self) -> str:
        """Returns the loss."""
        return str(self.getOrDefault(self.loss))

    def setLoss(self, value: str) -> Self:
        """Sets the loss."""
        return self._set(loss=value)

    def getRadius(self) -> float:
        """Returns the largest norm of the comparators."""
        return float(self.getOrDefault(self.radius))

    def setRadius(self, value: float) -> Self:
        """Sets the largest norm of the comparators."""
        return self._set(radius=value)

    def getNumParts(self) -> int:
        """Returns how many parts learn side by side."""
        return int(self.getOrDefault(self.numParts))

    def setNumParts(self, value: int) -> Self:
        """Sets how many parts learn side by side."""
        return self._set(numParts=value)

    def getFirstSlice(self) -> int:
        """Returns how many rows one part learns from alone, before all learn side by side."""
        return int(self.getOrDefault(self.firstSlice))

    def setFirstSlice(self, value: int) -> Self:
        """Sets how many rows one part learns from alone, before all learn side by side."""
        return self._set(firstSlice=value)

    def _settings(self, columns: Columns, **more: Any) -> dict[str, Any]:
        given: dict[str, Any] = {"loss": self._loss_for(columns), **more}
        if self.isSet(self.radius):
            given["radius"] = self.getRadius()
        return _data.pick(given, _data.SETTINGS)

    def _loss_for(self, columns: Columns) -> str:
        """Returns the loss for rows with these columns."""
        return self.getLoss()

    def _unknown_label(self, df: DataFrame) -> str | None:
        """Returns the column whose labels must be found in the data, if there is one."""
        return None

    def _with_labels(self, columns: Columns, found: list[Any] | None) -> Columns:
        """Returns the columns with the labels of classes, if there are classes.

        `found` are those in the data, if anybody looked for them.
        """
        return columns

    def _columns(self, df: DataFrame) -> Columns:
        """Returns what the columns are. The labels of classes are not known yet."""
        skips = self._skips()
        for param in (self.numParts, self.firstSlice):
            if self.isDefined(param) and self.getOrDefault(param) < 1:
                found = self.getOrDefault(param)
                raise ValueError(f"{param.name}: found {found}, expected 1 or more")
        features, is_vector = self._features(df)
        return Columns(
            features,
            self.getLabelCol(),
            self._weight(),
            is_vector=is_vector,
            skips=skips,
        )

    def _known_columns(self, df: DataFrame) -> Columns:
        """Returns what the columns are. Labels of classes are looked for in the data."""
        columns, label = self._columns(df), self._unknown_label(df)
        found = None if label is None else _distinct(df, label)
        return self._with_labels(columns, found)

    def _fresh(self, df: DataFrame, columns: Columns, **more: Any) -> Learned:
        """Returns a model that has seen nothing, for rows like these."""
        of_two = columns.classes is not None and not columns.is_of_many
        classes = [_data.class_name(label) for label in columns.classes or ()] if of_two else None
        asked, table = _data.columns({}, None), _no_rows(df, columns)
        settings = self._settings(columns, **more)
        model = Model(settings, asked, table, constant=True, classes=classes)
        return Learned(model.to_bytes())

    def _go_on(
        self, base: Learned | None, df: DataFrame, columns: Columns, folder: str
    ) -> tuple[Learned, Columns, Learned]:
        """Learns from rows. Unless they lie in files, they are written out to a folder meanwhile.

        Returns what was learned, the columns with all labels, and the model before.
        """
        spark = df.sparkSession
        df = spread(with_doubles(df, columns.label), columns.names())
        if self.isSet(self.numParts):
            df = _rounds.in_parts(df, self.getNumParts())
        if self.isSet(self.loss) and _rounds.partitions(df) > 1:
            self._refuse_unmergeable(df, columns)
        if _rounds.is_in_place(df):
            with _rounds.held(spark):
                return self._learned(base, df, _rounds.InPlace(df), columns)
        try:
            _rounds.numbered(df).write.mode("overwrite").parquet(folder)
            return self._learned(base, df, _rounds.Written(spark.read.parquet(folder)), columns)
        finally:
            _files.remove(spark, folder)

    def _refuse_unmergeable(self, df: DataFrame, columns: Columns) -> None:
        """Refuses a loss whose learner cannot be merged."""
        fresh = Model.from_bytes(self._fresh(df, columns).state)
        try:
            part(fresh, is_only=False)
        except ValueError as why:
            raise ValueError(f"loss: found {self.getLoss()}: {why}; numParts=1 learns it") from why

    def _learned(
        self,
        base: Learned | None,
        df: DataFrame,
        rows: _rounds.Written | _rounds.InPlace,
        columns: Columns,
    ) -> tuple[Learned, Columns, Learned]:
        # The labels of two classes stay as they are, and more may always come to many.
        is_open = columns.classes is None or columns.is_of_many
        survey = rows.survey(self._unknown_label(df) if is_open else None)
        columns = self._with_labels(columns, survey.labels) if is_open else columns
        base = base or self._fresh(df, columns)
        learned = _rounds.learned(base, rows, survey.counts, columns, self.getFirstSlice())
        return learned, columns, base

    def _made(self, learned: Learned, columns: Columns) -> Any:
        """Returns the model of pyspark.ml."""
        return self._copyValues(self._kind(learned, columns))

    def _fit(self, dataset: DataFrame) -> Any:
        columns, folder = self._columns(dataset), _work_folder(dataset.sparkSession)
        learned, columns, base = self._go_on(None, dataset, columns, folder)
        if learned is base:
            raise ValueError("the data have no rows")
        return self._made(learned, columns)

    def fitStream(
        self, df: DataFrame, checkpoint: str, *, queryName: str | None = None, **trigger: Any
    ) -> LearningStream:
        """Learns from a stream of Structured Streaming, batch by batch, and returns at once.

        Parameters
        ----------
        df : DataFrame
            A stream. Its source must be able to give the rows of a batch again.
        checkpoint : str
            A folder that all machines see. It holds the position of Spark and the model. The same
            stream goes on there when it is started again, and every row counts once.
        queryName : str, optional
            The name of the query.
        **trigger
            What `DataStreamWriter.trigger` takes: `availableNow=True`, or `processingTime="1
            minute"`.
        """
        return LearningStream(self, df, checkpoint, queryName, trigger)


def _no_rows(df: DataFrame, columns: Columns) -> Any:
    """Returns a table of the features without rows."""
    if columns.is_vector:
        return _data.sparse(scipy.sparse.csr_matrix((0, 0)))
    kinds = {name: df.schema[name].dataType for name in columns.features}
    # Arrow wants to know the time zone of moments, and the core does not.
    fields = [
        StructField(name, TimestampNTZType() if isinstance(kind, TimestampType) else kind)
        for name, kind in kinds.items()
    ]
    return to_arrow_schema(StructType(fields)).empty_table()


class OnlineClassifier(_Classes, _Online):
    """Learns to tell classes apart, on all machines of a cluster, and proves its own regret.

    The parameters have the names of pyspark.ml. Without `featuresCol`, all columns beside label and
    weight are features: numbers, booleans and words. The loss is `logistic` for two classes and
    `softmax` for more, unless it is set.
    """

    _usual_loss = "auto"
    _kind = OnlineClassificationModel

    classes = Param(
        Params._dummy(),
        "classes",
        "all labels, of two the positive one last; found in the data if left out",
        typeConverter=TypeConverters.toList,
    )

    @keyword_only
    def __init__(
        self,
        *,
        labelCol: str = "label",
        featuresCol: str | None = None,
        weightCol: str | None = None,
        predictionCol: str = "prediction",
        probabilityCol: str = "probability",
        rawPredictionCol: str = "rawPrediction",
        classes: list[Any] | None = None,
        loss: str | None = None,
        radius: float | None = None,
        numParts: int | None = None,
        firstSlice: int | None = None,
        handleInvalid: str | None = None,
    ) -> None:
        super().__init__()
        self._begin(self._input_kwargs)

    def getClasses(self) -> list[Any]:
        """Returns the labels, if they were set."""
        return list(self.getOrDefault(self.classes))

    def setClasses(self, value: list[Any]) -> Self:
        """Sets the labels, of two the positive one last."""
        return self._set(classes=value)

    def _loss_for(self, columns: Columns) -> str:
        if self.getLoss() != "auto":
            return self.getLoss()
        return "softmax" if columns.is_of_many else "logistic"

    def _columns(self, df: DataFrame) -> Columns:
        columns = super()._columns(df)
        require_classes(df, "labelCol", columns.label)
        return columns

    def _refuse_unmergeable(self, df: DataFrame, columns: Columns) -> None:
        # Any two classes will do: nobody has looked for those in the data yet.
        is_of_many = self.getLoss() in OF_MANY
        some = dataclasses.replace(columns, classes=(False, True), is_of_many=is_of_many)
        super()._refuse_unmergeable(df, some)

    def _unknown_label(self, df: DataFrame) -> str | None:
        name = self.getLabelCol()
        is_truth = isinstance(df.schema[name].dataType, BooleanType)
        return None if is_truth or self.isSet(self.classes) else name

    def _with_labels(self, columns: Columns, found: list[Any] | None) -> Columns:
        if found is None:
            both = self.getClasses() if self.isSet(self.classes) else [False, True]
            return self._with_classes(columns, both)
        # A row without a label is refused where it is met, with its place.
        known = [label for label in found if label is not None and label == label]
        return self._with_classes(columns, sorted({*known, *(columns.classes or ())}))

    def _with_classes(self, columns: Columns, labels: list[Any]) -> Columns:
        loss, is_set = self.getLoss(), self.isSet(self.classes)
        is_of_many = columns.is_of_many or loss in OF_MANY or (loss == "auto" and len(labels) > 2)
        shown = ", ".join(repr(one) for one in labels[:5]) or "none"
        found = f"column {columns.label}: expected {{}}, found {shown}"
        found += ", ..." if len(labels) > 5 else ""
        fix = "" if is_set else "; classes=[...] names them, if the data do not have all yet"
        if is_of_many and (len(labels) < 2 or len(set(labels)) < len(labels)):
            raise ValueError(found.format("at least two classes") + fix)
        if not is_of_many and len(labels) != 2:
            more = "; loss='softmax' learns any number of them" if loss in OF_TWO else ""
            fix = fix if len(labels) < 2 else more
            raise ValueError(found.format("two classes") + fix)
        return dataclasses.replace(columns, classes=tuple(labels), is_of_many=is_of_many)


#: The most classes that are looked for.
_MOST_CLASSES = 10_000


def _distinct(df: DataFrame, name: str) -> list[Any]:
    """Returns the labels of a column."""
    found = with_doubles(df.select(named(name)), name).distinct().limit(_MOST_CLASSES + 1).collect()
    if len(found) > _MOST_CLASSES:
        raise ValueError(f"column {name}: found more than {_MOST_CLASSES} labels")
    return [row[0] for row in found]


class OnlineRegressor(_Online):
    """Learns to predict numbers, on all machines of a cluster, and proves its own regret."""

    _usual_loss = "square"
    _kind = OnlineRegressionModel

    tau = Param(
        Params._dummy(),
        "tau",
        "the quantile of loss='quantile'; the median if left out",
        typeConverter=TypeConverters.toFloat,
    )

    def getTau(self) -> float:
        """Returns the quantile."""
        return float(self.getOrDefault(self.tau))

    def setTau(self, value: float) -> Self:
        """Sets the quantile of `loss="quantile"`."""
        return self._set(tau=value)

    def _settings(self, columns: Columns, **more: Any) -> dict[str, Any]:
        if self.isSet(self.tau):
            more["tau"] = self.getTau()
        return super()._settings(columns, **more)

    def _columns(self, df: DataFrame) -> Columns:
        if self.getLoss() in OF_MANY:
            raise ValueError(f"loss: {self.getLoss()} is for classes: OnlineClassifier learns them")
        columns = super()._columns(df)
        require_numbers(df, "labelCol", columns.label)
        return columns

    @keyword_only
    def __init__(
        self,
        *,
        labelCol: str = "label",
        featuresCol: str | None = None,
        weightCol: str | None = None,
        predictionCol: str = "prediction",
        loss: str | None = None,
        tau: float | None = None,
        radius: float | None = None,
        numParts: int | None = None,
        firstSlice: int | None = None,
        handleInvalid: str | None = None,
    ) -> None:
        super().__init__()
        self._begin(self._input_kwargs)
