"""Features from features, several passes and late labels: the settings of the program, with its bits."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import rueful
from test_core import known, program

ROWS = 1500


@pytest.fixture(scope="module")
def people() -> tuple[pd.DataFrame, pd.Series]:
    """Numbers, words, running text and cells without a value."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({
        "age": rng.integers(18, 80, ROWS) / 2,
        "hour": rng.integers(0, 24, ROWS).astype(float),
        "job": rng.choice(["clerk", "smith", "nurse"], ROWS),
        "review": [" ".join(rng.choice(["Not", "very", "good", "bad"], 4)) for _ in range(ROWS)],
    })
    frame.loc[rng.random(ROWS) < 0.1, "age"] = np.nan
    bought = (frame["hour"] > 12) ^ (frame["job"] == "smith") ^ (rng.random(ROWS) < 0.1)
    return frame, bought.astype(int)


@pytest.fixture(scope="module")
def file(people, tmp_path_factory):
    path = tmp_path_factory.mktemp("people") / "people.csv"
    people[0].assign(bought=people[1]).to_csv(path, index=False)
    return path


MADE = [
    {"cross": "hour,job"},
    {"cross": [("age", "job"), ("age", "age")], "no_missing": True},
    {"bins": "age", "spline": {"hour": 5}},
    {"bins": {"age": [20, 25.5, 30]}, "cross": ("age", "job")},
    {"spline": ["age:4", "hour"], "periodic": {"hour": 24}},
    {"periodic": {"hour": (24, 3)}},
    {"text": "review", "ngram": 2, "skips": 1},
    {"text": "review", "ngram": 3, "tf": "log", "drop": "age"},
    {"text": ["review"], "tf": "binary", "bits": 12},
]

#: The same on the command line.
FLAGS = [
    "--cross hour,job",
    "--cross age,job --cross age,age --no-missing",
    "--bins age --spline hour:5",
    "--bins age:20,25.5,30 --cross age,job",
    "--spline age:4 --spline hour --periodic hour:24",
    "--periodic hour:24:3",
    "--text review --ngram 2 --skips 1",
    "--text review --ngram 3 --tf log --drop age",
    "--text review --tf binary --bits 12",
]


@pytest.mark.parametrize(("settings", "flags"), list(zip(MADE, FLAGS, strict=True)), ids=FLAGS)
def test_frames_and_the_program_make_the_same_features(settings, flags, people, file, tmp_path):
    frame, y = people
    saved = tmp_path / "program.rueful"
    run = ["run", file, "--label", "bought", *flags.split()]
    said = json.loads(program(*run, "--quiet", "--json", "--save", saved))
    from_file = rueful.run(file, label="bought", **settings)
    assert from_file._model.to_bytes() == saved.read_bytes()
    # In chunks of a few rows, the first thousand of them decide the knots all the same.
    table = pa.Table.from_pandas(frame, preserve_index=False)
    chunked = pa.Table.from_batches(table.to_batches(max_chunksize=77))
    for X in (frame, pl.from_pandas(frame), table, chunked):
        model = rueful.OnlineClassifier(**settings).fit(X, y)
        assert known(model.report()) == known(said)
        assert model.weights_ == from_file.weights_
        scores = model.decision_function(X)
        np.testing.assert_array_equal(scores, from_file.decision_function(str(file)))
        np.testing.assert_array_equal(scores, rueful.load(saved).decision_function(X))


def test_frames_of_floats_have_curves_and_crosses_too(people, file):
    frame, y = people[0][["age", "hour"]], people[1]
    settings = {"bins": {"age": 4}, "spline": "hour", "cross": "age,hour"}
    from_file = rueful.run(file, label="bought", drop=["job", "review"], **settings)
    for X in (frame, frame.astype(np.float32), pl.from_pandas(frame)):
        model = rueful.OnlineClassifier(**settings).fit(X, y)
        assert model.weights_ == from_file.weights_
    with pytest.raises(AttributeError, match="see weights_"):
        _ = model.coef_
    # What can be read only once is not read away by the search for knots.
    reader = pa.Table.from_pandas(frame, preserve_index=False).to_reader(max_chunksize=100)
    assert rueful.OnlineClassifier(**settings).fit(reader, y).weights_ == from_file.weights_
    parts = rueful.OnlineClassifier(bins={"age": [20, 30]})
    for start in range(0, ROWS, 100):
        parts.partial_fit(frame[start : start + 100], y[start : start + 100])
    whole = rueful.OnlineClassifier(bins={"age": [20, 30]}).fit(frame, y)
    assert parts.weights_ == whole.weights_
    assert rueful.run(frame.assign(y=y), label="y", bins={"age": [20, 30]}).weights_ == whole.weights_


