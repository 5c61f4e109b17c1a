"""A live night (`tests/lab/night`), cut to the time of its deeds: what was done is what the tables say.

Servers of 5.3.3 and 4.9.7, producers of 5.3.3 and 4.9.8 with a recorder that writes one line per async send.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.given.commands import command
from tests.lab.night import Night, settings_toml

HERE = Path(__file__).parent / "night"
DAY = "2026-11-27"


@pytest.fixture(scope="module")
def night(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Night:
    folder = tmp_path_factory.mktemp("night")
    settings = folder / "settings.toml"
    settings.write_text(settings_toml("5.3.3", "Asia/Shanghai"), encoding="utf-8")
    published = Night(HERE, folder / "lake")
    for words in published.commands(settings, DAY, DAY):
        said = command(spark, *words)
        assert said.code == 0, said.err
    return published


def test_each_deed_is_published_and_nothing_else(night: Night) -> None:
    faults = list(map(str, night.faults()))
    print(*faults, sep="\n")
    assert faults == []


def test_what_is_compared_is_there(night: Night) -> None:
    """So that an empty night does not pass."""
    assert len(night.deeds) == 13
    assert {app: len(failures) for app, failures in night.failures.items()} == {
        "boot-1": 13, "legacy-1": 24, "pay-1": 59, "stock-1": 0, "stock-2": 22,
    }  # fmt: skip
    assert sum(producer.is_isolating for producer in night.producers) == 6
    assert sum(end - start for spans in night.isolated.values() for start, end in spans) > 1_000_000
    assert len({client for client, _ in night.owners}) == 3
