"""Any number of classes: the estimators, River, files, and what the program says of them."""

from __future__ import annotations

import copy
import csv
import json
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import rueful
import rueful.river
import scipy.sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

FLOWERS = "docs/flowers.csv"
HINGE = {"learner": "ogd", "loss": "multiclass-hinge", "radius": 5.0}


def program(*args: object) -> str:
    command = [sys.executable, "-m", "rueful", *map(str, args)]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout


def known(report) -> dict:
    """A report but for where its data came from."""
    report = json.loads(json.dumps(dict(report)))
    report["spec"].pop("data", None)
    return report


@pytest.fixture
def flowers() -> tuple[pd.DataFrame, np.ndarray]:
    frame = pd.read_csv(FLOWERS)
    return frame.drop(columns="species"), frame["species"].to_numpy(dtype=object)


@pytest.fixture
def digits() -> tuple[np.ndarray, np.ndarray]:
    """Rows of four classes that overlap a little, numbered out of order."""
    rng = np.random.default_rng(3)
    centres = rng.normal(size=(4, 5)) * 2
    y = rng.integers(0, 4, 600)
    return centres[y] + rng.normal(size=(600, 5)), np.array([7, 3, 9, 1])[y]


@pytest.mark.parametrize("settings", [{}, {"loss": "softmax", "radius": 3.0}, HINGE], ids=str)
def test_the_program_and_python_agree_to_the_last_bit(settings, flowers, tmp_path):
    saved, out = tmp_path / "program.rueful", tmp_path / "scores.csv"
    flags = [part for name, value in settings.items() for part in (f"--{name}", value)]
    said = json.loads(
        program("run", FLOWERS, "--label", "species", "--quiet", "--json", "--save", saved, *flags)
    )
    X, y = flowers
    from_file = rueful.run(FLOWERS, label="species", **settings)
    assert from_file._model.to_bytes() == saved.read_bytes()
    loaded = rueful.load(saved)
    memory = rueful.OnlineClassifier(**settings).fit(X, y)
    program("predict", saved, FLOWERS, "--as", "score", "--out", out, "--quiet")
    with open(out) as file:
        names, *rows = csv.reader(file)
    for model in (from_file, loaded, memory):
        assert known(model.report()) == known(said)
        assert model.classes_.tolist() == ["aster", "iris", "lily", "rose"]
        scores = model.decision_function(X)
        for place, name in enumerate(names):
            column = [float(row[place]) for row in rows]
            np.testing.assert_array_equal(scores[:, list(model.classes_).index(name)], column)
        np.testing.assert_array_equal(model.decision_function(FLOWERS), scores)
    program("predict", saved, FLOWERS, "--out", out, "--quiet")
    assert out.read_text().split() == memory.predict(X).tolist()


@pytest.mark.parametrize("settings", [{"loss": "softmax"}, HINGE], ids=str)
@pytest.mark.parametrize("fold", [1, 7, 100])
def test_parts_make_the_same_model_as_the_whole(digits, settings, fold):
    X, y = digits
    whole = rueful.OnlineClassifier(**settings).fit(X, y)
    parts = rueful.OnlineClassifier(**settings)
    for start in range(0, len(y), fold):
        parts.partial_fit(X[start : start + fold], y[start : start + fold])
    assert parts._model.to_bytes() == whole._model.to_bytes()
    assert parts.classes_.tolist() == [1, 3, 7, 9]
    for layout in (scipy.sparse.csr_matrix, np.asfortranarray):
        other = rueful.OnlineClassifier(**settings).fit(layout(X), y)
        assert other._model.to_bytes() == whole._model.to_bytes()
        np.testing.assert_array_equal(other.predict(layout(X)), whole.predict(X))


