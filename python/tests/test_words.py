"""Types, docstrings, and the page of documentation."""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import rueful

ROOT = Path(__file__).parents[2]
MODULES = [f"rueful.{module.name}" for module in pkgutil.iter_modules(rueful.__path__)]


# The tests on Spark have an environment of their own.
EXAMPLES = [name for name in MODULES if name not in ("rueful._rueful", "rueful.spark")]


#: The pages with examples, and how many they have at least.
PAGES = {"docs/python.md": 40, "docs/tutorial.md": 40, "README.md": 4}


def examples_of(page: str) -> str:
    blocks = (ROOT / page).read_text().split("```python\n")[1:]
    return "\n".join(block.split("```")[0] for block in blocks)


@pytest.mark.parametrize("name", [*EXAMPLES, "rueful"])
def test_examples_in_docstrings_run(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS).failed == 0


@pytest.mark.parametrize(("name", "at_least"), PAGES.items())
def test_examples_of_the_documentation_run(tmp_path, monkeypatch, name, at_least):
    monkeypatch.chdir(tmp_path)
    for folder in ("data", "docs"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    examples = doctest.DocTestParser().get_doctest(examples_of(name), {}, name, name, 0)
    ran = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples)
    assert ran.failed == 0 and ran.attempted >= at_least
    for drawn in tmp_path.glob("*.svg"):
        kept = ROOT / "docs" / drawn.name
        if os.environ.get("SNAPSHOTS") == "overwrite":
            shutil.copy(drawn, kept)
        assert drawn.read_text() == kept.read_text()
        assert f"]({drawn.name})" in (ROOT / name).read_text()


def test_types_are_right(tmp_path):
    # Where it is installed, its neighbours would be checked as well.
    package = tmp_path / "rueful"
    shutil.copytree(Path(rueful.__file__).parent, package)
    example = tmp_path / "example.py"
    example.write_text(
        """
import numpy as np
import rueful

model: rueful.OnlineClassifier = rueful.OnlineClassifier(radius=3.0)
X = np.zeros((4, 2))
scores = model.fit(X, [0, 1, 0, 1]).decision_function(X)
total: float = float(scores.sum()) + model.certificate(2.0)
report: rueful.Report = model.report()
metrics: dict[str, float] = report.metrics()
audit: rueful.Audit = rueful.Audit(loss="hinge", window=10).observe({"a": 1.0}, 1, 0.5)
loaded: rueful.OnlineClassifier | rueful.OnlineRegressor = rueful.load("m.rueful")
"""
    )
    # The examples of the documentation, in which names are used again for other things.
    pages = []
    for page in PAGES:
        pages.append(tmp_path / f"{Path(page).stem.lower()}_page.py")
        pages[-1].write_text(doctest.script_from_examples(examples_of(page)))
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml")]
    command += ["--allow-redefinition"]
    cache = ["--cache-dir", str(tmp_path / "cache")]
    environment = {**os.environ, "MYPYPATH": ""}
    found = subprocess.run(
        [*command, *cache, str(package), str(example), *map(str, pages)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
    )
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize("name", rueful.__all__)
def test_everything_public_is_described(name):
    thing = getattr(rueful, name)
    assert inspect.getdoc(thing)
    for member, value in inspect.getmembers(thing):
        if not member.startswith("_") and inspect.isfunction(value):
            # What scikit-learn adds describes itself.
            assert inspect.getdoc(value), f"{name}.{member}"


def test_the_package_has_types():
    assert (Path(rueful.__file__).parent / "py.typed").exists()
