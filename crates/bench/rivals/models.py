"""Other people's online learners with their defaults, and their predictions before they learn.

Rows are pairs of a label, +1 or -1 or a number, and features by number from 1 on. Every row gets a score,
which is made when all rows before it were learned from. No row is looked at twice.
"""

import math
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

Row = tuple[float, dict[int, float]]


@dataclass(frozen=True)
class Loss:
    """A loss by rueful's name for it, and τ if it is the quantile loss."""

    name: str
    tau: float | None = None

    def is_of_classes(self) -> bool:
        return self.name in ("logistic", "hinge")


LOGISTIC, SQUARE, HINGE = Loss("logistic"), Loss("square"), Loss("hinge")


def loss_of(loss: Loss, prediction: float, label: float) -> float:
    """The loss of a prediction of any program. For the hinge loss, scores are clipped to ±1 first."""
    if not math.isfinite(prediction):
        return math.inf
    if loss.name == "logistic":
        margin = label * prediction
        return max(-margin, 0.0) + math.log1p(math.exp(-abs(margin)))
    if loss.name == "hinge":
        return 1.0 - label * min(max(prediction, -1.0), 1.0)
    error = label - prediction
    if loss.name == "square":
        return error * error
    return max(loss.tau * error, (loss.tau - 1.0) * error)


def mean_loss(loss: Loss, predictions: list[float], rows: list[Row]) -> float:
    pairs = zip(predictions, rows, strict=True)
    return sum(loss_of(loss, p, y) for p, (y, _) in pairs) / len(rows)


# The flags of the modes of Vowpal Wabbit. All other flags have their defaults.
VOWPAL_MODES = {
    "default": "",
    "coin": "--coin",
    "ftrl": "--ftrl",
    "sgd": "--sgd",
    "freegrad": "--freegrad",
}

VOWPAL = """
import sys
from vowpalwabbit import Workspace
model = Workspace(sys.argv[1])
model.run_parser()
model.finish()
"""


def vw_line(label: float, features: dict[int, float]) -> str:
    """A row as Vowpal Wabbit text. Nine digits are enough for a single, seventeen for a double."""
    cells = " ".join(f"{index}:{value:.9g}" for index, value in features.items())
    return f"{label:.17g} | {cells}\n"


def write_vw(path: Path, rows: list[Row]) -> None:
    with path.open("w") as file:
        file.writelines(vw_line(label, features) for label, features in rows)


def vowpal(text: Path, loss: Loss, mode: str = "default") -> list[float]:
    """The predictions of Vowpal Wabbit for the rows of its text, in a process of its own."""
    scores = text.with_suffix(f".{mode}.{loss.name}.{loss.tau}.scores")
    name = {"square": "squared"}.get(loss.name, loss.name)
    tau = "" if loss.tau is None else f"--quantile_tau {loss.tau}"
    told = f"-d {text} -p {scores} --quiet --loss_function {name} {tau} {VOWPAL_MODES[mode]}"
    subprocess.run([sys.executable, "-c", VOWPAL, told], check=True)
    predictions = [float(line) for line in scores.read_text().split()]
    scores.unlink()
    return predictions


class River:
    """The linear model of river with its defaults, on the features as they are."""

    def __init__(self, loss: Loss, _features: int):
        from river import linear_model, optim

        self.of_classes = loss.is_of_classes()
        kind = linear_model.LogisticRegression if self.of_classes else linear_model.LinearRegression
        given = {"hinge": optim.losses.Hinge(), "quantile": optim.losses.Quantile(loss.tau or 0.5)}
        self.model = kind(loss=given.get(loss.name))

    def score(self, x: dict[int, float]) -> float:
        weights = self.model.weights
        return float(self.model.intercept + sum(v * weights.get(i, 0.0) for i, v in x.items()))

    def learn(self, x: dict[int, float], y: float) -> None:
        self.model.learn_one(x, y > 0.0 if self.of_classes else y)


class ScaledRiver(River):
    """The same model behind river's StandardScaler. An absent feature is a 0 that the scaler must see."""

    def __init__(self, loss: Loss, features: int):
        from river import preprocessing

        super().__init__(loss, features)
        self.scaler = preprocessing.StandardScaler()
        self.zeros = dict.fromkeys(range(1, features + 1), 0.0)

    def score(self, x: dict[int, float]) -> float:
        return super().score(self.scaler.transform_one(self.zeros | x))

    def learn(self, x: dict[int, float], y: float) -> None:
        full = self.zeros | x
        self.scaler.learn_one(full)
        super().learn(self.scaler.transform_one(full), y)


class Scikit:
    """The stochastic gradient descent of scikit-learn with its defaults."""

    def __init__(self, loss: Loss, features: int):
        import numpy
        from sklearn import linear_model

        self.of_classes = loss.is_of_classes()
        kind = linear_model.SGDClassifier if self.of_classes else linear_model.SGDRegressor
        name = {"logistic": "log_loss", "hinge": "hinge", "square": "squared_error"}[loss.name]
        self.model = kind(loss=name, random_state=0)
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
        extra = {"classes": [-1.0, 1.0]} if self.of_classes else {}
        self.model.partial_fit(self.fill(x), [y], **extra)
        self.fitted = True


# The models that take one row at a time. That of scikit-learn has no quantile loss.
ONE_BY_ONE = {"river": River, "river, scaled": ScaledRiver, "scikit-learn": Scikit}


def has_loss(model: str, loss: Loss) -> bool:
    return model != "scikit-learn" or loss.name != "quantile"


def one_by_one(model: str, loss: Loss, rows: list[Row]) -> list[float]:
    """The predictions of a model of `ONE_BY_ONE`. The first is 0. A model that overflows predicts no more."""
    features = max(max(x, default=1) for _, x in rows)
    learner = ONE_BY_ONE[model](loss, features)
    scores = []
    try:
        for y, x in rows:
            scores.append(learner.score(x) if scores else 0.0)
            learner.learn(x, y)
    except (ValueError, OverflowError) as trouble:
        print(f"  {model} gave up at row {len(scores):,}: {trouble}", file=sys.stderr)
    return scores + [math.nan] * (len(rows) - len(scores))
