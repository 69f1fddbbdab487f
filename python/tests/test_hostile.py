"""Odd arguments to everything public: the answer is a result or an exception, never a panic.

A panic of the core is no `Exception`, so that it is not caught here and ends the test, as a crash does.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import rueful
import rueful.river
import scipy.sparse
from conftest import ROOT
from rueful._rueful import Audit as Books
from rueful._rueful import Model

FILE = "data/phishing.libsvm"
X = np.arange(12.0).reshape(6, 2)
Y = np.array([0, 1, 0, 1, 0, 1])


class Strange:
    """It says that it is a table, and is none."""

    shape = (6, 2)
    columns = ("a", 3)
    dtype = "strange"

    def __len__(self) -> int:
        return 6

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return object()

    def __array__(self, *_: object, **__: object) -> object:
        raise OverflowError("nothing fits")


def odd_values() -> list[Any]:
    """Values of all kinds, few of which make sense anywhere."""
    empty = pa.table({"a": pa.array([], pa.float64())})
    return [
        *(None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63), 10**400),
        *(0.0, -0.0, 0.5, -1.5, 1e300, 5e-324, float("nan"), float("inf"), 1j),
        *("", "a", "no such thing", "\0", "\ud800", "é" * 99, b"", b"\xff\xfe"),
        *([], [[]], [None], [[], [1.0]], (), (X,), (X, Y), (X, Y, Y, Y), {}, {"a": None}, {1: 2}),
        *([{}], [{"a": 1.0}, 3], [{"a": []}], [{"a": 1.0}] * 6, {"a": [1, 2]}, {"a", "b"}),
        *(object(), Strange(), type, len, range(6), iter([]), iter([(X, Y)]), memoryview(b"abcdef")),
        *(np.zeros(0), np.zeros((0, 2)), np.zeros((6, 0)), np.zeros((2, 2, 2)), np.float64(2.0)),
        *(np.full((6, 2), np.nan), np.full(6, np.inf), np.full((6, 2), 1e300), np.zeros((6, 2)) * 1j),
        *(np.array(["a", "b"] * 3), np.array([["a", None]] * 6, dtype=object), np.array(3)),
        *(np.zeros(6, dtype="M8[s]"), np.zeros(6, dtype="m8[s]"), np.zeros(6, dtype="V4")),
        *(np.zeros(6, dtype=[("a", "f4")]), np.ma.masked_all((6, 2)), np.zeros((6, 2), dtype=">f8")),
        *(np.zeros((6, 2), dtype=np.longdouble), np.broadcast_to(1.0, (6, 2)), np.zeros(6, "S3")),
        *(X[::-1, ::-1], X.T, X.astype(np.float16), np.zeros((6, 2), dtype=np.uint64) - 1),
        *(scipy.sparse.csr_matrix((6, 2)), scipy.sparse.csr_matrix((0, 0)), scipy.sparse.eye(6)),
        *(scipy.sparse.coo_array(np.arange(6.0)), scipy.sparse.csr_matrix(X > 3)),
        *(pd.DataFrame(), pd.DataFrame({"a": []}), pd.DataFrame(X), pd.Series(Y), pd.NA, pd.NaT),
        *(pd.DataFrame({"a": [1] * 6, "b": [{}] * 6}), pd.DataFrame([[1, 2]] * 6, columns=["a", "a"])),
        *(pl.DataFrame(), pl.DataFrame({"a": [None] * 6}), pl.Series([1] * 6), pl.LazyFrame({"a": [1]})),
        *(empty, pa.table({}), pa.array([1] * 6), pa.chunked_array([[1] * 6]), empty.to_reader()),
        *(pa.table({"a": [[1]] * 6}), pa.table({"a": pa.nulls(6)}), pa.table([[1], [2]], ["a", "a"])),
    ]


def refused(call: Callable[[Any], object]) -> int:
    """Calls something with all odd values, and counts the exceptions."""
    count = 0
    for value in odd_values():
        try:
            call(value)
        except Exception as why:
            assert str(why), type(why)
            count += 1
    return count


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(in_the_repository, tmp_path, monkeypatch) -> None:
    """Some of the values are names of files that can be written."""
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)


ESTIMATORS = [rueful.OnlineClassifier, rueful.OnlineRegressor]
RIVERS = [rueful.river.OnlineClassifier, rueful.river.OnlineRegressor]


def settings_of(*kinds: Any) -> Iterator[Any]:
    """Every setting of some classes."""
    for kind in kinds:
        names = kind().get_params() if hasattr(kind, "get_params") else kind()._get_params()
        for name in names:
            yield pytest.param(kind, name, id=f"{kind.__module__}.{kind.__name__}-{name}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("kind", "name"), list(settings_of(*ESTIMATORS)))
def test_settings_of_estimators(kind, name):
    frame = pd.DataFrame({"a": X[:, 0], "b": ["x", "y"] * 3})
    for table in (X, frame):
        # A number of passes may be as large as one likes, and would be made.
        unwise = (2**31,) if name in ("passes", "patience") else ()

        def fit(value: Any, table: Any = table, unwise: tuple[int, ...] = unwise) -> None:
            if not (isinstance(value, int) and value in unwise):
                kind(**{name: value}).fit(table, Y).predict(table)

        assert refused(fit) > 10


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("kind", "name"), list(settings_of(*RIVERS)))
def test_settings_of_river(kind, name):
    def learn(value: Any) -> None:
        model = kind(**{name: value})
        model.learn_one({"a": 1.0}, True)
        model.predict_one({"a": 1.0})
        model.report()

    told = refused(learn)
    assert told > 10 or name in ("positive", "negative", "no_constant")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("settings", [{}, {"learner": "ogd"}], ids=str)
def test_data_of_estimators(kind, settings):
    new = lambda: kind(**settings)  # noqa: E731
    fitted = new().fit(X, Y)
    before = fitted._model.to_bytes()
    asked: list[Callable[[Any], object]] = [
        lambda odd: new().fit(odd, Y),
        lambda odd: new().fit(X, odd),
        lambda odd: new().fit(odd, odd),
        lambda odd: new().fit(X, Y, sample_weight=odd),
        lambda odd: new().partial_fit(odd, Y),
        lambda odd: new().partial_fit(X, odd),
        lambda odd: new().learn(odd),
        lambda odd: new().learn(X, odd),
        lambda odd: new().learn(odd, label="a"),
        lambda odd: new().learn(pd.DataFrame(X, columns=["a", "b"]), label=odd),
        lambda odd: new().learn(X, Y, classes=odd),
        lambda odd: fitted.predict(odd),
        lambda odd: fitted.score(odd, Y),
        lambda odd: fitted.certificate(odd),
        lambda odd: fitted.regret(odd, Y),
        lambda odd: fitted.regret(X, odd),
        lambda odd: fitted.regret(X, Y, odd),
        lambda odd: fitted.regret(X, Y, tolerance=odd),
        lambda odd: fitted.regret(X, Y, max_passes=odd),
        lambda odd: fitted.save(odd),
        lambda odd: fitted.report().to_frame(odd),
        lambda odd: fitted.report()[odd],
    ]
    for call in asked:
        assert refused(call) > 3
    assert fitted._model.to_bytes() == before
    # One that goes on learns from what makes sense, and predicts all the same.
    for call in (
        lambda odd: fitted.partial_fit(odd, Y),
        lambda odd: fitted.partial_fit(X, odd),
        lambda odd: fitted.partial_fit(X, Y, sample_weight=odd),
        lambda odd: fitted.learn(FILE, threads=odd),
    ):
        assert refused(call) > 10
    assert np.all(np.isfinite(fitted.predict(X)))


@pytest.mark.filterwarnings("ignore")
def test_data_of_river():
    frame, y = pd.DataFrame(X, columns=["a", "b"]), pd.Series(Y == 1)
    for kind in RIVERS:
        model = kind()
        model.learn_one({"a": 1.0}, True)
        asked: list[Callable[[Any], object]] = [
            lambda odd, model=model: model.learn_one(odd, True),
            lambda odd, kind=kind: kind().learn_one({"a": 1.0}, odd),
            lambda odd, model=model: model.learn_one({"a": odd}, True),
            lambda odd, model=model: model.learn_one({"a": 1.0}, True, odd),
            lambda odd, model=model: model.predict_one(odd),
            lambda odd, model=model: model.predict_one({"a": odd}),
            lambda odd, model=model: model.learn_many(odd, y),
            lambda odd, kind=kind: kind().learn_many(frame, odd),
            lambda odd, model=model: model.learn_many(frame, y, odd),
            lambda odd, model=model: model.predict_many(odd),
            lambda odd, model=model: model.regret(odd, y),
            lambda odd, model=model: model.regret(frame, odd),
            lambda odd, model=model: model.certificate(odd),
            lambda odd, model=model: model.save(odd),
        ]
        for call in asked:
            assert refused(call) > 3
        assert model.report()["sequential_risk"] >= 0.0


@pytest.mark.filterwarnings("ignore")
def test_functions():
    asked: list[Callable[[Any], object]] = [
        lambda odd: rueful.load(odd),
        lambda odd: rueful.read(odd),
        lambda odd: rueful.read(FILE, loss=odd),
        lambda odd: rueful.read(FILE, threads=odd),
        lambda odd: rueful.run(odd),
        lambda odd: rueful.run(odd, Y),
        lambda odd: rueful.run(X, odd),
        lambda odd: rueful.run(odd, label="a"),
        lambda odd: rueful.run(FILE, threads=odd),
        lambda odd: rueful.hindsight(odd, Y),
        lambda odd: rueful.hindsight(X, odd),
        lambda odd: rueful.hindsight(X, Y, sample_weight=odd),
        lambda odd: rueful.audit(odd, X, Y),
        lambda odd: rueful.audit(rueful.OnlineClassifier(loss="softmax"), odd, Y),
        lambda odd: rueful.audit(rueful.OnlineClassifier(loss="softmax"), X, odd),
        lambda odd: rueful.audit(rueful.OnlineClassifier(loss="softmax"), X, Y, batch=odd),
        lambda odd: rueful.audit(rueful.OnlineClassifier(loss="softmax"), X, Y, classes=odd),
    ]
    for name in ("loss", "radius", "comparators", "sigma", "tau", "tolerance", "max_passes", "bits"):
        asked.append(lambda odd, name=name: rueful.hindsight(X, Y, **{name: odd}))
    for call in asked:
        assert refused(call) > 3


@pytest.mark.filterwarnings("ignore")
def test_settings_of_files():
    from rueful._streams import _OF_FILES

    for name in sorted(set(_OF_FILES) - {"passes", "patience", "cache"}):
        assert refused(lambda odd, name=name: rueful.run(FILE, **{name: odd})) > 3 or name in (
            "no_constant",
            "lowercase",
            "no_missing",
        ), name


@pytest.mark.filterwarnings("ignore")
def test_audits():
    for name in ("loss", "radius", "comparators", "judge", "tau", "link", "window", "classes"):

        def observe(odd: Any, name: str = name) -> None:
            rueful.Audit(**{name: odd}).observe(X, Y, np.zeros(6)).report()

        assert refused(observe) > 10
    books = rueful.Audit().observe(X, Y, np.zeros(6))
    before = dict(books.report())
    asked: list[Callable[[Any], object]] = [
        lambda odd: rueful.Audit().observe(odd, Y, np.zeros(6)),
        lambda odd: rueful.Audit().observe(X, odd, np.zeros(6)),
        lambda odd: rueful.Audit().observe(X, Y, odd),
        lambda odd: rueful.Audit().observe(X, Y, np.zeros(6), odd),
        lambda odd: rueful.Audit().observe(odd, 1, 0.5),
        lambda odd: rueful.Audit().observe({"a": odd}, 1, 0.5),
        lambda odd: books.certificate(odd),
        lambda odd: books.merge(odd),
    ]
    for call in asked:
        assert refused(call) > 3
    assert dict(books.report()) == before


def test_what_has_seen_nothing_shows_itself():
    empty: list[Any] = [rueful.Audit(), rueful.Audit(loss="square", window=3)]
    empty += [rueful.Audit(loss="softmax", classes=["a", "b"]), *(kind() for kind in RIVERS)]
    for one in empty:
        report = one.report()
        assert report["examples"] == 0
        assert str(report) and report.to_html() and report.to_svg() and report._repr_html_()
        assert report.metrics() and len(report.to_frame()) == 1
        assert pickle.loads(pickle.dumps(report)).to_dict() == report.to_dict()
        assert copy.deepcopy(one).report().to_dict() == report.to_dict()


@pytest.mark.parametrize("seed", range(3))
def test_bytes_that_were_damaged(seed):
    rng = np.random.default_rng(seed)
    model = rueful.OnlineClassifier().fit(X, Y)._model.to_bytes()
    audit = pickle.dumps(rueful.Audit(window=2).observe(X, Y, X[:, 0]))
    books = rueful.Audit(window=2).observe(X, Y, X[:, 0])._books.to_bytes()
    assert audit and dict(rueful.Audit(window=2).observe(X, Y, X[:, 0]).report())
    for whole, restore in ((model, Model.from_bytes), (books, Books.from_bytes)):
        for _ in range(300):
            damaged = bytearray(whole)
            for place in rng.integers(0, len(whole), rng.integers(1, 4)):
                damaged[place] = rng.integers(0, 256)
            if rng.random() < 0.3:
                del damaged[int(rng.integers(0, len(whole))) :]
            try:
                restored = restore(bytes(damaged))
            except ValueError:
                continue
            restored.report()
