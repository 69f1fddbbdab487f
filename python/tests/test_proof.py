"""Certificates, regrets, audits, and how reports show them."""

from __future__ import annotations

import json
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest
import rueful
import scipy.optimize
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.naive_bayes import GaussianNB


def log_loss(scores, y):
    return np.logaddexp(0.0, -np.where(y == 1, 1.0, -1.0) * scores).mean()


def test_the_sequential_risk_is_what_predictions_cost(stream):
    X, y = stream
    model, costs = rueful.OnlineClassifier(), []
    for row, label in zip(X, y, strict=True):
        if hasattr(model, "classes_"):
            costs.append(log_loss(model.decision_function([row]), label))
        else:
            costs.append(math.log(2.0))
        model.partial_fit([row], [label], classes=[0, 1])
    assert model.report()["sequential_risk"] == pytest.approx(np.mean(costs), rel=1e-12)


def test_no_predictor_is_better_than_the_certificate_says(stream):
    X, y = stream
    # A column of ones, and all columns scaled to ±1, as comparators without units are.
    Z = np.column_stack([np.ones(len(y)), X]).astype(np.float32).astype(float)
    Z /= np.abs(Z).max(axis=0)
    model = rueful.OnlineClassifier().fit(X, y)
    risk = model.report()["sequential_risk"]
    for radius in (1.0, 3.0, 10.0):
        ball = {"type": "ineq", "fun": lambda u, r=radius: r * r - u @ u}
        found = scipy.optimize.minimize(
            lambda u: log_loss(Z @ u, y), np.zeros(Z.shape[1]), constraints=[ball], method="SLSQP"
        )
        assert risk - found.fun <= model.certificate(radius) + 1e-9
    assert model.certificate() == model.report()["certificate"]
    assert model.certificate(10.0) == pytest.approx(model.certificate(), rel=1e-9)
    assert model.certificate(1.0) < model.certificate(10.0)


def test_the_exact_regret_is_below_the_certificate_and_that_of_the_solver(stream):
    X, y = stream
    model = rueful.OnlineClassifier().fit(X, y)
    solved = model.regret(X, y)
    regret, comparator = solved["regret"], solved["comparator"]
    assert regret["lower"] <= regret["upper"] <= solved["certificate"]
    assert solved["certificate"] == model.report()["certificate"]
    alone = rueful.hindsight(X, y)["comparator"]
    assert max(alone["lower"], comparator["lower"]) <= min(alone["upper"], comparator["upper"])
    risk = model.report()["sequential_risk"]
    assert regret["lower"] <= risk - comparator["lower"] + 1e-12
    # Nothing was learned on the way.
    assert model.report()["examples"] == 400


@pytest.mark.parametrize("loss", ["square", "absolute"])
def test_regret_of_numbers(stream, loss):
    X, _ = stream
    y = X @ [1.0, 0.5, 2.0, 0.0, -1.0, 3.0] + 5
    model = rueful.OnlineRegressor(loss=loss).fit(X, y)
    solved = model.regret(X, y)
    # For the square loss of few columns the certificate is the exact regret.
    assert solved["regret"]["lower"] <= solved["certificate"]
    if loss == "square":
        assert solved["regret"]["upper"] == pytest.approx(solved["certificate"], rel=1e-6)


def test_the_perceptron_has_its_mistakes_bounded(stream):
    X, y = stream
    model = rueful.OnlineClassifier(learner="perceptron", loss="perceptron").fit(X, y)
    found = model.regret(X, y)["mistake_bound"]
    assert found["mistakes"] <= found["bound"]


def test_hindsight_takes_frames_weights_and_all_losses(stream):
    pd = pytest.importorskip("pandas")
    X, y = stream
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(word=np.where(X[:, 0] > 0, "up", "down"))
    found = rueful.hindsight(frame, y, sample_weight=np.ones(400), tolerance=1e-3)
    names = {weight["name"] for weight in found["largest_weights"] if "name" in weight}
    assert names & {"word=up", "word=down"} and found["converged"]
    with pytest.raises(ValueError, match="tolerance"):
        rueful.hindsight(X, y, tolerance=2.0)
    with pytest.raises(ValueError, match="3 classes"):
        rueful.hindsight(X, y + (np.arange(400) == 0), loss="hinge")


def test_reports_read_like_dicts_and_are_the_program_s():
    model = rueful.run("data/phishing.libsvm")
    report = model.report()
    command = [sys.executable, "-m", "rueful", "run", "data/phishing.libsvm", "--quiet"]
    said = subprocess.run([*command, "--json"], capture_output=True, check=True, text=True)
    assert dict(report) == json.loads(said.stdout)
    assert json.loads(report.to_json()) == json.loads(said.stdout)
    text = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    assert str(report) == text
    assert report["sequential_risk"] == report.get("sequential_risk")
    assert "examples" in report and len(report) == len(list(report))