@pytest.mark.parametrize(
    "labels", [[7, 3, 9, 1], ["w", "aa", "b", "c"], [2.0, 1.0, 4.0, 3.0]], ids=str
)
def test_shapes_and_classes(digits, labels, tmp_path):
    X, y = digits
    y = np.array(labels)[np.searchsorted([1, 3, 7, 9], y)]
    model = rueful.OnlineClassifier().fit(X, y)
    assert model.classes_.tolist() == sorted(labels)
    chances, scores = model.predict_proba(X), model.decision_function(X)
    assert chances.shape == scores.shape == (600, 4)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(model.classes_[chances.argmax(axis=1)], model.predict(X))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), chances, rtol=1e-12)
    assert model.score(X, y) > 0.85
    assert (model.coef_.shape, model.intercept_.shape) == ((4, 5), (4,))
    # Weights tell the classes apart as the model does.
    by_hand = model.classes_[np.argmax(X @ model.coef_.T + model.intercept_, axis=1)]
    assert np.mean(by_hand == model.predict(X)) > 0.9
    assert set(model.weights_) == set(labels)
    model.save(tmp_path / "m.rueful")
    loaded = rueful.load(tmp_path / "m.rueful")
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), loaded):
        assert twin.classes_.tolist() == model.classes_.tolist()
        np.testing.assert_array_equal(twin.predict_proba(X), chances)
        twin.partial_fit(X, y)
        assert twin.report()["examples"] == 1200
    assert not hasattr(clone(model), "classes_")
    again = clone(loaded).fit(X, y)
    assert again._model.to_bytes() == model._model.to_bytes()


def test_weights_of_descent_are_those_of_a_linear_predictor(digits):
    X, y = digits
    model = rueful.OnlineClassifier(**HINGE).fit(X, y)
    by_hand = X.astype(np.float32) @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), by_hand, rtol=1e-9, atol=1e-9)
    assert not hasattr(model, "predict_proba")
    frame = pd.DataFrame(X, columns=list("abcde"))
    named = rueful.OnlineClassifier(**HINGE).fit(frame, y)
    np.testing.assert_allclose(named.coef_, model.coef_, rtol=1e-9, atol=1e-12)


def test_classes_come_at_any_time(digits):
    X, y = digits
    model = rueful.OnlineClassifier(loss="softmax")
    model.partial_fit(X[y == 7], y[y == 7])
    assert model.predict_proba(X).shape == (600, 1)
    assert set(model.predict(X)) == {7}
    model.partial_fit(X[y == 3], y[y == 3])
    assert model.decision_function(X).shape == (600,)
    assert (model.coef_.shape, model.intercept_.shape) == ((1, 5), (1,))
    np.testing.assert_array_equal(model.decision_function(X) > 0, model.predict(X) == 7)
    rest = np.isin(y, [1, 9])
    model.partial_fit(X[rest], y[rest])
    assert model.classes_.tolist() == [1, 3, 7, 9]
    report = model.report()
    assert [one["label"] for one in report["classes"]] == [
        *("7", "3"),
        *(str(one) for one in dict.fromkeys(y[rest].tolist())),
    ]
    pairs = report["confusion_matrix"]
    assert sum(pair["examples"] for pair in pairs) == report["examples"] == 600
    assert {1, 9} <= set(model.predict(X))


def test_classes_that_are_announced_have_a_place(digits):
    X, y = digits
    model = rueful.OnlineClassifier()
    model.partial_fit(X[y < 5], y[y < 5], classes=[1, 3, 7, 9])
    chances = model.predict_proba(X)
    assert chances.shape == (600, 4)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-12)
    assert np.all(chances > 0) and set(model.predict(X)) == {1, 3}
    np.testing.assert_allclose(model.decision_function(X), np.log(chances))
    model.partial_fit(X[y > 5], y[y > 5], classes=[1, 3, 7, 9])
    assert {7, 9} <= set(model.predict(X)) <= {1, 3, 7, 9}
    with pytest.raises(ValueError, match="classes: found"):
        model.partial_fit(X, y, classes=[1, 3, 7, 10])
    hinge = rueful.OnlineClassifier(**HINGE).partial_fit(X[y < 5], y[y < 5], classes=[1, 3, 7, 9])
    assert set(hinge.predict(X)) == {1, 3}


