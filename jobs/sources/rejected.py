"""Some of the bad lines of a run that publishes nothing because of them, in a file in the lake's folder."""

from __future__ import annotations

import json
from pathlib import Path

from jobs.sources.staged import Staged
from jobs.tables.day import Day
from jobs.uri import local_folder

_FILE = "_rejected.jsonl"
_MOST = 1_000
_COLUMNS = ("source", "file", "line", "reason", "reasons", "detail", "raw")


def write_rejected(staged: Staged, day: Day, lake: str) -> Path | None:
    """Write the first of the day's bad lines, in file order, one JSON object each, and return the file.

    It replaces an earlier run's. None, and nothing is written, for a lake on another store and one that takes
    no file: the run's own error is more important.
    """
    folder = local_folder(lake) if lake else None
    if folder is None or not folder.is_dir():
        return None
    rows = staged.quarantine(day, "").select(*_COLUMNS).orderBy("source", "file", "line").limit(_MOST).collect()
    text = "".join(f"{json.dumps(row.asDict(), ensure_ascii=False)}\n" for row in rows)
    file = folder / _FILE
    try:
        file.write_text(text, encoding="utf-8")
    except OSError:
        return None
    return file
