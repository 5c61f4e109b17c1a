"""Folders that hold what no collector should leave behind: each with the exit codes that fit it."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.fuzz import recordings
from tests.fuzz.hostile import CANARY_NAME
from tests.fuzz.mutations import as_json

READ, REFUSED = frozenset({0}), frozenset({3})
EITHER = READ | REFUSED


@dataclass(frozen=True)
class OddFile:
    """One oddity of a folder of sends.

    Attributes:
        what: in words.
        make: puts it into a folder; the good file lies beside it.
        codes: exit codes that fit.
        rows: lines that it adds to those of the good file where it is read; None = not to be foretold.
    """

    what: str
    make: Callable[[Random, Path], None]
    codes: frozenset[int]
    rows: int | None = 0


def good_lines(random: Random, number: int) -> bytes:
    """Lines of attempts of the day, one like no other."""
    attempts = recordings.some(random, "sends", number)
    return b"".join(
        as_json({**line, "msg_id": f"odd-{at}-{random.random()}"}) + b"\n" for at, line in enumerate(attempts)
    )


def _put(folder: Path, name: str, content: bytes) -> None:
    (folder / name).write_bytes(content)


def _packed(random: Random) -> bytes:
    return gzip.compress(good_lines(random, 3))


def _cut(random: Random, content: bytes) -> bytes:
    return content[: random.randrange(3, len(content) - 1)]


def _flipped(random: Random, content: bytes) -> bytes:
    """One byte of the packed text or of its checksum is another."""
    at = random.randrange(len(content) - 40, len(content) - 1)
    return content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :]


def _file(
    what: str, name: str, content: Callable[[Random], bytes], codes: frozenset[int] = READ, rows: int | None = 0
) -> OddFile:
    return OddFile(what, lambda random, folder: _put(folder, name, content(random)), codes, rows)


def _named(name: str) -> OddFile:
    return _file(f"a file named {name!r:.60}", name, _two, READ, 2)


def _one(random: Random) -> bytes:
    return good_lines(random, 1)


def _two(random: Random) -> bytes:
    return good_lines(random, 2)


def _linked(folder: Path, name: str, target: Path | str) -> None:
    (folder / name).symlink_to(target)


ODD_NAMES = (
    *("a b", "a%2Fb", "a%", "a+b&c", "a=b", "集群😀.jsonl", "e\u0301.jsonl", "{a,b}.jsonl", "[ab]*.jsonl"),
    *("a?.jsonl", "-rf", "~", "$HOME", f"${{env_{CANARY_NAME}}}", "'; DROP TABLE sends; --", '"', "a\\b", "a#b", "a;b"),
    *("CON", "x" * 250, "a..jsonl", "a.jsonl.bak", "a.jsonl.gz.txt", "\u202ea", "a\u2028b", "\x7f", "a\tb"),
    *("a.crc", "a.jsonl.", "part-00000"),
)

ODD_FILES = (
    *(_named(name) for name in ODD_NAMES),
    _file("a hidden file", ".hidden.jsonl", _two),
    _file("a file that Spark would skip", "_a.jsonl", _two),
    _file("a half-copied file", "a.jsonl._COPYING_", _two),
    _file("an empty file", "empty.jsonl", lambda _: b""),
    _file("an empty .gz", "empty.jsonl.gz", lambda _: b"", EITHER),
    _file("a gzip of nothing", "nothing.jsonl.gz", lambda _: gzip.compress(b"")),
    OddFile("a folder named like a file", lambda _, folder: (folder / "folder.jsonl.gz").mkdir(), READ),
    OddFile("folders in folders", lambda _, folder: (folder / "/".join("d" * 60)).mkdir(parents=True), READ),
    _file("gzips one after the other", "two.gz", lambda random: _packed(random) + _packed(random), READ, 6),
    OddFile("a link to a file", lambda _, folder: _linked(folder, "link.jsonl", folder / "good.jsonl"), READ),
    _file("a colon in a name", "a:b.jsonl", _one, REFUSED),
    _file("a line feed in a name", "a\nfaultline, b", _one, EITHER, 1),
    _file("a name that is no UTF-8", os.fsdecode(b"a\xff.jsonl"), _one, EITHER, 1),
    _file("a gzip cut short", "a.gz", lambda random: _cut(random, _packed(random)), REFUSED),
    _file("a gzip with a wrong byte", "a.gz", lambda random: _flipped(random, _packed(random)), REFUSED),
    _file("rubbish after a gzip", "a.gz", lambda random: _packed(random) + random.randbytes(30), REFUSED),
    _file("a gzip of another name", "a.jsonl", _packed, REFUSED),
    _file("text named .gz", "a.jsonl.gz", _two, REFUSED),
    _file("rubbish named .gz", "a.gz", lambda random: random.randbytes(99), REFUSED),
    _file("rubbish named .parquet", "a.parquet", lambda random: random.randbytes(99), REFUSED),
    _file("a text named .parquet", "a.parquet", _two, REFUSED),
    _file("one byte named .parquet", "a.parquet", lambda _: b"P", REFUSED),
    OddFile("a pipe", lambda _, folder: os.mkfifo(folder / "pipe.jsonl"), REFUSED),
    OddFile("a device", lambda _, folder: _linked(folder, "zero.jsonl", "/dev/zero"), REFUSED),
    OddFile("a link to nothing", lambda _, folder: _linked(folder, "link.jsonl", "nowhere"), REFUSED),
    OddFile("a link to itself", lambda _, folder: _linked(folder, "link.jsonl", "link.jsonl"), REFUSED),
    OddFile("a folder in itself", lambda _, folder: _linked(folder, "round", folder), READ),
)
