"""Race rueful.spark against MLlib on a cluster of two processes, and measure what rounds cost.

`make spark` makes the environment of this script, target/spark. The data are generated like those of
`rueful-bench`, rows of text (sparse) and of measurements (dense), and lie in Parquet as ML vectors; with a
folder of data sets, a9a is raced, too. All take turns on the same cluster.

- rueful: OnlineClassifier with its defaults, one pass. Its progressive loss is that of the predictions
  made on the way, before their rows were learned from.
- streaming: StreamingLogisticRegressionWithSGD with its defaults, 50 iterations a micro-batch, which are
  as large as our slices, and scores instead of labels. Its updates are called one after another, without
  a clock between them. The progressive loss is that of each micro-batch before its update.
- batch: LogisticRegression of MLlib with its defaults, all data in up to 100 iterations.

Seconds are wall time, and work is the processor time of all processes of the cluster. Other programs on the
machine disturb the first much and the second little. rueful and the batch learner take turns three times, and
the medians count.
"""

import argparse
import math
import os
import shutil
import statistics
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.dont_write_bytecode = True
import common  # noqa: E402

PYTHON = common.ROOT / "target" / "spark" / "bin" / "python"
PLACE = common.CACHE / "spark"
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")

# The law of the sparse rows: see crates/bench/src/generate.rs.
ZIPF, FEATURES, PER_ROW, MODEL = 10.0, 47_000, 75, 300.0

if Path(sys.prefix).resolve() != (common.ROOT / "target" / "spark").resolve():
    if not PYTHON.exists():
        sys.exit("target/spark does not exist: run `make spark` first")
    os.execv(PYTHON, [str(PYTHON), "-B", *sys.argv])

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
import pyspark  # noqa: E402
import rueful  # noqa: E402
import scipy.sparse  # noqa: E402
from pyspark.ml.classification import LogisticRegression  # noqa: E402
from pyspark.ml.functions import vector_to_array  # noqa: E402
from pyspark.ml.linalg import VectorUDT  # noqa: E402
from pyspark.mllib.classification import StreamingLogisticRegressionWithSGD  # noqa: E402
from pyspark.mllib.linalg import Vectors as OldVectors  # noqa: E402
from pyspark.mllib.regression import LabeledPoint  # noqa: E402
from pyspark.sql import DataFrame, SparkSession  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402
from pyspark.sql.types import DoubleType, StructField, StructType  # noqa: E402
from rueful.spark import OnlineClassifier, _rounds, hindsight  # noqa: E402
from rueful.spark._rows import ROW  # noqa: E402

RACE = ["data", "learner", "progressive log loss", "test log loss", "seconds", "work, seconds"]
COSTS = ["data", "parts", "rounds", "progressive log loss", "certificate", "test log loss"]
COSTS += ["rounds to a regret of 0.02", "MB sent", "MB returned", "work, seconds", "worker, MB"]

SCHEMA = StructType([StructField("features", VectorUDT()), StructField("label", DoubleType())])


def sparse(rows: int, seed: int) -> tuple[scipy.sparse.csr_matrix, np.ndarray]:
    """Rows like text: few features of many, the frequent ones in most rows, and rows of norm 1."""
    rng, draw = np.random.default_rng(1), np.random.default_rng(seed)
    index = rng.permutation(FEATURES)
    rank = np.arange(FEATURES)
    model = np.zeros(FEATURES)
    model[index] = (1 - 2 * (rank % 2)) * np.abs(rng.normal(size=FEATURES)) / (1 + rank / MODEL)
    spread = (FEATURES + ZIPF) / ZIPF
    ranks = ZIPF * (spread ** draw.random((rows, PER_ROW)) - 1.0)
    values = (1 + np.log1p(ranks / ZIPF)) * (0.5 + draw.random((rows, PER_ROW)))
    places = index[np.minimum(ranks.astype(np.int64), FEATURES - 1)]
    starts = np.arange(0, rows * PER_ROW + 1, PER_ROW)
    X = scipy.sparse.csr_matrix((values.ravel(), places.ravel(), starts), (rows, FEATURES))
    X.sum_duplicates()
    norms = np.sqrt(X.multiply(X).sum(axis=1)).A1
    X = scipy.sparse.csr_matrix(scipy.sparse.diags(1 / norms) @ X)
    X.sort_indices()
    return X, (X @ model + 0.1 * draw.normal(size=rows) >= 0).astype(float)


