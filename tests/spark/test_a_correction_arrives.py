"""Three days through the command line: out of order, over midnight, corrected late, forgotten; what is said and kept.

The lake lives through four commands, each of which is a field of `Story`: the first day · the third, before the second
is there · the second, whose end changes the third, with a retention of one day · the first one again, corrected.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import deltalake
import pytest
from pyspark.sql import SparkSession

from jobs.settings.load import load_settings
from tests.given.commands import Said, command
from tests.given.site import D1, D2, D3, START, Line, at, published_rows, send, write_lines

TIMED_OUT, REFUSED = "RemotingTimeoutException", "MQBrokerException"
OLD: Line = {"client_id": "p1", "client_version": "4.9.8"}  # isolates for ten minutes, and any answer ends that
TWICE: Line = {
    "client_id": "p2",
    "process_id": "B",
}  # restarts at noon of the first day and in the first minute of the second
AT_NIGHT: Line = {"client_id": "p3"}  # restarts at midnight
# A client that runs through two midnights, and two that restart: the process id tells where.
FAILED = send(at(D1, "23:59:58"), 3_000, TIMED_OUT, **OLD, seq=1_001)
LONG_DAYS = [
    send(at(D1, "11:00:00"), **OLD, seq=1_000),
    FAILED,
    send(at(D2, "00:00:20"), **OLD, seq=1_002),
    send(at(D3, "06:00:00"), **OLD, seq=1_003),
    send(at(D1, "11:00:00"), broker_name="broker-b", **TWICE | {"process_id": "A"}, seq=500),
    send(at(D1, "12:00:00"), broker_name="broker-b", **TWICE, seq=1),
    send(at(D1, "23:59:57"), 10, TIMED_OUT, **TWICE, seq=50),
    send(at(D2, "00:00:02"), broker_name="broker-b", **TWICE, seq=51),
    send(at(D2, "00:00:05"), broker_name="broker-b", **TWICE | {"process_id": "C"}, seq=1),
    send(at(D3, "06:00:01"), broker_name="broker-b", **TWICE | {"process_id": "C"}, seq=2),
    send(at(D1, "23:59:59"), 10, TIMED_OUT, **AT_NIGHT, process_id="A", seq=900),
    send(at(D2, "00:00:06"), broker_name="broker-b", **AT_NIGHT, process_id="B", seq=1),
    send(at(D3, "06:00:02"), broker_name="broker-b", **AT_NIGHT, process_id="B", seq=2),
]


def _ten(seconds: str, latency_ms: int = 5, outcome: str = "SEND_OK", client: str = "p5", **other: object) -> Line:
    """An attempt in the first seconds after ten, of a group that sends on the first day alone."""
    return send(at(D1, f"10:00:{seconds}"), latency_ms, outcome, client_id=client, producer_group="PG_ten", **other)


# A broker that timed out is isolated for ten seconds: who takes it all the same contradicts the replay.
MORNING = [
    _ten("00", 10, TIMED_OUT),
    _ten("05"),
    _ten("05.500"),
    _ten("06", attempt=2),  # a retry may
    _ten("07", queue_chosen_by="CALLER"),  # a caller may
    _ten("12"),  # it is over
    _ten("00", 10, TIMED_OUT, client="p6", fault_latency_enabled=False),
    _ten("05", client="p6", fault_latency_enabled=False),  # the switch is off
    _ten("00", 10, TIMED_OUT, client="p7"),
    _ten("00.500", 10, TIMED_OUT, client="p7", broker_name="broker-b"),
    _ten("05", client="p7"),  # no other is available
    _ten("08", client="p8", broker_name="broker-b", fault_latency_enabled=None),
    _ten("08", client="p9", broker_name="broker-b", client_version=None, fault_latency_enabled=False),
    _ten("08", client="p10", broker_name="broker-b", client_version="3.2.6", fault_latency_enabled=False),
    _ten("08", client="p11", broker_name="broker-b", client_language="CPP", fault_latency_enabled=False),
    _ten("08", client="p12", broker_name="broker-b", client_language="CPP", fault_latency_enabled=False),
]
LOG = [*LONG_DAYS, *MORNING, LONG_DAYS[0]]  # the last is an exact copy
BAD = ["{", json.dumps(send(at(D1, "11:00:00")) | {"latency_ms": -1})]  # no line; a line of the first day
OF_THE_DAY = ("sends", "fault_item_updates", "quarantine", "topic_brokers", "order_key_moves")
DERIVED = ("fault_item_changes", "isolation_intervals", "fault_item_state", "broker_windows", "events",
           "producer_days", "send_calls", "plain_calls", "findings")  # fmt: skip
COUNTS = ("rows_read", "rows_published", "rows_quarantined", "rows_duplicate", "rows_other_day")


@dataclass(frozen=True)
class Story:
    """A lake, what each command said, and the tables as they were after some of them."""

    lake: Path
    first: Said
    third: Said
    before_second: Mapping[str, list[dict[str, Any]]]
    second: Said
    after_second: Mapping[str, list[dict[str, Any]]]
    corrected: Said
    after_corrected: Mapping[str, list[dict[str, Any]]]

    @property
    def all_days(self) -> dict[str, list[dict[str, Any]]]:
        """Every table with all three days as they were before the correction, the forgotten ones too."""
        return {
            name: [*(row for row in self.before_second[name] if row["event_date"] == D1),
                   *(row for row in self.after_second[name] if row["event_date"] != D1)]
            for name in (*OF_THE_DAY, *DERIVED)
        }  # fmt: skip


def _tables(lake: Path) -> dict[str, list[dict[str, Any]]]:
    return {name: published_rows(lake / name, (), {}) for name in (*OF_THE_DAY, *DERIVED, "run_log")}


@pytest.fixture(scope="module")
def story(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Story:
    folder = tmp_path_factory.mktemp("story")
    lake, logs = folder / "lake", folder / "logs"
    (folder / "site.toml").write_text("max_bad_fraction = 0.1\n", encoding="utf-8")

    def log(lines: list[Line]) -> None:
        write_lines(logs / "sends.jsonl", lines)
        with (logs / "sends.jsonl").open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in BAD)

    def night(day: dt.date, *more: object) -> Said:
        where = ("--lake", lake, "--sends", logs, "--settings", folder / "site.toml")
        return command(spark, "nightly", "--date", day, *where, *more)

    log(LOG)
    first = night(D1, "--fail-on", "contradictions>2", "--fail-on", "event>2", "--fail-on", "missing-producer")
    third = night(D3)
    before_second = _tables(lake)
    conditions = [part for each in ("missing-producer", "event", "contradictions>0") for part in ("--fail-on", each)]
    second = night(D2, "--json", *conditions, "--set", "retention.sends_days=1")
    after_second = _tables(lake)
    log([line for line in LOG if line is not FAILED])
    corrected = night(D1, "--fail-on", "contradictions>1")
    return Story(lake, first, third, before_second, second, after_second, corrected, _tables(lake))


def test_a_day_is_said_whole(story: Story) -> None:
    """But for its findings, which have tests of their own."""
    assert story.first.code == 0, story.first.err
    assert story.first.section("2026-03-01, cluster main, fault-latency") == [
        (
            "2026-03-01, cluster main, fault-latency: 32 lines read = 22 published + 2 quarantined + 1 duplicates"
            " + 7 of other days"
        ),
        "  4 lines of 2026-03-02: publish them with --date 2026-03-02",
        "  3 lines of 2026-03-03: publish them with --date 2026-03-03",
    ]
    assert story.first.section("2026-03-01, cluster main\n") == [
        "2026-03-01, cluster main",
        (
            "  7 sends lost, 0 saved by a retry, 0 slow. 1 event: broker-a timed out on sends from 2 of 2 producers for"
            " 3.0 s; no later answer is known; no producer avoided it."
        ),
        "  32 % of 22 send attempts failed.",
        (
            "  Rejected lines: 1 sends latency_out_of_range, 1 sends not_json; a line counts under each of its reasons"
            " (quarantine has file and line)."
        ),
    ]
    assert story.first.section("Brokers") == [
        "Brokers",
        "  broker    sends  failures  isolated (sum over producers)  by producers",
        "  broker-a  14     6         15.0 s                         5",
        "  broker-b  8      1         4.5 s                          1",
    ]
    assert story.first.section("Events:") == [
        "Events: brokers in trouble, producers that avoided them, and sends, UTC",
        (
            "  broker    what       from      bad for  producers hit  avoided by  until  after it answered  lost  saved"
            "  slow"
        ),
        "  broker-a  timed out  23:59:55  3.0 s    2 of 2         0           –                         2     0      0",
        "    no later answer is known",
        "    goes on after 24:00",
    ]
    assert story.first.section("Producers") == [
        "Producers that isolated longest (5 of 11, 6 isolations)",
        "  group   host  client  isolated (sum over brokers)  isolations  client id",
        "  PG_ten  ?     5.3.3   10.0 s                       1           p5",
        "  PG_ten  ?     5.3.3   9.5 s                        2           p7",
    ]
    assert story.first.section("What this rests on") == [
        "What this rests on",
        "  no consumer snapshots were given",
        "  isolations: 5 producers with the switch on by replay of their sends, none as its client recorded them",
        "  no topic routes: brokers of a topic are those in its sends",
        "  producers with the switch off would have isolated for 5.0 s (enforced = false)",
        "  1 producer does not log sendLatencyFaultEnable; assumed off (setting fault_latency_enabled)",
        "  1 producer not replayed: CLIENT_TOO_OLD",
        "  1 producer not replayed: CLIENT_VERSION_UNKNOWN",
        "  2 producers not replayed: NOT_A_JAVA_CLIENT",
        "  2 first attempts contradict the replay (producer_days.contradictions): 2 of PG_ten (client 5.3.3, p5)",
        (
            "  the day before was not in the lake: 2026-03-01 starts with no isolation (after_unknown_start marks rows"
            " that could differ)"
        ),
    ]


def test_a_first_attempt_that_the_replay_rules_out_is_counted(story: Story) -> None:
    """Not a retry, not the caller's choice, nor where the switch is off or no other broker is available."""
    counted = story.all_days["producer_days"]
    assert {
        (row["event_date"], row["client_id"]): row["contradictions"] for row in counted if row["contradictions"]
    } == {
        (D1, "p5"): 2,
        (D2, "p1"): 1,
    }


