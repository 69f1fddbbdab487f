"""The best fixed predictor of data on many machines, with a proved gap.

Every pass is a job of Spark. All executors visit their rows at the same weights, and give back what
these lose, the slopes there and, for few weights, the second derivatives. The driver chooses the next
weights from these sums. It only steers: the loss of any weights is an upper bound on the least loss,
the tangents of all passes prove a lower bound, and the core allows for the rounding of both.

For many classes the weights are a matrix, and the numbers of a column, one for every class, lie side by
side: to the driver that is a longer vector.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from .. import _data
from .._classes import OF_MANY, OF_TWO
from .._report import Report
from .._rueful import Model, Pass, Question, Sizes
from ._names import Batches, mapped, named, require, with_doubles
from ._rounds import FAN, announced, partitions, shared, unmeasured
from ._rows import BadRow, Columns, is_skip, partition
from ._vectors import gathering, spread

#: The most weights for which second derivatives are added up, and the most that there may be.
FEW, MOST = 700, 1 << 23

#: How many tangents and how many pairs of gradients are kept. All tangents together have so many slopes
#: at most, because the driver keeps them.
TANGENTS, PAIRS, SLOPES = 60, 12, 1 << 26

#: The unit of the shares of tangents: they add up to 1 without rounding.
_UNIT = 2.0**-30

_SUMS = "part long, sums binary, skipped long"

Doubles = _data.Doubles


def _each(
    columns: Columns, visit: Callable[[Any, Doubles, Doubles | None], None]
) -> Callable[[Iterable[pa.RecordBatch]], tuple[int, int]]:
    """Returns the function that shows the rows of a partition. It returns the number of the partition,
    and how many rows were skipped."""

    def show(batches: Iterable[pa.RecordBatch]) -> tuple[int, int]:
        part, place, skipped = partition(), 0, 0
        for batch in batches:
            try:
                rows, bad = columns.usable(batch)
                skipped += bad
                weights = columns.weights(rows)
                if weights is not None and not weights.all():
                    rows = rows.filter(pa.array(weights != 0))
                if len(rows):
                    visit(columns.table(rows), columns.labels(rows), columns.weights(rows))
            except BadRow as bad:
                row = place + bad.row
                raise ValueError(f"partition {part}, row {row}, {bad.what}") from bad
            place += len(batch)
        return part, skipped

    return show


def _sums(part: int, skipped: int, content: bytes) -> pa.RecordBatch:
    arrays = [pa.array([part], pa.int64()), pa.array([content], pa.binary())]
    arrays.append(pa.array([skipped], pa.int64()))
    return pa.RecordBatch.from_arrays(arrays, ["part", "sums", "skipped"])


def _added(sums: DataFrame, parts: int, kind: Any) -> tuple[list[Any], int]:
    """Adds up the sums of all partitions, in their order and in levels, and the rows that they skipped."""

    def join(group: pa.Table) -> pa.Table:
        group = group.sort_by("part")
        first, *others = [kind.from_bytes(one) for one in group.column("sums").to_pylist()]
        for other in others:
            first.merge(other)
        number, skipped = group.column("part")[0].as_py() // FAN, pc.sum(group.column("skipped"))
        return pa.Table.from_batches([_sums(number, skipped.as_py(), first.to_bytes())])

    while parts > FAN:
        group = F.floor(F.col("part") / FAN)
        sums = sums.groupBy(group.alias("group")).applyInArrow(join, _SUMS)
        parts = -(-parts // FAN)
    found = sorted(sums.toArrow().to_pylist(), key=lambda row: row["part"])
    skipped = sum(row["skipped"] for row in found)
    return [kind.from_bytes(row["sums"]) for row in found], skipped


@dataclasses.dataclass
class Data:
    """The rows, with everything that executors need to know of them."""

    df: DataFrame
    columns: Columns
    model: bytes

    def __post_init__(self) -> None:
        self.parts = partitions(self.df)

    def measure(self) -> tuple[Sizes, int]:
        """Makes the first pass, which measures every column, and counts the rows that are skipped."""
        columns, whole = self.columns, Sizes()
        with shared(self.df.sparkSession, self.model) as sent:

            def measure(batches: Iterable[pa.RecordBatch]) -> Batches:
                model, sizes = Model.from_bytes(sent.value), Sizes()
                own = _each(columns, lambda *rows: sizes.add(model, *rows))(batches)
                yield _sums(*own, sizes.to_bytes())

            passed = mapped(self.df, gathering(measure), _SUMS)
            found, skipped = _added(passed, self.parts, Sizes)
        for sizes in found:
            whole.merge(sizes)
        return whole, skipped

    def visit(self, sizes: bytes, u: Doubles, *, curved: bool) -> tuple[list[Pass], int]:
        """Makes a pass at the weights u, and counts the rows that are skipped."""
        columns = self.columns
        with shared(self.df.sparkSession, (self.model, sizes, u)) as sent:

            def look(batches: Iterable[pa.RecordBatch]) -> Batches:
                state, sizes, u = sent.value
                question = Question(Model.from_bytes(state), Sizes.from_bytes(sizes))
                sums = question.begin(u, curved)
                own = _each(columns, lambda *rows: sums.add(question, *rows))(batches)
                yield _sums(*own, sums.to_bytes())

            # No row has more features than were measured.
            with unmeasured(self.df.sparkSession, len(u)):
                return _added(mapped(self.df, gathering(look), _SUMS), self.parts, Pass)


@dataclasses.dataclass
class Point:
    """A pass over all data, in units in which every column is at most 1."""

    sums: Pass
    v: Doubles
    gradient: Doubles
    #: The tangent's value at 0.
    offset: float
    loss: float


class Search:
    """The passes so far, and the interval that they prove."""

    def __init__(self, data: Data, tolerance: float, max_passes: int) -> None:
        self.data, self.tolerance, self.left = data, tolerance, max_passes
        self.sizes, self.skipped = data.measure()
        if not self.sizes.examples():
            raise ValueError("the data have no rows")
        self.question = Question(Model.from_bytes(data.model), self.sizes)
        self.scales = np.asarray(self.question.sizes(), dtype=np.float64)
        if len(self.scales) > MOST:
            raise ValueError(
                f"the data ask for {len(self.scales)} weights, columns times classes, and passes on "
                f"many machines solve for at most {MOST}"
            )
        self.kept = min(TANGENTS, SLOPES // max(1, len(self.scales)))
        self.radius, self.passes = self.question.radius(), 1
        self.curved = len(self.scales) <= FEW and not self.question.is_kinked()
        self.lower = 0.0 if self.question.is_nonnegative() else -np.inf
        self.points: list[Point] = []
        self.best = self.at_zero = self._point(np.zeros(len(self.scales)))
        self.prove([self.best], [1.0])

    def visit(self, v: Doubles) -> Point:
        """Makes a pass at v, and narrows the interval by what it proves alone."""
        point = self._point(v)
        if point.loss < self.best.loss:
            self.best = point
        self.prove([point], [1.0])
        return point

    def _point(self, v: Doubles) -> Point:
        safe = np.where(self.scales > 0, self.scales, 1.0)
        u = np.where(self.scales > 0, v / safe, 0.0)
        whole = self.question.begin(u, self.curved)
        found, skipped = self.data.visit(self.sizes.to_bytes(), u, curved=self.curved)
        for sums in found:
            whole.merge(sums)
        self.passes, self.left = self.passes + 1, self.left - 1
        if (whole.examples(), skipped) != (self.sizes.examples(), self.skipped):
            raise ValueError("the data changed between two passes: write them out first")
        slopes, offset = whole.minorant()
        point = Point(
            whole,
            np.asarray(whole.comparator()) * self.scales,
            np.where(self.scales > 0, slopes / safe, 0.0),
            offset,
            whole.upper(),
        )
        self.points = [*self.points, point][-self.kept :]
        return point

    def prove(self, points: list[Point], shares: list[float] | Doubles) -> None:
        """Narrows the interval by what tangents with these shares prove together."""
        counts = np.floor(np.asarray(shares) / sum(shares) / _UNIT).astype(np.int64)
        counts[int(np.argmax(counts))] += round(1 / _UNIT) - int(counts.sum())
        kept = [(point.sums, count * _UNIT) for point, count in zip(points, counts, strict=True)]
        floor = self.question.floor([one for one, _ in kept], [float(share) for _, share in kept])
        self.lower = max(self.lower, floor)

    def is_done(self) -> bool:
        """Tells whether the gap is small enough, or no pass is left."""
        scale = max(abs(self.best.loss), 1e-6 * abs(self.at_zero.loss))
        return self.left <= 0 or self.best.loss - self.lower <= self.tolerance * scale

    def answer(self, method: str) -> Report:
        """Returns the answer, with the keys of `rueful hindsight --json` and `skipped_rows`."""
        answer = self.question.answer(
            self.best.sums,
            self.lower,
            at_zero=self.at_zero.loss,
            passes=self.passes,
            tolerance=self.tolerance,
            method=method,
            sizes=self.sizes,
        )
        return Report({**json.loads(answer), "skipped_rows": self.skipped})


@dataclasses.dataclass
class Curvature:
    """Second derivatives θ·I + Q·diag(extra)·Qᵀ, where the columns of Q are orthonormal."""

    theta: float
    extra: Doubles
    basis: Doubles

    def least(self, at: Point, radius: float, damping: float) -> Doubles:
        """Returns the least point of the quadratic model over the ball.

        With the multiplier m of the ball it solves (B + m)(w) = B·v − g, and ‖w‖ falls with m.
        """
        theta, extra = self.theta + damping, self.extra
        inside = self.basis.T @ at.v
        target = theta * at.v + self.basis @ (extra * inside) - at.gradient
        turned = self.basis.T @ target
        rest = max(float(target @ target - turned @ turned), 0.0)

        def norm(m: float) -> float:
            parts = turned / (theta + extra + m)
            return float(np.sqrt(parts @ parts + rest / (theta + m) ** 2))

        low, high = 0.0, 1.0
        if norm(0.0) > radius:
            while norm(high) > radius:
                low, high = high, 4 * high
            for _ in range(100):
                middle = 0.5 * (low + high)
                low, high = (middle, high) if norm(middle) > radius else (low, middle)
        m = high if low or norm(0.0) > radius else 0.0
        along = turned / (theta + extra + m)
        return (target - self.basis @ turned) / (theta + m) + self.basis @ along


def _from_hessian(at: Point, scales: Doubles) -> Curvature:
    columns = len(scales)
    lower = np.asarray(at.sums.hessian()).reshape(columns, columns)
    safe = np.where(scales > 0, scales, np.inf)
    whole = np.tril(lower) + np.tril(lower, -1).T
    values, basis = np.linalg.eigh(whole / safe[:, None] / safe[None, :])
    values = np.maximum(values, 0.0)
    theta = max(1e-12 * float(values.max(initial=0.0)), 1e-300)
    return Curvature(theta, values, basis)


def _from_pairs(pairs: list[tuple[Doubles, Doubles]], columns: int) -> Curvature:
    """Returns the curvature of limited-memory BFGS, from steps and changes of the gradient."""
    if not pairs:
        return Curvature(1.0, np.zeros(0), np.zeros((columns, 0)))
    step, change = pairs[-1]
    theta = float(change @ change) / float(change @ step)
    spread: list[Doubles] = []
    signs: list[float] = []

    def times(x: Doubles) -> Doubles:
        found = theta * x
        for sign, one in zip(signs, spread, strict=True):
            found = found + sign * one * float(one @ x)
        return found

    for step, change in pairs:
        image = times(step)
        spread += [image / np.sqrt(step @ image), change / np.sqrt(step @ change)]
        signs += [-1.0, 1.0]
    basis, small = np.linalg.qr(np.stack(spread, axis=1))
    values, turn = np.linalg.eigh(small @ np.diag(signs) @ small.T)
    return Curvature(theta, np.maximum(values, -theta * (1 - 1e-9)), basis @ turn)


def _smooth(search: Search) -> str:
    """Newton's method, or a quasi-Newton method where weights are many."""
    at, damping, columns = search.best, 0.0, len(search.scales)
    pairs: list[tuple[Doubles, Doubles]] = []
    if not search.curved:
        # The first step goes to the end of the ball at most.
        damping = float(np.linalg.norm(at.gradient)) / max(search.radius, 1e-300)
    while not search.is_done() and damping < 1e300:
        curvature = (
            _from_hessian(at, search.scales) if search.curved else _from_pairs(pairs, columns)
        )
        least = 1e-6 * (curvature.theta + float(curvature.extra.max(initial=0.0)))
        there = search.visit(curvature.least(at, search.radius, damping))
        step, change = there.v - at.v, there.gradient - at.gradient
        if float(step @ change) > 1e-12 * float(np.linalg.norm(step) * np.linalg.norm(change)):
            pairs = [*pairs, (step, change)][-PAIRS:]
        if there.loss < at.loss:
            at, damping = there, 0.1 * damping if damping > least else 0.0
        else:
            damping = max(10 * damping, least)
        search.prove(search.points, _shares(search, at.v, None))
    return "newton" if search.curved else "quasi-newton"