def dense(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows like measurements: every feature in every row, with standard normal values."""
    model = np.random.default_rng(2).normal(size=28) / math.sqrt(28)
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(rows, 28))
    return X, (X @ model + 0.45 * draw.normal(size=rows) >= 0).astype(float)


def a9a(folder: Path, name: str) -> tuple[scipy.sparse.csr_matrix, np.ndarray]:
    """The rows of a9a in an order drawn once, because parts of a file in order differ."""
    X, y = rueful.read(folder / "binary" / name)
    X, y = scipy.sparse.csr_matrix(X), (np.asarray(y) > 0).astype(float)
    order = np.random.default_rng(3).permutation(len(y))
    X = scipy.sparse.csr_matrix((X.data, X.indices, X.indptr), (X.shape[0], 124))
    return X[order], y[order]


def write(X, y, folder: Path, files: int) -> str:
    """Writes rows as Parquet files with a column of ML vectors, as Spark would."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    meta = {b"org.apache.spark.sql.parquet.row.metadata": SCHEMA.json().encode()}
    for number, rows in enumerate(np.array_split(np.arange(len(y)), files)):
        part, count = X[rows[0] : rows[-1] + 1], len(rows)
        if scipy.sparse.issparse(part):
            offsets = pa.array(part.indptr.astype(np.int32))
            indices = pa.ListArray.from_arrays(offsets, pa.array(part.indices.astype(np.int32)))
            values = pa.ListArray.from_arrays(offsets, pa.array(part.data.astype(np.float64)))
            kind, size = np.zeros(count, np.int8), pa.array([part.shape[1]] * count, pa.int32())
        else:
            offsets = pa.array(np.arange(0, part.size + 1, part.shape[1]).astype(np.int32))
            indices = pa.nulls(count, pa.list_(pa.int32()))
            values = pa.ListArray.from_arrays(offsets, pa.array(part.ravel()))
            kind, size = np.ones(count, np.int8), pa.nulls(count, pa.int32())
        arrays = [pa.array(kind), size, indices, values]
        vectors = pa.StructArray.from_arrays(arrays, ["type", "size", "indices", "values"])
        labels = pa.array(y[rows[0] : rows[-1] + 1])
        table = pa.table({"features": vectors, "label": labels})
        pq.write_table(table.replace_schema_metadata(meta), folder / f"{number}.parquet")
    return str(folder)


def processes() -> dict[int, tuple[int, float, int, str]]:
    """Every process: its parent, its processor time, its memory, its command."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            stat = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        used = sum(int(ticks) for ticks in stat[11:13]) / TICKS
        found[int(entry.name)] = (int(stat[1]), used, int(stat[21]) * PAGE, command)
    return found


def own(found: dict[int, tuple[int, float, int, str]]) -> set[int]:
    """This process and all below it."""
    mine, before = {os.getpid()}, 0
    while len(mine) > before:
        before = len(mine)
        mine |= {pid for pid, (parent, *_) in found.items() if parent in mine}
    return mine


@dataclass
class Clock:
    """Wall time, processor time of the cluster, and the most memory of a Python worker."""

    seconds: float = 0.0
    work: float = 0.0
    memory: int = 0
    _done: threading.Event = field(default_factory=threading.Event, repr=False)
    #: The processor time of each process when it was last seen, also of those that have ended.
    _used: dict[int, float] = field(default_factory=dict, repr=False)

    def __enter__(self) -> "Clock":
        self._look()
        self._begin = time.perf_counter(), sum(self._used.values())
        self._watcher = threading.Thread(target=self._watch)
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._begin[0]
        self._done.set()
        self._watcher.join()
        self._look()
        self.work = sum(self._used.values()) - self._begin[1]

    def _look(self) -> None:
        found = processes()
        for pid in own(found):
            _, self._used[pid], memory, command = found[pid]
            if "pyspark.daemon" in command:
                self.memory = max(self.memory, memory)

    def _watch(self) -> None:
        while not self._done.wait(0.3):
            self._look()


@dataclass
class Rounds:
    """Records the rounds of a fit: examples, risk, bytes to and from the parts."""

    seen: list[tuple[int, float, int, int]] = field(default_factory=list)

    def __enter__(self) -> "Rounds":
        self._play, self._read = _rounds.play, _rounds.part_from_bytes
        moved = [0]

        def read(content: bytes):
            moved[0] += len(content)
            return self._read(content)

        def play(base, rows, cut, counts, columns, *, is_only=False):
            moved[0] = 0
            after = self._play(base, rows, cut, counts, columns, is_only=is_only)
            report = rueful._rueful.Model.from_bytes(after.state).report()
            report = rueful.Report._of(report)
            sent = len(base.state) * (max(counts) + 1)
            self.seen.append((report["examples"], report["sequential_risk"], sent, moved[0]))
            return after

        _rounds.play, _rounds.part_from_bytes = play, read
        return self

    def __exit__(self, *_: object) -> None:
        _rounds.play, _rounds.part_from_bytes = self._play, self._read


def log_loss(said: DataFrame) -> float:
    """The mean log loss of probabilities."""
    chance = vector_to_array("probability")[1]
    right = F.when(F.col("label") > 0, chance).otherwise(1 - chance)
    right = F.greatest(right, F.lit(1e-15))
    return float(said.select(F.avg(-F.log(right))).first()[0])


def streaming(train: DataFrame, test: DataFrame, width: int, slices: list[tuple[int, int]]):
    """Learns slice after slice; returns the progressive loss, the seconds, and the test loss."""
    learner = StreamingLogisticRegressionWithSGD().setInitialWeights(np.zeros(width))

    def points(df: DataFrame):
        return df.rdd.map(lambda row: LabeledPoint(row["label"], OldVectors.fromML(row["features"])))

    def loss(rdd) -> tuple[float, int]:
        weights = learner._model.weights.toArray()

        def cost(point) -> float:
            score = point.features.dot(weights)
            return float(np.logaddexp(0.0, -score if point.label > 0 else score))

        found = rdd.map(cost).stats()
        return found.sum(), found.count()

    total = count = 0.0
    for start, end in slices:
        rdd = points(train.where((F.col(ROW) >= start) & (F.col(ROW) < end))).cache()
        lost, rows = loss(rdd)
        total, count = total + lost, count + rows
        if rows:
            # What `trainOn` does with every micro-batch.
            learner._model = _updated(learner, rdd)
        rdd.unpersist()
    lost, rows = loss(points(test))
    return total / count, lost / rows


def _updated(learner, rdd):
    from pyspark.mllib.classification import LogisticRegressionWithSGD

    return LogisticRegressionWithSGD.train(
        rdd,
        learner.numIterations,
        learner.stepSize,
        learner.miniBatchFraction,
        learner._model.weights,
        regParam=learner.regParam,
        convergenceTol=learner.convergenceTol,
    )


def race(
    spark: SparkSession, name: str, folder: Path, times: int, *, with_streaming: bool = True
) -> list[list[str]]:
    """Everybody on one set, where rueful and the batch learner take turns."""
    train = spark.read.parquet(str(folder / "train"))
    test = spark.read.parquet(str(folder / "test"))
    width = len(train.first()["features"])
    ours, theirs = [], []
    for _ in range(times):
        with Clock() as clock:
            model = OnlineClassifier(featuresCol="features").fit(train)
        ours.append(clock)
        with Clock() as clock:
            fitted = LogisticRegression().fit(train)
        theirs.append(clock)
    rows = [["rueful", model.report()["sequential_risk"], log_loss(model.transform(test)), ours]]
    if with_streaming:
        numbered = _rounds.InPlace(train).numbered().cache()
        parts = train.rdd.getNumPartitions()
        longest = -(-numbered.count() // parts)
        first = min(longest, OnlineClassifier().getFirstSlice())
        # The slice of one part alone is a micro-batch of all parts here.
        head = -(-first // parts)
        later = _rounds.slices(longest, parts, 0, first, width + 1)
        slices = [(0, head), *((max(start, head), end) for start, end in later if end > head)]
        with Clock() as clock:
            progressive, tested = streaming(numbered, test, width, slices)
        numbered.unpersist()
        rows.append(["MLlib, streaming", progressive, tested, [clock]])
    rows.append(["MLlib, batch", None, log_loss(fitted.transform(test)), theirs])
    return [
        [name, who, f"{on_the_way:.4f}" if on_the_way else "", f"{tested:.4f}"]
        + [f"{statistics.median(one.seconds for one in clocks):.1f}"]
        + [f"{statistics.median(one.work for one in clocks):.1f}"]
        for who, on_the_way, tested, clocks in rows
    ]


def costs(spark: SparkSession, name: str, folder: Path) -> list[list[str]]:
    """What learning costs by the number of parts."""
    train = spark.read.parquet(str(folder / "train"))
    test = spark.read.parquet(str(folder / "test"))
    best = hindsight(train, features="features", tolerance=1e-2, max_passes=25)["comparator"]["upper"]
    found = []
    for parts in (1, 2, 4, 8):
        with Clock() as clock, Rounds() as rounds:
            model = OnlineClassifier(featuresCol="features", numParts=parts).fit(train)
        near = [k + 1 for k, (_, risk, *_) in enumerate(rounds.seen) if risk - best <= 0.02]
        sent, back = max(one[2] for one in rounds.seen), max(one[3] for one in rounds.seen)
        risk, certificate = model.report()["sequential_risk"], model.certificate()
        found.append(
            [name, str(parts), str(len(rounds.seen)), f"{risk:.4f}", f"{certificate:.4f}"]
            + [f"{log_loss(model.transform(test)):.4f}", str(near[0]) if near else "–"]
            + [f"{sent / 1e6:.2f}", f"{back / 1e6:.2f}", f"{clock.work:.1f}"]
            + [f"{clock.memory / 1e6:.0f}"]
        )
    return found


def session() -> SparkSession:
    """A cluster of two processes, each with one core."""
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    made = (
        SparkSession.builder.master("local-cluster[2,1,2048]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.executor.memory", "1536m")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.warehouse.dir", str(PLACE / "warehouse"))
        .getOrCreate()
    )
    made.sparkContext.setLogLevel("OFF")
    return made


def warm_up(spark: SparkSession, *, with_streaming: bool) -> None:
    """Lets everybody learn from a few rows, so that all processes have started and loaded their code."""
    write(*dense(2000, 5), PLACE / "warm" / "train", 4)
    write(*dense(400, 6), PLACE / "warm" / "test", 2)
    race(spark, "warm", PLACE / "warm", 1, with_streaming=with_streaming)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", nargs="?", help="the folder of data sets, for a9a")
    parser.add_argument("--rows", type=int, help="the rows of generated sets: 200,000 sparse or 1,000,000 dense ones")
    parser.add_argument("--times", type=int, default=3, help="how often rueful and the batch learner take turns")
    parser.add_argument("--only", action="append", help="sparse, dense or a9a")
    parser.add_argument("--race", action="store_true", help="without what the pass costs by parts")
    parser.add_argument("--costs", action="store_true", help="only what the pass costs by parts")
    parser.add_argument("--quick", action="store_true", help="without the streaming learner, which takes long")
    given = parser.parse_args()
    sets = {
        "sparse": lambda: (sparse(given.rows or 200_000, 5), sparse(40_000, 6)),
        "dense": lambda: (dense(given.rows or 1_000_000, 5), dense(40_000, 6)),
    }
    if given.data:
        names = ("a9a.libsvm", "a9a.test.libsvm")
        sets["a9a"] = lambda: tuple(a9a(Path(given.data), name) for name in names)
    spark = session()
    warm_up(spark, with_streaming=not given.quick)
    for name, made in sets.items():
        if given.only and name not in given.only:
            continue
        print(f"{name} ...", file=sys.stderr, flush=True)
        train, test = made()
        write(*train, PLACE / name / "train", 4)
        write(*test, PLACE / name / "test", 2)
        if not given.costs:
            raced = race(spark, name, PLACE / name, given.times, with_streaming=not given.quick)
            print(common.table(RACE, raced), flush=True)
        if not given.race:
            print(common.table(COSTS, costs(spark, name, PLACE / name)), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
