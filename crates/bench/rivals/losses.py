"""Compare the losses of rueful, Vowpal Wabbit, river and scikit-learn on eleven public data sets.

No program is tuned, and all see the same rows once, in the order of the file. Every prediction is made
before its row is learned from, and one function computes the loss of all of them. rueful is the release
program, its report and certificate included. The project's goals for rueful's losses are checked at the
end. Exit code 1 means that a goal was missed.
"""

import argparse
import hashlib
import math
import os
import statistics
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

sys.dont_write_bytecode = True
import common  # noqa: E402
import models  # noqa: E402
import sets  # noqa: E402
from models import HINGE, Loss, Row  # noqa: E402
from sets import Set  # noqa: E402

WORK = common.CACHE / "losses"
RUEFUL = "rueful"
VOWPAL = [f"VW {mode}" for mode in models.VOWPAL_MODES]
EVERYBODY = [RUEFUL, *VOWPAL, *models.ONE_BY_ONE]
QUANTILES = [Loss("quantile", tau) for tau in (0.1, 0.5, 0.9)]
CORRUPTED_CELLS, CLEAN_ROWS, SEEDS = 20, 100, (1, 2, 3)
QUICK_ROWS = 300
UNITS = ["columns ×10^±6", "columns ×10^(−6…6)", "labels ×10^6", "labels ×10^−6"]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="?", type=Path, metavar="DATA", help="the folder of the data sets")
    parser.add_argument("--rueful", metavar="PATH", help="the program [default: the release build]")
    parser.add_argument("--only", metavar="NAME",
                        help="only the sets whose name has this in it; no goal is judged")
    parser.add_argument("--out", metavar="FILE", help="write the tables to this file as well")
    parser.add_argument("--quick", action="store_true",
                        help=f"the first {QUICK_ROWS} rows of each, to see that it works; no goal is judged")
    return parser.parse_args()


def rueful_loss(rueful: str, loss: Loss, text: Path, rows: list[Row]) -> float:
    """The loss of rueful by its predictions, which must be the one in its report."""
    scores = text.with_suffix(".scores")
    tau = [] if loss.tau is None else ["--tau", str(loss.tau)]
    told = ["--format", "vw", "--loss", loss.name, *tau, "--predictions", str(scores), "--json"]
    report = common.ask([rueful, "run", str(text), *told])
    predictions = [float(line) for line in scores.read_text().split()]
    scores.unlink()
    found = models.mean_loss(loss, predictions, rows)
    if not math.isclose(found, report["sequential_risk"], rel_tol=1e-9):
        sys.exit(f"{text}: rueful reports {report['sequential_risk']}, its predictions lose {found}")
    return found


def rival_loss(model: str, loss: Loss, text: Path, rows: list[Row]) -> float:
    """The loss of a rival. It is kept, because only a new version or new scripts of ours can change it."""
    key = hashlib.sha256(repr((model, loss)).encode() + text.read_bytes())
    for file in ("requirements.txt", "models.py"):
        key.update((common.HERE / file).read_bytes())
    kept = WORK / "kept" / key.hexdigest()
    if not kept.exists():
        found = models.mean_loss(loss, rival_predictions(model, loss, text, rows), rows)
        kept.parent.mkdir(exist_ok=True)
        kept.with_suffix(".new").write_text(repr(found))
        kept.with_suffix(".new").rename(kept)
    return float(kept.read_text())


def rival_predictions(model: str, loss: Loss, text: Path, rows: list[Row]) -> list[float]:
    if model in VOWPAL:
        return models.vowpal(text, loss, model.removeprefix("VW "))
    return models.one_by_one(model, loss, rows)


@dataclass
class Contest:
    """One loss on one set, and the losses of all programs."""

    set: Set
    loss: Loss
    losses: dict[str, float] = field(default_factory=dict)

    def name(self) -> str:
        return self.set.name if self.loss.tau is None else f"{self.set.name}, τ = {self.loss.tau:g}"

    def ratio(self, rivals: list[str]) -> float:
        """The loss of rueful over that of the best of some rivals."""
        return self.losses[RUEFUL] / min(self.losses[r] for r in rivals if r in self.losses)

    def line(self) -> list[str]:
        losses = [figure(self.losses.get(model)) for model in EVERYBODY]
        ratios = [f"{self.ratio(rivals):.3f}" for rivals in (VOWPAL, EVERYBODY[1:])]
        return [self.name(), *losses, *ratios]


