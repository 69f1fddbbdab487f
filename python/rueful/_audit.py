"""Audits: what any model's predictions prove."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from . import _data
from ._classes import OF_MANY, OF_TWO
from ._report import Report
from ._rueful import Audit as Books

#: The most certain a probability is taken to be: beyond, no finite score stands for it.
_CLIP = 1e-12


class Audit:
    """Judges any model from its predictions, each made before its label was known.

    Parameters
    ----------
    loss : str
        What a prediction costs: ``logistic``, ``hinge``, ``perceptron``, ``square``, ``absolute``,
        ``quantile`` with `tau`; or, with `classes`, ``softmax`` of a probability for every class,
        or ``multiclass-hinge`` of a score for every class.
    radius, comparators, judge, tau : optional
        Settings of ``rueful audit`` under the same names.
    link : str, optional
        ``logistic`` where predictions are probabilities of the positive class.
    window : int, optional
        How many examples make a window that is judged for itself.
    no_constant : bool
        Whether comparators have no intercept.
    positive : optional
        The label of the positive class, where labels are neither signs nor truths.
    classes : list, optional
        All classes, where there is a prediction for each of them, in the order of the predictions.

    Examples
    --------
    A model that has learned the product of two signs, which no linear predictor can:

    >>> import rueful
    >>> audit = rueful.Audit(loss="hinge")
    >>> for a, b in [(1, 1), (1, -1), (-1, 1), (-1, -1)]:
    ...     _ = audit.observe({"a": a, "b": b}, a * b, prediction=0.5 * a * b)
    >>> audit.report()["beats_every_linear_predictor"]
    True
    >>> round(audit.certificate(), 6)
    -0.5
    >>> audit.verdict()[:42]
    'Proved: on these examples it beat every li'
    """

    def __init__(
        self,
        *,
        loss: str = "logistic",
        radius: float | None = None,
        comparators: str | None = None,
        judge: bool | None = None,
        tau: float | None = None,
        link: str | None = None,
        window: int | None = None,
        no_constant: bool = False,
        positive: Any = None,
        classes: Any = None,
    ) -> None:
        if loss not in OF_MANY and classes is not None:
            raise ValueError(f"classes: the {loss} loss has one prediction for each example")
        if loss in OF_MANY and positive is not None:
            raise ValueError(f"positive: the {loss} loss is of all classes")
        self._settings = {
            "loss": loss,
            "tau": _data.plain(tau),
            "radius": _data.plain(radius),
            "comparators": comparators,
            "judge": judge,
            "link": link,
            "window": _data.plain(window),
        }
        self._positive = positive
        self._classes = None if classes is None else [_data.plain(label) for label in classes]
        names = None if self._classes is None else [_data.class_name(c) for c in self._classes]
        self._books = Books(self._settings, not no_constant, names)

    def observe(self, X: Any, y: Any, prediction: Any, sample_weight: Any = None) -> Self:
        """Takes down what a model predicted for one example, or for the rows of a table.

        Parameters
        ----------
        X : dict, row, table or frame
            The features: of one example where `y` is one label.
        y : label or array
            What came.
        prediction : number or array
            What the model had said before. With `classes`, it is a row of numbers for each example,
            or a dict with a number for each class.
        sample_weight : number or array, optional
            How much each example counts.
        """
        if np.ndim(y) == 0:
            X = [dict(X)] if isinstance(X, Mapping) else np.atleast_2d(X)
            y, prediction = [y], [self._row(prediction)]
            sample_weight = None if sample_weight is None else [sample_weight]
        table, names = _data.any_table(X)
        weights = None if sample_weight is None else _data.doubles("sample_weight", sample_weight)
        self._books.observe(
            _data.columns({}, X),
            table,
            self._labels(np.asarray(y)),
            self._said(prediction),
            weights,
            names,
        )
        return self

    def _row(self, prediction: Any) -> Any:
        """The predictions for one example, in the order of the classes."""
        if self._classes is None or not isinstance(prediction, Mapping):
            return prediction
        return [prediction.get(label, 0.0) for label in self._classes]

    def _said(self, prediction: Any) -> _data.Doubles:
        """Predictions as the core takes them: those of an example side by side."""
        if self._classes is None:
            return _data.doubles("prediction", prediction)
        rows = np.asarray(prediction)
        if rows.ndim != 2 or rows.shape[1] != len(self._classes):
            raise ValueError(
                f"prediction: found the shape {rows.shape}, expected a row of {len(self._classes)} "
                "numbers for each example, one for every class"
            )
        return _data.doubles("prediction", rows.ravel())

    def _numbers(self, y: Any, classes: list[Any]) -> _data.Doubles:
        """Labels as the numbers of their classes."""
        places = {label: float(place) for place, label in enumerate(classes)}
        found = [places.get(label) for label in y.tolist()]
        if None in found:
            row = found.index(None)
            raise ValueError(
                f"y, row {row}: found the class {_data.plain(y[row])!r}, expected one of {classes}"
            )
        return np.array(found, dtype=np.float64)

    def _labels(self, y: Any) -> _data.Doubles:
        if self._classes is not None:
            return self._numbers(y, self._classes)
        if self._settings["loss"] not in OF_TWO:
            return _data.doubles("y", y)
        if self._positive is not None:
            return np.where(y == self._positive, 1.0, -1.0)
        if y.dtype.kind == "b":
            return np.where(y, 1.0, -1.0)
        labels = _data.doubles("y", y) if y.dtype.kind in "iuf" else None
        known = labels is not None and np.isin(labels, (-1.0, 0.0, 1.0))
        if labels is None or not np.all(known):
            row = 0 if labels is None else int(np.argmin(known))
            raise ValueError(
                f"y, row {row}: found {_data.plain(y[row])!r}, expected -1 or 1, 0 or 1, or a "
                "truth; positive names another label for the positive class"
            )
        return np.where(labels > 0, 1.0, -1.0)

    def report(self) -> Report:
        """Returns what can be said so far. The keys are those of ``rueful audit --json``."""
        return Report._of(self._books.report())

    def verdict(self) -> str:
        """Returns in words what is proved so far, as ``rueful audit`` tells it."""
        return self._books.report().verdict()

    def certificate(self, radius: float | None = None) -> float:
        """Returns the certificate: no comparator saved more than this per round.

        Where it is negative, the model beat every one of them.
        """
        return self._books.certificate(_data.plain(radius))

    def windows(self) -> list[dict[str, Any]]:
        """Returns what is known of every window, the last of which may not be full."""
        return list(self.report()["windows"])

    def merge(self, other: Audit) -> Self:
        """Takes in an audit of other rounds under the same settings."""
        self._books.merge(other._books)
        return self

    def __repr__(self) -> str:
        return f"<rueful audit: {self._settings['loss']} loss>"

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()


def audit(
    model: Any,
    X: Any,
    y: Any,
    *,
    batch: int = 1,
    classes: Any = None,
    loss: str | None = None,
    **settings: Any,
) -> Audit:
    """Lets a model of scikit-learn or River predict and then learn, and judges its predictions.

    Parameters
    ----------
    model : estimator
        With ``partial_fit`` as scikit-learn has it, or ``learn_one`` as River has it. It learns
        what it is shown.
    X, y : table and labels
        For River, X may be an iterable of dicts; the columns of an array are named 0, 1, 2, …
    batch : int
        How many rows are predicted before they are learned from.
    classes : array, optional
        All classes of a classifier; those of y if left out.
    loss : str, optional
        For two classes, ``logistic`` of classifiers that tell probabilities, and ``hinge`` of
        others. For more classes, ``softmax`` and ``multiclass-hinge``. Otherwise ``square``. If a
        classifier tells neither probabilities nor scores, the class that it names has the score 1.
    **settings
        What `Audit` takes.

    Examples
    --------
    >>> import numpy as np
    >>> import rueful
    >>> from sklearn.linear_model import SGDRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> found = rueful.audit(SGDRegressor(random_state=0), X, X @ [1.0, 2.0])
    >>> found.report()["examples"]
    200
    """
    if hasattr(model, "learn_one"):
        return _audit_river(model, X, y, classes, loss, settings)
    if not hasattr(model, "partial_fit"):
        raise TypeError("model: expected partial_fit of scikit-learn, or learn_one of River")
    return _audit_sklearn(model, X, np.asarray(y), batch, classes, loss, settings)


def _audit_sklearn(
    model: Any, X: Any, y: Any, batch: int, classes: Any, loss: str | None, settings: dict[str, Any]
) -> Audit:
    from sklearn.base import is_classifier
    from sklearn.exceptions import NotFittedError

    if batch < 1:
        raise ValueError("batch: at least 1")
    classifies = is_classifier(model)
    classes = np.unique(y if classes is None else classes) if classifies else None
    says = _what_it_says(model) if classifies else "predict"
    books = _audit_of(says, loss, settings, classes)
    unsaid: list[int] = []
    for start in range(0, len(y), batch):
        rows = slice(start, start + batch)
        part = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
        try:
            said = _ask(model, says, part, classes)
        except NotFittedError:
            # A model that knows nothing says nothing.
            said = _nothing(says, len(y[rows]), 1 if classes is None else len(classes))
        if says == "predict_proba":
            is_unsaid = np.asarray(np.isnan(said).any(axis=1))
            unsaid += (start + np.flatnonzero(is_unsaid)).tolist()
            said = np.where(is_unsaid[:, np.newaxis], 1.0 / said.shape[1], said)
        books.observe(part, y[rows], _judged(books, says, said))
        if classifies:
            model.partial_fit(part, y[rows], classes=classes)
        else:
            model.partial_fit(part, y[rows])
    if unsaid:
        warnings.warn(
            f"X, row {unsaid[0]}: the model said NaN, which is taken for even chances; so it was for "
            f"{len(unsaid)} of {len(y)} rows",
            stacklevel=3,
        )
    return books


def _ask(model: Any, says: str, part: Any, classes: Any) -> _data.Doubles:
    """What a model of scikit-learn says of some rows."""
    if says == "labels":
        return np.array([_named(label, list(classes)) for label in model.predict(part)])
    return np.asarray(getattr(model, says)(part), dtype=np.float64)


def _named(label: Any, classes: Sequence[Any]) -> Any:
    """The scores of a model that names a class and nothing else: 1 for that class, and 0 for others.

    If there are two classes, it is one score: 1 for the second, and −1 for the first.
    """
    if len(classes) == 2:
        return 1.0 if label == classes[1] else -1.0 if label == classes[0] else 0.0
    return [1.0 if label == one else 0.0 for one in classes]


def _nothing(says: str, rows: int, classes: int) -> _data.Doubles:
    """What a model says that knows nothing."""
    if says == "predict_proba":
        return np.full((rows, classes), 1.0 / classes)
    return np.zeros((rows, classes)) if classes > 2 else np.zeros(rows)


def _judged(books: Audit, says: str, said: _data.Doubles) -> _data.Doubles:
    """What a model said, as an audit takes it."""
    of_many = books._classes is not None
    if says == "predict_proba":
        return _not_certain(said) if of_many else np.clip(said[:, 1], _CLIP, 1 - _CLIP)
    if of_many and said.ndim == 1:
        # The score of the second of two classes, shared out evenly.
        return np.column_stack([-said / 2, said / 2])
    return said


def _not_certain(said: _data.Doubles) -> _data.Doubles:
    """Probabilities that leave each class a little."""
    clipped = np.clip(said, _CLIP, 1.0)
    return np.asarray(clipped / clipped.sum(axis=1, keepdims=True))


def _what_it_says(model: Any) -> str:
    """The method whose answer is judged."""
    for method in ("predict_proba", "decision_function"):
        if hasattr(model, method):
            return method
    return "labels"


def _audit_of(says: str, loss: str | None, settings: dict[str, Any], classes: Any) -> Audit:
    """The audit of what a model says of these classes; of numbers if there are none."""
    usual = {"predict_proba": "logistic", "predict": "square"}
    usual |= dict.fromkeys(("decision_function", "labels"), "hinge")
    if classes is not None and (len(classes) > 2 or loss in OF_MANY):
        usual |= {"predict_proba": "softmax"}
        usual |= dict.fromkeys(("decision_function", "labels"), "multiclass-hinge")
        return Audit(**{"loss": loss or usual[says], "classes": classes, **settings})
    if classes is not None and len(classes) != 2:
        raise ValueError(f"y has {len(classes)} classes, expected at least two")
    link = "logistic" if says == "predict_proba" else None
    positive = None if classes is None else _data.plain(classes[1])
    made = {"loss": loss or usual[says], "link": link, "positive": positive}
    return Audit(**{**made, **settings})


def _what_it_says_of_one(model: Any) -> str:
    """What a model of River says of an example: probabilities, the name of a class, or a number.

    A pipeline has the methods of all kinds of models: its last step is what it is. Some classifiers
    have the method for probabilities and no answer to it.
    """
    from river import base

    while getattr(model, "steps", None):
        model = list(model.steps.values())[-1]
    if not hasattr(model, "predict_proba_one"):
        return "predict"
    has_none = type(model).predict_proba_one is base.Classifier.predict_proba_one
    return "labels" if has_none else "predict_proba"


def _river_classes(y: Any, classes: Any, loss: str | None, settings: dict[str, Any]) -> Any:
    """The classes of a classifier of River: two of them, unless labels are no truths."""
    positive = settings.get("positive")
    if positive is not None:
        return [None, positive]
    if classes is not None:
        return list(classes)
    if not isinstance(y, Sequence | np.ndarray) and not hasattr(y, "to_numpy"):
        return [False, True]
    known = np.unique(np.asarray(y))
    are_truths = known.dtype.kind == "b" or bool(np.all(np.isin(known, (0, 1))))
    return [False, True] if are_truths and loss not in OF_MANY else known.tolist()


def _dicts(X: Any) -> Any:
    """The rows of a table as dicts, which models of River take."""
    for method in ("to_dicts", "to_pylist"):
        # Those of polars and of Arrow.
        if hasattr(X, method):
            return getattr(X, method)()
    if hasattr(X, "to_dict"):
        return X.to_dict(orient="records")
    if isinstance(X, np.ndarray) and X.ndim == 2:
        return [dict(enumerate(row)) for row in X.tolist()]
    return X


def _audit_river(
    model: Any, X: Any, y: Any, classes: Any, loss: str | None, settings: dict[str, Any]
) -> Audit:
    says = _what_it_says_of_one(model)
    classes = None if says == "predict" else _river_classes(y, classes, loss, settings)
    books = _audit_of(says, loss, settings, classes)
    for row, (x, label) in enumerate(zip(_dicts(X), y, strict=True)):
        if classes == [False, True] and label not in (True, False):
            raise ValueError(
                f"y, row {row}: found {_data.plain(label)!r}, expected a truth: classes names all "
                "classes, and positive one that is audited against the rest"
            )
        if classes is None:
            prediction = float(model.predict_one(x) or 0.0)
        elif says == "labels":
            said = np.array([_named(model.predict_one(x), classes)])
            prediction = _judged(books, says, said)[0]
        else:
            prediction = _chances(model.predict_proba_one(x), classes, books)
        books.observe(x, label, prediction)
        model.learn_one(x, label)
    return books


def _chances(said: dict[Any, float], classes: list[Any], books: Audit) -> Any:
    """What a model of River said, as an audit takes it."""
    if books._classes is not None:
        known = [float(said.get(label, 0.0)) for label in classes]
        even = [1.0 / len(classes)] * len(classes)
        return _not_certain(np.array([known if sum(known) > 0 else even]))[0]
    chance = said.get(classes[1], 1.0 - sum(said.values()) if said else 0.5)
    return min(max(float(chance), _CLIP), 1 - _CLIP)
