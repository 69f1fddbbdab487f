"""Whatever is handed over, the answer is a result or an exception that names the argument."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import rueful
import scipy.sparse
from rueful._rueful import Model

Classifier, Regressor = rueful.OnlineClassifier, rueful.OnlineRegressor
X = np.arange(12.0).reshape(6, 2)
Y = np.array([0, 1, 0, 1, 0, 1])


@pytest.mark.parametrize(
    ("estimator", "table", "labels", "says"),
    [
        (Classifier(), X, None, "requires y to be passed"),
        (Classifier(), X[:0], Y[:0], "0 sample"),
        (Classifier(), X[:, :0], Y, "0 feature"),
        (Classifier(), X[0], Y, "1D array"),
        (Classifier(), X, Y[:4], "inconsistent numbers of samples"),
        (Classifier(loss="hinge"), X, [0, 1, 2, 0, 1, 2], "Only binary classification"),
        (Classifier(), X, [1] * 6, "one class"),
        (Classifier(), np.where(X == 3, np.nan, X), Y, "NaN"),
        (Classifier(), np.where(X == 3, np.inf, X), Y, "infinity"),
        (Classifier(), np.where(X == 3, 1e300, X), Y, "row 1, column 1: found 1e300"),
        (Classifier(no_constant=True), X.astype("f4") * 1j, Y, "Complex"),
        (Classifier(), np.array([["a", "b"]] * 6, dtype=object), Y, "could not convert"),
        (Classifier(), [[1, None]] * 6, Y, "NaN|float"),
        (Regressor(), X, ["a"] * 6, "y"),
        (Regressor(), X, [np.nan] * 6, "y, row 0"),
        (Regressor(), X, X, "1d array|shape"),
        (Classifier(learner="nobody"), X, Y, "there is no learner|nobody"),
        (Classifier(loss="nothing"), X, Y, "nothing"),
        (Classifier(loss="square"), X, Y, ""),
        (Classifier(radius=-1.0), X, Y, "radius"),
        (Classifier(eta=1.0, learner="bank"), X, Y, "eta has no effect"),
        (Classifier(gradient_bound=-1.0), X, Y, "gradient_bound"),
        (Classifier(horizon=0, learner="minimax"), X, Y, "horizon"),
        (Classifier(tau=0.5), X, Y, "tau"),
        (Classifier(bits=3), pd.DataFrame(X, columns=["a", "b"]), Y, "bits"),
        (Classifier(class_weight={0: -1.0, 1: 1.0}), X, Y, "sample_weight, row 0"),
        (Classifier(class_weight="lopsided"), X, Y, "class_weight"),
    ],
)
def test_wrong_input_is_a_value_error_that_says_what(estimator, table, labels, says):
    if says == "":
        # A loss of numbers takes the signs of classes.
        assert estimator.fit(table, labels).score(table, labels) >= 0.0
        return
    with pytest.raises(ValueError, match=says):
        estimator.fit(table, labels)


@pytest.mark.parametrize(
    ("settings", "says"),
    [({"radius": "wide"}, "radius"), ({"horizon": 1.5}, "horizon"), ({"learner": 3}, "learner")],
)
def test_settings_of_the_wrong_type_are_type_errors(settings, says):
    with pytest.raises(TypeError, match=says):
        Classifier(**settings).fit(X, Y)


@pytest.mark.parametrize("weight", [-1.0, np.inf, 1e40, 1e-40])
def test_weights_out_of_range_are_refused_with_their_row(weight):
    with pytest.raises(ValueError, match="sample_weight|Input sample_weight|infinity"):
        Classifier().fit(X, Y, sample_weight=[1, 1, 1, weight, 1, 1])


def test_what_is_refused_is_not_learned():
    model = Classifier().fit(X, Y)
    before = model._model.to_bytes()
    for table, labels in [(X[:, :1], Y), (X, [0, 1, 2, 0, 1, 2]), (np.full((6, 2), 1e300), Y)]:
        with pytest.raises(ValueError):
            model.partial_fit(table, labels)
    assert model._model.to_bytes() == before
    # However late it comes.
    late = np.ones((20_000, 2))
    late[-1, 1] = 1e300
    for table in (late, scipy.sparse.csr_matrix(late)):
        with pytest.raises(ValueError, match="row 19999, column 1: found 1e300"):
            model.partial_fit(table, np.tile([0, 1], 10_000))
    # And however large the table is.
    large = np.ones((400_000, 2))
    large[-1, 1] = np.nan
    for table in (large, large.astype(np.float32), scipy.sparse.csr_matrix(large)):
        with pytest.raises(ValueError, match="NaN"):
            model.partial_fit(table, np.tile([0, 1], 200_000))
    assert model._model.to_bytes() == before


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_signs_that_are_none_are_refused_before_anything_is_learned(kind):
    model = Classifier().fit(X, np.where(Y > 0, 1, -1))
    before = model._model.to_bytes()
    labels = np.tile([-1, 1], 200_000).astype(kind)
    labels[-1] = 7
    with pytest.raises(ValueError, match="row 399999: found the class 7"):
        model.partial_fit(np.ones((400_000, 2)), labels)
    assert model._model.to_bytes() == before
    model.partial_fit(X, np.where(Y > 0, 1, -1).astype(kind), classes=[-1, 1])
    assert model.report()["examples"] == 12


def test_large_tables_are_learned_from_as_their_parts_are():
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(100_000, 6))
    dense[rng.random(dense.shape) < 0.5] = 0.0
    labels = rng.integers(0, 2, len(dense))
    settings = {"learner": "ogd", "loss": "hinge"}
    for table in (dense, dense.astype(np.float32), scipy.sparse.csr_matrix(dense)):
        whole = Classifier(**settings).fit(table, labels)
        parts = Classifier(**settings)
        for start in range(0, len(labels), 999):
            rows = slice(start, start + 999)
            parts.partial_fit(table[rows], labels[rows], classes=[0, 1])
        assert parts._model.to_bytes() == whole._model.to_bytes()
        scores = [whole.decision_function(table[at : at + 999]) for at in range(0, len(labels), 999)]
        np.testing.assert_array_equal(whole.decision_function(table), np.concatenate(scores))


def test_the_largest_single_is_a_value_and_what_is_rounded_beyond_it_is_not():
    edge = float(np.finfo(np.float32).max) + 2.0**103
    for kind in (np.array, scipy.sparse.csr_matrix):
        below, beyond = kind([[np.nextafter(edge, 0.0)]]), kind([[edge]])
        model = Regressor(learner="ogd", eta=1e-90, schedule="constant").fit(below, [1.0])
        assert model.partial_fit(below, np.array([1.0])).report()["examples"] == 2
        with pytest.raises(ValueError, match="row 0, column 0: found .* too large"):
            model.partial_fit(beyond, np.array([1.0]))


def test_one_row_is_enough():
    assert Regressor().fit([[1.0, 2.0]], [3.0]).report()["examples"] == 1
    model = Classifier().partial_fit([[1.0, 2.0]], ["b"], classes=["a", "b"])
    assert model.predict([[1.0, 2.0]]).tolist() == ["b"]


def test_rows_without_features_and_columns_without_values():
    model = Regressor().fit(scipy.sparse.csr_matrix((5, 3)), [1.0] * 5)
    assert model.report()["features"] == 1 and model.coef_.tolist() == [0.0] * 3
    bare = Regressor(no_constant=True).fit(np.zeros((5, 3)), [1.0] * 5)
    assert bare.predict([[1.0, 1.0, 1.0]]).shape == (1,)


def test_all_kinds_of_numbers_are_numbers():
    expected = Regressor().fit(X, Y).predict(X)
    for kind in ("i1", "u2", "i8", "f2", "f4", "f8", "O"):
        np.testing.assert_array_equal(Regressor().fit(X.astype(kind), Y).predict(X), expected)
    truths = X > 5
    assert Regressor().fit(truths, Y).n_features_in_ == 2


def test_arrays_that_cannot_be_written_to(tmp_path):
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert Classifier().fit(mapped, Y).n_features_in_ == 2


@pytest.mark.parametrize("constant", [True, False])
def test_sparse_matrices_that_make_no_sense(constant):
    matrix = scipy.sparse.csr_matrix(X)
    for change in ({"indices": [0, 99]}, {"indices": [-1, 0]}, {"indptr": [0, 5, 2]}):
        indptr, indices = matrix.indptr.copy(), matrix.indices.copy()
        wrong = change.get("indices")
        if wrong:
            indices[:2] = wrong
        else:
            indptr[:3] = change["indptr"]
        model = Model(
            {**dict.fromkeys(rueful._data.SETTINGS), "loss": "square"},
            rueful._data.columns({}),
            X,
            constant=constant,
        )
        with pytest.raises(ValueError, match="X, row"):
            model.learn((indptr, indices, matrix.data, 2), Y.astype(float))


def test_a_run_that_diverged_says_so():
    rows = np.full((9, 1), 1e30)
    model = Regressor(learner="strongly-convex-ogd", sigma=1e-90)
    with pytest.raises(RuntimeError, match="diverged"):
        model.fit(rows, [1.0] * 9)


def test_nothing_is_there_before_it_is_fitted():
    from sklearn.exceptions import NotFittedError

    for ask in ("report", "certificate"):
        with pytest.raises(NotFittedError):
            getattr(Classifier(), ask)()
    with pytest.raises(NotFittedError):
        Classifier().predict(X)
    with pytest.raises(NotFittedError):
        Classifier().learn("data/phishing.libsvm")


def test_bytes_that_are_no_model():
    for what in (b"", b"nonsense", Classifier().fit(X, Y)._model.to_bytes()[:-3]):
        with pytest.raises(ValueError, match="model"):
            Model.from_bytes(what)


def test_radii_out_of_range():
    model = Classifier().fit(X, Y)
    for radius in (-1.0, 0.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="radius"):
            model.certificate(radius)
    assert model.certificate(np.float32(2.0)) == model.certificate(2.0)


def test_merged_runs_speak_of_both():
    front, back = Classifier().fit(X, Y), Classifier().fit(X[::-1], Y)
    front._model.merge(back._model)
    assert front.report()["examples"] == 12
    with pytest.raises(ValueError, match="itself"):
        front._model.merge(front._model)
    with pytest.raises(ValueError, match="different tasks"):
        front._model.merge(Classifier(radius=2.0).fit(X, Y)._model)


def test_matrices_that_are_learned_from_at_once_are_checked_as_all_others():
    model, slow = Classifier().fit(X, Y), Classifier().fit(X, Y)
    wrong = X.copy()
    wrong[4, 1] = np.nan
    for table in (wrong, scipy.sparse.csr_matrix(wrong)):
        for call in (model.predict, lambda table: model.partial_fit(table, Y)):
            with pytest.raises(ValueError, match="Input X contains NaN|row 4, column 1: found NaN"):
                call(table)
    # Columns that are out of order or come twice are put in order.
    rows = scipy.sparse.csr_matrix(([2.0, 1.0, 1.0, 3.0], [1, 0, 1, 1], [0, 2, 4]), shape=(2, 2))
    np.testing.assert_array_equal(model.predict(rows), model.predict(rows.toarray()))
    model.partial_fit(rows, np.array([0, 1]))
    slow.partial_fit(rows.toarray().tolist(), [0, 1])
    assert model._model.to_bytes() == slow._model.to_bytes()
    with pytest.raises(ValueError, match="found the class 7"):
        model.partial_fit(X, np.array([0, 1, 7, 0, 1, 0]))
    with pytest.raises(ValueError, match="classes: found"):
        model.partial_fit(X, Y, classes=[0, 2])
    assert model.partial_fit(X, Y, classes=[1, 0]).report()["examples"] == 14
    with pytest.raises(ValueError, match="3 features"):
        model.partial_fit(np.ones((2, 3)), np.array([0, 1]))


def test_names_of_files_that_are_no_text(tmp_path):
    name = os.fsencode(tmp_path) + b"/\xff.libsvm"
    try:
        with open(name, "wb") as file:
            file.write(b"1 1:1\n-1 2:1\n")
    except OSError:
        pytest.skip("this system has no such names")
    path = os.fsdecode(name)
    for file in (path, name, Path(path)):
        model = rueful.run(file)
        assert rueful.read(file)[0].shape == (2, 2)
        assert model.learn(file).report()["examples"] == 4
        assert model.predict([file]).tolist() == [1, -1]
        assert model.report()["spec"]["data"]["files"][0].endswith("/\ufffdFF.libsvm")
        assert pickle.loads(pickle.dumps(model)).learn(file).report()["examples"] == 6
    model = Classifier().fit(X, Y)
    model.save(path)
    np.testing.assert_array_equal(rueful.load(path).predict(X), model.predict(X))


def test_progress_is_told_and_cleared(capsys):
    model = Classifier().learn(X, Y, progress=True)
    told = capsys.readouterr().err
    assert f"{model.report()['examples']:,} examples, average loss" in told
    assert told.endswith("\r") and set(told.split("\r")[-2]) == {" "}
    Classifier().learn(X, Y, progress=False)
    assert capsys.readouterr().err == ""
