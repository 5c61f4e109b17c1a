"""What the fuzzer wrote, as it knows it itself: each physical line, and whether it was left as it had been recorded."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

_LOG_HEAD = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[,.]\d{3} +[A-Z]+ ")


@dataclass(frozen=True)
class Entry:
    """What is put into a file at once: a line without its end; one that was spoilt may have become several.

    Attributes:
        content: its bytes.
        is_clean: nothing was done to it, so it must not be quarantined.
        fields: of a clean send, what `sends` must show; None of every other line.
        is_copy: a clean send that stands in the input before, too.
    """

    content: bytes
    is_clean: bool
    fields: Mapping[str, Any] | None = None
    is_copy: bool = False


@dataclass(frozen=True)
class PhysicalLine:
    """A line of a file as any editor counts it, or a record of Parquet.

    Attributes:
        number: from 1.
        content: its bytes.
        is_clean: nothing was done to it.
    """

    number: int
    content: bytes
    is_clean: bool


@dataclass(frozen=True)
class WrittenFile:
    """One file: its lines, blank ones left out.

    Attributes:
        source: the input it belongs to, as quarantine calls it.
        path: where it lies.
        lines: those that are rows of the input.
        sends: fields of its clean sends, copies left out.
        copies: how many of its lines are copies of clean sends.
        is_json: whether each line is meant to be one JSON object.
    """

    source: str
    path: Path
    lines: tuple[PhysicalLine, ...]
    sends: tuple[Mapping[str, Any], ...] = ()
    copies: int = 0
    is_json: bool = True

    @property
    def unclean(self) -> set[int]:
        """Numbers of the lines that something was done to."""
        return {line.number for line in self.lines if not line.is_clean}


@dataclass
class Written:
    """All that a round wrote.

    Attributes:
        files: in any order.
        in_own_names: the site calls fields otherwise than we do, or counts other units.
    """

    files: list[WrittenFile] = field(default_factory=list)
    in_own_names: bool = False

    def of(self, *sources: str) -> list[WrittenFile]:
        """The files of these inputs."""
        return [file for file in self.files if file.source in sources]

    def rows(self, *sources: str) -> int:
        """How many rows, blank lines left out, the inputs have."""
        return sum(len(file.lines) for file in self.of(*sources))


def physical_lines(entries: Iterable[Entry], is_row: Callable[[bytes], bool]) -> tuple[PhysicalLine, ...]:
    """The lines that a file of these entries has, each ended by a line feed, those left out that are no rows."""
    pieces = ((piece, entry.is_clean) for entry in entries for piece in entry.content.split(b"\n"))
    return tuple(
        PhysicalLine(number, piece, is_clean)
        for number, (piece, is_clean) in enumerate(pieces, start=1)
        if is_row(piece)
    )


def is_no_blank(line: bytes) -> bool:
    """Whether more than white space stands in the line; a byte order mark is none of it."""
    return line.removeprefix(b"\xef\xbb\xbf").strip(b" \t\x0b\x0c\r") != b""


def is_log_entry(line: bytes) -> bool:
    """Whether a line of a client log begins an entry."""
    return _LOG_HEAD.match(line.removeprefix(b"\xef\xbb\xbf")) is not None


def write_lines(
    random: Random, source: str, path: Path, entries: Sequence[Entry], is_row: Callable[[bytes], bool] = is_no_blank
) -> WrittenFile:
    """The entries, a line each, gzipped where the name says so: whole, or as several members one after the other."""
    end = random.choice((b"\n", b"", b"\n\n", b"\r\n"))
    content = b"\n".join(entry.content for entry in entries) + end
    path.parent.mkdir(parents=True, exist_ok=True)
    cut = random.randint(0, len(content)) if random.random() < 0.3 else len(content)
    parts = [part for part in (content[:cut], content[cut:]) if part or path.suffix != ".gz"] or [b""]
    path.write_bytes(b"".join(map(gzip.compress, parts)) if path.suffix == ".gz" else content)
    return of_entries(source, path, entries, physical_lines(entries, is_row), is_json=is_row is is_no_blank)


def of_entries(
    source: str, path: Path, entries: Iterable[Entry], lines: tuple[PhysicalLine, ...], *, is_json: bool
) -> WrittenFile:
    """A file of these entries that was written with these lines."""
    listed = list(entries)
    sends = tuple(entry.fields for entry in listed if entry.fields is not None and not entry.is_copy)
    return WrittenFile(source, path, lines, sends, sum(entry.is_copy for entry in listed), is_json)


def is_surely_no_json(line: bytes) -> bool:
    """Whether no reader that keeps to RFC 8259 takes the line for one object; unsure is no."""

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        text = line.removeprefix(b"\xef\xbb\xbf").decode()
        return not isinstance(json.loads(text, parse_constant=refuse), dict)
    except RecursionError:
        return False
    except ValueError as error:
        return "Exceeds the limit" not in str(error)  # a number of more digits than Python converts is still JSON
