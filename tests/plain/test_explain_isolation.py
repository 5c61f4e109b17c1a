"""Why an isolation ended, and what could not end it, by the rules of `LatencyFaultToleranceImpl` and `MQFaultStrategy`.

Last write wins: `LatencyFaultToleranceImpl` 4.0.0:33-49. The latest end stays: 5.1.4:100-120. Who writes:
`DefaultMQProducerImpl.sendDefaultImpl` 4.9.4:577-625, 5.3.3:791-849. Ladders: `MQFaultStrategy`
4.0.0:29-32, 5.1.4:29-30.
"""

from __future__ import annotations

from typing import Any

import pytest

from jobs.answers.explain_isolation import Isolation, covering, explained
from jobs.errors import InputMissingError
from jobs.settings.client_profiles import released_profiles
from udfs.ladder import Ladder
from udfs.policy import Policy

T = 1_772_323_200_000  # 2026-03-01 00:00 UTC
PROFILES = {profile.name: profile.policy(profile.name) for profile in released_profiles()}
Row = dict[str, Any]


def isolation(end_ms: int, ended_by: str = "EXPIRED", profile: str = "P5", **other: object) -> Row:
    """From T + 1 s."""
    return {
        "client_id": "p1", "producer_group": "PG", "process": "A", "client_version": "5.3.3", "profile": profile,
        "policy": profile, "broker_name": "broker-a", "start_ms": T + 1_000, "end_ms": T + end_ms,
        "end_earliest_ms": T + end_ms, "end_latest_ms": T + end_ms, "cause": "LATENCY", "evidence": "LOGGED",
        "ended_by": ended_by, "enforced": True, "continued_from_previous_day": False, "after_unknown_start": False,
    } | other  # fmt: skip


def send(at_ms: int, latency_ms: int = 5, outcome: str = "SEND_OK", **other: object) -> Row:
    return {
        "ended_at_ms": T + at_ms, "latency_ms": latency_ms, "outcome": outcome, "mode": "SYNC", "cause": None,
        "seq": at_ms, "thread": "t1", "queue_chosen_by": None, "fault_latency_enabled": True, "submitted_at_ms": None,
    } | other  # fmt: skip


def change(at_ms: int, what: str, latency_ms: int, earned_ms: int, **other: object) -> Row:
    return {
        "changed_at_ms": T + at_ms, "change": what, "seq": at_ms, "current_latency_ms": latency_ms,
        "not_available_ms": earned_ms, "available_at_ms": T + at_ms + earned_ms, "cause": "LATENCY",
        "evidence": "LOGGED", "reachable": None,
    } | other  # fmt: skip


def update(at_ms: int, op: str = "UPDATE", latency_ms: int | None = 5, earned_ms: int | None = 0) -> Row:
    return {
        "called_at_ms": T + at_ms, "op": op, "seq": at_ms, "current_latency_ms": latency_ms, "thread": "t1",
        "not_available_ms": earned_ms,
    }  # fmt: skip


def why(row: Row, changes: list[Row], attempts: list[Row], updates: list[Row] | None = None) -> Isolation:
    return explained(row, changes, attempts, updates or [], PROFILES[row["profile"]])


def effects(isolation: Isolation) -> dict[int, str]:
    """`seq` to effect."""
    return {line.seq or 0: line.effect for line in isolation.lines}


def test_its_time_was_over_although_fast_answers_came() -> None:
    """P5: 600 ms reach 550 and earn 2 s; under MAX nothing that earns 0 counts (5.1.4:100-120)."""
    found = why(
        isolation(3_000),
        [change(1_000, "OPENED", 600, 2_000)],
        [send(1_000, 600), send(1_500), send(2_900, 549), send(2_999, 0, "MQClientException")],
    )
    assert found.why == (
        "its time was over: no later attempt moved the end that SYNC SEND_OK (00:00:01.000, seq 1000, thread t1) set,"
        " 3 later writes could not; P5 gives 2 s for 600 ms"
    )
    opener, *later = found.lines
    assert (opener.latency_ms, opener.rung_ms, opener.earned_ms, opener.until_ms) == (600, 550, 2_000, T + 3_000)
    assert opener.effect == "opened it, until 00:00:03.000"
    assert {line.effect for line in later} == {
        "could not move the end: under MAX a write that earns nothing does not count"
    }
    assert [(line.rung_ms, line.earned_ms) for line in later] == [(None, 0), (100, 0), (None, 0)]


