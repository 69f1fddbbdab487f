"""Streams: files, iterators, progress, Ctrl-C, threads, processes."""

from __future__ import annotations

import io
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
import types
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
import rueful
import scipy.sparse

FILE = "data/phishing.libsvm"


def test_runs_tell_classes_from_numbers(stream):
    X, y = stream
    assert isinstance(rueful.run(X, y), rueful.OnlineClassifier)
    assert isinstance(rueful.run(X, X[:, 0]), rueful.OnlineRegressor)
    assert isinstance(rueful.run(X, y, loss="square"), rueful.OnlineRegressor)
    assert isinstance(rueful.run(FILE), rueful.OnlineClassifier)
    assert isinstance(rueful.run(FILE, loss="absolute"), rueful.OnlineRegressor)


def test_an_iterator_of_batches_is_the_whole(stream):
    X, y = stream
    batches = ((X[i : i + 32], y[i : i + 32]) for i in range(0, 400, 32))
    model = rueful.run(batches)
    whole = rueful.run(scipy.sparse.csr_matrix(X), y)
    assert model._model.to_bytes() == whole._model.to_bytes()
    more = model.learn((X[i : i + 50], y[i : i + 50]) for i in range(0, 400, 50))
    assert more.report()["examples"] == 800
    with pytest.raises(TypeError, match="pairs"):
        model.learn([X])
    with pytest.raises(TypeError, match="expected files"):
        rueful.run(iter([]))


def test_files_of_all_kinds_and_several(tmp_path):
    table = tmp_path / "people.csv"
    table.write_text("age,job,bought\n" + "31,clerk,yes\n40,smith,no\n" * 20)
    one = rueful.run(table, label="bought", drop="age")
    assert one.report()["examples"] == 40 and one.classes_.tolist() == ["no", "yes"]
    assert set(one.weights_) == {"constant", "job=clerk", "job=smith"}
    two = rueful.run([FILE, FILE])
    assert two.report()["examples"] == 2500
    np.testing.assert_array_equal(
        rueful.run(FILE, threads=1).decision_function(FILE),
        rueful.run(FILE, threads=3).decision_function(FILE),
    )


def test_what_is_wrong_with_files_is_told(tmp_path):
    with pytest.raises(OSError, match="no-such-file"):
        rueful.run("no-such-file")
    (tmp_path / "bad.libsvm").write_text("1 1:2\n-1 1:x\n")
    with pytest.raises(ValueError, match="bad.libsvm:2"):
        rueful.run(tmp_path / "bad.libsvm")
    with pytest.raises(TypeError, match="unknown settings: learning_rate"):
        rueful.run(FILE, learning_rate=3)
    with pytest.raises(ValueError, match="eta has no effect|eta"):
        rueful.run(FILE, learner="bank", eta=1.0)
    with pytest.raises(ValueError, match="which column is the label\\? Add label"):
        rueful.run("data/phishing-models.csv")
    with pytest.raises(ValueError, match="not a rueful model"):
        rueful.load(FILE)
    with pytest.raises(OSError):
        rueful.load("no-such-file")
    with pytest.raises(OSError, match="cannot save"):
        rueful.run(FILE).save(tmp_path / "no" / "such" / "folder")
    with pytest.raises(ValueError, match="threads"):
        rueful.run(FILE, threads=0)


@pytest.mark.parametrize("has_tqdm", [True, False])
def test_progress_is_shown_where_it_is_asked_for(has_tqdm, capfd, monkeypatch, tmp_path):
    if not has_tqdm:
        monkeypatch.setitem(sys.modules, "tqdm", None)
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    from rueful._progress import Progress

    with Progress(True, 1000) as bar:
        bar.listener(5, 500, 0.25)
    assert "average loss 0.2500" in capfd.readouterr().err
    rueful.OnlineClassifier().learn([[1.0], [2.0]], [0, 1], progress=True)
    assert "2 examples, average loss" in capfd.readouterr().err
    rueful.run(FILE, progress=True)
    assert "1,250 examples, average loss 0.2656" in capfd.readouterr().err
    rueful.run(FILE, progress=False)
    rueful.run(FILE)
    assert capfd.readouterr().err == ""


