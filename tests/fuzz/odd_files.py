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
    return b"".join(as_json({**line, "msg_id": f"odd-{at}-{random.random()}"}) + b"\n" for at, line in enumerate(attempts))


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


def _named(name: str) -> OddFile:
    return OddFile(f"a file named {name!r:.60}", lambda random, folder: _put(folder, name, good_lines(random, 2)), READ, 2)


def _linked(folder: Path, name: str, target: Path | str) -> None:
    (folder / name).symlink_to(target)


ODD_NAMES = (
    "_a.jsonl", "a b", "a%2Fb", "a%", "a+b&c", "a=b", "集群😀.jsonl", "e\u0301.jsonl", "{a,b}.jsonl", "[ab]*.jsonl", "a?.jsonl", "-rf", "~",
    "$HOME", f"${{env:{CANARY_NAME}}}", "'; DROP TABLE sends; --", '"', "a\\b", "a#b", "a;b", "CON", "x" * 250, ".." + "a", "a..jsonl",
    "a.jsonl.bak", "a.jsonl.gz.txt", "\u202ea", "a\u2028b", "\x7f", "a\tb", "_SUCCESS", "_metadata", "a.crc", "a.jsonl.", "part-00000",
)  # fmt: skip

ODD_FILES = (
    *(_named(name) for name in ODD_NAMES if not name.startswith("..")),
    OddFile("a hidden file", lambda random, folder: _put(folder, ".hidden.jsonl", good_lines(random, 2)), READ),
    OddFile("a half-copied file", lambda random, folder: _put(folder, "a.jsonl._COPYING_", good_lines(random, 2)), READ),
    OddFile("an empty file", lambda random, folder: _put(folder, "a.jsonl", b""), READ),
    OddFile("an empty .gz", lambda random, folder: _put(folder, "a.jsonl.gz", b""), EITHER),
    OddFile("a gzip of nothing", lambda random, folder: _put(folder, "a.jsonl.gz", gzip.compress(b"")), READ),
    OddFile("a folder named like a file", lambda random, folder: (folder / "a.jsonl.gz").mkdir(), READ),
    OddFile("folders in folders", lambda random, folder: (folder / "/".join("d" * 60)).mkdir(parents=True), READ),
    OddFile("gzips one after the other", lambda random, folder: _put(folder, "a.gz", _packed(random) + _packed(random)), READ, 6),
    OddFile("a link to a file", lambda random, folder: _linked(folder, "link.jsonl", folder / "good.jsonl"), READ, None),
    OddFile("a colon in a name", lambda random, folder: _put(folder, "a:b.jsonl", good_lines(random, 1)), REFUSED),
    OddFile("a line feed in a name", lambda random, folder: _put(folder, "a\nfaultline: b", good_lines(random, 1)), EITHER, 1),
    OddFile("a name that is no UTF-8", lambda random, folder: _put(folder, os.fsdecode(b"a\xff.jsonl"), good_lines(random, 1)), EITHER, 1),
    OddFile("a gzip cut short", lambda random, folder: _put(folder, "a.gz", _cut(random, _packed(random))), REFUSED),
    OddFile("a gzip with a wrong byte", lambda random, folder: _put(folder, "a.gz", _flipped(random, _packed(random))), REFUSED),
    OddFile("rubbish after a gzip", lambda random, folder: _put(folder, "a.gz", _packed(random) + random.randbytes(30)), REFUSED),
    OddFile("a gzip of another name", lambda random, folder: _put(folder, "a.jsonl", _packed(random)), REFUSED),
    OddFile("text named .gz", lambda random, folder: _put(folder, "a.jsonl.gz", good_lines(random, 2)), REFUSED),
    OddFile("rubbish named .gz", lambda random, folder: _put(folder, "a.gz", random.randbytes(99)), REFUSED),
    OddFile("rubbish named .parquet", lambda random, folder: _put(folder, "a.parquet", random.randbytes(99)), REFUSED),
    OddFile("a text named .parquet", lambda random, folder: _put(folder, "a.parquet", good_lines(random, 2)), REFUSED),
    OddFile("one byte named .parquet", lambda random, folder: _put(folder, "a.parquet", b"P"), REFUSED),
    OddFile("a bomb", lambda random, folder: _put(folder, "a.gz", gzip.compress(bytes(200_000_000))), REFUSED),
    OddFile("a pipe", lambda random, folder: os.mkfifo(folder / "pipe.jsonl"), REFUSED),
    OddFile("a device", lambda random, folder: _linked(folder, "zero.jsonl", "/dev/zero"), REFUSED),
    OddFile("a link to nothing", lambda random, folder: _linked(folder, "link.jsonl", "nowhere"), REFUSED),
    OddFile("a link to itself", lambda random, folder: _linked(folder, "link.jsonl", "link.jsonl"), REFUSED),
    OddFile("a folder in itself", lambda random, folder: _linked(folder, "round", folder), REFUSED),
)  # fmt: skip
