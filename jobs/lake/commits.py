"""The metadata of one commit, read from its own file in the table's log: no Spark job, no earlier commits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Commit:
    """Result of one write to a table."""

    table: str
    version: int
    rows: int


def commit_of(table: str, newest: Any, before: int, user_metadata: str) -> Commit:
    """The commit with this metadata and its rows; Delta makes none when there is nothing to replace and to write.

    Args:
        table: its name.
        newest: Delta's own snapshot after the write.
        before: the version before the write.
        user_metadata: metadata of the write's commit.
    """
    log = newest.deltaLog()
    for version in range(newest.version(), before, -1):
        lines = log.store().read(log.logPath().suffix(f"/{version:020}.json"), log.newDeltaHadoopConf())
        # Delta writes it first; another program may have written this commit.
        info: Mapping[str, Any] = {} if lines.isEmpty() else json.loads(lines.head()).get("commitInfo") or {}
        if info.get("userMetadata") == user_metadata:
            metrics = info.get("operationMetrics") or {}
            # Copied rows are those of files that it rewrote.
            rows = int(metrics.get("numOutputRows", 0)) - int(metrics.get("numCopiedRows", 0))
            return Commit(table, version, rows)
    return Commit(table, newest.version(), 0)
