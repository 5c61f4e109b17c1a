"""What clients recorded of their own fault items: isolations rest on it, and on the sends where it has holes."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from jobs.settings.load import load_settings
from tests.given.recorded_lines import Line, attempt, change, of, update
from tests.given.site import D1, D2, Site, at, write_lines

FAILED = "RemotingTimeoutException"
LENIENT = load_settings([], ["max_bad_fraction=0.2"], {})
NOON = at(D1, "12:00:00")
SENDS = [
    # Its own ladder isolates for 7 s where the released one gives nothing, and for nothing where that gives 2 s.
    *of("own-ladder", attempt(NOON, 1), attempt(NOON + 20_000, 3, latency_ms=700), attempt(NOON + 30_000, 5)),
    # The update with number 4 was lost, that of a failure; the next line of the item is number 6.
    *of("torn", attempt(NOON, 1), attempt(NOON + 1_000, 3, FAILED), attempt(NOON + 5_000, 5), version="4.9.8"),
    *of("never-known-again", attempt(NOON, 1), attempt(NOON + 1_000, 3, FAILED), version="4.9.8"),
    # Lost is the only update of the other broker.
    *of(
        "never-recorded",
        attempt(NOON, 1),
        attempt(NOON + 1_000, 3, FAILED, broker_name="broker-b"),
        attempt(NOON + 5_000, 5),
        version="4.9.8",
    ),
    *of("gated", attempt(NOON, 1), version="5.1.4"),
    *of("dropped", attempt(NOON, 1, "MQBrokerException")),
    *of("removed", attempt(NOON, 1, "MQBrokerException"), version="4.9.8"),
    # Of two failures near the update the one before it is its, to the same broker.
    *of(
        "causes",
        attempt(NOON, 1, "RemotingSendRequestException", broker_name="broker-b"),
        attempt(NOON + 1, 2, FAILED),
        attempt(NOON + 400, 4, "MQBrokerException"),
    ),
    *of("hidden", attempt(NOON, 1)),
    *of("hidden-after-a-failure", attempt(NOON, 1, FAILED), attempt(NOON + 1_001, 3)),
    *of("off", attempt(NOON, 1, FAILED, fault_latency_enabled=False)),
    *of("without-record", attempt(NOON, 1, FAILED)),
    # Two threads: what has the later number is what the item became, though its clock was read before.
    *of("two-threads", attempt(NOON, 1), attempt(NOON, 2), version="4.9.8"),
    *of("over-midnight", attempt(at(D1, "23:59:59"), 1, FAILED), version="4.9.8"),
    *of("over-midnight", attempt(at(D2, "00:00:03"), 3), version="4.9.8"),
    *of("silent-from-midnight", attempt(at(D1, "23:59:58"), 1, FAILED), version="4.9.8"),
    *of("at-midnight", attempt(at(D2, "00:00:00"), 1, FAILED)),
    # Its clock was set back six seconds between the first two updates: by the clock the second one comes first.
    *of(
        "set-back",
        attempt(NOON, 1, FAILED),
        attempt(NOON - 6_000, 3),
        attempt(NOON + 3_000, 5, FAILED),
        version="4.9.8",
    ),
    # It began yesterday, of which nothing is in the lake.
    *of("from-yesterday", attempt(NOON, 100, FAILED), attempt(NOON + 2_000, 102), version="4.9.8"),
]
UPDATES = [
    *of("own-ladder", update(NOON, 2, 7_000), update(NOON + 20_001, 4, latency_ms=700), update(NOON + 30_001, 6)),
    *of("torn", update(NOON, 2), update(NOON + 5_001, 6)),
    *of("never-known-again", update(NOON, 2)),
    *of("never-recorded", update(NOON, 2), update(NOON + 5_001, 6)),
    *of(
        "gated",
        update(NOON, 2, reachable=False),
        change("REACHABLE", NOON + 4_000, 3, reachable=True, available_at_ms=0),
    ),
    *of("dropped", update(NOON + 1, 2, 10_000), change("DROPPED", NOON + 3_000, 3)),
    *of("removed", update(NOON + 1, 2, 600_000), change("PICKED", NOON + 2_000, 3), change("REMOVE", NOON + 2_001, 4)),
    *of("causes", update(NOON + 2, 3, 10_000), update(NOON + 401, 5, 10_000)),
    *of("hidden", update(NOON + 1, 2, 10_000)),
    *of("hidden-after-a-failure", update(NOON + 1, 2, 900), update(NOON + 1_002, 4, 900)),
    *of("two-threads", update(NOON + 2, 3), update(NOON + 1, 4, 600_000)),
    *of("without-sends", update(NOON, 1, 10_000)),
    *of("over-midnight", update(at(D1, "23:59:59.001"), 2, 600_000), update(at(D2, "00:00:03.001"), 4)),
    *of("silent-from-midnight", update(at(D1, "23:59:58.001"), 2, 600_000), update(at(D2, "00:00:03"), 3)),
    *of("at-midnight", update(at(D2, "00:00:00"), 2, 10_000)),
    *of("set-back", update(NOON, 2, 600_000), update(NOON - 6_000, 4), update(NOON + 3_000, 6, 600_000)),
    *of("from-yesterday", update(NOON + 2_001, 103)),
]


@pytest.fixture(scope="module")
def site(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Site:
    made = Site(spark, tmp_path_factory.mktemp("recorded"), LENIENT)
    made.log(SENDS)
    bad: list[Line] = [
        change("GUESSED", NOON, 9),
        change("UPDATE", NOON, 9),
        update(NOON, 9, available_at_ms=-1),
        {"op": "UPDATE"},
    ]
    write_lines(made.folder / "fault_item_updates" / "updates.jsonl", [*UPDATES, *UPDATES[:1], *bad])
    made.counts = [made.run(day).days[0].counts for day in (D1, D2)]  # type: ignore[attr-defined]
    return made


def isolations(site: Site, producer: str, day: object = D1) -> list[tuple[object, ...]]:
    """Start, end, band, evidence, cause and end of a producer's isolations, in ms after noon of the first day."""
    rows = site.rows("isolation_intervals", client_id=producer, event_date=day)
    assert all(
        row["end_ms"] == row["end_earliest_ms"] == row["end_latest_ms"] for row in rows if row["evidence"] == "RECORDED"
    )
    return sorted(
        (row["start_ms"] - NOON, row["end_ms"] - NOON, row["evidence"], row["cause"], row["ended_by"]) for row in rows
    )


