"""Race rueful against Vowpal Wabbit, River and scikit-learn on the same files, side by side.

All programs take turns, so that a busy machine is busy for all. rueful is timed as a whole process, with
its certificate. The rivals are timed from the moment their libraries are loaded, without the start of
Python. There are two races:

- ogd: all learn a linear classifier by gradient descent on the hinge loss, in one pass over a file. The
  floor is the time that this machine needs to read the file, to find its lines, or to parse it and do
  nothing else. River is so slow that it gets only the first rows, and its time is scaled up.
- default: rueful with its defaults, the bank with its witnesses, runs against Vowpal Wabbit with its
  defaults, both from text. The memory of rueful is measured, too, also where nearly every second feature
  is a new one (wide). The project's goals are printed beside the results.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.dont_write_bytecode = True
import common  # noqa: E402

RIVER_ROWS = 4000
RACES = ["ogd", "default"]

# The size of the widest data: rows, features per row, and features to draw them from.
WIDE_ROWS, WIDE_LENGTH, WIDE_FEATURES = 100_000, 40, 3_000_000

# The goals: the least ratio of Vowpal Wabbit's time to ours, and the most memory, in bytes and per feature.
WANTED = {"sparse": 3.0, "dense": 2.0}
MEMORY, MEMORY_PER_FEATURE = 64e6, 160

VW = """
import sys, time
from vowpalwabbit import Workspace
start, processor = time.perf_counter(), time.process_time()
model = Workspace(sys.argv[1])
model.run_parser()
model.finish()
print(time.perf_counter() - start, time.process_time() - processor)
"""

SKLEARN = """
import sys, time
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import SGDClassifier
start, processor = time.perf_counter(), time.process_time()
x, y = load_svmlight_file(sys.argv[1])
# It reads indices of 64 bits, but learns from indices of 32 bits.
x.indices, x.indptr = x.indices.astype("int32"), x.indptr.astype("int32")
loaded = time.perf_counter()
SGDClassifier(loss="hinge", shuffle=False).partial_fit(x, y, classes=[-1, 1])
end = time.perf_counter()
print(end - start, end - loaded, time.process_time() - processor)
"""

RIVER = """
import itertools, sys, time
from river.linear_model import LogisticRegression
from river.optim.losses import Hinge
start, processor = time.perf_counter(), time.process_time()
model = LogisticRegression(loss=Hinge())
rows = int(sys.argv[2])
with open(sys.argv[1]) as file:
    for line in itertools.islice(file, rows):
        label, *pairs = line.split()
        x = {}
        for pair in pairs:
            index, value = pair.split(":")
            x[int(index)] = float(value)
        model.predict_one(x)
        model.learn_one(x, label == "+1")
