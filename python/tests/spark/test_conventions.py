"""What people expect of an estimator and a model of pyspark.ml."""

import datetime
import decimal
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import rueful
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.evaluation import BinaryClassificationEvaluator
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.tuning import CrossValidator, CrossValidatorModel, TrainValidationSplit
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from rueful.spark import (
    OnlineClassificationModel,
    OnlineClassifier,
    OnlineRegressionModel,
    OnlineRegressor,
    audit,
    hindsight,
)

ROWS = 120

#: The parameters, and a value for each that is not the usual one.
COLUMNS = {
    "labelCol": "l",
    "featuresCol": "f",
    "weightCol": "w",
    "predictionCol": "p",
    "handleInvalid": "skip",
}
OF_CLASSES = {"probabilityCol": "share", "rawPredictionCol": "raw"}
LEARNING = {"loss": "hinge", "radius": 2.5, "numParts": 3, "firstSlice": 77}


@pytest.fixture(scope="module")
def rows(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """Two numbers and a class, in two files."""
    folder, rng = tmp_path_factory.mktemp("rows"), np.random.default_rng(6)
    x, z = rng.normal(size=ROWS), rng.normal(size=ROWS)
    table = pd.DataFrame({"x": x, "z": z, "label": (x + 0.3 * z > 0).astype(np.int64)})
    for number in range(2):
        half = table.iloc[ROWS // 2 * number : ROWS // 2 * (number + 1)]
        half.to_parquet(folder / f"{number}.parquet", index=False)
    return spark.read.parquet(str(folder))


@pytest.fixture(scope="module")
def both(rows: DataFrame) -> DataFrame:
    """The numbers as vectors, too."""
    return VectorAssembler(inputCols=["x", "z"], outputCol="both").transform(rows)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (OnlineClassifier, COLUMNS | OF_CLASSES | LEARNING | {"classes": ["no", "yes"]}),
        (OnlineRegressor, COLUMNS | LEARNING | {"loss": "quantile", "tau": 0.25}),
        (OnlineClassificationModel, COLUMNS | OF_CLASSES),
        (OnlineRegressionModel, COLUMNS),
    ],
)
def test_every_parameter_has_a_getter_and_a_setter(
    kind: Any, values: dict[str, Any], spark: SparkSession, tmp_path: Path
) -> None:
    one = kind()
    assert {param.name for param in one.params} == set(values)
    for name, value in values.items():
        own = name[0].upper() + name[1:]
        assert getattr(one, f"set{own}")(value) is one
        assert getattr(one, f"get{own}")() == value
    # A copy has the same parameters, and changes alone.
    copied = one.copy({one.labelCol: "truth"})
    assert copied.uid == one.uid and copied.getLabelCol() == "truth" and one.getLabelCol() == "l"
    assert copied.getFeaturesCol() == "f"
    if kind in (OnlineClassifier, OnlineRegressor):
        made = kind(**values)
        for other in (made, kind().setParams(**values)):
            assert all(other.getOrDefault(name) == value for name, value in values.items())
        one.write().overwrite().save(f"file://{tmp_path}/estimator")
        again = kind.load(f"file://{tmp_path}/estimator")
        assert again.uid == one.uid
        assert all(again.getOrDefault(name) == value for name, value in values.items())
        with pytest.raises(TypeError, match="found no parameter lableCol"):
            kind().setParams(lableCol="l")


def test_pipelines_are_saved(rows: DataFrame, tmp_path: Path) -> None:
    learner = OnlineClassifier(featuresCol="both", firstSlice=20)
    steps = [VectorAssembler(inputCols=["x", "z"], outputCol="both"), learner]
    # Parameters of a step may be given where the pipeline is fitted.
    fitted = Pipeline(stages=steps).fit(rows, {learner.predictionCol: "said"})
    fitted.write().overwrite().save(f"file://{tmp_path}/fitted")
    again = PipelineModel.load(f"file://{tmp_path}/fitted")
    said = [[row["said"] for row in one.transform(rows).collect()] for one in (fitted, again)]
    assert said[0] == said[1] and set(said[0]) == {0.0, 1.0}


def test_the_draws_of_a_search_are_no_feature(rows: DataFrame, tmp_path: Path) -> None:
    """pyspark.ml leaves the column from which it drew the folds in the data."""
    learner = OnlineClassifier(firstSlice=20)
    search = CrossValidator(
        estimator=learner,
        estimatorParamMaps=[{learner.radius: 3.0}],
        evaluator=BinaryClassificationEvaluator(),
        numFolds=2,
        seed=1,
        collectSubModels=True,
    )
    found = search.fit(rows)
    models = [found.bestModel, *(one for fold in found.subModels for one in fold)]
    # Two columns, and the constant feature.
    assert [model.report()["features"] for model in models] == [3, 3, 3]
    found.write().overwrite().save(f"file://{tmp_path}/found")
    again = CrossValidatorModel.load(f"file://{tmp_path}/found")
    assert again.bestModel.toBytes() == found.bestModel.toBytes()
    split = TrainValidationSplit(
        estimator=learner,
        estimatorParamMaps=[{learner.radius: 3.0}, {learner.radius: 5.0}],
        evaluator=BinaryClassificationEvaluator(),
        seed=1,
        collectSubModels=True,
    ).fit(rows)
    assert min(split.validationMetrics) > 0.5
    models = [split.bestModel, *split.subModels]
    assert [model.report()["features"] for model in models] == [3, 3, 3]
    drawn = rows.withColumn(f"{TrainValidationSplit().uid}_rand", F.rand(1))
    assert learner._features(drawn) == (("x", "z"), False)
    assert learner._features(rows.withColumn("my_rand", F.rand(1)))[0] == ("x", "z", "my_rand")


