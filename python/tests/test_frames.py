"""Frames are learned from as they are: names, words, categories, truths, gaps."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
import rueful


@pytest.fixture
def table() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(3)
    size = 300
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, size),
            "income": rng.normal(40e3, 9e3, size),
            "job": rng.choice(["clerk", "smith", "nurse"], size),
            "region": pd.Categorical(rng.choice([1, 2, 5], size)),
            "member": rng.random(size) < 0.5,
        }
    )
    frame.loc[::17, "income"] = np.nan
    frame.loc[::23, "job"] = None
    y = (frame["age"] > 50) ^ (frame["job"] == "smith")
    return frame, y.to_numpy()


def test_pandas_polars_and_arrow_are_the_same_table(table):
    frame, y = table
    plain = frame.assign(region=frame["region"].astype(int))
    settings = {"categorical": "region"}
    tables = [
        plain,
        plain.set_index(np.arange(300)[::-1]),
        pl.from_pandas(plain),
        pa.Table.from_pandas(plain, preserve_index=False),
    ]
    models = [rueful.OnlineClassifier(**settings).fit(X, y) for X in tables]
    scores = [model.decision_function(X) for model, X in zip(models, tables, strict=True)]
    for model, score in zip(models, scores, strict=True):
        np.testing.assert_array_equal(score, scores[0])
        assert model.weights_ == models[0].weights_
        assert list(model.feature_names_in_) == list(frame.columns)
    # A category of pandas is one without being told.
    told = rueful.OnlineClassifier().fit(frame, y)
    np.testing.assert_array_equal(told.decision_function(frame), scores[0])


def test_words_are_features_of_their_own(table):
    frame, y = table
    model = rueful.OnlineClassifier().fit(frame, y)
    assert {"job=smith", "region=5", "age", "member", "constant"} <= set(model.weights_)
    with pytest.raises(AttributeError, match="job, region"):
        _ = model.coef_
    numbers = rueful.OnlineClassifier(learner="ogd", loss="hinge", drop=["job", "region"])
    numbers.fit(frame, y)
    assert numbers.coef_.shape == (1, 5) and numbers.coef_[0, 2] == 0.0


def test_the_program_makes_the_same_of_the_same_table(table, tmp_path):
    frame, y = table
    file = tmp_path / "people.parquet"
    frame = frame.assign(region=frame["region"].astype(str))
    labelled = frame.assign(label=np.where(y, "yes", "no"))
    pa.parquet.write_table(pa.Table.from_pandas(labelled, preserve_index=False), file)
    program = rueful.run(file, label="label", positive="yes", loss="logistic")
    memory = rueful.OnlineClassifier().fit(frame, np.where(y, "yes", "no"))
    assert program.weights_ == memory.weights_
    assert memory.classes_.tolist() == program.classes_.tolist() == ["no", "yes"]
    ours, theirs = dict(memory.report()), dict(program.report())
    del theirs["spec"]["data"]
    assert ours == theirs
    np.testing.assert_array_equal(memory.decision_function(file), program.decision_function(frame))


def test_parts_are_the_whole(table):
    frame, y = table
    whole = rueful.OnlineClassifier().fit(frame, y)
    parts = rueful.OnlineClassifier()
    for start in range(0, 300, 37):
        rows = slice(start, start + 37)
        parts.partial_fit(frame.iloc[rows], y[rows], classes=[False, True])
    assert dict(parts.report()) == dict(whole.report())
    assert parts.weights_ == whole.weights_


def test_columns_must_be_the_same(table):
    frame, y = table
    model = rueful.OnlineClassifier().fit(frame, y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"age": "years"}))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(pa.Table.from_pandas(frame.rename(columns={"age": "years"})))


def test_what_cannot_be_a_feature_is_named(table):
    frame, y = table
    listed = frame.assign(visits=[[1, 2]] * 300)
    with pytest.raises(ValueError, match="lists in column \"visits\".*drop visits"):
        rueful.OnlineClassifier().fit(listed, y)
    assert rueful.OnlineClassifier(drop="visits").fit(listed, y).n_features_in_ == 6
    mixed = frame.assign(odd=pd.Series([1, "a"] * 150, dtype=object))
    with pytest.raises(ValueError, match="different kinds.*odd"):
        rueful.OnlineClassifier().fit(mixed, y)
    with pytest.raises(ValueError, match="no column \"wages\"|wages"):
        rueful.OnlineClassifier(drop=["wages"]).fit(frame, y)


def test_numbers_need_no_arrow(table, monkeypatch):
    frame, y = table
    numbers = frame[["age", "income", "member"]].fillna(0.0)
    expected = rueful.OnlineClassifier().fit(numbers, y)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    model = rueful.OnlineClassifier().fit(numbers, y)
    assert model.weights_ == expected.weights_
    np.testing.assert_array_equal(
        model.decision_function(numbers), expected.decision_function(numbers)
    )
    with pytest.raises(ValueError, match="pyarrow is needed.*job"):
        rueful.OnlineClassifier().fit(frame, y)


def test_a_frame_with_its_label_among_its_columns(table):
    frame, y = table
    labelled = frame.assign(target=y)
    for data in (labelled, pl.from_pandas(labelled.assign(region=frame["region"].astype(str)))):
        model = rueful.run(data, label="target")
        assert isinstance(model, rueful.OnlineClassifier)
        assert "target" not in model.feature_names_in_
    with pytest.raises(ValueError, match="no column 'goal'"):
        rueful.run(labelled, label="goal")


def test_a_column_may_be_called_label(table):
    frame, y = table
    model = rueful.OnlineClassifier().fit(frame.rename(columns={"age": "label"}), y)
    assert "label" in model.weights_
    assert json.loads(model._model.data())["schema"]["columns"]["list"][-1]["name"] == "label_"


class Stream:
    """Anything with a stream of Arrow, and nothing else."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def test_any_stream_of_arrow_is_a_table(table):
    frame, y = table
    arrow = pa.Table.from_pandas(frame.assign(region=frame["region"].astype(str)))
    expected = rueful.OnlineClassifier().fit(arrow, y)
    one_batch = arrow.combine_chunks().to_batches()[0]
    for X in (Stream(arrow), arrow.to_reader(max_chunksize=7), one_batch):
        model = rueful.OnlineClassifier().fit(X, y)
        assert model.weights_ == expected.weights_
        assert list(model.feature_names_in_) == list(arrow.column_names)
        np.testing.assert_array_equal(model.predict(Stream(arrow)), expected.predict(arrow))
    with pytest.raises(ValueError, match="named \"age\", expected|all files must have"):
        rueful.OnlineClassifier().fit(arrow, y).predict(Stream(arrow.drop_columns(["income"])))
    with pytest.raises(ValueError, match="X has more rows than y, which has 299"):
        rueful.OnlineClassifier().fit(Stream(arrow), y[:-1])
    with pytest.raises(ValueError, match="X has 300 rows and y has 301"):
        rueful.OnlineClassifier().fit(Stream(arrow), [*y, True])


