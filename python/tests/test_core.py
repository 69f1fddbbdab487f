"""One core: the program, and Python in batches, one by one and from files, make the same bits."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
import rueful
import rueful.river
from sklearn.base import clone

FILE = "data/phishing.libsvm"


def program(*args: object) -> str:
    command = [sys.executable, "-m", "rueful", *map(str, args)]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout


def known(report) -> dict:
    """A report but for where its data came from."""
    report = json.loads(json.dumps(dict(report)))
    report["spec"].pop("data", None)
    return report


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"loss": "hinge"},
        {"learner": "ogd", "loss": "hinge", "radius": 3.0},
        {"learner": "minimax"},
        {"learner": "ftrl", "l1": 0.5},
        {"learner": "strongly-convex-ogd", "loss": "hinge", "sigma": 0.1},
        {"learner": "bank", "radius": 7.0, "no_constant": True},
        {"loss": "perceptron"},
        {"learner": "perceptron", "loss": "perceptron"},
        {"learner": "ogd", "loss": "logistic", "eta": 0.5, "schedule": "inverse-sqrt"},
        {"learner": "ogd", "loss": "hinge", "sigma": 0.1, "schedule": "inverse-time"},
        {"learner": "erm", "loss": "hinge"},
        {"learner": "regularized-erm"},
        {"learner": "regularized-erm", "alpha": 2.0, "loss": "hinge"},
        {"learner": "passive-aggressive-1", "loss": "hinge", "c": 0.5},
        {"learner": "passive-aggressive-2", "loss": "absolute"},
        {"learner": "ftrl", "loss": "absolute", "comparators": "ball"},
        {"learner": "ogd", "loss": "linear"},
        {"learner": "ogd", "loss": "square", "radius": 2.0},
        {"loss": "square"},
        {"loss": "absolute", "judge": False},
        {"loss": "quantile", "tau": 0.3},
    ],
    ids=str,
)
def test_the_program_and_python_agree_to_the_last_bit(settings, tmp_path):
    saved = tmp_path / "program.rueful"
    flags = []
    for name, value in settings.items():
        flag = "--" + name.replace("_", "-")
        flags += [flag] if value is True else [flag, "off" if value is False else value]
    said = json.loads(program("run", FILE, "--quiet", "--json", "--save", saved, *flags))
    X, y = rueful.read(FILE, loss=settings.get("loss"))
    from_file = rueful.run(FILE, **settings)
    assert from_file._model.to_bytes() == saved.read_bytes()
    kind = type(from_file)
    whole = kind(**settings).fit(X, y)
    models = [from_file, rueful.load(saved), whole]
    if settings.get("learner") != "minimax":
        singly = kind(**settings)
        known_classes = {"classes": [-1, 1]} if kind is rueful.OnlineClassifier else {}
        for row in range(X.shape[0]):
            singly.partial_fit(X[row], y[row : row + 1], **known_classes)
        assert singly._model.to_bytes() == whole._model.to_bytes()
        models.append(singly)
    for model in models:
        assert known(model.report()) == known(said)
        np.testing.assert_array_equal(model._scores(X), whole._scores(X))
        indices, weights = model._model.weights()
        expected = whole._model.weights()
        np.testing.assert_array_equal(indices, expected[0])
        np.testing.assert_array_equal(weights, expected[1])


def test_models_open_on_both_sides(tmp_path):
    X, y = rueful.read(FILE)
    model = rueful.OnlineClassifier().fit(X, y)
    model.save(tmp_path / "python.rueful")
    out = tmp_path / "scores.txt"
    program("predict", tmp_path / "python.rueful", FILE, "--as", "score", "--out", out)
    np.testing.assert_array_equal(np.loadtxt(out), model.decision_function(X))
    # The program goes on with what Python has learned, and Python with that.
    more = tmp_path / "more.rueful"
    program("run", FILE, "--resume", tmp_path / "python.rueful", "--save", more, "--quiet")
    twice = rueful.OnlineClassifier().fit(X, y).partial_fit(X, y)
    assert known(rueful.load(more).report()) == known(twice.report())
    np.testing.assert_array_equal(
        rueful.load(more).partial_fit(X, y).decision_function(X),
        twice.partial_fit(X, y).decision_function(X),
    )


def test_files_and_arrays_take_turns(tmp_path):
    X, y = rueful.read(FILE)
    alternating = rueful.run(FILE).partial_fit(X, y).learn(FILE)
    arrays = rueful.OnlineClassifier().fit(X, y).partial_fit(X, y).partial_fit(X, y)
    assert known(alternating.report()) == known(arrays.report())
    np.testing.assert_array_equal(alternating.decision_function(FILE), arrays.decision_function(X))


def test_reading_is_the_inverse_of_writing(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 5)).astype(np.float32)
    y = rng.normal(size=50)
    text = [
        f"{label!r} " + " ".join(f"{j + 1}:{float(value)!r}" for j, value in enumerate(row))
        for row, label in zip(X, y.tolist(), strict=True)
    ]
    (tmp_path / "x.libsvm").write_text("\n".join(text) + "\n")
    found, labels = rueful.read(tmp_path / "x.libsvm", loss="square")
    np.testing.assert_array_equal(found.toarray(), X)
    np.testing.assert_array_equal(labels, y)
    assert found.dtype == np.float32 and found.has_sorted_indices


def test_river_one_by_one_and_in_frames_and_the_frame_s_estimator_agree():
    pd = pytest.importorskip("pandas")
    datasets = pytest.importorskip("river.datasets")
    rows = list(datasets.Phishing())
    frame = pd.DataFrame([x for x, _ in rows]).assign(word=["a", "b"] * 625)
    y = pd.Series([y for _, y in rows])
    singly, many = rueful.river.OnlineClassifier(), rueful.river.OnlineClassifier()
    for row, label in zip(frame.to_dict(orient="records"), y, strict=True):
        singly.learn_one(row, label)
    for start in range(0, 1250, 100):
        many.learn_many(frame[start : start + 100], y[start : start + 100])
    assert known(singly.report()) == known(many.report())
    assert singly.weights == many.weights
    estimator = rueful.OnlineClassifier().fit(frame, y)
    assert estimator.weights_ == singly.weights
    scores = estimator.predict_proba(frame)[:, 1]
    for model in (singly, many):
        np.testing.assert_array_equal(model.predict_proba_many(frame)[True], scores)
    one = singly.predict_proba_one(frame.iloc[3].to_dict())[True]
    assert one == scores[3]


def test_cells_without_a_value_are_the_same_in_dicts_and_frames():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({
        "n": np.where(rng.random(120) < 0.3, np.nan, rng.normal(size=120)),
        "word": rng.choice(["a", "b", "NA", ""], 120),
        "gap": rng.choice(np.array([None, "c", "d"], dtype=object), 120),
    })
    frame.loc[0, ["n", "word", "gap"]] = [1.0, "a", "c"]
    y = pd.Series(rng.random(120) < 0.5)
    singly, many = rueful.river.OnlineClassifier(), rueful.river.OnlineClassifier()
    for row, label in zip(frame.to_dict(orient="records"), y, strict=True):
        singly.learn_one(row, label)
    many.learn_many(frame, y)
    estimator = rueful.OnlineClassifier().fit(frame, y)
    assert {"n·missing", "word·missing", "gap·missing"} <= set(many.weights)
    assert singly.weights == many.weights == estimator.weights_
    assert known(singly.report()) == known(many.report()) == known(estimator.report())
    rows = frame.to_dict(orient="records")
    assert rueful.OnlineClassifier().fit(rows, y).weights_ == estimator.weights_
    without = rueful.OnlineClassifier(no_missing=True)
    assert without.fit(rows, y).weights_ == without.fit(frame, y).weights_
    assert not any("missing" in name for name in without.weights_)


def test_the_program_is_the_program():
    assert program("--version").startswith("rueful ")
    refused = subprocess.run(
        [sys.executable, "-m", "rueful", "run", "no such file"], capture_output=True
    )
    assert refused.returncode == 1 and b"error:" in refused.stderr
    unknown = subprocess.run([sys.executable, "-m", "rueful", "dance"], capture_output=True)
    assert unknown.returncode == 2


def test_settings_are_those_of_the_program():
    """Every setting of an estimator is a flag of `rueful run`, but those of Python alone."""
    told = program("run", "--help")
    for estimator in (rueful.OnlineClassifier, rueful.OnlineRegressor):
        for name in set(estimator().get_params()) - {"class_weight"}:
            assert f"--{name.replace('_', '-')}" in told, name


def test_labels_are_counted_wherever_they_come_from(tmp_path):
    X, y = rueful.read(FILE)
    model = rueful.run(FILE).partial_fit(X[:100], y[:100])
    model.save(tmp_path / "m.rueful")
    told = json.loads(program("inspect", tmp_path / "m.rueful", "--json"))
    counts = {-1: int((y == -1).sum() + (y[:100] == -1).sum())}
    counts[1] = 1350 - counts[-1]
    assert f'["1",{counts[1]}]' in json.dumps(told, separators=(",", ":"))
    assert f'["-1",{counts[-1]}]' in json.dumps(told, separators=(",", ":"))


def test_dicts_are_lines_of_json(tmp_path):
    rows = [{"n": t % 3, "word": "ab"[t % 2], "truth": t % 5 == 0} for t in range(60)]
    y = [t % 2 for t in range(60)]
    lines = [json.dumps({**row, "label": label}) for row, label in zip(rows, y, strict=True)]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines) + "\n")
    from_file = rueful.run(tmp_path / "rows.jsonl", label="label", loss="logistic")
    memory = rueful.OnlineClassifier().fit(rows, y)
    assert memory.weights_ == from_file.weights_
    assert known(memory.report()) == known(from_file.report())
    np.testing.assert_array_equal(memory.predict_proba(rows), from_file.predict_proba(rows))
    with pytest.raises(ValueError, match="fitted to names"):
        from_file.predict([[1.0, 2.0]])
    with pytest.raises(ValueError, match="fitted to numbered columns"):
        rueful.OnlineClassifier().fit([[1.0], [2.0]], [0, 1]).predict(rows)


def test_dicts_of_any_keys_are_lines_of_json(tmp_path):
    rng = np.random.default_rng(1)
    values = {
        "n": lambda: round(float(rng.normal()), 3),
        "truth": lambda: bool(rng.random() < 0.5),
        "word": lambda: str(rng.choice(["red", "green", "blue"])),
        "whole": lambda: int(rng.integers(-3, 4)),
    } | {f"new{number}": lambda: 1.0 for number in range(200)}
    sets = [["n", "truth", "whole"]] * 40  # The same keys in all, of numbers and truths.
    sets += [list(rng.choice(list(values), 6, replace=False)) for _ in range(80)]
    rows = [{str(key): values[key]() for key in keys} for keys in sets]
    y = [int(label) for label in rng.integers(0, 2, len(rows))]
    lines = [json.dumps({**row, "label": label}) for row, label in zip(rows, y, strict=True)]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines) + "\n")
    from_file = rueful.run(tmp_path / "rows.jsonl", label="label", loss="logistic")
    whole = rueful.OnlineClassifier().fit(rows, y)
    singly = rueful.river.OnlineClassifier(positive=1, negative=0)
    for row, label in zip(rows, y, strict=True):
        singly.learn_one(row, label)
        with pytest.raises(ValueError, match="row 0, other: found list"):
            singly.learn_one({"fresh": 1.0, "word": "unheard", "other": []}, label)
    assert whole.weights_ == singly.weights == from_file.weights_
    assert known(whole.report()) == known(singly.report()) == known(from_file.report())


def test_rows_that_do_not_count_alike_are_told(tmp_path):
    (tmp_path / "w.vw").write_text("1 2.0 | a:1\n-1 | b:1\n")
    with pytest.warns(UserWarning, match="do not count alike"):
        rueful.read(tmp_path / "w.vw")
    _, _, weights = rueful.read(tmp_path / "w.vw", weights=True)
    assert weights.tolist() == [2.0, 1.0]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"radius": 3.0, "loss": "hinge", "judge": True},
        {"comparators": "ball"},
        {"learner": "ogd"},
        {"learner": "ogd", "schedule": "constant", "eta": 0.1},
        {"learner": "ogd", "schedule": "inverse-sqrt", "gradient_bound": 3.0},
        {"learner": "ogd", "schedule": "horizon", "horizon": 1250, "gradient_bound": 9.0},
        {"learner": "ogd", "sigma": 0.1, "schedule": "inverse-time"},
        {"learner": "strongly-convex-ogd", "loss": "hinge", "sigma": 0.1},
        {"learner": "perceptron", "loss": "perceptron"},
        {"learner": "erm"},
        {"learner": "regularized-erm"},
        {"learner": "regularized-erm", "alpha": 2.0},
        {"learner": "minimax", "horizon": 1250, "gradient_bound": 9.0},
        {"learner": "ftrl", "l1": 0.5},
        {"learner": "passive-aggressive-1", "loss": "hinge", "c": 0.5},
        {"learner": "passive-aggressive-2", "loss": "hinge"},
        {"no_constant": True},
    ],
    ids=str,
)
def test_a_loaded_model_knows_its_settings(settings, tmp_path):
    X, y = rueful.read(FILE)
    model = rueful.OnlineClassifier(**settings).fit(X, y)
    model.save(tmp_path / "m.rueful")
    again = clone(rueful.load(tmp_path / "m.rueful")).fit(X, y)
    assert again._model.to_bytes() == model._model.to_bytes()


def test_a_loaded_quantile_knows_its_tau(tmp_path):
    model = rueful.OnlineRegressor(loss="quantile", tau=0.9).fit([[1.0], [2.0]], [1.0, 2.0])
    model.save(tmp_path / "m.rueful")
    assert rueful.load(tmp_path / "m.rueful").tau == 0.9