def test_pages_have_their_pictures(stream):
    report = rueful.OnlineClassifier().fit(*stream).report()
    page = report.to_html()
    assert page.startswith("<!doctype html>") and "<svg" in page
    shown = report._repr_html_()
    assert shown.startswith("<iframe") and "&lt;svg" in shown
    twin = pickle.loads(pickle.dumps(report))
    assert twin.to_html() == page and dict(twin) == dict(report) and str(twin) == str(report)


def test_metrics_are_numbers_by_name(stream):
    metrics = rueful.OnlineClassifier().fit(*stream).report().metrics("run.")
    assert metrics["run.examples"] == 400.0
    assert metrics["run.bound.theorem"] > metrics["run.certificate"]
    assert all(isinstance(value, float) and math.isfinite(value) for value in metrics.values())


def test_reports_are_frames(stream):
    report = rueful.OnlineClassifier().fit(*stream).report()
    frame = report.to_frame()
    assert frame.shape[0] == 1 and frame["examples"][0] == 400.0
    assert frame["certificate"][0] == report["certificate"]
    curve = report.to_frame("curve")
    assert curve["t"].tolist() == [point["t"] for point in report["curve"]]
    assert curve["certificate"].iloc[-1] == report["certificate"]
    with pytest.raises(ValueError, match="'examples' is no list"):
        report.to_frame("examples")


def test_reports_are_dicts(stream):
    report = rueful.OnlineClassifier().fit(*stream).report()
    own = report.to_dict()
    assert type(own) is dict and own == dict(report) == json.loads(report.to_json())
    own["curve"].clear()
    assert report["curve"]


def observed(X, y, scores, **settings):
    return rueful.Audit(**settings).observe(X, y, scores)


def test_an_audit_is_the_same_one_by_one_and_in_arrays(stream):
    X, y = stream
    scores = np.tanh(X[:, 0])
    whole = observed(X, y, scores, loss="hinge", window=50)
    singly = rueful.Audit(loss="hinge", window=50)
    for row, label, score in zip(X, y, scores, strict=True):
        singly.observe(row, label, score)
    assert dict(singly.report()) == dict(whole.report())
    assert len(whole.windows()) == 8 and whole.windows()[0]["to"] == 50
    hinge = np.maximum(0, 1 - np.where(y == 1, 1, -1) * scores).mean()
    assert whole.report()["sequential_risk"] == pytest.approx(hinge, rel=1e-12)


@pytest.mark.parametrize("loss", ["logistic", "square"])
def test_audits_are_pickled_and_go_on(stream, loss):
    X, y = stream
    scores = X[:, 1]
    whole = observed(X, y, scores, loss=loss, window=30)
    half = observed(X[:205], y[:205], scores[:205], loss=loss, window=30)
    later = pickle.loads(pickle.dumps(half)).observe(X[205:], y[205:], scores[205:])
    assert dict(later.report()) == dict(whole.report())
    assert later.certificate(2.0) == whole.certificate(2.0)


def test_audits_are_merged(stream):
    X, y = stream
    scores = X[:, 1]
    front = observed(X[:205], y[:205], scores[:205], window=100)
    back = observed(X[205:], y[205:], scores[205:], window=100)
    whole = observed(X, y, scores, window=100).report()
    merged = front.merge(back).report()
    assert merged["examples"] == 400
    assert merged["sequential_risk"] == pytest.approx(whole["sequential_risk"], rel=1e-12)
    assert [window["to"] for window in merged["windows"]] == [100, 200, 205, 305, 400]
    with pytest.raises(ValueError, match="different settings"):
        front.merge(rueful.Audit(loss="hinge"))
    with pytest.raises(ValueError, match="with itself"):
        front.merge(front)


def program(*args: object) -> str:
    command = [sys.executable, "-m", "rueful", *map(str, args)]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout


