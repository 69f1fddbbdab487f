"""The estimators are estimators of scikit-learn."""

from __future__ import annotations

import copy
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import rueful
import rueful.river
import scipy.sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import check_regressors_train, parametrize_with_checks

ONLINE = "rows are learned from one after the other: one of weight 2 is a step, two are two steps"
ALPHA = (
    "the check sets alpha on whatever has it, and a setting without effect is refused: "
    "test_regressors_train runs it on one that has none"
)

CLASS_WEIGHT = (
    "the check has fifty rows whose columns are about 20 in size. One step for each of them is too "
    "few for a constant that is to outweigh such columns: "
    "test_weights_of_classes_decide passes with columns of size 1, and with more steps"
)


def expected_failures(estimator: object) -> dict[str, str]:
    failures = {
        "check_sample_weight_equivalence_on_dense_data": ONLINE,
        "check_sample_weight_equivalence_on_sparse_data": ONLINE,
    }
    if isinstance(estimator, rueful.OnlineRegressor):
        failures["check_regressors_train"] = ALPHA
    if isinstance(estimator, rueful.OnlineClassifier) and estimator.learner is not None:
        failures["check_class_weight_classifiers"] = CLASS_WEIGHT
    return failures


@parametrize_with_checks(
    [
        rueful.OnlineClassifier(),
        rueful.OnlineRegressor(),
        rueful.OnlineClassifier(loss="hinge"),
        rueful.OnlineClassifier(learner="ogd"),
        rueful.OnlineRegressor(learner="ogd"),
        rueful.OnlineClassifier(learner="ftrl"),
        rueful.OnlineClassifier(loss="softmax"),
        rueful.OnlineClassifier(learner="ogd", loss="multiclass-hinge"),
        rueful.OnlineRegressor(learner="ftrl"),
        rueful.OnlineClassifier(learner="passive-aggressive-1", loss="hinge"),
        rueful.OnlineRegressor(learner="passive-aggressive-2", loss="absolute"),
        rueful.OnlineClassifier(learner="strongly-convex-ogd", loss="hinge"),
        rueful.OnlineClassifier(learner="erm"),
        rueful.OnlineClassifier(learner="regularized-erm"),
        rueful.OnlineRegressor(loss="quantile", tau=0.5),
        rueful.OnlineClassifier(comparators="ball", no_constant=True),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_has_nothing_to_object(estimator, check):
    check(estimator)


class WithoutAlpha(rueful.OnlineRegressor):
    """The bank, without the setting that it has no use for."""

    def __init__(self, *, no_constant=False):
        self.no_constant = no_constant
        self.loss = None


@pytest.mark.parametrize("how", [{}, {"readonly_memmap": True}, {"X_dtype": np.float32}])
def test_regressors_train(how):
    check_regressors_train("WithoutAlpha", WithoutAlpha(), **how)


@pytest.mark.parametrize(
    ("learner", "loss"),
    [
        *((learner, None) for learner in ("bank", "ogd", "ftrl", "erm", "regularized-erm")),
        *((learner, "hinge") for learner in ("passive-aggressive-1", "strongly-convex-ogd")),
    ],
)
@pytest.mark.parametrize(("size", "passes"), [(1.0, 1), (20.0, 20)])
def test_weights_of_classes_decide(learner, loss, size, passes):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 2)) * size, rng.integers(0, 2, 100)
    weights = {0: 1000, 1: 0.0001}
    model = rueful.OnlineClassifier(learner=learner, loss=loss, class_weight=weights)
    for _ in range(passes):
        model.partial_fit(X[:50], y[:50])
    assert np.mean(model.predict(X[50:]) == 0) > 0.87


def test_pipelines_searches_and_scores(stream):
    X, y = stream
    pipeline = make_pipeline(StandardScaler(), rueful.OnlineClassifier())
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.7
    search = GridSearchCV(rueful.OnlineClassifier(), {"radius": [1.0, 10.0]}, cv=2, n_jobs=2)
    assert search.fit(X, y).best_params_["radius"] in (1.0, 10.0)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["colour"] = np.where(y, "red", "blue")
    encode = ColumnTransformer(
        [("number", StandardScaler(), list("abcdef")), ("word", OneHotEncoder(), ["colour"])]
    )
    assert make_pipeline(encode, rueful.OnlineClassifier()).fit(frame, y).score(frame, y) > 0.95


