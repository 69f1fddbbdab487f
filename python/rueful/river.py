"""Learners for River. One dict at a time and a frame at a time give the same bits.

>>> from river import datasets, evaluate, metrics
>>> import rueful.river
>>> model = rueful.river.OnlineClassifier()
>>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
Accuracy: 89.20%
>>> round(model.report()["sequential_risk"], 4)
0.2656
"""

from __future__ import annotations

import os
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from river import base

from . import _data
from ._report import Report
from ._rueful import Model

__all__ = ["OnlineClassifier", "OnlineRegressor"]


class _Online:
    """The common part of the models. All settings of the program have the same name here."""

    _usual_loss: ClassVar[str]

    def __init__(
        self,
        learner: str | None = None,
        loss: str | None = None,
        radius: float | None = None,
        comparators: str | None = None,
        judge: bool | None = None,
        tau: float | None = None,
        eta: float | None = None,
        gradient_bound: float | None = None,
        sigma: float | None = None,
        alpha: float | None = None,
        l1: float | None = None,
        c: float | None = None,
        schedule: str | None = None,
        horizon: int | None = None,
        no_constant: bool = False,
        bits: int | None = None,
    ) -> None:
        self.learner = learner
        self.loss = loss
        self.radius = radius
        self.comparators = comparators
        self.judge = judge
        self.tau = tau
        self.eta = eta
        self.gradient_bound = gradient_bound
        self.sigma = sigma
        self.alpha = alpha
        self.l1 = l1
        self.c = c
        self.schedule = schedule
        self.horizon = horizon
        self.no_constant = no_constant
        self.bits = bits
        self._core: Model | None = None

    def _model(self) -> Model:
        """The run, which begins when it is needed."""
        if self._core is None:
            settings = _data.pick(vars(self), _data.SETTINGS)
            settings["loss"] = settings["loss"] or self._usual_loss
            columns = _data.columns(vars(self))
            constant = not self.no_constant
            self._core = Model(
                settings, columns, [], constant=constant, classes=self._class_names()
            )
        return self._core

    def _class_names(self) -> list[str] | None:
        return None

    def _learn_one(self, x: dict[Any, Any], label: float, w: float) -> None:
        self._model().learn_one(x, label, w)

    def _learn_many(self, X: pd.DataFrame, labels: _data.Doubles, w: Any) -> None:
        if len(X) == 0:
            return
        weights = None if w is None else _data.doubles("w", w)
        table, names = _frame(X)
        model = self._model()
        model.turn_to(_data.columns(vars(self), X), table, names=names)
        model.learn(table, labels, weights)

    def _score_one(self, x: dict[Any, Any]) -> float:
        return self._model().predict_one(x)

    def _scores(self, X: pd.DataFrame) -> _data.Doubles:
        if len(X) == 0:
            return np.empty(0)
        table, names = _frame(X)
        return self._model().predict(table, _data.columns(vars(self), X), names)

    @property
    def weights(self) -> dict[str, float]:
        """The weights that are not 0 by the names of their features, the largest first."""
        return dict(self._model().named_weights())

    def report(self) -> Report:
        """Returns what can be said of the run so far: what it cost, and what is proved of it."""
        return Report._of(self._model().report())

    def certificate(self, radius: float | None = None) -> float:
        """Returns the certificate: no comparator saved more than this per round."""
        return self._model().certificate(radius)

    def regret(
        self,
        X: Any,
        y: Any,
        w: Any = None,
        *,
        tolerance: float | None = None,
        max_passes: int | None = None,
    ) -> Report:
        """Runs the same task anew over these data, and solves for the best predictor afterwards.

        For the examples that were learned from, in the same order, this is the exact regret of that
        very run. It is solved to a proved interval: see the keys ``regret`` and ``comparator``.

        Parameters
        ----------
        X : iterable of dicts, or frame
            The examples.
        y : labels
            What came.
        w : numbers, optional
            How much each example counts.
        """
        is_frame = isinstance(X, pd.DataFrame)
        rows = X.rename(columns=str).to_dict(orient="records") if is_frame else list(X)
        labels = np.array([self._number(label) for label in y], dtype=np.float64)
        weights = None if w is None else _data.doubles("w", w)
        found = self._model().regret(rows, labels, weights, tolerance, max_passes)
        return Report._of(found)

    def _number(self, y: Any) -> float:
        """The number that the core takes for a label."""
        return float(y)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Puts the run in a file, which `rueful.load` and the program open."""
        self._model().save(path)


def _frame(X: pd.DataFrame) -> tuple[Any, list[str] | None]:
    """A frame as the core takes it; names that are no words become words, as keys of dicts do."""
    if not all(isinstance(name, str) for name in X.columns):
        X = X.rename(columns=str)
    return _data.frame(X)


class OnlineClassifier(_Online, base.MiniBatchClassifier):
    """Learns to tell two classes apart, and proves its own regret.

    Parameters
    ----------
    learner, loss, radius, comparators, judge, tau, eta, gradient_bound, sigma, alpha, l1, c
        Settings of the program `rueful run` under the same names.
    schedule, horizon, no_constant, bits
        As well.
    positive
        The label of the positive class; every other label is the negative one, which must be one.
    negative
        The label of the negative class.

    Examples
    --------
    >>> import rueful.river
    >>> model = rueful.river.OnlineClassifier()
    >>> for x, y in [({"a": 1.0}, True), ({"a": -1.0, "b": "red"}, False)] * 20:
    ...     model.learn_one(x, y)
    >>> model.predict_one({"a": 2.0})
    True
    """

    _usual_loss = "logistic"

    def __init__(
        self,
        learner: str | None = None,
        loss: str | None = None,
        radius: float | None = None,
        comparators: str | None = None,
        judge: bool | None = None,
        tau: float | None = None,
        eta: float | None = None,
        gradient_bound: float | None = None,
        sigma: float | None = None,
        alpha: float | None = None,
        l1: float | None = None,
        c: float | None = None,
        schedule: str | None = None,
        horizon: int | None = None,
        no_constant: bool = False,
        bits: int | None = None,
        positive: Any = True,
        negative: Any = False,
    ) -> None:
        super().__init__(
            learner,
            loss,
            radius,
            comparators,
            judge,
            tau,
            eta,
            gradient_bound,
            sigma,
            alpha,
            l1,
            c,
            schedule,
            horizon,
            no_constant,
            bits,
        )
        self.positive = positive
        self.negative = negative

    @property
    def _multiclass(self) -> bool:
        return False

    def _class_names(self) -> list[str] | None:
        return [_data.class_name(self.negative), _data.class_name(self.positive)]

    def _number(self, y: Any) -> float:
        if y == self.positive:
            return 1.0
        if y == self.negative:
            return -1.0
        raise ValueError(
            f"y: found the label {y!r}, expected {self.positive!r} or {self.negative!r}: "
            "positive and negative name others"
        )

    def _signs(self, y: NDArray[Any]) -> _data.Doubles:
        if y.dtype.kind == "b" and (self.positive, self.negative) == (True, False):
            return y * 2.0 - 1.0
        return np.array([self._number(label) for label in y], dtype=np.float64)

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learns from one example, which counts `w` times."""
        self._learn_one(x, self._number(y), w)

    def learn_many(self, X: pd.DataFrame, y: pd.Series, w: Any = None) -> None:
        """Learns from the rows of a frame, with the same bits as one by one."""
        self._learn_many(X, self._signs(np.asarray(y)), w)

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Returns the label of an example."""
        return self.positive if self._score_one(x) > 0 else self.negative

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Returns the labels of the rows of a frame."""
        labels = [self.positive if score > 0 else self.negative for score in self._scores(X)]
        return pd.Series(labels, index=X.index, name=None)

    def _probabilities(self, scores: _data.Doubles) -> _data.Doubles:
        found = self._model().probabilities(scores)
        # A loss that tells no probabilities tells labels.
        return (scores > 0).astype(np.float64) if found is None else found

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Returns how likely each label is."""
        chance = float(self._probabilities(np.array([self._score_one(x)]))[0])
        return {self.negative: 1.0 - chance, self.positive: chance}

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Returns how likely each label is for the rows of a frame."""
        chances = self._probabilities(self._scores(X))
        return pd.DataFrame({self.negative: 1.0 - chances, self.positive: chances}, index=X.index)


