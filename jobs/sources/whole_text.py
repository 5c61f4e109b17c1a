"""Every byte of a text file is in a line that was read: a line that the reader passed over is noticed and named."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Protocol

from jobs.errors import InputUnreadableError

LONGEST_LINE_BYTES = 128 * 2**20  # Hadoop's reader passes over longer ones; a line's copies must fit into memory
_MOST_GROWTH = 1_032  # of what deflate packs
_CHUNK_BYTES, _GLANCE_BYTES = 2**20, 2**14
_GZIP_SAYS_MODULO = 2**32
_PER_FILE = 4  # a last line without its end counts one byte more, a byte order mark three less


class Readable(Protocol):
    """A span of a file, read from its start to its end."""

    def read(self, size: int, /) -> bytes:
        """The next bytes, none at the end."""

    def seek(self, place: int, /) -> Any:
        """Go on reading there."""


def is_all(read: int, said: int, files: int) -> bool:
    """Whether the bytes read are those that the files say they hold, a gzip modulo 4 GiB.

    Args:
        read: bytes of all lines, each with its end.
        said: sum of what the files say.
        files: how many they are.
    """
    half = _GZIP_SAYS_MODULO // 2
    return abs((read - said + half) % _GZIP_SAYS_MODULO - half) <= _PER_FILE * files


def may_hold_too_long_a_line(size: int, *, is_gzip: bool) -> bool:
    """Whether so many bytes can hold a line of `LONGEST_LINE_BYTES`."""
    return size * (_MOST_GROWTH if is_gzip else 1) >= LONGEST_LINE_BYTES


def grows_beyond(file: Readable, size: int) -> bool:
    """Whether a gzip unpacks to more bytes than `size`; found in little memory."""
    unpacked = 0
    return any((unpacked := unpacked + len(chunk)) > size for chunk in _unpacked(file))


def check_plain_lines(name: str, file: Readable, size: int) -> None:
    """As `check_lines`, of a file of so many bytes that is not packed: where lines are short, most of it is skipped.

    No line is too long when each span of half that length has a line's end.
    """
    half_line = LONGEST_LINE_BYTES // 2
    for start in range(0, size - half_line + 1, half_line):
        file.seek(start)
        if not any(b"\n" in chunk for chunk in _chunks(file, half_line, _GLANCE_BYTES)):
            file.seek(0)
            check_lines(name, file, is_gzip=False)
            return


def check_lines(name: str, file: Readable, *, is_gzip: bool) -> None:
    """Look through a file, in little memory, for a line that is too long to be read.

    Raises:
        InputUnreadableError: naming the file and the line.
    """
    length, line = 0, 1
    for chunk in _unpacked(file) if is_gzip else _chunks(file, None, _CHUNK_BYTES):
        first = chunk.find(b"\n")
        length += len(chunk) if first < 0 else first
        if length >= LONGEST_LINE_BYTES:
            raise too_long_a_line(name, line)
        if first >= 0:
            line += chunk.count(b"\n")
            length = len(chunk) - chunk.rfind(b"\n") - 1


def too_long_a_line(name: str, line: int | None = None) -> InputUnreadableError:
    """The error that names the file, and the line where it is known."""
    where = f"line {line:,}" if line else "a line"
    return InputUnreadableError(
        f"{name} has {where} of more than {LONGEST_LINE_BYTES // 2**20} MiB, which no log has; remove or replace it"
    )


def _chunks(file: Readable, size: int | None, first: int) -> Iterator[bytes]:
    """So many bytes of the file, None = all, in pieces: the first may be small."""
    left, piece = size, first
    while (left is None or left > 0) and (chunk := file.read(piece if left is None else min(piece, left))):
        yield chunk
        left = left if left is None else left - len(chunk)
        piece = _CHUNK_BYTES


def _unpacked(file: Readable) -> Iterator[bytes]:
    """What the members of a gzip hold, up to where it breaks: its reader says more of that."""
    member = zlib.decompressobj(wbits=31)
    with suppress(zlib.error):
        while packed := file.read(_CHUNK_BYTES):
            while packed:
                yield member.decompress(packed, _CHUNK_BYTES)
                packed = member.unconsumed_tail
                if member.eof:
                    packed, member = member.unused_data, zlib.decompressobj(wbits=31)
