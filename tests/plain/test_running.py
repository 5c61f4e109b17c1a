"""The session of a command: it ends with the command, and what fails in it is told as what it means."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.errors import PySparkException

from jobs.errors import LakeError
from jobs.settings.model import Settings
from jobs.spark import session
from jobs.spark.interruption import Interrupted
from jobs.spark.session import running
from jobs.text.progress import Progress


class Spark:
    """A session on one machine that only knows whether it was stopped."""

    sparkContext = SimpleNamespace(master="local[*]")  # noqa: N815 - Spark's name
    stopped = 0

    def stop(self) -> None:
        self.stopped += 1


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch) -> Spark:
    spark = Spark()
    monkeypatch.setattr(session, "open_session", lambda *_, **__: spark)
    return spark


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (PySparkException("write: No space left on device"), "the disk is full; free some space and run it again"),
        (PySparkException("at /lake/sends/1.parquet: does not exist"), "table sends in /lake cannot be read"),
        (Py4JNetworkError("connection refused"), "the JVM died, killed or out of memory"),
    ],
)
def test_a_failure_is_reported_by_its_meaning(spark: Spark, error: Exception, told: str) -> None:
    with (
        pytest.raises(LakeError, match=told) as caught,
        running(Settings(lake="/lake"), Progress(), verbose=False),
    ):
        raise error
    assert (caught.value.__cause__, spark.stopped) == (error, 1)


@pytest.mark.parametrize("error", [PySparkException("something else"), ValueError("a bug"), Interrupted(15)])
def test_what_nobody_knows_stays_as_it_is(spark: Spark, error: BaseException) -> None:
    with pytest.raises(type(error)) as caught, running(Settings(lake="/lake"), Progress(), verbose=False):
        raise error
    assert (caught.value, spark.stopped) == (error, 1)


def test_the_session_ends_with_the_command(spark: Spark) -> None:
    with running(Settings(lake="/lake"), Progress(), verbose=False) as opened:
        seen: object = opened
        assert (seen, spark.stopped) == (spark, 0)
    assert spark.stopped == 1
