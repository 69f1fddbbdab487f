"""From what people have to what the core takes: matrices, sparse matrices, frames, dicts."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

Doubles: TypeAlias = NDArray[np.float64]

_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))

#: The settings of a learner, under the names of the program, with ``_`` for ``-``.
SETTINGS = (
    "learner",
    "loss",
    "tau",
    "radius",
    "comparators",
    "judge",
    "eta",
    "gradient_bound",
    "sigma",
    "alpha",
    "l1",
    "c",
    "schedule",
    "horizon",
)

#: The settings of features that are made from the columns of a table.
MADE = ("cross", "bins", "spline", "periodic", "ngram", "skips", "tf", "no_missing")

#: The same for the namespaces of Vowpal Wabbit text.
OF_NAMESPACES = ("interactions", "ignore_namespace", "keep_namespace", "lowercase")

#: The settings that decide what becomes of columns.
COLUMNS = ("drop", "categorical", "numeric", "text", "bits", *MADE)

#: The settings of several passes over the same rows.
PASSES = ("passes", "holdout", "holdout_by", "patience")


def pick(given: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Returns the values of some names; what is not given is None."""
    return {name: plain(given.get(name)) for name in names}


def plain(value: Any) -> Any:
    """Returns a NumPy scalar as the number it is."""
    return value.item() if isinstance(value, np.generic) else value


def columns(given: Mapping[str, Any], frame: Any = None) -> dict[str, Any]:
    """Returns what is to become of the columns of a frame.

    Columns of pandas that are categories stay categories, whatever their values are.
    """
    roles = ("drop", "categorical", "numeric", "text")
    asked: dict[str, Any] = {name: as_names(name, given.get(name)) for name in roles}
    known = {column for name in roles for column in asked[name]}
    asked["categorical"] += [name for name in categories(frame) if name not in known]
    return {**asked, "bits": plain(given.get("bits")), "expansion": expansion(given)}


def expansion(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the features that are asked to be made, each setting as the program writes it."""
    asked: dict[str, Any] = {"cross": _crosses(given.get("cross"))}
    for name in ("bins", "spline", "periodic"):
        asked[name] = _curves(name, given.get(name))
    for name in ("ngram", "skips", "interactions", "ignore_namespace", "keep_namespace"):
        value = given.get(name)
        several = value if isinstance(value, list | tuple) else [] if value is None else [value]
        asked[name] = [str(plain(one)) for one in several]
    for name in ("lowercase", "no_missing"):
        asked[name] = bool(given.get(name))
    return {**asked, "tf": given.get("tf")}


def _crosses(value: Any) -> list[str]:
    """Crosses as the program writes them: names with commas between them.

    A tuple of names is one cross. A list holds crosses.
    """
    several = value if isinstance(value, list) else [] if value is None else [value]
    crosses = []
    for cross in several:
        if not isinstance(cross, str):
            names = as_names("cross", cross)
            split = [name for name in names if "," in name]
            if split:
                raise ValueError(f"cross: a column whose name has a comma cannot be crossed: {split[0]!r}")
            cross = ",".join(names)
        crosses.append(cross)
    return crosses


def _curves(setting: str, value: Any) -> list[str]:
    """Curves as the program writes them: names, with numbers after colons.

    A dict has columns for keys. Its values are numbers: how many there are, where they lie, or the
    period. None stands for the usual number.
    """
    if not isinstance(value, Mapping):
        return as_names(setting, value)
    return [f"{column}{_after_colons(setting, wish)}" for column, wish in value.items()]


def _after_colons(setting: str, wish: Any) -> str:
    if wish is None or isinstance(wish, str):
        return f":{wish}" if wish else ""
    wish = wish.tolist() if isinstance(wish, np.ndarray) else plain(wish)
    several = list(wish) if isinstance(wish, list | tuple) else [wish]
    if not several or not all(isinstance(plain(one), int | float) for one in several):
        raise TypeError(f"{setting}: expected numbers for a column, found {wish!r}")
    if setting != "periodic" and isinstance(wish, list | tuple) and len(several) == 1:
        raise ValueError(f"{setting}: expected at least two numbers in a list, found {wish!r}")
    separator = ":" if setting == "periodic" else ","
    return ":" + separator.join(repr(plain(one)) for one in several)


def passes(given: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the settings of several passes; nothing where none is given."""
    asked = pick(given, PASSES)
    return asked if any(value is not None for value in asked.values()) else None


def as_names(argument: str, value: Any) -> list[str]:
    """Returns one name or several as a list."""
    if value is None:
        return []
    names = [value] if isinstance(value, str) else list(value)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"{argument}: expected names of columns, found {names!r}")
    return names


def is_pandas(table: Any) -> bool:
    """Tells whether a table is a frame of pandas."""
    return type(table).__module__.split(".")[0] == "pandas"


