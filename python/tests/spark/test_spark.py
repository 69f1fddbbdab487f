"""rueful.spark on a real cluster of two worker processes."""

import doctest
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import rueful
from pyspark.ml import Pipeline
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import DataFrame, SparkSession
from rueful.spark import OnlineClassificationModel, OnlineClassifier, OnlineRegressor, audit


def table(rows: int = 1500, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=rows), 1e6 * rng.random(rows)
    word = np.where(rng.random(rows) < 0.5, "warm", "cold")
    score = 2 * x + z / 1e6 + np.where(word == "warm", 1.0, -1.0) + 0.5 * rng.normal(size=rows)
    return pd.DataFrame(
        {"x": x, "z": z, "word": word, "label": (score > 0).astype(np.int64), "y": score}
    )


@pytest.fixture(scope="module")
def data(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """Six Parquet files."""
    folder = tmp_path_factory.mktemp("data")
    found = table()
    for number in range(6):
        part = found.iloc[250 * number : 250 * (number + 1)]
        part.to_parquet(folder / f"{number}.parquet", index=False)
    frames = [spark.read.parquet(str(folder / f"{number}.parquet")) for number in range(6)]
    df = frames[0]
    for frame in frames[1:]:
        df = df.union(frame)
    return df


@pytest.fixture(scope="module")
def model(data: DataFrame) -> OnlineClassificationModel:
    return OnlineClassifier(numParts=6, firstSlice=50).fit(data.drop("y"))


def test_one_part_is_the_program(spark: SparkSession) -> None:
    found = table().drop(columns="y")
    df = spark.createDataFrame(found).coalesce(1)
    ours = OnlineClassifier(numParts=1).fit(df)
    alone = rueful.OnlineClassifier().fit(found.drop(columns="label"), found["label"])
    assert ours.certificate() == alone.certificate()
    assert ours.report()["sequential_risk"] == alone.report()["sequential_risk"]


def test_parts_make_a_certified_model(model: OnlineClassificationModel, data: DataFrame) -> None:
    report = model.report()
    assert report["examples"] == 1500
    assert report["sequential_risk"] < 0.4
    assert model.certificate(radius=3.0) < report["sequential_risk"]
    said = model.transform(data.drop("y")).select("label", "prediction", "probability").collect()
    assert np.mean([row["label"] == row["prediction"] for row in said]) > 0.88
    assert all(abs(row["probability"].toArray().sum() - 1) < 1e-9 for row in said)


def test_machines_make_no_difference(data: DataFrame, model: OnlineClassificationModel) -> None:
    """The same parts give the same bytes, whatever the machines do."""
    df = data.drop("y")
    estimator = OnlineClassifier(firstSlice=50)
    assert estimator.fit(df).toBytes() == estimator.fit(df).toBytes()


def test_a_saved_model_opens_everywhere(
    model: OnlineClassificationModel, data: DataFrame, tmp_path: Path
) -> None:
    path = str(tmp_path / "saved")
    model.write().overwrite().save(path)
    again = OnlineClassificationModel.load(path)
    assert again.toBytes() == model.toBytes() and again.classes == (0, 1)
    assert again.transform(data).count() == 1500
    opened = rueful.load(f"{path}/model.rueful")
    assert opened.certificate() == model.certificate()
    command = [sys.executable, "-m", "rueful", "inspect", f"{path}/model.rueful"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "1,500" in shown.stdout


def test_vectors_weights_and_pipelines(data: DataFrame) -> None:
    df = data.drop("word", "label").withColumn("importance", data["x"] * 0 + 2.0)
    steps = [
        VectorAssembler(inputCols=["x", "z"], outputCol="both"),
        OnlineRegressor(labelCol="y", featuresCol="both", weightCol="importance", firstSlice=50),
    ]
    fitted = Pipeline(stages=steps).fit(df)
    said = fitted.transform(df).select("y", "prediction").toPandas()
    assert np.mean((said["y"] - said["prediction"]) ** 2) < 1.5
    assert fitted.stages[1].report()["examples"] == 1500


def test_audits_add_up(model: OnlineClassificationModel, data: DataFrame) -> None:
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


def test_bad_rows_are_named(spark: SparkSession) -> None:
    df = spark.createDataFrame(
        [(1.0, "a"), (float("inf"), "b"), (2.0, "a")], "x double, label string"
    )
    with pytest.raises(Exception, match=r"partition \d+, rows from \d+ on: .*x"):
        OnlineClassifier(numParts=1).fit(df)
    three = spark.createDataFrame([(1.0, "a"), (2.0, "b"), (2.0, "c")], "x double, label string")
    with pytest.raises(ValueError, match="expected two classes, found"):
        OnlineClassifier().fit(three)


def test_the_page_runs(spark: SparkSession, tmp_path: Path) -> None:
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
    blocks = blocks.replace('"model"', repr(str(tmp_path / "model")))
    blocks = blocks.replace('"model/model.rueful"', repr(str(tmp_path / "model/model.rueful")))
    examples = doctest.DocTestParser().get_doctest(blocks, {"spark": spark}, "spark.md", None, 0)
    ran = doctest.DocTestRunner().run(examples)
    assert ran.failed == 0 and ran.attempted >= 10


def executors(spark: SparkSession) -> list[int]:
    """The processes of the executors of this very application."""
    application, found = spark.sparkContext.applicationId, []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = entry.read_bytes()
        except OSError:
            continue
        if b"CoarseGrainedExecutorBackend" in command and application.encode() in command:
            found.append(int(entry.parent.name))
    return found


def test_a_killed_executor_changes_nothing(spark: SparkSession, data: DataFrame) -> None:
    """An executor dies in the middle of a round, and its tasks are run again."""
    df, estimator = data.drop("y"), OnlineClassifier(firstSlice=20)
    quiet = estimator.fit(df).toBytes()
    killed: list[int] = []

    def kill() -> None:
        # The first job of a round that can be seen is under way when the executor dies.
        tracker = spark.sparkContext.statusTracker()
        for _ in range(1000):
            if len(tracker.getActiveStageIds()) and (pids := executors(spark)):
                os.kill(pids[0], signal.SIGKILL)
                killed.append(pids[0])
                return
            time.sleep(0.05)

    thread = threading.Thread(target=lambda: (time.sleep(3.0), kill()))
    thread.start()
    shaken = estimator.fit(df).toBytes()
    thread.join()
    assert killed and shaken == quiet
