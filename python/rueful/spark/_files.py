"""Files on any path that Hadoop knows."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession


def _place(spark: SparkSession, path: str) -> tuple[Any, Any]:
    jvm: Any = spark._jvm
    place = jvm.org.apache.hadoop.fs.Path(path)
    return place.getFileSystem(spark._jsc.hadoopConfiguration()), place


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


def remove(spark: SparkSession, path: str) -> None:
    """Removes a folder and everything in it."""
    system, place = _place(spark, path)
    system.delete(place, True)