def _shares(search: Search, center: Doubles, step: float | None) -> Doubles:
    """Returns the shares of tangents whose mixture is largest at its least point near a center.

    The least point of a mixture g·v + c with (1/2t)‖v − center‖² over the ball is the projection
    of center − t·g. The mixture's value there is concave in the shares, and its slope is the value
    of every tangent there. Without a step, the distance counts as little as matters.
    """
    points = search.points
    tangents = np.stack([point.gradient for point in points])
    offsets = np.array([point.offset for point in points])
    gram, across = tangents @ tangents.T, tangents @ center
    if step is None:
        step = 1e3 * max(search.radius, 1e-300) / max(float(np.sqrt(gram.diagonal().max())), 1e-300)
    steepest = max(step * float(np.linalg.eigvalsh(gram)[-1]), 1e-300)
    shares = np.zeros(len(points))
    shares[-1] = 1.0
    previous, ahead, rate = shares, shares, 1.0
    for _ in range(3000):
        pulled = across - step * (gram @ ahead)
        square = center @ center - 2 * step * (ahead @ across) + step**2 * (ahead @ gram @ ahead)
        norm = math.sqrt(max(float(square), 0.0))
        scale = min(1.0, search.radius / max(norm, 1e-300))
        shares = _on_simplex(ahead + (offsets + scale * pulled) / steepest)
        following = 0.5 * (1 + np.sqrt(1 + 4 * rate**2))
        ahead = shares + (rate - 1) / following * (shares - previous)
        if np.abs(shares - previous).max() < 1e-13:
            break
        previous, rate = shares, following
    return shares