def test_the_latest_end_stays_and_a_later_one_moves_it() -> None:
    """P5: a failure looks up 10,000 ms and earns 10 s, a slow answer of 1,800 ms 5 s."""
    found = why(
        isolation(14_000),
        [
            change(1_000, "OPENED", 3, 10_000, cause="RemotingConnectException"),
            change(4_000, "EXTENDED", 7, 10_000, cause="MQBrokerException"),
        ],
        [send(1_000, 3, "RemotingConnectException"), send(2_000, 1_800), send(4_000, 7, "MQBrokerException")],
    )
    assert effects(found) == {
        1_000: "opened it, until 00:00:11.000",
        2_000: "could not move the end: MAX keeps the later one, and 00:00:07.000 is not later",
        4_000: "moved the end to a later one, 00:00:14.000",
    }
    assert found.why.endswith("P5 gives 10 s for a failure, which counts as 10,000 ms")
    assert "MQBrokerException (00:00:04.000, seq 4000" in found.why


def test_a_fast_answer_ends_it_where_the_last_write_wins() -> None:
    """P2: 600 ms earn 30 s, a failure 600 s; each write sets the end, also one that earns 0 (4.0.0:33-49)."""
    found = why(
        isolation(9_000, "CLEARED", "P2"),
        [
            change(1_000, "OPENED", 2, 600_000, cause="RemotingTimeoutException"),
            change(5_000, "EXTENDED", 600, 30_000),
            change(9_000, "CLEARED", 4, 0),
        ],
        [send(1_000, 2, "RemotingTimeoutException"), send(5_000, 600), send(9_000, 4), send(9_010, 4)],
    )
    assert effects(found) == {
        1_000: "opened it, until 00:10:01.000",
        5_000: "moved the end to an earlier one, 00:00:35.000",
        9_000: "ended it",
        9_010: "nothing to end: the broker was available",
    }
    assert found.why == (
        "SYNC SEND_OK (00:00:09.000, seq 9000, thread t1) ended it: its 4 ms earn 0 s, and under LAST_WRITE each write"
        " sets the end"
    )


def test_the_submit_call_of_an_async_send_ends_it() -> None:
    """4.9.8: `sendDefaultImpl` updates once more when the submit call returns, with the time that it took."""
    found = why(
        isolation(2_000, "CLEARED", "P2"),
        [change(1_000, "OPENED", 600, 30_000), change(2_000, "CLEARED", 1, 0, seq=2_020)],
        [send(1_000, 600), send(2_020, 21, mode="ASYNC", submitted_at_ms=T + 2_000)],
    )
    assert found.why.startswith("submit call of ASYNC SEND_OK (00:00:02.000, seq 2020")
    assert [line.at_ms - T for line in found.lines] == [1_000, 2_000, 2_020]


@pytest.mark.parametrize(
    ("attempt", "effect"),
    [
        ({"queue_chosen_by": "CALLER"}, "the caller chose the queue: the client writes nothing"),
        ({"fault_latency_enabled": False}, "its switch was off: it is of another fault item"),
        ({"outcome": "MQRedirectException"}, "the client writes nothing after MQRedirectException"),
        # 5.1.4 on: `sendDefaultImpl` counts an MQClientException with its latency; an interruption in every release
        ({"outcome": "MQClientException"},
         "could not move the end: under MAX a write that earns nothing does not count"),
        ({"outcome": "InterruptedException", "latency_ms": 600},
         "could not move the end: MAX keeps the later one, and 00:00:03.500 is not later"),
        # in a callback every failure isolates: `MQClientAPIImpl.sendMessageAsync` 5.3.3:604-675
        ({"mode": "ASYNC", "outcome": "MQClientException", "cause": "RemotingTimeoutException"},
         "could not move the end: MAX keeps the later one, and 00:00:11.500 is not later"),
        ({"mode": "ASYNC", "queue_chosen_by": "CALLER", "outcome": "MQBrokerException"},
         "could not move the end: MAX keeps the later one, and 00:00:11.500 is not later"),
    ],
)  # fmt: skip
def test_an_attempt_that_moves_nothing_says_why(attempt: Row, effect: str) -> None:
    opener = change(1_000, "OPENED", 16_000, 30_000)  # P5: 15,000 ms and more earn 30 s
    found = why(isolation(31_000), [opener], [send(1_000, 16_000), send(1_500) | attempt])
    assert effects(found)[1_500] == effect