def test_conditions_at_their_bounds(story: Story) -> None:
    """Two contradictions are more than one and not more than two; the second day has no event."""
    assert (story.first.code, story.third.code, story.second.code, story.corrected.code) == (0, 0, 7, 7)
    assert story.second.sentence == (
        "faultline: --fail-on held: missing-producer 1, contradictions 1; the tables are published"
    )
    assert story.corrected.sentence == "faultline: --fail-on held: contradictions 2; the tables are published"


def test_what_is_said_as_json(story: Story) -> None:
    told = json.loads(story.second.out)
    facts = told["flows"]["fault-latency"]
    assert facts["days"] == [
        {"date": "2026-03-02", "cluster": "main", "started_from": "PREVIOUS_DAY", "rows_read": 32, "rows_published": 4,
         "rows_quarantined": 1, "rows_duplicate": 0, "rows_other_day": 27, "rows_other_cluster": 0}
    ]  # fmt: skip
    assert (facts["clusters"], told["lake"]) == (["main"], str(story.lake))
    assert (facts["cascaded_days"], facts["stale_days"]) == (["2026-03-03"], [])
    assert facts["other_days"] == {"2026-03-01": 24, "2026-03-03": 3}
    (night,) = told["nights"]
    assert (night["date"], night["missing_producers"], night["contradictions"]) == ("2026-03-02", ["PG_ten"], 1)
    assert (night["counts"]["events"], night["events"]) == (0, [])
    assert {each["client_id"]: each["isolated_ms"] for each in night["producers"]} == {
        "p1": 20_000, "p2": 2_000,
    }  # fmt: skip
    assert {row["run_id"] for row in story.after_second["run_log"]} > {told["run_id"]}


