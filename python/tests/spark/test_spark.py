"""rueful.spark on a real cluster of two worker processes."""

import doctest
import itertools
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import rueful
from pyspark.ml import Pipeline
from pyspark.ml.evaluation import (
    BinaryClassificationEvaluator,
    MulticlassClassificationEvaluator,
)
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.linalg import Vectors
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from rueful._rueful import Model, part, take_parts
from rueful.spark import (
    OnlineClassificationModel,
    OnlineClassifier,
    OnlineRegressor,
    _audit,
    _rounds,
    audit,
    hindsight,
)
from rueful.spark._rows import PART, ROW


@pytest.fixture(scope="module")
def model(data: DataFrame) -> OnlineClassificationModel:
    return estimator().fit(data.drop("y"))


def estimator() -> OnlineClassifier:
    return OnlineClassifier(firstSlice=50)


def test_rounds_are_longer_where_rows_are_many_for_every_weight() -> None:
    assert _rounds.slices(500_000, 2, 0, 32_768, 29) == [(0, 500_000)]
    found = _rounds.slices(100_000, 4, 0, 1_000, 50_000)
    assert found[0] == (0, 500) and found[-1][1] == 100_000
    for (start, end), (begin, _) in itertools.pairwise(found):
        # The parts together see twice what the model has seen.
        assert end == begin and 4 * (end - start) == 2 * max(1_000, 4 * start)


def test_one_part_is_the_program(spark: SparkSession, table: pd.DataFrame) -> None:
    found = table.drop(columns="y")
    ours = OnlineClassifier(numParts=1).fit(spark.createDataFrame(found).coalesce(1))
    alone = rueful.OnlineClassifier().fit(found.drop(columns="label"), found["label"])
    assert ours.toBytes() == alone._model.to_bytes()


@pytest.mark.parametrize("settings", [{}, {"loss": "quantile", "tau": 0.9}])
def test_one_part_of_numbers_is_the_program(
    settings: dict[str, Any], spark: SparkSession, table: pd.DataFrame
) -> None:
    found = table[["x", "z", "y"]].iloc[:300]
    df = spark.createDataFrame(found).coalesce(1)
    ours = OnlineRegressor(labelCol="y", **settings).fit(df)
    alone = rueful.OnlineRegressor(**settings).fit(found[["x", "z"]], found["y"])
    assert ours.toBytes() == alone._model.to_bytes()
    if settings:
        best = hindsight(df, label="y", max_passes=2, **settings)["comparator"]
        known = rueful.hindsight(found[["x", "z"]], found["y"], **settings)["comparator"]
        assert best["lower"] <= known["upper"] and known["lower"] <= best["upper"]
    with pytest.raises(ValueError, match="tau"):
        OnlineRegressor(labelCol="y", tau=0.9).fit(df)


def test_parts_make_a_certified_model(model: OnlineClassificationModel, data: DataFrame) -> None:
    report = model.report()
    assert report["examples"] == 1500
    assert report["sequential_risk"] < 0.4
    assert model.certificate(radius=3.0) < report["sequential_risk"]
    said = model.transform(data.drop("y")).select("label", "prediction", "probability").collect()
    assert np.mean([row["label"] == row["prediction"] for row in said]) > 0.88
    assert all(abs(row["probability"].toArray().sum() - 1) < 1e-9 for row in said)


def test_machines_make_no_difference(data: DataFrame, model: OnlineClassificationModel) -> None:
    """The same parts give the same bytes."""
    assert estimator().fit(data.drop("y")).toBytes() == model.toBytes()


