"""Audits on a cluster say what audits in one process say, and name the rows that they refuse."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import rueful
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from rueful.spark import audit

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


def test_labels_that_are_no_numbers_are_refused_at_once(data: DataFrame) -> None:
    for settings in ({}, {"loss": "square"}):
        with pytest.raises(ValueError, match="label: found a column of strings, expected numbers"):
            audit(data, prediction="score", label="answer", features=["x"], **settings)
