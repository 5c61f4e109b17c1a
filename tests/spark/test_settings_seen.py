"""Each setting of the first flow, at its default and once otherwise, and the rows in which it is seen.

One log is published twice into one lake: as cluster `main` with nothing set, and as `north` under a settings file. In a
copy of it `main` is recomputed from the lake's own sends under that file, and has the rows of `north` then.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.runs.flow_tables import FLOW_TABLES
from jobs.tables import QUARANTINE, RUN_LOG
from tests.given.commands import Said, command
from tests.given.site import D1, Line, at, published_rows, send, write_lines

TIMED_OUT = (10, "RemotingTimeoutException")
OFF: Line = {"fault_latency_enabled": False}
MAX_LINE_BYTES = 700


def _of_length(size: int) -> Line:
    """A line of so many bytes."""
    short = send(at(D1, "10:30:00"), client_id=f"long{size}", error="", **OFF)
    return short | {"error": "x" * (size - len(json.dumps(short)))}


def _set(group: str, client: str, *how: Any, **other: Any) -> Line:
    """An attempt at 14:00 of a producer about whom the log says what `other` says."""
    return send(at(D1, "14:00:00"), *how, client_id=client, producer_group=group, **other)


REFUSED = (10, "RemotingConnectException")
TROUBLES = [
    *(
        send(at(D1, clock), *REFUSED, client_id="i1", broker_name="broker-i", **OFF)
        for clock in ("08:00:00", "08:00:20")
    ),
    send(at(D1, "08:00:10"), client_id="i1", broker_name="broker-i", **OFF),
    # two producers, two of three attempts; one producer, one of two
    *(send(at(D1, "08:10:09"), 8_000, client_id=f"i{number}", broker_name="broker-s", **OFF) for number in (1, 2)),
    send(at(D1, "08:10:20"), client_id="i1", broker_name="broker-s", **OFF),
    send(at(D1, "08:20:09"), 8_000, client_id="i1", broker_name="broker-t", **OFF),
    send(at(D1, "08:20:20"), client_id="i1", broker_name="broker-t", **OFF),
    # refused once, answers five seconds later, and is avoided for ten minutes: its client lives on for 85 seconds
    send(at(D1, "09:00:00"), *REFUSED, client_id="i3", broker_name="broker-w", client_version="4.9.8"),
    send(at(D1, "09:00:05.010"), client_id="i1", broker_name="broker-w", **OFF),
    send(at(D1, "09:01:30"), client_id="i3", broker_name="broker-j", client_version="4.9.8"),
]
SLOW = [send(at(D1, "10:00:00") + ms, ms, client_id="slow", **OFF) for ms in (550, 549, 100, 99)]
# h1 avoids broker-h, which answers another producer after 200 ms in the second of h1's next send.
AVOIDED = [
    send(at(D1, "11:00:00"), *TIMED_OUT, client_id="h1", broker_name="broker-h", topic="H"),
    send(at(D1, "11:00:03.405"), client_id="h1", broker_name="broker-g", topic="H"),
    send(at(D1, "11:00:12"), client_id="h1", broker_name="broker-g", topic="H"),
    send(at(D1, "11:00:03.500"), 200, client_id="h2", broker_name="broker-h", topic="H", **OFF),
]
UNSAID: Line = {"client_version": None}
DETECTS: Line = {"client_version": "5.1.4"}
PRODUCERS = [
    _set("PG_v", "v1", **UNSAID), _set("PG_v", "v2", **UNSAID), _set("PG_v", "v3", client_version="5.1.4"),
    *(_set("PG_s", client, fault_latency_enabled=None) for client in ("s1", "s2")),
    *(_set("PG_s", client, fault_latency_enabled=said) for client, said in (("s3", False), ("s4", True))),
    *(_set("PG_d", client, *TIMED_OUT, **DETECTS) for client in ("d1", "d2")),
    _set("PG_d", "d3", *TIMED_OUT, detector_enabled=False, **DETECTS),
    *(_set("PG_c", client, *TIMED_OUT) for client in ("c1", "c2")),
    _set("PG_c", "c3", *TIMED_OUT, queue_chosen_by="CLIENT"),
    *(_set("PG_l", client) for client in ("l1", "l2")),
    _set("PG_k", "k1", fault_latency_enabled=None, **UNSAID),
]  # fmt: skip
# Those that isolate send on, faster than any ladder looks at: an isolation counts while its client sends.
SEND_ON = [
    send(at(D1, "14:00:12"), 1, client_id=f"{group}{number}", producer_group=f"PG_{group}", broker_name="broker-j",
         **of_group)
    for group, numbers, of_group in (("d", "123", DETECTS), ("c", "123", {}), ("l", "12", {}))
    for number in numbers
]  # fmt: skip
# Two processes under one client id: a finding, whatever the settings.
TWO = [
    send(at(D1, f"12:00:{second}"), client_id="two", process_id=process, **OFF)
    for process, second in (("A", "00"), ("B", "10"), ("A", "40"), ("B", "50"))
]
# A call that failed before it had a broker: no attempt of it is among the sends that the lake keeps.
NO_BROKER = send(at(D1, "12:30:00"), 2, "MQClientException", client_id="nowhere", broker_name=None, invoke_id=1, **OFF)
STORIES = [
    *TROUBLES, *SLOW, *AVOIDED, *PRODUCERS, *SEND_ON, *TWO, NO_BROKER,
    _of_length(MAX_LINE_BYTES), _of_length(MAX_LINE_BYTES + 1),
]  # fmt: skip
LINES = 64  # of which the settings let one be bad: 1/64, without any rounding
REST = [
    send(at(D1, "10:45:00") + n, client_id="rest", order_key="k", queue_id=n, **OFF)
    for n in range(LINES - len(STORIES))
]
LOG = [*STORIES, *REST]

SITE = f"""
cluster = "north"
lake = "lake"
date = {D1}
event_gap_ms = 10_000
event_slow_producers = 3
event_slow_share = 0.9
avoided_too_long_ms = 90_000
max_line_bytes = {MAX_LINE_BYTES}
max_bad_fraction = {1 / LINES}
slow_ms = 7777

