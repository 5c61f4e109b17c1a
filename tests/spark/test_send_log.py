"""The files of an input: which are read, under which names, and at which lines."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.errors import InputMissingError, InputUnreadableError
from jobs.settings.load import load_settings
from jobs.sources import staging as ingest
from jobs.sources.files import check_unchanged, list_files
from jobs.sources.local_files import Listing
from jobs.sources.stores import Stores
from tests.given.send_logs import GOOD, bad_lines, fates, line, stage, write


def _named(spark: SparkSession, folder: Path, *paths: str) -> list[str]:
    manifest = list_files(spark, [str(folder / path) for path in paths])
    return [file.name.removeprefix(f"{folder}/") for file in manifest.files]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    names = ["a.jsonl", "b.jsonl.gz", "deep/er/c.jsonl", "deep/d.log", "x/1.jsonl", "y/1.jsonl"]
    return write(tmp_path / "logs", {name: gzip.compress(b"{}") if name.endswith("gz") else b"{}" for name in names})


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        ([""], ["a.jsonl", "b.jsonl.gz", "deep/d.log", "deep/er/c.jsonl", "x/1.jsonl", "y/1.jsonl"]),
        (["a.jsonl"], ["a.jsonl"]),
        (["deep"], ["deep/d.log", "deep/er/c.jsonl"]),
        (["*.jsonl"], ["a.jsonl"]),
        (["*/1.jsonl"], ["x/1.jsonl", "y/1.jsonl"]),
        (["{x,y}"], ["x/1.jsonl", "y/1.jsonl"]),
        (["y", "a.jsonl"], ["a.jsonl", "y/1.jsonl"]),
        (["a.jsonl", "a.jsonl", "*.jsonl", "./a.jsonl"], ["a.jsonl"]),
    ],
)
def test_a_path_is_a_file_a_folder_or_a_glob(
    spark: SparkSession, tree: Path, paths: list[str], names: list[str]
) -> None:
    assert _named(spark, tree, *paths) == names


@pytest.mark.fault(4)
@pytest.mark.parametrize("path", ["none.jsonl", "none/*.jsonl", "*.txt"])
def test_a_path_that_is_not_there_is_named(spark: SparkSession, tree: Path, path: str) -> None:
    with pytest.raises(InputMissingError) as caught:
        stage(spark, tree, "a.jsonl", path)
    assert caught.value.exit_code == 3
    assert str(caught.value) == f"input {tree}/{path} does not exist; give a file, a folder or a glob that matches"


@pytest.mark.fault(4)
def test_a_folder_without_a_file_is_named(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "logs/empty").mkdir(parents=True)
    (tmp_path / "logs/.only-hidden").write_bytes(line())
    with pytest.raises(InputMissingError, match=rf"^no file in {tmp_path}/logs \(hidden ones are not read\); give"):
        stage(spark, tmp_path / "logs")


HIDDEN = [".a.jsonl.swp", ".~tmp~", "_b.jsonl", "c.jsonl._COPYING_", "d/.e.jsonl"]
HIDDEN_FILES = [".a.jsonl.swp", ".~tmp~/b.jsonl", "_b.jsonl", "c.jsonl._COPYING_", "d/.e.jsonl"]


@pytest.mark.fault(5, 6)
def test_hidden_and_half_copied_files_are_left_out_and_named(spark: SparkSession, tmp_path: Path) -> None:
    # The folder that was asked for may be hidden itself.
    folder = write(tmp_path / ".logs", {name: line(seq=seq) for seq, name in enumerate(["a.jsonl", *HIDDEN_FILES])})
    staged = stage(spark, folder)
    assert fates(staged) == {"PUBLISHED": 1}
    assert [name.removeprefix(f"{folder}/") for name in staged.inputs[0].manifest.hidden] == HIDDEN


@pytest.mark.parametrize("path", [".logs", ".logs/*"])
def test_those_of_another_store_are_left_out_too(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    write(tmp_path / ".logs", dict.fromkeys(["a.jsonl", *HIDDEN_FILES], line()))
    monkeypatch.setattr(Stores, "is_local", lambda *_: False)
    manifest = list_files(spark, [f"{tmp_path}/{path}"])
    assert [file.name for file in manifest.files] == [f"{tmp_path}/.logs/a.jsonl"]
    assert list(manifest.hidden) == [f"{tmp_path}/.logs/{name}" for name in HIDDEN_FILES]


ODD_NAMES = [
    "with space.jsonl",
    "cluster=a/date=2026-11-21/part.jsonl",
    "100%.jsonl",
    "%41%2F.jsonl",
    "a+b.jsonl",
    "日本-ü-😀.jsonl",
    "[ab]{c,d}.jsonl",
    "star*and?.jsonl",
    "back\\slash.jsonl",
    "quote'and\".jsonl",
    "comma,hash#.jsonl",
    "%20 of.jsonl.gz",
    "no-extension",
]


@pytest.mark.fault(6, 30)
def test_any_name_is_read_and_shown_as_it_is(spark: SparkSession, tmp_path: Path) -> None:
    contents = {name: line(seq=place) + b"\n{\n" for place, name in enumerate(ODD_NAMES)}
    zipped = {name: gzip.compress(text) if name.endswith(".gz") else text for name, text in contents.items()}
    folder = write(tmp_path / "lo gs%2F", zipped)
    staged = stage(spark, folder)
    assert fates(staged) == {"PUBLISHED": len(ODD_NAMES), "QUARANTINED": len(ODD_NAMES)}
    assert bad_lines(staged, folder) == {(name, 2): ("not_json", None) for name in ODD_NAMES}


@pytest.fixture
def small_splits(spark: SparkSession) -> Iterator[None]:
    """Every file is read in pieces of 16 kB, and small files share one."""
    spark.conf.set("spark.sql.files.maxPartitionBytes", "16384")
    spark.conf.set("spark.sql.files.openCostInBytes", "64")
    yield
    spark.conf.unset("spark.sql.files.maxPartitionBytes")
    spark.conf.unset("spark.sql.files.openCostInBytes")


def _with_bad_lines(lines: list[bytes], every: int) -> tuple[list[bytes], list[int]]:
    numbers = list(range(every, len(lines) + 1, every))
    return [b"{" if place in numbers else each for place, each in enumerate(lines, start=1)], numbers


@pytest.mark.fault(7, 30)
@pytest.mark.usefixtures("small_splits")
def test_line_numbers_are_exact_in_every_kind_of_file(spark: SparkSession, tmp_path: Path) -> None:
    long, long_bad = _with_bad_lines([line(seq=seq) for seq in range(1_000)], every=7)
    # Blank stretches longer than a piece, and blank lines at both ends of the file.
    gappy = [b"\r"] * 3 + [
        line(seq=2_000) + b"\r",
        b"{\r",
        *([b"\r"] * 20_000),
        b"{\r",
        *([b""] * 30_000),
        b"{",
        b"",
        b"",
    ]
    long_line = [b"{", line(seq=3_000, error="x" * 60_000), b"{"]  # several pieces without the start of a line
    files = {
        "long.jsonl": b"\n".join(long),
        "long.jsonl.gz": gzip.compress(b"\n".join(long)),
        "gappy.jsonl": b"\n".join(gappy),
        "gappy.jsonl.gz": gzip.compress(b"\n".join(gappy)),
        "long-line.jsonl": b"\n".join(long_line),
        **{f"small/{place}.jsonl": b"\n\n{\n" + line(seq=4_000 + place) + b"\n{" for place in range(20)},
    }
    folder = write(tmp_path / "logs", files)
    staged = stage(spark, folder)
    expected = [
        *(("long.jsonl", number) for number in long_bad),
        *(("long.jsonl.gz", number) for number in long_bad),
        *((name, number) for name in ("gappy.jsonl", "gappy.jsonl.gz") for number in (5, 20_006, 50_007)),
        *(("long-line.jsonl", number) for number in (1, 3)),
        *((f"small/{place}.jsonl", number) for place in range(20) for number in (3, 5)),
    ]
    assert sorted(bad_lines(staged, folder)) == sorted(expected)
    good = 1_000 - 142  # 142 multiples of 7
    assert fates(staged) == {"PUBLISHED": good + 1 + 1 + 20, "DUPLICATE": good + 1, "QUARANTINED": len(expected)}
    assert staged.inputs[0].lines.where("file LIKE '%/long.jsonl'").select("split").distinct().count() > 10


def test_a_line_number_reaches_past_blank_lines_at_the_start(spark: SparkSession, tmp_path: Path) -> None:
    folder = write(tmp_path / "logs", {"a.jsonl": b"\xef\xbb\xbf\n\n{\n" + line()})
    assert bad_lines(stage(spark, folder), folder) == {("a.jsonl", 3): ("not_json", None)}


def _manifest(spark: SparkSession, folder: Path) -> Listing:
    return list_files(spark, [str(folder)])


@pytest.mark.fault(5)
def test_a_file_that_grows_while_it_is_read_is_named(spark: SparkSession, tmp_path: Path) -> None:
    folder = write(tmp_path / "logs", {"a.jsonl": line()})
    manifest = _manifest(spark, folder)
    check_unchanged(spark, manifest)
    with (folder / "a.jsonl").open("ab") as file:
        file.write(b"\n")
    with pytest.raises(InputUnreadableError) as caught:
        check_unchanged(spark, manifest)
    assert caught.value.exit_code == 3
    assert str(caught.value) == f"{folder}/a.jsonl changed while it was read; run again when it is complete"


@pytest.mark.fault(5)
@pytest.mark.parametrize("changed", ["logs/a.jsonl", "routes/r.jsonl"])
def test_a_run_looks_again_at_what_it_has_read(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    """Every line can be read, but the file is another than was listed."""
    logs, routes = write(tmp_path / "logs", {"a.jsonl": line()}), write(tmp_path / "routes", {"r.jsonl": b"{}"})

    def listed_then_grown(session: SparkSession, paths: Sequence[str], **how: Any) -> Listing:
        manifest = list_files(session, paths, **how)
        if f"{tmp_path}/{changed}" in [file.name for file in manifest.files]:
            with (tmp_path / changed).open("ab") as file:
                file.write(b"\n{}")
        return manifest

    settings = load_settings([], [], {"inputs.sends.path": str(logs), "inputs.routes.path": str(routes)})
    monkeypatch.setattr(ingest, "list_files", listed_then_grown)
    with pytest.raises(InputUnreadableError, match=f"{changed} changed while it was read; run again when it is comp"):
        stage(spark, logs, settings=settings)


@pytest.mark.fault(5)
def test_a_file_that_goes_away_before_it_is_read_is_named(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "logs", {"a.jsonl": line(), "b.jsonl": line()})
    listed = _manifest(spark, folder)
    monkeypatch.setattr(ingest, "list_files", lambda *_, **__: listed)
    (folder / "b.jsonl").unlink()
    with pytest.raises(InputUnreadableError) as caught:
        stage(spark, folder)
    assert str(caught.value) == f"{folder}/b.jsonl vanished while it was read; run again"


@pytest.mark.fault(15, 16)
def test_what_is_published_does_not_depend_on_how_the_log_is_cut(spark: SparkSession, tmp_path: Path) -> None:
    lines = [line(seq=seq % 40, latency_ms=seq % 3) for seq in range(240)]  # 120 different ones, each twice
    cuts = {
        "whole": {"a.jsonl": b"\n".join(lines)},
        "cut": {f"{place}.jsonl": b"\r\n".join(lines[place::7]) for place in range(7)},
        "backwards": {"a.gz": gzip.compress(b"\n".join(reversed(lines)))},
    }
    published = set()
    for name, files in cuts.items():
        staged = stage(spark, write(tmp_path / name, files))
        assert fates(staged) == {"PUBLISHED": 120, "DUPLICATE": 120}
        rows = staged.inputs[0].lines.where("disposition = 'PUBLISHED'").collect()
        assert len(rows) == 120
        published.add(frozenset((row["seq"], row["latency_ms"], row["row_hash"]) for row in rows))
    (of_every_cut,) = published
    assert len(of_every_cut) == 120


def test_the_good_line_has_only_fields_of_the_log() -> None:
    from jobs.sources.send_fields import FIELDS

    assert set(GOOD) <= set(FIELDS)
