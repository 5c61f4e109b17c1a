"""Files that are whole or not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jobs.text.whole_file import write_whole


def test_a_file_that_cannot_be_put_in_its_place_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path / "taken", "text")
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "none" / "file", "text")
    assert [entry.name for entry in tmp_path.iterdir()] == ["taken"]


def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "said")
    assert os.read(reader, 10) == b"said"
    os.close(reader)
    assert pipe.is_fifo()


def test_a_pipe_that_nobody_reads_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="No such device or address"):
        write_whole(tmp_path / "pipe", "said")


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real/file", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    write_whole(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
