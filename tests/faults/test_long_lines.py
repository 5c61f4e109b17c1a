"""Lines that no memory holds, behind ordinary ones: the JVM lives, and the file is named."""

from __future__ import annotations

import gzip
import os
import random
import struct
import zlib
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.errors import InputUnreadableError
from tests.faults.program import run_program
from tests.given.send_logs import line, stage, write


def _bomb(file: Path, head: bytes, megabytes: int, *, last: bytes = b"") -> None:
    """A gzip of `head`, then one line of so many MiB; `last` is a member of its own."""
    packer, block = zlib.compressobj(9, zlib.DEFLATED, -15), b"a" * 2**20
    again = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)  # it refers to nothing before, so it may repeat
    opened = zlib.compressobj(6, zlib.DEFLATED, -15)
    crc, size = zlib.crc32(head), len(head) + megabytes * 2**20
    with file.open("wb") as out:
        out.write(b"\x1f\x8b\x08" + bytes(6) + b"\xff" + opened.compress(head) + opened.flush(zlib.Z_FULL_FLUSH))
        for _ in range(megabytes):
            out.write(again)
            crc = zlib.crc32(block, crc)
        out.write(b"\x03\x00" + struct.pack("<II", crc, size % 2**32) + (gzip.compress(last) if last else b""))


def _different_lines(number: int) -> bytes:
    rng = random.Random(7)
    return b"".join(line(seq=seq, error=f"{rng.getrandbits(256):x}") + b"\n" for seq in range(number))


@pytest.mark.fault(45)
def test_a_bomb_behind_ordinary_lines_is_refused_by_what_its_end_says(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    _bomb(tmp_path / "logs/bomb.jsonl.gz", _different_lines(1_000), 200)
    with pytest.raises(InputUnreadableError, match=r"bomb\.jsonl\.gz grows more than 500 times when it is unpacked"):
        stage(spark, tmp_path / "logs")


@pytest.mark.slow  # gigabytes are unpacked, by a program of its own whose JVM must live
@pytest.mark.fault(20, 45)
@pytest.mark.parametrize("kind", ["1.2 GB in a gzip", "3 GB in a member of a gzip", "3 GB plain"])
def test_a_line_that_no_memory_holds_is_named(tmp_path: Path, kind: str) -> None:
    """Memory for it was asked for until the JVM died."""
    head = _different_lines(50_000)
    write(tmp_path / "sends", {"fine.jsonl": line()})
    name = {"3 GB plain": "long.jsonl"}.get(kind, "long.jsonl.gz")
    if kind == "3 GB plain":
        (tmp_path / "sends" / name).write_bytes(head)
        os.truncate(tmp_path / "sends" / name, 3 * 2**30)
    else:
        megabytes, last = (3_000, b"\n" + line()) if "member" in kind else (1_200, b"")
        _bomb(tmp_path / "sends" / name, head, megabytes, last=last)
    done = run_program(tmp_path, "--date", "2026-11-21")
    assert done.returncode == 3, done.stderr[-3_000:]
    which = "a line" if kind == "3 GB in a member of a gzip" else "line 50,001"
    assert done.stderr.splitlines()[-1] == (
        f"faultline: {tmp_path}/sends/{name} has {which} of more than 128 MiB, which no log has; remove or replace it"
    )