def categories(frame: Any) -> list[str]:
    """Returns the columns of a frame of pandas that are categories."""
    if frame is None or not is_pandas(frame):
        return []
    kinds = frame.dtypes
    if all(kind in _FLOATS for kind in set(kinds.to_numpy())):
        return []
    return [str(name) for name, kind in kinds.items() if str(kind) == "category"]


def names_of(table: Any) -> list[str] | None:
    """Returns the names of the columns of a frame; nothing for what has no names that are words."""
    if hasattr(table, "collect_schema") and not hasattr(table, "__arrow_c_stream__"):
        raise TypeError("X is a lazy frame: collect it first")
    names = getattr(table, "columns", None)
    if not is_pandas(table) and hasattr(table, "schema") and hasattr(table.schema, "names"):
        # Arrow calls the columns themselves so.
        names = table.schema.names
        names = names() if callable(names) else names
    if names is None or callable(names):
        return None
    names = list(names)
    return names if names and all(isinstance(name, str) for name in names) else None


def is_frame(table: Any) -> bool:
    """Tells whether a table has columns with names."""
    return names_of(table) is not None or hasattr(table, "__arrow_c_stream__")


def frame(table: Any, numeric: Any = None) -> tuple[Any, list[str] | None]:
    """Returns a frame as the core takes it, and the names of its columns where it is a matrix.

    Columns that are said to be `numeric` become numbers, even if these are written as words.
    """
    table, names = _frame_as_it_is(table)
    numbers = as_names("numeric", numeric)
    return (_with_numbers(table, numbers) if numbers and names is None else table), names


def _with_numbers(table: Any, columns: list[str]) -> Any:
    """A table of Arrow in which some columns are numbers, whatever they were."""
    import pyarrow

    table = pyarrow.table(table)
    for place, name in enumerate(table.column_names):
        if name in columns and not pyarrow.types.is_floating(table.column(place).type):
            try:
                column = table.column(place).cast(pyarrow.float64())
            except pyarrow.ArrowException as why:
                raise ValueError(f"X, column {name!r}: expected numbers: {why}") from why
            table = table.set_column(place, name, column)
    return table


def _frame_as_it_is(table: Any) -> tuple[Any, list[str] | None]:
    if not is_pandas(table):
        if hasattr(table, "__arrow_c_stream__"):
            return table, None
        return np.asarray(table, dtype=np.float64), names_of(table)
    names = names_of(table)
    if names is not None and all(kind in _FLOATS for kind in set(table.dtypes.to_numpy())):
        return table.to_numpy(), names
    # The labels of rows are no feature.
    table = table.reset_index(drop=True)
    gaps = {name: kind.subtype for name, kind in table.dtypes.items() if str(kind)[:6] == "Sparse"}
    table = table.astype(gaps) if gaps else table
    try:
        import pyarrow
    except ImportError:
        return _frame_without_arrow(table)
    try:
        return pyarrow.Table.from_pandas(table, preserve_index=False), None
    except (pyarrow.ArrowException, TypeError) as why:
        raise ValueError(f"X: a column holds values of different kinds: {why}") from why


def _frame_without_arrow(table: Any) -> tuple[Any, list[str]]:
    words = [str(name) for name, kind in table.dtypes.items() if kind.kind not in "biuf"]
    if words:
        listed = ", ".join(words)
        raise ValueError(f"X: pyarrow is needed for columns that hold no numbers: {listed}")
    return table.to_numpy(dtype=np.float64), names_of(table) or []


def pair(part: Any) -> tuple[Any, ...] | None:
    """Returns a table, its labels and perhaps the weights of its rows, if that is what a part is.

    Loaders of PyTorch put them in a list. A list of anything but arrays may be a row of a table.
    """
    if isinstance(part, list) and all(hasattr(one, "shape") for one in part):
        part = tuple(part)
    return part if isinstance(part, tuple) and len(part) in (2, 3) else None


def with_labels(data: Any, label: str) -> tuple[Any, NDArray[Any] | None]:
    """Returns a frame without its column of labels, and the labels.

    What hands over a stream of Arrow, and is no frame, becomes an iterator of such pairs, beside which
    there are no labels.
    """
    if type(data).__module__.split(".")[0] in ("pandas", "polars"):
        return split(data, label)
    if hasattr(data, "read_next_batch"):
        return _split_each(data, label), None
    if hasattr(data, "select") and hasattr(data, "schema") and hasattr(data.schema, "names"):
        return split(data, label)
    if hasattr(data, "__arrow_c_stream__"):
        import pyarrow

        return _split_each(pyarrow.RecordBatchReader.from_stream(data), label), None
    raise TypeError(f"label: found {type(data).__name__}, expected a frame, which has columns")


def split(frame: Any, label: str) -> tuple[Any, NDArray[Any]]:
    """Returns a frame without its column of labels, and the labels."""
    names = names_of(frame)
    if names is None or label not in names:
        raise ValueError(f"label: there is no column {label!r}; the columns are {names}")
    y = np.asarray(frame[label])
    rest = [name for name in names if name != label]
    return (frame.select(rest) if hasattr(frame, "select") else frame[rest]), y