def figure(loss: float | None) -> str:
    if loss is None:
        return "–"
    return f"{loss:.4g}" if math.isfinite(loss) else "∞"


def geometric_mean(ratios: list[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, ratios)))


def contests(found: list[Set]) -> list[Contest]:
    first = [Contest(one, one.loss) for one in found]
    hinge = [Contest(one, HINGE) for one in found if one.loss.is_of_classes()]
    numbers = [one for one in found if not one.loss.is_of_classes()]
    return [*first, *hinge, *(Contest(one, loss) for one in numbers for loss in QUANTILES)]


def hold(contest: Contest, text: Path, rows: list[Row], rueful: str, pool: ProcessPoolExecutor) -> None:
    """Find all losses on the rows of the text. The rivals run side by side, because no time is measured."""
    loss = contest.loss
    rivals = [model for model in EVERYBODY[1:] if models.has_loss(model, loss)]
    waiting = {model: pool.submit(rival_loss, model, loss, text, rows) for model in rivals}
    contest.losses[RUEFUL] = rueful_loss(rueful, loss, text, rows)
    contest.losses |= {model: future.result() for model, future in waiting.items()}


@dataclass
class Trials:
    """The losses of rueful on other forms of a set, over that on the set as it is."""

    set: Set
    units: dict[str, float] = field(default_factory=dict)
    corrupted: list[float] = field(default_factory=list)

    def line(self) -> list[str]:
        units = [f"{self.units[name]:.5f}" if name in self.units else "–" for name in UNITS]
        return [self.set.name, *units, *(f"{ratio:.3f}" for ratio in self.corrupted)]


def in_other_units(one: Set, rows: list[Row]) -> dict[str, tuple[list[Row], float]]:
    """The rows in other units, and the factor by which that multiplies the loss."""
    forms = {
        UNITS[0]: (sets.with_columns_scaled(rows, [-6, 6], seed=1), 1.0),
        UNITS[1]: (sets.with_columns_scaled(rows, list(range(-6, 7)), seed=2), 1.0),
    }
    if not one.loss.is_of_classes():
        forms[UNITS[2]] = (sets.with_labels_scaled(rows, 1e6), 1e12)
        forms[UNITS[3]] = (sets.with_labels_scaled(rows, 1e-6), 1e-12)
    return forms


def trials(one: Set, rows: list[Row], plain: float, rueful: str) -> Trials:
    text = WORK / f"{one.name}.trial.vw"

    def ratio(form: list[Row], factor: float = 1.0) -> float:
        models.write_vw(text, form)
        return rueful_loss(rueful, one.loss, text, form) / (plain * factor)

    done = Trials(one)
    for name, (form, factor) in in_other_units(one, rows).items():
        done.units[name] = ratio(form, factor)
    done.corrupted = [ratio(sets.corrupted(rows, CORRUPTED_CELLS, CLEAN_ROWS, seed)) for seed in SEEDS]
    text.unlink()
    return done


@dataclass
class Goal:
    """A number that should be at most another."""

    words: str
    found: float
    most: float

    def is_reached(self) -> bool:
        return self.found <= self.most

    def line(self) -> list[str]:
        return [self.words, f"{self.found:.4f}", f"{self.most:g}", "reached" if self.is_reached() else "MISSED"]


# The names of the kinds of losses, and the losses of each kind.
KINDS = {
    "logistic and square loss": ("logistic", "square"),
    "hinge loss": ("hinge",),
    "quantile loss": ("quantile",),
}


def by_kind(held: list[Contest]) -> dict[str, list[Contest]]:
    chosen = {kind: [one for one in held if one.loss.name in names] for kind, names in KINDS.items()}
    return {kind: contests for kind, contests in chosen.items() if contests}