def test_clones_know_nothing_and_copies_everything(stream):
    X, y = stream
    model = rueful.OnlineClassifier(radius=3.0).fit(X, y)
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(model), "classes_")
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(twin.decision_function(X), model.decision_function(X))
        twin.partial_fit(X, y)
        assert twin.report()["examples"] == 2 * model.report()["examples"]


def test_a_pickle_holds_the_bytes_of_the_file(stream, tmp_path):
    X, y = stream
    model = rueful.OnlineClassifier().fit(X, y)
    model.save(tmp_path / "m.rueful")
    assert (tmp_path / "m.rueful").read_bytes() in pickle.dumps(model)


@pytest.mark.parametrize("kind", [rueful.OnlineClassifier, rueful.river.OnlineClassifier])
def test_pickles_of_a_version_with_fewer_settings_open(kind, stream):
    X, y = stream
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = kind(radius=3.0)
    if kind is rueful.OnlineClassifier:
        model.fit(frame, y == 1)
    else:
        model.learn_many(frame, pd.Series(y == 1))
    old = copy.copy(model)
    del old.bits, old.judge
    loaded = pickle.loads(pickle.dumps(old))
    assert (loaded.bits, loaded.judge, loaded.radius) == (None, None, 3.0)
    assert dict(loaded.report()) == dict(model.report())


def test_pickles_of_another_version_of_the_file_are_refused_with_its_words(stream, tmp_path):
    model = rueful.OnlineClassifier().fit(*stream)
    model.save(tmp_path / "m.rueful")
    whole = (tmp_path / "m.rueful").read_bytes()
    # The version comes after the twelve bytes that all files begin with.
    later = bytearray(whole)
    later[12] += 1
    (tmp_path / "later.rueful").write_bytes(later)
    with pytest.raises(ValueError, match="version") as of_file:
        rueful.load(tmp_path / "later.rueful")
    with pytest.raises(ValueError, match="version") as of_pickle:
        pickle.loads(pickle.dumps(model).replace(whole, bytes(later)))
    said = str(of_file.value).replace(str(tmp_path / "later.rueful"), "the model")
    assert str(of_pickle.value) == said


def _score(model, X):
    return model.decision_function(X)


def test_models_go_to_other_processes_and_come_back(stream):
    X, y = stream
    models = [rueful.OnlineClassifier(radius=r).fit(X, y) for r in (1.0, 10.0)]
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(_score)(model, X) for model in models)
    for model, scores in zip(models, found, strict=True):
        np.testing.assert_array_equal(scores, model.decision_function(X))


@pytest.mark.parametrize("fold", [1, 7, 400])
def test_parts_make_the_same_model_as_the_whole(stream, fold):
    X, y = stream
    whole = rueful.OnlineClassifier().fit(X, y)
    parts = rueful.OnlineClassifier()
    for start in range(0, len(y), fold):
        rows = slice(start, start + fold)
        parts.partial_fit(X[rows], y[rows], classes=[0, 1])
    assert parts._model.to_bytes() == whole._model.to_bytes()
    assert dict(parts.report()) == dict(whole.report())


LAYOUTS = {
    "c": np.ascontiguousarray,
    "fortran": np.asfortranarray,
    "every other": lambda X: np.repeat(X, 2, axis=0)[::2],
    "sparse": scipy.sparse.csr_matrix,
    "sparse array": scipy.sparse.csr_array,
    "columns": scipy.sparse.csc_matrix,
    "list": lambda X: X.tolist(),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("no_constant", [False, True])
def test_where_rows_lie_makes_no_difference(stream, layout, kind, no_constant):
    X, y = stream
    # What is learned from has single precision, wherever it comes from.
    X = X.astype(np.float32).astype(kind)
    model = rueful.OnlineClassifier(no_constant=no_constant).fit(X, y)
    other = rueful.OnlineClassifier(no_constant=no_constant).fit(LAYOUTS[layout](X), y)
    assert other._model.to_bytes() == model._model.to_bytes()
    np.testing.assert_array_equal(
        other.decision_function(LAYOUTS[layout](X)), model.decision_function(X)
    )


def test_singles_without_zeros_are_used_where_they_lie():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 20)).astype(np.float32)
    y = X[:, 0] > 0
    placed = rueful.OnlineClassifier(no_constant=True).fit(X, y)
    copied = rueful.OnlineClassifier(no_constant=True).fit(X.astype(np.float64), y)
    assert placed._model.to_bytes() == copied._model.to_bytes()