def test_up_to_5_1_3_an_exception_of_the_client_is_a_failure() -> None:
    """`not_exist_isolates`: 4.9.4 `sendDefaultImpl` isolates for 600 s, whatever the latency."""
    opener = change(1_000, "OPENED", 1, 600_000, cause="MQClientException")
    found = why(isolation(601_000, profile="P2"), [opener], [send(1_000, 1, "MQClientException")])
    assert found.why.endswith("P2 gives 600 s for a failure, which counts as 30,000 ms")


def test_a_call_that_took_its_time_out_writes_nothing() -> None:
    row = isolation(3_000, evidence="INFERRED_CALL")
    found = why(
        row, [change(1_000, "OPENED", 600, 2_000, evidence="INFERRED_CALL")], [send(1_000, 600), send(2_500, 3_000)]
    )
    assert effects(found)[2_500].startswith("a whole call: one that took its time-out")
    assert found.rests_on.startswith("INFERRED_CALL: what opened it follows from one line")


def test_an_uneven_ladder_makes_the_client_fail() -> None:
    """A floor without an isolation: ArrayIndexOutOfBoundsException out of `send`, before the update."""
    policy = Policy("own", "P5", Ladder((550, 1_000), (2_000,)), 10_000, "MAX", False, False)
    found = explained(
        isolation(3_000), [change(1_000, "OPENED", 600, 2_000)], [send(1_000, 600), send(1_500, 1_000)], [], policy
    )
    assert effects(found)[1_500].startswith("the ladder has no isolation for its floor")


def test_without_the_producers_own_ladder_its_rungs_are_not_known() -> None:
    policy = Policy("own", "P5", Ladder((), ()), 10_000, "MAX", False, False)
    found = explained(
        isolation(3_000), [change(1_000, "OPENED", 600, 2_000)], [send(1_000, 600), send(1_500)], [], policy
    )
    assert found.why.endswith("; the client's own ladder gave it 2 s")
    assert [(line.rung_ms, line.earned_ms) for line in found.lines] == [(None, 2_000), (None, None)]
    assert effects(found)[1_500] == "the producer's ladder is not known"


def test_what_the_client_recorded_counts_and_not_its_attempts() -> None:
    row = isolation(4_000, "REMOVED", "P2", evidence="RECORDED")
    found = why(
        row,
        [
            change(1_001, "OPENED", 40, 600_000, cause="RemotingTimeoutException", evidence="RECORDED"),
            change(4_000, "REMOVED", 0, 0, evidence="RECORDED"),
        ],
        [send(1_000, 39, "RemotingTimeoutException")],
        [
            update(1_001, "UPDATE", 40, 600_000),
            update(3_000, "PICKED", None, None),
            update(4_000, "REMOVE", None, None),
        ],
    )
    assert effects(found) == {
        1_000: "wrote what is recorded",
        1_001: "opened it, until 00:10:01.001",
        3_000: "the fallback chose this broker; that changes nothing",
        4_000: "removed the fault item, which ended it",
    }
    # 4.9.4 `MQFaultStrategy.selectOneMessageQueue`: remove(notBestBroker) when it has no write queue in the route
    assert "found no queue to write to in the topic's route, and removed its item" in found.why
    assert found.rests_on.startswith("RECORDED: the client recorded its own updates")


def test_a_failure_in_the_record_is_known_by_what_it_earned() -> None:
    """An update that earns what 10,000 ms earn and not its own latency: a failure under P5."""
    found = why(
        isolation(11_000, evidence="RECORDED"),
        [change(1_000, "OPENED", 3, 10_000, cause="RemotingConnectException", evidence="RECORDED")],
        [],
        [
            update(1_000, "UPDATE", 3, 10_000),
            update(1_000 + 1, "UPDATE", 600, 2_000),
            update(900 + 200, "UPDATE", 2, 9_500),
        ],
    )
    by_seq = {line.seq: (line.looked_up_ms, line.rung_ms) for line in found.lines}
    assert by_seq == {1_000: (10_000, 5_000), 1_001: (600, 550), 1_100: (None, None)}


def test_the_detector_drops_an_item() -> None:
    row = isolation(4_000, "REMOVED", evidence="RECORDED")
    removed = change(4_000, "REMOVED", 0, 0, cause="DETECTOR", evidence="RECORDED")
    found = why(row, [change(1_000, "OPENED", 16_000, 30_000), removed], [], [update(4_000, "DROPPED", None, None)])
    assert found.why.endswith("the client's detector dropped the item of a broker that no longer has an address")


