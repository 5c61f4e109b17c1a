"""A run that is killed at one of its steps, JVM and all: `killed.py FOLDER before|after STEP`.

A folder with `consumers` is a site of the second flow.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from pyspark import SparkContext

from jobs.spark.session import open_session
from tests.faults.steps import nothing, watched
from tests.given.corrected_day import LENIENT
from tests.given.site import D1, Site
from tests.given.small_plans import SMALL
from tests.given.snapshot_site import SnapshotSite


def main(folder: str, when: str, step: str) -> None:
    """Publish the first day of the folder's log, or die."""

    def die(at: str) -> None:
        if at == step:
            SparkContext._gateway.proc.kill()  # type: ignore[union-attr]
            os.killpg(0, signal.SIGKILL)

    spark = open_session(SMALL)
    made = SnapshotSite if (Path(folder) / "consumers").is_dir() else Site
    with watched(die) if when == "before" else watched(nothing, die):
        made(spark, Path(folder), LENIENT, first_run=10).run(D1)


if __name__ == "__main__":
    main(*sys.argv[1:])
