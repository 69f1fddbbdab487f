"""Race the Python package against scikit-learn and River, and against rueful's own loops in Rust.

The package is built for release and installed beside its rivals. All take turns in one process, on the same rows, in chunks that
lie ready in memory, on as many threads as each of them takes. Medians on the clock are compared; the processor time, which a busy
machine takes from nobody, stands beside them. The project's goals are printed beside the results.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

sys.dont_write_bytecode = True
import common  # noqa: E402

# The least ratios of a rival's time to ours, by the table and the size of its chunks.
DESCENT = {("sparse", 10_000): 1.5, ("dense", 10_000): 3.0, ("sparse", 1_000): 5.0, ("dense", 1_000): 8.0}
LEARN_MANY, LEARN_ONE, OF_RUST, READ, OVER_PARSE = 20.0, 3.0, 0.8, 30.0, 1.3

# The lengths of frames, and how many of each length are learned from at most.
FRAMES, FRAMES_MOST = (1, 10, 100, 1_000), 200

OGD = "OGD hinge, AdaGradNorm, ball"


@dataclass
class Contestant:
    """A function whose time is taken, and the times it took."""

    name: str
    go: Callable[[], object]
    prepare: Callable[[], object] = lambda: None
    processor: list[float] = field(default_factory=list)
    clock: list[float] = field(default_factory=list)

    def turn(self) -> None:
        self.prepare()
        wait_for_rest()
        start, processor = time.perf_counter(), time.process_time()
        self.go()
        self.processor.append(time.process_time() - processor)
        self.clock.append(time.perf_counter() - start)


def wait_for_rest() -> None:
    """Wait until no thread of this process works.

    scikit-learn multiplies with OpenBLAS, whose threads look out for more work in a loop for a while. That is not
    charged to whoever has the next turn.
    """
    for _ in range(100):
        before = time.process_time()
        time.sleep(0.02)
        if time.process_time() - before < 0.002:
            return


def take_turns(everyone: list[Contestant], repetitions: int) -> None:
    for _ in range(repetitions):
        for contestant in everyone:
            contestant.turn()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, metavar="FOLDER",
                        help="where race.py has written its data sets [default: in target/rivals]")
    parser.add_argument("--wheel", type=Path, metavar="FILE", help="the package [default: it is built]")
    parser.add_argument("--bench", metavar="PATH", help="rueful-bench [default: the release build]")
    parser.add_argument("--repetitions", type=int, default=7, metavar="N")
    parser.add_argument("--rows", type=int, default=100_000, metavar="N", help="how many rows are learned from")
    parser.add_argument("--json", action="store_true", help="print the measurements as JSON")
    return parser.parse_args()


def install(wheel: Path | None) -> None:
    """Install the package, and build it first unless somebody has."""
    folder = common.CACHE / "wheels"
    if wheel is None:
        for old in folder.glob("*.whl"):
            old.unlink()
        build = [sys.executable, "-m", "maturin", "build", "--release", "--locked", "--quiet"]
        subprocess.run([*build, "--out", str(folder)], check=True, cwd=common.ROOT)
        wheel = next(folder.glob("*.whl"))
    again = ["--quiet", "--force-reinstall", "--no-deps"]
    subprocess.run([sys.executable, "-m", "pip", "install", *again, str(wheel)], check=True)


def in_chunks(X, y, size: int) -> list[tuple]:
    return [(X[at : at + size], y[at : at + size]) for at in range(0, X.shape[0], size)]


def pass_over(make: Callable, chunks: list[tuple], **settings) -> Callable[[], None]:
    """A pass of a new model over all chunks."""

    def go() -> None:
        model = make(**settings)
        for X, y in chunks:
            model.partial_fit(X, y, classes=[-1, 1])

    return go


def race_descent(tables: dict, args) -> list[dict]:
    import rueful
    from sklearn.linear_model import SGDClassifier

    found = []
    for (name, size), goal in DESCENT.items():
        chunks = in_chunks(*tables[name], size)
        ours, bank, theirs = everyone = [
            Contestant("rueful", pass_over(rueful.OnlineClassifier, chunks, learner="ogd", loss="hinge")),
            Contestant("bank", pass_over(rueful.OnlineClassifier, chunks, loss="hinge")),
            Contestant("sgd", pass_over(SGDClassifier, chunks, loss="hinge", shuffle=False)),
        ]
        take_turns(everyone, args.repetitions)
        rows = tables[name][0].shape[0]
        found.append(compared(f"partial_fit, {name}, {size:,} rows at a time, over scikit-learn", theirs, ours, goal, rows))
        found.append(compared("  the same with the bank", theirs, bank, None, rows))
    return found


@dataclass
class Measured:
    """What another program has measured of itself, on the clock."""

    clock: list[float]
    processor: list[float] = field(default_factory=list)


def compared(what: str, theirs, ours, goal: float | None, rows: int, our_rows: int | None = None) -> dict:
    """How many times faster we are than a rival, for a row each, and the goal."""
    clock = [nanoseconds(theirs.clock, rows), nanoseconds(ours.clock, our_rows or rows)]
    processor = [nanoseconds(theirs.processor, rows), nanoseconds(ours.processor, our_rows or rows)]
    return {
        "what": what,
        "theirs": clock[0],
        "ours": clock[1],
        "ratio": clock[0] / clock[1],
        "goal": goal,
        "processor": {"theirs": processor[0], "ours": processor[1]},
    }


def nanoseconds(seconds: list[float], rows: int) -> float | None:
    return 1e9 * statistics.median(seconds) / rows if seconds else None


def race_river(tables: dict, args) -> list[dict]:
    import rueful.river
    from river.linear_model import LogisticRegression

    found = []
    for name, rows in (("dense", 20_000), ("sparse", 2_000)):
        X, y = (part[:rows] for part in tables[name])
        dicts = [({f"f{j}": float(v) for j, v in pairs(X, row)}, bool(y[row] > 0)) for row in range(X.shape[0])]

        def one_by_one(make: Callable, dicts=dicts) -> Callable[[], None]:
            def go() -> None:
                model = make()
                for x, label in dicts:
                    model.learn_one(x, label)

            return go

        ours, theirs = everyone = [
            Contestant("rueful", one_by_one(rueful.river.OnlineClassifier)),
            Contestant("river", one_by_one(LogisticRegression)),
        ]
        take_turns(everyone, args.repetitions)
        found.append(compared(f"learn_one, {name}, the bank over River's LogisticRegression",
                              theirs, ours, LEARN_ONE, len(dicts)))
        if name == "dense":
            found += race_frames(X, y, (theirs, len(dicts)), args)
    return found


def race_frames(X, y, one_by_one: tuple[Contestant, int], args) -> list[dict]:
    """Frames of several lengths. River's learn_many makes one step for all rows of a frame, and ours one for every row."""
    import pandas
    import rueful.river
    from river.linear_model import LogisticRegression

    frame = pandas.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    labels = pandas.Series(y > 0)
    found = []
    for size in FRAMES:
        rows = min(len(frame), FRAMES_MOST * size)
        parts = in_chunks(frame[:rows], labels[:rows], size)
        ours, theirs = everyone = [
            Contestant("rueful", many(rueful.river.OnlineClassifier, parts)),
            Contestant("river", many(LogisticRegression, parts)),
        ]
        take_turns(everyone, args.repetitions)
        found.append(compared(f"learn_many, frames of {size:,}, the bank over River's learn_many",
                              theirs, ours, LEARN_MANY, rows))
        found.append(compared("  the same over River's learn_one", one_by_one[0], ours, None, one_by_one[1], rows))
    return found


