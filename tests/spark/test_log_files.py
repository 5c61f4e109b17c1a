"""What is read of each client log is counted by file; one that cannot be read is refused with one of its lines."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Observation, SparkSession

from jobs.errors import InputUnreadableError
from jobs.settings.model import Settings
from jobs.sources.client_log import read_client_logs
from jobs.sources.files import list_files
from jobs.sources.local_files import Listing
from jobs.sources.log_files import LogFile, check_heads, log_counts, log_files
from jobs.tables.day import Day

DAY = dt.date(2026, 3, 1)
ENTRY, OTHER = "2026-03-01 12:00:00,250 INFO RocketmqClient - x", "2026-03-01 12:00:01,250 INFO c.a.Shop - x"
NAMES = "[persistAll] Group: G ClientId: c updateConsumeOffsetToBroker q"
SAYS = f"2026-03-01 12:00:02.250 INFO [main] RocketmqClient - {NAMES}"
STARTS = "2026-03-01 12:00:02.000 INFO [main] the consumer [G] start beginning. messageModel=CLUSTERING"
UNKNOWN, GOES_ON = "12:00:00.250 [main] INFO RocketmqClient - x", "\tat c.a.Shop.main(Shop.java:95)"


def read(
    spark: SparkSession, folder: Path, lines: list[str], settings: Settings | None = None
) -> tuple[DataFrame, Listing]:
    (folder / "app.log").write_text("\n".join(lines))
    manifest = list_files(spark, [str(folder)])
    return read_client_logs(spark, manifest, settings or Settings(), (DAY, DAY), Observation("lines")), manifest


def test_counts_of_a_file(spark: SparkSession, tmp_path: Path) -> None:
    lines, manifest = read(
        spark, tmp_path, [ENTRY, OTHER, GOES_ON, UNKNOWN, SAYS, STARTS, OTHER.replace("03-01", "03-02")]
    )
    counted = log_counts(lines).collect()
    check_heads(lines, manifest, counted)
    (file,) = log_files(counted)
    name, noon = str(tmp_path / "app.log"), 1_772_366_400_000
    assert file == LogFile(name, name, Day(DAY, "main"), 4, 1, 1, 4, 1, noon + 250, noon + 2_250, frozenset({"c"}))


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([GOES_ON, UNKNOWN], r"app\.log holds no line of a client log: line 2 is '12:00:00\.250 \[main\] INFO"),
        (["", "nothing", "of interest"], r"app\.log holds no line of a client log: line 2 is 'nothing'"),
        ([ENTRY, GOES_ON, UNKNOWN, UNKNOWN], r"2 of 3 entries have no known head: line 3 is '12:00:00\.250"),
    ],
)
def test_a_file_that_cannot_be_read(spark: SparkSession, tmp_path: Path, lines: list[str], says: str) -> None:
    found, manifest = read(spark, tmp_path, lines)
    with pytest.raises(InputUnreadableError, match=says):
        check_heads(found, manifest, log_counts(found).collect())


@pytest.mark.parametrize("lines", [[ENTRY, UNKNOWN], [OTHER], [ENTRY, *[GOES_ON] * 9], [OTHER, *["free text"] * 9]])
def test_files_that_are_read(spark: SparkSession, tmp_path: Path, lines: list[str]) -> None:
    found, manifest = read(spark, tmp_path, lines)
    check_heads(found, manifest, log_counts(found).collect())
