"""Files of a collector: one per kind and hour, hidden while it grows, and renamed when finished.

Every round is its own gzip member, so the file of a killed process can be read up to the last round.
"""

from __future__ import annotations

import datetime as dt
import gzip
import json
import os
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

_ENDING = ".jsonl.gz"


class HourlyFiles:
    """Files of one kind of line in a folder.

    Hidden files of an earlier process are finished at the start.
    """

    def __init__(self, folder: Path, name: str) -> None:
        """`name` tells the files of this process from those of others in the same hour."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._name = folder, name
        self._hour: str | None = None
        self.finished = [finish(path) for path in sorted(folder.glob(f".*{_ENDING}"))]

    def write(self, lines: Iterable[Mapping[str, Any]], now: dt.datetime) -> None:
        """Append the lines of a round to the hour's file; finish the file of an earlier hour first.

        Raises:
            OSError: the lines cannot be written; the file is unchanged.
        """
        hour = now.strftime("%Y-%m-%dT%H")
        if self._hour not in (None, hour):
            self.close()
        self._hour = hour
        text = "".join(f"{json.dumps(line, ensure_ascii=False, separators=(',', ':'))}\n" for line in lines)
        if text:
            _append(self._growing, gzip.compress(text.encode("utf-8", "backslashreplace")))

    def close(self) -> None:
        """Finish the file of the hour."""
        if self._hour is not None and self._growing.exists():
            self.finished.append(finish(self._growing))
        self._hour = None

    @property
    def _growing(self) -> Path:
        return self._folder / f".{self._hour}-{self._name}{_ENDING}"


def finish(growing: Path) -> Path:
    """Rename a hidden file, keeping its complete lines: a killed process may have left half a line."""
    text, is_whole = _unpacked(growing.read_bytes())
    if not is_whole:
        whole = text[: text.rfind(b"\n") + 1]
        repaired = growing.with_name(f"{growing.name}.repaired")
        repaired.write_bytes(gzip.compress(whole))
        repaired.replace(growing)
    finished = _free(growing.with_name(growing.name[1:]))
    growing.replace(finished)
    return finished


def _append(file: Path, member: bytes) -> None:
    """Append the whole member, or nothing."""
    with file.open("ab", buffering=0) as stream:
        before, left = os.fstat(stream.fileno()).st_size, memoryview(member)
        try:
            while left:
                left = left[stream.write(left) :]
        except OSError:
            stream.truncate(before)
            raise


def _unpacked(packed: bytes) -> tuple[bytes, bool]:
    """Text of all readable members, and whether all were readable."""
    parts: list[bytes] = []
    with suppress(zlib.error):
        while packed:
            member = zlib.decompressobj(wbits=31)
            parts.append(member.decompress(packed))
            if not member.eof:
                break
            packed = member.unused_data
    return b"".join(parts), not packed


def _free(file: Path) -> Path:
    """The file name, with a number if it exists."""
    numbered = (file.with_name(f"{file.name.removesuffix(_ENDING)}-{number}{_ENDING}") for number in range(2, 10_000))
    return next(candidate for candidate in (file, *numbered) if not candidate.exists())
