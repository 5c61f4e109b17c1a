"""Kind of a file by its first and last bytes: text, gzip and Parquet are read, each under its own name."""

from __future__ import annotations

import re
import zlib
from contextlib import suppress
from dataclasses import dataclass

from jobs.errors import InputUnreadableError

TEXT, CSV, PARQUET = "jsonl", "csv", "parquet"
HEAD_BYTES, TAIL_BYTES = 65_536, 8
GREATEST_GROWTH = 500  # logs grow 10 to 100 times when unpacked, what was made to harm 1,030 times
GROWS = f"grows more than {GREATEST_GROWTH} times when it is unpacked, which no log does; remove or replace it"
_GZIP = b"\x1f\x8b"
_PARQUET, _ENCRYPTED_PARQUET = b"PAR1", b"PARE"
_UNPACKED_BY_HADOOP = re.compile(r"\.(bz2|deflate|lz4|lzo|snappy|zst)$")
_PACKED = {
    "bzip2": rb"BZh[1-9]1AY&SY",
    "zstd": rb"\x28\xb5\x2f\xfd",
    "xz": rb"\xfd7zXZ\x00",
    "lz4": rb"\x04\x22\x4d\x18",
    "snappy": rb"\xff\x06\x00\x00sNaPpY",
    "zip": rb"PK\x03\x04",
    "7z": rb"7z\xbc\xaf\x27\x1c",
    "compress": rb"\x1f\x9d",
    "tar": rb"(?s).{257}ustar",
}


@dataclass(frozen=True)
class Ends:
    """The first `HEAD_BYTES` and last `TAIL_BYTES` of a file that has bytes."""

    size: int
    head: bytes
    tail: bytes

    @property
    def is_gzip(self) -> bool:
        """Whether it starts as a gzip does."""
        return self.head.startswith(_GZIP)

    @property
    def text_bytes(self) -> int:
        """Bytes of its text, as the file says: a gzip says so of its last member alone, and modulo 4 GiB."""
        return int.from_bytes(self.tail[-4:], "little") if self.is_gzip else self.size

    @property
    def says_it_grows(self) -> bool:
        """Whether it says that it grows as no log does; where it is cut short, these are bytes like any."""
        return self.is_gzip and len(self.head) == HEAD_BYTES and self.text_bytes > GREATEST_GROWTH * self.size


def check_contents(name: str, kind: str, ends: Ends) -> None:
    """Fail when a file is not what its name and its input say, or when it grows as no log does.

    Args:
        name: of the file, as a user knows it.
        kind: what it is read as: TEXT, CSV or PARQUET.
        ends: its first and last bytes.

    Raises:
        InputUnreadableError: naming the file and what to do.
    """
    problem = _not_parquet(ends) if kind == PARQUET else _not_text(name, ends)
    if problem:
        raise InputUnreadableError(f"{name} {problem}")


def _not_parquet(ends: Ends) -> str | None:
    if ends.head.startswith(_ENCRYPTED_PARQUET) and ends.tail.endswith(_ENCRYPTED_PARQUET):
        return "is Parquet with an encrypted footer, which is not read; write it without encryption"
    if not ends.head.startswith(_PARQUET):
        return "is read as Parquet but is none; rename or replace it"
    if ends.size < 12 or not ends.tail.endswith(_PARQUET):
        return "is Parquet without its end, where its columns are described; replace it with a complete copy"
    return None


def _not_text(name: str, ends: Ends) -> str | None:
    is_named_gzip = name.endswith(".gz")
    if ends.is_gzip and not is_named_gzip:
        return "is gzip but its name does not end in .gz; rename it"
    if ends.size >= len(_GZIP) and not ends.is_gzip and is_named_gzip:
        return "is named .gz but is not gzip; rename or replace it"
    if packed := _packed_as(ends.head):
        return f"is packed as {packed}, which is not read; unpack it, or pack its lines with gzip"
    if named := _UNPACKED_BY_HADOOP.search(name):
        return f"is named {named[0]} but is not packed so; rename it"
    if ends.head.startswith(_PARQUET) and ends.tail.endswith(_PARQUET):
        return "is Parquet, which is read only of send attempts; name it .parquet, or set inputs.sends.format"
    return _wrong_inside(ends) if ends.is_gzip else None


def _wrong_inside(ends: Ends) -> str | None:
    start = _unpacked(ends.head, 512)
    if start.startswith(_GZIP) or _packed_as(start):
        return f"holds {_packed_as(start) or 'gzip'} inside of gzip, which is not read; pack its lines once, with gzip"
    is_long = len(ends.head) == HEAD_BYTES
    if is_long and len(_unpacked(ends.head, GREATEST_GROWTH * HEAD_BYTES)) >= GREATEST_GROWTH * HEAD_BYTES:
        return GROWS
    return None


def _packed_as(start: bytes) -> str | None:
    return next((packer for packer, sign in _PACKED.items() if re.match(sign, start)), None)


def _unpacked(packed: bytes, size: int) -> bytes:
    """The first bytes of what a gzip holds; fewer where it ends or breaks."""
    found = bytearray()
    with suppress(zlib.error):  # its reader says more
        while packed and len(found) < size:  # a gzip may be several, one after the other
            member = zlib.decompressobj(wbits=31)
            found += member.decompress(packed, size - len(found))
            packed = member.unused_data
    return bytes(found)