def test_the_first_rows_decide_the_loss(digits):
    X, y = digits

    def loss(labels, **settings):
        model = rueful.OnlineClassifier(**settings).partial_fit(X[: len(labels)], labels)
        return model.report()["spec"]["loss"]["name"]

    assert loss(["a", "b"]) == loss([0, 5]) == loss([True]) == "logistic"
    assert loss(["a", "b", "c"]) == loss([1, 2, 3]) == loss(["a"]) == "softmax"
    with pytest.raises(ValueError, match="loss='softmax' takes them as they come"):
        loss([1, 1])
    with pytest.raises(ValueError, match="y has one class"):
        rueful.OnlineClassifier().fit(X[:2], ["a", "a"])
    two = rueful.OnlineClassifier().partial_fit(X[:2], ["a", "b"])
    with pytest.raises(ValueError, match=r"y, row 1: found the class 'c'.*loss='softmax'"):
        two.partial_fit(X[:2], ["a", "c"])
    for learner in ("ogd", "ftrl"):
        with pytest.raises(ValueError, match="y has 3 classes, expected two"):
            loss([1, 2, 3], learner=learner)
    with pytest.raises(ValueError, match="eta has no effect on the softmax loss"):
        loss([1, 2, 3], eta=0.1)


def test_labels_that_are_refused_leave_nothing_behind(digits):
    X, y = digits
    model = rueful.OnlineClassifier(loss="softmax").partial_fit(X[:300], y[:300])
    before, bad = model._model.to_bytes(), X[:2].copy()
    bad[1, 1] = np.nan
    for wrong_X, wrong_y in [
        (bad, [5, 6]),
        (X[:2], ["a", "b"]),
        (X[:2], [5.0, np.nan]),
        (X[:2], [0.5, 1.5]),
        (X[:3], [5, 6]),
        (X[:2, :3], [5, 6]),
    ]:
        with pytest.raises(ValueError):
            model.partial_fit(wrong_X, np.array(wrong_y))
        assert model.classes_.tolist() == [1, 3, 7, 9]
        assert model._model.to_bytes() == before
    model.partial_fit(X[:2], [5, 6])
    assert model.classes_.tolist() == [1, 3, 5, 6, 7, 9]


def test_frames_that_are_refused_late_stay_numbered(digits):
    pa = pytest.importorskip("pyarrow")
    X, y = digits
    table = pa.table({"a": X[:, 0], "w": np.where(y > 5, "x", "y")})
    model = rueful.OnlineClassifier(loss="softmax").fit(table, y)
    wrong = pa.table({"a": [1.0, float("inf")], "w": ["x", "y"]})
    with pytest.raises(ValueError, match="inf"):
        model.partial_fit(wrong, [12, 11])
    model.partial_fit(table, np.where(y == 1, 11, y))
    assert 11 in model.classes_
    names = model._model.class_names()
    assert len(names) == len(set(names)) and names[model._many.numbers[-1]] == str(
        model.classes_[-1]
    )


def test_weights_of_rows_and_classes(digits):
    X, y = digits
    weights = np.where(y == 7, 3.0, 1.0)
    by_row = rueful.OnlineClassifier().fit(X, y, sample_weight=weights)
    by_class = rueful.OnlineClassifier(class_weight={7: 3.0}).fit(X, y)
    assert by_row._model.to_bytes() == by_class._model.to_bytes()
    parts = rueful.OnlineClassifier(class_weight={7: 3.0}, loss="softmax")
    parts.partial_fit(X[:9], y[:9]).partial_fit(X[9:], y[9:])
    assert parts._model.to_bytes() == by_row._model.to_bytes()
    balanced = rueful.OnlineClassifier(class_weight="balanced").fit(X, y)
    counts = {label: (y == label).sum() for label in (1, 3, 7, 9)}
    by_hand = np.array([600 / (4 * counts[label]) for label in y.tolist()])
    same = rueful.OnlineClassifier().fit(X, y, sample_weight=by_hand)
    assert balanced._model.to_bytes() == same._model.to_bytes()
    idle = weights * (np.arange(600) % 2)
    assert rueful.OnlineClassifier().fit(X, y, sample_weight=idle).report()["examples"] == 300