def goals(held: list[Contest], tried: list[Trials]) -> list[Goal]:
    """The goals, with the numbers that were found."""
    listed = []
    for kind, chosen in by_kind(held).items():
        ratios = [one.ratio(VOWPAL) for one in chosen]
        listed.append(Goal(f"{kind}: over that of VW's best mode, worst set", max(ratios), 1.0))
        if "square" in KINDS[kind]:
            mean = geometric_mean(ratios)
            listed.append(Goal(f"{kind}: over that of VW's best mode, geometric mean", mean, 0.75))
    change = max(abs(ratio - 1.0) for one in tried for ratio in one.units.values())
    listed.append(Goal("change of the loss in other units, worst", change, 0.01))
    spoilt = geometric_mean([ratio for one in tried for ratio in one.corrupted])
    words = f"{CORRUPTED_CELLS} cells ×10^6: loss over that without, geometric mean"
    listed.append(Goal(words, spoilt, 1.05))
    return listed


def contest_tables(held: list[Contest]) -> list[str]:
    header = ["", *EVERYBODY, "rueful / best VW", "rueful / best"]
    tables = []
    for kind, chosen in by_kind(held).items():
        means = [geometric_mean([one.ratio(r) for one in chosen]) for r in (VOWPAL, EVERYBODY[1:])]
        last = ["geometric mean", *[""] * len(EVERYBODY), *(f"{mean:.3f}" for mean in means)]
        lines = [one.line() for one in chosen]
        tables.append(f"**{kind.capitalize()}**\n\n{common.table(header, [*lines, last])}")
    return tables


def trial_table(tried: list[Trials]) -> str:
    spoilt = [f"{CORRUPTED_CELLS} cells ×10^6, seed {seed}" for seed in SEEDS]
    header = ["", *UNITS, *spoilt]
    title = "**rueful's loss on other forms of the data**, over that on the data as they are"
    return f"{title}\n\n{common.table(header, [one.line() for one in tried])}"


def found_sets(args: argparse.Namespace) -> list[Set]:
    found = [one for one in sets.SETS if (args.data / one.file).exists()]
    for one in sets.SETS:
        if one not in found:
            print(f"{args.data / one.file} is not there: left out", file=sys.stderr)
    return [one for one in found if not args.only or args.only in one.name]


def measure(args: argparse.Namespace, found: list[Set]) -> tuple[list[Contest], list[Trials]]:
    held, tried = contests(found), []
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for one in found:
            rows = sets.read(args.rueful, args.data, one, QUICK_ROWS if args.quick else None)
            print(f"{one.name}: {len(rows):,} rows", file=sys.stderr, flush=True)
            text = WORK / f"{one.name}{'.quick' if args.quick else ''}.vw"
            models.write_vw(text, rows)
            own = [contest for contest in held if contest.set == one]
            for contest in own:
                hold(contest, text, rows, args.rueful, pool)
            tried.append(trials(one, rows, own[0].losses[RUEFUL], args.rueful))
    return held, tried


def main() -> None:
    args = arguments()
    if args.data is None or not args.data.is_dir():
        what = f"{args.data} is no folder" if args.data else "no folder of data sets is given (DATA=FOLDER)"
        print(f"losses.py: {what}: losses are not compared")
        return
    common.enter_environment()
    args.rueful = common.rueful_path(args.rueful)
    WORK.mkdir(parents=True, exist_ok=True)
    found = found_sets(args)
    if not found:
        sys.exit(f"none of the data sets is in {args.data}")
    held, tried = measure(args, found)
    wanted = goals(held, tried)
    goal_table = common.table(["goal", "found", "at most", ""], [goal.line() for goal in wanted])
    tables = "\n\n".join([*contest_tables(held), trial_table(tried), goal_table])
    print(tables)
    if args.out:
        Path(args.out).write_text(tables + "\n")
    if args.quick or found != sets.SETS:
        print("\nThe goals are about all eleven sets, and these were not all: nothing is judged.")
        return
    sys.exit(0 if all(goal.is_reached() for goal in wanted) else 1)


if __name__ == "__main__":
    main()
