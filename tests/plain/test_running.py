"""The session of a command: it ends with the command, and what fails in it is told as what it means."""

from __future__ import annotations

from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.errors import PySparkException

from jobs.cli import main as cli
from jobs.errors import LakeError
from jobs.settings.load import load_settings
from jobs.settings.model import Settings
from jobs.spark import session
from jobs.spark.interruption import Interrupted
from jobs.spark.session import DELTA, EXACT, _submitted, running
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


@pytest.mark.usefixtures("spark")
def test_only_the_lakes_store_is_opened_for_every_command(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(session, "check_stores", lambda _, uris: opened.extend(uris))
    settings = load_settings([], [], {"lake": "hdfs://a/lake", "inputs.sends.path": "s3a://b/sends"})
    with running(settings, Progress(), verbose=False):
        assert opened == ["hdfs://a/lake"]


def test_verify_opens_the_stores_of_client_logs_alone(spark: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("jobs.spark.store_jars.check_stores", lambda _, uris: opened.extend(uris))
    monkeypatch.setattr("jobs.verify.run.run_verify", Mock(side_effect=LakeError("no more")))
    words = ["--lake", "/lake", "--client-logs", "s3a://b/logs", "--set", "inputs.sends.path=s3a://b/sends"]
    assert cli.main(["verify", "--date", "2026-11-21", *words]) == LakeError.exit_code
    assert (opened, spark.stopped) == (["s3a://b/logs"], 1)


def test_what_spark_was_started_with_wins_over_defaults_but_not_over_deltas_catalog() -> None:
    catalog, extensions = "spark.sql.catalog.spark_catalog", "spark.sql.extensions"
    started = {
        catalog: "IcebergCatalog",
        extensions: "Iceberg",
        "spark.log.level": "INFO",
        "spark.sql.codegen.hugeMethodLimit": "65535",
        "spark.sql.ansi.enabled": "false",
    }
    settings = _submitted({}, started)
    assert settings[catalog] == "org.apache.spark.sql.delta.catalog.DeltaCatalog"
    assert settings[extensions] == f"{DELTA[extensions]},Iceberg"
    assert (settings["spark.log.level"], settings["spark.sql.codegen.hugeMethodLimit"]) == ("INFO", "65535")
    assert settings["spark.sql.ansi.enabled"] == EXACT["spark.sql.ansi.enabled"]
    own = _submitted({catalog: "Own", extensions: "Sedona"}, started)
    assert (own[catalog], own[extensions]) == ("Own", f"{DELTA[extensions]},Iceberg,Sedona")
