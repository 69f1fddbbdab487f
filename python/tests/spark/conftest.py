"""One cluster of two worker processes for all tests, and the data of most of them."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession
from rueful.spark import _rounds


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    place = tmp_path_factory.mktemp("cluster")
    # Java compiles quickly rather than well, for jobs that are small.
    quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.driver.extraJavaOptions", quick)
        .config("spark.executor.extraJavaOptions", quick)
        .config("spark.ui.enabled", "false")
        .config("spark.executor.memory", "768m")
        .config("spark.sql.shuffle.partitions", "2")
        # A task that fails once is run again.
        .config("spark.task.maxFailures", "2")
        .config("spark.sql.warehouse.dir", str(place / "warehouse"))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def table() -> pd.DataFrame:
    """Two numbers in different units, a word, a truth, two classes, and a number to predict."""
    rows, rng = 1500, np.random.default_rng(0)
    x, z = rng.normal(size=rows), 1e6 * rng.random(rows)
    word = np.where(rng.random(rows) < 0.5, "warm", "cold")
    score = 2 * x + z / 1e6 + np.where(word == "warm", 1.0, -1.0) + 0.5 * rng.normal(size=rows)
    return pd.DataFrame(
        {
            "x": x,
            "z": z,
            "word": word,
            "odd": np.arange(rows) % 2 == 1,
            "label": (score > 0).astype(np.int64),
            "y": score,
        }
    )


@pytest.fixture(scope="session")
def data(
    spark: SparkSession, table: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory
) -> DataFrame:
    """The table as six partitions, each a file."""
    folder = tmp_path_factory.mktemp("data")
    df = None
    for number in range(6):
        path = folder / f"{number}.parquet"
        table.iloc[250 * number : 250 * (number + 1)].to_parquet(path, index=False)
        frame = spark.read.parquet(str(path))
        df = frame if df is None else df.union(frame)
    assert df is not None
    return df


@pytest.fixture
def disturb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Returns a function that makes trouble for one part of a round: its executor is killed, or its
    task fails when all its work is done. The file that it returns is there afterwards."""
    mark, learner = tmp_path / "mark", _rounds.learner

    def disturbed(trouble: str) -> Path:
        def troubled(base: Any, columns: Any, *, is_only: bool) -> Any:
            learn = learner(base, columns, is_only=is_only)

            def run(batches: Any) -> Any:
                import os
                import signal

                yield from learn(batches)
                if is_only:
                    return
                try:
                    os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    return
                if trouble == "twice":
                    raise RuntimeError("the task fails at its end")
                # The process that the daemon of the workers belongs to is the executor.
                with open(f"/proc/{os.getppid()}/stat") as stat:
                    executor = int(stat.read().rsplit(")", 1)[1].split()[1])
                os.kill(executor, signal.SIGKILL)

            return run

        monkeypatch.setattr(_rounds, "learner", troubled)
        return mark

    return disturbed
