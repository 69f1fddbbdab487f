"""The best fixed predictor, found in passes that are jobs."""

import math

import numpy as np
import pandas as pd
import pytest
import rueful
from pyspark.ml.linalg import Vectors
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from rueful.spark import OnlineClassifier, _hindsight, _rounds, hindsight


def both(found: rueful.Report, known: rueful.Report) -> None:
    """Two proved intervals around the same number meet, and the comparator is in the ball."""
    ours, theirs = found["comparator"], known["comparator"]
    assert ours["lower"] <= theirs["upper"] and theirs["lower"] <= ours["upper"]
    assert found["examples"] == known["examples"] and found["comparators"] == known["comparators"]


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_the_interval_is_that_of_the_program(
    loss: str, data: DataFrame, table: pd.DataFrame
) -> None:
    df = data.drop("y").coalesce(2)
    found = hindsight(df, loss=loss, tolerance=0.02, max_passes=40)
    columns = [name for name in df.columns if name != "label"]
    both(found, rueful.hindsight(table[columns], table["label"], loss=loss))
    assert found["converged"] and found["relative_gap"] <= 0.02
    assert {one.get("name") for one in found["largest_weights"]} >= {"x", "z"}


def test_numbers_and_vectors_and_weights(
    spark: SparkSession, table: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if columns were many.
    monkeypatch.setattr(_hindsight, "FEW", 0)
    rows = table[["x", "z", "y"]].iloc[:300].to_numpy().tolist()
    made = [(Vectors.dense(x, z), y, float(k % 3)) for k, (x, z, y) in enumerate(rows)]
    df = spark.createDataFrame(made, ["both", "y", "importance"]).coalesce(2)
    found = hindsight(df, label="y", features="both", weight="importance", radius=3.0)
    assert found["method"] == "quasi-newton" and found["converged"]
    rows = np.array(rows)
    weights = np.arange(300) % 3
    both(found, rueful.hindsight(rows[:, :2], rows[:, 2], sample_weight=weights, radius=3.0))


@pytest.fixture(scope="module")
def flowers() -> pd.DataFrame:
    """Four kinds of flowers, one of which has rows that do not count, and a column of zeros."""
    rows, rng = 400, np.random.default_rng(2)
    kind = rng.integers(0, 4, rows)
    petal = kind + 0.5 * rng.normal(size=rows)
    return pd.DataFrame(
        {
            "petal": petal,
            "sepal": 1e6 * petal**2,
            "color": np.where(rng.random(rows) < 0.2, "white", np.where(kind % 2, "red", "blue")),
            "count": rng.integers(1, 3, rows) * (kind < 3).astype(float),
            "nothing": np.zeros(rows),
            "kind": np.array(["aster", "lily", "poppy", "rose"])[kind],
        }
    )


@pytest.mark.parametrize(("parts", "few"), [(1, _hindsight.FEW), (2, 0), (4, _hindsight.FEW)])
def test_the_matrix_is_that_of_the_program(
    parts: int,
    few: int,
    spark: SparkSession,
    flowers: pd.DataFrame,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_hindsight, "FEW", few)
    df = spark.createDataFrame(flowers).repartition(parts).localCheckpoint()
    features = ["petal", "sepal", "color", "nothing"]
    given = {"label": "kind", "features": features, "weight": "count", "radius": 4.0}
    found = hindsight(df, **given, tolerance=0.01)
    known = rueful.hindsight(
        flowers[features], flowers["kind"], sample_weight=flowers["count"], radius=4.0
    )
    both(found, known)
    assert found["converged"] and known["converged"] and found["relative_gap"] <= 0.01
    assert found["method"] == ("newton" if few else "quasi-newton")
    # A class of which no row counts has no weights.
    assert {one["class"] for one in found["largest_weights"]} == {"aster", "lily", "poppy"}
    # One pass proves an interval, too.
    few_passes = hindsight(df, **given, max_passes=1)
    both(few_passes, known)
    assert few_passes["passes"] == 2 and not few_passes["converged"]


def test_numbers_are_classes_if_the_loss_says_so(spark: SparkSession) -> None:
    rng = np.random.default_rng(5)
    digit, x = rng.integers(0, 3, 90), rng.normal(size=(90, 2))
    x[:, 0] += digit
    rows = [(Vectors.dense(one), int(label)) for one, label in zip(x, digit, strict=True)]
    df = spark.createDataFrame(rows, ["features", "label"]).coalesce(2)
    given = {"loss": "softmax", "radius": 3.0}
    found = hindsight(df, features="features", comparators="ball", tolerance=0.01, **given)
    assert found["converged"]
    both(found, rueful.hindsight(x, digit, comparators="ball", **given))
    # The loss with kinks is solved, too. Its bundle of tangents takes more passes.
    given |= {"loss": "multiclass-hinge", "tolerance": 0.1}
    found = hindsight(df, features="features", max_passes=30, **given)
    both(found, rueful.hindsight(x, digit, **given))
    assert found["method"] == "bundle" and found["relative_gap"] < 0.3
    with pytest.raises(ValueError, match="expected two classes, found 0, 1, 2; loss='softmax'"):
        hindsight(df, features="features", loss="hinge")
    with pytest.raises(Exception, match="column label: found no value, expected one of 3 classes"):
        unknown = df.limit(1).withColumn("label", F.lit(None))
        hindsight(df.union(unknown), features="features", loss="softmax")


def test_bad_rows_are_skipped_in_every_pass(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are counted once, and a pass that skips others is an error."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=60)
    labels = (x + rng.normal(size=60) > 0).astype(float)
    good = [(float(one), float(label)) for one, label in zip(x, labels, strict=True)]
    bad = [(math.inf, 1.0), (1.0, None), (1e39, 0.0), (1.0, math.nan)]
    df = spark.createDataFrame([*good[:20], *bad, *good[20:]], "x double, label double")
    df = df.repartition(3).localCheckpoint()
    monkeypatch.setattr(_hindsight, "FAN", 2)
    found = hindsight(df, tolerance=0.01, handle_invalid="skip")
    assert found["skipped_rows"] == 4 and found["loss"]["name"] == "logistic"
    both(found, rueful.hindsight(x[:, np.newaxis], labels))
    with pytest.raises(Exception, match=r"partition \d, row \d+, column (x|label): found"):
        hindsight(df)
    with pytest.raises(ValueError, match="handle_invalid: found 'keep'"):
        hindsight(df, handle_invalid="keep")
    columns = OnlineClassifier(handleInvalid="skip")._known_columns(df)
    fresh = OnlineClassifier()._fresh(df, columns)
    search = _hindsight.Search(_hindsight.Data(df, columns, fresh.state), 0.01, 10)
    search.data.df = df.where("label is not null")
    with pytest.raises(ValueError, match="the data changed between two passes"):
        search.visit(np.zeros(len(search.scales)))


def test_data_that_change_are_refused(spark: SparkSession) -> None:
    """A row that comes late, with a column or a class that was not there, or that is gone."""
    rows = [(float(k % 3), "abc"[k % 3]) for k in range(30)]
    df = spark.createDataFrame(rows, "x double, label string").coalesce(1)
    columns = OnlineClassifier()._known_columns(df)
    fresh = _rounds.announced(OnlineClassifier()._fresh(df, columns), columns)
    data = _hindsight.Data(df.where("label != 'c'"), columns, fresh.state)
    search = _hindsight.Search(data, 0.01, 10)
    for changed, what in [
        (df, "a class that was not counted before"),
        (df.limit(3).where("label = 'a'"), "the data changed between two passes"),
    ]:
        data.df = changed
        with pytest.raises(Exception, match=what):
            search.visit(np.zeros(len(search.scales)))


def test_what_cannot_be_solved_is_refused(data: DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="tolerance"):
        hindsight(data, tolerance=2.0)
    with pytest.raises(ValueError, match="tau: it is the quantile of loss='quantile'"):
        hindsight(data, label="y", tau=0.9)
    with pytest.raises(ValueError, match="no rows"):
        hindsight(data.where("x > 1e9"), label="y", loss="square")
    for given, what in (
        ({"label": "lable"}, "label: found no column lable; the data have x, z"),
        ({"weight": "size"}, "weight: found no column size"),
        ({"features": ["x", "why"]}, "features: found no column why"),
    ):
        with pytest.raises(ValueError, match=what):
            hindsight(data, **given)
    monkeypatch.setattr(_hindsight, "MOST", 5)
    with pytest.raises(ValueError, match="for 6 weights, columns times classes"):
        hindsight(data.select("x", "odd", "word"), label="word", loss="softmax")
