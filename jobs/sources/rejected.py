"""Some of the bad lines of a run that publishes nothing because of them, in a file in the lake's folder."""

from __future__ import annotations

import json

from jobs.sources.staged import Staged
from jobs.spark.store_folder import StoreFolder
from jobs.tables.day import Day
from jobs.uri import local_folder

_FILE = "_rejected.jsonl"
_MOST = 1_000
_COLUMNS = ("source", "file", "line", "reason", "reasons", "detail", "raw")


def write_rejected(staged: Staged, day: Day, lake: str) -> str | None:
    """Write the first of the day's bad lines, in file order, one JSON object each, and return the file.

    It replaces an earlier run's. None where the lake takes no file: the run's own error is more important.
    """
    rows = staged.quarantine(day, "").select(*_COLUMNS).orderBy("source", "file", "line").limit(_MOST)
    text = "".join(f"{json.dumps(row.asDict(), ensure_ascii=False)}\n" for row in rows.collect())
    folder = local_folder(lake)
    try:
        if folder is not None:
            (folder / _FILE).write_bytes(text.encode())
        else:
            StoreFolder(rows.sparkSession, lake).write(_FILE, text.encode())
    except OSError:
        return None
    return f"{folder or lake}/{_FILE}"
