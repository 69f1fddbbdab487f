"""Runs over data of any kind, files above all."""

from __future__ import annotations

import itertools
import json
import os
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from . import _data
from ._classes import OF_MANY, OF_TWO, Classes, classifies
from ._estimators import OnlineClassifier, OnlineRegressor, _data_files, _size
from ._progress import Progress
from ._report import Report
from ._rueful import Model, best_in_hindsight, read_files

#: The settings of reading files, under the names of the program.
_READING = (
    "format",
    "label",
    "importance",
    "id",
    "pending",
    "header",
    *_data.COLUMNS,
    *_data.OF_NAMESPACES,
    "positive",
    "no_constant",
    "positive_weight",
    "negative_weight",
    "class_weight",
    "schema",
    "cache",
)

#: The settings of a run over files.
_OF_FILES = (*_data.SETTINGS, *_READING, *_data.PASSES)

#: The settings of a run over files for which tables in memory have no use, and why.
_ONLY_FILES = {
    **dict.fromkeys(_data.OF_NAMESPACES, "only Vowpal Wabbit text has namespaces"),
    **dict.fromkeys(("format", "header", "schema", "cache"), "it says how a file is read"),
    **dict.fromkeys(("id", "pending"), "rows that wait for their labels are read from files"),
    "importance": "sample_weight of fit, or a third part of a batch, says how much rows count",
    "positive": "the class that comes later in order is the positive one",
    "positive_weight": "class_weight has a weight for every class",
    "negative_weight": "class_weight has a weight for every class",
}


def load(path: str | os.PathLike[str]) -> OnlineClassifier | OnlineRegressor:
    """Opens a model that Python or the program has saved.

    >>> import os, tempfile
    >>> import rueful
    >>> path = os.path.join(tempfile.mkdtemp(), "line.rueful")
    >>> rueful.OnlineRegressor().fit([[1.0], [2.0]], [1.0, 2.0]).save(path)
    >>> rueful.load(path).report()["examples"]
    2
    """
    return _estimator(Model.open(path))


def _estimator(model: Model) -> OnlineClassifier | OnlineRegressor:
    return OnlineClassifier._of(model) if model.classifies() else OnlineRegressor._of(model)


def _reading(files: list[str], given: dict[str, Any]) -> dict[str, Any]:
    """Returns the settings of reading files."""
    names = ("format", "label", "importance", "id", "pending", "header", "positive", "positive_weight")
    reading = _data.pick(given, (*names, "negative_weight"))
    for name in ("label", "importance", "id", "positive"):
        reading[name] = None if reading[name] is None else str(reading[name])
    return {
        **_data.columns(given),
        **reading,
        "files": files,
        "no_constant": bool(given.get("no_constant")),
        "passes": _data.pick(given, _data.PASSES),
        "class_weight": _class_weights(given.get("class_weight")),
        "schema": _schema(given.get("schema")),
    }


def _class_weights(given: Any) -> list[str]:
    """The weights of classes as the program writes them."""
    if isinstance(given, str):
        raise ValueError(
            f"class_weight {given!r} needs all labels at once, and files are read from front to "
            "back: give a dict"
        )
    items = dict(given or {}).items()
    return [f"{_data.class_name(label)}={_data.plain(weight)!r}" for label, weight in items]


def _schema(given: Any) -> str | None:
    """A schema as JSON: it is a dict, or the file that ``--write-schema`` made."""
    if given is None or isinstance(given, dict):
        return None if given is None else json.dumps(given)
    if not isinstance(given, str | bytes | os.PathLike):
        # A number would be an open file of this process, which would be closed.
        found = type(given).__name__
        raise TypeError(f"schema: expected a dict or the name of a file, found {found}")
    with open(given, encoding="utf-8") as file:
        return file.read()


def _refuse_unknown(given: dict[str, Any], known: tuple[str, ...]) -> None:
    unknown = [name for name in given if name not in known]
    if unknown:
        raise TypeError(f"unknown settings: {', '.join(unknown)}; known are {', '.join(known)}")


def run(
    data: Any,
    y: Any = None,
    *,
    classes: Any = None,
    progress: bool | None = None,
    threads: int | None = None,
    **settings: Any,
) -> OnlineClassifier | OnlineRegressor:
    """Learns from data of any kind, each example once, and returns the estimator.

    Parameters
    ----------
    data : files, table, frame, or iterator of pairs of a table and its labels
        What to learn from: a path or a list of paths, or what is in memory. Files are read by
        rueful's own readers, as ``rueful run`` reads them.
    y : array, optional
        The labels, where `data` is a table. A frame, or anything that hands over a stream of Arrow,
        can have them in the column `label`.
    classes : array, optional
        All classes, where `data` is an iterator whose first batch may not have them.
    progress : bool, optional
        Whether a bar is shown; if left out, it is on terminals and in notebooks.
    threads : int, optional
        On how many threads files are read; on all cores if left out.
    **settings
        The settings of ``rueful run``, with ``_`` for ``-``.

    Returns
    -------
    OnlineClassifier or OnlineRegressor
        The loss tells which; without one, words, truths and two numbers are classes.

    Examples
    --------
    >>> import rueful
    >>> model = rueful.run("data/phishing.libsvm")
    >>> round(model.report()["sequential_risk"], 4)
    0.2656
    """
    files = _data_files(data)
    if files is not None:
        _refuse_unknown(settings, _OF_FILES)
        if y is not None:
            raise TypeError("y: files have their labels themselves")
        with Progress(progress, _size(files)) as bar:
            asked = _data.pick(settings, _data.SETTINGS)
            reading, cache = _reading(files, settings), bool(settings.get("cache"))
            model = Model.run_files(asked, reading, threads, bar.listener, cache)
        return _estimator(model)
    for name in settings:
        if name in _ONLY_FILES:
            raise TypeError(f"{name} is for files: {_ONLY_FILES[name]}")
    label = settings.pop("label", None)
    if label is not None:
        if y is not None:
            raise TypeError("label: the labels are given as y already")
        data, y = _data.with_labels(data, label)
    if y is not None:
        return _new(y, settings).fit(data, y)
    batches: Iterator[Any] = iter(data)
    first = _data.pair(next(batches, None))
    if first is None:
        raise TypeError(
            "data: expected files, a table with y, a frame with label, "
            "or an iterator of pairs of a table and its labels"
        )
    estimator = _new(first[1] if classes is None else classes, settings)
    return estimator.learn(
        itertools.chain([first], batches), classes=classes, progress=progress
    )