def test_isolations_are_as_the_client_decided(site: Site) -> None:
    assert isolations(site, "own-ladder") == [(-1, 6_999, "RECORDED", "HIDDEN_RETRY", "EXPIRED")]


def test_after_a_hole_an_item_is_replayed_from_sends_until_its_next_line(site: Site) -> None:
    assert isolations(site, "torn") == [(1_000, 5_001, "LOGGED", FAILED, "CLEARED")]
    assert isolations(site, "never-known-again") == [(1_000, 601_000, "LOGGED", FAILED, "EXPIRED")]
    assert isolations(site, "never-recorded") == [(1_000, 601_000, "LOGGED", FAILED, "EXPIRED")]


def test_a_day_that_begins_with_a_hole_is_replayed_from_sends_until_the_first_line(site: Site) -> None:
    assert isolations(site, "from-yesterday") == [(0, 2_001, "LOGGED", FAILED, "CLEARED")]


def test_the_detector_ends_isolations(site: Site) -> None:
    assert isolations(site, "gated") == [(0, 4_000, "RECORDED", "LATENCY", "REACHABLE")]
    assert isolations(site, "dropped") == [(0, 3_000, "RECORDED", "MQBrokerException", "REMOVED")]


def test_a_removed_item_is_available(site: Site) -> None:
    assert isolations(site, "removed") == [(0, 2_001, "RECORDED", "MQBrokerException", "REMOVED")]


def test_a_failure_has_the_outcome_of_the_nearest_line_to_its_broker(site: Site) -> None:
    assert isolations(site, "causes") == [(1, 10_400, "RECORDED", FAILED, "EXPIRED")]
    assert isolations(site, "hidden") == [(0, 10_000, "RECORDED", "HIDDEN_RETRY", "EXPIRED")]
    assert isolations(site, "hidden-after-a-failure") == [
        (0, 900, "RECORDED", FAILED, "EXPIRED"),
        (1_001, 1_901, "RECORDED", "HIDDEN_RETRY", "EXPIRED"),
    ]


