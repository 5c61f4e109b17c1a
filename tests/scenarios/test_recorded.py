"""What clients recorded of their own fault items: isolations rest on it, and on the sends where it has holes.

These producers are published with those of the stories.
"""

from __future__ import annotations

from tests.given.recorded_producers import BAD, FAILED, NOON, SENDS, UPDATES
from tests.given.site import D1, D2, Site, at


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
    assert {row["client_id"] for row in steps} & {row["client_id"] for row in SENDS} == {"set-back"}


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
    of_day = site.rows("producer_days", "client_id", "recorded_updates", "inferred_isolations", event_date=D1)
    rows = [row for row in of_day if row["client_id"] in {line["client_id"] for line in SENDS}]
    recorded = {row["client_id"]: row["recorded_updates"] for row in rows}
    assert {producer: recorded[producer] for producer in ("own-ladder", "removed", "off", "without-record")} == {
        "own-ladder": 3,
        "removed": 3,
        "off": 0,
        "without-record": 0,
    }
    assert {row["inferred_isolations"] for row in rows} == {0}


def test_each_line_is_counted_beside_the_sends(site: Site) -> None:
    files = [*(site.folder / "sends").iterdir(), *(site.folder / "fault_item_updates").iterdir()]
    lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)
    (first, second) = site.counts  # type: ignore[attr-defined]
    assert (first.rows_read, first.rows_duplicate, first.rows_quarantined) == (lines, 1, len(BAD))
    for day, counts in ((D1, first), (D2, second)):
        published = [site.rows(table, "client_id", event_date=day) for table in ("sends", "fault_item_updates")]
        assert all(published)
        assert counts.rows_published == sum(map(len, published))


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
