"""Where a log has the lines of an explained isolation: file and row, found by what such a row holds."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from jobs.answers.explain_isolation import Isolation
from jobs.answers.fault_item_lines import Line
from jobs.answers.words import clock_time
from jobs.intervals.of_lists import grouped

_NO_ROW = "no row of the given logs holds the broker, time and seq of any of these lines"


def with_places(isolation: Isolation, files: Sequence[str]) -> Isolation:
    """The isolation, each line with the rows of the logs that may be it: `file:row`, rows from 1.

    A row may be a line if it holds the broker's name, one of the line's times to the millisecond (epoch ms, or minute
    and second: logs have their own zone), and its `seq` where that is known.

    Args:
        isolation: as `isolation_at` returns it.
        files: text, or gzip where the name ends in `.gz`.

    Raises:
        OSError: a file cannot be read.
    """
    broker = str(isolation.row["broker_name"]).encode()
    of_mark = grouped(((mark, line) for line in isolation.lines for mark in _marks(line)), lambda pair: pair[0])
    found: dict[Line, list[str]] = {}
    marks = re.compile(b"|".join(map(re.escape, of_mark)) or rb"(?!)")
    for file in files:
        for number, row in _rows(file):
            if broker in row:
                may_be = {line for mark in marks.findall(row) for _, line in of_mark[mark] if _holds_seq(row, line.seq)}
                for line in may_be:
                    found.setdefault(line, []).append(f"{file}:{number}")
    return replace(
        isolation,
        lines=tuple(replace(line, places=tuple(found.get(line, ()))) for line in isolation.lines),
        limits=isolation.limits if found else (*isolation.limits, _NO_ROW),
    )


def _marks(line: Line) -> Iterator[bytes]:
    """What a row shows of the times at which the line began and ended."""
    for at_ms in {line.at_ms, line.at_ms - (line.latency_ms or 0)}:
        minute_and_second = clock_time(at_ms)[3:]
        yield from (text.encode() for text in (f"{at_ms}", minute_and_second, minute_and_second.replace(".", ",")))


def _holds_seq(row: bytes, seq: int | None) -> bool:
    return seq is None or re.search(rb"(?<!\d)%d(?!\d)" % seq, row) is not None


def _rows(file: str) -> Iterator[tuple[int, bytes]]:
    with gzip.open(file) if file.endswith(".gz") else Path(file).open("rb") as rows:
        yield from enumerate(rows, 1)