def test_processes_go_on_over_midnight(story: Story) -> None:
    third_alone = [row for row in story.before_second["fault_item_state"] if row["event_date"] == D3]
    last = [("p1", "p1"), ("p2", "C"), ("p3", "B")]
    assert sorted((row["client_id"], row["process"]) for row in third_alone) == last

    def processes(table: str, *days: dt.date) -> set[tuple[dt.date, str, str]]:
        return {
            (row["event_date"], row["client_id"], row["process"])
            for row in story.all_days[table]
            if row["event_date"] in days and row["client_id"] in {"p1", "p2", "p3"}
        }

    assert processes("isolation_intervals", D2) == {(D2, "p1", "p1"), (D2, "p2", "B"), (D2, "p3", "A")}
    assert processes("fault_item_state", D1, D2, D3) == {  # those that sent last
        (D1, "p1", "p1"), (D1, "p2", "B"), (D1, "p3", "A"),
        *((day, client, process) for day in (D2, D3) for client, process in last),
    }  # fmt: skip


def _isolations(tables: Mapping[str, list[dict[str, Any]]], day: dt.date) -> list[tuple[Any, ...]]:
    names = ("client_id", "process", "start_ms", "end_ms", "ended_by", "continued_from_previous_day")
    night = [row for row in tables["isolation_intervals"] if row["event_date"] == day]
    return [tuple(row[name] for name in names) for row in night if row["client_id"] in {"p1", "p2", "p3"}]


