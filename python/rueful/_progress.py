"""Progress: a bar on a terminal and in a notebook."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from types import TracebackType


class Progress:
    """Shows how far a run has come, while the block it is used in lasts."""

    def __init__(self, show: bool | None, total: int | None) -> None:
        self._is_shown = _is_watched() if show is None else show
        self._total = total
        self._bar = _tqdm(total) if self._is_shown else None
        self._done = 0

    @property
    def listener(self) -> Callable[[int, int, float], None] | None:
        """Is told examples, bytes and the average loss so far; nothing where nobody looks."""
        return self._tell if self._is_shown else None

    def _tell(self, examples: int, size: int, risk: float) -> None:
        if self._bar is not None:
            self._bar.update(max(size - self._done, 0))
            self._bar.set_postfix_str(f"{examples:,} examples, average loss {risk:.4f}")
            self._done = max(size, self._done)
            return
        part = f"{100 * size / self._total:3.0f} % " if self._total and size else ""
        line = f"\r{part}{examples:,} examples, average loss {risk:.4f} "
        print(line, end="", file=sys.stderr, flush=True)
        self._done = max(len(line), self._done)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()
        elif self._is_shown and self._done:
            # Blanks, because a notebook knows no other way to clear a line.
            print("\r" + " " * self._done + "\r", end="", file=sys.stderr, flush=True)


def _is_notebook() -> bool:
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"


def _is_watched() -> bool:
    return sys.stderr is not None and (sys.stderr.isatty() or _is_notebook())


def _tqdm(total: int | None):  # type: ignore[no-untyped-def]
    """A bar of tqdm, where that is installed and the size of what is read is known."""
    if total is None:
        return None
    try:
        with warnings.catch_warnings():
            # It recommends other packages, and works without them.
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(total=total, unit="B", unit_scale=True, leave=False)