def test_progress_is_shown_in_notebooks(capfd, monkeypatch):
    class ZMQInteractiveShell:
        """What a notebook's IPython says it is."""

    shell = types.ModuleType("IPython")
    monkeypatch.setitem(sys.modules, "IPython", shell)
    for module in ("tqdm", "tqdm.auto"):
        monkeypatch.setitem(sys.modules, module, None)
    shell.get_ipython = lambda: None
    rueful.run(FILE)
    assert capfd.readouterr().err == ""
    shell.get_ipython = ZMQInteractiveShell
    rueful.run(FILE)
    said = capfd.readouterr().err
    assert "1,250 examples, average loss 0.2656" in said
    # The line is cleared when all is read.
    assert said.endswith("\r") and said.split("\r")[-2].strip() == ""
    rueful.run(FILE, progress=False)
    assert capfd.readouterr().err == ""


def test_ctrl_c_stops_a_run_and_what_was_learned_is_kept(tmp_path):
    script = tmp_path / "long.py"
    script.write_text(
        textwrap.dedent(
            """
            import numpy as np
            import rueful
            X = np.random.default_rng(0).random((1_000_000, 40), dtype=np.float32)
            y = X[:, 0] > 0.5
            model = rueful.OnlineClassifier()
            model.partial_fit(X[:100], y[:100])
            signs = np.where(y, 1.0, -1.0)
            print("learning", flush=True)
            try:
                while True:
                    model._model.learn(X, signs)
            except KeyboardInterrupt:
                learned = model.report()["examples"] - 100
                print("interrupted", learned > 0 and learned % len(y) > 0, flush=True)
            """
        )
    )
    child = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "learning\n"
    time.sleep(1.0)
    child.send_signal(signal.SIGINT)
    said, _ = child.communicate(timeout=60)
    assert said == "interrupted True\n" and child.returncode == 0


def test_ctrl_c_stops_a_solver(tmp_path):
    script = tmp_path / "solver.py"
    script.write_text(
        textwrap.dedent(
            """
            import numpy as np
            import rueful
            rng = np.random.default_rng(0)
            X = rng.standard_normal((20_000, 40))
            y = X[:, 0] + rng.standard_normal(len(X)) > 0
            print("solving", flush=True)
            try:
                rueful.hindsight(X, y, loss="hinge", tolerance=1e-300, max_passes=10**9)
            except KeyboardInterrupt:
                print("interrupted", flush=True)
            """
        )
    )
    child = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "solving\n"
    time.sleep(1.0)
    child.send_signal(signal.SIGINT)
    said, _ = child.communicate(timeout=60)
    assert said == "interrupted\n" and child.returncode == 0


def test_the_interpreter_is_free_while_rows_are_learned():
    X = np.random.default_rng(0).random((400_000, 30), dtype=np.float32)
    signs = np.where(X[:, 0] > 0.5, 1.0, -1.0)
    model = rueful.OnlineClassifier().fit(X[:100], signs[:100])._model
    ticks, is_done = [], threading.Event()

    def tick() -> None:
        while not is_done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    seen = 0
    for rows in (25_000, 50_000, 100_000, 200_000, 400_000):
        before = len(ticks)
        model.learn(X[:rows], signs[:rows])
        # Between two calls others may get a turn as well, but not several.
        seen = max(seen, len(ticks) - before)
    is_done.set()
    thread.join()
    assert seen > 5


def test_threads_share_a_model(stream):
    X, y = stream
    model = rueful.OnlineClassifier().partial_fit(X, y)

    def work(part: int) -> float:
        if part % 2:
            model.partial_fit(X[part::8], y[part::8])
        return float(model.predict_proba(X).sum() + model.report()["sequential_risk"])

    with ThreadPoolExecutor(4) as pool:
        assert all(np.isfinite(list(pool.map(work, range(8)))))
    assert model.report()["examples"] == 400 + sum(len(y[part::8]) for part in (1, 3, 5, 7))


def test_questions_wait_for_those_who_learn():
    """Whoever learns asks for the interpreter now and then, and must get it."""
    X = np.random.default_rng(0).random((150_000, 30), dtype=np.float32)
    y = X[:, 0] > 0.5
    model = rueful.OnlineClassifier().partial_fit(X[:10], y[:10], classes=[False, True])
    learner = threading.Thread(target=lambda: model.partial_fit(X, y), daemon=True)
    learner.start()
    questions = 0
    while learner.is_alive():
        core = model._model
        assert core.examples() >= 10 and core.classes() == ("false", "true")
        assert core.constant() and core.classifies() and core.dimension() == 31
        questions += 1
    learner.join()
    assert model.report()["examples"] == 150_010 and questions > 0


