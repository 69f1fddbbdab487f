"""Write phishing.libsvm, beside this file, from the phishing stream inside the installed package `river`.

The rows keep their order. Column k of the file is feature k, from 1; zeros are left out; the label
is +1 where `is_phishing` is 1 and -1 where it is 0. Nothing else changes. See README.md.
"""

import csv
import gzip
import importlib.util
from pathlib import Path

COLUMNS = [
    "empty_server_form_handler",
    "popup_window",
    "https",
    "request_from_other_domain",
    "anchor_from_other_domain",
    "is_popular",
    "long_url",
    "age_of_domain",
    "ip_in_url",
    "is_phishing",
]
LABELS = {"0": "-1", "1": "+1"}


def source() -> Path:
    """The file inside river, found without importing river."""
    spec = importlib.util.find_spec("river")
    if spec is None:
        raise SystemExit("the package river is not installed")
    return Path(spec.submodule_search_locations[0], "datasets", "phishing.csv.gz")


def decimal(value: float) -> str:
    """The shortest decimal that reads back as the same number: 0.5, 1."""
    return repr(value).removesuffix(".0")


def line(row: list[str]) -> str:
    *values, label = row
    features = [
        f"{index}:{decimal(value)}"
        for index, value in enumerate(map(float, values), start=1)
        if value != 0
    ]
    return " ".join([LABELS[label], *features])


def main() -> None:
    path = source()
    with gzip.open(path, "rt", encoding="ascii", newline="") as text:
        header, *rows = csv.reader(text)
    if header != COLUMNS:
        raise SystemExit(f"{path}, line 1: found the columns {header}, expected {COLUMNS}")
    target = Path(__file__).with_name("phishing.libsvm")
    target.write_text("".join(line(row) + "\n" for row in rows), encoding="ascii", newline="\n")


if __name__ == "__main__":
    main()
