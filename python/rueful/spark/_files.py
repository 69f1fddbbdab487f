"""Files on any path that Hadoop knows."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

#: The file of the model inside the folder of a saved model of pyspark.ml.
MODEL = "model.rueful"


def _place(spark: SparkSession, path: str) -> tuple[Any, Any]:
    inside: Any = spark
    place = inside._jvm.org.apache.hadoop.fs.Path(path)
    # With the settings of the session, as Spark itself reads and writes.
    return place.getFileSystem(inside._jsparkSession.sessionState().newHadoopConf()), place


def write(spark: SparkSession, path: str, content: bytes) -> None:
    """Writes a file, in the place of one that is there."""
    system, place = _place(spark, path)
    stream = system.create(place, True)
    try:
        stream.write(bytearray(content))
    finally:
        stream.close()


def read(spark: SparkSession, path: str) -> bytes:
    """Reads a whole file."""
    row = spark.read.format("binaryFile").load(path).select("content").first()
    if row is None:
        raise FileNotFoundError(path)
    return bytes(row["content"])


def exists(spark: SparkSession, path: str) -> bool:
    """Tells whether there is a file or a folder."""
    system, place = _place(spark, path)
    return bool(system.exists(place))


def names(spark: SparkSession, path: str) -> list[str]:
    """Returns the names of what is in a folder; none if there is no folder."""
    system, place = _place(spark, path)
    if not system.exists(place):
        return []
    return [str(one.getPath().getName()) for one in system.listStatus(place)]


def make(spark: SparkSession, path: str) -> None:
    """Makes a folder, unless it is there."""
    system, place = _place(spark, path)
    system.mkdirs(place)


def rename(spark: SparkSession, path: str, new: str) -> None:
    """Gives a file or a folder a name that nothing has yet."""
    system, place = _place(spark, path)
    if exists(spark, new) or not system.rename(place, _place(spark, new)[1]):
        raise OSError(f"{path} cannot be renamed to {new}")


def remove(spark: SparkSession, path: str) -> None:
    """Removes a folder and everything in it."""
    system, place = _place(spark, path)
    system.delete(place, True)