@pytest.mark.parametrize(
    ("ended_by", "sentence"),
    [
        ("RESTARTED", "a new process of the producer began, which knows nothing of it"),
        ("DAY_END", "it still stands at 24:00 UTC; a row of the next day continues it"),
        ("REACHABLE", "its reachable flag became true again, which under this profile counts whatever the window says"),
        ("CLEARED", "CLEARED, by a write that no line of the published day shows"),
    ],
)
def test_an_end_that_no_change_of_the_day_made(ended_by: str, sentence: str) -> None:
    assert why(isolation(9_000, ended_by, "P4"), [change(1_000, "OPENED", 600, 2_000)], []).why == sentence


def test_a_false_flag_isolates_without_an_end() -> None:
    """5.1.4 `LatencyFaultToleranceImpl`:199-204: not available while `reachable` is false."""
    opener = change(1_000, "OPENED", 3, 10_000, cause="MQBrokerException", reachable=False)
    assert effects(why(isolation(40_000, "REACHABLE", "P4"), [opener], []))[1_000] == "until its reachable flag is true"


def test_what_was_set_the_day_before_has_no_line_today() -> None:
    row = isolation(9_000, profile="P5", continued_from_previous_day=True, after_unknown_start=True)
    found = why(row, [], [send(2_000, 600), send(3_000)])
    assert found.why == "its time was over; the write that set its end is of the day before"
    assert effects(found)[2_000] == "could not move the end: MAX keeps the later one, and 00:00:04.000 is not later"
    assert found.rests_on.endswith("; the day before is not published and could change it")


def test_an_end_that_no_change_set_is_not_put_on_the_day_before() -> None:
    found = why(isolation(9_000), [change(1_000, "OPENED", 600, 2_000)], [])
    assert found.why == "its time was over; the write that set its end is in no published change"


@pytest.mark.parametrize(
    "at_ms",
    [1_000, 80_000_000],  # of this isolation, and of another of the same item and day
)
def test_a_ladder_that_the_day_was_not_published_with_is_not_known(at_ms: int) -> None:
    """The settings give 1,000 ms for 550 ms; 600 ms earned 2,000 ms that day, a failure of 10,000 ms earned 1,000."""
    policy = Policy("P5 with the ladder of PG", "P5", Ladder((550,), (1_000,)), 10_000, "MAX", False, False)
    row = isolation(1_000 + (2_000 if at_ms == 1_000 else 1_000), policy=policy.name)
    opener = change(1_000, "OPENED", 3, 1_000, cause="MQBrokerException")
    changes = [opener, change(80_000_000, "OPENED", 600, 2_000)]
    if at_ms == 1_000:
        changes = [change(1_000, "OPENED", 600, 2_000)]
    found = explained(row, changes, [send(1_500, 700)], [], policy)
    assert found.limits == ("the ladder of these settings is not the one that the day was published with",)
    assert [(line.rung_ms, line.looked_up_ms) for line in found.lines] == [(None, None), (None, None)]
    assert [line.earned_ms for line in found.lines] == [2_000 if at_ms == 1_000 else 1_000, None]
    assert effects(found)[1_500] == "the producer's ladder is not known"
    assert explained(row, [opener], [], [], policy).limits == ()


def test_what_the_client_recorded_does_not_judge_the_ladder_of_the_settings() -> None:
    recorded = change(1_000, "OPENED", 3, 9_500, evidence="RECORDED")
    removed = change(9_000, "REMOVED", 600, 0)
    assert why(isolation(9_000, "REMOVED"), [recorded, removed], []).limits == ()


def test_an_isolation_that_only_another_order_holds() -> None:
    row = isolation(1_000, profile="P2", end_latest_ms=T + 31_000)
    found = why(row, [], [])
    assert found.why.startswith("only another order of writes within a millisecond isolates the broker")
    assert "the lines allow an end from 00:00:01.000 to 00:00:31.000" in found.rests_on


def test_a_log_without_seq_joins_by_time_and_latency() -> None:
    opener = change(1_000, "OPENED", 600, 30_000, seq=None)
    found = why(isolation(31_000, profile="P2"), [opener], [send(1_000, 600, seq=None), send(31_020, 3, seq=None)])
    assert [line.what for line in found.lines] == ["SYNC SEND_OK", "SYNC SEND_OK"]
    assert "(00:00:01.000, without seq, thread t1)" in found.why


