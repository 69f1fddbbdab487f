"""Compare the losses of rueful's bank and of other learners on nine sets of many classes.

No program is tuned. All see the same rows once, in the same order. Every prediction is made before its row is
learned from. Vowpal Wabbit runs one against all, in each of its five modes twice: with the logistic loss and
--probabilities, for its log loss and its error, and with its defaults, for its error alone. River's softmax
regression and scikit-learn's gradient descent run with and without their scalers. The best of each counts.
Probabilities below 1e-6 count as 1e-6 for all programs. The project's goals are checked at the end. Exit code
1 means that a goal was missed.
"""

import argparse
import hashlib
import json
import math
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.dont_write_bytecode = True
import class_models  # noqa: E402
import class_sets  # noqa: E402
import common  # noqa: E402
from class_sets import Row  # noqa: E402
from models import VOWPAL, VOWPAL_MODES  # noqa: E402

LEAST = 1e-6
MODES = list(VOWPAL_MODES)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bank", metavar="PATH", help="the example `classes` [default: the release build]")
    parser.add_argument("--only", metavar="NAME", help="only the sets whose name has this in it; no goal is judged")
    parser.add_argument("--out", metavar="FILE", help="write the tables to this file as well")
    return parser.parse_args()


def loss_of(probability: float) -> float:
    return -math.log(max(probability, LEAST))


def vw_text(path: Path, rows: list[Row]) -> None:
    with path.open("w") as file:
        for label, features in rows:
            cells = " ".join(f"{index}:{value:.9g}" for index, value in features.items())
            file.write(f"{label + 1} | {cells}\n")


@dataclass
class Score:
    """The loss per row of a program, and its share of wrong classes."""

    loss: float | None
    error: float


def vowpal(text: Path, mode: str, is_logistic: bool, rows: list[Row]) -> Score:
    """One run of Vowpal Wabbit, in a process of its own."""
    classes = 1 + max(label for label, _ in rows)
    said = text.with_suffix(f".{mode}.{is_logistic}.said")
    how = "--loss_function logistic --probabilities" if is_logistic else ""
    told = f"-d {text} -p {said} --quiet --oaa {classes} {how} {VOWPAL_MODES[mode]}"
    subprocess.run([sys.executable, "-c", VOWPAL, told], check=True)
    lines = said.read_text().splitlines()
    said.unlink()
    if len(lines) != len(rows):
        sys.exit(f"{text}: {len(lines)} predictions for {len(rows)} rows")
    return score(lines, rows) if is_logistic else plain_score(lines, rows)


def score(lines: list[str], rows: list[Row]) -> Score:
    loss, wrong = 0.0, 0
    for line, (label, _) in zip(lines, rows):
        shares = [float(cell.split(":")[1]) for cell in line.split()]
        loss += loss_of(shares[label])
        wrong += shares.index(max(shares)) != label
    return Score(loss / len(rows), wrong / len(rows))


def plain_score(lines: list[str], rows: list[Row]) -> Score:
    wrong = sum(int(float(line)) != label + 1 for line, (label, _) in zip(lines, rows))
    return Score(None, wrong / len(rows))


LIBRARIES = {"river": class_models.river, "scikit-learn": class_models.scikit_learn}


def library(name: str, is_scaled: bool, rows: list[Row]) -> Score | None:
    """The score of a library, or nothing if the set is too large for it."""
    if name == "river" and not class_models.is_for_river(rows, is_scaled):
        return None
    losses, wrong = [], 0
    for (share, predicted), (label, _) in zip(LIBRARIES[name](rows, is_scaled), rows, strict=True):
        losses.append(loss_of(share if math.isfinite(share) else 0.0))
        wrong += predicted != label
    return Score(sum(losses) / len(rows), wrong / len(rows))


def kept_score(text: Path, who: str, how: str | bool, rows: list[Row]) -> Score | None:
    """The score of somebody else. It is kept, because only a new version or new scripts of ours can change it."""
    key = hashlib.sha256(repr((who, how)).encode() + text.read_bytes())
    for file in ("requirements.txt", "models.py", "class_models.py", "classes.py"):
        key.update((common.HERE / file).read_bytes())
    kept = class_sets.FOLDER / "kept" / key.hexdigest()
    if not kept.exists():
        found = library(who, how, rows) if who in LIBRARIES else vowpal(text, who, how, rows)
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(json.dumps(found and [found.loss, found.error]))
    found = json.loads(kept.read_text())
    return found and Score(*found)


def bank(program: str, path: Path) -> tuple[Score, dict]:
    """The score of the bank, which is told how many classes there are. The loss is computed as for its rival."""
    found = common.ask([program, str(path), "--known", "--probabilities"])
    losses = list(map(loss_of, found.pop("probabilities")))
    return Score(sum(losses) / len(losses), found["error"]), found