def test_settings_of_columns_need_columns(people, stream):
    X, y = stream
    for settings in MADE[:6] + [{"categorical": "a"}, {"tf": "log"}]:
        name = "cross" if "cross" in settings else next(iter(settings))
        for table in (X, [{"a": value} for value in X[:, 0].tolist()]):
            with pytest.raises(ValueError, match=f"{name} has no effect on .*: it is for frames"):
                rueful.OnlineClassifier(**settings).fit(table, y)
    with pytest.raises(ValueError, match="no_missing has no effect on a matrix"):
        rueful.OnlineClassifier(no_missing=True).fit(X, y)
    frame, y = people
    for settings, message in [
        ({"cross": "hour"}, 'a cross of "hour", expected from 2 to 8 columns'),
        ({"cross": "hour,shoe"}, "shoe"),
        ({"bins": "job"}, "which has no numbers, expected a column of numbers for bins"),
        ({"bins": {"age": 1}}, "expected a whole number from 2"),
        ({"bins": {"age": [3]}}, "at least two numbers in a list"),
        ({"periodic": "hour"}, "a period, as in hour:24"),
        ({"ngram": 2}, "ngram means nothing for this table"),
        ({"text": "review", "tf": "cube"}, "tf: found \"cube\", expected one of count, log, binary"),
    ]:
        with pytest.raises(ValueError, match=message):
            rueful.OnlineClassifier(**settings).fit(frame, y)
    with pytest.raises(TypeError, match="interactions is for files: only Vowpal Wabbit text"):
        rueful.run(frame, y, interactions="ab")


PASSES = [
    {"passes": 3},
    {"passes": 6, "holdout": 10, "patience": 2},
    {"holdout": 5, "holdout_by": "hash"},
    {"passes": 3, "holdout": 10, "learner": "ogd", "loss": "hinge"},
    {"passes": 2, "holdout": 4, "learner": "minimax", "loss": "hinge"},
]


@pytest.mark.parametrize("settings", PASSES, ids=str)
def test_several_passes_are_those_of_the_program(settings, tmp_path):
    saved = tmp_path / "program.rueful"
    flags = [part for name, value in settings.items() for part in (f"--{name.replace('_', '-')}", value)]
    run = ["run", "data/phishing.libsvm", *flags]
    said = json.loads(program(*run, "--quiet", "--json", "--save", saved))
    from_file = rueful.run("data/phishing.libsvm", **settings)
    assert from_file._model.to_bytes() == saved.read_bytes()
    X, y = rueful.read("data/phishing.libsvm")
    model = rueful.OnlineClassifier(**settings).fit(X, y)
    assert known(model.report()) == known(said)
    np.testing.assert_array_equal(model.decision_function(X), from_file.decision_function(X))
    assert known(rueful.load(saved).report()) == known(said)
    # What is held out is no part of the regret.
    exact = model.regret(X, y)
    assert exact["examples"] == said["examples"]
    assert exact["sequential_risk"] == said["sequential_risk"]
    again = rueful.load(saved)
    if settings.get("passes"):
        for more in (lambda: again.partial_fit(X, y), lambda: again.learn("data/phishing.libsvm")):
            with pytest.raises(ValueError, match="it predicts, and learns no more"):
                more()


def test_many_classes_are_read_several_times_too(tmp_path):
    flowers = pd.read_csv("docs/flowers.csv")
    species = flowers.pop("species")
    saved = tmp_path / "program.rueful"
    run = ["run", "docs/flowers.csv", "--label", "species", "--passes", 3, "--holdout", 5]
    said = json.loads(program(*run, "--quiet", "--json", "--save", saved))
    model = rueful.OnlineClassifier(passes=3, holdout=5).fit(flowers, species)
    assert known(model.report()) == known(said)
    of_program = rueful.load(saved)
    np.testing.assert_array_equal(model.predict_proba(flowers), of_program.predict_proba(flowers))


def test_passes_are_for_all_rows_at_once(stream, tmp_path):
    X, y = stream
    model = rueful.OnlineClassifier(passes=2)
    with pytest.raises(ValueError, match="passes: rows that come in parts are read once"):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match="holdout: rows that come in parts are read once"):
        rueful.run(iter([(X, y)]), holdout=3)
    for settings, message in [
        ({"passes": 0}, "passes is at least 1, and not 0"),
        ({"holdout": 1}, "holdout 1 would hold out every row"),
        ({"patience": 2}, "patience has no effect: no rows are held out"),
        ({"patience": 2, "holdout": 3}, "patience has no effect on a single pass"),
        ({"holdout": 3, "holdout_by": "die"}, 'holdout_by is row or hash, and not "die"'),
        ({"holdout_by": "row"}, "holdout_by has no effect"),
    ]:
        with pytest.raises(ValueError, match=message):
            rueful.OnlineClassifier(**settings).fit(X, y)
    with pytest.raises(ValueError, match="passes: the data are read several times, and - can be read"):
        rueful.run("-", passes=2)