def test_record_batches_are_a_stream_with_labels(table):
    frame, y = table
    frame = frame.assign(region=frame["region"].astype(str))
    arrow = pa.Table.from_pandas(frame.assign(bought=y), preserve_index=False)
    reader = arrow.to_reader(max_chunksize=31)
    model = rueful.run(reader, label="bought", classes=[False, True])
    assert model.weights_ == rueful.OnlineClassifier().fit(frame, y).weights_


def test_learning_goes_on_with_labels_among_the_columns(table):
    frame, y = table
    frame = frame.assign(region=frame["region"].astype(str))
    labelled = frame.assign(bought=y)
    arrow = pa.Table.from_pandas(labelled, preserve_index=False)
    expected = rueful.OnlineClassifier().fit(frame, y).partial_fit(frame, y)
    for X in (labelled, pl.from_pandas(labelled), arrow, Stream(arrow), arrow.to_reader(7)):
        model = rueful.OnlineClassifier().fit(frame, y).learn(X, label="bought")
        assert model.weights_ == expected.weights_
        assert dict(model.report()) == dict(expected.report())
    begun = rueful.run(Stream(arrow), label="bought")
    assert begun.weights_ == rueful.OnlineClassifier().fit(frame, y).weights_
    with pytest.raises(ValueError, match="no column 'sold'"):
        expected.learn(Stream(arrow), label="sold")
    with pytest.raises(TypeError, match="given as y already"):
        expected.learn(labelled, y, label="bought")
    with pytest.raises(TypeError, match="label: found list, expected a frame"):
        expected.learn([[1.0]], label="bought")
    with pytest.raises(TypeError, match="files have their labels"):
        expected.learn("data/phishing.libsvm", label="bought")


def test_sparse_and_lazy_frames(table):
    frame, y = table
    numbers = frame[["age", "income"]].fillna(0.0).astype(float)
    sparse = rueful.OnlineClassifier().fit(numbers.astype(pd.SparseDtype(float, 0.0)), y)
    assert sparse.weights_ == rueful.OnlineClassifier().fit(numbers, y).weights_
    with pytest.raises(TypeError, match="collect it first"):
        rueful.OnlineClassifier().fit(pl.from_pandas(numbers).lazy(), y)
    nullable = numbers.convert_dtypes()
    assert rueful.OnlineClassifier().fit(nullable, y).weights_ == sparse.weights_


def program(*args: object) -> None:
    command = [sys.executable, "-m", "rueful", *map(str, args)]
    subprocess.run(command, check=True, capture_output=True)


FILES = {
    "csv": lambda frame, file: frame.to_csv(file, index=False),
    "parquet": lambda frame, file: frame.to_parquet(file),
    "jsonl": lambda frame, file: frame.to_json(file, orient="records", lines=True),
    "arrow": lambda frame, file: pa.feather.write_feather(frame, file),
}


