"""An online learner that knows its own regret.

The estimators learn from a stream, predict each example before they learn from it, and prove how
much better any fixed linear predictor could have done on this very stream.

>>> import numpy as np
>>> import rueful
>>> rng = np.random.default_rng(0)
>>> X = rng.normal(size=(500, 3))
>>> y = X @ [2.0, -1.0, 0.5] > 0
>>> model = rueful.OnlineClassifier().fit(X, y)
>>> bool(model.score(X, y) > 0.95)
True
>>> report = model.report()
>>> bool(model.regret(X, y)["regret"]["lower"] <= report["certificate"])
True
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._audit import Audit, audit
    from ._estimators import OnlineClassifier, OnlineRegressor
    from ._report import Report
    from ._streams import hindsight, load, read, run

__all__ = [
    "Audit",
    "OnlineClassifier",
    "OnlineRegressor",
    "Report",
    "audit",
    "hindsight",
    "load",
    "read",
    "run",
]

#: The modules of the public names. They are imported on demand, so that the program starts at once.
_HOMES = {
    "Audit": "_audit",
    "OnlineClassifier": "_estimators",
    "OnlineRegressor": "_estimators",
    "Report": "_report",
    "audit": "_audit",
    "hindsight": "_streams",
    "load": "_streams",
    "read": "_streams",
    "run": "_streams",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
