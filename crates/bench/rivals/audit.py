"""Audit other people's online learners with rueful, and hold the certificates against exact regret.

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

NAMES = [
    "binary/a9a.libsvm",
    "binary/heart_scale.libsvm",
    "binary/german.libsvm",
    "regression/housing_scale.libsvm",
]
HEADER = ["model", "sequential risk", "certificate", "exact regret, from", "to", "ladder"]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+", metavar="DATA", help="a folder of data, or LIBSVM files")
    parser.add_argument("--rueful", metavar="PATH", help="the program [default: the release build]")
    parser.add_argument("--radius", type=float, default=10.0)
    parser.add_argument("--out", metavar="FILE", help="write the tables to this file as well")
    return parser.parse_args()


def files(given: list[str]) -> list[Path]:
    """The data sets of every folder that are there, and the files as they are."""
    found = []
    for path in map(Path, given):
        found += [path / name for name in NAMES if (path / name).exists()] if path.is_dir() else [path]
    return found


def read(path: Path) -> list[tuple[float, dict[int, float]]]:
    examples = []
    for line in path.read_text().splitlines():
        fields = line.split("#")[0].split()
        if fields:
            pairs = (field.split(":") for field in fields[1:])
            examples.append((float(fields[0]), {int(i): float(v) for i, v in pairs}))
    return examples


def loss_for(examples) -> str | None:
    """Logistic for labels +1 and -1, square for many labels, nothing for two other ones."""
    labels = {y for y, _ in examples}
    if labels <= {-1.0, 1.0}:
        return "logistic"
    return "square" if len(labels) > 2 else None


class Vowpal:
    """Vowpal Wabbit with its defaults."""

    def __init__(self, loss: str, _features: int):
        import vowpalwabbit

        name = {"logistic": "logistic", "square": "squared"}[loss]
        self.model = vowpalwabbit.Workspace(f"--loss_function {name} --quiet")

    def score(self, x: dict[int, float]) -> float:
        return self.model.predict(self.line("", x))

    def learn(self, x: dict[int, float], y: float) -> None:
        self.model.learn(self.line(f"{y:g}" if y in (-1.0, 1.0) else repr(y), x))

    @staticmethod
    def line(label: str, x: dict[int, float]) -> str:
        return f"{label} | " + " ".join(f"{i}:{v!r}" for i, v in x.items())


class River:
    """river's linear model with its defaults, on the features as they are."""

    def __init__(self, loss: str, _features: int):
        from river import linear_model

        self.binary = loss == "logistic"
        self.model = linear_model.LogisticRegression() if self.binary else linear_model.LinearRegression()

    def score(self, x: dict[int, float]) -> float:
        weights = self.model.weights
        return float(self.model.intercept + sum(v * weights.get(i, 0.0) for i, v in x.items()))

    def learn(self, x: dict[int, float], y: float) -> None:
        self.model.learn_one(x, y > 0.0 if self.binary else y)


class ScaledRiver(River):
    """The same behind river's StandardScaler. An absent feature is a 0 that the scaler must see."""

    def __init__(self, loss: str, features: int):
        from river import preprocessing

        super().__init__(loss, features)
        self.scaler = preprocessing.StandardScaler()
        self.pipeline = self.scaler | self.model
        self.zeros = dict.fromkeys(range(1, features + 1), 0.0)

    def score(self, x: dict[int, float]) -> float:
        return super().score(self.scaler.transform_one(self.zeros | x))

    def learn(self, x: dict[int, float], y: float) -> None:
        self.pipeline.learn_one(self.zeros | x, y > 0.0 if self.binary else y)


class Scikit:
    """scikit-learn's stochastic gradient descent with its defaults."""

    def __init__(self, loss: str, features: int):
        import numpy
        from sklearn import linear_model

        self.binary = loss == "logistic"
        kind = linear_model.SGDClassifier if self.binary else linear_model.SGDRegressor
        self.model = kind(loss="log_loss" if self.binary else "squared_error", random_state=0)
        self.row = numpy.zeros((1, features))
        self.fitted = False

    def fill(self, x: dict[int, float]):
        self.row[:] = 0.0
        for i, v in x.items():
            self.row[0, i - 1] = v
        return self.row

    def score(self, x: dict[int, float]) -> float:
        if not self.fitted:
            return 0.0
        weights = self.model.coef_.reshape(-1)
        return float(self.model.intercept_[0] + sum(v * weights[i - 1] for i, v in x.items()))

    def learn(self, x: dict[int, float], y: float) -> None:
        extra = {"classes": [-1.0, 1.0]} if self.binary else {}
        self.model.partial_fit(self.fill(x), [y], **extra)
        self.fitted = True


RIVALS = {
    "Vowpal Wabbit": Vowpal,
    "river": River,
    "river, scaled": ScaledRiver,
    "scikit-learn": Scikit,
}


def predictions(make, loss: str, examples, features: int) -> list[float]:
    """A score for every example, each made before its label is shown."""
    model = make(loss, features)
    scores = []
    for y, x in examples:
        scores.append(model.score(x) if scores else 0.0)
        model.learn(x, y)
    return scores


def all_predictions(loss: str, examples) -> dict[str, list[float]]:
    """The columns of all models. One that left the finite numbers has no certificate and is left out."""
    features = max(max(x, default=1) for _, x in examples)
    columns = {}
    for name, make in RIVALS.items():
        start = time.perf_counter()
        scores = predictions(make, loss, examples, features)
        print(f"  {name}: {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
        if all(map(math.isfinite, scores)):
            columns[name] = scores
        else:
            print(f"  {name}: a prediction is not finite, left out", file=sys.stderr)
    return columns


def write(path: Path, columns: dict[str, list[float]]) -> None:
    with path.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(columns)
        table.writerows([repr(v) for v in row] for row in zip(*columns.values()))


def judged(rueful: str, path: Path, loss: str, radius: float, columns) -> tuple[list[dict], dict]:
    """What rueful says of every model, itself included; and the least loss, as an interval."""
    common.CACHE.mkdir(parents=True, exist_ok=True)
    scores = common.CACHE / f"{path.stem}.predictions.csv"
    write(scores, columns)
    setting = [str(path), "--loss", loss, "--radius", repr(radius), "--json"]
    asked = ["--predictions", str(scores), "--prediction-column", "all"]
    audit = common.ask([rueful, "audit", *setting, *asked])
    own = common.ask([rueful, "run", *setting, "--hindsight"])
    best = common.ask([rueful, "hindsight", *setting])["comparator"]
    return [*audit["models"], {**own, "name": "rueful run"}], best


def row(model: dict, best: dict) -> tuple[list[str], bool]:
    """A line of the table, and whether the ladder holds: exact regret is at most the certificate."""
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
    models, best = judged(rueful, path, loss, radius, all_predictions(loss, examples))
    rows = [row(model, best) for model in models]
    title = f"**{path.name}**, {len(examples)} examples, {loss} loss, radius {radius:g}; "
    title += f"least loss in hindsight {best['lower']:.6g} to {best['upper']:.6g}"
    broken = [f"{path.name}: {cells[0]}" for cells, holds in rows if not holds]
    return f"{title}\n\n{common.table(HEADER, [cells for cells, _ in rows])}\n", broken


def main() -> None:
    args = arguments()
    rueful = common.rueful_path(args.rueful)
    common.enter_environment()
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