def test_searches_scores_and_proofs(digits):
    X, y = digits
    assert cross_val_score(rueful.OnlineClassifier(), X, y, cv=3).mean() > 0.8
    search = GridSearchCV(rueful.OnlineClassifier(), {"radius": [1.0, 10.0]}, cv=2)
    assert search.fit(X, y).best_score_ > 0.8
    model = rueful.OnlineClassifier().fit(X, y)
    assert model.certificate() == model.report()["certificate"]
    assert model.certificate(radius=1.0) <= model.certificate(radius=2.0)
    report = model.report()
    assert "Confusion" in str(report) and "<svg" in report.to_html() and "<svg" in report.to_svg()
    assert report.metrics()["rueful.mistake_rate"] == report["mistake_rate"]


@pytest.mark.parametrize("settings", [{"loss": "softmax"}, HINGE], ids=str)
def test_the_exact_regret_of_many_classes_is_that_of_the_program(settings, flowers):
    X, y = flowers
    flags = [part for name, value in settings.items() for part in (f"--{name}", value)]
    told = program("run", FLOWERS, "--label", "species", *flags, "--hindsight", "--quiet", "--json")
    said = json.loads(told)
    model = rueful.OnlineClassifier(**settings).fit(X, y)
    exact = model.regret(X, y)
    assert known(exact) == known(said)
    assert exact["regret"]["lower"] <= exact["regret"]["upper"] <= exact["certificate"]
    # Other data are a run of their own, whose classes come in another order.
    order = np.argsort(y, kind="stable")[20:]
    alone = rueful.OnlineClassifier(**settings).fit(X.iloc[order], y[order])
    assert model.regret(X.iloc[order], y[order])["regret"] == alone.regret(X.iloc[order], y[order])["regret"]
    asked = ["--label", "species", "--loss", settings["loss"], "--json", "--quiet"]
    of_program = json.loads(program("hindsight", FLOWERS, *asked))
    found = rueful.hindsight(X, y, loss=settings["loss"])
    assert {key: found[key] for key in found} == {key: of_program[key] for key in found}
    assert {weight["class"] for weight in found["largest_weights"]} <= set(y)


def test_hindsight_knows_how_many_classes_there_are(flowers, digits):
    assert rueful.hindsight(*flowers)["loss"] == {"name": "softmax"}
    assert rueful.hindsight(*digits)["loss"] == {"name": "square"}
    weights = np.where(flowers[1] == "rose", 2.0, 1.0)
    heavy = rueful.hindsight(*flowers, sample_weight=weights)["comparator"]
    assert heavy["upper"] > rueful.hindsight(*flowers)["comparator"]["upper"]
    with pytest.raises(ValueError, match="y has 4 classes, expected two"):
        rueful.hindsight(*flowers, loss="logistic")


def test_audits_of_many_classes_are_those_of_the_program(flowers, tmp_path):
    X, y = flowers
    classes = ["rose", "iris", "lily", "aster"]
    rng = np.random.default_rng(0)
    said = rng.dirichlet(np.ones(4), len(y)) * 0.5 + 0.5 * (y[:, np.newaxis] == classes)
    table = tmp_path / "said.csv"
    pd.DataFrame(said, columns=classes).to_csv(table, index=False, float_format="%.17g")
    for loss in ("softmax", "multiclass-hinge"):
        flags = ["--label", "species", "--loss", loss, "--window", 40, "--predictions", table]
        told = json.loads(program("audit", FLOWERS, *flags, "--json", "--quiet"))
        books = rueful.Audit(loss=loss, window=40, classes=classes).observe(X, y, said)
        report = dict(books.report())
        assert report == {key: told[key] for key in report}
        assert len(books.windows()) == 4
        # One by one, put away, and in parts: the same.
        singly = rueful.Audit(loss=loss, window=40, classes=classes)
        for row in range(100):
            singly.observe(X.iloc[row : row + 1], y[row : row + 1], said[row : row + 1])
        singly = pickle.loads(pickle.dumps(singly)).observe(X.iloc[100:], y[100:], said[100:])
        assert dict(singly.report()) == report
        halves = [
            rueful.Audit(loss=loss, window=40, classes=classes).observe(X.iloc[part], y[part], said[part])
            for part in (slice(0, 80), slice(80, None))
        ]
        merged = halves[0].merge(halves[1]).report()
        assert merged["examples"] == 160 and merged["mistake_rate"] == report["mistake_rate"]
        assert merged["sequential_risk"] == pytest.approx(report["sequential_risk"])
    one = rueful.Audit(loss="softmax", classes=classes)
    one.observe({"petals": 3}, "iris", {"iris": 0.5, "rose": 0.5})
    assert one.report()["sequential_risk"] == pytest.approx(np.log(2))
    assert one.certificate(radius=1e-9) < 1e-6 < one.certificate(radius=5.0)


