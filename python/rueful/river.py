"""Learners for River. One dict at a time and a frame at a time give the same bits.

>>> from river import datasets, evaluate, metrics
>>> import rueful.river
>>> model = rueful.river.OnlineClassifier()
>>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
Accuracy: 89.27%
>>> round(model.report()["sequential_risk"], 4)
0.2656
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from river import base

from . import _data
from ._classes import NEW_CLASSES, OF_MANY
from ._report import Report
from ._rueful import Model

__all__ = ["OnlineClassifier", "OnlineRegressor"]

#: What the core takes for the truths False and True.
_SIGNS = np.array([-1.0, 1.0])


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
        #: The columns of the last frame, if all of them were floats.
        self._known_columns: Any = None

    def _model(self) -> Model:
        """The run, which begins when it is needed."""
        if self._core is None:
            self._core = self._begin()
        return self._core

    def _begin(self) -> Model:
        """A run that has seen nothing."""
        settings = _data.pick(vars(self), _data.SETTINGS)
        settings["loss"] = self._loss_now()
        columns, classes = _data.columns(vars(self)), self._class_names()
        return Model(settings, columns, [], constant=not self.no_constant, classes=classes)

    def _loss_now(self) -> str:
        return self.loss or self._usual_loss

    def _class_names(self) -> list[str] | None:
        return None

    def _learn_many(
        self, X: pd.DataFrame, labels: _data.Doubles, w: Any, new_classes: Sequence[str] = ()
    ) -> None:
        if len(X) == 0:
            return
        weights = None if w is None else _data.doubles("w", w)
        model, table = self._model(), self._floats(X)
        if table is None:
            table, names = _frame(X)
            model.turn_to(_data.columns(vars(self), X), table, names=names)
            self._known_columns = None if names is None else X.columns
        model.learn(table, labels, weights, None, new_classes)

    def _floats(self, X: pd.DataFrame) -> Any | None:
        """The values of a frame whose columns are those of the last one, all of them floats."""
        if self._known_columns is None or not X.columns.equals(self._known_columns):
            return None
        table = X.to_numpy()
        return table if _data.are_floats(table) else None

    def _score_one(self, x: dict[Any, Any]) -> float:
        return self._model().predict_one(x)

    def _scores(self, X: pd.DataFrame) -> _data.Doubles:
        if len(X) == 0:
            return np.empty(0)
        model, table = self._model(), self._floats(X)
        if table is not None:
            return model.predict(table)
        table, names = _frame(X)
        return model.predict(table, _data.columns(vars(self), X), names)

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
        labels, names = self._numbers_of(y)
        weights = None if w is None else _data.doubles("w", w)
        found = self._model().regret(rows, labels, weights, tolerance, max_passes, names)
        return Report._of(found)

    def _numbers_of(self, y: Iterable[Any]) -> tuple[_data.Doubles, list[str]]:
        """Labels as the core takes them, and the names of classes of which there are many."""
        return np.array([self._number(label) for label in y], dtype=np.float64), []

    def _number(self, y: Any) -> float:
        """The number that the core takes for a label."""
        return float(y)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # A pickle of an earlier version may lack settings that came later.
        vars(self).update(_data.usual_settings(type(self)), **state)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Puts the run in a file, which `rueful.load` and the program open."""
        self._model().save(path)


def _frame(X: pd.DataFrame) -> tuple[Any, list[str] | None]:
    """A frame as the core takes it; names that are no words become words, as keys of dicts do."""
    if not all(isinstance(name, str) for name in X.columns):
        X = X.rename(columns=str)
    return _data.frame(X)


