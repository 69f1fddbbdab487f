"""Speculative copies of tasks, on a cluster of two hosts.

Spark starts no copy on the host of the first attempt, and a `local-cluster` is one host. Here two workers
of Spark's own cluster manager have addresses of their own on the same machine.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyspark

HOSTS = ("127.0.0.1", "127.0.0.2")


@contextmanager
def running(place: Path, *command: str) -> Iterator[None]:
    """A process of Spark's cluster manager."""
    home = Path(pyspark.__file__).parent
    # Java compiles quickly rather than well, for jobs that are small.
    quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    about = {"SPARK_HOME": str(home), "SPARK_DAEMON_JAVA_OPTS": quick, "SPARK_DAEMON_MEMORY": "256m"}
    about |= {"PYSPARK_PYTHON": sys.executable, "SPARK_WORKER_DIR": str(place)}
    called = [str(home / "bin" / "spark-class"), *command]
    with (place / f"{command[0]}.log").open("ab") as log:
        process = subprocess.Popen(called, env=os.environ | about, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def free_port() -> int:
    with socket.socket() as one:
        one.bind((HOSTS[0], 0))
        return int(one.getsockname()[1])


def wait_for(port: int) -> None:
    for _ in range(600):
        with socket.socket() as one:
            if one.connect_ex((HOSTS[0], port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError("the cluster does not start")


def test_a_speculative_copy_changes_nothing(tmp_path: Path) -> None:
    """The first attempt of a part waits until a copy of it has come on another host."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    rows = pd.DataFrame({"x": x, "label": (x + rng.normal(size=400) > 0).astype(float)})
    for number in range(2):
        own = rows.iloc[200 * number : 200 * (number + 1)]
        own.to_parquet(tmp_path / f"{number}.parquet", index=False)
    port = str(free_port())
    with ExitStack() as stack:
        host = ("--host", HOSTS[0], "--port", port, "--webui-port", "0")
        stack.enter_context(running(tmp_path, "org.apache.spark.deploy.master.Master", *host))
        wait_for(int(port))
        for name in HOSTS:
            size = ("--cores", "1", "--memory", "1g", "--host", name, "--webui-port", "0")
            at = f"spark://{HOSTS[0]}:{port}"
            stack.enter_context(
                running(tmp_path, "org.apache.spark.deploy.worker.Worker", *size, at)
            )
        # This process has a session of another cluster.
        called = [sys.executable, __file__, port, str(tmp_path)]
        done = subprocess.run(called, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    # Both attempts had learned everything, each on a host of its own.
    assert {(tmp_path / name).read_text() for name in ("first", "copy")} == set(HOSTS)
    assert (tmp_path / "quiet").read_bytes() == (tmp_path / "shaken").read_bytes()


def main(port: str, place: Path) -> None:
    """Learns twice: in quiet, and with an attempt that waits for its copy."""
    from pyspark import TaskContext
    from pyspark.sql import SparkSession
    from rueful.spark import OnlineClassifier, _rounds

    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    spark = (
        SparkSession.builder.master(f"spark://{HOSTS[0]}:{port}")
        .config("spark.driver.host", HOSTS[0])
        .config("spark.driver.extraJavaOptions", quick)
        .config("spark.executor.extraJavaOptions", quick)
        .config("spark.executor.memory", "768m")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.warehouse.dir", str(place / "warehouse"))
        # Both hosts are there from the first job on.
        .config("spark.scheduler.minRegisteredResourcesRatio", "1.0")
        .config("spark.cores.max", "2")
        .config("spark.speculation", "true")
        .config("spark.speculation.interval", "50ms")
        .config("spark.speculation.quantile", "0.5")
        .config("spark.speculation.multiplier", "1.01")
        .getOrCreate()
    )
    halves = [spark.read.parquet(str(place / f"{number}.parquet")) for number in range(2)]
    df = halves[0].union(halves[1])
    estimator = OnlineClassifier(firstSlice=50)
    (place / "quiet").write_bytes(estimator.fit(df).toBytes())
    learner = _rounds.learner

    def slow(base: Any, columns: Any, *, is_only: bool) -> Any:
        learn = learner(base, columns, is_only=is_only)

        def run(stretches: Any) -> Any:
            states = list(learn(stretches))
            context = TaskContext.get()
            if not is_only and context.partitionId() == 1:
                number = context.attemptNumber()
                (place / ("copy" if number else "first")).write_text(host_of_executor())
                # Spark ends it when the copy is done. It does not wait for ever if there is none.
                for _ in range(0 if number else 1200):
                    time.sleep(0.05)
            yield from states

        return run

    def host_of_executor() -> str:
        # The process that the daemon of the workers belongs to is the executor.
        stat = Path(f"/proc/{os.getppid()}/stat").read_text().rsplit(")", 1)[1].split()
        command = Path(f"/proc/{stat[1]}/cmdline").read_text().split("\0")
        return command[command.index("--hostname") + 1]

    _rounds.learner = slow
    (place / "shaken").write_bytes(estimator.fit(df).toBytes())
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
