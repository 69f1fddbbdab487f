"""Audit other people's online learners with rueful, and compare the certificates with the exact regret.

Every model sees the examples once, in the order of the file, and predicts each before it learns from
it. The predictions are raw scores. They go to one table, which `rueful audit` judges in one pass.
"""

import argparse
import csv
import math
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
import common  # noqa: E402
import models  # noqa: E402
from models import LOGISTIC, SQUARE, Loss, Row  # noqa: E402

NAMES = [
    "binary/a9a.libsvm",
    "binary/heart_scale.libsvm",
    "binary/german.libsvm",
    "regression/housing_scale.libsvm",
]
VOWPAL = "Vowpal Wabbit"
HEADER = ["model", "sequential risk", "certificate", "exact regret, from", "to", "ladder"]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+", metavar="DATA", help="a folder of data, or LIBSVM files")
    parser.add_argument("--rueful", metavar="PATH", help="the program [default: the release build]")
    parser.add_argument("--radius", type=float, default=10.0)
    parser.add_argument("--out", metavar="FILE", help="write the tables to this file as well")
    return parser.parse_args()


def files(given: list[str]) -> list[Path]:
    """The data sets that are in every folder, and the files that were given."""
    found = []
    for path in map(Path, given):
        found += [path / name for name in NAMES if (path / name).exists()] if path.is_dir() else [path]
    return found


def read(path: Path) -> list[Row]:
    examples = []
    for line in path.read_text().splitlines():
        fields = line.split("#")[0].split()
        if fields:
            pairs = (field.split(":") for field in fields[1:])
            examples.append((float(fields[0]), {int(i): float(v) for i, v in pairs}))
    return examples


def loss_for(examples: list[Row]) -> Loss | None:
    """The loss: logistic for labels +1 and -1, square for more than two labels, none for two other ones."""
    labels = {y for y, _ in examples}
    if labels <= {-1.0, 1.0}:
        return LOGISTIC
    return SQUARE if len(labels) > 2 else None


def predictions(model: str, loss: Loss, rows: list[Row], name: str) -> list[float]:
    """The scores of a model, one for every example, each made before its label is shown."""
    if model != VOWPAL:
        return models.one_by_one(model, loss, rows)
    text = common.CACHE / f"{name}.audit.vw"
    models.write_vw(text, rows)
    scores = models.vowpal(text, loss)
    text.unlink()
    return scores


def all_predictions(loss: Loss, rows: list[Row], name: str) -> dict[str, list[float]]:
    """The columns of all models. A model with a score that is not finite has no certificate and is left out."""
    columns = {}
    for model in [VOWPAL, *models.ONE_BY_ONE]:
        start = time.perf_counter()
        scores = predictions(model, loss, rows, name)
        print(f"  {model}: {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
        if all(map(math.isfinite, scores)):
            columns[model] = scores
        else:
            print(f"  {model}: a prediction is not finite, left out", file=sys.stderr)
    return columns


def write(path: Path, columns: dict[str, list[float]]) -> None:
    with path.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(columns)
        table.writerows([repr(v) for v in row] for row in zip(*columns.values()))


def judged(rueful: str, path: Path, loss: Loss, radius: float, columns) -> tuple[list[dict], dict]:
    """The verdict of rueful on every model, itself included, and the least loss as an interval."""
    scores = common.CACHE / f"{path.stem}.predictions.csv"
    write(scores, columns)
    setting = [str(path), "--loss", loss.name, "--radius", repr(radius), "--json"]
    asked = ["--predictions", str(scores), "--prediction-column", "all"]
    audit = common.ask([rueful, "audit", *setting, *asked])
    own = common.ask([rueful, "run", *setting, "--hindsight"])
    best = common.ask([rueful, "hindsight", *setting])["comparator"]
    return [*audit["models"], {**own, "name": "rueful run"}], best


def row(model: dict, best: dict) -> tuple[list[str], bool]:
    """A line of the table, and whether the ladder holds: the exact regret is at most the certificate."""
    risk, certificate = model["sequential_risk"], model["certificate"]
    low, high = risk - best["upper"], risk - best["lower"]
    holds = low <= certificate
    numbers = [f"{v:.6g}" for v in (risk, certificate, low, high)]
    return [model["name"], *numbers, "holds" if holds else "BROKEN"], holds


def report(rueful: str, path: Path, radius: float) -> tuple[str, list[str]]:
    """The table of a data set, and the models that broke the ladder."""
    examples = read(path)
    loss = loss_for(examples)
    if loss is None:
        return f"{path.name}: skipped, its two labels are not +1 and -1\n", []
    print(path.name, file=sys.stderr)
    verdicts, best = judged(rueful, path, loss, radius, all_predictions(loss, examples, path.stem))
    rows = [row(verdict, best) for verdict in verdicts]
    title = f"**{path.name}**, {len(examples)} examples, {loss.name} loss, radius {radius:g}; "
    title += f"least loss in hindsight {best['lower']:.6g} to {best['upper']:.6g}"
    broken = [f"{path.name}: {cells[0]}" for cells, holds in rows if not holds]
    return f"{title}\n\n{common.table(HEADER, [cells for cells, _ in rows])}\n", broken


def main() -> None:
    args = arguments()
    rueful = common.rueful_path(args.rueful)
    common.enter_environment()
    common.CACHE.mkdir(parents=True, exist_ok=True)
    found = files(args.data)
    if not found:
        sys.exit("no data: none of " + ", ".join(NAMES))
    texts, broken = [], []
    for path in found:
        text, wrong = report(rueful, path, args.radius)
        print(text, flush=True)
        texts.append(text)
        broken += wrong
    if args.out:
        Path(args.out).write_text("\n".join(texts))
    for name in broken:
        print(f"THE LADDER IS BROKEN: {name}: exact regret is above the certificate")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