def _new(y: Any, settings: dict[str, Any]) -> OnlineClassifier | OnlineRegressor:
    """The estimator for labels like these."""
    loss = settings.get("loss")
    has_classes = classifies(np.asarray(y)) if loss is None else loss in OF_TWO + OF_MANY
    return OnlineClassifier(**settings) if has_classes else OnlineRegressor(**settings)


def read(
    path: str | bytes | os.PathLike[Any] | list[Any],
    *,
    threads: int | None = None,
    loss: str | None = None,
    weights: bool = False,
    **reading: Any,
) -> Any:
    """Reads files into a sparse matrix and its labels.

    Feature i of the file is column i − 1. Labels are as they are written where they are classes: two
    of them, names, or anything with ``loss="softmax"``. Otherwise they are numbers. With `weights`, how much each row counts comes third.

    >>> import rueful
    >>> X, y = rueful.read("data/phishing.libsvm")
    >>> X.shape, sorted(set(y.tolist()))
    ((1250, 9), [-1, 1])
    """
    files = _data_files(path)
    if files is None:
        raise TypeError("path: expected a file or a list of files")
    _refuse_unknown(reading, tuple(name for name in _READING if name not in ("id", "pending")))
    cache = bool(reading.get("cache"))
    parts, width, seen = read_files(_reading(files, reading), loss, threads, cache)
    offsets, indices, values, labels, importances = parts
    if not weights and np.any(importances != 1.0):
        warnings.warn(
            "rows of these files do not count alike: weights=True returns how much", stacklevel=2
        )
    matrix = scipy.sparse.csr_matrix((values, indices, offsets), shape=(len(labels), width))
    y = _written(labels, seen)
    return (matrix, y, importances) if weights else (matrix, y)


def _written(
    labels: _data.Doubles, seen: tuple[list[tuple[str, int]], str | None, bool] | None
) -> NDArray[Any]:
    """Labels as they are written, where they are classes."""
    if seen is None:
        return labels
    counts, positive, are_many = seen
    if are_many:
        names = _data.class_labels([name for name, _ in counts])
        return np.asarray(names[labels.astype(np.int64)])
    chosen = positive if positive is not None else "1"
    others = [name for name, _ in counts if name != chosen]
    if len(others) != 1:
        return labels
    classes = _data.class_labels([others[0], chosen])
    return np.asarray(classes[(labels > 0).astype(int)])


def hindsight(
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    loss: str | None = None,
    radius: float | None = None,
    comparators: str | None = None,
    sigma: float | None = None,
    tau: float | None = None,
    no_constant: bool = False,
    tolerance: float | None = None,
    max_passes: int | None = None,
    **columns: Any,
) -> Report:
    """Solves for the best fixed linear predictor of some data, to a proved interval.

    The keys of the answer are those of ``rueful hindsight --json``: ``comparator`` has the loss of
    the best predictor per example, at least and at most. If `loss` is left out, it is ``logistic``
    for two classes, ``softmax`` for more of them, and ``square`` for numbers.

    >>> import numpy as np
    >>> import rueful
    >>> X = np.array([[1.0], [2.0], [3.0]])
    >>> found = rueful.hindsight(X, [2.0, 4.0, 6.0], loss="square", no_constant=True)
    >>> bool(found["comparator"]["upper"] < 1e-6)
    True
    """
    _refuse_unknown(columns, _data.COLUMNS)
    y = np.asarray(y)
    if y.ndim != 1:
        raise ValueError(f"y: expected one dimension, found {y.ndim}")
    settings: dict[str, Any] = {"loss": loss, "radius": radius, "comparators": comparators}
    settings |= {"sigma": sigma, "tau": tau}
    classes = np.unique(y) if classifies(y) or loss in OF_TWO + OF_MANY else None
    if loss is None:
        of_classes = "softmax" if classes is not None and len(classes) > 2 else "logistic"
        settings["loss"] = "square" if classes is None else of_classes
    names: list[str] = []
    if settings["loss"] in OF_MANY and classes is not None:
        labels, names, _ = Classes(classes).numbered(y)
    elif settings["loss"] in OF_TWO and classes is not None:
        if len(classes) != 2:
            raise ValueError(
                f"y has {len(classes)} classes, expected two: loss='softmax' takes any number of them"
            )
        labels = _data.signs(y, classes)
    else:
        labels = _data.doubles("y", y)
    table, column_names = _data.any_table(X, columns.get("numeric"))
    weights = None if sample_weight is None else _data.doubles("sample_weight", sample_weight)
    answer, text = best_in_hindsight(
        _data.pick(settings, _data.SETTINGS),
        _data.columns(columns, X),
        table,
        labels,
        constant=not no_constant,
        names=column_names,
        importances=weights,
        tolerance=tolerance,
        max_passes=max_passes,
        classes=names,
    )
    return Report(json.loads(answer), text)
