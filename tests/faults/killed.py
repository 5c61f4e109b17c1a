"""A run of the first flow that is killed before one of its steps, JVM and all: `killed.py FOLDER STEP`."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from pyspark import SparkContext

from jobs.spark.session import open_session
from tests.faults.steps import watched
from tests.given.corrected_day import LENIENT
from tests.given.site import D1, Site
from tests.given.small_plans import SMALL


def main(folder: str, step: str) -> None:
    """Publish the first day of the folder's log, or die."""

    def die(at: str) -> None:
        if at == step:
            SparkContext._gateway.proc.kill()  # type: ignore[union-attr]
            os.killpg(0, signal.SIGKILL)

    spark = open_session(SMALL)
    with watched(die):
        Site(spark, Path(folder), LENIENT, first_run=10).run(D1)


if __name__ == "__main__":
    main(*sys.argv[1:])