def pairs(X, row: int):
    """The columns and values of a row."""
    if hasattr(X, "indptr"):
        part = slice(X.indptr[row], X.indptr[row + 1])
        return zip(X.indices[part], X.data[part])
    return enumerate(X[row])


def many(make: Callable, chunks: list[tuple]) -> Callable[[], None]:
    def go() -> None:
        model = make()
        for X, y in chunks:
            model.learn_many(X, y)

    return go


def in_rust(args, name: str) -> dict[str, float]:
    """Seconds per row of the same learners in rueful-bench, from memory: a whole run, and learner and ledger alone."""
    command = [args.bench, "--json", "--data", name, "--repetitions", "3", "--only"]
    ogd = common.ask([*command, OGD])
    bank = common.ask([*command, "bank, logistic"])
    line = next(line for line in ogd[0]["lines"] if line["name"] == OGD)
    parts = bank[0]["banks"][0]
    runs = {run["name"]: run["nanoseconds"] * 1e-9 for run in common.ask([*command, "run of"])[0]["runs"]}
    return {
        "ogd": runs["run of ogd"],
        "bank": runs["run of the bank"],
        "ogd alone": line["ledger"]["both"]["median"] / ogd[0]["rows"],
        "bank alone": (parts["bank"] + parts["ledger"]) * 1e-9,
    }


