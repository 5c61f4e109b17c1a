"""Files of a collector: an hour each, hidden while they grow, whole after whatever befell the one that wrote them."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from contextlib import suppress
from pathlib import Path

import pytest

from jobs.collect.files import HourlyFiles, finish
from tests.given.small_disk import small_disk

AT = dt.datetime(2026, 11, 21, 3, 59, 59, tzinfo=dt.UTC)
LATER = dt.datetime(2026, 11, 21, 4, 0, 0, tzinfo=dt.UTC)


def numbers(file: Path) -> list[int]:
    return [json.loads(line)["n"] for line in gzip.decompress(file.read_bytes()).splitlines()]


def grown(folder: Path, *rounds: list[int]) -> Path:
    """A file that grows, as its process left it."""
    files = HourlyFiles(folder, "p")
    for each in rounds:
        files.write([{"n": number} for number in each], AT)
    return folder / ".2026-11-21T03-p.jsonl.gz"


def test_an_hour_is_a_file_that_gets_its_name_when_the_next_begins(tmp_path: Path) -> None:
    files = HourlyFiles(tmp_path, "p")
    files.write([{"n": 1}], AT)
    files.write([{"n": 2, "body": "ä\ud800"}], AT)
    assert [file.name for file in tmp_path.iterdir()] == [".2026-11-21T03-p.jsonl.gz"]
    files.write([], LATER)
    first = tmp_path / "2026-11-21T03-p.jsonl.gz"
    assert (list(tmp_path.iterdir()), numbers(first)) == ([first], [1, 2])
    assert "ä" in gzip.decompress(first.read_bytes()).decode()
    files.write([{"n": 3}], LATER)
    files.close()
    files.close()
    assert files.finished == [first, tmp_path / "2026-11-21T04-p.jsonl.gz"]
    assert numbers(files.finished[1]) == [3]


def test_a_name_that_is_taken_is_not_overwritten(tmp_path: Path) -> None:
    for round_ in ([1], [2], [3]):
        finish(grown(tmp_path, round_))
    assert {file.name: numbers(file) for file in tmp_path.iterdir()} == {
        "2026-11-21T03-p.jsonl.gz": [1], "2026-11-21T03-p-2.jsonl.gz": [2], "2026-11-21T03-p-3.jsonl.gz": [3],
    }  # fmt: skip


def test_what_a_killed_process_left_is_whole_up_to_its_last_line(tmp_path: Path) -> None:
    """Cut anywhere: all rounds before stay, and of the last one no line is half."""
    growing = grown(tmp_path / "whole", [1, 2], list(range(3, 400)))
    packed = growing.read_bytes()
    first = len(gzip.compress(b'{"n":1}\n{"n":2}\n'))
    for size in range(first, len(packed), 37):
        growing = tmp_path / f"{size}" / ".2026-11-21T03-p.jsonl.gz"
        growing.parent.mkdir()
        growing.write_bytes(packed[:size])
        (found,) = HourlyFiles(growing.parent, "q").finished
        assert found.name == "2026-11-21T03-p.jsonl.gz"
        assert numbers(found) == list(range(1, len(numbers(found)) + 1))
        assert len(numbers(found)) >= 2
        assert list(growing.parent.iterdir()) == [found]
    assert numbers(finish(tmp_path / "whole" / ".2026-11-21T03-p.jsonl.gz")) == list(range(1, 400))


@pytest.mark.parametrize("left", [b"", b"no gzip"])
def test_what_holds_nothing_ends_as_an_empty_file(tmp_path: Path, left: bytes) -> None:
    (tmp_path / ".2026-11-21T03-p.jsonl.gz").write_bytes(left)
    (found,) = HourlyFiles(tmp_path, "q").finished
    assert gzip.decompress(found.read_bytes()) == b""


def test_a_full_disk_takes_all_of_a_round_or_nothing(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "64k") as disk:
        files = HourlyFiles(disk / "routes", "p")
        files.write([{"n": 1}], AT)
        filler = disk / "filler"
        with suppress(OSError), filler.open("wb", buffering=0) as stream:
            while True:
                stream.write(b"0" * 1024)
        with pytest.raises(OSError, match="No space left"):
            files.write([{"n": 2, "body": str(hash((number, "x")))} for number in range(5_000)], AT)
        filler.unlink()
        files.write([{"n": 3}], AT)
        files.close()
        assert numbers(files.finished[0]) == [1, 3]
