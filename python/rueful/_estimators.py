"""Estimators for scikit-learn."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from . import _data
from ._classes import NEW_CLASSES, OF_MANY, PROBABLE, Classes
from ._progress import Progress
from ._report import Report
from ._rueful import Model

_FLOATS = [np.float64, np.float32]

#: Crosses: names with commas between them, tuples of names, or a list of these.
_Crosses: TypeAlias = str | tuple[str, ...] | list[Any] | None
#: Columns that become curves: names with numbers after colons, or a dict.
_Curves: TypeAlias = str | list[str] | dict[str, Any] | None

#: The comparators that can be asked for by name.
_BALLS = ("ball", "unit-free")


def _has_probabilities(estimator: OnlineClassifier) -> bool:
    loss = estimator._loss_now()
    if loss in PROBABLE:
        return True
    raise AttributeError(
        f"the loss {loss!r} tells no probabilities: use loss='logistic' or loss='softmax'"
    )


class Online(BaseEstimator):
    """The common part of the estimators. All settings of the program have the same name here."""

    _usual_loss: ClassVar[str]
    _model: Model
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def __init__(
        self,
        *,
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
        categorical: str | list[str] | None = None,
        numeric: str | list[str] | None = None,
        text: str | list[str] | None = None,
        drop: str | list[str] | None = None,
        bits: int | None = None,
        cross: _Crosses = None,
        bins: _Curves = None,
        spline: _Curves = None,
        periodic: _Curves = None,
        ngram: int | None = None,
        skips: int | None = None,
        tf: str | None = None,
        no_missing: bool = False,
        passes: int | None = None,
        holdout: int | None = None,
        holdout_by: str | None = None,
        patience: int | None = None,
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
        self.categorical = categorical
        self.numeric = numeric
        self.text = text
        self.drop = drop
        self.bits = bits
        self.cross = cross
        self.bins = bins
        self.spline = spline
        self.periodic = periodic
        self.ngram = ngram
        self.skips = skips
        self.tf = tf
        self.no_missing = no_missing
        self.passes = passes
        self.holdout = holdout
        self.holdout_by = holdout_by
        self.patience = patience

    # Learning.

    def _settings(self) -> dict[str, Any]:
        settings = _data.pick(vars(self), _data.SETTINGS)
        settings["loss"] = self._loss_now()
        return settings

    def _loss_now(self) -> str:
        """The loss that was asked for, or the one that follows from the labels."""
        return self.loss or self._usual_loss

    def _table(self, X: Any, *, reset: bool) -> tuple[Any, list[str] | None]:
        """The table as the core takes it, and the names of its columns where it is a matrix."""
        if _data.are_dicts(X):
            if reset and hasattr(self, "n_features_in_"):
                del self.n_features_in_
            return X, None
        if scipy.sparse.issparse(X):
            X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=_FLOATS)
            return _data.sparse(X), None
        is_known = reset or hasattr(self, "feature_names_in_") or not hasattr(X, "shape")
        if _data.is_frame(X):
            self._check_columns(X, reset=reset)
            if is_known:
                if reset and hasattr(X, "read_next_batch") and self._has_curves():
                    # Its first rows are looked at before they are learned from.
                    X = X.read_all()
                return _data.frame(X, getattr(self, "numeric", None))
            X = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                return validate_data(self, X, reset=False, dtype=_FLOATS), None
        return validate_data(self, X, reset=reset, dtype=_FLOATS), None

    def _has_curves(self) -> bool:
        return any(getattr(self, name, None) for name in ("bins", "spline", "periodic"))

    def _check_columns(self, X: Any, *, reset: bool) -> None:
        """Takes down the names of columns, or compares them with those that were."""
        if not hasattr(X, "shape"):
            # A stream that tells its columns to the core alone, which compares them.
            if reset and hasattr(self, "n_features_in_"):
                del self.n_features_in_
            return
        if X.shape[0] == 0:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        names = _data.names_of(X)
        if type(X).__module__.split(".")[0] in ("pandas", "polars") or names is None:
            validate_data(self, X, reset=reset, skip_check_array=True)
        elif reset:
            self.n_features_in_ = len(names)
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_") and names != list(self.feature_names_in_):
            raise ValueError(
                f"The feature names should match those that were passed during fit: "
                f"found {names}, expected {list(self.feature_names_in_)}"
            )

    def _weights(self, X: Any, y: NDArray[Any], sample_weight: Any) -> _data.Doubles | None:
        if sample_weight is None:
            return None
        if isinstance(sample_weight, int | float):
            sample_weight = np.full(len(y), sample_weight)
        rows = np.empty((len(y), 0))
        weights = _check_sample_weight(sample_weight, rows, dtype=np.float64)
        return np.ascontiguousarray(weights)

    def _labels(
        self, y: Any, *, reset: bool, classes: Any = None, is_whole: bool = False
    ) -> NDArray[Any]:
        raise NotImplementedError

    def _learn(
        self,
        table: Any,
        labels: NDArray[Any],
        importances: _data.Doubles | None,
        listener: Callable[[int, int, float], None] | None = None,
    ) -> None:
        """Lets the run learn from rows whose labels were just made numbers."""
        self._model.learn(table, labels, importances, listener)

    def _labels_as_they_are(self, y: NDArray[Any], classes: Any) -> _data.Doubles | None:
        """Labels that the core takes without a look at them, as it checks them itself."""
        return None

    def _class_names(self) -> list[str] | None:
        return None

    def _importances(
        self, y: NDArray[Any], weights: _data.Doubles | None, *, is_whole: bool
    ) -> _data.Doubles | None:
        return weights

    def _begin(
        self,
        X: Any,
        table: Any,
        names: list[str] | None,
        labels: _data.Doubles | None,
        importances: _data.Doubles | None,
    ) -> None:
        """A run that has seen nothing."""
        self._model = Model(
            self._settings(),
            _data.columns(vars(self), X),
            table,
            constant=not self.no_constant,
            classes=self._class_names(),
            names=names,
            labels=labels,
            importances=importances,
            passes=_data.passes(vars(self)),
        )
        if not hasattr(self, "n_features_in_"):
            Online._adopt(self, self._model)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learns from all rows in their order, and forgets what was learned before.

        Each row is learned from once, unless `passes` asks for more.

        Parameters
        ----------
        X : array, sparse matrix, frame of shape (n_samples, n_features), or list of dicts
            Frames of pandas, polars and pyarrow keep their names; words and categories are
            features of their own.
        y : array of shape (n_samples,)
            The labels.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts. A row of weight 0 does not count.

        Returns
        -------
        self
        """
        return self._start(X, y, sample_weight, None, None, is_whole=True)

    def _start(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        classes: Any,
        listener: Callable[[int, int, float], None] | None,
        *,
        is_whole: bool,
    ) -> Self:
        """Begins a run with its first rows."""
        plain = _data.plain_table(X)
        if plain is not None and _data.is_plain_vector(y, X.shape[0]):
            before = dict(vars(self))
            try:
                validate_data(self, X, reset=True, skip_check_array=True)
                return self._run_first(
                    X, plain, None, y, sample_weight, classes, listener, is_whole=is_whole
                )
            except ValueError:
                # The core has learned nothing. The checks of scikit-learn put the matrix in order, or
                # find the words for what is wrong.
                self.__dict__ = before
        table, names = self._table(X, reset=True)
        y = self._target(X, table, y)
        return self._run_first(
            X, table, names, y, sample_weight, classes, listener, is_whole=is_whole
        )

    def _run_first(
        self,
        X: Any,
        table: Any,
        names: list[str] | None,
        y: NDArray[Any],
        sample_weight: Any,
        classes: Any,
        listener: Callable[[int, int, float], None] | None,
        *,
        is_whole: bool,
    ) -> Self:
        labels = self._labels(y, reset=True, classes=classes, is_whole=is_whole)
        weights = self._weights(X, labels, sample_weight)
        importances = self._importances(y, weights, is_whole=is_whole)
        # Only `fit` has all rows, which some learners measure beforehand: those of one score.
        is_measured = is_whole and self._loss_now() not in OF_MANY
        measured = (labels, importances) if is_measured else (None, None)
        self._begin(X, table, names, *measured)
        self._learn(table, labels, importances, listener)
        return self

    def _target(self, X: Any, table: Any, y: Any) -> NDArray[Any]:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        y = column_or_1d(y, warn=True)
        rows = _data.row_count(X)
        if rows is not None and rows != len(y):
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: {[rows, len(y)]}"
            )
        return np.asarray(y)

    def _partial_fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        classes: Any,
        listener: Callable[[int, int, float], None] | None = None,
    ) -> Self:
        for name in _data.PASSES:
            if getattr(self, name, None) is not None:
                raise ValueError(
                    f"{name}: rows that come in parts are read once; fit has all rows, and reads "
                    "them as often as it is told"
                )
        if not hasattr(self, "_model"):
            return self._start(X, y, sample_weight, classes, listener, is_whole=False)
        if self._learn_plain(X, y, sample_weight, classes, listener):
            return self
        table, _ = self._table(X, reset=False)
        y = self._target(X, table, y)
        labels = self._labels(y, reset=False, classes=classes)
        weights = self._weights(X, labels, sample_weight)
        importances = self._importances(y, weights, is_whole=False)
        self._learn(table, labels, importances, listener)
        return self

    def _plain(self, X: Any) -> Any | None:
        """A matrix that is what the core takes already; nothing where X is anything else."""
        if hasattr(self, "feature_names_in_"):
            return None
        table = _data.plain_table(X)
        return table if table is not None and X.shape[1] == getattr(self, "n_features_in_", None) else None

    def _learn_plain(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        classes: Any,
        listener: Callable[[int, int, float], None] | None,
    ) -> bool:
        """Learns from a matrix that needs no conversion, and tells whether it is one.

        The core checks values and labels before it learns from any. If it refuses them, nothing was
        learned, and the checks of scikit-learn find the words for what is wrong.
        """
        table = self._plain(X)
        if table is None or not _data.is_plain_vector(y, X.shape[0]):
            return False
        labels = self._labels_as_they_are(y, classes)
        if labels is None:
            labels = self._labels(y, reset=False, classes=classes)
        weights = self._weights(X, labels, sample_weight)
        importances = self._importances(y, weights, is_whole=False)
        try:
            self._learn(table, labels, importances, listener)
        except ValueError:
            return False
        return True

    def learn(
        self,
        data: Any,
        y: Any = None,
        *,
        label: str | None = None,
        classes: Any = None,
        progress: bool | None = None,
        threads: int | None = None,
    ) -> Self:
        """Goes on with more data: files, a table with its labels, or an iterator of such pairs.

        Parameters
        ----------
        data : str, path, list of these, table, or iterator of pairs of a table and its labels
            Files are read by rueful's own readers, in the way that those before were. Pairs may
            have the weights of their rows for a third.
        y : array, optional
            The labels, where `data` is a table.
        label : str, optional
            The column of the labels, where `data` is a frame or a stream of Arrow that has them.
        classes : array, optional
            All classes, where the first batch may not have them.
        progress : bool, optional
            Whether a bar is shown; if left out, it is on terminals and in notebooks.
        threads : int, optional
            On how many threads files are read; on all cores if left out.

        Returns
        -------
        self
        """
        files = _data_files(data)
        if files is not None:
            if y is not None or label is not None:
                raise TypeError("y, label: files have their labels where those before them had them")
            check_is_fitted(self)
            with Progress(progress, _size(files)) as bar:
                self._model.learn_files(files, threads, bar.listener)
            return self
        if label is not None:
            if y is not None:
                raise TypeError("label: the labels are given as y already")
            data, y = _data.with_labels(data, label)
        parts = [(data, y)] if y is not None else data
        with Progress(progress, None) as bar:
            for part in parts:
                pair = _data.pair(part)
                if pair is None:
                    raise TypeError("data: expected pairs of a table and its labels")
                weights = pair[2] if len(pair) == 3 else None
                self._partial_fit(pair[0], pair[1], weights, classes, bar.listener)
        return self

    # Predicting.

    def _said(
        self, X: Any, of_table: Callable[[Any], _data.Doubles], of_files: Callable[[Any], _data.Doubles]
    ) -> _data.Doubles:
        """What the run says of a table, or of files."""
        check_is_fitted(self)
        files = _data_files(X)
        if files is not None:
            return of_files(files)
        table = self._plain(X)
        if table is not None:
            try:
                return of_table(table)
            except ValueError:
                # The checks of scikit-learn find the words for what is wrong.
                pass
        table, _ = self._table(X, reset=False)
        return of_table(table)

    def _scores(self, X: Any) -> _data.Doubles:
        check_is_fitted(self)
        return self._said(X, self._model.predict, self._model.predict_files)

    # Weights.

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __setstate__(self, state: dict[str, Any]) -> None:
        # A pickle of an earlier version may lack settings that came later.
        super().__setstate__({**_data.usual_settings(type(self)), **state})

    @property
    def weights_(self) -> dict[str, float]:
        """The weights that are not 0 by the names of their features, the largest first.

        Column j of a matrix is feature j + 1. The bank mixes many predictors and is not linear:
        its weights are those of the mixture now.
        """
        check_is_fitted(self)
        return dict(self._model.named_weights())

    def _coefficients(self) -> _data.Doubles:
        if hasattr(self, "feature_names_in_"):
            weights = self.weights_
            self._refuse_words()
            return np.array([weights.get(str(name), 0.0) for name in self.feature_names_in_])
        indices, values = self._model.weights()
        coefficients = np.zeros(self.n_features_in_ + 1)
        known = indices <= self.n_features_in_
        coefficients[indices[known]] = values[known]
        return coefficients[1:]

    def _refuse_words(self) -> None:
        schema = json.loads(self._model.data())["schema"]
        columns = _columns_of(schema) or []
        words = [c["name"] for c in columns if c["role"] in ("category", "text", "date")]
        if words:
            raise AttributeError(
                f"columns of words have many weights each ({', '.join(words)}): see weights_"
            )
        if any(_expansion_of(schema).get(made) for made in ("crosses", "curves")):
            raise AttributeError("columns of which others are made have many weights each: see weights_")

    def _intercept(self) -> float:
        indices, values = self._model.weights()
        found = values[indices == 0]
        return float(found[0]) if self._model.constant() and len(found) else 0.0

    # Proofs.

    def report(self) -> Report:
        """Returns what can be said of the run so far: what it cost, and what is proved of it."""
        check_is_fitted(self)
        return Report._of(self._model.report())

    def certificate(self, radius: float | None = None) -> float:
        """Returns the certificate: no comparator saved more than this per round.

        Parameters
        ----------
        radius : float, optional
            The largest norm of the comparators; that of the run if left out.
        """
        check_is_fitted(self)
        return self._model.certificate(_data.plain(radius))

    def regret(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        tolerance: float | None = None,
        max_passes: int | None = None,
    ) -> Report:
        """Runs the same task anew over these data, and solves for the best predictor afterwards.

        For the data that were fitted, in the same order, this is the exact regret of that very
        run. It is solved to a proved interval: see the keys ``regret`` and ``comparator``.
        """
        check_is_fitted(self)
        table, _ = self._table(X, reset=False)
        y = self._target(X, table, y)
        labels = self._labels(y, reset=False)
        weights = self._weights(X, labels, sample_weight)
        importances = self._importances(y, weights, is_whole=True)
        found = self._model.regret(table, labels, importances, tolerance, max_passes)
        return Report._of(found)

    # Files.

    def save(self, path: str | os.PathLike[str]) -> None:
        """Puts the run in a file, which the program `rueful` opens as well."""
        check_is_fitted(self)
        self._model.save(path)

    @classmethod
    def _of(cls, model: Model) -> Self:
        """An estimator around a run that was loaded."""
        estimator = cls(**_params_of(model))
        estimator._model = model
        estimator._adopt(model)
        return estimator

    def _adopt(self, model: Model) -> None:
        schema = json.loads(model.data())["schema"]
        columns, own = _columns_of(schema), ("label", "importance", "prediction", "id")
        if schema["format"] == "jsonl":
            return
        if columns is not None:
            names = [column["name"] for column in columns if column["role"] not in own]
            self.feature_names_in_ = np.array(names, dtype=object)
            self.n_features_in_ = len(names)
        else:
            self.n_features_in_ = max(model.dimension() - 1, 0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


class OnlineClassifier(ClassifierMixin, Online):
    """Learns to tell classes apart, online, and proves its own regret.

    Parameters
    ----------
    learner : str, optional
        The learner; ``bank``, which needs no tuning, if left out.
    loss : str, optional
        ``logistic``, ``hinge`` or ``perceptron`` for two classes; ``softmax``, or
        ``multiclass-hinge`` with the learner ``ogd``, for any number of them, among which new ones
        may come at any time. If left out, it follows from the classes that are known when learning
        begins: ``logistic`` for two, and ``softmax`` for more.
    radius : float, optional
        The largest norm of the comparators; 10 if left out.
    comparators, judge, tau, eta, gradient_bound, sigma, alpha, l1, c, schedule, horizon : optional
        Settings of the program `rueful run` under the same names. One that the learner has no use
        for is an error.
    no_constant : bool
        Whether examples get no feature that is always 1, whose weight is the intercept.
    categorical, numeric, text, drop : str or list of str, optional
        Columns of a frame whose values are names, that hold numbers, even if these are written as
        words, that hold running text, or that are left out.
    bits : int, optional
        How many bits the index of a feature by name has; 22 if left out.
    cross, bins, spline, periodic, ngram, skips, tf, no_missing : optional
        Features that are made from the columns of a frame, under the names of the program. A tuple
        of names is a cross, and a list holds several. `bins`, `spline` and `periodic` are names, or
        dicts such as ``{"age": 5}``, ``{"age": [18, 30, 65]}`` and ``{"hour": 24}``.
    passes, holdout, holdout_by, patience : optional
        How often `fit` reads the rows, and which of them are held out to judge the passes. What is
        proved is about the first pass. For `fit` alone: `partial_fit` sees each row once.
    class_weight : dict or "balanced", optional
        How much the examples of each class count.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, in order. The score of two classes is positive for the second.
    coef_, intercept_ : arrays
        The weights: one row for two classes, and a row for every class if there are more.
    n_features_in_, feature_names_in_ :
        The columns.

    Examples
    --------
    >>> import numpy as np
    >>> from rueful import OnlineClassifier
    >>> X = np.array([[1.0, 2.0], [2.0, 1.0], [-1.0, -2.0], [-2.0, -1.0]] * 50)
    >>> y = np.array(["up", "up", "down", "down"] * 50)
    >>> model = OnlineClassifier().fit(X, y)
    >>> model.predict([[3.0, 3.0]]).tolist()
    ['up']
    >>> model.certificate(radius=1.0) < model.report()["sequential_risk"]
    True

    With ``softmax``, a class may come that nobody knew of:

    >>> model = OnlineClassifier(loss="softmax").partial_fit(X, y)
    >>> _ = model.partial_fit(np.array([[3.0, -3.0]] * 50), ["aside"] * 50)
    >>> model.predict([[3.0, -2.0], [3.0, 3.0]]).tolist()
    ['aside', 'up']
    """

    _usual_loss = "logistic"

    def __init__(
        self,
        *,
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
        categorical: str | list[str] | None = None,
        numeric: str | list[str] | None = None,
        text: str | list[str] | None = None,
        drop: str | list[str] | None = None,
        bits: int | None = None,
        cross: _Crosses = None,
        bins: _Curves = None,
        spline: _Curves = None,
        periodic: _Curves = None,
        ngram: int | None = None,
        skips: int | None = None,
        tf: str | None = None,
        no_missing: bool = False,
        passes: int | None = None,
        holdout: int | None = None,
        holdout_by: str | None = None,
        patience: int | None = None,
        class_weight: dict[Any, float] | str | None = None,
    ) -> None:
        super().__init__(
            learner=learner,
            loss=loss,
            radius=radius,
            comparators=comparators,
            judge=judge,
            tau=tau,
            eta=eta,
            gradient_bound=gradient_bound,
            sigma=sigma,
            alpha=alpha,
            l1=l1,
            c=c,
            schedule=schedule,
            horizon=horizon,
            no_constant=no_constant,
            categorical=categorical,
            numeric=numeric,
            text=text,
            drop=drop,
            bits=bits,
            cross=cross,
            bins=bins,
            spline=spline,
            periodic=periodic,
            ngram=ngram,
            skips=skips,
            tf=tf,
            no_missing=no_missing,
            passes=passes,
            holdout=holdout,
            holdout_by=holdout_by,
            patience=patience,
        )
        self.class_weight = class_weight

    #: The loss of the run, which settings that change later do not change.
    _found_loss: str | None = None
    #: The numbers of many classes.
    _many: Classes

    def _loss_now(self) -> str:
        return self._found_loss or self.loss or self._usual_loss

    def _is_of_many(self) -> bool:
        """Whether the run has a score for every class."""
        return self._loss_now() in OF_MANY

    def _labels(
        self, y: Any, *, reset: bool, classes: Any = None, is_whole: bool = False
    ) -> NDArray[Any]:
        """Labels as numbers; those of many classes as they are, because others may come meanwhile."""
        if reset:
            if classes is None:
                check_classification_targets(y)
            self._meet_classes(y, classes, is_whole=is_whole)
        elif classes is not None and not self._are_known(classes):
            raise ValueError(
                f"classes: found {list(classes)}, expected {self.classes_.tolist()} as before"
            )
        if not self._is_of_many():
            return _data.signs(y, self.classes_)
        if self._many.with_labels(y) is not self._many:
            check_classification_targets(y)
        return np.asarray(y)

    def _labels_as_they_are(self, y: NDArray[Any], classes: Any) -> _data.Doubles | None:
        are_signs = (
            y.dtype.kind in "if"
            and not self._is_of_many()
            and self.classes_.tolist() == [-1, 1]
            and (classes is None or self._are_known(classes))
        )
        return np.asarray(y, dtype=np.float64) if are_signs else None

    def _meet_classes(self, y: NDArray[Any], classes: Any, *, is_whole: bool) -> None:
        """Takes down the classes that are known when learning begins, and decides the loss."""
        found = np.unique(y if classes is None else classes)
        if found.dtype.kind == "b" and not is_whole:
            found = np.array([False, True])
        # A name alone may be followed by any number of others, as in the program.
        is_first_name = len(found) == 1 and found.dtype.kind in "UO" and not is_whole
        may_be_many = self.learner in (None, "bank") and (len(found) > 2 or is_first_name)
        self._found_loss = self.loss or ("softmax" if may_be_many else self._usual_loss)
        if not self._is_of_many():
            found = _two_classes(found, y)
        self.classes_ = found
        self._many = Classes(found)

    def _learn(
        self,
        table: Any,
        labels: NDArray[Any],
        importances: _data.Doubles | None,
        listener: Callable[[int, int, float], None] | None = None,
    ) -> None:
        if not self._is_of_many():
            return super()._learn(table, labels, importances, listener)
        numbers, new, _ = self._many.with_labels(labels).numbered(labels)
        if not new:
            return self._model.learn(table, numbers, importances, listener)
        with NEW_CLASSES:
            self._learn_new(table, labels, importances, listener)

    def _learn_new(
        self,
        table: Any,
        labels: NDArray[Any],
        importances: _data.Doubles | None,
        listener: Callable[[int, int, float], None] | None,
    ) -> None:
        """Learns from rows with new classes, which count once they are learned from."""
        numbers, new, known = self._many.with_labels(labels).numbered(labels)
        try:
            self._model.learn(table, numbers, importances, listener, new)
        except BaseException:
            # A table that is refused late has told of its classes.
            if len(self._model.class_names() or []) > self._many.count:
                self._take_over(known)
            raise
        self._take_over(known)

    def _take_over(self, known: Classes) -> None:
        self._many, self.classes_ = known, known.labels

    def _are_known(self, classes: Any) -> bool:
        if list(classes) == self.classes_.tolist():
            return True
        found = np.unique(classes)
        # New classes may have come since.
        more_may_come = self._is_of_many() and bool(np.all(np.isin(found, self.classes_)))
        return more_may_come or np.array_equal(found, self.classes_)

    def _class_names(self) -> list[str] | None:
        if self._is_of_many():
            return None
        return [_data.class_name(label) for label in self.classes_]

    def _importances(
        self, y: NDArray[Any], weights: _data.Doubles | None, *, is_whole: bool
    ) -> _data.Doubles | None:
        if self.class_weight is None:
            return weights
        if isinstance(self.class_weight, str) and not is_whole:
            raise ValueError(
                f"class_weight {self.class_weight!r} needs all labels at once: "
                "give a dict for partial_fit"
            )
        factors = self._factors(y)
        return factors if weights is None else weights * factors

    def _factors(self, y: NDArray[Any]) -> _data.Doubles:
        """How much each example counts by its class; 1 where nothing is said of a class."""
        given = self.class_weight
        if not self._is_of_many():
            of_two = compute_class_weight(given, classes=self.classes_, y=y)
            factors = np.where(y == self.classes_[1], of_two[1], of_two[0])
            return np.asarray(factors, dtype=np.float64)
        classes, places = np.unique(y, return_inverse=True)
        if isinstance(given, dict):
            of_each = np.array([given.get(_data.plain(label), 1.0) for label in classes])
        else:
            of_each = compute_class_weight(given, classes=classes, y=y)
        return np.asarray(of_each[places], dtype=np.float64)

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> OnlineClassifier:
        """Goes on with more rows, bit for bit as if all had come at once.

        The first call decides the loss, if none was asked for: ``logistic`` for two classes, and
        ``softmax`` for more, or where the first rows have only one name. With ``softmax``, any call
        may bring new classes; with ``logistic``, a third class is refused. So give `classes`, or
        ``loss="softmax"``, if the first rows may not have all classes.

        Parameters
        ----------
        X, y, sample_weight :
            As for `fit`.
        classes : array of shape (n_classes,), optional
            All classes that are known; those of the first rows if left out.
        """
        return self._partial_fit(X, y, sample_weight, classes)

    def _said_of_classes(self, X: Any, *, probabilities: bool) -> _data.Doubles:
        return self._said(
            X,
            lambda table: self._model.predict_classes(table, probabilities),
            lambda files: self._model.predict_classes_of_files(files, probabilities),
        )

    def decision_function(self, X: Any) -> _data.Doubles:
        """Returns the score of each row, positive for the second of two classes.

        If there are more than two classes, it has a column for each of them, and the largest
        decides. The scores of ``softmax`` are logarithms of probabilities. A class of which no
        example has come yet has a share of the probability of such a class.
        """
        if not self._is_of_many():
            return self._scores(X)
        check_is_fitted(self)
        scores = self._class_scores(X, self._many)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _class_scores(self, X: Any, known: Classes) -> _data.Doubles:
        if self._loss_now() == "softmax" and bool(np.any(known.numbers < 0)):
            said = self._said_of_classes(X, probabilities=True)
            return np.asarray(np.log(known.probabilities(said)))
        return known.scores(self._said_of_classes(X, probabilities=False))

    def predict(self, X: Any) -> NDArray[Any]:
        """Returns the class of each row."""
        check_is_fitted(self)
        if self._is_of_many():
            # Another thread may learn a class meanwhile.
            known = self._many
            return np.asarray(known.labels[np.argmax(self._class_scores(X, known), axis=1)])
        scores = self._scores(X)
        return np.asarray(self.classes_[(scores > 0).astype(int)])

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> _data.Doubles:
        """Returns how likely each class is, row by row; for ``logistic`` and ``softmax``.

        A run with ``softmax`` also keeps a small probability for a class that nobody knows. Here
        it is left out, and the others add up to 1.
        """
        check_is_fitted(self)
        if self._is_of_many():
            return self._many.probabilities(self._said_of_classes(X, probabilities=True))
        positive = self._model_probabilities(self._scores(X))
        return np.column_stack([1.0 - positive, positive])

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> _data.Doubles:
        """Returns the logarithms of `predict_proba`."""
        if self._is_of_many():
            return np.asarray(np.log(self.predict_proba(X)))
        scores = self._scores(X)
        return -np.column_stack([np.logaddexp(0.0, scores), np.logaddexp(0.0, -scores)])

    def _model_probabilities(self, scores: _data.Doubles) -> _data.Doubles:
        found = self._model.probabilities(scores)
        if found is None:
            raise AttributeError("this loss tells no probabilities: use loss='logistic'")
        return found

    @property
    def weights_(self) -> dict[Any, Any]:
        """The weights that are not 0 by the names of their features, the largest first.

        Column j of a matrix is feature j + 1. The bank mixes many predictors and is not linear:
        its weights are those of the mixture now. If there are more than two classes, there is such
        a dict for every class.
        """
        check_is_fitted(self)
        if not self._is_of_many():
            return dict(self._model.named_weights())
        indices, values = self._model.class_weights()
        known = self._model.feature_names(indices.tolist())
        names = [name or str(index) for name, index in zip(known, indices.tolist(), strict=True)]
        rows = self._many.weights(values)
        labels = [_data.plain(label) for label in self.classes_]
        return {label: _data.by_size(names, row) for label, row in zip(labels, rows, strict=True)}

    @property
    def coef_(self) -> _data.Doubles:
        """The weights of the columns, of shape (1, n_features), or (n_classes, n_features)."""
        check_is_fitted(self)
        if not self._is_of_many():
            return self._coefficients()[np.newaxis, :]
        if hasattr(self, "feature_names_in_"):
            self._refuse_words()
            of_each, names = list(self.weights_.values()), self.feature_names_in_
            by_name = [[weights.get(str(name), 0.0) for name in names] for weights in of_each]
            return _one_row_of_two(np.array(by_name))
        indices, values = self._model.class_weights()
        rows = np.zeros((len(self.classes_), self.n_features_in_ + 1))
        known = indices <= self.n_features_in_
        rows[:, indices[known]] = self._many.weights(values)[:, known]
        return _one_row_of_two(rows[:, 1:])

    @property
    def intercept_(self) -> _data.Doubles:
        """The weight of the constant, of shape (1,), or (n_classes,)."""
        check_is_fitted(self)
        if not self._is_of_many():
            return np.array([self._intercept()])
        indices, values = self._model.class_weights()
        found = self._many.weights(values)[:, indices == 0]
        has_one = self._model.constant() and found.shape[1] > 0
        column = found[:, 0] if has_one else np.zeros(len(self.classes_))
        return _one_row_of_two(column[:, np.newaxis])[:, 0]

    def regret(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        tolerance: float | None = None,
        max_passes: int | None = None,
    ) -> Report:
        """Runs the same task anew over these data, and solves for the best predictor afterwards.

        For the data that were fitted, in the same order, this is the exact regret of that very
        run. It is solved to a proved interval: see the keys ``regret`` and ``comparator``. If there
        are more than two classes, the best predictor has weights for each of them.
        """
        check_is_fitted(self)
        if not self._is_of_many():
            return super().regret(X, y, sample_weight, tolerance=tolerance, max_passes=max_passes)
        table, _ = self._table(X, reset=False)
        y = self._target(X, table, y)
        labels, names, _ = Classes(np.unique(y)).numbered(y)
        weights = self._weights(X, labels, sample_weight)
        importances = self._importances(y, weights, is_whole=True)
        found = self._model.regret(table, labels, importances, tolerance, max_passes, names)
        return Report._of(found)

    def _adopt(self, model: Model) -> None:
        super()._adopt(model)
        many, self._found_loss = model.class_names(), self.loss
        if many is not None:
            self.classes_ = np.sort(_data.class_labels(many))
            self._many = Classes(self.classes_, many)
            return
        negative, positive = model.classes()
        names = [negative if negative is not None else "-1", str(positive)]
        self.classes_ = _data.class_labels(names)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        takes_many = self.loss is None and self.learner in (None, "bank")
        tags.classifier_tags.multi_class = takes_many or self.loss in OF_MANY
        return tags


class OnlineRegressor(RegressorMixin, Online):
    """Learns to predict numbers, online, and proves its own regret.

    Parameters
    ----------
    learner : str, optional
        The learner; ``bank``, which needs no tuning, if left out.
    loss : str, optional
        ``square`` if left out; or ``absolute``, ``quantile`` with `tau`.
    radius : float, optional
        The largest norm of the comparators; 10 if left out.
    comparators, judge, tau, eta, gradient_bound, sigma, alpha, l1, c, schedule, horizon : optional
        Settings of the program `rueful run` under the same names. One that the learner has no use
        for is an error.
    no_constant : bool
        Whether examples get no feature that is always 1, whose weight is the intercept.
    categorical, numeric, text, drop : str or list of str, optional
        Columns of a frame whose values are names, that hold numbers, even if these are written as
        words, that hold running text, or that are left out.
    bits : int, optional
        How many bits the index of a feature by name has; 22 if left out.
    cross, bins, spline, periodic, ngram, skips, tf, no_missing : optional
        Features that are made from the columns of a frame, under the names of the program. A tuple
        of names is a cross, and a list holds several. `bins`, `spline` and `periodic` are names, or
        dicts such as ``{"age": 5}``, ``{"age": [18, 30, 65]}`` and ``{"hour": 24}``.
    passes, holdout, holdout_by, patience : optional
        How often `fit` reads the rows, and which of them are held out to judge the passes. What is
        proved is about the first pass. For `fit` alone: `partial_fit` sees each row once.

    Examples
    --------
    >>> import numpy as np
    >>> from rueful import OnlineRegressor
    >>> X = np.arange(200.0).reshape(-1, 1) % 7
    >>> model = OnlineRegressor().fit(X, 3 * X[:, 0] + 1)
    >>> bool(abs(model.predict([[2.0]])[0] - 7) < 0.1)
    True
    """

    _usual_loss = "square"

    def _labels(
        self, y: Any, *, reset: bool, classes: Any = None, is_whole: bool = False
    ) -> _data.Doubles:
        if classes is not None:
            raise ValueError("classes: labels are numbers here, of which there are no classes")
        labels = _data.doubles("y", y)
        if not np.all(np.isfinite(labels)):
            row = int(np.argmin(np.isfinite(labels)))
            found = "NaN" if np.isnan(labels[row]) else "infinity"
            raise ValueError(f"Input y contains {found}: y, row {row}: expected a finite number")
        return labels

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> OnlineRegressor:
        """Goes on with more rows, bit for bit as if all had come at once."""
        return self._partial_fit(X, y, sample_weight, None)

    def predict(self, X: Any) -> _data.Doubles:
        """Returns the number that is predicted for each row."""
        return self._scores(X)

    @property
    def coef_(self) -> _data.Doubles:
        """The weights of the columns, of shape (n_features,)."""
        check_is_fitted(self)
        return self._coefficients()

    @property
    def intercept_(self) -> float:
        """The weight of the constant."""
        check_is_fitted(self)
        return self._intercept()


def _two_classes(found: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    if len(found) > 2:
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}. "
            f"y has {len(found)} classes, expected two: loss='softmax', or loss='multiclass-hinge' "
            "with learner='ogd', learns any number of them"
        )
    if len(found) < 2:
        raise ValueError(
            f"y has one class, {_data.plain(found[0])!r}, expected two: partial_fit takes all of "
            "them as classes, and loss='softmax' takes them as they come"
        )
    return found


