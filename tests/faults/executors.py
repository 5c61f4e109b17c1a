"""A run on a cluster of two executors, one of which dies in the middle of staging and the other later.

`executors.py FOLDER` prints how many died. The program knows nothing of it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyspark

from jobs.lake.tables_io import Lake
from jobs.spark.session import open_session
from tests.faults.steps import staged_by
from tests.given.corrected_day import LENIENT
from tests.given.site import D1, Site

_killed: list[int] = []


def _executors() -> list[int]:
    """The executors below this process."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"org.apache.spark.executor.CoarseGrainedExecutorBackend" in command and _is_below(int(folder.name)):
            found.append(int(folder.name))
    return sorted(found)


def _is_below(process: int) -> bool:
    while process > 1:
        if process == os.getpid():
            return True
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return False


def _kill_one() -> None:
    executor = _executors()[0]
    os.kill(executor, signal.SIGKILL)
    _killed.append(executor)


def main(folder: str) -> None:
    """Publish the first day of the folder's log."""
    os.environ["SPARK_HOME"] = str(Path(str(pyspark.__file__)).parent)
    spark = open_session({
        "spark.master": "local-cluster[2,1,1024]", "spark.executor.memory": "1g", "spark.sql.shuffle.partitions": "2",
    })  # fmt: skip
    publish = Lake.publish_day

    def killing(stage: Callable[..., Any]) -> Callable[..., Any]:
        def staging(*given: Any) -> Any:
            threading.Timer(1, _kill_one).start()
            return stage(*given)

        return staging

    def publishing(lake: Lake, table: Any, *given: Any, **named: Any) -> Any:
        if table.name == "isolation_intervals" and len(_killed) == 1:
            _kill_one()
            time.sleep(0.1)
        return publish(lake, table, *given, **named)

    for each in staged_by(killing):
        each.start()
    Lake.publish_day = publishing  # type: ignore[method-assign,assignment]
    Site(spark, Path(folder), LENIENT).run(D1)
    print(f"{len(_killed)} died")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