def test_searches_skip_bad_rows(rows: DataFrame, both: DataFrame) -> None:
    """A search predicts rows, too, and the parameter of its estimator is that of its models."""
    place = F.monotonically_increasing_id()
    bad = rows.withColumn("x", F.when(place == 7, math.inf).otherwise(F.col("x")))
    learner = OnlineClassifier(numParts=1, handleInvalid="skip")
    search = CrossValidator(
        estimator=learner,
        estimatorParamMaps=[{}],
        evaluator=BinaryClassificationEvaluator(),
        numFolds=2,
        seed=1,
    )
    best = search.fit(bad).bestModel
    assert best.skippedRows == 1 and best.report()["examples"] == ROWS - 1
    said = best.transform(bad).collect()
    assert len(said) == ROWS - 1 and all(math.isfinite(row["x"]) for row in said)
    with pytest.raises(ValueError, match="handleInvalid: found 'keep', expected 'error' or 'skip'"):
        best.setHandleInvalid("keep").transform(bad)
    # Vectors that are missing are left out as well.
    gone = both.drop("x", "z").withColumn("both", F.when(place % 5 > 0, F.col("both")))
    of_vectors = learner.copy().setFeaturesCol("both").fit(gone)
    assert of_vectors.skippedRows == ROWS // 5
    assert of_vectors.transform(gone).count() == ROWS - ROWS // 5


def test_a_model_reads_another_column(rows: DataFrame, both: DataFrame) -> None:
    def said(model: Any, df: DataFrame) -> list[float]:
        return [row["rawPrediction"][1] for row in model.transform(df).collect()]

    vectors = OnlineClassifier(featuresCol="both", numParts=1).fit(both)
    twice = VectorAssembler(inputCols=["z", "x"], outputCol="turned").transform(both)
    turned = vectors.copy({vectors.featuresCol: "turned"})
    assert said(turned, twice) != said(vectors, twice)
    assert said(turned.setFeaturesCol("both"), twice) == said(vectors, twice)
    with pytest.raises(ValueError, match="column x: found doubles, expected vectors or arrays"):
        vectors.copy().setFeaturesCol("x").transform(twice)
    number = OnlineClassifier(featuresCol="x", numParts=1).fit(rows)
    renamed = rows.withColumnRenamed("x", "length")
    assert said(number.copy().setFeaturesCol("length"), renamed) == said(number, rows)
    with pytest.raises(ValueError, match="column both: found vectors, expected a value in every"):
        number.setFeaturesCol("both").transform(both)
    whole = OnlineClassifier(numParts=1).fit(rows).setFeaturesCol("both")
    with pytest.raises(ValueError, match="found both; the model has the features x, z"):
        whole.transform(both)


def test_columns_without_a_name_are_left_out(rows: DataFrame) -> None:
    model = OnlineClassifier(numParts=1).fit(rows)
    three = rows.withColumn("label", (F.col("x") > 0).cast("int") + (F.col("z") > 0).cast("int"))
    of_many = OnlineClassifier(numParts=1).fit(three)
    number = OnlineRegressor(numParts=1).fit(rows)
    for made in (model, of_many):
        assert made.transform(rows).columns[3:] in (
            ["rawPrediction", "probability", "prediction"],
            ["rawPrediction", "prediction", "probability"],
        )
        made.setRawPredictionCol("").setProbabilityCol("")
        found = made.transform(rows)
        assert found.columns == [*rows.columns, "prediction"] and found.count() == ROWS
        assert made.setPredictionCol("").transform(rows).columns == rows.columns
    unweighted = OnlineClassifier(numParts=1, weightCol="").fit(rows)
    assert unweighted.toBytes() == model.toBytes()
    assert number.setPredictionCol("").transform(rows).columns == rows.columns


