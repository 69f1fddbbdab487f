"""rueful on Apache Spark: data that outgrow one machine are learned from where they lie.

`OnlineClassifier` and `OnlineRegressor` are estimators of pyspark.ml. `audit` certifies the
predictions of any model over any amount of data, and `hindsight` finds the best fixed predictor of
them. The Rust core runs on Arrow batches inside the
executors.
"""

from ._audit import audit
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
    "audit",
    "hindsight",
]
