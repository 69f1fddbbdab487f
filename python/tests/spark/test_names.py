"""Columns may have any names. Spark takes a dot for a field, and backticks for quotes."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyspark.ml.functions import array_to_vector
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from rueful.spark import OnlineClassifier, OnlineRegressor, audit, hindsight

#: What the columns are called plainly, and otherwise.
NAMES = {
    "x": "size.in.cm",
    "word": "the `word`",
    "both": "all.of`them",
    "kind": "kind.of",
    "three": "one of.three",
    "y": "y.",
    "weight": "weight.kg",
    "day": "day.`name`",
}
ROWS = 240


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(8)
    x, three = rng.normal(size=ROWS), rng.integers(0, 3, ROWS)
    return pd.DataFrame(
        {
            "x": x + three,
            "word": rng.choice(["warm", "cold"], ROWS),
            "kind": np.where(x + rng.normal(size=ROWS) > 0, "up", "down"),
            "three": three.astype(str),
            "y": 2 * x + 1,
            "weight": rng.integers(1, 3, ROWS).astype(float),
            "day": rng.choice(["monday", "tuesday"], ROWS),
        }
    )


def stored(
    spark: SparkSession, table: pd.DataFrame, names: dict[str, str], folder: Path
) -> DataFrame:
    """Returns the rows as two partitions, each a file, with a column of vectors."""
    frames = []
    for number in range(2):
        rows = table.iloc[ROWS // 2 * number : ROWS // 2 * (number + 1)]
        rows.rename(columns=names).to_parquet(folder / f"{number}.parquet", index=False)
        frames.append(spark.read.parquet(str(folder / f"{number}.parquet")))
    x, y = (F.col(f"`{names[name]}`") for name in ("x", "y"))
    vectors = array_to_vector(F.array(x, y * 0.1))
    return frames[0].union(frames[1]).withColumn(names["both"], vectors)


@pytest.fixture(scope="module")
def plain(
    spark: SparkSession, table: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory
) -> DataFrame:
    return stored(spark, table, {name: name for name in NAMES}, tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def odd(
    spark: SparkSession, table: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory
) -> DataFrame:
    """The same rows in files whose columns have those names."""
    return stored(spark, table, NAMES, tmp_path_factory.mktemp("odd"))


def pick(df: DataFrame, *names: str) -> DataFrame:
    """Returns some columns of either table."""
    return df.select(*(F.col("`" + own(df, name).replace("`", "``") + "`") for name in names))


def own(df: DataFrame, name: str) -> str:
    return name if name in df.columns else NAMES[name]


def said(df: DataFrame, label: str, **more: Any) -> tuple[Any, ...]:
    """Learns from rows, saves nothing, and returns what is known and what the model predicts."""
    names = {name: own(df, column) for name, column in more.items() if name.endswith("Col")}
    rest = {name: value for name, value in more.items() if name not in names}
    out = {"predictionCol": "said.of it", "firstSlice": 40}
    if label != "y":
        out |= {"rawPredictionCol": "raw.of`it", "probabilityCol": "p.of it"}
    kind: Any = OnlineRegressor if label == "y" else OnlineClassifier
    model = kind(labelCol=own(df, label), **names, **rest, **out).fit(df)
    there = model.transform(df)
    assert there.columns[: len(df.columns)] == df.columns
    rows = there.select("`said.of it`").collect()
    return model.report()["examples"], model.certificate(), [row[0] for row in rows]


def same(one: tuple[Any, ...], other: tuple[Any, ...], *, exactly: bool) -> None:
    """Features of words are in the order of their names, so that sums are rounded otherwise."""
    assert one[0] == other[0] == ROWS and len(set(one[2])) > 1
    if exactly:
        assert one == other
    else:
        assert one[1] == pytest.approx(other[1], rel=1e-5)
        assert np.mean([a == b for a, b in zip(one[2], other[2], strict=True)]) > 0.99


@pytest.mark.parametrize(
    ("columns", "label", "more"),
    [
        (("x", "word", "kind", "weight"), "kind", {"weightCol": "weight"}),
        (("both", "three"), "three", {"featuresCol": "both", "numParts": 2}),
        (("both", "word", "y"), "y", {"featuresCol": "both"}),
    ],
)
def test_estimators_take_any_name(
    columns: tuple[str, ...], label: str, more: dict[str, Any], plain: DataFrame, odd: DataFrame
) -> None:
    both = (said(pick(df, *columns), label, **more) for df in (plain, odd))
    same(*both, exactly="featuresCol" in more)


def test_streams_take_any_name(odd: DataFrame, spark: SparkSession, tmp_path: Path) -> None:
    columns = ("x", "word", "kind", "weight")
    rows = pick(odd, *columns)
    rows.write.parquet(f"{tmp_path}/rows")
    arriving = spark.readStream.schema(rows.schema).parquet(f"{tmp_path}/rows")
    learner = OnlineClassifier(labelCol=NAMES["kind"], weightCol=NAMES["weight"])
    for _ in range(2):
        stream = learner.fitStream(arriving, f"{tmp_path}/point", availableNow=True)
        stream.awaitTermination()
        assert stream.report()["examples"] == ROWS
    there = stream.model().transform(rows)
    assert there.where("prediction = 'up'").count() > 0


def test_audits_take_any_name(plain: DataFrame, odd: DataFrame) -> None:
    columns = {"prediction": "x", "label": "y", "by": "day", "weight": "weight"}
    found = []
    for df in (plain, odd):
        names = {name: own(df, column) for name, column in columns.items()}
        for features in ([own(df, "word"), own(df, "x")], own(df, "both")):
            days = audit(df, **names, features=features, loss="square")
            assert list(days) == ["monday", "tuesday"]
            assert sum(one.report()["examples"] for one in days.values()) == ROWS
            found.append([one.certificate() for one in days.values()])
    assert found[0] == pytest.approx(found[2], rel=1e-9) and found[1] == found[3]


def test_hindsight_takes_any_name(plain: DataFrame, odd: DataFrame) -> None:
    asked = [("kind", ["x", "word"], {}), ("y", "both", {"loss": "square"})]
    for label, features, more in asked:
        found = []
        for df in (plain, odd):
            names = (
                own(df, features)
                if isinstance(features, str)
                else [own(df, one) for one in features]
            )
            weight = own(df, "weight")
            given = {
                "label": own(df, label),
                "features": names,
                "weight": weight,
                "tolerance": 0.05,
            }
            found.append(hindsight(df, **given, **more)["comparator"])
        one, other = found
        assert one["lower"] <= other["upper"] and other["lower"] <= one["upper"]
