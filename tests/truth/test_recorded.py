"""Published tables against what real clients did, where a recorder inside them wrote down what they decided.

The truth comes from another hand in the same run: a wrapper of the client's `LatencyFaultTolerance` and a sampler of
its items (`tests/recorder/Watcher.java`). Those of a day are run through the whole program together. `-s` prints the
figures. `tests/given/watched_clients.py` makes more of them.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from agreement import score
from merged import Merged
from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("generated_code")
RECORDED = Path(__file__).parent / "recorded"
VERSIONS = ("4.7.1", "4.9.8", "5.1.4", "5.3.3", "5.5.0")
RUNS = (
    *("4.7.1", "4.9.8", "5.1.3", "5.1.4", "5.3.3", "5.5.0", "4.9.8-long", "5.3.3-long"),
    *(f"{version}-tries" for version in VERSIONS),
    *(f"{version}-library" for version in VERSIONS),
)
AT_ONCE = ("4.7.1-tries", "4.9.8-library", "5.1.4-tries", "5.3.3-library")  # one of each kind of rules
EACH = [pytest.param(run, marks=() if run in AT_ONCE else pytest.mark.slow) for run in RUNS]
AGREEMENT = 0.9999


class Recordings:
    """Each recording; those of a day that run at once are one run of the program."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        others = [run for run in RUNS if run not in AT_ONCE]
        earlier = [run for run in others if not run.endswith(("-tries", "-library"))]
        self._merged: dict[str, Merged] = {}
        for number, runs in enumerate((AT_ONCE, earlier, [run for run in others if run not in earlier])):
            (folder / f"{number}").mkdir()
            files = {name: f"{name}.jsonl.gz" for name in ("sends", "fault_item_updates")}
            merged = Merged(spark, folder / f"{number}", [RECORDED / run for run in runs], files)
            self._merged |= dict.fromkeys(runs, merged)
        self._verified = set[int]()

    def rows(self, run: str, table: str) -> list[dict[str, Any]]:
        """The published rows of a table."""
        return self._merged[run].rows(run, table)

    def verified(self, run: str) -> list[dict[str, Any]]:
        """The rows of `replay_checks`: what the clients recorded against the replay from their sends."""
        if id(self._merged[run]) not in self._verified:
            self._merged[run].verify({})
            self._verified.add(id(self._merged[run]))
        return self.rows(run, "replay_checks")

    def counts(self, run: str) -> tuple[int, int]:
        """Rows read and published in the run that this recording was part of."""
        counts = self._merged[run].result.days[0].counts
        assert counts is not None
        return counts.rows_read, counts.rows_published


def lines(file: Path) -> list[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as text:
        return [json.loads(line) for line in text]


@pytest.fixture(scope="module")
def recordings(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Recordings:
    return Recordings(spark, tmp_path_factory.mktemp("recorded"))


@pytest.mark.parametrize("run", EACH)
def test_intervals_are_those_that_the_client_held(recordings: Recordings, run: str, tmp_path: Path) -> None:
    intervals = recordings.rows(run, "isolation_intervals")
    file = tmp_path / "intervals.jsonl"
    file.write_text("".join(json.dumps(row, default=str) + "\n" for row in intervals), encoding="utf-8")
    *producers, total = score.score(file, RECORDED / run)
    print(
        f"{run}: agreement {total['jaccard']:.5f} (both {total['both_ms']} / truth {total['truth_ms']} /"
        f" ours {total['ours_ms']} ms), least of a producer {min(each['jaccard'] for each in producers):.5f}"
    )
    assert total["truth_ms"] > 100_000
    assert total["jaccard"] >= AGREEMENT
    stated = (RECORDED.parents[2] / "docs" / "exactness.md").read_text(encoding="utf-8").partition("### Recorded")[2]
    assert f"| {run} | {total['jaccard']:.5f} |" in stated
    assert {row["evidence"] for row in intervals if row["enforced"]} == {"RECORDED"}
    assert {row["evidence"] for row in intervals if not row["enforced"]} == {"LOGGED"}


@pytest.mark.parametrize("run", EACH)
def test_a_replay_from_sends_alone_is_held_against_the_record(recordings: Recordings, run: str) -> None:
    rows = recordings.verified(run)
    sums = {name: sum(row[name] for row in rows) for name in ("written", "matched", "isolated_ms", "differing_ms")}
    share = sums["differing_ms"] / sums["isolated_ms"]
    print(f"{run}: {sums['matched']} of {sums['written']} updates, {share:.3%} of {sums['isolated_ms']} ms differ")
    page = (RECORDED.parents[2] / "docs" / "exactness.md").read_text(encoding="utf-8").partition("### Recorded")[2]
    stated = next(line for line in page.splitlines() if line.startswith(f"| {run} |"))
    assert stated.endswith(f"| {sums['matched']:,} of {sums['written']:,} | {share:.3%} |")
    calls = [line for line in lines(RECORDED / run / "fault_item_updates.jsonl.gz") if line["not_available_ms"]]
    assert sums["written"] == len(calls)


@pytest.mark.parametrize("run", EACH)
def test_every_line_is_in_the_lake(recordings: Recordings, run: str) -> None:
    files = {name: lines(RECORDED / run / f"{name}.jsonl.gz") for name in ("sends", "fault_item_updates")}
    assert {name: len(recordings.rows(run, name)) for name in files} == {
        name: len(rows) for name, rows in files.items()
    }
    rows_read, rows_published = recordings.counts(run)
    assert rows_read == rows_published


@pytest.mark.parametrize("run", EACH)
def test_each_recorded_line_is_a_call_that_the_other_hand_saw(run: str) -> None:
    """Of the recorder itself: its lines and the watcher's are the same calls, but for the detector's."""
    calls = {"update": "UPDATE", "remove": "REMOVE", "pick": "PICKED"}
    fields = ("current_latency_ms", "not_available_ms")
    watched = sorted(
        (row["client_id"], calls[row["op"]], row["broker_name"], *(str(row[name]) for name in fields))
        for name in ("truth_updates", "truth_picks")
        if (file := RECORDED / run / f"{name}.jsonl.gz").exists()
        for row in lines(file)
    )
    recorded = sorted(
        (row["client_id"], row["op"], row["broker_name"], *(str(row[name]) for name in fields))
        for row in lines(RECORDED / run / "fault_item_updates.jsonl.gz")
        if row["op"] in calls.values()
    )
    assert recorded == watched
