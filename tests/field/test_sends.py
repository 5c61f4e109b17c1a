"""Logs of sends as sites have them, through a run: which broker is isolated, and what is published of failed calls."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from tests.given.commands import Said, command

FIELD = Path(__file__).parent
CASES = {
    "vip": FIELD / "20-vip-port-address-only",
    "ipv6": FIELD / "22-async-retry-ipv6" / "ipv6",
    "calls": FIELD / "23-calls-without-a-broker",
    "pods": FIELD / "24-two-pods-one-producer-id",
    "lines of calls": FIELD / "52-lines-of-calls",
}
ATTEMPTS = ("PG_vip", "PG_async", "PG_call", "PG_pod", "PG_attempts")
LINE_PER = {"inputs.sends": "call", **{f"producers.{group}": "attempt" for group in ATTEMPTS}}
NINE_MS = 1_795_251_600_000


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Said]:
    """The cases in one night: their producers and topics have different names."""
    folder = tmp_path_factory.mktemp("field")
    sends = [word for case in CASES.values() for file in case.glob("sends.*") for word in ("--sends", file)]
    routes = [
        word
        for case in CASES.values()
        if (case / "routes.jsonl").exists()
        for word in ("--routes", case / "routes.jsonl")
    ]
    line_per = [word for name, what in LINE_PER.items() for word in ("--set", f"{name}.one_line_per={what}")]
    said = command(
        spark, "fault-latency", "--date", "2026-11-21", *sends, *routes, *line_per, "--lake", folder / "lake"
    )
    return folder / "lake", said


def _rows(lake: Path, table: str, group: str) -> list[dict[str, object]]:
    rows = DeltaTable(lake / table).to_pyarrow_table().to_pylist()
    return [row for row in rows if row["producer_group"] == group]


def test_the_night_succeeds(lake: tuple[Path, Said]) -> None:
    folder, said = lake
    assert (said.code, "836 lines read = 836 published + 0 quarantined" in said.out) == (0, True), said
    assert len(DeltaTable(folder / "sends").to_pyarrow_table()) == 830  # six lines are calls without an attempt


def test_an_address_by_the_vip_port_is_the_brokers(lake: tuple[Path, Said]) -> None:
    """Case 20: all 60 lines are published, and broker-a is isolated from 09:00:20."""
    assert len(_rows(lake[0], "sends", "PG_vip")) == 60
    (isolation,) = _rows(lake[0], "isolation_intervals", "PG_vip")
    assert (isolation["broker_name"], isolation["start_ms"]) == ("broker-a", NINE_MS + 20_000)


def test_a_retry_is_known_by_the_long_form_of_an_ipv6_address(lake: tuple[Path, Said]) -> None:
    """Case 22: the error names broker-b, so that both brokers failed."""
    isolations = _rows(lake[0], "isolation_intervals", "PG_async")
    assert {(row["broker_name"], row["evidence"]) for row in isolations} == {
        ("broker-a", "INFERRED_RETRY_FIRST"),
        ("broker-b", "INFERRED_RETRY_TEXT"),
    }
    for row in isolations:
        assert (int(str(row["start_ms"])) // 1000, int(str(row["end_ms"])) // 1000) == (
            NINE_MS // 1000 + 33,
            NINE_MS // 1000 + 633,
        )


def test_a_log_of_calls_isolates_no_broker_for_the_wait_for_another(lake: tuple[Path, Said]) -> None:
    """Case 52: broker-b is dead, and broker-a answered calls that waited for it; as attempts they isolate broker-a."""
    folder, said = lake
    isolated = {
        group: [(row["broker_name"], row["evidence"]) for row in _rows(folder, "isolation_intervals", group)]
        for group in ("PG_calls", "PG_attempts")
    }
    assert isolated["PG_calls"] == [("broker-c", "INFERRED_CALL")]
    assert sorted(isolated["PG_attempts"]) == [("broker-a", "LOGGED"), ("broker-c", "LOGGED")]
    assert "1 producer logs calls, not attempts" in said.out + said.err


def test_processes_that_share_an_id_are_not_replayed(lake: tuple[Path, Said]) -> None:
    """Case 24: two pods send in turn, the `seq` of one far above the other's."""
    (day,) = _rows(lake[0], "producer_days", "PG_pod")
    assert (day["sends"], day["failures"], day["isolations"]) == (600, 2, 0)
    assert day["not_replayed"] == "SEVERAL_PROCESSES"
    assert _rows(lake[0], "isolation_intervals", "PG_pod") == []
    (found,) = _rows(lake[0], "findings", "PG_pod")
    assert (found["kind"], found["cause"]) == ("SEVERAL_PROCESSES", "SEQ_FALLS")
    assert str(found["sentence"]).startswith("several processes sent as 172.17.0.2@1, or its clock was set back")


def test_a_call_that_failed_before_it_had_a_broker_is_a_call_without_an_attempt(lake: tuple[Path, Said]) -> None:
    """Case 23: 96 attempts, 4 calls without one."""
    assert len(_rows(lake[0], "sends", "PG_call")) == 96
    assert DeltaTable(lake[0] / "quarantine").to_pyarrow_table().num_rows == 0
    calls = [row for row in _rows(lake[0], "send_calls", "PG_call") if row["attempts"] == 0]
    assert [(row["failed"], row["broker_names"], row["fault_latency"]) for row in calls] == [
        (True, [], "NO_ATTEMPT")
    ] * 4
