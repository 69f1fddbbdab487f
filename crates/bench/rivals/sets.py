"""The eleven data sets of the contest, which rueful reads once and writes for all programs.

`rueful data` turns every file into rows of numbered features (check_readers.py compares these rows with those
of pandas, pyarrow and scikit-learn). All programs then learn from the same rows in the same order: rueful and
Vowpal Wabbit from the same text, the others from the same numbers.
"""

import random
from dataclasses import dataclass
from pathlib import Path

import common
from models import LOGISTIC, SQUARE, Loss, Row


@dataclass(frozen=True)
class Set:
    """A file, the flags to read it with, and the loss that its labels suggest."""

    file: str
    loss: Loss
    flags: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return Path(self.file).name.split(".")[0]


# Words and names are hashed to 2^26 indices, where hardly any two collide.
TEXT = ("--label", "1", "--text", "2", "--positive", "spam", "--bits", "26")
SETS = [
    Set("binary/a9a.libsvm", LOGISTIC),
    Set("binary/phishing46.csv", LOGISTIC, ("--label", "target")),
    Set("binary/german.libsvm", LOGISTIC),
    Set("binary/breast_cancer.libsvm", LOGISTIC),
    Set("text/sms_spam.tsv", LOGISTIC, TEXT),
    Set("vw/rcv1_small.dat", LOGISTIC),
    Set("stream/electricity.arff.zip", LOGISTIC, ("--label", "class", "--positive", "UP")),
    Set("stream/noaa_weather.csv", LOGISTIC, ("--label", "target")),
    Set("regression/california_housing.csv", SQUARE, ("--label", "median_house_value")),
    Set("regression/bikeshare.csv", SQUARE, ("--label", "bikers", "--drop", "casual,registered")),
    Set("regression/abalone.csv", SQUARE, ("--label", "9")),
]


def read(rueful: str, folder: Path, one: Set, most: int | None = None) -> list[Row]:
    """The rows of a set. Features are numbered in the order they come. Of two labels the larger is +1."""
    show = ["--no-constant", "--json", "--show", str(most or 10_000_000)]
    shown = common.ask([rueful, "data", str(folder / one.file), *one.flags, *show])["first"]
    numbers: dict[int, int] = {}
    least = min(row["label"] for row in shown)
    rows = []
    for row in shown:
        label = row["label"]
        if one.loss.is_of_classes():
            label = 1.0 if label > least else -1.0
        cells = {
            numbers.setdefault(cell["index"], len(numbers) + 1): cell["value"]
            for cell in row["features"]
        }
        rows.append((label, cells))
    return rows


def with_columns_scaled(rows: list[Row], powers: list[int], seed: int) -> list[Row]:
    """The same rows with every column multiplied by 10 to a power of its own, drawn from `powers`."""
    draw = random.Random(seed)
    features = max(max(x, default=1) for _, x in rows)
    factors = [1.0] + [10.0 ** draw.choice(powers) for _ in range(features)]
    return [(y, {i: v * factors[i] for i, v in x.items()}) for y, x in rows]


def with_labels_scaled(rows: list[Row], factor: float) -> list[Row]:
    return [(y * factor, x) for y, x in rows]


def corrupted(rows: list[Row], cells: int, after: int, seed: int) -> list[Row]:
    """The same rows with so many cells a million times too large, drawn from the rows after the first ones."""
    draw = random.Random(seed)
    places = [(t, i) for t, (_, x) in enumerate(rows) if t >= after for i in x]
    copy = [(y, dict(x)) for y, x in rows]
    for t, i in draw.sample(places, min(cells, len(places))):
        copy[t][1][i] *= 1e6
    return copy
