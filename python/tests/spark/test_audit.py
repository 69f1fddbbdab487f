"""Audits on a cluster say what audits in one process say, and name the rows that they refuse."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import rueful
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from rueful.spark import _audit, audit

ROWS = 60


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Scores and chances of two answers, weights, and days that are not all known."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=ROWS)
    return pd.DataFrame(
        {
            "row": np.arange(ROWS),
            "x": x,
            "score": 2 * x,
            "chance": 1 / (1 + np.exp(-2 * x)),
            "answer": np.where(x + rng.normal(size=ROWS) > 0, "yes", "no"),
            "label": (x > 0).astype(float),
            "weight": rng.integers(0, 3, ROWS).astype(float),
            "day": np.array(["monday", "tuesday", None])[np.arange(ROWS) % 3],
        }
    )


@pytest.fixture(scope="module")
def data(spark: SparkSession, table: pd.DataFrame) -> DataFrame:
    return spark.createDataFrame(table).coalesce(1).localCheckpoint()


@pytest.mark.parametrize(
    ("prediction", "label", "weight", "settings"),
    [
        ("chance", "answer", "weight", {"link": "logistic", "positive": "yes", "radius": 2.0}),
        ("score", "x", None, {"loss": "quantile", "tau": 0.9}),
        ("score", "label", "weight", {"loss": "hinge"}),
    ],
)
def test_groups_are_judged_as_in_one_process(
    prediction: str,
    label: str,
    weight: str | None,
    settings: dict[str, Any],
    data: DataFrame,
    table: pd.DataFrame,
) -> None:
    names = {"prediction": prediction, "label": label, "weight": weight, "features": ["x"]}
    found = audit(data, **names, by="day", **settings)
    assert list(found) == [None, "monday", "tuesday"]
    for day, books in found.items():
        rows = table[table["day"].isna() if day is None else table["day"] == day]
        weights = None if weight is None else rows[weight]
        alone = rueful.Audit(**settings)
        alone.observe(rows[["x"]], rows[label].to_numpy(), rows[prediction], weights)
        assert books.report() == alone.report() and books.certificate() == alone.certificate()


@pytest.mark.parametrize(
    ("column", "value", "by", "settings"),
    [
        ("label", 2.0, "day", {}),
        ("label", math.inf, "day", {"loss": "square"}),
        ("score", math.nan, None, {}),
        ("score", 1.0, "day", {"link": "logistic"}),
        ("weight", -1.0, "day", {}),
    ],
)
def test_bad_rows_are_named(
    column: str, value: float, by: str | None, settings: dict[str, Any], data: DataFrame
) -> None:
    """By their place in the partition, and not in their group."""
    df = data.withColumn("score", F.col("chance"))
    df = df.withColumn(column, F.when(F.col("row") == 7, value).otherwise(F.col(column)))
    names = {"prediction": "score", "label": "label", "weight": "weight", "features": ["x"]}
    with pytest.raises(Exception, match=f"partition 0, row 7, column {column}: found {value}"):
        audit(df, **names, by=by, **settings)


def test_bad_rows_are_skipped_and_counted(
    data: DataFrame, table: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In their groups, of which one has no other rows, and where partitions are joined in levels."""
    spoiled = {"label": (3, 2.0), "chance": (7, 1.0), "weight": (9, -1.0), "x": (12, math.inf)}
    df, good = data, table.drop(index=[row for row, _ in spoiled.values()])
    for column, (row, value) in spoiled.items():
        df = df.withColumn(column, F.when(F.col("row") == row, value).otherwise(F.col(column)))
    alone = F.when(F.col("row") == 7, "sunday").otherwise(F.col("day"))
    df = df.withColumn("day", alone).repartition(3, "row").localCheckpoint()
    names = {"prediction": "chance", "label": "label", "weight": "weight", "features": ["x"]}
    monkeypatch.setattr(_audit, "FAN", 2)
    found = audit(df, **names, by="day", link="logistic", handle_invalid="skip")
    assert {day: one.skipped_rows for day, one in found.items()} == {
        None: 0,
        "monday": 3,
        "sunday": 1,
        "tuesday": 0,
    }
    assert found.pop("sunday").report()["examples"] == 0
    counts = good[good["weight"] > 0].groupby("day", dropna=False).size()
    for day, one in found.items():
        assert one.report()["examples"] == counts[np.nan if day is None else day]
    whole = audit(df.coalesce(1), **names, link="logistic", handle_invalid="skip")
    rows = df.coalesce(1).where(~F.col("row").isin([row for row, _ in spoiled.values()]))
    known = audit(rows, **names, link="logistic")
    assert whole.skipped_rows == 4 and known.skipped_rows == 0
    assert whole.report() == known.report() and whole.certificate() == known.certificate()
    with pytest.raises(ValueError, match="handle_invalid: found 'keep', expected 'error' or 'skip'"):
        audit(df, **names, handle_invalid="keep")


def test_predictions_of_classes_are_skipped_and_counted(spark: SparkSession) -> None:
    """Vectors that are not there, of another length, with no numbers, or that are no probabilities."""
    rng = np.random.default_rng(4)
    shares = rng.dirichlet(np.ones(3), 30).tolist()
    rows = [(float(k), shares[k], "abc"[k % 3]) for k in range(30)]
    bad = [
        (None, "a", "found no value"),
        ([0.5, 0.5], "a", "expected a vector of 3 numbers"),
        ([0.5, 0.5, math.nan], "a", "expected a vector of finite numbers"),
        ([0.5, 0.5, 0.5], "a", "expected probabilities that add up to 1"),
        ([1.0, 0.0, 0.0], "b", "expected probabilities .* the class that came has more than 0"),
        ([0.2, 0.3, 0.5], "d", "expected one of 3 classes"),
    ]
    schema = "x double, said array<double>, label string"
    names = {"prediction": "said", "label": "label", "loss": "softmax", "classes": list("abc")}
    df = spark.createDataFrame([*rows, *((0.0, *one[:2]) for one in bad)], schema).coalesce(1)
    found = audit(df, **names, handle_invalid="skip")
    known = audit(df.limit(30), **names)
    assert found.skipped_rows == 6 and found.report() == known.report()
    # Those that only the core knows are named as well.
    for said, label, why in bad[3:5]:
        one = spark.createDataFrame([*rows[:2], (0.0, said, label)], schema).coalesce(1)
        with pytest.raises(Exception, match=f"partition 0, row 2, column said: .*{why}"):
            audit(one, **names)


def test_labels_that_are_no_numbers_are_refused_at_once(data: DataFrame) -> None:
    for settings in ({}, {"loss": "square"}):
        with pytest.raises(ValueError, match="label: found a column of strings, expected numbers"):
            audit(data, prediction="score", label="answer", features=["x"], **settings)
