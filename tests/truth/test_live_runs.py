"""Published tables against what real clients did: seven recordings with frozen, killed and refusing brokers.

The short ones are run through the whole program together, read back with delta-rs, and scored by score.py:
milliseconds both hold a broker isolated / milliseconds either does. `-s` prints the figures.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from agreement import RECORDINGS, RUNS, band_of, producers_of, scored, settings_toml
from findings_agreement import is_out, lies_in, out_of_time_isolations, outages, true_updates
from merged import Merged
from pyspark.sql import SparkSession

LONG = ("4.9.8-long", "5.3.3-long")
WITH_LOG = ("5.1.4", "5.3.3")
LAST_WRITE_WINS = ("4.7.1", "4.9.8", "5.1.3", "4.9.8-long")
pytestmark = pytest.mark.usefixtures("generated_code")
EACH = [pytest.param(run, marks=pytest.mark.slow if run in LONG else ()) for run in RUNS]

# What is asked for: agreement of all producers with the switch on. docs/exactness.md states what is reached.
AGREEMENT = {
    "4.7.1": 0.999,
    "4.9.8": 0.984,
    "5.1.3": 0.962,
    "5.1.4": 0.995,
    "5.3.3": 0.9995,
    "4.9.8-long": 0.82,
    "5.3.3-long": 0.9995,
}

_RACE_MS = 100  # up to here two threads, or the hook and the client, read the clock one after the other

Rows = list[dict[str, Any]]


class Recordings:
    """Each recording; the short ones are one run of the program, the long ones another."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._merged: dict[str, Merged] = {}
        for kind, runs in (("long", [*LONG]), ("short", [run for run in RUNS if run not in LONG])):
            (folder / kind).mkdir()
            files = {name: f"{name}.jsonl.gz" for name in ("sends", "routes")}
            toml = {run: settings_toml(run) for run in runs}
            merged = Merged(spark, folder / kind, [RECORDINGS / run for run in runs], files, toml)
            self._merged |= dict.fromkeys(runs, merged)
        self._is_verified = False

    def table(self, run: str, name: str) -> Rows:
        """The published rows of a table."""
        return self._merged[run].rows(run, name)

    def verified(self, run: str) -> Rows:
        """The rows of `replay_checks`: the log of the recording's process against the replay."""
        if not self._is_verified:
            self._merged[run].verify(dict.fromkeys(WITH_LOG, "rocketmq_client.log.gz"))
            self._is_verified = True
        return self.table(run, "replay_checks")

    def logged(self) -> Rows:
        """The SUCCEEDED rows of the run log of the short recordings."""
        log = self._merged[WITH_LOG[0]].all_rows("run_log")
        return [row for row in log if row["status"] == "SUCCEEDED" and row["flow"] == "FAULT_LATENCY"]