def test_what_has_no_record_is_replayed_as_ever(site: Site) -> None:
    assert isolations(site, "without-record") == [(0, 10_000, "LOGGED", FAILED, "EXPIRED")]
    assert isolations(site, "off") == [(0, 10_000, "LOGGED", FAILED, "EXPIRED")]
    assert [row["enforced"] for row in site.rows("isolation_intervals", client_id="off")] == [False]


def test_a_record_without_sends_is_kept_and_not_replayed(site: Site) -> None:
    assert isolations(site, "without-sends") == []
    assert len(site.rows("fault_item_updates", client_id="without-sends")) == 1


def test_the_later_number_wins(site: Site) -> None:
    assert isolations(site, "two-threads") == [(2, 600_000, "RECORDED", "HIDDEN_RETRY", "EXPIRED")]


def test_a_clock_set_back_by_more_than_a_second_is_followed_and_said(site: Site) -> None:
    assert isolations(site, "set-back") == [(-1, 602_999, "RECORDED", FAILED, "EXPIRED")]
    steps = site.rows("findings", "client_id", kind="CLOCK_STEP", event_date=D1)
    assert {row["client_id"] for row in steps} == {"set-back"}


def test_an_isolation_goes_on_over_midnight_and_no_hole_is_seen_there(site: Site) -> None:
    midnight = at(D2, "00:00:00") - NOON
    assert isolations(site, "over-midnight") == [(midnight - 1_000, midnight, "RECORDED", FAILED, "DAY_END")]
    assert isolations(site, "over-midnight", D2) == [(midnight, midnight + 3_001, "RECORDED", FAILED, "CLEARED")]
    changes = site.rows("fault_item_changes", "change", "evidence", "seq", client_id="over-midnight", event_date=D2)
    assert changes == [{"change": "CLEARED", "evidence": "RECORDED", "seq": 4}]
    versions = site.rows("isolation_intervals", "client_version", client_id="over-midnight")
    assert versions == [{"client_version": "4.9.8"}] * 2


def test_numbers_go_on_from_the_last_recorded_line_of_who_sent_nothing(site: Site) -> None:
    state = site.rows("fault_item_state", "last_seq", client_id="silent-from-midnight", event_date=D2)
    assert state == [{"last_seq": 3}]


def test_an_update_that_returned_at_midnight_opens_on_its_own_day(site: Site) -> None:
    midnight = at(D2, "00:00:00") - NOON
    assert isolations(site, "at-midnight") == []
    assert isolations(site, "at-midnight", D2) == [(midnight, midnight + 9_999, "RECORDED", FAILED, "EXPIRED")]


def test_a_producers_day_says_how_many_updates_were_recorded(site: Site) -> None:
    rows = site.rows("producer_days", "client_id", "recorded_updates", "inferred_isolations", event_date=D1)
    recorded = {row["client_id"]: row["recorded_updates"] for row in rows}
    assert {producer: recorded[producer] for producer in ("own-ladder", "removed", "off", "without-record")} == {
        "own-ladder": 3,
        "removed": 3,
        "off": 0,
        "without-record": 0,
    }
    assert {row["inferred_isolations"] for row in rows} == {0}


def test_each_line_is_counted_beside_the_sends(site: Site) -> None:
    (first, second) = site.counts  # type: ignore[attr-defined]
    of_second_day = 2 + 1 + 2  # over-midnight, silent-from-midnight, at-midnight
    assert first.rows_read == len(SENDS) + len(UPDATES) + 5
    assert (first.rows_duplicate, first.rows_quarantined, first.rows_other_day) == (1, 4, of_second_day)
    assert first.rows_published == len(SENDS) + len(UPDATES) - of_second_day
    assert second.rows_published == of_second_day


def test_bad_lines_say_why(site: Site) -> None:
    rows = site.rows("quarantine", "line", "reasons", "detail", source="fault_item_updates", event_date=D1)
    first = len(UPDATES) + 2
    assert rows == [
        {"line": first, "reasons": ["op_unknown"], "detail": "op=GUESSED"},
        {"line": first + 1, "reasons": ["not_available_out_of_range"], "detail": "not_available_ms=null"},
        {"line": first + 2, "reasons": ["available_at_out_of_range"], "detail": "available_at_ms=-1"},
        {
            "line": first + 3,
            "reasons": ["at_missing", "client_id_missing", "broker_missing", "not_available_out_of_range"],
            "detail": "not_available_ms=null",
        },
    ]
