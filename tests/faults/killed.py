"""A run that is killed at one of its steps, JVM and all: `killed.py FOLDER before|after STEP`.

The program knows nothing of it: its steps are wrapped from outside. A step is the n-th commit to a table
(`sends 1`, `run_log 2`) or `staging 1`. A folder with `consumers` is a site of the second flow.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark import SparkContext

import jobs.allocation_run
import jobs.nightly
from jobs.ingest import stage_sends, stage_snapshots
from jobs.lake import Lake
from jobs.session import open_session
from tests.faults.lakes import LENIENT
from tests.site import D1, Site
from tests.snapshots import SnapshotSite

_done: Counter[str] = Counter()


def _wrapped(function: Callable[..., Any], name: Callable[..., str], when: str, step: str) -> Callable[..., Any]:
    def called(*args: Any, **named: Any) -> Any:
        _done[name(*args)] += 1
        is_it = step == f"{name(*args)} {_done[name(*args)]}"
        if is_it and when == "before":
            _die()
        result = function(*args, **named)
        if is_it:
            _die()
        return result

    return called


def _die() -> None:
    SparkContext._gateway.proc.kill()  # type: ignore[union-attr]
    os.killpg(0, signal.SIGKILL)


def main(folder: str, when: str, step: str) -> None:
    """Publish the first day of the folder's log, or die."""
    for method in ("publish_day", "append"):
        setattr(Lake, method, _wrapped(getattr(Lake, method), lambda _, table, *__: table.name, when, step))
    vars(jobs.nightly)["stage_sends"] = _wrapped(stage_sends, lambda *_: "staging", when, step)
    vars(jobs.allocation_run)["stage_snapshots"] = _wrapped(stage_snapshots, lambda *_: "staging", when, step)
    spark = open_session({"spark.sql.shuffle.partitions": "2"})
    made = SnapshotSite if (Path(folder) / "consumers").is_dir() else Site
    made(spark, Path(folder), LENIENT, first_run=10).run(D1)
    print(" ".join(f"{name}:{count}" for name, count in _done.items()))


if __name__ == "__main__":
    main(*sys.argv[1:])
