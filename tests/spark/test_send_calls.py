"""Sends as their callers saw them, and what fault latency did: each verdict in its smallest case."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.fault_latency.effects.broker_health import broker_health
from jobs.fault_latency.effects.calls import calls_of_one_attempt, calls_of_several_attempts
from jobs.fault_latency.effects.send_calls import plain_calls, send_calls, troubled_calls
from jobs.fault_latency.keys import RULED_BY, RULES

ATTEMPTS = (
    "cluster string, client_id string, producer_group string, process string, enforced boolean, version string,"
    " topic string, mode string, by_caller boolean, not_replayed string, invoke_id bigint, attempt int, seq bigint,"
    " started_at_ms bigint, ended_at_ms bigint, latency_ms bigint, outcome string, broker_name string,"
    " result_broker_name string, row_hash bigint, process_id string"
)
CHOICES = f"{ATTEMPTS}, isolated_brokers array<string>, since_ms bigint"
HEALTH = "cluster string, bucket bigint, tried_brokers array<string>, bad_brokers array<string>"
SLOW_MS = 550
REFUSED, LATE = "RemotingConnectException", "FLUSH_DISK_TIMEOUT"


def _attempt(
    row_hash: int, ended_at_ms: int, latency_ms: int = 5, outcome: str = "SEND_OK", **other: Any
) -> tuple[Any, ...]:
    row = {
        "cluster": "c", "client_id": "p", "producer_group": "g", "process": "A", "enforced": True, "version": "5.3.3",
        "topic": "t", "mode": "SYNC", "by_caller": False, "not_replayed": None, "invoke_id": None, "attempt": 1,
        "seq": None, "started_at_ms": ended_at_ms - latency_ms, "ended_at_ms": ended_at_ms, "latency_ms": latency_ms,
        "outcome": outcome, "broker_name": "a", "result_broker_name": None,
        "row_hash": row_hash,
    } | other  # fmt: skip
    row["process_id"] = row["process"]
    return tuple(row.values())


def _calls(spark: SparkSession, attempts: list[tuple[Any, ...]]) -> DataFrame:
    frame = spark.createDataFrame(attempts, ATTEMPTS)
    of_several = calls_of_several_attempts(frame, frame, SLOW_MS)
    return calls_of_one_attempt(frame, of_several, SLOW_MS).unionByName(of_several)


def _send_calls(
    spark: SparkSession,
    attempts: list[tuple[Any, ...]],
    choices: list[tuple[Any, ...]] | None = None,
    health: list[tuple[Any, ...]] | None = None,
) -> DataFrame:
    """Rows of the table; of each choice the attempt with its isolated brokers and since when its own was."""
    frame = spark.createDataFrame(attempts, ATTEMPTS)
    chosen, healths = spark.createDataFrame(choices or [], CHOICES), spark.createDataFrame(health or [], HEALTH)
    of_several = calls_of_several_attempts(frame, frame, SLOW_MS)
    return send_calls(troubled_calls(frame, of_several, SLOW_MS), of_several, chosen, healths, SLOW_MS)


def _plain(
    spark: SparkSession, attempts: list[tuple[Any, ...]], choices: list[tuple[Any, ...]] | None = None
) -> DataFrame:
    frame = spark.createDataFrame(attempts, ATTEMPTS)
    logged = frame.withColumns(
        {
            "client_version": F.when(F.col("not_replayed").isNull(), F.col("version")).otherwise("3.2.6"),
            "client_language": F.lit("JAVA"),
            "fault_latency_enabled": F.col("enforced"),
            "detector_enabled": F.lit(False),
            "queue_chosen_by": F.when(F.col("by_caller"), "CALLER"),
            "one_line_per": F.lit(None).cast("string"),
            "broker_addr": F.lit(None).cast("string"),
        }
    )
    missing = {name: F.lit(None) for name in RULES if name not in logged.columns}
    per_process = logged.withColumns(missing).select(*RULED_BY, "process", *RULES)
    chosen = spark.createDataFrame(choices or [], CHOICES)
    return plain_calls(logged, per_process, calls_of_several_attempts(frame, frame, SLOW_MS), chosen, SLOW_MS)


def test_attempts_of_one_invoke_id_are_one_send(spark: SparkSession) -> None:
    attempts = [
        _attempt(3, 3_010, 5, "SEND_OK", invoke_id=7, attempt=2, broker_name="b"),
        _attempt(9, 3_000, 3_000, "RemotingTimeoutException", invoke_id=7, topic="u"),  # the first one tells the rest
        _attempt(4, 500, 5, "SEND_OK", invoke_id=8, result_broker_name="b"),  # a hidden retry answered elsewhere
        _attempt(5, 600, 5, REFUSED, invoke_id=9),
        _attempt(6, 600, 5, REFUSED, invoke_id=9),  # the hook fired twice for one attempt
        _attempt(7, 700),  # without an invoke id each attempt is a send
        _attempt(8, 700),
        _attempt(2, 700, invoke_id=7, process="B"),  # another process counts its own
        _attempt(1, 100, 5, started_at_ms=900),  # the clock was set back meanwhile
    ]
    calls = _calls(spark, attempts)
    found = {row["row_hash"]: row.asDict() for row in calls.collect()}
    assert sorted(found) == [1, 2, 4, 5, 7, 8, 9]
    assert {key: found[key]["topic"] for key in (9, 4)} == {9: "u", 4: "t"}
    names = ("started_ms", "ended_ms", "total_ms", "attempts", "broker_names", "outcome", "failed", "retried", "slow")
    assert {key: tuple(found[key][name] for name in names) for key in (9, 4, 5, 1)} == {
        9: (0, 3_010, 3_010, 2, ["a", "b"], "SEND_OK", False, True, True),
        4: (495, 500, 5, 1, ["a", "b"], "SEND_OK", False, True, False),
        5: (595, 600, 5, 1, ["a", "a"], REFUSED, True, False, False),
        1: (100, 100, 0, 1, ["a"], "SEND_OK", False, False, False),
    }
    told = {row["row_hash"]: (row["start_ms"], row["end_ms"]) for row in _send_calls(spark, attempts).collect()}
    assert told == {9: (0, 3_010), 4: (495, 500), 5: (595, 600)}  # of the others only their number


def test_plain_sends_are_counted(spark: SparkSession) -> None:
    """Each send that is no row of `send_calls`: by what differs, and by the hour of its end."""
    hour = 3_600_000
    attempts = [
        _attempt(1, hour - 1), _attempt(2, 2), _attempt(3, hour), _attempt(4, 25 * hour),
        _attempt(11, 9, 550), _attempt(12, 9, 549), _attempt(13, 9, 900, "SENT"), _attempt(14, 9, 5, REFUSED),
        _attempt(15, 9, result_broker_name="b"), _attempt(16, 9, result_broker_name="a"),
        _attempt(21, 9, topic=None), _attempt(22, 9, mode="ASYNC"), _attempt(23, 9, enforced=False),
        _attempt(24, 9, by_caller=True), _attempt(25, 9, by_caller=True, not_replayed="CLIENT_TOO_OLD"),
        _attempt(26, 9, producer_group="h"),
        _attempt(31, 9, 5, LATE, invoke_id=1), _attempt(32, 10, invoke_id=1),  # one attempt, two lines: not retried
        _attempt(33, 9, 5, LATE, invoke_id=2), _attempt(34, 10, invoke_id=2, attempt=2),
        _attempt(35, hour - 1, 5, LATE, invoke_id=3), _attempt(36, hour + 1, invoke_id=3),  # ended in the next hour
        _attempt(37, 9, invoke_id=5), _attempt(38, 10, invoke_id=5),  # both SEND_OK: two sends
        _attempt(41, 9), _attempt(42, 9),
        _attempt(43, 9, 5, LATE, invoke_id=4), _attempt(44, 10, invoke_id=4),
        _attempt(45, 9, 900),
    ]  # fmt: skip
    of = {row[-2]: row for row in attempts}
    choices = [(*of[hash_], brokers, None) for hash_, brokers in ((41, ["b"]), (42, []), (43, ["b"]), (45, ["b"]))]
    found = _plain(spark, attempts, choices).collect()
    names = ("producer_group", "topic", "mode", "enforced", "fault_latency", "hour", "calls")
    assert sorted((tuple(row[name] for name in names) for row in found), key=str) == sorted(
        [
            ("g", "t", "SYNC", True, "NONE_ISOLATED", 0, 9),  # 1, 2, 12, 13, 16, 31 with 32, 37, 38, and 42
            ("g", "t", "SYNC", True, "NONE_ISOLATED", 1, 3),  # 3, 4 of the next day's clock, 35 with 36
            ("g", None, "SYNC", True, "NONE_ISOLATED", 0, 1),
            ("g", "t", "ASYNC", True, "NONE_ISOLATED", 0, 1),
            ("g", "t", "SYNC", False, "NONE_ISOLATED", 0, 1),
            ("g", "t", "SYNC", True, "CALLER_CHOSE_QUEUE", 0, 1),
            ("g", "t", "SYNC", True, "NOT_REPLAYED", 0, 1),
            ("h", "t", "SYNC", True, "NONE_ISOLATED", 0, 1),
        ],
        key=str,
    )
    listed = _send_calls(spark, attempts, choices).collect()
    assert sorted(row["row_hash"] for row in listed) == [11, 14, 15, 33, 41, 43, 45]
    all_calls = _calls(spark, attempts).count()
    assert all_calls == len(listed) + sum(row["calls"] for row in found)


HELD = ["b"]
FINE: dict[str, Any] = {}
SLOW: dict[str, Any] = {"latency_ms": 900}
FAILED: dict[str, Any] = {"outcome": REFUSED}
CASES: list[tuple[dict[str, Any], list[str], bool, dict[str, bool], str]] = [
    # the send, isolated brokers, whether it went to one, brokers that were bad for others, what fault latency did
    (FINE, [], False, {}, "NONE_ISOLATED"),
    (FINE, HELD, True, {"b": True}, "SENT_TO_ISOLATED"),
    (FINE, HELD, False, {"b": True}, "SPARED"),
    (FINE, ["b", "d"], False, {"b": False, "d": True}, "SPARED"),
    (FAILED, HELD, False, {"b": True}, "NO_DIFFERENCE"),
    (FINE, HELD, False, {"b": False}, "NO_DIFFERENCE"),
    (SLOW, HELD, False, {"b": False}, "COST"),
    (FAILED, HELD, False, {"b": False, "d": True}, "COST"),  # d was not avoided
    (SLOW, HELD, False, {"a": True}, "UNKNOWN"),  # nobody sent to b
    (FINE, HELD, False, {}, "UNKNOWN"),  # nobody sent at all
    (FINE | {"by_caller": True}, HELD, True, {"b": True}, "CALLER_CHOSE_QUEUE"),
    (FINE | {"not_replayed": "NOT_A_JAVA_CLIENT"}, HELD, False, {"b": True}, "NOT_REPLAYED"),
    (FAILED | {"enforced": False}, HELD, True, {}, "WOULD_HAVE_SPARED"),
    (SLOW | {"enforced": False}, HELD, True, {}, "WOULD_HAVE_SPARED"),
    (FINE | {"enforced": False}, HELD, True, {}, "WOULD_HAVE_COST"),
    (FINE | {"enforced": False}, HELD, False, {"b": True}, "NO_DIFFERENCE"),
]


def test_what_fault_latency_did(spark: SparkSession) -> None:
    """All cases at once, a cluster each."""
    attempts, choices, healths = [], [], []
    for place, (send, isolated, went_to_isolated, health, _) in enumerate(CASES):
        cluster = f"c{place}"
        told: dict[str, Any] = {"latency_ms": 5, "outcome": "SEND_OK"} | send
        attempts.append(_attempt(place, 1_000, told.pop("latency_ms"), told.pop("outcome"), cluster=cluster, **told))
        choices.append((*attempts[-1], isolated, 0 if went_to_isolated else None))
        healths.append((cluster, 0, list(health), [name for name, is_bad in health.items() if is_bad]))
    found = _send_calls(spark, attempts, choices, healths)
    effects = {row["cluster"]: (row["fault_latency"], row["isolated_brokers"]) for row in found.collect()}
    assert effects == {
        f"c{place}": (effect, isolated)
        for place, (_, isolated, _, _, effect) in enumerate(CASES)
        if isolated  # the first case is a plain send
    }
    assert [row["cluster"] for row in _plain(spark, attempts, choices).collect()] == ["c0"]


def test_a_broker_is_bad_in_a_second_when_half_of_the_attempts_that_begin_then_are(spark: SparkSession) -> None:
    attempts = [
        _attempt(1, 5_500, outcome=REFUSED),  # a: one of two
        _attempt(2, 5_500),
        _attempt(3, 6_300, 900, broker_name="b"),  # b: one slow of four
        *(_attempt(row, 5_500, broker_name="b") for row in (4, 5)),
        _attempt(6, 5_500, 3, "RemotingTimeoutException", broker_name="d"),  # no time was left: says nothing of d
        _attempt(7, 6_004, 5, broker_name="b"),  # began before the second was over
        _attempt(8, 6_005, 5, REFUSED),  # a, the next second
        _attempt(9, 6_300, 900, "SENT", broker_name="e"),  # one-way: its time says nothing
    ]
    frame = spark.createDataFrame(attempts, ATTEMPTS)
    found = broker_health(frame, frame.where("row_hash IN (1, 8)"), "started_at_ms", SLOW_MS)
    told = {row["bucket"]: (sorted(row["tried_brokers"]), row["bad_brokers"]) for row in found.collect()}
    assert told == {5: (["a", "b", "e"], ["a"]), 6: (["a"], ["a"])}


def test_what_is_slow_and_what_failed(spark: SparkSession) -> None:
    attempts = [
        _attempt(1, 9_000, 550),
        _attempt(2, 9_000, 549),
        _attempt(3, 9_000, 900, "SENT"),  # one-way: its time says nothing
        _attempt(4, 9_000, 900, REFUSED),
        _attempt(5, 9_000, 900, "FLUSH_DISK_TIMEOUT"),
        _attempt(6, 8_000, 300, "FLUSH_SLAVE_TIMEOUT", invoke_id=1),  # 7,700 to 8,250, in two attempts
        _attempt(7, 8_250, 200, invoke_id=1, attempt=2),
        _attempt(8, 8_000, 5, started_at_ms=None),  # it began its latency before its end
    ]
    found = {row["row_hash"]: row for row in _calls(spark, attempts).collect()}
    told = {key: (row["total_ms"], row["failed"], row["slow"], row["is_bad_first"]) for key, row in found.items()}
    assert told == {
        1: (550, False, True, True),
        2: (549, False, False, False),
        3: (900, False, False, False),
        4: (900, True, False, True),
        5: (900, False, True, True),
        6: (550, False, True, False),
        8: (5, False, False, False),
    }


def test_the_attempts_of_a_send_are_in_the_total_order(spark: SparkSession) -> None:
    """First by the end, then by seq (none is last), by the start, by the attempt, by the line."""
    other: dict[str, Any] = {"outcome": REFUSED, "broker_name": "z"}
    attempts = [
        _attempt(12, 9_001, invoke_id=1, seq=1, **other),
        _attempt(11, 9_000, invoke_id=1, seq=2),
        _attempt(21, 9_000, invoke_id=2, seq=None, **other),
        _attempt(22, 9_000, invoke_id=2, seq=9),
        _attempt(31, 9_000, invoke_id=3, seq=2, **other),
        _attempt(32, 9_000, invoke_id=3, seq=1),
        _attempt(41, 9_000, 5, invoke_id=4, **other),
        _attempt(42, 9_000, 6, invoke_id=4),
        _attempt(51, 9_000, invoke_id=5, attempt=2, **other),
        _attempt(52, 9_000, invoke_id=5, attempt=1),
        _attempt(62, 9_000, invoke_id=6, **other),
        _attempt(61, 9_000, invoke_id=6),
    ]
    found = _calls(spark, attempts).collect()
    assert {row["row_hash"]: (row["broker_names"], row["outcome"]) for row in found} == {
        first: (["a", "z"], REFUSED) for first in (11, 22, 32, 42, 52, 61)
    }


def test_attempts_are_counted_by_their_numbers(spark: SparkSession) -> None:
    attempts = [
        _attempt(1, 9_000, 5, LATE, invoke_id=1, attempt=None),
        _attempt(2, 9_001, invoke_id=1, attempt=None),
        _attempt(3, 9_000, 5, LATE, invoke_id=2, attempt=1, result_broker_name="b"),
        _attempt(4, 9_001, invoke_id=2, attempt=1),  # the hook fired twice, the first time with a hidden retry
        _attempt(5, 9_000, invoke_id=3, result_broker_name="a"),
    ]
    found = _calls(spark, attempts).collect()
    assert {row["row_hash"]: (row["attempts"], row["broker_names"], row["retried"]) for row in found} == {
        1: (2, ["a", "a"], True),
        3: (1, ["a", "b", "a"], True),
        5: (1, ["a"], False),
    }


def test_what_a_send_would_have_been_spared_is_shown_by_its_first_attempt(spark: SparkSession) -> None:
    off: dict[str, Any] = {"enforced": False, "invoke_id": 7}
    attempts = [
        _attempt(1, 1_000, outcome=REFUSED, **off),
        _attempt(2, 1_010, attempt=2, broker_name="b", **off),
        _attempt(3, 1_000, cluster="d", **off),
        _attempt(4, 1_010, outcome=REFUSED, attempt=2, broker_name="b", cluster="d", **off),
    ]
    choices = [(*attempts[first], ["a"], 0) for first in (0, 2)]
    found = _send_calls(spark, attempts, choices)
    assert {row["cluster"]: row["fault_latency"] for row in found.collect()} == {
        "c": "WOULD_HAVE_SPARED", "d": "WOULD_HAVE_COST",
    }  # fmt: skip