def test_labels_may_come_later(tmp_path):
    rng = np.random.default_rng(5)
    lines, owed = ["id,x,y"], []
    for row in range(300):
        x = round(float(rng.normal()), 3)
        lines.append(f"r{row},{x},")
        owed.append((row, int(x > 0)))
        if row % 3 == 2:
            lines += [f"r{number},,{label}" for number, label in owed[:2]]
            owed = owed[2:]
    (tmp_path / "first.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "second.csv").write_text(
        "id,x,y\n" + "".join(f"r{row},,{label}\n" for row, label in owed)
    )
    asked = ["--label", "y", "--id", "id", "--pending", 1000, "--loss", "logistic"]
    saved, more = tmp_path / "first.rueful", tmp_path / "more.rueful"
    run = ["run", tmp_path / "first.csv", *asked, "--quiet", "--json", "--save", saved]
    said = json.loads(program(*run))
    settings = {"label": "y", "id": "id", "pending": 1000, "loss": "logistic"}
    model = rueful.run(tmp_path / "first.csv", **settings)
    assert model._model.to_bytes() == saved.read_bytes()
    assert said["delayed_labels"] == {"late": 200, "waiting": 100}
    assert model.report()["delayed_labels"] == said["delayed_labels"]
    # Labels of rows that waited in the first file.
    go_on = ["run", tmp_path / "second.csv", "--resume", saved, "--save", more, "--quiet", "--json"]
    said = json.loads(program(*go_on))
    assert known(model.learn(tmp_path / "second.csv").report())["delayed_labels"] == said["delayed_labels"]
    assert model._model.to_bytes() == more.read_bytes()
    assert model.predict(pd.DataFrame({"x": [3.0, -3.0]})).tolist() == [1, 0]
    with pytest.raises(ValueError, match="come later than their rows"):
        model.partial_fit(pd.DataFrame({"x": [3.0]}), [1])
    with pytest.raises(ValueError, match="pending has no effect without id"):
        rueful.run(tmp_path / "first.csv", label="y", pending=10)
    with pytest.raises(TypeError, match="id is for files: rows that wait"):
        rueful.run(pd.DataFrame({"x": [3.0]}), [1.0], id="x")


def test_every_flag_of_the_program_has_a_name_in_python():
    from rueful._streams import _OF_FILES

    elsewhere = {
        "spec", "print-spec", "write-schema", "json", "quiet", "help", "version",  # For the command line.
        "save", "resume", "checkpoint-every", "predictions",  # `save`, `load`, `learn`, `predict`.
        "report", "plot", "threads",  # `report()`, and an argument.
        "hindsight", "curve-hindsight", "tolerance", "max-passes", "keep",  # `regret`, and its arguments.
        "window", "alarm", "follow",  # Windows are those of an audit; a stream that grows is an iterator.
        "no-header",  # `header=False`.
    }
    told = program("run", "--help")
    flags = {word.strip(",") for word in told.split() if word.startswith("--")}
    names = {flag[2:] for flag in flags if flag[2:].replace("-", "").isalpha() or flag == "--l1"}
    missing = {name for name in names - elsewhere if name.replace("-", "_") not in _OF_FILES}
    assert not missing


def test_schemas_caches_and_weights_of_classes(people, file, tmp_path):
    schema = tmp_path / "schema.json"
    program("data", file, "--label", "bought", "--cross", "hour,job", "--write-schema", schema)
    made = rueful.run(file, schema=schema)
    assert made.weights_ == rueful.run(file, label="bought", cross="hour,job").weights_
    assert rueful.run(file, schema=json.loads(schema.read_text())).weights_ == made.weights_
    with pytest.raises(ValueError, match="schema: "):
        rueful.run(file, schema={"format": "poem"})
    copy = tmp_path / "phishing.libsvm"
    copy.write_bytes(open("data/phishing.libsvm", "rb").read())
    cached = rueful.run(copy, cache=True)
    assert (tmp_path / "phishing.libsvm.rueful-cache").exists()
    assert known(cached.report()) == known(rueful.run(copy).report())
    weighted = rueful.run("docs/flowers.csv", label="species", class_weight={"rose": 2})
    flags = ["--label", "species", "--class-weight", "rose=2", "--quiet", "--json"]
    assert known(weighted.report()) == known(json.loads(program("run", "docs/flowers.csv", *flags)))
    with pytest.raises(ValueError, match="needs all labels at once"):
        rueful.run("docs/flowers.csv", label="species", class_weight="balanced")
