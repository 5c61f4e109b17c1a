"""What an input's paths stand for: files, each once; what cannot be read is named, and nothing is opened."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, cast

import pytest
from pyspark.sql import SparkSession

from jobs.errors import InputMissingError, InputUnreadableError, SettingValueError
from jobs.sources import files
from jobs.sources.local_files import InputFile, Listing, is_local, list_local

NOBODY = 65_534


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Two files, one of them deeper."""
    folder = tmp_path / "logs"
    (folder / "b").mkdir(parents=True)
    (folder / "a.jsonl").write_bytes(b"{}\n")
    (folder / "b/c.jsonl").write_bytes(b"{}\n{}\n")
    return folder


def _names(listing: Listing, folder: Path) -> list[str]:
    return [file.name.removeprefix(f"{folder}/") for file in listing.files]


def _problems(listing: Listing, folder: Path) -> list[str]:
    return [str(problem).removeprefix(f"{folder}/") for problem in listing.problems]


@pytest.mark.fault(38)
def test_a_file_counts_once_by_every_path(logs: Path) -> None:
    (logs / "again.jsonl").symlink_to("a.jsonl")
    (logs / "a-b").symlink_to("b")
    (logs / "b/up").symlink_to(logs)
    paths = [f"{logs}/a.jsonl", str(logs), f"{logs}/*", f"{logs}/./b/../a.jsonl"]
    listing = list_local([*paths, f"file:{logs}/a.jsonl", f"file://{logs}"])
    assert _names(listing, logs) == ["a.jsonl", "b/c.jsonl"]
    assert [file.size for file in listing.files] == [3, 6]
    assert (listing.problems, listing.hidden) == ((), ())


@pytest.mark.fault(38)
@pytest.mark.parametrize("by", ["folder", "name", "glob"])
def test_what_is_not_a_file_is_named(logs: Path, by: str) -> None:
    (logs / "gone.jsonl").symlink_to("/nowhere/x.jsonl")
    os.mkfifo(logs / "pipe.jsonl")
    paths = {
        "folder": [str(logs)],
        "name": [f"{logs}/{name}.jsonl" for name in ("pipe", "gone")],
        "glob": [f"{logs}/*.jsonl"],
    }
    listing = list_local(paths[by])
    assert _problems(listing, logs) == [
        "gone.jsonl cannot be read: No such file or directory; correct or remove it",
        "pipe.jsonl is not a regular file; remove it, or select the files with a glob",
    ]
    assert {type(problem) for problem in listing.problems} == {InputUnreadableError}


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that others may look into; pytest's own is for its user alone."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.fault(6)
def test_what_may_not_be_read_is_named(open_folder: Path) -> None:
    (open_folder / "closed").mkdir(mode=0o700)
    (open_folder / "closed/a.jsonl").write_bytes(b"{}")
    (open_folder / "secret.jsonl").touch(mode=0o600)
    (open_folder / "open.jsonl").touch(mode=0o644)
    if is_root := os.geteuid() == 0:  # who may read everything: look as somebody else
        os.seteuid(NOBODY)
    else:
        (open_folder / "closed").chmod(0o000)
        (open_folder / "secret.jsonl").chmod(0o000)
    try:
        listing, inside = list_local([str(open_folder)]), list_local([f"{open_folder}/closed/a.jsonl"])
    finally:
        if is_root:
            os.seteuid(0)
        else:
            (open_folder / "closed").chmod(0o700)
    assert _names(listing, open_folder) == ["open.jsonl"]
    assert _problems(listing, open_folder) == [
        "closed cannot be read: Permission denied; correct or remove it",
        "secret.jsonl cannot be read: Permission denied; correct or remove it",
    ]
    assert _problems(inside, open_folder) == ["closed/a.jsonl cannot be read: Permission denied; correct or remove it"]


@pytest.mark.fault(6)
def test_a_name_that_is_not_utf_8_is_named(logs: Path) -> None:
    Path(os.fsdecode(os.fsencode(logs) + b"/\xff.jsonl")).touch()
    assert _problems(list_local([str(logs)]), logs) == ["\\xff.jsonl has a name that is not UTF-8; rename it"]


@pytest.mark.fault(5, 6)
def test_hidden_and_half_copied_files_are_left_out_and_named(logs: Path) -> None:
    (logs / "b/.git/deep").mkdir(parents=True)
    (logs / "b/.git/deep/x.jsonl").touch()
    (logs / "c.jsonl._COPYING_").touch()
    (logs / "_SUCCESS").touch()
    listing = list_local([str(logs)])
    assert _names(listing, logs) == ["a.jsonl", "b/c.jsonl"]
    assert listing.hidden == (f"{logs}/_SUCCESS", f"{logs}/b/.git", f"{logs}/c.jsonl._COPYING_")
    assert _names(list_local([f"{logs}/b/.git"]), logs) == ["b/.git/deep/x.jsonl"]  # asked for by its own name
    assert list_local([f"{logs}/b/.g*"]).files == ()


