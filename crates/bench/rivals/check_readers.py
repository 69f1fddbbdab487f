"""Compare the rows that rueful reads with those that others read, to the last bit of every f32.

Tables are compared with pandas and pyarrow, LIBSVM text with scikit-learn, ARFF with a few lines of
Python, and running text with words as Python splits them. The exit code is 1 if anything differs.
"""

import argparse
import csv
import io
import re
import sys
import zipfile
from pathlib import Path

from common import ask, enter_environment, rueful_path, table

enter_environment()

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from pyarrow import csv as arrow_csv  # noqa: E402
from sklearn.datasets import load_svmlight_file  # noqa: E402

# The cells that hold no value in rueful.
MISSING = {"", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"}

# The file, its label, and whether it has a header.
TABLES = [
    ("binary/phishing46.csv", "target", True),
    ("regression/abalone.csv", "9", False),
    ("regression/california_housing.csv", "median_house_value", True),
    ("regression/bikeshare.csv", "bikers", True),
    ("stream/noaa_weather.csv", "target", True),
]
LIBSVM = [
    "binary/a9a.libsvm",
    "binary/a9a.test.libsvm",
    "binary/heart_scale.libsvm",
    "binary/german.libsvm",
    "binary/breast_cancer.libsvm",
    "regression/housing_scale.libsvm",
]

# A row has a label, and features by name.
Row = tuple[float, dict[str, np.float32]]


def ours(rueful: str, path: Path, *settings: str) -> list[Row]:
    """The rows as rueful reads them."""
    command = [rueful, "data", str(path), "--no-constant", "--json", "--show", "10000000"]
    look = ask([*command, *settings])
    rows = []
    for example in look["first"]:
        features = {
            feature["name"] or str(feature["index"]): np.float32(feature["value"])
            for feature in example["features"]
        }
        rows.append((example["label"], features))
    return rows


def row(label: float, cells: list[tuple[str, object]]) -> Row:
    """A row from cells, with numbers under their name and words as name=word."""
    features: dict[str, np.float32] = {}
    for name, cell in cells:
        if isinstance(cell, str):
            if cell not in MISSING:
                features[f"{name}={cell}"] = np.float32(1)
        elif cell == cell and cell != 0:
            features[name] = np.float32(cell)
    return float(label), features


def by_pandas(path: Path, label: str, header: bool) -> list[Row]:
    """A table as pandas reads it."""
    frame = pd.read_csv(path, header=0 if header else None)
    return from_frame(frame, label, header)


def by_pyarrow(path: Path, label: str, header: bool) -> list[Row]:
    """A table as pyarrow reads it."""
    options = arrow_csv.ReadOptions(autogenerate_column_names=not header)
    return from_frame(arrow_csv.read_csv(path, read_options=options).to_pandas(), label, header)


def from_frame(frame: pd.DataFrame, label: str, header: bool) -> list[Row]:
    names = [str(name) for name in frame.columns]
    if not header:
        names = [str(number + 1) for number in range(len(names))]
    columns = [
        frame.iloc[:, number].tolist()
        if pd.api.types.is_numeric_dtype(frame.dtypes.iloc[number])
        else frame.iloc[:, number].fillna("").astype(str).tolist()
        for number in range(len(names))
    ]
    place = names.index(label)
    others = [number for number in range(len(names)) if number != place]
    return [
        row(columns[place][at], [(names[number], columns[number][at]) for number in others])
        for at in range(len(frame))
    ]


def by_sklearn(path: Path) -> list[Row]:
    """LIBSVM text as scikit-learn reads it."""
    features, labels = load_svmlight_file(str(path), zero_based=False)
    rows = []
    for at, label in enumerate(labels):
        values = features[at]
        pairs = zip(values.indices, values.data.astype(np.float32), strict=True)
        rows.append((float(label), {str(i + 1): value for i, value in pairs if value != 0}))
    return rows


def by_words(path: Path) -> list[Row]:
    """The words of the running text after a tab."""
    rows = []
    for line in path.read_bytes().decode().split("\n"):
        if not line:
            continue
        features: dict[str, np.float32] = {}
        for word in re.findall(r"[^\W_]+", line.rstrip("\r").split("\t")[1]):
            name = f"2:{word.lower()}"
            features[name] = np.float32(features.get(name, 0) + 1)
        rows.append((0.0, features))
    return rows


def by_hand(path: Path) -> list[Row]:
    """The one ARFF file that is among the data sets."""
    with zipfile.ZipFile(path) as archive:
        text = archive.read(archive.namelist()[0]).decode()
    head, body = re.split(r"(?m)^@data\s*$", text, maxsplit=1)
    names = re.findall(r"(?m)^@attribute (\w+)", head)
    words = set(re.findall(r"(?m)^@attribute (\w+) \{", head))
    rows = []
    for cells in csv.reader(io.StringIO(body.strip())):
        typed = [
            (name, cell if name in words else float(cell))
            for name, cell in zip(names, cells, strict=True)
        ]
        rows.append(row(0.0, typed[:-1]))
    return rows


def compare(name: str, other: str, mine: list[Row], theirs: list[Row]) -> list[str]:
    """A line of the table. Where two names share an index, rueful shows the first. So rows with the second
    are left out, and must be few."""
    known = set().union(*(features for _, features in mine))
    kept = [at for at, (_, features) in enumerate(theirs) if features.keys() <= known]
    if len(mine) == len(theirs) and len(kept) > 0.9 * len(theirs):
        mine, theirs = [mine[at] for at in kept], [theirs[at] for at in kept]
    different = sum(a != b for a, b in zip(mine, theirs, strict=False))
    different += abs(len(mine) - len(theirs))
    values = sum(len(features) for _, features in theirs)
    verdict = "the same" if different == 0 else f"{different} rows differ"
    if different:
        where = next((i for i, (a, b) in enumerate(zip(mine, theirs)) if a != b), len(mine))
        print(f"{name}, row {where + 1}:", mine[where : where + 1], theirs[where : where + 1])
    return [name, other, f"{len(theirs):,}", f"{values:,}", verdict]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="the directory of the data sets")
    parser.add_argument("--rueful", help="the program")
    args = parser.parse_args()
    rueful = rueful_path(args.rueful)
    lines = []
    for name, label, header in TABLES:
        path = args.data / name
        if path.exists():
            mine = ours(rueful, path, "--label", label)
            lines.append(compare(name, "pandas", mine, by_pandas(path, label, header)))
            lines.append(compare(name, "pyarrow", mine, by_pyarrow(path, label, header)))
    for name in LIBSVM:
        path = args.data / name
        if path.exists():
            lines.append(compare(name, "scikit-learn", ours(rueful, path), by_sklearn(path)))
    path = args.data / "text/sms_spam.tsv"
    if path.exists():
        mine = ours(rueful, path, "--label", "1", "--text", "2", "--bits", "26")
        lines.append(compare("text/sms_spam.tsv", "Python", mine, by_words(path)))
    path = args.data / "stream/electricity.arff.zip"
    if path.exists():
        mine = ours(rueful, path, "--label", "class")
        lines.append(compare("stream/electricity.arff.zip", "Python", mine, by_hand(path)))
    print(table(["file", "beside", "rows", "values", "verdict"], lines))
    sys.exit(any(line[-1] != "the same" for line in lines))


if __name__ == "__main__":
    main()