print(time.perf_counter() - start, time.process_time() - processor)
"""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, metavar="FOLDER",
                        help="where the data sets are, or are to be written [default: in target/rivals]")
    parser.add_argument("--only", choices=RACES, help="only this race")
    parser.add_argument("--rueful", metavar="PATH", help="the program [default: the release build]")
    parser.add_argument("--bench", metavar="PATH", help="rueful-bench [default: the release build]")
    parser.add_argument("--repetitions", type=int, default=7, metavar="N")
    parser.add_argument("--quick", action="store_true", help="small data, to see that it works")
    parser.add_argument("--json", action="store_true", help="print the measurements as JSON")
    return parser.parse_args()


@dataclass
class Measured:
    """The cost of a process: seconds on the clock and of processors, and peak bytes; and its output."""

    seconds: float
    processor: float
    memory: int
    said: list[str]


def measured(command: list[str]) -> Measured:
    read, write = os.pipe()
    start = time.perf_counter()
    pid = os.posix_spawnp(
        command[0],
        command,
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_DUP2, write, 1),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ],
    )
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.read()
    _, status, usage = os.wait4(pid, 0)
    seconds = time.perf_counter() - start
    if status != 0:
        sys.exit(f"{' '.join(command)} failed with status {status}")
    return Measured(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, said.split())


class Contestant:
    """A program that goes through a file, and its measurements."""

    def __init__(self, name: str, command: list[str], said: int | None = None, scale: float = 1.0):
        self.name, self.command, self.said, self.scale = name, command, said, scale
        self.seconds, self.processor, self.memory = [], [], []

    def go(self) -> None:
        found = measured(self.command)
        # The scripts of the libraries print how long they took without the start of Python.
        if self.said is not None:
            found.seconds, found.processor = float(found.said[self.said]), float(found.said[-1])
        self.seconds.append(found.seconds * self.scale)
        self.processor.append(found.processor * self.scale)
        self.memory.append(found.memory)

    def result(self) -> dict:
        return {
            "name": self.name,
            "seconds": statistics.median(self.seconds),
            "best": min(self.seconds),
            "processor": statistics.median(self.processor),
            "memory": max(self.memory),
        }


def descents(name: str, args, rows: int) -> list[Contestant]:
    text = str(args.folder / f"{name}.libsvm")
    vw = str(args.folder / f"{name}.vw")
    cache = str(args.folder / f"{name}.rueful-cache")
    vw_cache = str(args.folder / f"{name}.vw.cache")
    run = [args.rueful, "run", "--learner", "ogd", "--loss", "hinge", "--json"]
    learn = "--loss_function hinge --quiet"
    python = [sys.executable, "-c"]
    # Both caches are made before the race.
    subprocess.run([args.rueful, "convert", text, "--out", cache, "--force"], check=True,
                   stdout=subprocess.DEVNULL)
    Path(vw_cache).unlink(missing_ok=True)
    measured([*python, VW, f"-d {vw} --cache_file {vw_cache} {learn}"])
    river_rows = min(RIVER_ROWS, rows)
    return [
        Contestant("rueful, from text", [*run, text]),
        Contestant("rueful, from text, 1 thread", [*run, text, "--threads", "1"]),
        Contestant("rueful, from its cache", [*run, cache]),
        Contestant("Vowpal Wabbit, from text", [*python, VW, f"-d {vw} {learn}"], said=0),
        Contestant(
            "Vowpal Wabbit, from its cache",
            [*python, VW, f"-d {vw} --cache_file {vw_cache} {learn}"],
            said=0,
        ),
        Contestant("scikit-learn, from text", [*python, SKLEARN, text], said=0),
        Contestant("scikit-learn, from memory", [*python, SKLEARN, text], said=1),
        Contestant(
            f"River, from text ({river_rows:,} rows, scaled)",
            [*python, RIVER, text, str(river_rows)],
            said=0,
            scale=rows / river_rows,
        ),
        Contestant("floor: read the file", [args.bench, "--floor", "read", text]),
        Contestant("floor: find its lines", [args.bench, "--floor", "lines", text]),
        Contestant("floor: parse, 1 thread", [args.bench, "--floor", "parse", text]),
        Contestant("floor: parse, all cores", [args.bench, "--floor", "parse-all", text]),
    ]


def write_wide(path: Path, rows: int) -> None:
    """Write rows of random features with random labels: there is nothing to learn, and much to keep."""
    draw = random.Random(3)
    with path.open("w") as file:
        for _ in range(rows):
            features = sorted({draw.randrange(1, WIDE_FEATURES + 1) for _ in range(WIDE_LENGTH)})
            cells = " ".join(f"{feature}:{draw.random():.3f}" for feature in features)
            file.write(f"{draw.choice(['+1', '-1'])} {cells}\n")


def defaults(name: str, args) -> list[Contestant]:
    """Both programs with their defaults, in the logistic and the hinge loss. Wide data is for rueful alone."""
    if name == "wide":
        text = str(args.folder / "wide.libsvm")
        return [Contestant("rueful, logistic", [args.rueful, "run", text, "--json"])]
    text, vw = (str(args.folder / f"{name}.{end}") for end in ["libsvm", "vw"])
    everyone = []
    for loss in ["logistic", "hinge"]:
        learn = f"-d {vw} --loss_function {loss} --quiet"
        everyone += [
            Contestant(f"rueful, {loss}", [args.rueful, "run", text, "--loss", loss, "--json"]),
            Contestant(f"Vowpal Wabbit, {loss}", [sys.executable, "-c", VW, learn], said=0),
        ]
    return everyone


def take_turns(name: str, everyone: list[Contestant], repetitions: int) -> list[dict]:
    for turn in range(repetitions):
        for contestant in everyone:
            print(f"\r{name}: turn {turn + 1} of {repetitions}: {contestant.name:60}",
                  end="", file=sys.stderr)
            contestant.go()
    print(f"\r{'':100}\r", end="", file=sys.stderr)
    return [contestant.result() for contestant in everyone]


def race(name: str, args) -> dict:
    path = args.folder / f"{name}.libsvm"
    counts = common.ask([args.rueful, "data", "--no-constant", "--json", str(path)])
    result = {
        "data": name,
        "rows": counts["examples"],
        "features": counts["nonzeros"],
        "columns": counts["features"],
        "bytes": path.stat().st_size,
    }
    if args.only != "default" and name != "wide":
        everyone = descents(name, args, counts["examples"])
        result["contestants"] = take_turns(name, everyone, args.repetitions)
    if args.only != "ogd":
        result["defaults"] = take_turns(name, defaults(name, args), args.repetitions)
    return result


def title(result: dict) -> str:
    return (f"**{result['data']}**: {result['rows']:,} rows, {result['features']:,} features, "
            f"{result['bytes'] / 1e6:,.0f} MB of text")


def descent_table(result: dict) -> str:
    by_name = {entry["name"]: entry["seconds"] for entry in result["contestants"]}
    text, cache = by_name["rueful, from text"], by_name["rueful, from its cache"]
    rows = []
    for entry in result["contestants"]:
        seconds = entry["seconds"]
        rows.append([
            entry["name"],
            f"{seconds:.3f}",
            f"{entry['best']:.3f}",
            f"{result['features'] / seconds / 1e6:,.1f}",
            f"{seconds / text:.2f}",
            f"{seconds / cache:.2f}",
            f"{entry['memory'] / 2**20:,.0f}",
        ])
    header = ["", "median s", "best s", "M features/s", "time / rueful text",
              "time / rueful cache", "peak MiB"]
    return f"{title(result)}\n\n{common.table(header, rows)}"


def default_lines(result: dict) -> list[list[str]]:
    """A line for each loss: both times, their ratios, and the memory."""
    allowed = MEMORY + MEMORY_PER_FEATURE * result["columns"]
    by_name = {entry["name"]: entry for entry in result["defaults"]}
    lines = []
    for loss in ["logistic", "hinge"]:
        ours, theirs = (by_name.get(f"{name}, {loss}") for name in ["rueful", "Vowpal Wabbit"])
        if ours:
            lines.append([
                f"{result['data']}, {loss}",
                f"{ours['seconds']:.3f}",
                *compared(ours, theirs, WANTED.get(result["data"])),
                f"{ours['memory'] / 1e6:.0f}",
                f"{allowed / 1e6:.0f}: {verdict(ours['memory'] <= allowed)}",
            ])
    return lines


def compared(ours: dict, theirs: dict | None, wanted: float | None) -> list[str]:
    """The rival's time, its ratio to ours in medians, best turns and processor time, and the goal."""
    if theirs is None or wanted is None:
        return ["–"] * 5
    ratios = {key: theirs[key] / ours[key] for key in ["seconds", "best", "processor"]}
    goal = f"{wanted:g}: {verdict(ratios['seconds'] >= wanted)}"
    return [f"{theirs['seconds']:.3f}", *(f"{ratio:.2f}" for ratio in ratios.values()), goal]