def test_audits_show_themselves_as_the_program_shows_them(tmp_path):
    X, y = rueful.read("data/phishing.libsvm")
    said = np.tanh(np.asarray(X[:, [0]].todense()).ravel()) * 0.4 + 0.5
    (tmp_path / "said.txt").write_text("".join(f"{chance!r}\n" for chance in said.tolist()))
    flags = ["data/phishing.libsvm", "--predictions", tmp_path / "said.txt", "--quiet"]
    flags += ["--loss", "logistic", "--link", "logistic", "--radius", 2, "--window", 250]
    text = program("audit", *flags, "--report", tmp_path / "page.html", "--plot", tmp_path / "p.svg")
    books = rueful.Audit(loss="logistic", link="logistic", radius=2.0, window=250)
    report = books.observe(X, y, said).report()
    ours, theirs = str(report), text
    # What comes from memory has no names of files.
    from_cost = "What the predictions cost"
    assert ours[ours.index(from_cost) :] == theirs[theirs.index(from_cost) :]
    assert ours.startswith("Audit\n  link ") and "said.txt" not in ours
    picture = (tmp_path / "p.svg").read_text().replace(" on phishing.libsvm", "")
    picture = picture.replace(f"Predictions of {tmp_path / 'said.txt'}; loss", "Loss")
    assert report.to_svg() == picture
    page = report.to_html()
    assert page.startswith("<!doctype html>") and page.count("<svg") > 1
    assert page.count("<svg") == (tmp_path / "page.html").read_text().count("<svg")
    shown = report._repr_html_()
    assert shown.startswith("<iframe") and "&lt;svg" in shown
    assert books._repr_html_() == shown
    twin = pickle.loads(pickle.dumps(report))
    assert (str(twin), twin.to_html(), twin.to_svg()) == (ours, page, report.to_svg())
    assert " ".join(books.verdict().split()) == books.verdict()
    assert books.verdict() in " ".join(text.split())
    assert report.metrics()["rueful.certificate"] == books.certificate()


def test_an_audit_returns_a_verdict_and_a_report(stream):
    X, y = stream
    books = rueful.audit(SGDClassifier(loss="log_loss", random_state=0), X, y)
    assert books.verdict().startswith(("Proved: ", "Nothing is proved: "))
    # It has learned the product of two signs.
    product = rueful.Audit(loss="hinge")
    for a, b in [(1, 1), (1, -1), (-1, 1), (-1, -1)]:
        product.observe({"a": a, "b": b}, a * b, 0.5 * a * b)
    assert product.verdict().startswith("Proved: on these examples it beat every linear predictor")
    assert product.report()["beats_every_linear_predictor"]
    assert "Verdict\n" in str(product.report())
    three = rueful.Audit(loss="softmax", classes=[1, 2, 3])
    three.observe(X[:60], np.arange(60) % 3 + 1, np.full((60, 3), 1 / 3))
    assert "Confusion" in str(three.report()) and "<svg" in three.report().to_html()


def test_the_answer_of_the_solver_is_told_as_the_program_tells_it():
    X, y = rueful.read("data/phishing.libsvm")
    for loss in ("logistic", "hinge"):
        text = program("hindsight", "data/phishing.libsvm", "--loss", loss, "--quiet")
        found = rueful.hindsight(X, y, loss=loss)
        assert str(found) == text.replace(" of data/phishing.libsvm", "")
        assert found._repr_html_().startswith("<iframe")


def test_audits_without_a_constant(stream):
    X, y = stream
    books = rueful.Audit(no_constant=True).observe(X, y, X[:, 1])
    assert books.report()["features"] == 6
    later = pickle.loads(pickle.dumps(books)).observe({"a": 1.0}, 1, 0.5)
    assert later.report()["features"] == 7
    with pytest.raises(ValueError, match="different settings"):
        books.merge(rueful.Audit())


def test_the_audit_of_a_run_s_own_predictions_is_the_run_s(stream):
    X, y = stream
    model = rueful.OnlineClassifier()
    books = rueful.audit(model, X, y)
    ours, theirs = books.report(), model.report()
    assert ours["sequential_risk"] == pytest.approx(theirs["sequential_risk"], rel=1e-9)
    assert ours["mistake_rate"] == theirs["mistake_rate"]
    assert ours["certificate"] == pytest.approx(theirs["certificate"], rel=1e-6)


def test_models_of_scikit_learn_are_audited(stream):
    X, y = stream
    books = rueful.audit(SGDClassifier(random_state=0), X, y, batch=10, window=100)
    assert books.report()["examples"] == 400 and len(books.windows()) == 4
    books = rueful.audit(SGDClassifier(loss="log_loss", random_state=0), X, np.where(y, "a", "b"))
    assert books.report()["loss"] == {"name": "logistic"}
    books = rueful.audit(SGDRegressor(random_state=0), X, X[:, 0])
    assert books.report()["certificate"] > -1e9
    with pytest.raises(TypeError, match="partial_fit"):
        rueful.audit(object(), X, y)
    with pytest.raises(ValueError, match="y has 1 classes, expected at least two"):
        rueful.audit(SGDClassifier(), X, np.zeros(400))


def test_models_of_river_are_audited():
    datasets = pytest.importorskip("river.datasets")
    from river import linear_model, preprocessing

    rows = list(datasets.Phishing())
    model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    books = rueful.audit(model, [x for x, _ in rows], [y for _, y in rows])
    assert books.report()["examples"] == 1250
    assert 0.2 < books.report()["sequential_risk"] < 0.4
    numbers = preprocessing.StandardScaler() | linear_model.LinearRegression()
    books = rueful.audit(numbers, [x for x, _ in rows], [float(y) for _, y in rows])
    assert books.report()["loss"] == {"name": "square"}


