"""What is a folder of this machine, and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs.errors import LakeError
from jobs.lake.store import check_store
from jobs.uri import is_there, local_folder


@pytest.mark.parametrize(
    ("uri", "folder"),
    [
        ("/lake", Path("/lake")),
        ("lake", Path("lake")),
        ("file:///a%20b", Path("/a b")),
        ("file:/lake", Path("/lake")),
        ("/odd/hdfs:/lake", Path("/odd/hdfs:/lake")),
        ("s3a://bucket/lake", None),
        ("hdfs:/lake", None),
    ],
)
def test_a_folder_of_this_machine(uri: str, folder: Path | None) -> None:
    assert local_folder(uri) == folder


@pytest.mark.parametrize(
    ("lake", "store"),
    [
        ("/lake", "file:///"),
        ("/lake", None),
        ("hdfs://namenode/lake", "hdfs://namenode"),
        ("file:///lake", "hdfs://namenode"),
        ("s3a://bucket/lake", "hdfs://namenode"),
    ],
)
def test_where_a_lake_lies_is_clear(lake: str, store: str | None) -> None:
    check_store(lake, store)


def test_a_plain_path_is_refused_where_spark_looks_elsewhere() -> None:
    told = r"lake /lake has no scheme, .* are on hdfs://namenode/; write it as file:///lake or hdfs://namenode/lake$"
    with pytest.raises(LakeError, match=told):
        check_store("/lake", "hdfs://namenode/")


def test_nothing_has_a_name_that_no_disk_takes(tmp_path: Path) -> None:
    assert not is_there(tmp_path / ("a" * 300) / "b")
