"""Write phishing-models.csv, beside this file: two models on the stream of phishing.libsvm.

Both let the past vote. Every earlier example votes for its own label with the weight
exp(-2 * distance squared), each label starts with 0.1 votes, and the share of the votes for +1 is
the prediction: a probability, made before the label of the example is known.

`votes` is this model. `unplugged` is the same, but from example 751 on its feature 3, `https`,
arrives as 0: a column that somebody stopped filling.
"""

import math
from pathlib import Path

PRIOR = 0.1
FEATURES = 9
UNPLUGGED_FEATURE = 3
UNPLUGGED_FROM = 751


def read(line: str) -> tuple[list[float], bool]:
    label, *pairs = line.split()
    x = [0.0] * (FEATURES + 1)
    for index, value in (pair.split(":") for pair in pairs):
        x[int(index)] = float(value)
    return x, float(label) > 0


def unplug(number: int, x: list[float]) -> list[float]:
    return [
        0.0 if index == UNPLUGGED_FEATURE and number >= UNPLUGGED_FROM else value
        for index, value in enumerate(x)
    ]


def vote(stream: list[tuple[list[float], bool]]) -> list[float]:
    probabilities = []
    for now, (x, _) in enumerate(stream):
        votes = {True: PRIOR, False: PRIOR}
        for past, label in stream[:now]:
            votes[label] += math.exp(-2 * sum((a - b) ** 2 for a, b in zip(x, past)))
        probabilities.append(votes[True] / (votes[True] + votes[False]))
    return probabilities


def main() -> None:
    here = Path(__file__)
    lines = here.with_name("phishing.libsvm").read_text(encoding="ascii").splitlines()
    stream = [read(line) for line in lines]
    unplugged = [(unplug(number, x), label) for number, (x, label) in enumerate(stream, start=1)]
    rows = [f"{p:.6f},{q:.6f}\n" for p, q in zip(vote(stream), vote(unplugged))]
    text = "".join(["votes,unplugged\n", *rows])
    here.with_name("phishing-models.csv").write_text(text, encoding="ascii", newline="\n")


if __name__ == "__main__":
    main()