def test_duplicates_in_sparse_matrices_add_up():
    data = ([1.0, 2.0, 3.0, 1.0], ([0, 0, 1, 2], [1, 1, 0, 1]))
    X = scipy.sparse.coo_matrix(data, shape=(3, 2))
    y = [1.0, 2.0, 3.0]
    sparse = rueful.OnlineRegressor().fit(X, y)
    dense = rueful.OnlineRegressor().fit(X.toarray(), y)
    assert sparse._model.to_bytes() == dense._model.to_bytes()


def test_weights_are_those_of_a_linear_predictor(stream):
    X, y = stream
    model = rueful.OnlineClassifier(learner="ogd", loss="hinge").fit(X, y)
    by_hand = X.astype(np.float32) @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), by_hand, rtol=1e-9, atol=1e-9)
    regressor = rueful.OnlineRegressor(learner="ogd", gradient_bound=100).fit(X, y)
    by_hand = X.astype(np.float32) @ regressor.coef_ + regressor.intercept_
    np.testing.assert_allclose(regressor.predict(X), by_hand, rtol=1e-9, atol=1e-9)


def test_probabilities_are_those_of_the_scores(stream):
    X, y = stream
    model = rueful.OnlineClassifier().fit(X, y)
    scores, chances = model.decision_function(X), model.predict_proba(X)
    np.testing.assert_allclose(chances[:, 1], 1 / (1 + np.exp(-scores)), rtol=1e-12)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), chances, rtol=1e-9)
    assert not hasattr(rueful.OnlineClassifier(loss="hinge"), "predict_proba")


def test_weights_of_rows_and_classes(stream):
    X, y = stream
    weights = np.where(y == 1, 3.0, 1.0)
    by_row = rueful.OnlineClassifier().fit(X, y, sample_weight=weights)
    by_class = rueful.OnlineClassifier(class_weight={0: 1.0, 1: 3.0}).fit(X, y)
    assert by_row._model.to_bytes() == by_class._model.to_bytes()
    parts = rueful.OnlineClassifier(class_weight={0: 1.0, 1: 3.0})
    parts.partial_fit(X[:9], y[:9], classes=[0, 1]).partial_fit(X[9:], y[9:])
    assert parts._model.to_bytes() == by_row._model.to_bytes()
    idle = weights * (np.arange(len(y)) % 2)
    half = rueful.OnlineClassifier().fit(X, y, sample_weight=idle)
    assert half.report()["examples"] == 200
    balanced = rueful.OnlineClassifier(class_weight="balanced").fit(X, y)
    assert balanced.report()["examples"] == 400
    with pytest.raises(ValueError, match="needs all labels at once"):
        rueful.OnlineClassifier(class_weight="balanced").partial_fit(X, y)


@pytest.mark.parametrize(
    ("kind", "labels"),
    [("words", ["ham", "spam"]), ("truths", [False, True]), ("signs", [-1, 1]), ("others", [3, 7])],
)
def test_classes_come_back_as_they_were(stream, tmp_path, kind, labels):
    X, y = stream
    classes = np.array(labels)
    model = rueful.OnlineClassifier().fit(X, classes[y])
    assert set(model.predict(X).tolist()) == set(labels)
    model.save(tmp_path / "m.rueful")
    loaded = rueful.load(tmp_path / "m.rueful")
    assert loaded.classes_.tolist() == model.classes_.tolist()
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    loaded.partial_fit(X, classes[y])
    assert loaded.report()["examples"] == 800


def test_a_learner_that_must_know_the_stream_looks_at_it_first(stream):
    X, y = stream
    model = rueful.OnlineClassifier(learner="minimax").fit(X, y)
    assert model.report()["spec"]["learner"]["horizon"] == 400
    assert "counted in a first pass" in str(model.report())
    with pytest.raises(ValueError, match="give horizon and gradient_bound"):
        rueful.OnlineClassifier(learner="minimax").partial_fit(X, y)


class Proud(rueful.OnlineClassifier):
    """A subclass with a setting of its own."""

    def __init__(self, *, motto="none", radius=None):
        super().__init__(radius=radius)
        self.motto = motto


def test_subclasses_are_estimators(stream):
    X, y = stream
    model = clone(Proud(motto="onward", radius=2.0)).fit(X, y)
    assert (model.motto, model.get_params()["radius"]) == ("onward", 2.0)
    assert pickle.loads(pickle.dumps(model)).score(X, y) == model.score(X, y)