[inputs.sends]
path = "logs"

[producers.PG_v]
client_version = "4.9.8"
[producers.v2]
client_version = "5.3.3"

[producers.PG_s]
fault_latency_enabled = true
[producers.s2]
fault_latency_enabled = false
[producers.s4]
fault_latency_enabled = false

[producers.PG_d]
detector_enabled = true
[producers.d2]
detector_enabled = false

[producers.PG_c]
queue_chosen_by = "CALLER"
[producers.c2]
queue_chosen_by = "CLIENT"

[producers.PG_l]
latency_max_ms = [3]
not_available_ms = [7000]
[producers.l2]
latency_max_ms = [3]
not_available_ms = [9000]

[producers.PG_k]
fault_latency_enabled = true
[producers.k1]
client_version = "5.3.3"
"""


@dataclass(frozen=True)
class Both:
    """What the two runs said, and the lake."""

    lake: Path
    default: Said
    varied: Said
    stricter: Said
    settings: tuple[object, ...]

    def rows(self, table: str, *columns: str, **equal: object) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
        """Rows of a table without settings, and under the settings file."""
        found = (
            published_rows(self.lake / table, columns, {"cluster": cluster, **equal}) for cluster in ("main", "north")
        )
        default, varied = ([tuple(row.values()) for row in rows] for rows in found)
        return default, varied


@pytest.fixture(scope="module")
def both(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Both:
    folder = tmp_path_factory.mktemp("settings")
    write_lines(folder / "logs" / "sends.jsonl", LOG)
    (folder / "site.toml").write_text(SITE, encoding="utf-8")
    (folder / "later.toml").write_text("slow_ms = 8888\n", encoding="utf-8")
    default = command(
        spark, "fault-latency", "--date", D1, "--lake", folder / "lake", "--sends", folder / "logs" / "*.jsonl"
    )
    files = ("--settings", folder / "site.toml", "--settings", folder / "later.toml")
    settings = (*files, "--set", "slow_ms=100")
    stricter = command(spark, "fault-latency", *settings, "--set", f"max_bad_fraction={0.999 / LINES}")
    varied = command(spark, "fault-latency", *settings)
    return Both(folder / "lake", default, varied, stricter, settings)


def test_both_runs_succeed(both: Both) -> None:
    assert (both.default.code, both.varied.code) == (0, 0), both.default.err + both.varied.err
    assert both.default.out.startswith(
        f"{D1}, cluster main, fault-latency: 64 lines read = 64 published + 0 quarantined"
    )
    assert both.varied.out.startswith(
        f"{D1}, cluster north, fault-latency: 64 lines read = 63 published + 1 quarantined"
    )


def test_bad_attempts_less_than_the_gap_apart_are_one_event(both: Both) -> None:
    default, varied = both.rows("events", "kind", "failed_attempts", broker_name="broker-i")
    assert (default, varied) == ([("REFUSED", 2)], [("REFUSED", 1), ("REFUSED", 1)])


def test_slow_attempts_of_enough_producers_are_an_event(both: Both) -> None:
    default, varied = both.rows("events", "kind", "slow_attempts", broker_name="broker-s")
    assert (default, varied) == ([("SLOW", 2)], [])


def test_slow_attempts_of_enough_of_its_minutes_are_an_event(both: Both) -> None:
    default, varied = both.rows("events", "kind", "slow_attempts", broker_name="broker-t")
    assert (default, varied) == ([("SLOW", 1)], [])


def test_a_broker_may_be_avoided_for_so_long(both: Both) -> None:
    default, varied = both.rows("findings", "kind", "isolated_ms", broker_name="broker-w")
    assert (default, varied) == ([("AVOIDED_TOO_LONG", 84_990)], [])


def test_slow_ms_is_the_least_time_that_is_slow(both: Both) -> None:
    """In `--set`, which wins over both files."""
    default, varied = both.rows("send_calls", "total_ms", "slow", client_id="slow")
    assert default == [(550, True)]  # what is not slow is no row but a count
    assert varied == [(100, True), (549, True), (550, True)]
    default, varied = both.rows("plain_calls", "calls", client_id="slow")
    assert (default, varied) == ([(3,)], [(1,)])


def test_slow_ms_decides_too_what_an_avoided_broker_was_worth(both: Both) -> None:
    default, varied = both.rows("send_calls", "fault_latency", client_id="h1", broker_names=["broker-g"])
    assert (default, varied) == ([("NO_DIFFERENCE",)], [("SPARED",)])


def test_max_line_bytes_is_the_longest_line_that_is_read(both: Both) -> None:
    default, varied = both.rows("quarantine", "reason", "source")
    assert (default, varied) == ([], [("line_too_long", "sends")])
    clients = both.rows("producer_days", "client_id")[1]
    assert ("long700",) in clients
    assert ("long701",) not in clients


def test_max_bad_fraction_is_the_greatest_share_that_is_published(both: Both) -> None:
    assert both.stricter.code == 4
    assert (
        "1 of 64 lines are bad (line_too_long 1: 701 bytes), more than max_bad_fraction 0.0156"
        in both.stricter.sentence
    )


def test_the_version_of_a_client_that_does_not_log_one(both: Both) -> None:
    default, varied = both.rows("producer_days", "client_id", "client_version", "profile", "not_replayed",
                                producer_group="PG_v")  # fmt: skip
    unknown = "CLIENT_VERSION_UNKNOWN"
    assert default == [("v1", None, None, unknown), ("v2", None, None, unknown), ("v3", "5.1.4", "P4", None)]
    assert varied == [("v1", "4.9.8", "P2", None), ("v2", "5.3.3", "P5", None), ("v3", "5.1.4", "P4", None)]


def test_the_switch_of_a_client_that_does_not_log_it(both: Both) -> None:
    default, varied = both.rows("producer_days", "client_id", "enforced", "switch_assumed", producer_group="PG_s")
    assert default == [("s1", False, True), ("s2", False, True), ("s3", False, False), ("s4", True, False)]
    assert varied == [("s1", True, False), ("s2", False, False), ("s3", False, False), ("s4", True, False)]


def test_the_detector_of_a_client_that_does_not_log_it(both: Both) -> None:
    default, varied = both.rows("isolation_intervals", "client_id", "ended_by", producer_group="PG_d")
    assert default == [("d1", "EXPIRED"), ("d2", "EXPIRED"), ("d3", "EXPIRED")]
    assert varied == [("d1", "DAY_END"), ("d2", "EXPIRED"), ("d3", "EXPIRED")]


def test_who_chose_the_queue_where_the_log_does_not_say(both: Both) -> None:
    default, varied = both.rows("isolation_intervals", "client_id", producer_group="PG_c")
    assert default == [("c1",), ("c2",), ("c3",)]
    assert varied == [("c2",), ("c3",)]


def test_a_ladder_of_the_settings_replaces_the_released_one(both: Both) -> None:
    start = at(D1, "14:00:00")
    default, varied = both.rows("isolation_intervals", "policy", "start_ms", "end_ms", producer_group="PG_l")
    assert default == []
    assert varied == [
        ("P5 with the ladder of PG_l", start, start + 7_000), ("P5 with the ladder of l2", start, start + 9_000),
    ]  # fmt: skip


def test_a_client_id_and_its_group_fill_each_other_key_by_key(both: Both) -> None:
    default, varied = both.rows("producer_days", "client_version", "enforced", client_id="k1")
    assert (default, varied) == ([(None, False)], [("5.3.3", True)])


@dataclass(frozen=True)
class Recomputed:
    """The lake after `main` was recomputed, and what the command said."""

    lake: Path
    said: Said


@pytest.fixture(scope="module")
def recomputed(spark: SparkSession, both: Both) -> Recomputed:
    lake = Path(shutil.copytree(both.lake, both.lake.parent / "recomputed"))
    how = ("--recompute", "--date", D1, "--cluster", "main", *both.settings, "--lake", lake)
    return Recomputed(lake, command(spark, "fault-latency", *how))


def _of_main(lake: Path, table: str, cluster: str = "main") -> list[dict[str, Any]]:
    return [row | {"cluster": "main"} for row in published_rows(lake / table, (), {"cluster": cluster})]


def _comparable(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the client whose only line `north` did not read, and the minute in which it ended."""
    its_minute = at(D1, "10:30:00")
    return [row for row in rows if row.get("client_id") != "long701" and row.get("window_start_ms") != its_minute]


