"""Files that are not what their input says: each is named, with what to do about it."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from jobs.errors import FaultlineError, InputUnreadableError
from jobs.settings.load import load_settings
from jobs.sources import json_lines, whole_text
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
def test_a_fifo_in_any_input_is_named_at_once(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """Nobody writes to it: whoever opens it waits for ever."""
    files = {f"{each}/a.jsonl": line() for each in INPUTS}
    folder = write(tmp_path / "site", files)
    os.mkfifo(folder / kind / "pipe.log")
    settings = load_settings([], [], {f"inputs.{each}.path": str(folder / each) for each in INPUTS})
    read = stage_snapshots if kind in {"consumers", "running_info", "client_logs"} else ingest.stage_sends
    with pytest.raises(InputUnreadableError, match=f"^{folder}/{kind}/pipe.log is a FIFO, no file, and was not opened"):
        read(spark, settings, (DATE, DATE), f"{tmp_path}/staging")
    assert not (tmp_path / "staging").exists()  # not one line of the other inputs was read


@pytest.mark.fault(38)
def test_linked_files_are_read_once_and_named(spark: SparkSession, tmp_path: Path) -> None:
    folder = write(tmp_path / "logs", {"a.jsonl": line(seq=1), "b/c.jsonl": line(seq=2)})
    for name, target in {"self": ".", "b/up": "..", "b/up2": "..", "again.jsonl": "a.jsonl"}.items():
        (folder / name).symlink_to(target)
    staged = stage(spark, folder, "", "*", "a.jsonl", "self/self/b")
    assert fates(staged) == {"PUBLISHED": 2}
    again = [each.replace(f"{folder}", "") for each in staged.repeated_files]
    assert again == ["/again.jsonl is /a.jsonl again", "/b/up is  again", "/b/up2 is  again", "/self is  again",
                     "/self/self/b is /b again"]  # fmt: skip


@pytest.mark.fault(5, 38)
def test_two_problems_are_counted(spark: SparkSession, tmp_path: Path) -> None:
    folder = write(tmp_path / "logs", {"a.jsonl": line()})
    (folder / "gone").symlink_to("nowhere")
    os.mkfifo(folder / "pipe")
    assert _refused(spark, folder) == (
        "gone is a link to nowhere, which does not exist; remove it or mend it (1 more problems in the input)"
    )


@pytest.mark.fault(5)
@pytest.mark.parametrize("by", ["a folder", "a FIFO"])
def test_a_file_that_something_else_replaces_is_named(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    """After the listing, before anything opens it."""
    folder = write(tmp_path / "logs", {"a.jsonl": line(seq=1), "b.jsonl": line(seq=2)})
    listed = list_files(spark, [str(folder)], f"{folder}.scratch")
    (folder / "b.jsonl").unlink()
    if by == "a folder":
        write(folder / "b.jsonl", {"c.jsonl": line(seq=3)})
        monkeypatch.setattr(ingest, "list_files", lambda *_, **__: listed)
        with pytest.raises(InputUnreadableError, match=f"^{folder}/b.jsonl vanished while it was read; run again$"):
            stage(spark, folder)
    else:
        os.mkfifo(folder / "b.jsonl")
        monkeypatch.setattr("jobs.sources.files.list_local", lambda *_: _Listed(listed))
        with pytest.raises(InputUnreadableError, match=f"^{folder}/b.jsonl is no file any more; run again$"):
            list_files(spark, [str(folder)], f"{folder}.scratch")


class _Listed:
    """A listing of before."""

    hidden = repeated = problems = ()

    def __init__(self, manifest: Any) -> None:
        self.files = manifest.files


@pytest.mark.fault(3, 6)
@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.GZ", GZIPPED, "is gzip but its name does not end in .gz; rename it"),
        ("a.tgz", GZIPPED, "is gzip but its name does not end in .gz; rename it"),
        ("a.gz.gz", gzip.compress(GZIPPED), "holds gzip inside of gzip, which is not read; pack its lines once"),
        ("a.tar.gz", gzip.compress(b"a".ljust(257, b"\0") + b"ustar\0" + bytes(250)), "holds tar inside of gzip"),
        ("a.jsonl.bz2", bz2.compress(line()), "is packed as bzip2, which is not read; unpack it, or pack its lines"),
        ("a.jsonl.xz", lzma.compress(line()), "is packed as xz, which is not read"),
        ("a.jsonl.zst", ZSTD, "is packed as zstd, which is not read"),
        ("a.jsonl", ZSTD, "is packed as zstd, which is not read"),
        ("a.zip", b"PK\x03\x04" + bytes(60), "is packed as zip, which is not read"),
        ("a.jsonl.bz2", line(), "is named .bz2 but is not packed so; rename it"),
        ("a.jsonl.lz4", line(), "is named .lz4 but is not packed so; rename it"),
        ("a.jsonl.snappy", line(), "is named .snappy but is not packed so; rename it"),
        ("a.jsonl.deflate", zlib.compress(line()), "is named .deflate but is not packed so; rename it"),
    ],
)  # fmt: skip
def test_only_gzip_is_unpacked(spark: SparkSession, tmp_path: Path, name: str, content: bytes, sentence: str) -> None:
    """Hadoop unpacks others by their name alone, or reads them as text."""
    assert _refused(spark, write(tmp_path / "logs", {"fine.jsonl": line(), name: content})).startswith(
        f"{name} {sentence}"
    )


@pytest.mark.fault(1, 45)
def test_a_cut_gzip_is_no_bomb_whatever_its_last_bytes_say(spark: SparkSession, tmp_path: Path) -> None:
    text = b"\n".join(line(seq=seq, error=os.urandom(100).hex()) for seq in range(2_000))
    cut = gzip.compress(text)[:-50] + (800 * 250_000).to_bytes(4, "little")
    assert _refused(spark, write(tmp_path / "logs", {"a.jsonl.gz": cut})).startswith(
        "a.jsonl.gz cannot be read to its end"
    )


@pytest.mark.fault(6)
def test_long_and_broken_names_are_read(spark: SparkSession, tmp_path: Path) -> None:
    names = [
        "x" * 249 + ".jsonl",
        "_" + "x" * 248 + ".jsonl",
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


@pytest.mark.fault(6, simulated="a Java that cannot spell the name")
def test_a_name_that_java_cannot_spell_is_named(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A JVM in the language C sees another name; this one has another, so it is asked for a name that is not there."""
    folder = write(tmp_path / "logs", {"\u00fc.jsonl": line()})
    monkeypatch.setattr("jobs.sources.stores.Stores._path", lambda self, name: _path(self, name.replace("\u00fc", "?")))
    assert (
        _refused(spark, folder)
        == "\u00fc.jsonl has a name that Java cannot spell here; set LC_ALL=C.UTF-8 and run again"
    )


