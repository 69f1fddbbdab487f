"""Fixtures of the tests."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples name files as seen from there."""
    monkeypatch.chdir(ROOT)
    os.environ.pop("RUEFUL_THREADS", None)


@pytest.fixture
def stream() -> tuple[np.ndarray, np.ndarray]:
    """Some rows with zeros among them, and labels that a line tells apart but for some noise."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(400, 6)) * (rng.random((400, 6)) < 0.7) * [1, 10, 0.1, 1, 3, 1]
    y = X @ [1.0, -0.2, 4.0, 0.0, 0.5, -1.0] + rng.normal(size=400) > 0.2
    return X, y.astype(int)
