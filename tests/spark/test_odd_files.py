"""Files that are not what their input says: each is named, with what to do about it."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from jobs.errors import InputUnreadableError
from jobs.settings.load import load_settings
from jobs.sources import staging as ingest
from jobs.sources.files import list_files
from jobs.sources.staging import stage_snapshots
from tests.given.send_logs import DATE, GOOD, fates, line, stage, write, write_parquet

INPUTS = ("sends", "routes", "consumers", "running_info", "client_logs")
ZSTD = b"\x28\xb5\x2f\xfd\x04\x00\x09\x00\x00\x7b\x7d\x0a"  # as far as a name can be told from it
GZIPPED = gzip.compress(line() + b"\n")


def _refused(spark: SparkSession, folder: Path, **settings: Any) -> str:
    """What a run over the folder is refused for, without the folder's own name."""
    given = load_settings([], [], {"inputs.sends.path": str(folder), **settings})
    with pytest.raises(InputUnreadableError) as caught:
        stage(spark, folder, settings=given)
    assert caught.value.exit_code == 3
    return str(caught.value).replace(f"{folder}/", "")


@pytest.mark.fault(38)
@pytest.mark.parametrize("kind", INPUTS)
def test_what_is_not_a_file_in_any_input_is_named_at_once(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """Before one line of the other inputs is read."""
    folder = write(tmp_path / "site", {f"{each}/a.jsonl": line() for each in INPUTS})
    (folder / kind / "gone.log").symlink_to("nowhere")
    settings = load_settings([], [], {f"inputs.{each}.path": str(folder / each) for each in INPUTS})
    read = stage_snapshots if kind in {"consumers", "running_info", "client_logs"} else ingest.stage_sends
    with pytest.raises(InputUnreadableError, match=f"^{folder}/{kind}/gone.log cannot be read: No such file"):
        read(spark, settings, (DATE, DATE), f"{tmp_path}/staging")
    assert not (tmp_path / "staging").exists()


@pytest.mark.fault(38)
def test_linked_files_are_read_once(spark: SparkSession, tmp_path: Path) -> None:
    folder = write(tmp_path / "logs", {"a.jsonl": line(seq=1), "b/c.jsonl": line(seq=2)})
    for name, target in {"self": ".", "again.jsonl": "a.jsonl"}.items():
        (folder / name).symlink_to(target)
    staged = stage(spark, folder, "", "a.jsonl")
    assert fates(staged) == {"PUBLISHED": 2}


@pytest.mark.fault(5)
def test_a_file_that_a_folder_replaces_is_named(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the listing, before anything opens it."""
    folder = write(tmp_path / "logs", {"a.jsonl": line(seq=1), "b.jsonl": line(seq=2)})
    listed = list_files(spark, [str(folder)])
    (folder / "b.jsonl").unlink()
    write(folder / "b.jsonl", {"c.jsonl": line(seq=3)})
    monkeypatch.setattr(ingest, "list_files", lambda *_, **__: listed)
    with pytest.raises(InputUnreadableError, match=f"^{folder}/b.jsonl vanished while it was read; run again$"):
        stage(spark, folder)


@pytest.mark.fault(3, 6)
@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.GZ", GZIPPED, "is gzip but its name does not end in .gz; rename it"),
        ("a.tgz", GZIPPED, "is gzip but its name does not end in .gz; rename it"),
        ("a.tar", b"a".ljust(257, b"\0") + b"ustar\0" + bytes(250), "is tar, which is not read as text"),
        ("a.jsonl.bz2", bz2.compress(line()), "is bzip2, which is not read as text; write its lines as text or gzip"),
        ("a.jsonl.xz", lzma.compress(line()), "is xz, which is not read"),
        ("a.jsonl.zst", ZSTD, "is zstd, which is not read"),
        ("a.jsonl", ZSTD, "is zstd, which is not read"),
        ("a.zip", b"PK\x03\x04" + bytes(60), "is zip, which is not read"),
    ],
)  # fmt: skip
def test_only_gzip_is_unpacked(spark: SparkSession, tmp_path: Path, name: str, content: bytes, sentence: str) -> None:
    """Hadoop unpacks others by their name alone, or reads them as text."""
    assert _refused(spark, write(tmp_path / "logs", {"fine.jsonl": line(), name: content})).startswith(
        f"{name} {sentence}"
    )


@pytest.mark.fault(6)
def test_long_and_broken_names_are_read(spark: SparkSession, tmp_path: Path) -> None:
    names = [
        "x" * 249 + ".jsonl",
        "a\nb.jsonl",
        "12:00/c.jsonl",
        "\u00fc" * 120 + ".gz",
        " ",
    ]
    files = {name: line(seq=seq) for seq, name in enumerate(names)}
    folder = write(
        tmp_path / "logs", {n: gzip.compress(text) if n.endswith("gz") else text for n, text in files.items()}
    )
    assert fates(stage(spark, folder)) == {"PUBLISHED": len(names)}


def _parquet(folder: Path, name: str, **columns: Any) -> None:
    write_parquet(folder, name, {**{each: [value] for each, value in GOOD.items()}, **columns})


@pytest.mark.fault(17)
@pytest.mark.parametrize(
    ("column", "other", "kinds"),
    [
        ("latency_ms", ["12"], ("string", "bigint")),
        ("latency_ms", [{"value": 12}], ("struct", "bigint")),
        ("latency_ms", pa.array([12], pa.int32()), ("int", "bigint")),
        ("latency_ms", [12.5], ("double", "bigint")),
        ("LATENCY_MS", ["12"], ("string", "bigint")),
        ("site", [{"rack": {"row": 1}}], None),
    ],
)
def test_parquet_files_of_two_types_are_named_with_the_column(
    spark: SparkSession, tmp_path: Path, column: str, other: Any, kinds: tuple[str, str] | None
) -> None:
    folder = tmp_path / "logs"
    _parquet(folder, "a.parquet", site=[{"rack": {"name": "x"}}])
    del (values := {**GOOD})[column.lower() if kinds else "mode"]
    pq.write_table(pa.table({**{name: [value] for name, value in values.items()}, column: other}), folder / "b.parquet")
    if kinds is None:  # each names another field of one struct
        assert fates(stage(spark, folder)) == {"PUBLISHED": 2}
        return
    assert _refused(spark, folder) == (
        f"b.parquet has the column {column} as {kinds[0]}, a.parquet as {kinds[1]}; write both with one type"
    )


@pytest.mark.fault(2)
@pytest.mark.parametrize(
    ("name", "damage", "sentence"),
    [
        ("b.parquet", lambda _: line(), "cannot be read as Parquet ("),
        ("b.parquet", lambda _: b"", "is empty, so it is not Parquet; replace it with a complete copy"),
        ("b.parquet", lambda _: b"PAR1", "cannot be read as Parquet ("),
        ("b.parquet", lambda whole: whole[:-100], "cannot be read as Parquet ("),
        ("b.parquet", lambda whole: b"PARE" + whole[4:-4] + b"PARE", "cannot be read as Parquet ("),
        ("b.parquet", lambda whole: whole[:4] + bytes(len(whole) - 12) + whole[-8:], "cannot be read as Parquet ("),
        ("b.parquet.gz", gzip.compress, "cannot be read as Parquet ("),
        ("b.jsonl", lambda whole: whole, "is Parquet, which is not read as text; write"),
    ],
)  # fmt: skip
def test_a_file_that_is_not_whole_parquet_is_reported(
    spark: SparkSession, tmp_path: Path, name: str, damage: Any, sentence: str
) -> None:
    folder = tmp_path / "logs"
    _parquet(folder, "a.parquet")
    _parquet(folder.parent, "whole.parquet")
    write(folder, {name: damage((folder.parent / "whole.parquet").read_bytes()), "_SUCCESS": b""})
    assert _refused(spark, folder).startswith(f"{name} {sentence}")