def _path(stores: Any, name: str) -> Any:
    return stores._spark._jvm.org.apache.hadoop.fs.Path(name)


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
        ("b.parquet", lambda _: line(), "is read as Parquet but is none; rename or replace it"),
        ("b.parquet", lambda _: b"", "is empty, which no Parquet is; replace it with a complete copy"),
        ("b.parquet", lambda _: b"PAR1", "is Parquet without its end, where its columns are described"),
        ("b.parquet", lambda whole: whole[:-100], "is Parquet without its end, where its columns are described"),
        ("b.parquet", lambda whole: b"PARE" + whole[4:-4] + b"PARE", "is Parquet with an encrypted footer"),
        ("b.parquet", lambda whole: whole[:4] + bytes(len(whole) - 12) + whole[-8:], "cannot be read as Parquet ("),
        ("b.parquet.gz", gzip.compress, "is read as Parquet but is none; rename or replace it"),
        ("b.jsonl", lambda whole: whole, "is Parquet, which is read only of send attempts; name it .parquet"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_whole_parquet_is_named(
    spark: SparkSession, tmp_path: Path, name: str, damage: Any, sentence: str
) -> None:
    folder = tmp_path / "logs"
    _parquet(folder, "a.parquet")
    _parquet(folder.parent, "whole.parquet")
    write(folder, {name: damage((folder.parent / "whole.parquet").read_bytes()), "_SUCCESS": b""})
    assert _refused(spark, folder).startswith(f"{name} {sentence}")


LONG = 1_000_000


@pytest.fixture
def _lines_of_a_megabyte(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else is smaller: the reader passes over a line of 1 MB as it does over one of 128 MiB."""
    for module in (json_lines, whole_text):
        monkeypatch.setattr(module, "LONGEST_LINE_BYTES", LONG)
    monkeypatch.setattr(whole_text, "_CHUNK_BYTES", LONG // 100)


@pytest.mark.fault(20, 45, simulated="limits of 1 kB and 1 MB in place of 128 MiB")
@pytest.mark.usefixtures("_lines_of_a_megabyte")
@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.csv", "two.jsonl.gz"])
def test_a_line_that_the_reader_passes_over_is_named(spark: SparkSession, tmp_path: Path, name: str) -> None:
    before = [line(seq=seq) for seq in range(50)]
    if name == "a.csv":
        before = [b"client_id,latency_ms", *[b"c,1"] * 49]
    noise = os.urandom(LONG // 2).hex().encode()
    text = b"\n".join([*before, b'{"error": "' + noise + b'"}', *before[1:]])
    if name.startswith("two"):
        text = b"\n".join([*before, b""]) * 4
        half = len(text) // 2
        content = gzip.compress(text[:half] + noise) + gzip.compress(noise + b"\n" + text[half:])
    else:
        content = gzip.compress(text) if name.endswith("gz") else text
    said = _refused(spark, write(tmp_path / "logs", {"fine.jsonl": line(), name: content}))
    number = {"two.jsonl.gz": 101}.get(name, 51)
    assert said.startswith(f"{name} has line {number} of more than ")
    assert said.endswith("which no log has; remove or replace it")


@pytest.mark.fault(20, simulated="limits of 1 kB and 1 MB in place of 128 MiB")
@pytest.mark.usefixtures("_lines_of_a_megabyte")
def test_all_other_text_is_read_whole(spark: SparkSession, tmp_path: Path) -> None:
    """Byte order marks, last lines with and without an end, CRLF, several members, lines just short enough."""
    short = b'{"error": "' + os.urandom(LONG // 2 - 20).hex().encode() + b'"}'
    many = b"\n".join(line(seq=seq, error=os.urandom(50).hex()) for seq in range(5_000))
    files = {
        "bom.jsonl": b"\xef\xbb\xbf" + line(seq=-1) + b"\n\n",
        "crlf.jsonl": line(seq=-2) + b"\r\n" + line(seq=-3) + b"\r\n",
        "short.jsonl": short + b"\n" + short,
        "short.jsonl.gz": gzip.compress(short + b"\n"),
        "two.jsonl.gz": gzip.compress(many) + gzip.compress(b"\n") + gzip.compress(b"\xff\n"),
        "none.jsonl.gz": gzip.compress(b""),
    }
    staged = stage(spark, write(tmp_path / "logs", files))
    assert fates(staged) == {"PUBLISHED": 5_003, "QUARANTINED": 4}


@pytest.mark.fault(20, simulated="limits of 1 kB and 1 MB in place of 128 MiB")
def test_bytes_that_are_missing_without_a_long_line_are_told(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were the reader to lose a line, no count of rows would show it."""
    folder = write(tmp_path / "logs", {"a.jsonl": b"\n".join([line(), b"x" * 2_000, line(seq=2)])})
    monkeypatch.setattr(json_lines, "LONGEST_LINE_BYTES", 1_000)
    with pytest.raises(
        FaultlineError, match=r"^\d+ bytes of text were read, the files hold \d+; run again and report it"
    ):
        stage(spark, folder)
    assert whole_text.is_all(read=5, said=2**32 + 5, files=1)
    assert not whole_text.is_all(read=5, said=2**32 + 100, files=1)