@pytest.fixture(scope="module")
def recordings(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Recordings:
    return Recordings(spark, tmp_path_factory.mktemp("live"))


@pytest.mark.parametrize("run", EACH)
def test_intervals_agree_with_the_recording(recordings: Recordings, run: str, tmp_path: Path) -> None:
    *producers, total = scored(recordings.table(run, "isolation_intervals"), run, tmp_path)
    print(
        f"{run}: agreement {total['jaccard']:.5f} (both {total['both_ms']} / truth {total['truth_ms']} /"
        f" ours {total['ours_ms']} ms)"
    )
    for producer in producers:
        if producer["enabled"] and producer["jaccard"] < 0.999:
            print(f"  {producer['client_id']}: {producer['jaccard']:.5f}")
    assert total["jaccard"] >= AGREEMENT[run]
    assert f"{total['jaccard']:.5f}" == stated_figures(run)[0]


def test_each_direct_producer_of_5_3_3_agrees(recordings: Recordings, tmp_path: Path) -> None:
    table = scored(recordings.table("5.3.3", "isolation_intervals"), "5.3.3", tmp_path)
    direct = {
        producer["client_id"]
        for producer in producers_of("5.3.3")
        if producer["sends"] in ("sync", "oneway", "order") and producer["fault_latency_enabled"]
    }
    agreement = {row["client_id"]: row["jaccard"] for row in table if row["client_id"] in direct}
    print(agreement)
    assert len(agreement) >= 6
    assert min(agreement.values()) >= 0.999


@pytest.mark.parametrize("run", EACH)
def test_the_band_holds_the_truth(recordings: Recordings, run: str) -> None:
    band = band_of(recordings.table(run, "isolation_intervals"), run)
    print(f"{run}: inside the band {band.inside:.3%} of the time; its width is {band.width:.2%} of what is isolated")
    for client, broker, start, end, what in band.outside:
        if end - start > _RACE_MS:
            print(f"  {client} {broker} {what} {start} to {end}: {end - start} ms")
    assert band.inside >= 0.998
    assert [f"{band.inside:.3%}", f"{band.width:.2%}"] == stated_figures(run)[1:3]


@pytest.mark.parametrize("run", WITH_LOG)
def test_the_clients_own_log_says_the_same_isolations(recordings: Recordings, run: str) -> None:
    """Lines of the log are the truth here; all producers of the process write into it."""
    rows = recordings.verified(run)
    sums = {
        name: sum(row[name] for row in rows) for name in ("written", "matched", "extra", "isolated_ms", "differing_ms")
    }
    differing = f"{sums['differing_ms']} of {sums['isolated_ms']} ms differ"
    print(f"{run}: {sums['matched']} of {sums['written']} lines, {differing}")
    assert [row["broker_name"] for row in sorted(rows, key=lambda row: str(row["broker_name"]))] == [
        "broker-a", "broker-b", "broker-c",
    ]  # fmt: skip
    assert sums["isolated_ms"] > 250_000
    page = (RECORDINGS.parents[2] / "docs" / "exactness.md").read_text(encoding="utf-8")
    stated = page.partition("### The client's own log")[2]
    assert f"| {run} | {sums['matched']} of {sums['written']} | {sums['extra']} | {sums['differing_ms']} ms |" in stated
    assert {row["cause"] for row in rows} <= {None, "WITHOUT_EFFECT", "LOST_LINES"}


@pytest.mark.parametrize("run", EACH)
def test_a_producer_with_the_switch_off_enforces_nothing(recordings: Recordings, run: str) -> None:
    off = {producer["client_id"] for producer in producers_of(run) if not producer["fault_latency_enabled"]}
    intervals = [row for row in recordings.table(run, "isolation_intervals") if row["client_id"] in off]
    assert off
    assert intervals  # it would have isolated
    assert not [row for row in intervals if row["enforced"]]


@pytest.mark.parametrize("run", EACH)
def test_first_attempts_that_contradict_the_replay_are_few(recordings: Recordings, run: str) -> None:
    """The client would not have chosen a broker that it held isolated while another one was available."""
    days = recordings.table(run, "producer_days")
    found = sum(row["contradictions"] for row in days)
    print(f"{run}: {found} first attempts contradict the replay, of {sum(row['sends'] for row in days)} sends")
    assert str(found) == stated_figures(run)[3]


def test_every_line_has_its_place(recordings: Recordings) -> None:
    outcomes = list[str | None]()
    published = 0
    for run in set(RUNS) - {*LONG}:
        with gzip.open(RECORDINGS / run / "sends.jsonl.gz", "rt", encoding="utf-8") as lines:
            outcomes += [json.loads(line)["outcome"] for line in lines]
        published += len(recordings.table(run, "sends"))
    (log,) = recordings.logged()
    bad = outcomes.count(None)
    assert (log["rows_read"], log["rows_quarantined"], log["rows_other_day"]) == (len(outcomes), bad, 0)
    assert log["rows_published"] + log["rows_duplicate"] == len(outcomes) - bad
    assert published == log["rows_published"]


@pytest.mark.parametrize("run", EACH)
def test_each_send_is_a_row_or_counted(recordings: Recordings, run: str) -> None:
    """Sends counted from the lines alone: by their invocation, those without one each by itself."""
    lines = recordings.table(run, "sends")
    invocations = Counter((row["client_id"], row["process_id"], row["invoke_id"]) for row in lines)
    listed, plain = recordings.table(run, "send_calls"), recordings.table(run, "plain_calls")
    counted = sum(row["calls"] for row in plain)
    print(f"{run}: {len(listed)} sends that are not plain, {counted} that are")
    assert not [key for key in invocations if key[2] is None]
    assert len(invocations) == len(listed) + counted
    assert counted > 0
    reasons = ("failed", "slow", "retried", "isolated_brokers")
    assert not [row for row in listed if not any(row[reason] for reason in reasons)]
    several = sum(attempts > 1 for attempts in invocations.values())
    assert several >= sum(row["attempts"] > 1 for row in listed) > 0  # the hook may fire twice for one attempt


@pytest.mark.parametrize("run", EACH)
def test_brokers_isolated_for_want_of_time_are_found(recordings: Recordings, run: str) -> None:
    found, outs = _findings(recordings, run, "COLLATERAL_ISOLATION"), outages(run)
    recorded = out_of_time_isolations(run, _switched_on(run))
    true = [row for row in recorded if not is_out(outs, row["broker_name"], row["updated_at_ms"])]
    matched = [row for row in true if lies_in(row, found)]
    print(f"{run}: collateral isolations: {len(matched)} / {len(true)} recorded ones, in {len(found)} findings")
    assert len(matched) == len(true)
    # Health is told second by second: a broker that was out all the same was back within one.
    left_ms = [
        end - row["start_ms"]
        for row in found
        for broker, start, end in outs
        if broker == row["broker_name"] and start <= row["start_ms"] <= end
    ]
    assert max(left_ms, default=0) < 1_000


@pytest.mark.parametrize("run", EACH)
def test_dead_brokers_attract_sends_up_to_5_1_3_only(recordings: Recordings, run: str) -> None:
    found = _findings(recordings, run, "DEAD_BROKER_MAGNET")
    for row in found:
        print(f"{run}: {row['sentence']}")
        spans = [(start, end) for broker, start, end in outages(run) if broker == row["broker_name"]]
        assert any(start < row["end_ms"] and end > row["start_ms"] for start, end in spans)
    assert bool(found) == (run in LAST_WRITE_WINS)


@pytest.mark.parametrize("run", EACH)
def test_only_5_1_4_loses_brokers_for_ever(recordings: Recordings, run: str) -> None:
    found = _findings(recordings, run, "NEVER_REACHABLE_AGAIN")
    lost_ms = sum(row["isolated_ms"] for row in found)
    print(f"{run}: kept out after their window {lost_ms / 1000:.0f} s in {len(found)} findings")
    assert bool(found) == (run == "5.1.4")
    unreachable = [row for row in true_updates(run) if row["item_reachable"] is False]
    assert {_item(row) for row in found} <= {_item(row) for row in unreachable}


@pytest.mark.parametrize("run", EACH)
def test_submit_calls_end_isolations_up_to_5_1_3_only(recordings: Recordings, run: str) -> None:
    submits = _findings(recordings, run, "ISOLATION_LOST_BY_SUBMIT")
    asynchronous = {producer["client_id"] for producer in producers_of(run) if producer["sends"] == "async"}
    assert bool(submits) == (run in LAST_WRITE_WINS)
    assert {row["client_id"] for row in submits} <= asynchronous


@pytest.mark.parametrize("run", EACH)
def test_no_finding_says_what_sends_do_not_show(recordings: Recordings, run: str) -> None:
    found = _findings(recordings, run, "SENT_WHILE_ISOLATED")
    unexplained = [row["sentence"] for row in found if row["cause"] == "UNEXPLAINED"]
    print(f"{run}: sends to isolated brokers, {sum(row['sends'] for row in found)}; unexplained: {unexplained}")
    of_contradictions = {"UNEXPLAINED"} if stated_figures(run)[3] != "0" else set()
    assert {row["cause"] for row in found} & {"UNEXPLAINED"} <= of_contradictions
    for kind in ("REMOVED_WHILE_ISOLATED", "CLOCK_STEP", "LADDER_ARRAYS_DIFFER", "SEVERAL_PROCESSES"):
        assert not _findings(recordings, run, kind)


def _item(row: dict[str, Any]) -> tuple[str, str]:
    return row["client_id"], row["broker_name"]


def _findings(recordings: Recordings, run: str, kind: str) -> Rows:
    return [row for row in recordings.table(run, "findings") if row["kind"] == kind]


def _switched_on(run: str) -> set[str]:
    return {producer["client_id"] for producer in producers_of(run) if producer["fault_latency_enabled"]}


def stated_figures(run: str) -> list[str]:
    """A recording's figures as docs/exactness.md states them.

    Agreement, share inside the band, the band's width, first attempts that contradict the replay.
    """
    page = (Path(__file__).parents[2] / "docs/exactness.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith(f"| {run} |") and line.count("|") == 6)
    return [cell.strip() for cell in row.split("|")[2:6]]