def test_a_write_of_an_attempt_at_another_broker_is_named_by_its_cause() -> None:
    opener = change(1_000, "OPENED", 0, 600_000, cause="HIDDEN_RETRY", evidence="INFERRED_RETRY_RESULT_BROKER")
    (alone,) = why(isolation(601_000, profile="P2"), [opener], []).lines
    assert (alone.what, alone.thread) == ("HIDDEN_RETRY, INFERRED_RETRY_RESULT_BROKER", None)
    found = why(isolation(601_000, profile="P2"), [opener], [send(1_000, 30, mode="ASYNC")])
    assert found.lines[0].what == "failed try inside ASYNC SEND_OK"


def test_far_from_the_isolation_only_changes_are_listed() -> None:
    later = change(3_900, "OPENED", 700, 2_000)
    found = why(
        isolation(3_000), [change(1_000, "OPENED", 600, 2_000), later], [send(500), send(1_000, 600), send(3_800)]
    )
    assert [line.seq for line in found.lines] == [1_000, 3_900]


ROWS = [
    isolation(5_000),
    isolation(9_000, start_ms=T + 6_000, end_latest_ms=T + 10_000),
    isolation(5_000, client_id="p2", producer_group="PH"),
    isolation(5_000, client_id="p2b", producer_group="PH"),
]


@pytest.mark.parametrize(
    ("producer", "at_ms", "start_ms"),
    [("p1", 1_000, 1_000), ("PG", 4_999, 1_000), ("p1", 6_500, 6_000), ("p1", 9_500, 6_000), ("p2", 2_000, 1_000),
     ("2b", 2_000, 1_000)],
)  # fmt: skip
def test_one_producer_and_the_isolation_that_holds_then(producer: str, at_ms: int, start_ms: int) -> None:
    assert covering(ROWS, producer, None, "broker-a", T + at_ms)["start_ms"] == T + start_ms


@pytest.mark.parametrize(
    ("producer", "at_ms", "sentence"),
    [
        (
            "PH",
            2_000,
            "'PH' names 2 producers that isolated 'broker-a', such as PH (client 5.3.3, p2), PH (client 5.3.3, p2b);",
        ),
        ("p", 2_000, "'p' names 3 producers"),
        (
            "p2bb",
            2_000,
            "no producer 'p2bb' isolated 'broker-a' on the day asked about (did you mean 'p2b'?); PG (client",
        ),
        (
            "p1",
            500,
            "PG (client 5.3.3, p1) did not isolate 'broker-a' at 2026-03-01 00:00:00.500; the next is 2026-03-01",
        ),
        (
            "p1",
            5_500,
            "the last before it is 2026-03-01 00:00:01.000 – 00:00:05.000 UTC, 4.0 s and the next is 2026-03",
        ),
        ("p1", 10_000, "the last before it is 2026-03-01 00:00:06.000"),
        ("a\x1b[31m", 1, "no producer 'a\\x1b[31m' isolated"),
    ],
)
def test_no_isolation_is_one_sentence(producer: str, at_ms: int, sentence: str) -> None:
    with pytest.raises(InputMissingError) as raised:
        covering(ROWS, producer, None, "broker-a", T + at_ms)
    assert sentence in str(raised.value)
    assert raised.value.exit_code == 3


def test_a_group_names_one_of_the_producers_that_share_a_client_id() -> None:
    rows = [isolation(5_000), isolation(7_000, producer_group="PH")]
    assert covering(rows, "p1", "PH", "broker-a", T + 2_000)["end_ms"] == T + 7_000
    with pytest.raises(InputMissingError) as raised:
        covering(rows, "p1", None, "broker-a", T + 2_000)
    assert str(raised.value) == (
        "'p1' names 2 producers that isolated 'broker-a', such as PG (client 5.3.3, p1), PH (client 5.3.3, p1); give"
        " the client id of one, and with --group its group where several share that id"
    )
    with pytest.raises(InputMissingError, match="no producer 'p1' of group 'PX' isolated 'broker-a' on the day"):
        covering(rows, "p1", "PX", "broker-a", T + 2_000)


def test_nobody_isolated_the_broker() -> None:
    with pytest.raises(
        InputMissingError, match="no producer 'p1' isolated 'broker-x' on the day asked about; nobody did"
    ):
        covering([], "p1", None, "broker-x", T)
