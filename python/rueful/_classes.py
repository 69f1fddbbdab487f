"""The classes of a run that learns any number of them.

The core numbers classes in the order in which they first come, as the program does. People want
them in order, so that `Classes` keeps both, and the way from one to the other.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _data
from ._rueful import losses_of_two

#: The losses of two classes, and those of any number of classes.
OF_TWO = tuple(name for name, _ in losses_of_two())
OF_MANY = ("softmax", "multiclass-hinge")

#: The losses whose scores stand for probabilities.
PROBABLE = (*(name for name, is_probable in losses_of_two() if is_probable), "softmax")


#: Whoever learns a class for the first time holds it, so that no two classes get one number.
NEW_CLASSES = threading.RLock()


def classifies(y: NDArray[Any]) -> bool:
    """Tells whether labels are classes where nobody says so: words, truths, or two numbers."""
    return y.dtype.kind not in "iuf" or len(np.unique(y)) == 2


class Classes:
    """Classes in order, and the number that the core has for each; −1 where it has none yet."""

    def __init__(self, labels: NDArray[Any], names: Sequence[str] = ()) -> None:
        self.labels = labels
        places = {name: number for number, name in enumerate(names)}
        known = [places.get(_data.class_name(label), -1) for label in labels]
        self.numbers = np.array(known, dtype=np.int64)
        #: How many classes the core knows.
        self.count = len(names)

    def with_labels(self, y: NDArray[Any]) -> Classes:
        """Returns these classes and those of some more labels."""
        found = np.unique(y)
        if len(found) == 0 or bool(np.all(self._are_known(found))):
            return self
        if not _same_kind(self.labels, found):
            row = int(np.argmin(self._are_known(y)))
            raise ValueError(
                f"y, row {row}: found the class {_data.plain(y[row])!r}, "
                f"expected one of the same kind as {_data.plain(self.labels[0])!r}"
            )
        grown = Classes(np.union1d(self.labels, found))
        grown.numbers[np.searchsorted(grown.labels, self.labels)] = self.numbers
        grown.count = self.count
        return grown

    def _are_known(self, y: NDArray[Any]) -> NDArray[Any]:
        if not _same_kind(self.labels, y):
            return np.zeros(len(y), dtype=bool)
        places = np.minimum(np.searchsorted(self.labels, y), len(self.labels) - 1)
        return np.asarray(self.labels[places] == y)

    def numbered(self, y: NDArray[Any]) -> tuple[_data.Doubles, list[str], Classes]:
        """Returns labels as the core takes them, the names of those that are new to it, and these
        classes with the numbers that the new ones get.

        All labels must be among these classes.
        """
        return self.numbered_places(np.searchsorted(self.labels, y))

    def numbered_places(
        self, places: NDArray[Any]
    ) -> tuple[_data.Doubles, list[str], Classes]:
        """The same for the places of labels among these classes."""
        new = self._new_ones(places)
        if len(new) == 0:
            return self.numbers[places].astype(np.float64), [], self
        later = Classes(self.labels)
        later.numbers, later.count = self.numbers.copy(), self.count + len(new)
        later.numbers[new] = np.arange(self.count, later.count)
        names = [_data.class_name(self.labels[place]) for place in new]
        return later.numbers[places].astype(np.float64), names, later

    def _new_ones(self, places: NDArray[Any]) -> NDArray[Any]:
        """The places of classes that the core does not know, in the order in which they come."""
        found, first = np.unique(places, return_index=True)
        is_new = self.numbers[found] < 0
        return np.asarray(found[is_new][np.argsort(first[is_new])])

    def probabilities(self, said: _data.Doubles) -> _data.Doubles:
        """Returns what the core says of all classes, as probabilities in the order of the labels.

        The last column of `said` is the probability of a class that has not come yet. Classes that
        are announced and have not come share it, and without any it is left out.
        """
        found = self._ordered(said[:, :-1], 0.0)
        unseen, waiting = said[:, -1:], self.numbers < 0
        if np.any(waiting):
            found[:, waiting] = unseen / np.count_nonzero(waiting)
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def scores(self, said: _data.Doubles) -> _data.Doubles:
        """Returns scores in the order of the labels; −∞ for classes that have not come."""
        return self._ordered(said, -np.inf)

    def weights(self, found: _data.Doubles) -> _data.Doubles:
        """Returns rows of weights in the order of the labels."""
        return self._ordered(found.T, 0.0).T

    def _ordered(self, said: _data.Doubles, otherwise: float) -> _data.Doubles:
        columns = np.full((said.shape[0], len(self.labels)), otherwise)
        is_known = (self.numbers >= 0) & (self.numbers < said.shape[1])
        columns[:, is_known] = said[:, self.numbers[is_known]]
        return columns


def _same_kind(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Tells whether labels can be compared: numbers with numbers, and words with words."""
    kinds = ["n" if labels.dtype.kind in "iuf" else labels.dtype.kind for labels in (one, other)]
    return kinds[0] == kinds[1] or set(kinds) <= {"U", "O"}