def test_an_isolation_goes_on_over_midnight_until_an_answer_or_a_restart(story: Story) -> None:
    born = {"p2": at(D2, "00:00:04.995"), "p3": at(D2, "00:00:05.995")}
    assert sorted(_isolations(story.after_second, D2)) == [
        ("p1", "p1", START[D2], at(D2, "00:00:20"), "CLEARED", True),
        ("p2", "B", START[D2], born["p2"], "RESTARTED", True),
        ("p3", "A", START[D2], born["p3"], "RESTARTED", True),
    ]
    assert _isolations(story.after_second, D3) == []


def _log(story: Story) -> list[dict[str, Any]]:
    return sorted(story.after_second["run_log"], key=lambda row: row["logged_at"])


def test_the_run_log_has_each_event_with_its_counts(story: Story) -> None:
    log = _log(story)
    names = ("event_date", "command", "status", *COUNTS, "started_from")
    unknown = (None,) * 6
    assert [tuple(row[name] for name in names) for row in log] == [
        (D1, "nightly", "STARTED", *unknown),
        (D1, "nightly", "SUCCEEDED", 32, 22, 2, 1, 7, "EMPTY"),
        (D3, "nightly", "STARTED", *unknown),
        (D3, "nightly", "SUCCEEDED", 32, 3, 1, 0, 28, "EMPTY"),
        (D2, "nightly", "STARTED", *unknown),
        (D2, "nightly", "SUCCEEDED", 32, 4, 1, 0, 27, "PREVIOUS_DAY"),
        (D3, "cascade", "STARTED", *unknown),
        (D3, "cascade", "SUCCEEDED", *unknown[:5], "PREVIOUS_DAY"),
    ]
    settings = load_settings([], ["max_bad_fraction=0.1"], {})
    same = {(row["cluster"], row["flow"], row["settings_hash"], row["code_version"], row["message"]) for row in log}
    assert same == {("main", "FAULT_LATENCY", settings.content_hash("FAULT_LATENCY"), version("faultline"), None)}
    runs = [row["run_id"] for row in log]
    assert [runs.index(run) for run in runs] == [0, 0, 2, 2, 4, 4, 4, 4]


def test_the_run_log_says_what_each_day_started_from_and_ended_with(story: Story) -> None:
    first, third, second, cascaded = (row for row in _log(story) if row["status"] == "SUCCEEDED")
    assert {first["opening_state"], third["opening_state"]} == {"0:0"}
    assert second["opening_state"] == first["closing_state"]
    assert cascaded["opening_state"] == second["closing_state"]
    assert len({row["closing_state"] for row in (first, second, third)} | {"0:0"}) == 4
    assert {row["opening_state"] for row in _log(story) if row["status"] == "STARTED"} == {None}