def verdict(reached: bool) -> str:
    return "reached" if reached else "missed"


def default_table(results: list[dict]) -> str:
    columns = ", ".join(f"{result['columns']:,} of {result['data']}" for result in results)
    header = ["as they come, from text", "rueful s", "VW s", "VW / rueful", "of the best turns",
              "of processor time", "at least", "rueful MB", "at most"]
    lines = [line for result in results for line in default_lines(result)]
    return f"{common.table(header, lines)}\n\nFeatures seen: {columns}."


def make_data(args) -> None:
    """Write the data sets that are not there yet."""
    if not all((args.folder / f"{name}.{end}").exists() for name in WANTED for end in ["libsvm", "vw"]):
        quick = ["--quick"] if args.quick else []
        subprocess.run([args.bench, "--write", str(args.folder), *quick], check=True)
    wide = args.folder / "wide.libsvm"
    if args.only != "ogd" and not wide.exists():
        write_wide(wide, WIDE_ROWS // 50 if args.quick else WIDE_ROWS)


def main() -> None:
    args = arguments()
    common.enter_environment()
    args.rueful = common.program("rueful", args.rueful)
    args.bench = common.program("rueful-bench", args.bench)
    args.folder = args.folder or common.CACHE / ("sets-quick" if args.quick else "sets")
    make_data(args)
    names = [*WANTED, *(["wide"] if args.only != "ogd" else [])]
    results = [race(name, args) for name in names]
    if args.json:
        print(json.dumps(results, indent=2))
        return
    tables = [descent_table(result) for result in results if "contestants" in result]
    if args.only != "ogd":
        tables.append(default_table(results))
    print("\n\n".join(tables))


if __name__ == "__main__":
    main()
