"""The models are models of River."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("river")

import rueful
import rueful.river
from river import checks, compose, datasets, drift, evaluate, metrics, preprocessing

MODELS = [
    rueful.river.OnlineClassifier(),
    rueful.river.OnlineRegressor(),
    rueful.river.OnlineClassifier(loss="hinge"),
    rueful.river.OnlineClassifier(learner="ftrl", l1=0.1),
    rueful.river.OnlineClassifier(loss="softmax"),
    rueful.river.OnlineClassifier(learner="ogd", loss="multiclass-hinge"),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_river_has_nothing_to_object(model):
    checks.check_estimator(model.clone())


def test_pipelines_and_progressive_scores():
    model = preprocessing.StandardScaler() | rueful.river.OnlineClassifier()
    score = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.ROCAUC())
    assert score.get() > 0.93
    words = compose.Select("b") + compose.Select("a") | rueful.river.OnlineRegressor()
    for t in range(30):
        words.learn_one({"a": t % 3, "b": "odd" if t % 2 else "even", "c": 1}, float(t % 3))
    assert abs(words.predict_one({"a": 2, "b": "odd", "c": 5}) - 2) < 0.5


def test_drift_detectors_see_its_mistakes():
    rng = np.random.default_rng(7)
    rows = [{"a": float(a), "b": float(b)} for a, b in rng.normal(size=(3000, 2))]
    # In the second half there is nothing to learn any more.
    labels = [x["a"] > 0 if t < 1500 else bool(rng.random() < 0.5) for t, x in enumerate(rows)]
    model, detector, found = rueful.river.OnlineClassifier(learner="ogd"), drift.ADWIN(), []
    anew = drift.DriftRetrainingClassifier(model.clone(), drift.binary.DDM(warm_start=100))
    accuracy = metrics.Accuracy()
    for t, (x, y) in enumerate(zip(rows, labels, strict=True)):
        detector.update(int(model.predict_one(x) != y))
        found += [t] if detector.drift_detected else []
        accuracy.update(y, anew.predict_one(x))
        model.learn_one(x, y)
        anew.learn_one(x, y)
    assert 1500 < found[0] < 2000
    # The model that starts anew has seen only what came since.
    assert anew.model.report()["examples"] < 1500 < model.report()["examples"]
    assert accuracy.get() > 0.7


def test_what_came_before_is_told_with_what_it_cost():
    # Without a loss it says nothing before the first label, and River does not count that.
    model = rueful.river.OnlineClassifier(loss="logistic")
    metric = metrics.Accuracy()
    evaluate.progressive_val_score(datasets.Phishing(), model, metric)
    report = model.report()
    assert 1 - report["mistake_rate"] == pytest.approx(metric.get(), abs=1e-12)
    assert model.certificate() == report["certificate"]
    # A name that is a number would be an index; these are words.
    assert "empty_server_form_handler" in model.weights


def test_copies_and_pickles_go_on():
    rows = list(datasets.Phishing())
    model, whole = rueful.river.OnlineClassifier(), rueful.river.OnlineClassifier()
    for x, y in rows:
        whole.learn_one(x, y)
    for x, y in rows[:600]:
        model.learn_one(x, y)
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        for x, y in rows[600:]:
            twin.learn_one(x, y)
        assert twin.weights == whole.weights
        assert dict(twin.report()) == dict(whole.report())
    assert model.clone().report()["examples"] == 0


def test_files_are_those_of_rueful(tmp_path):
    model = rueful.river.OnlineRegressor()
    for t in range(20):
        model.learn_one({"x": float(t % 4), "kind": "ab"[t % 2]}, float(t % 4))
    model.save(tmp_path / "m.rueful")
    assert rueful.load(tmp_path / "m.rueful").weights_ == model.weights


def test_other_labels_gaps_and_weights():
    model = rueful.river.OnlineClassifier(positive="spam", negative="ham")
    for t in range(40):
        model.learn_one({"n": t % 2, "gap": None, "word": "x"}, "spam" if t % 2 else "ham", w=2.0)
    assert model.predict_one({"n": 1}) == "spam" and model.predict_one({"n": 0}) == "ham"
    assert set(model.predict_proba_one({"n": 1})) == {"spam", "ham"}
    with pytest.raises(ValueError, match="found the label 'eggs'"):
        model.learn_one({"n": 1}, "eggs")
    with pytest.raises(ValueError, match="row 0, n: found list"):
        model.learn_one({"n": [1]}, "ham")
    with pytest.raises(ValueError, match="row 0, n: found"):
        model.learn_one({"n": "one"}, "ham")
    assert model.report()["examples"] == 40
    assert model.predict_many(pd.DataFrame({"n": [0, 1]})).tolist() == ["ham", "spam"]
    assert len(model.predict_many(pd.DataFrame({"n": []}))) == 0


def test_predictions_leave_no_trace():
    quiet, asked = rueful.river.OnlineRegressor(), rueful.river.OnlineRegressor()
    for t in range(20):
        x = {"a": float(t % 3), "word": "ab"[t % 2]}
        asked.predict_one({**x, f"never learned {t}": 1.0, "word": f"unknown {t}"})
        quiet.learn_one(x, float(t))
        asked.learn_one(x, float(t))
    assert asked._model().to_bytes() == quiet._model().to_bytes()


def test_keys_may_be_anything():
    model = rueful.river.OnlineRegressor()
    for key in ("", "-", "--", "label", "\0label", "\0importance", "ключ", "a=b", (1, 2), None, 3.5):
        model.learn_one({key: 1.0, "x": 2.0}, 1.0)
    assert model.report()["examples"] == 11


def test_keys_may_be_numbers():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 3)))
    y = pd.Series(frame[0] * 2)
    singly, many = rueful.river.OnlineRegressor(), rueful.river.OnlineRegressor()
    for row, label in zip(frame.to_dict(orient="records"), y, strict=True):
        singly.learn_one(row, label)
    many.learn_many(frame, y)
    assert singly.weights == many.weights
    np.testing.assert_array_equal(
        many.predict_many(frame), [singly.predict_one(row) for row in frame.to_dict("records")]
    )


def test_dicts_that_are_refused_leave_nothing_behind():
    clean, tried = rueful.river.OnlineRegressor(), rueful.river.OnlineRegressor()
    for model in (clean, tried):
        model.learn_one({"a": 1.0}, 1.0)
    for t in range(20):
        x = {"a": 1.0 + t % 3, "word": "ab"[t % 2]}
        for wrong in ({"a": 5.0, "new": [1]}, {"a": 5.0, "late": "x", "word": {}}, {"a": "five"}):
            with pytest.raises(ValueError, match="row 0"):
                tried.learn_one({**x, **wrong}, 1.0)
            with pytest.raises(ValueError, match="row 1"):
                tried._model().learn([x, {**x, **wrong}], np.ones(2))
        clean.learn_one(x, float(t))
        tried.learn_one(x, float(t))
    assert tried._model().to_bytes() == clean._model().to_bytes()
    # What the key of a refused dict held says nothing about what it holds later.
    tried.learn_one({"new": "a word", "late": 2.0}, 1.0)
    assert "new=a word" in tried.weights


def test_keys_that_come_and_go_are_the_same_features():
    singly, together = rueful.river.OnlineRegressor(), rueful.OnlineRegressor()
    rng = np.random.default_rng(1)
    keys = rng.integers(0, 3000, (400, 12))
    rows = [{f"k{k}": 1.0 for k in row} | {"w": "ab"[row[0] % 2]} for row in keys]
    y = rng.normal(size=400)
    for x, label in zip(rows, y, strict=True):
        singly.learn_one(x, label)
    together.fit(rows, y)
    assert singly.weights == together.weights_
    assert singly.report()["features"] == together.report()["features"]
    one = [singly.predict_one(x) for x in rows]
    np.testing.assert_array_equal(one, together.predict(rows))


def test_numbers_of_all_kinds_are_numbers():
    rng = np.random.default_rng(4)
    plain, numpy = rueful.river.OnlineRegressor(), rueful.river.OnlineRegressor()
    for t in range(60):
        a, b, c = float(rng.normal()), int(rng.integers(0, 9)), bool(rng.random() < 0.5)
        plain.learn_one({"a": a, "b": b, "c": c, "d": 0.5}, a)
        numpy.learn_one({"a": np.float64(a), "b": np.int64(b), "c": c, "d": np.float32(0.5)}, a)
    assert plain._model().to_bytes() == numpy._model().to_bytes()


def test_the_same_keys_in_another_order_are_the_same_row():
    rng = np.random.default_rng(5)
    sorted_, mixed = rueful.river.OnlineRegressor(), rueful.river.OnlineRegressor()
    for t in range(200):
        values = rng.normal(size=6)
        sorted_.learn_one({f"k{j}": float(values[j]) for j in range(6)}, float(t % 7))
        # Now and then the order of the keys changes, one is new, or one holds a word.
        order = range(6) if t % 3 else rng.permutation(6)
        mixed.learn_one({f"k{j}": float(values[j]) for j in order}, float(t % 7))
        for model in (sorted_, mixed):
            if t % 20 == 0:
                model.learn_one({f"new{t}": 1.0, "k3": 2.0, "word": "a"}, 1.0)
    assert sorted_.weights == mixed.weights
    assert dict(sorted_.report()) == dict(mixed.report())


def test_frames_with_gaps_far_behind_are_learned_from_as_dicts_are():
    rng = np.random.default_rng(6)
    frame = pd.DataFrame(rng.normal(size=(1500, 20)), columns=[f"c{j}" for j in range(20)])
    frame.iloc[1100, 3] = np.nan
    y = pd.Series(rng.normal(size=1500))
    singly, whole, parts = (rueful.river.OnlineRegressor() for _ in range(3))
    for row, label in zip(frame.to_dict(orient="records"), y, strict=True):
        singly.learn_one(row, label)
    whole.learn_many(frame, y)
    for start in range(0, 1500, 250):
        # The columns are equal, and another object every time.
        part = frame[start : start + 250].rename(columns=str)
        parts.learn_many(part, y[start : start + 250])
        np.testing.assert_array_equal(
            parts.predict_many(part.fillna(0.0))[:2],
            [parts.predict_one(row) for row in part.fillna(0.0)[:2].to_dict(orient="records")],
        )
    assert singly.weights == whole.weights == parts.weights
    assert "c3·missing" in whole.weights
    assert dict(whole.report()) == dict(parts.report())


def test_the_exact_regret_is_that_of_the_estimator():
    rows = list(datasets.Phishing())
    examples, labels = [x for x, _ in rows], [y for _, y in rows]
    model = rueful.river.OnlineClassifier()
    for x, y in rows:
        model.learn_one(x, y)
    solved = model.regret(examples, labels)
    assert solved["sequential_risk"] == model.report()["sequential_risk"]
    assert solved["regret"]["lower"] <= solved["regret"]["upper"] <= solved["certificate"]
    frame = pd.DataFrame(examples)
    estimator = rueful.OnlineClassifier().fit(frame, labels)
    assert estimator.regret(frame, labels)["regret"] == solved["regret"]
    assert dict(model.regret(frame, pd.Series(labels))) == dict(solved)
    assert model.regret(examples, labels, w=[2.0] * 1250)["examples"] == 1250
    numbers = rueful.river.OnlineRegressor()
    numbers.learn_one({"a": 1.0}, 2.0)
    assert numbers.regret([{"a": 1.0}] * 5, [2.0] * 5)["regret"]["upper"] > 0
