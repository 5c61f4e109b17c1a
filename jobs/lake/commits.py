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
    """The commit with this metadata; Delta makes none when there was nothing to replace and nothing to write.

    Args:
        table: its name.
        newest: Delta's own snapshot after the write.
        before: the version before the write.
        user_metadata: metadata of the write's commit.
    """
    for version in range(newest.version(), before, -1):
        info = _commit_info(newest.deltaLog(), version)
        if info.get("userMetadata") == user_metadata:
            return Commit(table, version, rows_written(info.get("operationMetrics") or {}))
    return Commit(table, newest.version(), 0)


def rows_written(metrics: Mapping[str, str]) -> int:
    """The rows that a commit added, without those copied from files that it rewrote.

    >>> rows_written({"numOutputRows": "5", "numCopiedRows": "3"})
    2
    """
    return int(metrics.get("numOutputRows", 0)) - int(metrics.get("numCopiedRows", 0))


def _commit_info(log: Any, version: int) -> Mapping[str, Any]:
    """The `commitInfo` that Delta writes first; another program may have written this commit."""
    lines = log.store().read(log.logPath().suffix(f"/{version:020}.json"), log.newDeltaHadoopConf())
    info: Mapping[str, Any] = {} if lines.isEmpty() else json.loads(lines.head()).get("commitInfo") or {}
    return info
