"""Learning from streams, exactly once."""

import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import rueful
from pyspark.sql import DataFrame, SparkSession
from rueful.spark import LearningStream, OnlineClassificationModel, OnlineClassifier

FILES = 4


@pytest.fixture(scope="module")
def files(table: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("files")
    paths = []
    for number in range(FILES):
        path = folder / f"{number}.parquet"
        rows = table.iloc[200 * number : 200 * (number + 1)]
        rows.drop(columns=["y", "odd"]).to_parquet(path, index=False)
        paths.append(path)
    return paths


def arrive(files: list[Path], folder: Path) -> None:
    """Puts files into a folder, each later than the one before."""
    folder.mkdir(exist_ok=True)
    for path in files:
        shutil.copy(path, folder)
        time = 1_700_000_000 + int(path.stem)
        os.utime(folder / path.name, (time, time))


def stream(spark: SparkSession, folder: Path) -> DataFrame:
    """A stream that gives one file at a time."""
    schema = "x double, z double, word string, label long"
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def learner(parts: int = 3) -> OnlineClassifier:
    return OnlineClassifier(numParts=parts, firstSlice=20, classes=[0, 1])


def learned(spark: SparkSession, folder: Path, checkpoint: Path, parts: int = 3) -> LearningStream:
    found = learner(parts).fitStream(stream(spark, folder), str(checkpoint), availableNow=True)
    found.awaitTermination()
    return found


@pytest.fixture(scope="module")
def quiet(
    spark: SparkSession, files: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> LearningStream:
    place = tmp_path_factory.mktemp("quiet")
    arrive(files, place / "files")
    return learned(spark, place / "files", place / "checkpoint")


def test_a_stream_can_be_asked(quiet: LearningStream) -> None:
    report, windows = quiet.report(), quiet.windows()
    assert report["examples"] == 200 * FILES and quiet.lastBatch() == FILES - 1
    assert quiet.certificate(3.0) <= quiet.certificate(10.0) < 1.0
    assert [(one["batch"], one["from"], one["to"]) for one in windows] == [
        (batch, 200 * batch + 1, 200 * (batch + 1)) for batch in range(FILES)
    ]
    # Losses of the windows add up to that of the whole, and certificates to no less than its own.
    risk = sum(one["sequential_risk"] for one in windows) / FILES
    assert risk == pytest.approx(report["sequential_risk"], rel=1e-12)
    assert sum(one["certificate"] for one in windows) / FILES >= report["certificate"]
    assert windows[-1]["sequential_risk"] < windows[0]["sequential_risk"]


def test_stopped_and_started_again(
    spark: SparkSession, files: list[Path], quiet: LearningStream, tmp_path: Path
) -> None:
    folder, checkpoint = tmp_path / "files", tmp_path / "checkpoint"
    arrive(files[:2], folder)
    first = learned(spark, folder, checkpoint)
    assert first.report()["examples"] == 400
    # The store had copied one of two files of the next model when the driver died.
    shutil.copytree(checkpoint / "models" / "1", checkpoint / "models" / "2")
    (checkpoint / "models" / "2" / "model.rueful").unlink()
    arrive(files[2:], folder)
    second = learned(spark, folder, checkpoint)
    assert second.model().toBytes() == quiet.model().toBytes()
    assert second.windows() == quiet.windows()
    third = learned(spark, folder, checkpoint)
    assert third.model().toBytes() == quiet.model().toBytes(), "nothing counts twice"
    last = OnlineClassificationModel.load(f"{checkpoint}/models/{FILES - 1}")
    assert last.toBytes() == quiet.model().toBytes()


@pytest.mark.parametrize("stored", [False, True])
def test_a_crash_changes_nothing(
    stored: bool,
    spark: SparkSession,
    files: list[Path],
    quiet: LearningStream,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The driver dies before the model of a batch is stored, or between that and Spark's commit."""
    folder, checkpoint = tmp_path / "files", tmp_path / "checkpoint"
    arrive(files, folder)
    store: Callable[..., None] = LearningStream._store

    def crash(self: LearningStream, model: Any, batch: int) -> None:
        if stored or batch != 1:
            store(self, model, batch)
        if batch == 1:
            raise RuntimeError("the driver died")

    with monkeypatch.context() as patch:
        patch.setattr(LearningStream, "_store", crash)
        with pytest.raises(Exception, match="the driver died"):
            learned(spark, folder, checkpoint)
    assert (checkpoint / "models" / "1").exists() == stored
    again = learned(spark, folder, checkpoint)
    assert again.model().toBytes() == quiet.model().toBytes()
    assert again.windows() == quiet.windows()


def test_one_part_is_the_program(
    spark: SparkSession, files: list[Path], table: pd.DataFrame, tmp_path: Path
) -> None:
    arrive(files, tmp_path / "files")
    ours = learned(spark, tmp_path / "files", tmp_path / "checkpoint", parts=1).model()
    rows = table.iloc[: 200 * FILES]
    alone = rueful.OnlineClassifier().fit(rows[["x", "z", "word"]], rows["label"])
    assert ours.toBytes() == alone._model.to_bytes()


def test_what_does_not_fit_is_refused(
    spark: SparkSession, files: list[Path], tmp_path: Path
) -> None:
    folder, checkpoint = tmp_path / "files", tmp_path / "checkpoint"
    arrive(files[:1], folder)
    learned(spark, folder, checkpoint)
    df = stream(spark, folder)
    with pytest.raises(ValueError, match="other columns or settings"):
        learner().setLoss("hinge").fitStream(df, str(checkpoint), availableNow=True)
    with pytest.raises(ValueError, match="other columns or settings"):
        learner().fitStream(df.drop("z"), str(checkpoint), availableNow=True)
    shutil.rmtree(checkpoint / "spark")
    with pytest.raises(ValueError, match="Spark's position there is lost"):
        learner().fitStream(df, str(checkpoint), availableNow=True)


def test_bad_rows_are_skipped_from_the_next_start_on(
    spark: SparkSession, files: list[Path], tmp_path: Path
) -> None:
    """A stream that ended at a bad row goes on when it is told to skip such rows."""
    folder, checkpoint = tmp_path / "files", tmp_path / "checkpoint"
    arrive(files[:1], folder)
    bad = pd.read_parquet(files[1])
    bad.loc[7, "x"] = math.inf
    bad.to_parquet(tmp_path / "1.parquet", index=False)
    arrive([tmp_path / "1.parquet"], folder)
    strict = learner(1)
    with pytest.raises(Exception, match="(?s)batch 1 was not .*partition 0, row 7, column x: found"):
        going = strict.fitStream(stream(spark, folder), str(checkpoint), availableNow=True)
        # What is set later is meant for other fits.
        strict.setHandleInvalid("skip")
        going.awaitTermination()
    with pytest.raises(ValueError, match="handleInvalid: found 'keep'"):
        learner(1).setHandleInvalid("keep").fitStream(stream(spark, folder), str(checkpoint))
    models = []
    for place in (checkpoint, tmp_path / "other"):
        going = strict.fitStream(stream(spark, folder), str(place), availableNow=True)
        going.awaitTermination()
        assert going.windows()[-1]["skipped"] == going.model().skippedRows == 1
        models.append(going.model().toBytes())
    assert models[0] == models[1]


def test_a_stream_is_asked_while_it_runs(
    spark: SparkSession, files: list[Path], quiet: LearningStream, tmp_path: Path
) -> None:
    folder = tmp_path / "files"
    arrive(files[:1], folder)
    going = learner().fitStream(stream(spark, folder), str(tmp_path / "checkpoint"))
    try:
        for number in range(FILES):
            arrive(files[number : number + 1], folder)
            going.processAllAvailable()
            report, windows = going.report(), going.windows()
            assert going.query.isActive and going.lastBatch() == number
            assert report["examples"] == 200 * (number + 1)
            assert going.certificate(3.0) <= going.certificate(10.0) == report["certificate"]
            assert [one["batch"] for one in windows] == list(range(number + 1))
    finally:
        going.stop()
    assert not going.query.isActive and going.model().toBytes() == quiet.model().toBytes()