def test_what_an_audit_of_classes_refuses():
    with pytest.raises(ValueError, match="classes: the softmax loss has a prediction for every class"):
        rueful.Audit(loss="softmax")
    with pytest.raises(ValueError, match="classes: the hinge loss has one prediction"):
        rueful.Audit(loss="hinge", classes=[1, 2])
    with pytest.raises(ValueError, match="positive: the softmax loss is of all classes"):
        rueful.Audit(loss="softmax", classes=[1, 2], positive=1)
    books = rueful.Audit(loss="softmax", classes=["a", "b", "c"])
    X = [[1.0], [2.0]]
    even = np.full((2, 3), 1 / 3)
    with pytest.raises(ValueError, match="row 1: found the class 'd'"):
        books.observe(X, ["a", "d"], even)
    with pytest.raises(ValueError, match=r"prediction: found the shape \(2, 2\)"):
        books.observe(X, ["a", "b"], even[:, :2])
    with pytest.raises(ValueError, match="row 0 has probabilities that add up to 3"):
        books.observe(X, ["a", "b"], even * 3)
    with pytest.raises(ValueError, match="row 1: found the prediction NaN"):
        books.observe(X, ["a", "b"], np.where([[False], [True]], np.nan, even))
    with pytest.raises(ValueError, match="row 1 has the class 1, which was given the probability 0"):
        books.observe(X, ["a", "b"], [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    assert books.report()["examples"] == 0


def test_models_of_many_classes_are_audited(digits, flowers):
    from sklearn.linear_model import SGDClassifier

    X, y = digits
    own = rueful.audit(rueful.OnlineClassifier(loss="softmax"), X, y, batch=50).report()
    assert own["loss"] == {"name": "softmax"} and own["examples"] == len(y)
    named = rueful.audit(SGDClassifier(loss="log_loss", random_state=0), X, y, batch=20, window=100)
    assert named.report()["loss"] == {"name": "softmax"}
    assert own["sequential_risk"] < named.report()["sequential_risk"]
    scored = rueful.audit(SGDClassifier(random_state=0), X, y, batch=20)
    assert scored.report()["loss"] == {"name": "multiclass-hinge"}
    of_two = rueful.audit(SGDClassifier(random_state=0), X, y > 4, loss="multiclass-hinge", batch=20)
    of_one = rueful.audit(SGDClassifier(random_state=0), X, y > 4, loss="hinge", batch=20)
    risks = [books.report()["sequential_risk"] for books in (of_two, of_one)]
    assert risks[0] == pytest.approx(risks[1])


def test_streams_of_classes(flowers, digits, tmp_path):
    X, y = flowers
    batches = ((X[at : at + 20], y[at : at + 20]) for at in range(0, len(y), 20))
    streamed = rueful.run(batches, loss="softmax")
    assert known(streamed.report()) == known(rueful.run(X, y).report())
    # Numbers are quantities unless somebody says otherwise.
    assert isinstance(rueful.run(*digits), rueful.OnlineRegressor)
    assert rueful.run(*digits, loss="softmax").classes_.tolist() == [1, 3, 7, 9]
    read, labels = rueful.read(FLOWERS, label="species")
    assert labels.tolist() == y.tolist() and read.shape[0] == len(y)
    numbers = tmp_path / "numbers.libsvm"
    numbers.write_text("3 1:1\n1 2:1\n3 1:2\n2 3:1\n")
    assert rueful.read(numbers, loss="softmax")[1].tolist() == [3, 1, 3, 2]
    # Files and frames take turns, and so do their classes.
    mixed = rueful.run(FLOWERS, label="species").partial_fit(X, np.where(y == "iris", "fig", y))
    mixed.learn(FLOWERS)
    memory = rueful.OnlineClassifier().fit(X, y).partial_fit(X, np.where(y == "iris", "fig", y))
    memory.partial_fit(X, y)
    assert known(mixed.report()) == known(memory.report())
    np.testing.assert_array_equal(mixed.predict_proba(X), memory.predict_proba(X))


def test_the_program_goes_on_with_what_python_has_learned(digits, tmp_path):
    X, y = digits
    rows = [" ".join(f"{j}:{float(np.float32(v))!r}" for j, v in enumerate(x, 1)) for x in X]
    file, saved, more = (tmp_path / name for name in ("x.libsvm", "python.rueful", "more.rueful"))
    labels = np.where(y == 9, 12, y)
    file.write_text("".join(f"{label} {x}\n" for x, label in zip(rows, labels, strict=True)))
    model = rueful.OnlineClassifier().fit(X, y)
    model.save(saved)
    program("run", file, "--resume", saved, "--save", more, "--quiet")
    model.partial_fit(X, labels)
    assert known(rueful.load(more).report()) == known(model.report())
    assert rueful.load(more).classes_.tolist() == [1, 3, 7, 9, 12]


def test_a_model_of_several_passes_predicts(flowers, tmp_path):
    X, y = flowers
    saved, out = tmp_path / "m.rueful", tmp_path / "out.csv"
    program("run", FLOWERS, "--label", "species", "--passes", 3, "--save", saved, "--quiet")
    model = rueful.load(saved)
    program("predict", saved, FLOWERS, "--out", out, "--quiet")
    assert out.read_text().split() == model.predict(X).tolist()
    assert model.report()["passes"]["made"] == 3
    with pytest.raises(ValueError, match="learns no more"):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match="learns no more"):
        model.learn(FLOWERS)


@pytest.mark.parametrize("settings", [{}, HINGE], ids=str)
def test_river_one_by_one_and_in_frames(flowers, settings):
    X, y = flowers
    singly, many = (rueful.river.OnlineClassifier(**settings) for _ in range(2))
    assert (singly.predict_one({"a": 1}), singly.predict_proba_one({"a": 1})) == (None, {})
    for row, label in zip(X.to_dict(orient="records"), y, strict=True):
        singly.learn_one(row, label)
    for at in range(0, len(y), 30):
        many.learn_many(X[at : at + 30], pd.Series(y[at : at + 30]))
    assert known(singly.report()) == known(many.report())
    assert singly.weights == many.weights
    assert list(singly.weights) == list(dict.fromkeys(y))
    chances = many.predict_proba_many(X)
    for place, row in enumerate(X.head(20).to_dict(orient="records")):
        assert singly.predict_proba_one(row) == chances.iloc[place].to_dict()
        assert singly.predict_one(row) == many.predict_many(X).iloc[place]
    estimator = rueful.OnlineClassifier(**settings).fit(X, y)
    assert estimator.predict(X).tolist() == many.predict_many(X).tolist()
    for twin in (copy.deepcopy(singly), pickle.loads(pickle.dumps(singly))):
        twin.learn_one(X.iloc[0].to_dict(), "thistle")
        assert "thistle" in twin.predict_proba_one({"a": 1.0})
    assert "thistle" not in singly.predict_proba_one({"a": 1.0})


def test_river_s_first_label_decides():
    two = rueful.river.OnlineClassifier()
    two.learn_one({"a": 1.0}, True)
    with pytest.raises(ValueError, match=r"found the label 'x'.*loss='softmax'"):
        two.learn_one({"a": 1.0}, "x")
    many = rueful.river.OnlineClassifier()
    many.learn_one({"a": 1.0}, 1)
    with pytest.raises(ValueError, match="written like another one"):
        many.learn_one({"a": 1.0}, "1")
    with pytest.raises(ValueError, match="row 0"):
        many.learn_one({"a": [1]}, "b")
    many.learn_one({"a": 1.0}, np.int64(2))
    assert list(many.predict_proba_one({})) == [1, 2]
    assert many.report()["examples"] == 2
    assert rueful.river.OnlineClassifier().report()["examples"] == 0


def test_river_s_regret_is_that_of_the_estimator(flowers):
    X, y = flowers
    rows = X.to_dict(orient="records")
    many = rueful.river.OnlineClassifier()
    for row, label in zip(rows, y, strict=True):
        many.learn_one(row, label)
    exact = rueful.OnlineClassifier().fit(X, y).regret(X, y)
    assert many.regret(rows, y)["regret"] == exact["regret"]
    assert many.regret(X, pd.Series(y))["comparator"] == exact["comparator"]


def test_audits_of_river():
    rows = [({"a": float(t % 3)}, "xyz"[t % 3]) for t in range(90)]
    X, y = [x for x, _ in rows], [y for _, y in rows]
    found = rueful.audit(rueful.river.OnlineClassifier(), X, y).report()
    assert found["loss"] == {"name": "softmax"} and found["examples"] == 90
    # Two classes came that the model had given next to nothing: 1e-12.
    assert 0.0 < found["sequential_risk"] - 2 * np.log(1e12) / 90 < 0.2
    named = rueful.audit(rueful.river.OnlineClassifier(), X, iter(y), classes=["x", "y", "z"])
    assert named.report()["sequential_risk"] == found["sequential_risk"]
    with pytest.raises(ValueError, match=r"y, row 0: found 'x', expected a truth: classes names"):
        rueful.audit(rueful.river.OnlineClassifier(), X, iter(y))
    found = rueful.audit(rueful.river.OnlineClassifier(), X, y, positive="x").report()
    assert found["examples"] == 90 and found["sequential_risk"] < 0.4


def learn_at_once(learn) -> None:
    """Lets several threads learn, each meeting classes in an order of its own."""
    with ThreadPoolExecutor(8) as pool:
        done = [pool.submit(learn, part) for part in range(8)]
        for one in done:
            one.result()


def test_threads_agree_on_the_numbers_of_new_classes():
    X = np.random.default_rng(0).normal(size=(4, 3))
    often = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(5):
            estimator = rueful.OnlineClassifier(loss="softmax").partial_fit(X[:1], ["c0"])
            singly = rueful.river.OnlineClassifier(loss="softmax")

            def learn(part: int, estimator=estimator, singly=singly) -> None:
                for t in range(25):
                    labels = [f"c{(part * 7 + t + row) % 25}" for row in range(4)]
                    estimator.partial_fit(X, labels)
                    assert set(estimator.predict(X)) <= {f"c{number}" for number in range(25)}
                    singly.learn_one({"a": float(t)}, labels[0])

            learn_at_once(learn)
            names = estimator._model.class_names()
            assert [names[number] for number in estimator._many.numbers] == list(estimator.classes_)
            assert len(names) == 25 and estimator.report()["examples"] == 8 * 25 * 4 + 1
            names = singly._model().class_names()
            assert {label: names[number] for label, number in singly._numbers.items()} == {
                f"c{number}": f"c{number}" for number in range(25)
            }
            assert singly.report()["examples"] == 200
    finally:
        sys.setswitchinterval(often)


def test_settings_that_change_after_fit_change_nothing(digits):
    X, y = digits
    model = rueful.OnlineClassifier().fit(X, y)
    before = model.predict_proba(X)
    model.set_params(loss="hinge")
    np.testing.assert_array_equal(model.predict_proba(X), before)
    with pytest.raises(ValueError, match="Only binary"):
        model.fit(X, y)