class OnlineRegressor(_Online, base.MiniBatchRegressor):
    """Learns to predict numbers, and proves its own regret.

    Parameters
    ----------
    learner, loss, radius, comparators, judge, tau, eta, gradient_bound, sigma, alpha, l1, c
        Settings of the program `rueful run` under the same names.
    schedule, horizon, no_constant, bits
        As well.

    Examples
    --------
    >>> import rueful.river
    >>> model = rueful.river.OnlineRegressor()
    >>> for t in range(100):
    ...     model.learn_one({"t": t % 5}, 2.0 * (t % 5))
    >>> abs(model.predict_one({"t": 3}) - 6) < 0.1
    True
    """

    _usual_loss = "square"

    def learn_one(self, x: dict[Any, Any], y: float, w: float = 1.0) -> None:
        """Learns from one example, which counts `w` times."""
        self._learn_one(x, float(y), w)

    def learn_many(self, X: pd.DataFrame, y: pd.Series, w: Any = None) -> None:
        """Learns from the rows of a frame, with the same bits as one by one."""
        self._learn_many(X, _data.doubles("y", y), w)

    def predict_one(self, x: dict[Any, Any]) -> float:
        """Returns the number that is predicted for an example."""
        return self._score_one(x)

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Returns the numbers that are predicted for the rows of a frame."""
        return pd.Series(self._scores(X), index=X.index, name=None)