def _split_each(batches: Any, label: str) -> Iterator[tuple[Any, NDArray[Any]]]:
    for batch in batches:
        if batch.num_rows > 0:
            yield split(batch, label)


def usual_settings(kind: type) -> dict[str, Any]:
    """Returns the settings of a class as they are if nobody gives them."""
    parameters = inspect.signature(kind).parameters.items()
    return {name: one.default for name, one in parameters if one.default is not one.empty}


def sparse(table: Any) -> tuple[Any, ...]:
    """Returns the parts of a sparse matrix, the columns of every row in order."""
    table = table.tocsr()
    if not table.has_canonical_format:
        table = table.copy()
        table.sum_duplicates()
    data = table.data
    if data.dtype != np.float32:
        data = np.ascontiguousarray(data, dtype=np.float64)
    return table.indptr, table.indices, data, table.shape[1]


def matrix(table: Any) -> Any:
    """Returns anything else as a matrix of floats, without a copy where it is one."""
    if scipy.sparse.issparse(table):
        return sparse(table)
    array = np.asarray(table)
    if array.dtype != np.float32:
        try:
            array = np.asarray(array, dtype=np.float64)
        except (TypeError, ValueError) as why:
            raise ValueError(f"X: expected numbers: {why}") from why
    if array.ndim != 2:
        raise ValueError(f"X: expected a table with two dimensions, found {array.ndim}")
    return array


def plain_table(table: Any) -> Any | None:
    """Returns a matrix of floats as the core takes it.

    Returns nothing where a table is anything else, or has no rows or columns. The core checks the values
    and the order of columns itself.
    """
    if type(table) is np.ndarray:
        is_plain = table.ndim == 2 and table.dtype in _FLOATS
        parts: Any = table
    elif isinstance(table, scipy.sparse.csr_matrix | scipy.sparse.csr_array):
        is_plain = table.ndim == 2 and table.data.dtype in _FLOATS
        parts = (table.indptr, table.indices, table.data, table.shape[-1])
    else:
        return None
    return parts if is_plain and min(table.shape) > 0 else None


def is_plain_vector(values: Any, rows: int) -> bool:
    """Tells whether values are an array with one number, truth or word for each of some rows."""
    return type(values) is np.ndarray and values.shape == (rows,)


def any_table(table: Any, numeric: Any = None) -> tuple[Any, list[str] | None]:
    """Returns any table as the core takes it, and the names of its columns where it is a matrix."""
    if are_dicts(table):
        return table, None
    if is_frame(table):
        return frame(table, numeric)
    return matrix(table), None


def are_dicts(table: Any) -> bool:
    """Tells whether a table is a list of dicts."""
    return isinstance(table, list) and bool(table) and isinstance(table[0], dict)


def row_count(table: Any) -> int | None:
    """Returns how many rows a table has, where that is known."""
    shape = getattr(table, "shape", None)
    if shape is not None:
        return int(shape[0])
    return len(table) if isinstance(table, Sequence) else None


def doubles(argument: str, values: Any) -> Doubles:
    """Returns values as a vector of doubles."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as why:
        raise ValueError(f"{argument}: expected numbers: {why}") from why
    if array.ndim != 1:
        raise ValueError(f"{argument}: expected one dimension, found {array.ndim}")
    return np.ascontiguousarray(array)


def class_name(label: Any) -> str:
    """Returns what a class is called in a model's file."""
    label = plain(label)
    if isinstance(label, bool):
        return "true" if label else "false"
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)


def class_labels(names: Sequence[str]) -> NDArray[Any]:
    """Returns the classes that names in a model's file stand for, as far as names tell."""
    if sorted(names) == ["false", "true"]:
        return np.array([name == "true" for name in names])
    for kind in (int, float):
        try:
            return np.array([kind(name) for name in names])
        except ValueError:
            continue
    return np.array(names)


def signs(y: NDArray[Any], classes: NDArray[Any]) -> Doubles:
    """Returns the labels of two classes as −1 and +1."""
    positive, negative = y == classes[1], y == classes[0]
    if np.count_nonzero(positive) + np.count_nonzero(negative) != len(y):
        row = int(np.argmin(positive | negative))
        raise ValueError(
            f"y, row {row}: found the class {plain(y[row])!r}, "
            f"expected {plain(classes[0])!r} or {plain(classes[1])!r}: "
            "loss='softmax' learns any number of classes"
        )
    return np.asarray(positive * 2.0 - 1.0, dtype=np.float64)


def are_floats(table: NDArray[Any]) -> bool:
    """Tells whether an array holds floats."""
    return table.dtype in _FLOATS


def by_size(names: Sequence[str], weights: Doubles) -> dict[str, float]:
    """Returns the weights that are not 0 by name, the largest first."""
    order = np.argsort(-np.abs(weights), kind="stable")
    return {names[place]: float(weights[place]) for place in order if weights[place] != 0.0}
