"""Measure what merging costs the bank for many classes: losses in parts against those in sequence.

`make spark-package` makes the environment of this script, target/spark. Each part has a stretch of the rows.
The first part learns some rows alone. From then on all parts learn from their next slices, each from a copy of
the model, and the parts are merged. Slices are those of `rueful.spark`. Every prediction is made before its row
is learned from. The last fifth of the rows is predicted by the model at the end, and not learned from.
"""

import argparse
import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import common  # noqa: E402

PYTHON = common.ROOT / "target" / "spark" / "bin" / "python"
if Path(sys.prefix).resolve() != (common.ROOT / "target" / "spark").resolve():
    if not PYTHON.exists():
        sys.exit("target/spark does not exist: run `make spark-package` first")
    os.execv(PYTHON, [str(PYTHON), "-B", *sys.argv])

import class_sets  # noqa: E402
import numpy as np  # noqa: E402
import rueful  # noqa: E402
import scipy.sparse  # noqa: E402
from rueful import _data  # noqa: E402
from rueful._rueful import Model, announce, part, take_parts  # noqa: E402
from rueful.spark import _rounds  # noqa: E402

HEADER = ["data", "parts", "rounds", "progressive log loss", "certificate, U = 1", "test log loss", "test error"]


def matrix(rows: list[class_sets.Row]) -> tuple[scipy.sparse.csr_matrix, np.ndarray]:
    """Rows as a matrix, and the numbers of their classes."""
    places = [(row, index) for row, (_, features) in enumerate(rows) for index in features]
    values = [value for _, features in rows for value in features.values()]
    width = 1 + max(index for _, index in places)
    X = scipy.sparse.csr_matrix((values, tuple(zip(*places))), (len(rows), width))
    return X, np.array([float(label) for label, _ in rows])


def learned(X: scipy.sparse.csr_matrix, y: np.ndarray, parts: int, first: int) -> tuple[Model, int]:
    """The model, and how many rounds it took."""
    settings = _data.pick({"loss": "softmax"}, _data.SETTINGS)
    nothing = _data.sparse(scipy.sparse.csr_matrix((0, 0)))
    model = Model(settings, _data.columns({}, None), nothing, constant=True)
    names = [str(label) for label in range(1 + int(y.max()))]
    announce(model, names)

    def teach(one: Model, start: int, end: int) -> Model:
        one.learn(_data.sparse(X[start:end]), y[start:end])
        return one

    if parts == 1:
        return teach(model, 0, len(y)), 1
    cuts = [len(y) * k // parts for k in range(parts + 1)]
    alone = min(first, cuts[1])
    take_parts(model, [teach(part(model, is_only=True), 0, alone)])
    slices = _rounds.slices(max(np.diff(cuts)), parts, 0, alone, _rounds.weights_of(model))
    for start, end in slices:
        ranges = [(from_ + start, min(from_ + end, to)) for from_, to in zip(cuts, cuts[1:])]
        ranges[0] = (max(ranges[0][0], alone), ranges[0][1])
        ranges = [(one, other) for one, other in ranges if other > one]
        take_parts(model, [teach(part(model, is_only=False), *both) for both in ranges])
    return model, 1 + len(slices)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", action="append", choices=list(class_sets.SETS))
    parser.add_argument("--parts", type=int, action="append")
    parser.add_argument("--first", type=int, default=4096, help="the most rows that the first part learns alone")
    given = parser.parse_args()
    rows = []
    for name in given.only or ["digits", "segment", "satimage"]:
        X, y = matrix(class_sets.shuffled(class_sets.read(name)))
        cut = len(y) * 4 // 5
        for parts in given.parts or [1, 4, 16]:
            model, rounds = learned(X[:cut], y[:cut], parts, given.first)
            report = rueful.Report._of(model.report())
            said = model.predict_classes(_data.sparse(X[cut:]), True)
            true = said[np.arange(len(y) - cut), y[cut:].astype(int)]
            wrong = said[:, :-1].argmax(axis=1) != y[cut:]
            rows.append(
                [name, str(parts), str(rounds), f"{report['sequential_risk']:.4f}"]
                + [f"{model.certificate(1.0):.4f}", f"{-np.log(true).mean():.4f}", f"{wrong.mean():.4f}"]
            )
    print(common.table(HEADER, rows))


if __name__ == "__main__":
    main()