def race_rust(tables: dict, args) -> list[dict]:
    import numpy
    import pyarrow
    import rueful

    kinds = {}
    X, y = tables["dense"]
    columns = [f"c{column}" for column in range(X.shape[1])]
    kinds["NumPy, singles"] = ("dense", numpy.ascontiguousarray(X, dtype=numpy.float32))
    kinds["NumPy, doubles"] = ("dense", X)
    kinds["Arrow"] = ("dense", pyarrow.table({name: X[:, at] for at, name in enumerate(columns)}))
    kinds["CSR, singles"] = ("sparse", tables["sparse"][0].astype(numpy.float32))
    kinds["CSR, doubles"] = ("sparse", tables["sparse"][0])
    settings = {"ogd": {"learner": "ogd", "loss": "hinge"}, "bank": {}}

    def fit(table, labels, chosen: dict) -> Callable[[], object]:
        return lambda: rueful.OnlineClassifier(**chosen).partial_fit(table, labels, classes=[-1, 1])

    everyone = {
        (kind, learner): Contestant(kind, fit(table, tables[name][1], chosen))
        for kind, (name, table) in kinds.items()
        for learner, chosen in settings.items()
    }
    rust: dict[str, list] = {"dense": [], "sparse": []}
    for _ in range(args.repetitions):
        for name, measured in rust.items():
            measured.append(in_rust(args, name))
        take_turns(list(everyone.values()), 1)
    found = []
    for (kind, learner), contestant in everyone.items():
        name = kinds[kind][0]
        rows = tables[name][0].shape[0]
        whole, alone = (Measured([rows * each[what] for each in rust[name]]) for what in (learner, f"{learner} alone"))
        found.append(compared(f"{learner}, {kind}, over the run in Rust", whole, contestant, OF_RUST, rows))
        found.append(compared("  the same over learner and ledger alone", alone, contestant, None, rows))
    return found


def race_reading(args) -> list[dict]:
    import rueful
    from sklearn.datasets import load_svmlight_file

    path = str(args.folder / "sparse.libsvm")
    parse = [args.bench, "--floor", "parse-all", path]
    ours, floor = everyone = [
        Contestant("rueful", lambda: rueful.read(path)),
        Contestant("parse", lambda: subprocess.run(parse, check=True, stdout=subprocess.DEVNULL)),
    ]
    take_turns(everyone, args.repetitions)
    theirs = Contestant("scikit-learn", lambda: load_svmlight_file(path))
    take_turns([theirs], 1 + args.repetitions // 4)
    # The parse is a program of its own, whose processor time is not counted here.
    floor = Measured(floor.clock)
    rows = rueful.read(path)[0].shape[0]
    return [
        compared("reading LIBSVM text on all cores, over scikit-learn", theirs, ours, READ, rows),
        compared("reading LIBSVM text, over the bare parse on all cores", floor, ours, 1 / OVER_PARSE, rows),
    ]


def tables_of(args) -> dict:
    """The first rows of both data sets, as scikit-learn learns from them: doubles, and indices of 32 bits."""
    import numpy
    import rueful

    tables = {}
    for name in ("sparse", "dense"):
        X, y = rueful.read(args.folder / f"{name}.libsvm")
        X, y = X[: args.rows].astype(numpy.float64), y[: args.rows]
        tables[name] = (X if name == "sparse" else numpy.ascontiguousarray(X.toarray()), y)
    return tables


def line(found: dict) -> list[str]:
    goal = found["goal"]
    verdict = "" if goal is None else "reached" if found["ratio"] >= goal else "missed"
    wanted = "–" if goal is None else f"{goal:.3g}"
    processor = ["–" if one is None else f"{one:,.0f}" for one in found["processor"].values()]
    clock = [f"{found['theirs']:,.0f}", f"{found['ours']:,.0f}", f"{found['ratio']:.2f}"]
    return [found["what"], *clock, wanted, verdict, *processor]


def main() -> None:
    args = arguments()
    common.enter_environment(".venv-python", "requirements-python.txt")
    args.bench = common.program("rueful-bench", args.bench)
    args.folder = args.folder or common.CACHE / "sets"
    if not (args.folder / "sparse.libsvm").exists():
        subprocess.run([args.bench, "--write", str(args.folder)], check=True)
    install(args.wheel)
    tables = tables_of(args)
    found = [*race_descent(tables, args), *race_river(tables, args), *race_rust(tables, args), *race_reading(args)]
    if args.json:
        print(json.dumps(found, indent=2))
        return
    header = ["nanoseconds a row", "theirs", "ours", "theirs / ours", "at least", "", "processor: theirs", "ours"]
    print(common.table(header, [line(one) for one in found]))


if __name__ == "__main__":
    main()