@dataclass
class Contest:
    """One set, and the scores of all programs."""

    name: str
    rows: int
    bank: Score
    report: dict
    logistic: dict[str, Score]
    plain: dict[str, Score]
    libraries: dict[str, list[Score]]

    def best_of(self, library: str) -> Score | None:
        return min(self.libraries[library], key=lambda score: score.loss, default=None)

    def of_library(self, library: str) -> str:
        best = self.best_of(library)
        return f"{best.loss:.4f}" if best else "–"

    def least_error(self) -> str:
        errors = [score.error for scores in self.libraries.values() for score in scores]
        return f"{min(errors):.4f}" if errors else "–"

    def best_loss(self) -> float:
        return min(score.loss for score in self.logistic.values())

    def best_error(self) -> float:
        return min(score.error for score in [*self.logistic.values(), *self.plain.values()])

    def time(self) -> str:
        """Microseconds a row; the system counts too coarsely for few rows."""
        return f"{self.report['ns_per_row'] / 1000:.1f}" if self.rows >= 1000 else "–"

    def line(self) -> list[str]:
        losses = [f"{self.logistic[mode].loss:.4f}" for mode in MODES]
        return [
            f"{self.name} ({self.report['classes']})", f"{self.rows:,}",
            *losses, f"{self.bank.loss:.4f}", f"{self.bank.loss / self.best_loss():.3f}",
            f"{self.best_error():.4f}", f"{self.bank.error:.4f}",
            *(self.of_library(name) for name in LIBRARIES), self.least_error(),
            self.time(), f"{self.report['peak_megabytes']:.1f}",
            f"{self.report['beats_up_to'] or 0.0:.2f}",
        ]


HEADER = [
    "set (classes)", "rows", *(f"VW {mode}" for mode in MODES), "rueful", "rueful / best VW",
    "best error of VW", "error of rueful", *LIBRARIES, "best error of these", "µs a row", "peak MB", "beats up to U =",
]


def hold(name: str, program: str, pool: ProcessPoolExecutor) -> Contest:
    path, rows = class_sets.write(name)
    text = path.with_suffix(".vw")
    vw_text(text, rows)
    waiting = {
        (who, how): pool.submit(kept_score, text, who, how, rows)
        for who in [*MODES, *LIBRARIES] for how in (True, False)
    }
    found = {key: future.result() for key, future in waiting.items()}
    libraries = {name: [found[name, how] for how in (True, False) if found[name, how]] for name in LIBRARIES}
    own, report = bank(program, path)
    logistic, plain = ({mode: found[mode, kind] for mode in MODES} for kind in (True, False))
    return Contest(name, len(rows), own, report, logistic, plain, libraries)


def goals(held: list[Contest]) -> list[tuple[str, bool]]:
    losses = sum(one.bank.loss <= one.best_loss() for one in held)
    errors = sum(one.bank.error <= one.best_error() for one in held)
    most = max(one.report["peak_megabytes"] for one in held)
    rivals = [score for one in held for scores in one.libraries.values() for score in scores]
    above = sum(one.bank.loss <= score.loss for one in held for scores in one.libraries.values() for score in scores)
    mean = math.exp(sum(math.log(one.bank.loss / one.best_loss()) for one in held) / len(held))
    return [
        (f"log loss at or below that of VW's best mode on {losses} of {len(held)} sets, all wanted "
         f"(geometric mean of the ratios {mean:.3f})", losses == len(held)),
        (f"error at or below VW's best of ten runs on {errors} of {len(held)} sets, 8 wanted", errors >= 8),
        (f"log loss at or below that of river and scikit-learn in {above} of {len(rivals)} runs, all wanted",
         above == len(rivals)),
        (f"{most:.1f} MB at most, 60 wanted", most <= 60.0),
    ]


def main() -> None:
    args = arguments()
    common.enter_environment()
    program = common.program("examples/classes", args.bank)
    names = [name for name in class_sets.SETS if not args.only or args.only in name]
    held = []
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for name in names:
            held.append(hold(name, program, pool))
            print(" ".join(held[-1].line()), file=sys.stderr, flush=True)
    wanted = goals(held)
    tables = common.table(HEADER, [one.line() for one in held])
    tables += "".join(f"\n\n{words}: {'reached' if reached else 'MISSED'}" for words, reached in wanted)
    print(tables)
    if args.out:
        Path(args.out).write_text(tables + "\n")
    if len(held) < len(class_sets.SETS):
        print("\nThe goals are about all nine sets, and these were not all: nothing is judged.")
        return
    sys.exit(0 if all(reached for _, reached in wanted) else 1)


if __name__ == "__main__":
    main()
