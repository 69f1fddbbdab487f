"""rueful on Apache Spark: data that outgrow one machine are learned from where they lie.

`OnlineClassifier` and `OnlineRegressor` are estimators of pyspark.ml. `audit` certifies the
predictions of any model over any amount of data, and `hindsight` finds the best fixed predictor of
them. The Rust core runs on Arrow batches inside the executors.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._audit import PartsAudit, audit
    from ._estimators import (
        OnlineClassificationModel,
        OnlineClassifier,
        OnlineRegressionModel,
        OnlineRegressor,
    )
    from ._hindsight import hindsight
    from ._stream import LearningStream

__all__ = [
    "LearningStream",
    "OnlineClassificationModel",
    "OnlineClassifier",
    "OnlineRegressionModel",
    "OnlineRegressor",
    "PartsAudit",
    "audit",
    "hindsight",
]

#: The modules of the public names. They are imported on demand, because executors need few of them.
_HOMES = {
    "LearningStream": "_stream",
    "OnlineClassificationModel": "_estimators",
    "OnlineClassifier": "_estimators",
    "OnlineRegressionModel": "_estimators",
    "OnlineRegressor": "_estimators",
    "PartsAudit": "_audit",
    "audit": "_audit",
    "hindsight": "_hindsight",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