def test_a_recompute_ends_in_the_tables_of_a_run_with_the_input(both: Both, recomputed: Recomputed) -> None:
    assert recomputed.said.code == 0, recomputed.said.err
    for table in FLOW_TABLES["fault-latency"].derived:
        of_north = _comparable(_of_main(both.lake, table, "north"))
        assert of_north, table
        assert _comparable(_of_main(recomputed.lake, table)) == of_north, table
    assert [row["client_id"] for row in _of_main(recomputed.lake, "send_calls") if row["attempts"] == 0] == ["nowhere"]


def test_a_recompute_leaves_what_only_the_input_says(both: Both, recomputed: Recomputed) -> None:
    for table in (*FLOW_TABLES["fault-latency"].published, QUARANTINE.name):
        assert _of_main(recomputed.lake, table) == _of_main(both.lake, table), table
    assert _of_main(recomputed.lake, "order_key_moves")
    _, said, *_ = recomputed.said.section("fault-latency:")
    assert said == (
        "  2026-03-01 recomputed from the lake's own sends; tables of what only the input says stay as they were"
        " (sends, fault_item_updates, topic_brokers, order_key_moves, quarantine)"
    )
    assert "faultline fault-latency --recompute: 2026-03-01 (--date), cluster main" in recomputed.said.err


def test_the_run_log_says_what_made_each_day(recomputed: Recomputed) -> None:
    names = ("event_seq", "command", "event_date", "rows_read", "settings_hash", "input_settings_hash")
    log = published_rows(recomputed.lake / RUN_LOG.name, names, {"status": "SUCCEEDED", "cluster": "main"})
    assert [(row["command"], row["event_date"], row["rows_read"]) for row in log] == [
        ("fault-latency", D1, LINES), ("recompute", D1, None),
    ]  # fmt: skip
    assert len({row["settings_hash"] for row in log}) == 2
    assert len({row["input_settings_hash"] for row in log}) == 1


def test_a_recompute_of_a_day_that_the_lake_does_not_have_is_refused(spark: SparkSession, both: Both) -> None:
    said = command(spark, "fault-latency", "--recompute", "--lake", both.lake, "--date", "2026-03-09")
    assert said.code == 3
    assert said.sentence == (
        "faultline: the lake has no day of 2026-03-09 to 2026-03-09 to recompute; its days are 2026-03-01 to"
        " 2026-03-01, name one of them"
    )