def test_every_kind_of_column_is_a_feature(spark: SparkSession) -> None:
    schema = (
        "whole tinyint, long bigint, single float, exact decimal(9,2), is boolean, word string, "
        "day date, moment timestamp_ntz, label string, count smallint"
    )
    begin = datetime.date(2024, 1, 1)
    made = []
    for k in range(60):
        day = begin + datetime.timedelta(days=k)
        moment = datetime.datetime.combine(day, datetime.time(k % 24))
        exact = decimal.Decimal(k % 7) / 2
        numbers = [k % 5, k << 33, k % 11 / 4, exact] if k % 9 else [None] * 4
        words = [k % 2 == 0, "abc"[k % 3]] if k % 10 else [None] * 2
        made.append((*numbers, *words, day, moment, "no" if k % 4 else "yes", 1 + k % 3))
    df = spark.createDataFrame(made, schema).coalesce(1)
    model = OnlineClassifier(weightCol="count", numParts=1).fit(df)
    names = {name.split("=")[0] for name, *_ in model.model.named_weights()}
    assert {"whole", "long", "single", "exact", "is", "word"} <= names
    assert {"day·weekday", "moment·hour"} <= names
    frame = df.drop("label", "count").toArrow()
    labels = np.array([row[-2] for row in made])
    weights = np.array([float(row[-1]) for row in made])
    alone = rueful.OnlineClassifier().fit(frame, labels, sample_weight=weights)
    assert model.certificate() == alone.certificate()
    assert model.transform(df).where("prediction = 'yes'").count() > 0


@pytest.mark.parametrize("count", [2, 3])
def test_decimal_labels_are_numbers(
    count: int, spark: SparkSession, rows: DataFrame, tmp_path: Path
) -> None:
    """Those of `case when … then 1.0 else 0.0 end` in SQL are decimal numbers."""
    number = "case when x > 0 then 1.0 else 0.0 end"
    number += " + case when z > 0 then 1.0 else 0.0 end" if count == 3 else ""
    decimals = rows.withColumn("label", F.expr(number))
    doubles = rows.withColumn("label", F.expr(f"double({number})"))
    assert decimals.schema["label"].dataType.typeName() == "decimal"
    learner = OnlineClassifier(firstSlice=20)
    model, alike = (learner.fit(df) for df in (decimals, doubles))
    assert model.toBytes() == alike.toBytes() and model.classes == tuple(map(float, range(count)))
    model.write().save(f"file://{tmp_path}/model")
    again = OnlineClassificationModel.load(f"file://{tmp_path}/model")
    said = [
        [row["prediction"] for row in one.transform(df).collect()]
        for one, df in ((again, decimals), (alike, doubles))
    ]
    assert said[0] == said[1] and set(said[0]) <= set(map(float, range(count)))
    scored = again.transform(decimals)
    given = {"features": ["x", "z"]}
    if count == 3:
        given |= {"loss": "softmax", "classes": [0, 1, 2]}
        judged = audit(scored, prediction="probability", label="label", **given)
    else:
        judged = audit(scored, prediction="x", label="label", **given)
    assert judged.report()["examples"] == ROWS
    found, known = (hindsight(df, max_passes=1)["comparator"] for df in (decimals, doubles))
    assert found == known


def test_labels_that_name_no_class_are_refused(rows: DataFrame) -> None:
    dates = rows.withColumn("label", F.expr("date_add(date'2024-01-01', int(label))"))
    for learn in (OnlineClassifier().fit, hindsight):
        with pytest.raises(ValueError, match="labelCol: found a column of dates, expected numbers"):
            learn(dates)


def test_arrays_hold_numbers(spark: SparkSession) -> None:
    found = []
    for kind in ("double", "float", "int", "decimal(5,1)"):
        numbers = (F.array(F.col("id") % 5, F.col("id") % 3)).cast(f"array<{kind}>")
        df = spark.range(40).select(numbers.alias("f"), (F.col("id") % 2).alias("label"))
        model = OnlineClassifier(featuresCol="f", numParts=1).fit(df)
        found.append((model.certificate(), model.transform(df).where("prediction = 1").count()))
    assert len(set(found)) == 1
    words = spark.createDataFrame([(["a"], 1), (["b"], 0)], "f array<string>, label long")
    with pytest.raises(ValueError, match="column f: found arrays of strings, expected arrays of n"):
        OnlineClassifier(featuresCol="f").fit(words)


def test_any_path_of_hadoop_will_do(
    spark: SparkSession, rows: DataFrame, tmp_path: Path
) -> None:
    """Another file system of Hadoop, which only the settings of the session know."""
    mount = "fs.viewfs.mounttable.rueful.link./place"
    spark.conf.set(mount, tmp_path.as_uri())
    spark.conf.set("spark.rueful.dir", "viewfs://rueful/place/work")
    try:
        learner = OnlineClassifier(numParts=2, firstSlice=20)
        model = learner.fit(rows)
        model.write().overwrite().save("viewfs://rueful/place/model")
        again = OnlineClassificationModel.load("viewfs://rueful/place/model")
        assert again.toBytes() == model.toBytes()
        assert rueful.load(tmp_path / "model" / "model.rueful").certificate() == model.certificate()
        rows.write.parquet("viewfs://rueful/place/rows")
        arriving = spark.readStream.schema(rows.schema).parquet("viewfs://rueful/place/rows")
        for _ in range(2):
            stream = learner.fitStream(arriving, "viewfs://rueful/place/point", availableNow=True)
            stream.awaitTermination()
            assert stream.report()["examples"] == ROWS
        assert (tmp_path / "point" / "models" / "0" / "model.rueful").exists()
        # What was written out for a fit is gone.
        assert not list((tmp_path / "work").iterdir())
    finally:
        spark.conf.unset(mount)
        spark.conf.unset("spark.rueful.dir")