def test_many_parts_are_joined_in_levels(
    data: DataFrame, model: OnlineClassificationModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no more than two are joined at a time, six parts need levels: a part counts once."""
    taken, take = [], _rounds.take_parts

    def counted(base: Model, parts: list[Model]) -> None:
        taken.append(len(parts))
        take(base, parts)

    monkeypatch.setattr(_rounds, "take_parts", counted)
    found = []
    # Two come to the driver where only two are joined, and one where models are large.
    for name, value, most in (("FAN", 2, 2), ("FAN", 2, 2), ("BUDGET", 1, 1)):
        with monkeypatch.context() as patch:
            patch.setattr(_rounds, name, value)
            found.append(estimator().fit(data.drop("y")))
        assert max(taken) == most
        taken.clear()
    assert found[0].toBytes() == found[1].toBytes() != model.toBytes()
    own = model.report()
    for one in found[1:]:
        report = one.report()
        assert report["examples"] == own["examples"] == 1500
        assert report["sequential_risk"] == pytest.approx(own["sequential_risk"], rel=0.02)


def test_parts_have_their_rows_in_the_order_of_the_data(data: DataFrame) -> None:
    """However rows arrive at their parts, the bytes are the same."""
    rows = data.select(F.monotonically_increasing_id().alias("place"), "x")
    for parts in (1, 4):
        spread = _rounds.in_parts(rows, parts).withColumn("part", F.spark_partition_id())
        found = [(row["part"], row["place"]) for row in spread.collect()]
        assert len(found) == 1500 and found == sorted(found)
        assert {part for part, _ in found} == set(range(parts))
    learner = OnlineClassifier(numParts=4, firstSlice=100)
    assert learner.fit(data.drop("y")).toBytes() == learner.fit(data.drop("y")).toBytes()


def test_partitions_are_counted_without_work(spark: SparkSession, data: DataFrame) -> None:
    """An audit of rows after a shuffle shuffles them once."""
    spark.sparkContext.setJobGroup("counted", "how many partitions there are")
    try:
        words = data.groupBy("word").count()
        counts = [_rounds.partitions(df) for df in (data, data.repartition(5), words)]
        jobs = list(spark.sparkContext.statusTracker().getJobIdsForGroup("counted"))
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    assert counts == [6, 5, 2] and jobs == []
    assert _rounds.partitions(data.repartition(5).localCheckpoint()) == 5


def test_files_are_read_where_they_lie(
    data: DataFrame, model: OnlineClassificationModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that are written out first give the same bytes."""
    df = data.drop("y")
    assert _rounds.is_in_place(df) and not _rounds.is_in_place(df.repartition(2))
    assert not _rounds.is_in_place(df.where("rand() < 0.5"))
    for moment in ("current_timestamp()", "now()", "current_date()", "localtimestamp()"):
        # The time stands still within a job, and goes on from one to the next.
        assert not _rounds.is_in_place(df.where(f"date'2024-01-01' < {moment}"))
    monkeypatch.setattr(_rounds, "is_in_place", lambda df: False)
    assert estimator().fit(df).toBytes() == model.toBytes()


def test_machines_may_come_and_go(
    spark: SparkSession, table: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark cuts files by the cores that there are. Within a fit, they are cut as at its start."""
    for number in range(6):
        rows = table[["x", "label"]].iloc[250 * number : 250 * (number + 1)]
        rows.to_parquet(tmp_path / f"{number}.parquet", index=False)
    df, cores = spark.read.parquet(str(tmp_path)), "spark.sql.leafNodeDefaultParallelism"
    quiet, play = estimator().fit(df).toBytes(), _rounds.play
    before = _rounds.InPlace(df).survey(None).counts

    def more(*given: Any, **named: Any) -> Any:
        found = play(*given, **named)
        spark.conf.set(cores, "6")
        return found

    try:
        monkeypatch.setattr(_rounds, "play", more)
        assert estimator().fit(df).toBytes() == quiet
        assert len(_rounds.InPlace(df).survey(None).counts) > len(before)
    finally:
        spark.conf.unset(cores)


def test_rows_that_are_gone_are_missed(
    spark: SparkSession, table: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark can be told to read on where a file is gone. Then rows are, too."""
    play, ignore = _rounds.play, "spark.sql.files.ignoreMissingFiles"

    def losing(*given: Any, **named: Any) -> Any:
        (tmp_path / "1.parquet").unlink(missing_ok=True)
        return play(*given, **named)

    for number in range(2):
        rows = table[["x", "label"]].iloc[100 * number : 100 * (number + 1)]
        rows.to_parquet(tmp_path / f"{number}.parquet", index=False)
    df = spark.read.parquet(str(tmp_path))
    monkeypatch.setattr(_rounds, "play", losing)
    spark.conf.set(ignore, "true")
    try:
        with pytest.raises(ValueError, match="data changed .*: found .* rows in a round, expected"):
            estimator().fit(df)
    finally:
        spark.conf.unset(ignore)


def test_large_models_leave_no_files(spark: SparkSession) -> None:
    """Spark keeps a file of every large function until the session ends. Here 20 kB are large."""
    width, inside = 300, spark.sparkContext
    rows = [
        (Vectors.sparse(10 * width, {width * k + j: 1.0 for j in range(width)}), k % 2)
        for k in range(10)
    ]
    df = spark.createDataFrame(rows, ["features", "label"]).coalesce(2).localCheckpoint()
    limit, place = "spark.broadcast.UDFCompressionThreshold", Path(inside._temp_dir)
    conf: Any = inside._jsc.sc().conf()
    conf.set(limit, "20000")
    try:
        before = set(place.iterdir())
        model = OnlineClassifier(featuresCol="features", firstSlice=2, classes=[0, 1]).fit(df)
        assert len(model.toBytes()) > 100_000 and set(place.iterdir()) == before
        hindsight(df, features="features", max_passes=1)
        assert set(place.iterdir()) == before
        # Frames are lazy. All of a model share one file.
        said = [model.copy().transform(df), model.transform(df)]
        assert len({row["prediction"] for one in said for row in one.collect()}) == 2
        assert len(set(place.iterdir()) - before) == 1
    finally:
        conf.remove(limit)


def test_labels_without_end_are_no_classes(
    data: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_rounds, "MOST_LABELS", 1000)
    assert sorted(_rounds.InPlace(data).survey("word").labels) == ["cold", "warm"]
    with pytest.raises(ValueError, match="column y: found too many labels for classes"):
        OnlineClassifier(labelCol="y").fit(data)


def test_batches_have_rows_enough_and_bytes_that_are_set(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Java measures batches where rows are wide, or where somebody has said how large they may be."""
    name, inside = "spark.sql.execution.arrow.maxBytesPerBatch", spark.sparkContext

    def look(batches: Any) -> Any:
        sizes = [len(batch) for batch in batches]
        yield pa.RecordBatch.from_pydict({"batches": [len(sizes)]})

    looked = spark.range(0, 3000, 1, 1).mapInArrow(look, "batches long")
    inside.setLocalProperty(name, "8000")
    try:
        for width, is_measured in ((0, True), (2, False), (1 << 20, True)):
            with _rounds.unmeasured(spark, width):
                found = looked.collect()
            assert (found[0]["batches"] > 1) == is_measured
        spark.conf.set(name, "8000")
        with _rounds.unmeasured(spark, 2):
            assert looked.collect()[0]["batches"] > 1
    finally:
        spark.conf.unset(name)
        inside.setLocalProperty(name, None)


def test_tables_in_buckets_are_written_out(spark: SparkSession, data: DataFrame) -> None:
    """Spark reads them otherwise in a job that takes rows from one task."""
    data.select("x", "z", "label").write.bucketBy(3, "x").saveAsTable("in_buckets")
    try:
        df = spark.table("in_buckets")
        assert not _rounds.is_in_place(df)
        assert estimator().fit(df).report()["examples"] == 1500
    finally:
        spark.sql("drop table in_buckets")


def test_a_saved_model_opens_everywhere(
    model: OnlineClassificationModel, data: DataFrame, table: pd.DataFrame, tmp_path: Path
) -> None:
    path = f"file://{tmp_path}/saved"
    model.write().overwrite().save(path)
    again = OnlineClassificationModel.load(path)
    assert again.toBytes() == model.toBytes() and again.classes == (0, 1)
    assert again.transform(data).count() == 1500
    opened = rueful.load(f"{tmp_path}/saved/model.rueful")
    assert opened.certificate() == model.certificate()
    program, file = [sys.executable, "-m", "rueful"], f"{tmp_path}/saved/model.rueful"
    rows, said = f"{tmp_path}/rows.csv", f"{tmp_path}/said.txt"
    table.drop(columns="y").to_csv(rows, index=False)
    for command, expected in (
        (["inspect", file], "1,500"),
        (["run", rows, "--resume", file], "3,000"),
        (["predict", file, rows, "--as", "probability", "--out", said], ""),
    ):
        shown = subprocess.run([*program, *command], capture_output=True, text=True, check=True)
        assert expected in shown.stdout
    own = opened.predict_proba(table[list(again._of.features)])[:, 1]
    assert np.array_equal(np.loadtxt(said), own)


def test_all_kinds_of_vectors_are_the_same(spark: SparkSession, table: pd.DataFrame) -> None:
    rows = table[["x", "z", "label"]].iloc[:200].to_numpy().tolist()
    for row in rows[::3]:
        row[0] = 0.0
    kinds: list[Callable[[float, float], Any]] = [
        lambda x, z: Vectors.dense(x, z),
        lambda x, z: Vectors.sparse(2, {0: x, 1: z} if x else {1: z}),
        lambda x, z: Vectors.dense(x, z) if z < 5e5 else Vectors.sparse(2, {0: x, 1: z}),
        lambda x, z: [x, z],
    ]
    found = set()
    for kind in kinds:
        made = [(kind(x, z), int(label), 2.0) for x, z, label in rows]
        df = spark.createDataFrame(made, ["both", "label", "importance"])
        one = OnlineClassifier(featuresCol="both", weightCol="importance", numParts=1).fit(df)
        there = one.transform(df).collect()
        # Vectors come back as they were.
        assert [row["both"] for row in there] == [row[0] for row in made]
        said = [row["prediction"] for row in there]
        assert set(said) == {0.0, 1.0}
        found.add((one.report()["sequential_risk"], one.certificate(), tuple(said)))
    assert len(found) == 1
    with pytest.raises(ValueError, match="featuresCol='both'"):
        OnlineClassifier().fit(df)


def test_pipelines_and_cross_validation(data: DataFrame) -> None:
    df = data.drop("word", "odd", "y")
    steps = [
        VectorAssembler(inputCols=["x", "z"], outputCol="both"),
        OnlineClassifier(featuresCol="both", numParts=1),
    ]
    losses = ParamGridBuilder().addGrid(steps[1].loss, ["logistic", "hinge"]).build()
    choice = CrossValidator(
        estimator=Pipeline(stages=steps),
        estimatorParamMaps=losses,
        evaluator=BinaryClassificationEvaluator(),
        numFolds=2,
        seed=1,
    )
    chosen = choice.fit(df)
    assert min(chosen.avgMetrics) > 0.85
    said = chosen.transform(df)
    assert MulticlassClassificationEvaluator(metricName="accuracy").evaluate(said) > 0.75


def test_numbers_are_learned_too(data: DataFrame) -> None:
    df = data.drop("label").withColumn("importance", data["x"] * 0 + 2.0)
    fitted = OnlineRegressor(labelCol="y", weightCol="importance", firstSlice=50).fit(df)
    said = fitted.transform(df).select("y", "prediction").toPandas()
    assert np.mean((said["y"] - said["prediction"]) ** 2) < 0.5
    assert fitted.report()["examples"] == 1500


def test_the_certificate_speaks_of_the_predictions_that_were_made(
    model: OnlineClassificationModel, data: DataFrame, table: pd.DataFrame
) -> None:
    """The rounds are played again row by row, and an audit of all predictions says the same."""
    columns = model._of
    assert columns is not None
    rows = _rounds.numbered(data.drop("y")).toPandas()
    books = rueful.Audit(loss="logistic", judge=False)

    def play(base: Model, rows: pd.DataFrame, is_only: bool = False) -> None:
        parts = []
        for _, own in rows.sort_values([PART, ROW]).groupby(PART):
            parts.append(part(base, is_only=is_only))
            labels = np.where(own["label"] == 1, 1.0, -1.0)
            table = pa.Table.from_pandas(own[list(columns.features)], preserve_index=False)
            for place in range(len(own)):
                one = table.slice(place, 1)
                said = parts[-1].predict(one)
                parts[-1].learn(one, labels[place : place + 1])
                books.observe(one, labels[place : place + 1], said)
        take_parts(base, parts)

    base = Model.from_bytes(estimator()._fresh(data.drop("y"), columns).state)
    is_head = (rows[PART] == 0) & (rows[ROW] < 50)
    play(base, rows[is_head], is_only=True)
    for start, end in _rounds.slices(250, 6, 0, 50, _rounds.weights_of(base)):
        play(base, rows[~is_head & (rows[ROW] >= start) & (rows[ROW] < end)])
    assert base.to_bytes() == model.toBytes()
    own, audited = model.report(), books.report()
    assert own["sequential_risk"] == pytest.approx(audited["sequential_risk"], rel=1e-13)
    assert own["certificate_own"] == pytest.approx(audited["certificate"], rel=1e-9)
    assert own["certificate"] <= own["certificate_own"]
    # The exact regret, over the same features, is at most the certificate.
    best = rueful.hindsight(table[list(columns.features)], table["label"])
    assert own["sequential_risk"] - best["comparator"]["upper"] <= own["certificate"]


def test_audits_add_up(
    data: DataFrame, table: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = data.select("x", "z", "label", "word", (data["x"] * 2).alias("score"))
    whole = audit(said, prediction="score", label="label", features=["x", "z"], radius=2.0)
    found = said.toPandas()
    alone = rueful.Audit(loss="logistic", radius=2.0)
    for start in range(0, 1500, 250):
        # The judge of each partition begins anew, and their bounds add up.
        rows, books = found.iloc[start : start + 250], rueful.Audit(loss="logistic", radius=2.0)
        books.observe(rows[["x", "z"]], rows["label"], rows["score"])
        alone.merge(books)
    assert whole.report()["examples"] == 1500
    assert whole.certificate() == pytest.approx(alone.certificate(), rel=1e-12)
    groups = audit(said, prediction="score", label="label", by="word", features=["x", "z"])
    assert list(groups) == ["cold", "warm"]
    assert sum(one.report()["examples"] for one in groups.values()) == 1500
    # Where no more than two partitions are joined at a time, six need three levels.
    monkeypatch.setattr(_audit, "FAN", 2)
    names = {"prediction": "score", "label": "label", "features": ["x", "z"]}
    for name, levels in audit(said, by="word", **names).items():
        assert levels.report()["examples"] == groups[name].report()["examples"]
        assert levels.certificate() == pytest.approx(groups[name].certificate(), rel=1e-12)
    bad = said.withColumn("z", F.when(F.col("x") == table["x"][7], math.inf).otherwise(F.col("z")))
    with pytest.raises(Exception, match="partition 0, row 7, column z: found inf"):
        audit(bad, prediction="score", label="label", by="word", features=["x", "z"])


def test_bad_rows_are_named_or_counted(spark: SparkSession) -> None:
    schema = "x double, label string, weight double"
    good = [(float(k % 7), "ab"[k % 2], 1.0) for k in range(40)]
    bad = [(float("inf"), "b", 1.0), (1.0, None, 1.0), (1.0, "a", -1.0), (1e39, "a", 1.0)]
    words = ["x: found inf", "label: found no value", "weight: found -1.0", "x: found 1e[+]39"]
    learner = OnlineClassifier(weightCol="weight", numParts=1)
    for row, what in zip(bad, words, strict=True):
        df = spark.createDataFrame([*good, row], schema).coalesce(1)
        with pytest.raises(Exception, match=f"partition 0, row 40, column {what}"):
            learner.fit(df)
    df = spark.createDataFrame([*good[:9], *bad, *good[9:]], schema).coalesce(1)
    skipping = learner.copy().setHandleInvalid("skip").fit(df)
    alone = learner.fit(spark.createDataFrame(good, schema).coalesce(1))
    assert skipping.skippedRows == 4 and alone.skippedRows == 0
    assert skipping.toBytes() == alone.toBytes()
    with pytest.raises(ValueError, match="expected 'error' or 'skip'"):
        learner.copy().setHandleInvalid("keep").fit(df)
    vectors = [(Vectors.dense(1.0, float(k)), k % 2) for k in range(9)]
    df = spark.createDataFrame([*vectors, (Vectors.dense(1.0, math.nan), 1)], ["f", "label"])
    with pytest.raises(Exception, match=r"row \d+, column f: .*expected a vector of finite"):
        OnlineClassifier(featuresCol="f").fit(df)
    skipping = OnlineClassifier(featuresCol="f", handleInvalid="skip").fit(df)
    assert skipping.skippedRows == 1 and skipping.report()["examples"] == 9


def test_bad_rows_of_files_are_named_in_every_round(data: DataFrame, table: pd.DataFrame) -> None:
    """In the first slice, after it in its part, and in another part."""
    for part, row in ((0, 7), (0, 60), (4, 200)):
        far = F.when(F.col("x") == table["x"][250 * part + row], math.inf).otherwise(F.col("x"))
        df = data.drop("y").withColumn("x", far)
        assert _rounds.is_in_place(df)
        with pytest.raises(Exception, match=f"partition {part}, row {row}, column x: found inf"):
            estimator().setClasses([0, 1]).fit(df)


@pytest.mark.parametrize("trouble", ["label", "weight"])
def test_parts_begin_from_something(trouble: str, spark: SparkSession, tmp_path: Path) -> None:
    """One part learns alone until it has met a row that counts, be it in the next part."""
    rows = pd.DataFrame({"x": np.arange(90) % 7.0, "label": np.arange(90) % 5.0, "weight": 1.0})
    rows.loc[:39, trouble] = np.nan if trouble == "label" else 0.0
    for number in range(3):
        own = rows.iloc[30 * number : 30 * (number + 1)]
        own.to_parquet(tmp_path / f"{number}.parquet", index=False)
    frames = [spark.read.parquet(f"{tmp_path}/{number}.parquet") for number in range(3)]
    df = frames[0].union(frames[1]).union(frames[2])
    learner = OnlineRegressor(firstSlice=5, weightCol="weight", handleInvalid="skip")
    fitted = learner.fit(df)
    assert fitted.report()["examples"] == 50
    assert fitted.skippedRows == (40 if trouble == "label" else 0)
    nothing = learner.fit(frames[0].union(frames[0]))
    assert nothing.model.examples() == 0


def test_rows_that_cannot_be_predicted_are_named(spark: SparkSession) -> None:
    rows = [(float(k % 7), Vectors.dense(float(k)), k % 2) for k in range(40)]
    df = spark.createDataFrame(rows, ["x", "v", "label"]).coalesce(1)
    far = F.when(F.monotonically_increasing_id() == 23, math.inf).otherwise(F.col("x"))
    fitted = OnlineClassifier(numParts=1).fit(df.drop("v"))
    with pytest.raises(Exception, match="partition 0, row 23, column x: found inf"):
        fitted.transform(df.withColumn("x", far)).collect()
    fitted = OnlineClassifier(featuresCol="v", numParts=1).fit(df)
    gone = F.when(F.col("x") < 3, F.col("v"))
    with pytest.raises(Exception, match="partition 0, row 3, column v: found no value"):
        fitted.transform(df.withColumn("v", gone)).collect()
    with pytest.raises(ValueError, match="featuresCol: found no column v; the data have x, label"):
        fitted.transform(df.drop("v"))
    with pytest.raises(
        ValueError, match="predictionCol: the data have a column prediction already"
    ):
        fitted.transform(fitted.transform(df))


def test_mistakes_are_explained(spark: SparkSession) -> None:
    df = spark.createDataFrame([(1.0, "a", 1), (2.0, "b", 0)], "x double, word string, label long")
    for learner, what in [
        (
            OnlineClassifier(labelCol="lable"),
            "labelCol: found no column lable; the data have x, word",
        ),
        (OnlineClassifier(featuresCol="f"), "featuresCol: found no column f"),
        (
            OnlineClassifier(weightCol="word"),
            "weightCol: found a column of strings, expected numbers",
        ),
        (OnlineRegressor(labelCol="word"), "labelCol: found a column of strings, expected numbers"),
        (OnlineRegressor(loss="softmax"), "loss: softmax is for classes: OnlineClassifier learns"),
        (OnlineClassifier(numParts=0), "numParts: found 0, expected 1 or more"),
        (OnlineClassifier(firstSlice=-5), "firstSlice: found -5, expected 1 or more"),
    ]:
        with pytest.raises(ValueError, match=what):
            learner.fit(df)
    for given, what in [
        ({"prediction": "p", "label": "label"}, "prediction: found no column p"),
        ({"prediction": "x", "label": "label", "by": "day"}, "by: found no column day"),
        ({"prediction": "word", "label": "label"}, "prediction: found a column of strings"),
        ({"prediction": "x", "label": "label", "features": ["y"]}, "features: found no column y"),
    ]:
        with pytest.raises(ValueError, match=what):
            audit(df, **given)


def test_moments_are_features(spark: SparkSession) -> None:
    moments = spark.range(100).select(
        F.timestamp_seconds(F.col("id") * 100_000).alias("when"), (F.col("id") % 2).alias("label")
    )
    fitted = OnlineClassifier(numParts=1).fit(moments)
    assert fitted.report()["examples"] == 100 and fitted.transform(moments).count() == 100


def test_two_classes_are_told_apart(spark: SparkSession) -> None:
    three = spark.createDataFrame([(1.0, "a"), (2.0, "b"), (2.0, "c")], "x double, label string")
    with pytest.raises(ValueError, match="expected two classes, found 'a', 'b', 'c'; loss="):
        OnlineClassifier(loss="hinge").fit(three)
    with pytest.raises(ValueError, match="expected two classes, found 'a'"):
        OnlineClassifier().fit(three.where("label = 'a'"))
    one = OnlineClassifier(classes=["b", "a"], numParts=1).fit(three.where("label = 'a'"))
    assert one.classes == ("b", "a") and one.transform(three).first()["prediction"] == "a"
    with pytest.raises(ValueError, match="no rows"):
        OnlineClassifier(classes=["a", "b"]).fit(three.where("x > 9"))


def test_the_page_runs(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The program is installed with the package.
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    rng = np.random.default_rng(1)
    price, place = 4 * rng.random(2000), rng.choice(["top", "left", "right"], 2000)
    clicks = pd.DataFrame(
        {
            "price": price,
            "hour": rng.integers(0, 24, 2000),
            "place": place,
            "day": np.where(np.arange(2000) < 1000, "monday", "tuesday"),
            "clicked": price + (place == "left") + rng.normal(size=2000) < 2.2,
        }
    )
    (tmp_path / "clicks").mkdir()
    for number in range(4):
        part = clicks.iloc[500 * number : 500 * (number + 1)]
        part.to_parquet(tmp_path / "clicks" / f"{number}.parquet", index=False)
    page = (Path(__file__).parents[3] / "docs" / "spark.md").read_text()
    blocks = "\n".join(block.split("```")[0] for block in page.split("```python\n")[1:])
    blocks = blocks.replace('"clicks"', repr(str(tmp_path / "clicks")))
    for name in ("model", "model/model.rueful", "checkpoint"):
        blocks = blocks.replace(f'"{name}"', repr(str(tmp_path / name)))
    examples = doctest.DocTestParser().get_doctest(blocks, {"spark": spark}, "spark.md", None, 0)
    ran = doctest.DocTestRunner().run(examples)
    assert ran.failed == 0 and ran.attempted >= 20


@pytest.mark.parametrize(
    ("trouble", "how"),
    [("killed", "in place"), ("twice", "in place"), ("killed", "in levels"), ("twice", "written")],
)
def test_trouble_changes_nothing(
    trouble: str,
    how: str,
    data: DataFrame,
    model: OnlineClassificationModel,
    disturb: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An executor dies in the middle of a round, or a task fails when all its work is done."""
    quiet = model.toBytes()
    if how == "in levels":
        monkeypatch.setattr(_rounds, "FAN", 2)
        quiet = estimator().fit(data.drop("y")).toBytes()
    elif how == "written":
        monkeypatch.setattr(_rounds, "is_in_place", lambda df: False)
    mark = disturb(trouble)
    shaken = estimator().fit(data.drop("y")).toBytes()
    assert mark.exists() and shaken == quiet


def test_memory_is_that_of_a_model_and_a_batch(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight times as many rows need no more memory in the workers."""
    learner, width = _rounds.learner, 28
    numbers = F.transform(F.sequence(F.lit(1), F.lit(width)), lambda k: F.rand(5) * k)

    def peaks(rows: int) -> list[int]:
        df = spark.range(0, rows, 1, 2).select(numbers.alias("x"), (F.col("id") % 2).alias("label"))
        folder, notes = tmp_path / f"{rows}.parquet", tmp_path / f"{rows}"
        df.write.parquet(str(folder))
        notes.mkdir()

        def watched(base: Any, columns: Any, *, is_only: bool) -> Any:
            learn = learner(base, columns, is_only=is_only)

            def run(batches: Any) -> Any:
                def bytes_of(what: str) -> int:
                    with open("/proc/self/status") as status:
                        kilobytes = dict(line.split(":") for line in status)[what]
                    return 1024 * int(kilobytes.split()[0])

                # The most memory is counted from here on.
                with open("/proc/self/clear_refs", "w") as refs:
                    refs.write("5")
                before = bytes_of("VmRSS")
                yield from learn(batches)
                (notes / os.urandom(8).hex()).write_text(str(bytes_of("VmHWM") - before))

            return run

        monkeypatch.setattr(_rounds, "learner", watched)
        learned = OnlineClassifier(featuresCol="x").fit(spark.read.parquet(str(folder)))
        assert learned.report()["examples"] == rows
        return [int(note.read_text()) for note in notes.iterdir()]

    # The workers load their code.
    peaks(50_000)
    few, many = 60_000, 480_000
    small, large = max(peaks(few)), max(peaks(many))
    assert large - small < (many - few) * width
