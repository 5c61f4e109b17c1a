"""Which commit a write made, and what it brought: Delta's log as it is read, of literal commits."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from jobs.lake.commits import Commit, commit_of


class Lines(list[str]):
    """A commit's lines, as Scala's `Seq` has them."""

    def isEmpty(self) -> bool:  # noqa: N802 - Scala's name
        return not self

    def head(self) -> str:
        return self[0]


def _newest(*commits: str | None) -> Any:
    """Delta's snapshot after these commits, each with its first line; the first one has the version 0."""
    files = {f"/_delta_log/{version:020}.json": line for version, line in enumerate(commits)}
    log = SimpleNamespace(
        logPath=lambda: SimpleNamespace(suffix=lambda name: f"/_delta_log{name}"),
        store=lambda: SimpleNamespace(read=lambda path, _: Lines([line, "{}"] if (line := files[path]) else [])),
        newDeltaHadoopConf=lambda: None,
    )
    return SimpleNamespace(version=lambda: len(commits) - 1, deltaLog=lambda: log)


def _info(metadata: str, **metrics: str) -> str:
    return json.dumps({"commitInfo": {"userMetadata": metadata, "operationMetrics": metrics}})


OTHER = _info("other", numOutputRows="9")


@pytest.mark.parametrize(
    ("commits", "commit"),
    [
        pytest.param([OTHER, _info("own", numOutputRows="5")], Commit("t", 1, 5), id="the last"),
        pytest.param([OTHER, _info("own", numOutputRows="5", numCopiedRows="3")], Commit("t", 1, 2), id="copied rows"),
        pytest.param([OTHER, _info("own")], Commit("t", 1, 0), id="a day that was cleared"),
        pytest.param([OTHER, _info("own", numOutputRows="5"), OTHER], Commit("t", 1, 5), id="another one came after"),
        pytest.param([OTHER, _info("own", numOutputRows="5"), None], Commit("t", 1, 5), id="whose first line is none"),
        pytest.param([OTHER, _info("own", numOutputRows="5"), '{"add": {}}'], Commit("t", 1, 5), id="or no info"),
        pytest.param(
            [_info("own", numOutputRows="5"), OTHER], Commit("t", 1, 0), id="an older run made the one before"
        ),
        pytest.param([OTHER], Commit("t", 0, 0), id="no commit was made"),
    ],
)
def test_the_commit_that_carries_the_metadata(commits: list[str | None], commit: Commit) -> None:
    assert commit_of("t", _newest(*commits), 0, "own") == commit