@pytest.mark.parametrize("kind", FILES)
def test_the_program_predicts_tables_with_the_columns_of_a_frame(table, tmp_path, kind):
    frame, y = table
    frame = frame.drop(columns="region").fillna({"income": 1.0, "job": "none"})
    model = rueful.OnlineClassifier().fit(frame, np.where(y, "yes", "no"))
    model.save(tmp_path / "m.rueful")
    # Columns may come in another order, and there may be more of them.
    other = frame[["member", "job", "age", "income"]].assign(note="x", label=np.where(y, "yes", "no"))
    file, scores = tmp_path / f"people.{kind}", tmp_path / "scores.txt"
    FILES[kind](other, file)
    program("predict", tmp_path / "m.rueful", file, "--as", "score", "--out", scores)
    np.testing.assert_array_equal(np.loadtxt(scores), model.decision_function(frame))
    np.testing.assert_array_equal(model.decision_function(str(file)), np.loadtxt(scores))
    program("run", file, "--resume", tmp_path / "m.rueful", "--save", tmp_path / "more", "--quiet")
    assert rueful.load(tmp_path / "more").weights_ == model.learn(file).weights_


def test_numbers_that_are_written_as_words(table):
    frame, y = table
    frame = frame.drop(columns=["region", "income"]).fillna({"job": "none"})
    written = frame.assign(age=frame["age"].astype(str))
    expected = rueful.OnlineClassifier().fit(frame, y).weights_
    category = frame.assign(age=frame["age"].astype("category"))
    for table in (written, category, pl.from_pandas(written), pa.Table.from_pandas(written)):
        numbers = rueful.OnlineClassifier(numeric="age").fit(table, y)
        assert numbers.weights_ == expected
        assert numbers.predict(table).shape == y.shape
    assert "age=40" in rueful.OnlineClassifier().fit(written.assign(age="40"), y).weights_
    with pytest.raises(ValueError, match="column 'job': expected numbers"):
        rueful.OnlineClassifier(numeric="job").fit(written, y)


def test_results_of_duckdb(table):
    duckdb = pytest.importorskip("duckdb")
    frame, y = table
    frame = frame.drop(columns="region").assign(bought=y)
    expected = rueful.OnlineClassifier().fit(frame.drop(columns="bought"), y)
    with duckdb.connect() as database:
        database.register("people", frame)
        rows = database.sql("SELECT age, income, job, member FROM people")
        model = rueful.OnlineClassifier().fit(rows, y)
        assert model.weights_ == expected.weights_
        np.testing.assert_array_equal(model.predict(rows), expected.predict(rows.arrow()))
        labelled = database.sql("SELECT * FROM people")
        batches = labelled.to_arrow_reader(50)
        streamed = rueful.run(batches, label="bought", classes=[False, True])
        assert streamed.weights_ == expected.weights_
        result = rueful.run(database.sql("SELECT * FROM people"), label="bought")
        assert result.weights_ == expected.weights_
        again = result.learn(database.sql("SELECT * FROM people"), label="bought")
        assert again.report()["examples"] == 600


def test_frames_of_floats_are_the_same_table_as_arrow(table):
    frame, y = table
    floats = frame[["age", "income"]].astype(float).assign(small=np.float64(0.5))
    for X in (floats, floats.astype(np.float32)):
        memory = rueful.OnlineClassifier().fit(X, y)
        arrow = rueful.OnlineClassifier().fit(pa.Table.from_pandas(X, preserve_index=False), y)
        assert memory._model.to_bytes() == arrow._model.to_bytes()
    floats.loc[7, "age"] = np.inf
    with pytest.raises(ValueError, match="row 7, column 0: found infinity"):
        rueful.OnlineClassifier().fit(floats, y)
    numbers = rueful.OnlineClassifier(drop="income").fit(frame[["age", "income"]].astype(float), y)
    assert set(numbers.weights_) == {"age", "constant"}


def test_gaps_far_behind_are_the_same_in_arrays_and_arrow():
    rng = np.random.default_rng(8)
    columns = {f"c{j}": rng.normal(size=3000) for j in range(20)}
    columns["c7"][2900] = np.nan
    y = rng.random(3000) < 0.5
    frame, arrow = pd.DataFrame(columns), pa.table(columns)
    expected = rueful.OnlineClassifier().fit(frame, y)
    assert "c7·missing" in expected.weights_
    in_batches = pa.Table.from_batches(arrow.to_batches(max_chunksize=700))
    for X in (arrow, in_batches, pa.Table.from_pandas(frame)):
        model = rueful.OnlineClassifier().fit(X, y)
        assert model.weights_ == expected.weights_
        assert dict(model.report()) == dict(expected.report())
        np.testing.assert_array_equal(model.predict(X), expected.predict(frame))
