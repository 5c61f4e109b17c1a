"""The recordings that ship with the project: what every line of the fuzzer once was."""

from __future__ import annotations

import datetime as dt
import gzip
import itertools
import json
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

DATE = dt.date(2026, 11, 21)
"""The day of all of them, UTC."""
DAY_MS = 86_400_000

_SAMPLES = Path(__file__).parents[2] / "data_samples"
_MOST = 6_000  # lines that are looked at of each file


@cache
def lines(kind: str) -> tuple[bytes, ...]:
    """The lines of `sends`, `routes`, `consumers`, `running_info` or `client_logs`, in the order of the files."""
    found: list[bytes] = []
    for file in sorted(path for path in (_SAMPLES / kind).rglob("*") if path.is_file()):
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as content:
            found.extend(line.rstrip(b"\n") for line in itertools.islice(content, _MOST))
    return tuple(found)


def some(random: Random, kind: str, most: int) -> list[dict[str, Any]]:
    """Up to `most` lines of JSON: a stretch of the recording, which begins anywhere."""
    recorded = lines(kind)
    begin = random.randrange(max(1, len(recorded) - most))
    return [json.loads(line) for line in recorded[begin : begin + most]]
