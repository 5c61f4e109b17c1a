"""Three days through the command line: out of order, over midnight, corrected late, forgotten; what is said and kept.

The lake lives through six commands, each of which is a field of `Story`:
the first day · the third, before the second is there · the second, whose end changes the third · the first one again,
corrected: only reported · corrected for good · the third with a retention of two days.
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

from jobs.settings import load_settings
from tests.given.commands import Said, command
from tests.site import D1, D2, D3, START, Line, at, published_rows, send, write_lines

TIMED_OUT, REFUSED = "RemotingTimeoutException", "MQBrokerException"
OLD = {"client_id": "p1", "client_version": "4.9.8"}  # isolates for ten minutes, and any answer ends that
TWICE: Line = {"client_id": "p2", "seq": 500}  # restarts at noon of the first day and in the first minute of the second
AT_NIGHT: Line = {"client_id": "p3"}  # restarts at midnight
# A client that runs through two midnights, and two that restart: seq tells where.
FAILED = send(at(D1, "23:59:58"), 3_000, TIMED_OUT, **OLD, seq=1_001)
LONG_DAYS = [
    send(at(D1, "11:00:00"), **OLD, seq=1_000),
    FAILED,
    send(at(D2, "00:00:20"), **OLD, seq=1_002),
    send(at(D3, "06:00:00"), **OLD, seq=1_003),
    send(at(D1, "11:00:00"), broker_name="broker-b", **TWICE),
    send(at(D1, "12:00:00"), broker_name="broker-b", **TWICE | {"seq": 1}),
    send(at(D1, "23:59:57"), 10, TIMED_OUT, **TWICE | {"seq": 50}),
    send(at(D2, "00:00:02"), broker_name="broker-b", **TWICE | {"seq": 51}),
    send(at(D2, "00:00:05"), broker_name="broker-b", **TWICE | {"seq": 1}),
    send(at(D3, "06:00:01"), broker_name="broker-b", **TWICE | {"seq": 2}),
    send(at(D1, "23:59:59"), 10, TIMED_OUT, **AT_NIGHT, seq=900),
    send(at(D2, "00:00:06"), broker_name="broker-b", **AT_NIGHT, seq=1),
    send(at(D3, "06:00:02"), broker_name="broker-b", **AT_NIGHT, seq=2),
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
    _ten("08", client="p9", broker_name="broker-b", client_version=None),
    _ten("08", client="p10", broker_name="broker-b", client_version="3.2.6"),
    _ten("08", client="p11", broker_name="broker-b", client_language="CPP"),
    _ten("08", client="p12", broker_name="broker-b", client_language="CPP"),
]
LOG = [*LONG_DAYS, *MORNING, LONG_DAYS[0]]  # the last is an exact copy
BAD = ["{", json.dumps(send(at(D1, "11:00:00")) | {"latency_ms": -1})]  # no line; a line of the first day
OF_THE_DAY = ("sends", "quarantine", "topic_brokers", "order_key_moves")
DERIVED = ("fault_item_changes", "isolation_intervals", "fault_item_state", "broker_windows", "broker_incidents",
           "producer_days", "send_calls", "findings")  # fmt: skip
COUNTS = ("rows_read", "rows_published", "rows_quarantined", "rows_duplicate", "rows_other_day")


@dataclass(frozen=True)
class Story:
    """A lake, what each command said, and the tables as they were after some of them."""

    lake: Path
    first: Said
    third: Said
    third_alone: list[dict[str, Any]]
    second: Said
    after_second: Mapping[str, list[dict[str, Any]]]
    reported: Said
    after_reported: Mapping[str, list[dict[str, Any]]]
    corrected: Said
    after_corrected: Mapping[str, list[dict[str, Any]]]
    forgetting: Said

    def rows(self, table: str, *columns: str, **equal: object) -> list[dict[str, Any]]:
        """Rows of a table at the end."""
        return published_rows(self.lake / table, columns, equal)


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
    first = night(D1, "--fail-on", "contradictions>2", "--fail-on", "incident>3", "--fail-on", "missing-producer")
    third = night(D3)
    third_alone = published_rows(lake / "send_calls", ("client_id", "process"), {"event_date": D3})
    second = night(
        D2, "--json", "--fail-on", "missing-producer", "--fail-on", "incident", "--fail-on", "contradictions>0"
    )
    after_second = _tables(lake)
    log([line for line in LOG if line is not FAILED])
    reported = night(D1, "--no-cascade", "--fail-on", "contradictions>1")
    after_reported = _tables(lake)
    corrected = night(D1)
    after_corrected = _tables(lake)
    forgetting = night(D3, "--set", "retention.sends_days=2")
    return Story(
        lake, first, third, third_alone, second, after_second, reported, after_reported, corrected, after_corrected,
        forgetting,
    )  # fmt: skip


def test_dump(story: Story) -> None:
    for name in ("first", "third", "second", "reported", "corrected", "forgetting"):
        said = getattr(story, name)
        print("=====", name, said.code)
        print(said.out)
        print(said.err)
    print(story.third_alone)
    for name in ("isolation_intervals", "send_calls", "fault_item_state", "producer_days", "broker_incidents"):
        print("##", name)
        for row in story.after_second[name]:
            print({k: v for k, v in row.items() if k in ("event_date","client_id","process","broker_name","start_at","end_at","ended_by","cause","contradictions","isolations","isolated_ms","enforced","not_replayed","switch_assumed", "peak_producers", "producers", "available_at_ms", "sends", "lost")})
    for row in story.rows("run_log"):
        print(row)
    assert False