@pytest.mark.fault(6)
@pytest.mark.parametrize("name", ["x" * 249 + ".jsonl", "a\nb.jsonl", " ", "日本.jsonl", "back\\slash", "a{b,c}[d]*?"])
def test_other_odd_names_are_files_like_any(tmp_path: Path, name: str) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / name).touch()
    for path in (tmp_path / "logs", tmp_path / "logs" / name):
        listing = list_local([str(path)])
        assert ([file.name for file in listing.files], listing.problems) == ([f"{tmp_path}/logs/{name}"], ())


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*.jsonl", ["a.jsonl"]),
        ("*", ["a.jsonl", "b/c.jsonl"]),
        ("?/*", ["b/c.jsonl"]),
        ("{a,b/c}.jsonl", ["a.jsonl", "b/c.jsonl"]),
        ("{a,b/{c,d}}.jsonl", ["a.jsonl", "b/c.jsonl"]),
        ("[!a]", ["b/c.jsonl"]),
        ("[a-b].jsonl", ["a.jsonl"]),
    ],
)
def test_a_glob_has_stars_classes_and_braces(logs: Path, pattern: str, names: list[str]) -> None:
    assert _names(list_local([f"{logs}/{pattern}"]), logs) == names


@pytest.mark.fault(4)
@pytest.mark.parametrize("path", ["none.jsonl", "none/*.jsonl", "*.txt", "a.jsonl/b", "{x,y}.jsonl"])
def test_a_path_that_is_not_there_is_named(logs: Path, path: str) -> None:
    (problem,) = list_local([f"{logs}/{path}", f"{logs}/a.jsonl"]).problems
    assert str(problem) == f"input {logs}/{path} does not exist; give a file, a folder or a glob that matches"
    assert isinstance(problem, InputMissingError)


@pytest.mark.fault(38)
def test_a_link_into_the_lake_is_not_input(logs: Path) -> None:
    lake = logs.parent / "lake"
    (lake / "sends").mkdir(parents=True)
    (lake / "sends/part.parquet").touch()
    (logs / "part.parquet").symlink_to(lake / "sends/part.parquet")
    (logs / "above").symlink_to(lake.parent)
    listing = list_local([str(logs)], str(lake))
    assert {type(problem) for problem in listing.problems} == {SettingValueError}
    assert [problem.partition(" ")[0] for problem in _problems(listing, logs)] == [
        "above/lake/sends/part.parquet",
        "part.parquet",
    ]
    assert f"part.parquet leads into the lake {lake}: what is read" in str(listing.problems[1])
    assert _names(listing, logs) == ["a.jsonl", "b/c.jsonl"]


def test_a_path_without_a_store_lies_on_the_default_one() -> None:
    stores = (None, "file:///", "hdfs://name:8020")
    assert [is_local("/logs", store) for store in stores] == [True, True, False]
    assert [is_local("file:/logs", store) for store in stores] == [True] * 3
    assert [is_local("s3a://b/logs", store) for store in stores] == [False] * 3


class _Together:
    """A store that answers only four looks at once: one after another, they would wait for ever."""

    statuses: ClassVar[dict[str, tuple[int, int]]] = {f"s3a://b/{number}.log": (3, number) for number in range(8)}

    def __init__(self, _: object) -> None:
        self._four = threading.Barrier(4)

    def is_local(self, _: str) -> bool:
        return False

    def found(self, _: str) -> Iterator[tuple[InputFile, str]]:
        return ((InputFile(name, *status), name) for name, status in reversed(self.statuses.items()))

    def head(self, file: InputFile, _: int) -> bytes:
        self._four.wait(30)
        return b"BZh91AY&SY" if file.name in ("s3a://b/5.log", "s3a://b/2.log") else b"{}"

    def status(self, name: str) -> tuple[int, int] | None:
        self._four.wait(30)
        return None if name == "s3a://b/6.log" else (4, 4) if name == "s3a://b/3.log" else self.statuses[name]


@pytest.mark.fault(6)
def test_files_of_a_store_are_looked_at_together_and_the_first_that_is_wrong_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(files, "Stores", _Together)
    session = cast("SparkSession", None)
    with pytest.raises(InputUnreadableError, match=r"^s3a://b/2\.log is bzip2"):
        files.list_files(session, ["s3a://b"])
    listed = tuple(InputFile(name, *status) for name, status in _Together.statuses.items())
    with pytest.raises(InputUnreadableError, match=r"^s3a://b/3\.log changed while it was read"):
        files.check_unchanged(session, Listing(listed))
