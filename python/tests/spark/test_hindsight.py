"""The best fixed predictor, found in passes that are jobs."""

import numpy as np
import pandas as pd
import pytest
import rueful
from pyspark.ml.linalg import Vectors
from pyspark.sql import DataFrame, SparkSession
from rueful.spark import _hindsight, hindsight


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


def test_what_cannot_be_solved_is_refused(data: DataFrame) -> None:
    with pytest.raises(ValueError, match="tolerance"):
        hindsight(data, tolerance=2.0)
    with pytest.raises(ValueError, match="no rows"):
        hindsight(data.where("x > 1e9"), label="y", loss="square")