class OnlineClassifier(_Online, base.MiniBatchClassifier):
    """Learns to tell classes apart, and proves its own regret.

    The first label decides. A truth is one of two classes, which are learned with the logistic
    loss. After any other label, new classes may come at any time, and are learned with the softmax
    loss. If `loss`, `positive` or `negative` is given, that decides.

    Parameters
    ----------
    learner, loss, radius, comparators, judge, tau, eta, gradient_bound, sigma, alpha, l1, c
        Settings of the program `rueful run` under the same names.
    schedule, horizon, no_constant, bits
        As well.
    positive, negative
        The labels of two classes, if they are no truths.

    Examples
    --------
    >>> import rueful.river
    >>> model = rueful.river.OnlineClassifier()
    >>> for x, y in [({"a": 1.0}, True), ({"a": -1.0, "b": "red"}, False)] * 20:
    ...     model.learn_one(x, y)
    >>> model.predict_one({"a": 2.0})
    True
    >>> model = rueful.river.OnlineClassifier()
    >>> for t in range(60):
    ...     model.learn_one({"a": t % 3}, "no yes perhaps".split()[t % 3])
    >>> model.predict_one({"a": 2})
    'perhaps'
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
        #: Whether there are any number of classes; nothing as long as nobody knows.
        self._is_of_many = self._told()
        #: The number of every class that has come.
        self._numbers: dict[Any, int] = {}

    def _told(self) -> bool | None:
        """Whether the settings say that there are any number of classes, or two."""
        if self.loss is not None:
            return self.loss in OF_MANY
        is_open = self.learner in (None, "bank") and self.positive is True and self.negative is False
        return None if is_open else False

    @property
    def _multiclass(self) -> bool:
        return self._told() is not False

    def _model(self) -> Model:
        # As long as nobody knows how many classes there are, a run of two stands for none.
        return self._begin() if self._is_of_many is None else super()._model()

    def _meet(self, y: Any) -> None:
        """Lets the first label decide how many classes there may be."""
        if self._is_of_many is None:
            self._is_of_many = not isinstance(y, bool | np.bool_)

    def _loss_now(self) -> str:
        return self.loss or ("softmax" if self._is_of_many else self._usual_loss)

    def _class_names(self) -> list[str] | None:
        if self._is_of_many:
            return None
        return [_data.class_name(self.negative), _data.class_name(self.positive)]

    def _number(self, y: Any) -> float:
        if y == self.positive:
            return 1.0
        if y == self.negative:
            return -1.0
        raise ValueError(
            f"y: found the label {y!r}, expected {self.positive!r} or {self.negative!r}: "
            "positive and negative name others, and loss='softmax' takes any number of them"
        )

    def _numbers_of(self, y: Iterable[Any]) -> tuple[_data.Doubles, list[str]]:
        if not self._is_of_many:
            return super()._numbers_of(y)
        labels = [_data.plain(label) for label in y]
        places = {label: place for place, label in enumerate(dict.fromkeys(labels))}
        numbers = np.array([places[label] for label in labels], dtype=np.float64)
        return numbers, [_data.class_name(label) for label in places]

    def _signs(self, y: NDArray[Any]) -> _data.Doubles:
        if y.dtype.kind == "b" and self.positive is True and self.negative is False:
            return _SIGNS.take(y)
        return np.array([self._number(label) for label in y], dtype=np.float64)

    def _new_classes(self, labels: Iterable[Any]) -> dict[Any, str]:
        """The classes among labels that come for the first time, and their names."""
        new = {label: _data.class_name(label) for label in labels if label not in self._numbers}
        if new:
            taken = {_data.class_name(label) for label in self._numbers}
            for label, name in new.items():
                if name in taken:
                    raise ValueError(f"y: the label {label!r} is written like another one, {name}")
                taken.add(name)
        return new

    def _know(self, new: Iterable[Any]) -> None:
        for label in new:
            self._numbers[label] = len(self._numbers)

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learns from one example, which counts `w` times."""
        core = self._core
        if core is None:
            with NEW_CLASSES:
                self._meet(y)
                core = self._model()
        if not self._is_of_many:
            if y == self.positive:
                core.learn_one(x, 1.0, w)
            else:
                core.learn_one(x, -1.0 if y == self.negative else self._number(y), w)
            return
        y = _data.plain(y)
        if y in self._numbers:
            core.learn_one(x, float(self._numbers[y]), w)
            return
        with NEW_CLASSES:
            new = self._new_classes([y])
            number = self._numbers.get(y, len(self._numbers))
            core.learn_one(x, float(number), w, new.get(y))
            self._know(new)

    def learn_many(self, X: pd.DataFrame, y: pd.Series, w: Any = None) -> None:
        """Learns from the rows of a frame, with the same bits as one by one."""
        if len(X) == 0:
            return
        # NumPy takes much longer to ask a series for its values.
        labels = y.to_numpy() if isinstance(y, pd.Series) else np.asarray(y)
        if self._core is None:
            with NEW_CLASSES:
                self._meet(labels[0])
                self._model()
        if not self._is_of_many:
            self._learn_many(X, self._signs(labels), w)
            return
        written = labels.tolist()
        if all(label in self._numbers for label in dict.fromkeys(written)):
            numbers = np.array([self._numbers[label] for label in written], dtype=np.float64)
            self._learn_many(X, numbers, w)
            return
        with NEW_CLASSES:
            self._learn_new(X, written, w)

    def _learn_new(self, X: pd.DataFrame, written: list[Any], w: Any) -> None:
        """Learns from the rows of a frame with new classes."""
        new = self._new_classes(dict.fromkeys(written))
        places = self._numbers | {label: len(self._numbers) + at for at, label in enumerate(new)}
        numbers = np.array([places[label] for label in written], dtype=np.float64)
        try:
            self._learn_many(X, numbers, w, list(new.values()))
        finally:
            # A frame that is refused late has told of its classes.
            if len(self._model().class_names() or []) > len(self._numbers):
                self._know(new)

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Returns the label of an example, or nothing as long as no label has come."""
        if self._is_of_many is False:
            return self.positive if self._score_one(x) > 0 else self.negative
        said = self.predict_proba_one(x)
        return max(said, key=said.__getitem__) if said else None

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Returns the labels of the rows of a frame."""
        if self._is_of_many is False:
            labels = [self.positive if score > 0 else self.negative for score in self._scores(X)]
        else:
            said = self.predict_proba_many(X)
            best = said.to_numpy().argmax(axis=1) if said.shape[1] else []
            labels = [said.columns[place] for place in best] if said.shape[1] else [None] * len(X)
        return pd.Series(labels, index=X.index, name=None)

    def _probabilities(self, scores: _data.Doubles) -> _data.Doubles:
        found = self._model().probabilities(scores)
        # A loss that tells no probabilities tells labels.
        return (scores > 0).astype(np.float64) if found is None else found

    def _shares(self, said: _data.Doubles) -> _data.Doubles:
        """The probabilities of all classes that have come."""
        if self._loss_now() == "softmax":
            # The last one is that of a class that nobody knows.
            return np.asarray(said[:, :-1] / said[:, :-1].sum(axis=1, keepdims=True))
        best = said.argmax(axis=1)
        return np.asarray(np.arange(said.shape[1]) == best[:, np.newaxis], dtype=np.float64)

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Returns how likely each label is; nothing as long as no label has come."""
        if self._is_of_many is False:
            chance = float(self._probabilities(np.array([self._score_one(x)]))[0])
            return {self.negative: 1.0 - chance, self.positive: chance}
        if not self._numbers:
            return {}
        said = self._model().predict_classes_one(x, self._loss_now() == "softmax")
        return dict(zip(self._numbers, self._shares(np.array([said]))[0].tolist(), strict=False))

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Returns how likely each label is for the rows of a frame."""
        if self._is_of_many is False:
            chances = self._probabilities(self._scores(X))
            found = {self.negative: 1.0 - chances, self.positive: chances}
            return pd.DataFrame(found, index=X.index)
        if not self._numbers or len(X) == 0:
            return pd.DataFrame(index=X.index)
        table, names = _frame(X)
        asked = (self._loss_now() == "softmax", _data.columns(vars(self), X), names)
        said = self._shares(self._model().predict_classes(table, *asked))
        return pd.DataFrame(said, index=X.index, columns=list(self._numbers)[: said.shape[1]])

    @property
    def weights(self) -> dict[Any, Any]:
        """The weights that are not 0 by the names of their features, the largest first.

        If there are any number of classes, there is such a dict for every class.
        """
        if not self._is_of_many:
            return super().weights
        indices, values = self._model().class_weights()
        found = self._model().feature_names(indices.tolist())
        names = [name or str(index) for name, index in zip(found, indices.tolist(), strict=True)]
        return {
            label: _data.by_size(names, row)
            for label, row in zip(self._numbers, values, strict=False)
        }


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
        self._model().learn_one(x, float(y), w)

    def learn_many(self, X: pd.DataFrame, y: pd.Series, w: Any = None) -> None:
        """Learns from the rows of a frame, with the same bits as one by one."""
        self._learn_many(X, _data.doubles("y", y), w)

    def predict_one(self, x: dict[Any, Any]) -> float:
        """Returns the number that is predicted for an example."""
        return self._score_one(x)

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Returns the numbers that are predicted for the rows of a frame."""
        return pd.Series(self._scores(X), index=X.index, name=None)