def _one_row_of_two(rows: _data.Doubles) -> _data.Doubles:
    """The weights of two classes as one row, that of the second against the first."""
    return rows[1:] - rows[:1] if rows.shape[0] == 2 else rows


def _columns_of(schema: dict[str, Any]) -> list[dict[str, Any]] | None:
    """The columns of a schema, if its format has columns: a list, or an object that holds one."""
    columns = schema.get("columns")
    return columns["list"] if isinstance(columns, dict) else columns


def _expansion_of(schema: dict[str, Any]) -> dict[str, Any]:
    """What is made of the columns of a schema."""
    columns = schema.get("columns")
    return dict(columns.get("expansion", {})) if isinstance(columns, dict) else {}


def _params_of(model: Model) -> dict[str, Any]:
    """The settings that make the task of a run that was loaded."""
    task = json.loads(model.task())
    whole = _settings_of(task)
    # A step size may have been given, or tuned to a gradient bound.
    tuned = {name: value for name, value in whole.items() if name != "eta"}
    for settings in (whole, tuned):
        if _task_of(settings) == task:
            return {**settings, "no_constant": not model.constant()}
    plain = {"learner": task["learner"]["name"], "loss": task["loss"]["name"]}
    return {**plain, "no_constant": not model.constant()}


def _settings_of(task: dict[str, Any]) -> dict[str, Any]:
    """All that a task tells of its settings."""
    learner, comparators = task["learner"], task["comparators"]
    schedule = learner.get("schedule", {})
    settings = {
        "learner": learner["name"],
        "loss": task["loss"]["name"],
        "tau": task["loss"].get("tau"),
        "radius": comparators.get("radius"),
        "comparators": comparators["name"] if comparators["name"] in _BALLS else None,
        "judge": task.get("judge"),
        "sigma": task.get("sigma") or None,
        "eta": learner.get("eta", schedule.get("eta")),
        "gradient_bound": learner.get("gradient_bound"),
        "l1": learner.get("l1"),
        "c": learner.get("c"),
        "horizon": learner.get("horizon", schedule.get("rounds")),
        "schedule": schedule.get("name"),
    }
    if learner["name"] == "regularized-erm":
        # Its step is 1/alpha.
        eta = settings.pop("eta")
        settings["alpha"] = None if eta is None else 1.0 / eta
        settings["schedule"] = None if eta is not None else settings["schedule"]
    return {name: value for name, value in settings.items() if value is not None}


def _task_of(settings: dict[str, Any]) -> Any:
    """The task that settings make; nothing where they make none."""
    try:
        made = Model(_data.pick(settings, _data.SETTINGS), _data.columns({}), [], constant=True)
    except ValueError:
        return None
    return json.loads(made.task())


def _data_files(data: Any) -> list[str] | None:
    """The names of files, if that is what data are. A name need not be text."""
    if isinstance(data, str | bytes | os.PathLike):
        return [os.fsdecode(data)]
    are_files = isinstance(data, list) and data
    if are_files and all(isinstance(file, str | bytes | os.PathLike) for file in data):
        return [os.fsdecode(file) for file in data]
    return None


def _size(files: list[str]) -> int | None:
    """Returns how many bytes some files have together, where that is known."""
    try:
        return sum(os.path.getsize(file) for file in files)
    except OSError:
        return None