def test_models_that_only_name_a_class_are_audited(stream):
    from river import linear_model, multiclass, naive_bayes

    X, y = stream
    rows = [dict(enumerate(row)) for row in X.tolist()]

    def named(model, y):
        """What a model names before it is told."""
        for row, label in zip(rows, y.tolist(), strict=True):
            yield model.predict_one(row)
            model.learn_one(row, label)

    labels = list(named(multiclass.OneVsOneClassifier(linear_model.LogisticRegression()), y))
    books = rueful.audit(multiclass.OneVsOneClassifier(linear_model.LogisticRegression()), X, y)
    scores = [0.0 if label is None else 1.0 if label == 1 else -1.0 for label in labels]
    by_hand = rueful.Audit(loss="hinge")
    for row, label, score in zip(rows, y.tolist(), scores, strict=True):
        by_hand.observe(row, label, score)
    assert books.report()["loss"] == {"name": "hinge"}
    assert dict(books.report()) == dict(by_hand.report())
    three = np.where(X[:, 0] > 1, "up", np.where(X[:, 0] < -1, "down", "flat"))
    voted = rueful.audit(multiclass.OneVsOneClassifier(naive_bayes.GaussianNB()), rows, three).report()
    assert voted["loss"] == {"name": "multiclass-hinge"}
    labels = list(named(multiclass.OneVsOneClassifier(naive_bayes.GaussianNB()), three))
    # To name the wrong class costs 2, and to name none costs 1.
    costs = [1 if said is None else 2 * (said != label) for said, label in zip(labels, three, strict=True)]
    assert voted["sequential_risk"] == pytest.approx(np.mean(costs))

    class Majority(ClassifierMixin, BaseEstimator):
        """Names the class that came most often."""

        def partial_fit(self, X, y, classes=None):
            counts = np.array([(y == one).sum() for one in classes])
            self.counts_ = getattr(self, "counts_", 0) + counts
            self.classes_ = classes
            return self

        def predict(self, X):
            if not hasattr(self, "counts_"):
                raise NotFittedError
            return np.repeat(self.classes_[np.argmax(self.counts_)], len(X))

    found = rueful.audit(Majority(), X, y, batch=40).report()
    assert found["loss"] == {"name": "hinge"} and 0.5 < found["sequential_risk"] < 1.5


def test_tables_of_all_kinds_are_audited(stream):
    pl, pa, pd = (pytest.importorskip(name) for name in ("polars", "pyarrow", "pandas"))
    from river import linear_model

    X, y = stream
    frame = pd.DataFrame(X, columns=list("abcdef"))
    expected = rueful.audit(linear_model.LogisticRegression(), frame.to_dict("records"), y == 1)
    for table in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        books = rueful.audit(linear_model.LogisticRegression(), table, y == 1)
        assert dict(books.report()) == dict(expected.report())
        own = rueful.audit(rueful.OnlineClassifier(), table, y, batch=100).report()
        assert own["examples"] == 400 and own["certificate"] < own["sequential_risk"]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_chances_that_are_nan_are_told(stream):
    X, y = stream
    with pytest.warns(UserWarning, match="X, row 1: the model said NaN, which is taken for even"):
        books = rueful.audit(GaussianNB(), X, y)
    assert books.report()["examples"] == 400


def test_audits_refuse_what_they_cannot_judge(stream):
    X, y = stream
    with pytest.raises(ValueError, match="row 0: found 'a'"):
        rueful.Audit().observe(X[:2], ["a", "b"], [0.0, 0.0])
    with pytest.raises(ValueError, match="row 1: found the prediction NaN"):
        rueful.Audit().observe(X[:2], y[:2], [0.0, math.nan])
    with pytest.raises(ValueError, match="row 1.*strictly between 0 and 1"):
        rueful.Audit(link="logistic").observe(X[:2], y[:2], [0.5, 1.0])
    with pytest.raises(ValueError, match="there is no link"):
        rueful.Audit(link="probit")
    with pytest.raises(ValueError, match="window"):
        rueful.Audit(window=0)
    with pytest.raises(ValueError, match="3 predictions for 2 labels"):
        rueful.Audit().observe(X[:2], y[:2], [0.0, 0.0, 0.0])
    books = rueful.Audit().observe(X[0], y[0], 0.5)
    with pytest.raises(ValueError):
        books.observe(X[:2], y[:2], [0.0, math.inf])
    assert books.report()["examples"] == 1
