"""One session for all rounds, as the tests have it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from pyspark.sql import SparkSession

from tests.fuzz.hostile import CANARY, CANARY_NAME
from tests.given.small_plans import SMALL


def plant_canary() -> None:
    """Give this process, and so the JVM that it will start, a variable whose value must be seen nowhere."""
    os.environ[CANARY_NAME] = CANARY


@contextmanager
def one_session() -> Iterator[SparkSession]:
    """Commands called in the block get one session, and cannot end it."""
    from jobs.spark.session import open_session

    plant_canary()
    spark = open_session({"spark.default.parallelism": "2", **SMALL})
    stop = spark.stop
    try:
        with (
            mock.patch("jobs.spark.session.open_session", return_value=spark),
            mock.patch.object(spark, "stop"),
        ):
            yield spark
    finally:
        stop()