def test_the_run_log_names_the_commit_of_each_table_and_the_commit_names_the_run(story: Story) -> None:
    for row in _log(story):
        if row["status"] == "STARTED":
            assert row["table_versions"] is None
            continue
        versions = json.loads(row["table_versions"])
        assert set(versions) == ({*DERIVED} if row["command"] == "cascade" else {*OF_THE_DAY, *DERIVED})
        for table, number in versions.items():
            if not any(each["event_date"] == row["event_date"] for each in story.all_days[table]):
                continue  # Delta makes no commit when nothing was there and nothing came
            history = deltalake.DeltaTable(str(story.lake / table)).history()
            (commit,) = (each for each in history if each["version"] == number)
            assert json.loads(commit["userMetadata"]) == {
                "run_id": row["run_id"], "code_version": row["code_version"], "settings_hash": row["settings_hash"],
                "event_date": f"{row['event_date']}", "cluster": "main",
                **({"source": ["sends", "fault_item_updates"]} if table == "quarantine" else {}),
            }  # fmt: skip


def _of_days(tables: Mapping[str, list[dict[str, Any]]], *days: dt.date) -> dict[str, list[dict[str, Any]]]:
    """The rows of the days, without the id of the run that quarantined a line."""
    return {
        name: [
            {key: value for key, value in row.items() if key != "run_id"} for row in rows if row["event_date"] in days
        ]
        for name, rows in tables.items()
        if name != "run_log"
    }


def test_a_correction_leaves_nothing_stale_and_the_rows_of_others_as_they_were(story: Story) -> None:
    assert story.corrected.out.startswith("2026-03-01, cluster main, fault-latency: 31 lines read = 21 published")
    assert [row[0] for row in sorted(_isolations(story.after_corrected, D1))] == ["p2", "p3"]
    now, before = _of_days(story.after_corrected, D1), _of_days(story.before_second, D1)
    for table in ("sends", "isolation_intervals", "fault_item_state", "producer_days", "send_calls", "quarantine"):
        of_others, of_others_now = (
            [row | {"line": None, "event_id": None} for row in rows[table] if row.get("client_id") != "p1"]
            for rows in (before, now)
        )  # a line less stands before theirs, and p1's failure was the event
        assert of_others, table
        assert of_others_now == of_others, table


def test_a_correction_reaches_the_days_that_start_otherwise_now_and_no_others(story: Story) -> None:
    facts = story.corrected.section("2026-03-01, cluster main, fault-latency")
    assert "  recomputed because the day before changed: 2026-03-02" in facts
    assert not [line for line in facts if "not recomputed" in line]
    assert [row[0] for row in sorted(_isolations(story.after_corrected, D2))] == ["p2", "p3"]
    assert _of_days(story.after_corrected, D3) == _of_days(story.after_second, D3)
    known = {row["run_id"] for row in story.after_second["run_log"]}
    corrected = [row for row in story.after_corrected["run_log"] if row["run_id"] not in known]
    assert sorted((f"{row['event_date']}", row["status"], row["command"]) for row in corrected) == [
        ("2026-03-01", "STARTED", "nightly"), ("2026-03-01", "SUCCEEDED", "nightly"),
        ("2026-03-02", "STARTED", "cascade"), ("2026-03-02", "SUCCEEDED", "cascade"),
    ]  # fmt: skip


@pytest.mark.parametrize("table", [*OF_THE_DAY, *DERIVED, "run_log"])
def test_only_sends_and_calls_are_forgotten_and_only_days_that_are_too_old(story: Story, table: str) -> None:
    """One day is kept, counted back from the second, which was run; the third is younger."""
    before = {row["event_date"] for row in story.before_second[table]}
    after = {row["event_date"] for row in story.after_second[table]}
    assert D1 in before or table in {"fault_item_updates", "topic_brokers", "order_key_moves"}
    assert before - after == ({D1} if table in {"sends", "send_calls"} else set())
