"""Time to a relative gap on the hinge loss, reading included: rueful against LIBLINEAR.

rueful minimises the mean hinge loss over a ball of radius U and proves its gap. LIBLINEAR (-s 3 -B 1)
minimises (1/2)|w|^2 + C * sum of hinge losses and proves nothing. It is given the C whose solution has
norm U and the loosest -e that gets within 1e-3 of the optimum. The time to find these is not counted.
With --stop it is given that -e instead, and rueful has to prove the gap that LIBLINEAR reaches with it.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
import common  # noqa: E402

GAP = 1e-3
STOPS = ["10", "3", "1", "0.3", "0.1", "0.03", "0.01", "0.003", "0.001", "0.0003", "0.0001"]
RADII = {"a9a": 2.0, "sparse": 10.0, "dense": 1.0}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", metavar="FILE[@RADIUS]", help="LIBSVM text, labels +1 and -1")
    parser.add_argument("--rueful", metavar="PATH", help="the program [default: the release build]")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--stop", metavar="E", help="the -e of LIBLINEAR; its gap is then the one for both")
    parser.add_argument("--limit", type=float, default=100.0, help="seconds per run of LIBLINEAR")
    parser.add_argument(
        "--bench", metavar="PATH", help="rueful-bench [default: the release build, beside rueful]",
    )
    return parser.parse_args()


def liblinear_path() -> str:
    path = shutil.which("liblinear-train") or os.environ.get("LIBLINEAR_TRAIN")
    if not path and shutil.which("apt-get"):
        subprocess.run(["apt-get", "install", "-y", "-qq", "liblinear-tools"], stdout=sys.stderr)
        path = shutil.which("liblinear-train")
    if path:
        return path
    print("liblinear-train is not on the PATH: install liblinear-tools (Debian, Ubuntu),", file=sys.stderr)
    print("or set LIBLINEAR_TRAIN to the program.", file=sys.stderr)
    sys.exit(2)


def file_and_radius(given: str) -> tuple[Path, float]:
    name, at, radius = given.rpartition("@")
    if at:
        return Path(name), float(radius)
    return Path(given), RADII.get(Path(given).stem, 10.0)


def load(path: Path):
    """The labels and the features of a file as a sparse matrix, without a constant column."""
    import numpy as np
    import scipy.sparse as sparse

    text = path.read_bytes()
    if not text.endswith(b"\n"):
        text += b"\n"
    raw = np.frombuffer(text, dtype=np.uint8)
    ends = np.flatnonzero(raw == ord("\n"))
    colons = np.flatnonzero(raw == ord(":"))
    stops = np.searchsorted(colons, ends)
    numbers = np.fromstring(text.replace(b":", b" "), sep=" ")
    starts = np.concatenate([[0], stops[:-1]])
    at = 2 * starts + np.arange(len(ends))
    labels = numbers[at]
    pairs = np.delete(numbers, at)
    indices, values = pairs[0::2].astype(np.int32) - 1, pairs[1::2]
    offsets = np.concatenate([[0], stops])
    matrix = sparse.csr_matrix((values, indices, offsets), shape=(len(ends), int(indices.max()) + 1))
    return labels, matrix


def hindsight_command(rueful: str, path: Path, radius: float, tolerance: str) -> list[str]:
    ball = ["--comparators", "ball", "--radius", repr(radius)]
    return [rueful, "hindsight", str(path), "--loss", "hinge", *ball, "--tolerance", tolerance, "--json"]


def hindsight(rueful: str, path: Path, radius: float, tolerance: str) -> dict:
    return common.ask(hindsight_command(rueful, path, radius, tolerance))


def middle(answer: dict) -> float:
    return (answer["comparator"]["lower"] + answer["comparator"]["upper"]) / 2


def matching_cost(rueful: str, path: Path, radius: float) -> float:
    """The C whose solution has norm U, found from the least loss F(U), which falls at the rate U / (n C)."""
    inner = hindsight(rueful, path, radius * 0.97, "1e-6")
    outer = hindsight(rueful, path, radius * 1.03, "1e-6")
    slope = (middle(inner) - middle(outer)) / (0.06 * radius)
    if not outer["norm"] > radius or slope <= 0.0:
        sys.exit(f"{path.name}: the best predictor has norm {outer['norm']:.3g}; give a smaller radius")
    return radius / (inner["examples"] * slope)


def train_command(program: str, path: Path, cost: float, stop: str, model: str) -> list[str]:
    return [program, "-s", "3", "-B", "1", "-c", repr(cost), "-e", stop, str(path), model]


def train(program: str, path: Path, cost: float, stop: str, model: str, limit: float):
    """The seconds on the clock and the output, or None if the time limit is exceeded."""
    command = train_command(program, path, cost, stop, model)
    start = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=True)
    except subprocess.TimeoutExpired:
        return None
    return time.perf_counter() - start, done.stdout + done.stderr


def weights(model: str, features: int):
    """The weights of the label +1, the constant last."""
    import numpy as np

    lines = Path(model).read_text().split("\n")
    start = lines.index("w")
    first = next(line for line in lines[:start] if line.startswith("label")).split()[1]
    found = np.array([float(line) for line in lines[start + 1:] if line.strip()])
    assert len(found) == features + 1
    return found if float(first) > 0 else -found


def losses(w, labels, matrix, radius: float) -> tuple[float, float]:
    """The norm of w, and its least mean hinge loss in the ball: as it is if it fits, or scaled to norm U."""
    import numpy as np

    norm = float(np.linalg.norm(w))
    margins = labels * (matrix @ w[:-1] + w[-1])
    scales = {radius / norm, min(1.0, radius / norm)} if norm > 0 else {1.0}
    return norm, min(float(np.maximum(0.0, 1.0 - s * margins).mean()) for s in scales)


def search(args, program: str, path: Path, cost: float, radius: float, best: float):
    """The loosest stop that is good enough, its norm and gap; or None and the reason why there is none."""
    labels, matrix = load(path)
    limit = args.limit
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder) / "model")
        for stop in [args.stop] if args.stop else STOPS:
            ran = train(program, path, cost, stop, model, limit)
            if ran is None:
                print(f"  -e {stop}: not done after {limit:.0f} s", flush=True)
                return None, f"did not finish in {limit:.0f} s"
            norm, loss = losses(weights(model, matrix.shape[1]), labels, matrix, radius)
            gap = loss / best - 1.0
            print(f"  -e {stop}: {ran[0]:.2f} s, norm {norm:.3f}, gap {gap:.2e}", flush=True)
            if gap < 0.0:
                sys.exit(f"{path.name}: LIBLINEAR is below the proved lower bound {best!r}")
            if gap <= GAP or args.stop:
                return (stop, norm, gap), ""
            if "max number of iterations" in ran[1]:
                return None, "stopped at its limit of iterations"
    return None, "no stop was tight enough"


def timed(command: list[str]) -> tuple[float, float]:
    """The seconds on the clock and of processor time that a program takes. Its output is discarded."""
    nowhere = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]
    start = time.perf_counter()
    process = os.posix_spawn(command[0], command, os.environ, file_actions=nowhere)
    _, status, used = os.wait4(process, 0)
    clock = time.perf_counter() - start
    if status:
        sys.exit(f"{' '.join(command)} failed")
    return clock, used.ru_utime + used.ru_stime


def medians(times: list[tuple[float, float]]) -> tuple[float, float] | None:
    return tuple(map(statistics.median, zip(*times))) if times else None


def race(args, rueful: str, program: str, path: Path, radius: float, cost: float, found):
    """The median times of both, which take turns."""
    ours, theirs = [], []
    stop = found[0] if found else None
    gap = found[2] if args.stop and found else GAP
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder) / "model")
        for _ in range(args.repetitions):
            ours.append(timed(hindsight_command(rueful, path, radius, str(gap))))
            if stop:
                theirs.append(timed(train_command(program, path, cost, stop, model)))
    return medians(ours), medians(theirs)


def nonzeros(path: Path) -> int:
    with path.open("rb") as file:
        return sum(block.count(b":") for block in iter(lambda: file.read(1 << 24), b""))


def features_per_second(bench: str, name: str) -> float | None:
    """The speed of the bare hinge loop on data of this name in memory, measured now."""
    if name not in ("sparse", "dense"):
        return None
    command = [bench, "--data", name, "--only", "bare", "--repetitions", "5", "--json"]
    lines = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return lines[0]["lines"][0]["features_per_second"]


def both(times: tuple[float, float]) -> str:
    return f"{times[0]:.3f} ({times[1]:.3f})"


def measure(args, rueful: str, program: str, given: str) -> list[str]:
    path, radius = file_and_radius(given)
    exact = hindsight(rueful, path, radius, "1e-6")
    best = exact["comparator"]["lower"]
    cost = matching_cost(rueful, path, radius)
    print(f"{path.name}: radius {radius:g}, least loss at least {best:.6f}, C = {cost:.4g}", flush=True)
    found, why = search(args, program, path, cost, radius, best)
    ours, theirs = race(args, rueful, program, path, radius, cost, found)
    row = [path.name, f"{radius:g}", f"{cost:.3g}", both(ours)]
    if found:
        row += [both(theirs), f"-e {found[0]}", f"{found[1]:.3f}", f"{found[2]:.1e}"]
        row.append(f"{ours[0] / theirs[0]:.2f} ({ours[1] / theirs[1]:.2f})")
    else:
        bound = f"< {ours[0] / args.limit:.2f}" if "finish" in why else "none"
        row += [why, "-", "-", "-", bound]
    rate = features_per_second(args.bench, path.stem)
    row.append(f"{300 * nonzeros(path) / rate:.1f} s" if rate else "")
    return row


def main() -> None:
    args = arguments()
    program = liblinear_path()
    rueful = common.rueful_path(args.rueful)
    args.bench = args.bench or str(Path(rueful).with_name("rueful-bench"))
    common.enter_environment()
    header = ["data", "radius", "C", "rueful", "LIBLINEAR", "stop", "its norm", "its gap", "ratio"]
    header.append("300 passes")
    rows = [measure(args, rueful, program, given) for given in args.files]
    print("\nSeconds on the clock, and in brackets of processor time.\n")
    print(common.table(header, rows))


if __name__ == "__main__":
    main()
