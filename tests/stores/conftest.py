"""The night, the program, and what a lake in a local folder says of the night."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stores.hdfs import Hdfs
from tests.stores.night import DAY, ends, rows_in, write_night, write_settings
from tests.stores.programs import WarmProgram
from tests.stores.s3 import S3, spark_settings


@pytest.fixture(scope="session")
def night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The input of both flows."""
    folder = tmp_path_factory.mktemp("night")
    write_night(folder)
    return folder


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory, night: Path) -> Iterator[S3]:
    """A server whose bucket has the night."""
    with S3(tmp_path_factory.mktemp("s3")) as started:
        started.put(night, "night")
        yield started


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory, night: Path) -> Iterator[Hdfs]:
    """A file system with the night, for one file of tests."""
    with Hdfs(tmp_path_factory.mktemp("hdfs")) as started:
        started.put(night, "/night")
        yield started


@pytest.fixture(scope="session")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmProgram]:
    """The program in a process of its own, with the jars of S3A, for command after command."""
    with (tmp_path_factory.mktemp("warm") / "said.txt").open("w") as log:
        program = WarmProgram(log)
        yield program
        program.ends()


@pytest.fixture(scope="session")
def in_folder(tmp_path_factory: pytest.TempPathFactory, night: Path, s3: S3, warm: WarmProgram) -> Path:
    """Settings of a lake in a folder with the night."""
    folder = tmp_path_factory.mktemp("in-folder")
    settings = write_settings(folder / "site.toml", str(folder / "lake"), str(night), spark_settings(s3.port))
    ends(warm, 0, "nightly", *DAY, "--settings", settings)
    return settings


@pytest.fixture(scope="session")
def expected(in_folder: Path) -> dict[str, list[str]]:
    """Each table's rows there."""
    return rows_in(str(in_folder.parent / "lake"), {})