def _on_simplex(x: Doubles) -> Doubles:
    """Returns the nearest shares that are not negative and add up to 1."""
    ordered = np.sort(x)[::-1]
    above = (np.cumsum(ordered) - 1) / np.arange(1, len(x) + 1)
    return np.maximum(x - above[np.count_nonzero(ordered > above) - 1], 0.0)


def _kinked(search: Search) -> str:
    """A proximal bundle method, for losses with a kink."""
    center, size = search.best, float(np.linalg.norm(search.best.gradient))
    step = max(search.radius, 1e-300) / max(size, 1e-300)
    while not search.is_done():
        shares = _shares(search, center.v, step)
        search.prove(search.points, shares)
        gradient = sum(
            share * point.gradient for share, point in zip(shares, search.points, strict=True)
        )
        target = center.v - step * np.asarray(gradient)
        length = float(np.linalg.norm(target))
        there = search.visit(target * min(1.0, search.radius / max(length, 1e-300)))
        if there.loss < center.loss:
            center, step = there, 2 * step
        else:
            step = 0.7 * step
        search.prove(search.points, _shares(search, center.v, None))
    return "bundle"


def hindsight(
    df: DataFrame,
    *,
    label: str = "label",
    features: list[str] | str | None = None,
    weight: str | None = None,
    loss: str | None = None,
    tau: float | None = None,
    radius: float | None = None,
    comparators: str | None = None,
    tolerance: float = 1e-3,
    max_passes: int = 100,
    handle_invalid: str = "error",
) -> Report:
    """Solves for the best fixed linear predictor of some data, to a proved interval.

    Every pass is a job of Spark, and the data must be the same in all of them.

    Parameters
    ----------
    df : DataFrame
        The data. It is read once per pass: cache it, or read it from files.
    label : str
        The column of the labels.
    features : list of str or str, optional
        The columns of the features, or one column of ML vectors or arrays; all others if left out.
    weight : str, optional
        The column that says how much each row counts.
    loss : str, optional
        The loss. If left out, it is `logistic` for two classes, `softmax` for more of them, and
        `square` for numbers. Numbers of which there are more than two are classes if the loss says so.
    tau : float, optional
        The quantile of the loss `quantile`; the median if left out.
    radius, comparators : optional
        The ball of predictors: those of `rueful hindsight`.
    tolerance : float
        The gap that is small enough, relative to the loss.
    max_passes : int
        The most passes.
    handle_invalid : str
        What becomes of rows with bad values: `error`, or `skip`, which leaves them out of every pass.

    Returns
    -------
    Report
        The keys are those of `rueful hindsight --json`, and `skipped_rows`, how many rows were left out.
    """
    from ._estimators import OnlineClassifier, OnlineRegressor

    if not 0 < tolerance < 1:
        raise ValueError(f"tolerance: {tolerance} is not a number between 0 and 1")
    if max_passes < 1:
        raise ValueError("max_passes: at least 1, for one pass gives an interval already")
    if tau is not None and loss != "quantile":
        raise ValueError("tau: it is the quantile of loss='quantile', and this is another loss")
    is_skip("handle_invalid", handle_invalid)
    require(df, "label", label)
    require(df, "weight", weight)
    require(df, "features", *([features] if isinstance(features, str) else features or ()))
    of_classes = _is_of_classes(df, label, loss)
    estimator: Any = (OnlineClassifier if of_classes else OnlineRegressor)(labelCol=label)
    if isinstance(features, str):
        estimator.setFeaturesCol(features)
    elif features is not None:
        wanted = dict.fromkeys([*features, label, *([weight] if weight else [])])
        df = df.select(*map(named, wanted))
    given = {"weightCol": weight, "loss": loss, "tau": tau, "radius": radius}
    given["handleInvalid"] = handle_invalid
    estimator._set(**{name: value for name, value in given.items() if value is not None})
    columns = estimator._known_columns(df)
    # Solvers compare without units, if nothing else is asked for, and learners not always.
    compared = comparators or "unit-free"
    fresh = announced(estimator._fresh(df, columns, comparators=compared), columns)
    rows = spread(with_doubles(df, label), columns.names())
    search = Search(Data(rows, columns, fresh.state), tolerance, max_passes)
    return search.answer((_kinked if search.question.is_kinked() else _smooth)(search))


def _is_of_classes(df: DataFrame, label: str, loss: str | None) -> bool:
    """Tells whether labels are classes."""
    from pyspark.sql.types import NumericType

    if loss is not None:
        return loss in OF_TWO + OF_MANY
    if not isinstance(df.schema[label].dataType, NumericType):
        return True
    # A row without a label says nothing of what labels are.
    known = named(label).isNotNull() & ~F.isnan(named(label).cast("double"))
    return df.select(named(label)).where(known).distinct().limit(3).count() == 2
