"""Learning from a stream of Structured Streaming, exactly once.

Every batch ends with a model that is saved under the number of its batch. The folder is written under
another name first, and renamed, so that the position and the state appear together. A batch whose
model is there already was learned from before, and is skipped. Stores that rename by copying file by
file may leave a part of a folder behind: such a model is not there.
"""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming import StreamingQuery

from .._report import Report
from .._rueful import Model, window
from . import _files
from ._rounds import Learned
from ._rows import Columns

if TYPE_CHECKING:
    from ._estimators import _Learned, _Online

#: How many windows are kept.
WINDOWS = 100


class LearningStream:
    """A stream that is being learned from. It can be asked at any time.

    ``query`` is the query of Spark, which can be watched, awaited and stopped.
    """

    query: StreamingQuery

    def __init__(
        self,
        estimator: _Online,
        df: DataFrame,
        checkpoint: str,
        name: str | None,
        trigger: dict[str, Any],
    ) -> None:
        # Whoever sets parameters later sets those of other fits.
        self._estimator, self._checkpoint = estimator.copy(), checkpoint.rstrip("/")
        self._columns = estimator._columns(df)
        self._spark = df.sparkSession
        self._last, self._current = self._restored(df)
        writer = df.writeStream.foreachBatch(self._learn).outputMode("append")
        writer = writer.option("checkpointLocation", self._place("spark"))
        writer = writer.queryName(name) if name else writer
        self.query = (writer.trigger(**trigger) if trigger else writer).start()

    def model(self) -> Any:
        """Returns the model after the last batch that was learned from."""
        if self._current is None:
            raise ValueError("no batch was learned from yet")
        return self._current

    def report(self) -> Report:
        """Returns what can be said of the run so far."""
        return self.model().report()

    def certificate(self, radius: float | None = None) -> float:
        """Returns the certificate so far: no comparator saved more than this per round."""
        return self.model().certificate(radius)

    def windows(self) -> list[dict[str, Any]]:
        """Returns what is known of each of the last hundred batches, judged for itself."""
        return list(self.model().windows)

    def lastBatch(self) -> int:
        """Returns the number of the last batch that was learned from; -1 before the first."""
        return self._last

    def stop(self) -> None:
        """Stops the stream. It goes on when it is started again with the same checkpoint."""
        self.query.stop()

    def awaitTermination(self, timeout: int | None = None) -> bool | None:
        """Waits until the stream has ended, and raises its error if it failed."""
        return self.query.awaitTermination(timeout)

    def processAllAvailable(self) -> None:
        """Waits until everything that has come so far was learned from."""
        self.query.processAllAvailable()

    def _place(self, name: str) -> str:
        return f"{self._checkpoint}/{name}"

    def _restored(self, df: DataFrame) -> tuple[int, _Learned | None]:
        """Returns the last batch that was learned from, and the model after it."""
        names = _files.names(self._spark, self._place("models"))
        batches = sorted((int(name) for name in names if name.isdigit()), reverse=True)
        last = next((batch for batch in batches if self._is_whole(batch)), -1)
        if last < 0:
            return last, None
        if not _files.exists(self._spark, self._place(f"spark/offsets/{last}")):
            raise ValueError(
                f"{self._checkpoint} has a model of batch {last}, and Spark's position there is "
                "lost: rows would be skipped or count twice; begin with an empty folder"
            )
        model = self._estimator._kind.load(self._place(f"models/{last}"))
        self._refuse_others(df, model)
        return last, model

    def _is_whole(self, batch: int) -> bool:
        """Tells whether all files of the model of a batch are there."""
        place = self._place(f"models/{batch}")
        about = _files.names(self._spark, f"{place}/metadata")
        has_about = any(name.startswith("part-") for name in about)
        return has_about and _files.exists(self._spark, f"{place}/{_files.MODEL}")

    def _refuse_others(self, df: DataFrame, model: _Learned) -> None:
        """Refuses a checkpoint that belongs to a stream or an estimator of another kind."""
        columns, estimator = model._of, self._estimator
        assert columns is not None
        own = (*estimator._features(df), estimator.getLabelCol(), estimator._weight())
        kept = (columns.features, columns.is_vector, columns.label, columns.weight)
        is_same = own == kept
        if is_same:
            fresh = Model.from_bytes(estimator._fresh(df, columns).state)
            is_same = fresh.task() == model.model.task()
        if not is_same:
            raise ValueError(
                f"{self._checkpoint} belongs to a stream with other columns or settings: "
                "use these, or begin with an empty folder"
            )

    def _learn(self, df: DataFrame, batch: int) -> None:
        """Learns from a batch, unless that was done before."""
        if batch <= self._last:
            return
        if batch != self._last + 1:
            raise ValueError(
                f"{self._checkpoint} has no model of batch {batch - 1}: begin with an empty folder"
            )
        before, columns, windows = self._before()
        work = self._place("work")
        try:
            learned, columns, base = self._estimator._go_on(before, df, columns, work)
        except Exception as why:
            raise RuntimeError(f"batch {batch} was not learned from: {why}") from why
        model = self._estimator._made(learned, columns)
        model.windows = [*windows, _window(batch, base, learned)][-WINDOWS:]
        self._store(model, batch)
        self._last, self._current = batch, model

    def _before(self) -> tuple[Learned | None, Columns, list[dict[str, Any]]]:
        """Returns the model before the next batch, if there is one, the columns and the windows."""
        model = self._current
        if model is None:
            return None, self._columns, []
        assert model._of is not None
        # What becomes of bad rows may be another thing since the stream was started again.
        columns = dataclasses.replace(model._of, skips=self._columns.skips)
        return model._learned, columns, model.windows

    def _store(self, model: _Learned, batch: int) -> None:
        """Saves the model under the number of its batch. It is there as a whole, or not at all."""
        new = self._place("next")
        model.write().session(self._spark).overwrite().save(new)
        _files.make(self._spark, self._place("models"))
        place = self._place(f"models/{batch}")
        if not self._is_whole(batch):
            _files.remove(self._spark, place)
        _files.rename(self._spark, new, place)
        if batch >= 2:
            _files.remove(self._spark, self._place(f"models/{batch - 2}"))


def _window(batch: int, before: Learned, after: Learned) -> dict[str, Any]:
    """Returns what is known of the rows of a batch alone."""
    found = json.loads(window(Model.from_bytes(before.state), Model.from_bytes(after.state)))
    return {"batch": batch, **found, "skipped": after.skipped - before.skipped}
