"""More than two classes on a cluster."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import rueful
from pyspark.ml.evaluation import MulticlassClassificationEvaluator
from pyspark.ml.linalg import Vectors
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from rueful._rueful import Model, part, take_parts
from rueful.spark import (
    OnlineClassificationModel,
    OnlineClassifier,
    _rounds,
    audit,
)
from rueful.spark._rows import PART, ROW

PARTS, ROWS, FIRST = 4, 600, 30


@pytest.fixture(scope="module")
def flowers() -> pd.DataFrame:
    """Five kinds of flowers, one of which comes late."""
    rng = np.random.default_rng(0)
    kinds = np.array(["aster", "lily", "poppy", "rose", "tulip"])
    late = np.arange(ROWS) < ROWS // 2
    kind = np.where(late, rng.integers(0, 4, ROWS), rng.integers(0, 5, ROWS))
    petal = kind + 0.4 * rng.normal(size=ROWS)
    color = np.where(rng.random(ROWS) < 0.2, "white", np.where(kind % 2 == 0, "blue", "red"))
    return pd.DataFrame({"petal": petal, "sepal": petal**2, "color": color, "label": kinds[kind]})


@pytest.fixture(scope="module")
def data(
    spark: SparkSession, flowers: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory
) -> DataFrame:
    folder, df = tmp_path_factory.mktemp("flowers"), None
    for number, rows in enumerate(np.array_split(np.arange(ROWS), PARTS)):
        path = folder / f"{number}.parquet"
        flowers.iloc[rows].to_parquet(path, index=False)
        frame = spark.read.parquet(str(path))
        df = frame if df is None else df.union(frame)
    assert df is not None
    return df


@pytest.fixture(scope="module")
def model(data: DataFrame) -> OnlineClassificationModel:
    return OnlineClassifier(firstSlice=FIRST).fit(data)


def test_one_part_is_the_program(spark: SparkSession, flowers: pd.DataFrame) -> None:
    ours = OnlineClassifier(numParts=1).fit(spark.createDataFrame(flowers).coalesce(1))
    alone = rueful.OnlineClassifier().fit(flowers.drop(columns="label"), flowers["label"])
    assert ours.toBytes() == alone._model.to_bytes()


def test_trouble_changes_nothing(
    model: OnlineClassificationModel, data: DataFrame, disturb: Callable[[str], Path]
) -> None:
    mark = disturb("twice")
    shaken = OnlineClassifier(firstSlice=FIRST).fit(data)
    assert mark.exists() and shaken.toBytes() == model.toBytes()


def test_parts_tell_classes_apart(
    model: OnlineClassificationModel, data: DataFrame, flowers: pd.DataFrame, tmp_path: Path
) -> None:
    report = model.report()
    assert report["examples"] == ROWS and report["sequential_risk"] < 0.8
    assert model.certificate(radius=1.0) < report["sequential_risk"]
    assert model.classes == ("aster", "lily", "poppy", "rose", "tulip")
    # The classes of the first slice come first, as they came there.
    first = list(dict.fromkeys(flowers["label"][:FIRST]))
    assert model.model.class_names() == [*first, *sorted(set(model.classes) - set(first))]
    path = f"file://{tmp_path}/saved"
    model.write().overwrite().save(path)
    again = OnlineClassificationModel.load(path)
    assert again.toBytes() == model.toBytes() and again.classes == model.classes
    said = again.transform(data).collect()
    shares = np.array([row["probability"].toArray() for row in said])
    assert np.allclose(shares.sum(axis=1), 1) and shares.shape == (ROWS, 5)
    scores = np.array([row["rawPrediction"].toArray() for row in said])
    assert np.allclose(scores, np.log(shares))
    best = [model.classes[place] for place in shares.argmax(axis=1)]
    assert [row["prediction"] for row in said] == best
    assert np.mean([row["label"] == row["prediction"] for row in said]) > 0.8
    opened = rueful.load(f"{tmp_path}/saved/model.rueful")
    assert np.allclose(opened.predict_proba(flowers.drop(columns="label")), shares)
    command = [sys.executable, "-m", "rueful", "inspect", f"{tmp_path}/saved/model.rueful"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "tulip" in shown.stdout


def test_the_rounds_are_those_that_were_played(
    model: OnlineClassificationModel, data: DataFrame
) -> None:
    """The rounds are played again, without a cluster and row by row."""
    columns = model._of
    assert columns is not None
    rows = _rounds.numbered(data).toPandas()
    losses = []

    def play(base: Model, rows: pd.DataFrame, is_only: bool = False) -> None:
        parts = []
        for _, own in rows.sort_values([PART, ROW]).groupby(PART):
            parts.append(part(base, is_only=is_only))
            known = columns.known(parts[-1].class_names() or [])
            table = pa.Table.from_pandas(own[list(columns.features)], preserve_index=False)
            for place, label in enumerate(own["label"]):
                labels, new, known = known.numbered(np.array([label]))
                one = table.slice(place, 1)
                said = parts[-1].predict_classes(one, True)[0] if parts[-1].examples() else None
                if said is not None and int(labels[0]) < len(said) - 1:
                    losses.append(-np.log(said[int(labels[0])]))
                parts[-1].learn(one, labels, None, None, new)
        take_parts(base, parts)

    base = Model.from_bytes(OnlineClassifier()._fresh(data, columns).state)
    is_head = (rows[PART] == 0) & (rows[ROW] < FIRST)
    play(base, rows[is_head], is_only=True)
    base = Model.from_bytes(_rounds.announced(_rounds.Learned(base.to_bytes()), columns).state)
    weights = _rounds.weights_of(base)
    for start, end in _rounds.slices(ROWS // PARTS, PARTS, 0, FIRST, weights):
        play(base, rows[~is_head & (rows[ROW] >= start) & (rows[ROW] < end)])
    assert base.to_bytes() == model.toBytes()
    # Of a class that nobody had seen, less was said.
    assert ROWS - 30 < len(losses) < ROWS
    assert sum(losses) < ROWS * model.report()["sequential_risk"]


def test_audits_of_probabilities_add_up(
    model: OnlineClassificationModel, data: DataFrame, flowers: pd.DataFrame
) -> None:
    said, features = model.transform(data), ["petal", "sepal", "color"]
    settings = {"loss": "softmax", "classes": model.classes, "radius": 2.0}
    names = {"prediction": "probability", "label": "label"}
    whole = audit(said, **names, features=features, **settings)
    shares = np.array([row["probability"].toArray() for row in said.collect()])
    alone = None
    for rows in np.array_split(np.arange(ROWS), PARTS):
        # The judge of each partition begins anew, and their bounds add up.
        books = rueful.Audit(**settings)
        books.observe(flowers.iloc[rows][features], flowers["label"].iloc[rows], shares[rows])
        alone = books if alone is None else alone.merge(books)
    assert whole.report() == alone.report() and whole.report()["examples"] == ROWS
    assert whole.certificate() == alone.certificate()
    # The exact regret is at most the certificate.
    best = rueful.hindsight(flowers[features], flowers["label"], radius=2.0)
    regret = whole.report()["sequential_risk"] - best["comparator"]["upper"]
    assert regret <= whole.certificate()
    groups = audit(said, **names, by="color", features=features, **settings)
    assert list(groups) == ["blue", "red", "white"]
    assert sum(one.report()["examples"] for one in groups.values()) == ROWS
    with pytest.raises(ValueError, match="column probability: found vectors; loss='softmax'"):
        audit(said, **names, features=features)
    with pytest.raises(ValueError, match="column petal: expected a vector"):
        audit(said, prediction="petal", label="label", **settings)
    few = {**settings, "classes": model.classes[:4]}
    with pytest.raises(
        Exception, match=r"partition \d, row 0, column probability: .* of 4 numbers"
    ):
        audit(said.where("label != 'tulip'"), **names, features=features, **few)
    with pytest.raises(Exception, match="column label: found 'tulip', expected one of 4 classes"):
        audit(said.where("label = 'tulip'"), **names, features=features, **few)


def test_features_of_audits_may_be_vectors(spark: SparkSession) -> None:
    """Those of a model of pyspark.ml lie in one column."""
    rng = np.random.default_rng(4)
    x = np.where(rng.random((60, 3)) < 0.5, 0.0, rng.normal(size=(60, 3)))
    shares, labels = rng.dirichlet(np.ones(3), 60), rng.integers(0, 3, 60)
    rows = []
    for k in range(60):
        kept = {int(j): float(x[k, j]) for j in np.flatnonzero(x[k])}
        features = Vectors.sparse(3, kept) if k % 2 else Vectors.dense(*x[k])
        rows.append((features, Vectors.dense(*shares[k]), float(labels[k])))
    df = spark.createDataFrame(rows, ["features", "probability", "label"]).coalesce(1)
    settings = {"loss": "softmax", "classes": [0, 1, 2]}
    found = audit(df, prediction="probability", label="label", features="features", **settings)
    alone = rueful.Audit(**settings).observe(x, labels, shares)
    assert found.certificate() == alone.certificate()
    df = df.withColumn("score", F.col("label") - 1)
    with pytest.raises(ValueError, match="features='features'"):
        audit(df.drop("probability"), prediction="score", label="label", loss="square")


def test_classes_may_come_late_in_a_stream(
    spark: SparkSession, flowers: pd.DataFrame, tmp_path: Path
) -> None:
    schema = "petal double, sepal double, color string, label string"
    whole = []
    for folder, steps in (("once", [[0, 1]]), ("twice", [[0], [1]])):
        (tmp_path / folder).mkdir()
        for numbers in steps:
            for number in numbers:
                rows = flowers.iloc[ROWS // 2 * number : ROWS // 2 * (number + 1)]
                path = tmp_path / folder / f"{number}.parquet"
                rows.to_parquet(path, index=False)
                # Spark takes the older file first, and clocks of file systems are coarse.
                os.utime(path, (1_700_000_000 + number,) * 2)
            read = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
            df = read.option("latestFirst", "false").parquet(str(tmp_path / folder))
            learner = OnlineClassifier(firstSlice=50, numParts=2)
            stream = learner.fitStream(df, f"{tmp_path}/{folder}-point", availableNow=True)
            stream.awaitTermination()
        whole.append(stream.model())
        windows = stream.windows()
        assert [one["examples"] for one in windows] == [ROWS // 2, ROWS // 2]
        assert windows[1]["certificate"] is not None
        assert len(stream.model().classes) == 5
    assert whole[0].toBytes() == whole[1].toBytes()


def test_two_classes_stay_two_unless_the_loss_says_more(
    spark: SparkSession, flowers: pd.DataFrame, tmp_path: Path
) -> None:
    """The first batch of a stream has two of its three classes."""
    (tmp_path / "rows").mkdir()
    kinds = [["aster", "lily"], ["aster", "lily", "poppy"]]
    for number, known in enumerate(kinds):
        path = tmp_path / "rows" / f"{number}.parquet"
        rows = flowers[flowers["label"].isin(known)].iloc[:60]
        rows[["petal", "label"]].to_parquet(path, index=False)
        os.utime(path, (1_700_000_000 + number,) * 2)
    read = spark.readStream.schema("petal double, label string").option("maxFilesPerTrigger", 1)
    df = read.parquet(str(tmp_path / "rows"))
    stream = OnlineClassifier(numParts=1).fitStream(df, f"{tmp_path}/two", availableNow=True)
    with pytest.raises(Exception, match="found 'poppy', expected 'aster' or 'lily'; to learn more"):
        stream.awaitTermination()
    assert stream.lastBatch() == 0
    open_ended = OnlineClassifier(numParts=1, loss="softmax")
    stream = open_ended.fitStream(df, f"{tmp_path}/more", availableNow=True)
    stream.awaitTermination()
    assert stream.model().classes == ("aster", "lily", "poppy")


def test_numbers_are_classes_too_and_the_rest_is_refused(
    spark: SparkSession, data: DataFrame
) -> None:
    rows = [(float(k % 3), k % 3) for k in range(90)]
    df = spark.createDataFrame(rows, "x double, label long").coalesce(1)
    said = OnlineClassifier(numParts=1).fit(df).transform(df)
    judge = MulticlassClassificationEvaluator(metricName="accuracy")
    assert judge.evaluate(said) > 0.9 and said.schema["prediction"].dataType.typeName() == "double"
    with pytest.raises(ValueError, match="expected two classes, .*loss='softmax' learns any"):
        OnlineClassifier(loss="logistic").fit(df)
    hinge = OnlineClassifier(loss="multiclass-hinge", numParts=1).fit(df)
    assert "probability" not in hinge.transform(df).columns
    spark.sparkContext.setJobGroup("refused", "a loss whose learner cannot be merged")
    try:
        with pytest.raises(ValueError, match="loss: .* ogd cannot be merged.*; numParts=1 learns"):
            OnlineClassifier(loss="multiclass-hinge", firstSlice=9).fit(data)
        jobs = list(spark.sparkContext.statusTracker().getJobIdsForGroup("refused"))
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    assert jobs == []