def _learn(arguments):
    model, X, y = arguments
    return model.partial_fit(X, y)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_send_models_to_each_other(stream, method):
    X, y = stream
    model = rueful.OnlineClassifier().partial_fit(X, y)
    expected = pickle.loads(pickle.dumps(model)).partial_fit(X, y)
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        for found in pool.map(_learn, [(model, X, y)] * 2):
            assert found._model.to_bytes() == expected._model.to_bytes()
    assert model.report()["examples"] == 400


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_goes_on_by_itself(stream):
    X, y = stream
    model = rueful.run(FILE)
    child = os.fork()
    if child == 0:
        model.learn(FILE)
        os._exit(0 if model.report()["examples"] == 2500 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert model.report()["examples"] == 1250


def test_ctrl_c_stops_a_run_over_files(tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{t % 2} " + " ".join(f"{j + 1}:{v:.3f}" for j, v in enumerate(rng.random(40)))
            for t in range(1000)]
    big = tmp_path / "big.libsvm"
    with big.open("w") as file:
        for _ in range(300):
            file.write("\n".join(rows) + "\n")
    script = tmp_path / "long.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import rueful
            model = rueful.run({FILE!r})
            print("learning", flush=True)
            try:
                while True:
                    rueful.run([{str(big)!r}] * 20)
            except KeyboardInterrupt:
                print("interrupted", model.report()["examples"], flush=True)
            """
        )
    )
    child = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "learning\n"
    time.sleep(0.7)
    started = time.monotonic()
    child.send_signal(signal.SIGINT)
    said, _ = child.communicate(timeout=60)
    # A whole run takes much longer than it took to stop.
    assert said == "interrupted 1250\n" and child.returncode == 0
    assert time.monotonic() - started < 30


def test_loaders_of_batches_are_streams(stream):
    """What loaders of PyTorch yield: arrays of single precision, and labels of any shape of one."""
    X, y = stream

    def loader():
        for start in range(0, 400, 64):
            part = slice(start, start + 64)
            yield X[part].astype(np.float32), y[part].astype(np.int64)

    model = rueful.OnlineClassifier().learn(loader(), classes=[0, 1])
    whole = rueful.OnlineClassifier().fit(X.astype(np.float32), y)
    assert model._model.to_bytes() == whole._model.to_bytes()
    weighted = ((table, labels, np.full(len(labels), 2.0)) for table, labels in loader())
    twice = rueful.OnlineClassifier().learn(weighted, classes=[0, 1])
    assert twice.report()["examples"] == 400


class Tensor:
    """An array that is not NumPy's, and that NumPy can read, as a tensor of PyTorch is."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values
        self.shape = values.shape

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        return self.values.astype(dtype) if dtype is not None else self.values


def test_loaders_that_put_a_batch_in_a_list(stream):
    """A loader of PyTorch yields lists, of tensors."""
    X, y = stream
    whole = rueful.OnlineClassifier().fit(X.astype(np.float32), y)

    def loader():
        for start in range(0, 400, 64):
            part = slice(start, start + 64)
            yield [Tensor(X[part].astype(np.float32)), Tensor(y[part])]

    for model in (rueful.run(loader()), rueful.OnlineClassifier().learn(loader(), classes=[0, 1])):
        assert model._model.to_bytes() == whole._model.to_bytes()
        np.testing.assert_array_equal(model.predict(Tensor(X)), whole.predict(X))
    # Rows of a table are no batches.
    with pytest.raises(TypeError, match="expected files, a table with y"):
        rueful.run([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(TypeError, match="pairs of a table and its labels"):
        rueful.OnlineClassifier().learn([[1.0, 2.0], [3.0, 4.0]])


def test_metrics_are_numbers_by_name(stream):
    metrics = rueful.OnlineClassifier().fit(*stream).report().metrics("run/")
    assert all(type(name) is str and type(value) is float for name, value in metrics.items())
    assert {"run/examples", "run/sequential_risk", "run/certificate"} <= set(metrics)
    assert all(name.startswith("run/") for name in metrics)


class Terminal(io.StringIO):
    """A stream that says that somebody watches it."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_a_bar_that_disappears(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    rueful.run(FILE)
    assert "1,250 examples, average loss 0.2656" in terminal.getvalue()
