"""Published tables against what real clients did, where a recorder inside them wrote down what they decided.

The truth comes from another hand in the same run: a wrapper of the client's `LatencyFaultTolerance` and a sampler of
its items (`tests/recorder/Watcher.java`). Each recording is run through the whole program into one lake, a cluster
each. `-s` prints the figures. `tests/given/watched_clients.py` makes more of them.
"""

from __future__ import annotations

import datetime as dt
import gzip
import io
import json
from pathlib import Path
from typing import Any

import deltalake
import pytest
from agreement import score
from pyspark.sql import SparkSession

from jobs.fault_latency.run import run_fault_latency
from jobs.runs.run import Run, RunResult
from jobs.settings.load import load_settings
from jobs.text.progress import Progress
from jobs.verify.run import run_verify

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
_MS_PER_DAY = 86_400_000


class Recordings:
    """Each recording, run through the program once."""

    def __init__(self, spark: SparkSession, lake: Path) -> None:
        self._spark, self._lake = spark, lake
        self.results: dict[str, RunResult] = {}

    def rows(self, run: str, table: str) -> list[dict[str, Any]]:
        """The published rows of a table, as delta-rs reads them."""
        if run not in self.results:
            self.results[run] = self._publish(run)
        found = deltalake.DeltaTable(str(self._lake / table)).to_pyarrow_table(filters=[("cluster", "=", run)])
        rows: list[dict[str, Any]] = found.to_pylist()
        return rows

    def verified(self, run: str) -> list[dict[str, Any]]:
        """The rows of `replay_checks`: what the clients recorded against the replay from their sends."""
        self.rows(run, "sends")
        day = self.results[run].days[0].day
        call = Run(f"verify-{run}", "verify", (day.date,), allow_empty=False, cascade=True, clock=_clock)
        with pytest.MonkeyPatch.context() as patch:  # only this recording's cluster: the lake has all of them
            patch.setattr("jobs.verify.run.days_with_sends", lambda *_: [day])
            settings = load_settings([], [], {"cluster": run, "lake": str(self._lake)})
            run_verify(self._spark, settings, call, Progress(io.StringIO()))
        return self.rows(run, "replay_checks")

    def _publish(self, run: str) -> RunResult:
        folder = RECORDED / run
        inputs = {
            "cluster": run,
            "lake": str(self._lake),
            "inputs.sends.path": str(folder / "sends.jsonl.gz"),
            "inputs.fault_item_updates.path": str(folder / "fault_item_updates.jsonl.gz"),
        }
        day = dt.date(1970, 1, 1) + dt.timedelta(days=lines(folder / "sends.jsonl.gz")[0]["ended_at_ms"] // _MS_PER_DAY)
        call = Run(f"run-{run}", "fault-latency", (day,), allow_empty=False, cascade=True, clock=_clock)
        return run_fault_latency(self._spark, load_settings([], [], inputs), call, Progress(io.StringIO()))


def _clock() -> dt.datetime:
    return dt.datetime(2026, 11, 26, 3, tzinfo=dt.UTC)


def lines(file: Path) -> list[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as text:
        return [json.loads(line) for line in text]


@pytest.fixture(scope="module")
def recordings(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Recordings:
    return Recordings(spark, tmp_path_factory.mktemp("recorded") / "lake")


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
    counts = recordings.results[run].days[0].counts
    assert counts is not None
    assert counts.rows_read == counts.rows_published == sum(map(len, files.values()))


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
