"""What a run looks at before it trusts a table: the commits since the last checkpoint, and that checkpoint."""

from __future__ import annotations

import errno
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

from jobs.lake.delta_log import TableLog

CHECKPOINT = "00000000000000000002.checkpoint.parquet"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Five commits, 0 to 4, and a checkpoint at 2."""
    for number in range(5):
        deltalake.write_deltalake(tmp_path, pa.table({"number": [number]}), mode="append")
        if number == 2:
            deltalake.DeltaTable(tmp_path).create_checkpoint()
    return tmp_path


def _log(table: Path, name: str | int) -> Path:
    return table / "_delta_log" / (f"{name:020}.json" if isinstance(name, int) else name)


def _newest(table: Path) -> list[str]:
    return [found for found, _ in TableLog.of_folder(table).newest_problems()]


def test_a_whole_log_and_no_log_have_no_problem(table: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert _newest(table) == []
    assert _newest(tmp_path_factory.mktemp("empty")) == []
    assert _newest(table / "nowhere") == []


@pytest.mark.parametrize("number", [0, 2])
def test_what_lies_before_the_checkpoint_is_no_matter_of_a_run(table: Path, number: int) -> None:
    _log(table, number).write_bytes(b"{")
    assert _newest(table) == []
    assert [found for found, _ in TableLog.of_folder(table).problems()] == [
        f"_delta_log/{number:020}.json line 1 is no JSON"
    ]


def test_a_broken_commit_after_the_checkpoint_is_found(table: Path) -> None:
    _log(table, 3).unlink()
    _log(table, 4).write_bytes(b"")
    assert _newest(table) == [
        "_delta_log/00000000000000000003.json is missing",
        "_delta_log/00000000000000000004.json is empty",
    ]


def test_a_broken_checkpoint_is_found(table: Path) -> None:
    _log(table, CHECKPOINT).write_bytes(b"PAR1")
    assert _newest(table) == [f"_delta_log/{CHECKPOINT} is no Parquet file"]


def test_without_a_checkpoint_the_first_commit_counts(table: Path) -> None:
    _log(table, CHECKPOINT).unlink()
    _log(table, 0).unlink()
    assert _newest(table) == ["_delta_log/00000000000000000000.json is missing"]


def test_a_checkpoint_of_version_2_stands_for_the_commits_before_it(table: Path) -> None:
    _log(table, CHECKPOINT).rename(_log(table, f"{2:020}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.parquet"))
    for number in range(3):
        _log(table, number).unlink()
    assert _newest(table) == []
    _log(table, 3).unlink()
    assert _newest(table) == ["_delta_log/00000000000000000003.json is missing"]


def test_a_checkpoint_of_version_2_may_be_json(table: Path) -> None:
    _log(table, CHECKPOINT).unlink()
    checkpoint = _log(table, f"{2:020}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json")
    checkpoint.write_text('{"checkpointMetadata":{"version":2}}\n{"sidecar":{"path":"x.parquet"}}\n', encoding="utf-8")
    for number in range(3):
        _log(table, number).unlink()
    assert _newest(table) == []
    assert list(TableLog.of_folder(table).problems()) == []
    checkpoint.write_text('{"checkpointMetadata":', encoding="utf-8")
    assert _newest(table) == [f"_delta_log/{checkpoint.name} is no JSON"]


class _Refusing:
    """A store whose files may not be read."""

    def open_input_file(self, path: str) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    open_input_stream = open_input_file


def test_what_may_not_be_read_is_named_and_stays(table: Path) -> None:
    listed = TableLog.of_folder(table).sizes
    log = TableLog(_Refusing(), listed)
    found = list(log.newest_problems())
    refused = [f"{file.relative_to(table)}" for file in (_log(table, 3), _log(table, 4), _log(table, CHECKPOINT))]
    assert [problem.partition(" cannot be read")[0] for problem, _ in found] == refused
    assert {fix for _, fix in found} == {"let the user that this runs as read it"}
    *_, (hint, _) = log.problems()
    assert hint.startswith("_delta_log/_last_checkpoint cannot be read")
