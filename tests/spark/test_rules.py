"""The rules of the clients, each on a frame small enough to read: ladder, outcome, version, policy."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs.fault_latency.producers.rules import with_rules
from jobs.settings.client_profiles import released_profiles
from jobs.settings.model import ProducerSettings
from tests.given.rules import assert_rule
from udfs.choice import began_at_ms, chosen_at_ms
from udfs.ladder import Ladder, isolation_ms, plain_isolation_ms
from udfs.outcome import (
    counts_as_failure,
    counts_with_latency,
    effective_outcome,
    hides_a_wait,
    is_answer,
    is_known_outcome,
    is_out_of_time,
    leaves_reachable,
)
from udfs.policy import gated_by_reachable, keeps_latest, not_available_ms
from udfs.version import version_number

OLD = Ladder((50, 100, 550, 1000, 2000, 3000, 15000), (0, 0, 30000, 60000, 120000, 180000, 600000))
NEW = Ladder((50, 100, 550, 1800, 3000, 5000, 15000), (0, 0, 2000, 5000, 6000, 10000, 30000))
POLICIES = [profile.policy(profile.name) for profile in released_profiles()]


@pytest.mark.parametrize(
    ("ladder", "rows"),
    [
        (
            OLD,
            [
                (0, 0),
                (49, 0),
                (50, 0),
                (549, 0),
                (550, 30000),
                (999, 30000),
                (1000, 60000),
                (1999, 60000),
                (2000, 120000),
                (2999, 120000),
                (3000, 180000),
                (14999, 180000),
                (15000, 600000),
                (2**63 - 1, 600000),
                (-1, 0),
                (None, None),
            ],
        ),
        (
            NEW,
            [
                (549, 0),
                (550, 2000),
                (1799, 2000),
                (1800, 5000),
                (2999, 5000),
                (3000, 6000),
                (4999, 6000),
                (5000, 10000),
                (14999, 10000),
                (15000, 30000),
                (None, None),
            ],
        ),
        # The last floor that is reached decides, though an earlier one is higher: the client scans from the end.
        (Ladder((100, 10), (7, 3)), [(9, 0), (10, 3), (99, 3), (100, 3), (1000, 3), (None, None)]),
        (Ladder((0, 5), (4, 0)), [(0, 4), (4, 4), (5, 0), (-1, 0)]),  # a longer latency may earn less
        (Ladder((), ()), [(0, 0), (99999, 0), (None, None)]),
        (Ladder((1, 5, 9), (7, 8)), [(0, 0), (1, 7), (8, 8), (9, None), (99, None)]),  # the client fails: no update
        (Ladder((1, 5), (7, 8, 600)), [(0, 0), (1, 7), (99, 8)]),  # the last isolation is never used
    ],
    ids=["to 5.1.3", "from 5.1.4", "falling floors", "falling isolations", "empty", "a floor more", "a floor less"],
)
def test_ladder(spark: SparkSession, ladder: Ladder, rows: list[tuple[int | None, int | None]]) -> None:
    assert_rule(spark, isolation_ms(F.col("latency_ms"), ladder), "latency_ms bigint", rows, "bigint")
    plain = [(latency, plain_isolation_ms(latency, ladder)) for latency, _ in rows if latency is not None]
    assert plain == [row for row in rows if row[0] is not None]


def test_longest_isolation_of_a_ladder() -> None:
    assert (OLD.longest_ms, Ladder((1, 2), (9, 3)).longest_ms, Ladder((), ()).longest_ms) == (600_000, 9, 0)
    assert Ladder((1,), (9, 600)).longest_ms == 9


def test_version_number(spark: SparkSession) -> None:
    rows = [
        ("4.9.8", 40908),
        ("5.1.4", 50104),
        ("V5_1_4", 50104),
        ("v4.0.0", 40000),
        ("5.3.10-SNAPSHOT", 50310),
        ("100.99.99", 1009999),
        ("5.1", None),
        ("5.1.4.1", None),
        ("5.1.100", None),
        ("5.1.4-rc1", None),
        ("latest", None),
        ("", None),
        (" 5.1.4", None),
        (None, None),
    ]
    assert_rule(spark, version_number(F.col("client_version")), "client_version string", rows, "int")


def test_versions_order_as_releases_do(spark: SparkSession) -> None:
    releases = ["4.9.8", "4.10.0", "5.0.0", "5.1.3", "5.1.4", "5.1.10", "5.2.0"]
    frame = spark.createDataFrame([(each,) for each in releases], "client_version string")
    numbers = [row[0] for row in frame.select(version_number(F.col("client_version"))).collect()]
    assert numbers == sorted(set(numbers))


def test_known_outcomes(spark: SparkSession) -> None:
    rows = [
        ("SEND_OK", True),
        ("FLUSH_DISK_TIMEOUT", True),
        ("FLUSH_SLAVE_TIMEOUT", True),
        ("SLAVE_NOT_AVAILABLE", True),
        ("SENT", True),
        ("RemotingTimeoutException", True),
        ("OutOfMemoryError", True),
        ("My$Inner_1Exception", True),
        ("Throwable", True),
        ("Exception", True),
        ("Exceptional", False),
        ("org.apache.RemotingException", False),  # the simple name was asked for
        ("1Exception", False),
        ("send_ok", False),
        ("TIMEOUT", False),
        ("", False),
        (None, None),
    ]
    assert_rule(spark, is_known_outcome(F.col("outcome")), "outcome string", rows, "boolean")


def test_answers(spark: SparkSession) -> None:
    rows = [
        ("SEND_OK", True),
        ("SLAVE_NOT_AVAILABLE", True),
        ("SENT", True),
        ("MQBrokerException", False),
        (None, None),
    ]
    assert_rule(spark, is_answer(F.col("outcome")), "outcome string", rows, "boolean")


def test_an_async_client_exception_stands_for_its_cause(spark: SparkSession) -> None:
    rows = [
        ("ASYNC", "MQClientException", "RemotingTimeoutException", "RemotingTimeoutException"),
        ("ASYNC", "MQClientException", None, "MQClientException"),
        ("ASYNC", "MQBrokerException", "RemotingTimeoutException", "MQBrokerException"),
        ("SYNC", "MQClientException", "RemotingTimeoutException", "MQClientException"),
        ("ONEWAY", "SENT", None, "SENT"),
        (None, "MQClientException", "RemotingTimeoutException", "MQClientException"),
        ("ASYNC", None, "RemotingTimeoutException", None),
    ]
    rule = effective_outcome(F.col("mode"), F.col("outcome"), F.col("cause"))
    assert_rule(spark, rule, "mode string, outcome string, cause string", rows, "string")


OUTCOMES_BY_RELEASE = [
    # outcome, a missing broker isolates (to 5.1.3), counts with its latency, counts as a failure
    ("SEND_OK", True, True, False),
    ("FLUSH_DISK_TIMEOUT", False, True, False),
    ("SENT", True, True, False),
    ("InterruptedException", True, True, False),
    ("InterruptedException", False, True, False),
    ("MQClientException", True, False, True),
    ("MQClientException", False, True, False),
    ("MQBrokerException", True, False, True),
    ("MQBrokerException", False, False, True),
    ("RemotingException", True, False, True),
    ("RemotingCommandException", True, False, True),
    ("RemotingConnectException", True, False, True),
    ("RemotingSendRequestException", False, False, True),
    ("RemotingTimeoutException", False, False, True),
    ("RemotingTooMuchRequestException", True, False, True),
    ("RuntimeException", True, False, False),  # no catch block updates the item
    ("OutOfMemoryError", False, False, False),
    (None, True, None, None),
]
OUTCOME_SCHEMA = "outcome string, not_exist_isolates boolean"


def test_outcomes_that_count_with_their_latency(spark: SparkSession) -> None:
    rows = [(outcome, isolates, counts) for outcome, isolates, counts, _ in OUTCOMES_BY_RELEASE]
    rule = counts_with_latency(F.col("outcome"), F.col("not_exist_isolates"))
    assert_rule(spark, rule, OUTCOME_SCHEMA, rows, "boolean")


def test_outcomes_that_count_as_a_failure(spark: SparkSession) -> None:
    rows = [(outcome, isolates, fails) for outcome, isolates, _, fails in OUTCOMES_BY_RELEASE]
    rule = counts_as_failure(F.col("outcome"), F.col("not_exist_isolates"))
    assert_rule(spark, rule, OUTCOME_SCHEMA, rows, "boolean")


def test_the_reachable_flag_an_outcome_leaves(spark: SparkSession) -> None:
    rows = [
        ("SEND_OK", True, True),
        ("MQBrokerException", False, False),
        ("MQBrokerException", True, False),
        ("RemotingTimeoutException", False, True),  # nobody would set it back
        ("RemotingTimeoutException", True, False),
        ("MQClientException", True, True),
        ("InterruptedException", True, True),
        (None, True, None),
    ]
    rule = leaves_reachable(F.col("outcome"), F.col("detector_enabled"))
    assert_rule(spark, rule, "outcome string, detector_enabled boolean", rows, "boolean")


def test_what_an_update_earns_under_each_release(spark: SparkSession) -> None:
    rows = [
        ("P1", 549, False, 0),
        ("P1", 550, False, 30_000),
        ("P1", 5, True, 600_000),  # a failure counts as 30 s, whatever it took
        ("P2", 5, True, 600_000),
        ("P3", 15_000, False, 600_000),
        ("P3", 5, True, 600_000),
        ("P4", 550, False, 2_000),
        ("P4", 5, True, 10_000),  # a failure counts as 10 s
        ("P5", 5, True, 10_000),
        ("P5", 15_000, False, 30_000),
        ("P5", None, True, 10_000),
        ("P5", None, False, None),
        ("custom", 12, False, 50),
        ("custom", 5, True, 60),
        ("unheard of", 5_000, True, None),
        (None, 5_000, True, None),
    ]
    custom = released_profiles()[-1].policy("custom", Ladder((10, 20), (50, 60)))
    rule = not_available_ms(F.col("policy"), F.col("latency_ms"), F.col("is_failure"), [*POLICIES, custom])
    assert_rule(spark, rule, "policy string, latency_ms bigint, is_failure boolean", rows, "bigint")


def test_which_release_keeps_the_latest_end(spark: SparkSession) -> None:
    rows = [("P1", False), ("P2", False), ("P3", False), ("P4", True), ("P5", True), (None, None)]
    assert_rule(spark, keeps_latest(F.col("policy"), POLICIES), "policy string", rows, "boolean")


def test_only_5_1_4_shuts_out_a_broker_by_its_flag(spark: SparkSession) -> None:
    rows = [("P1", False), ("P3", False), ("P4", True), ("P5", False), (None, None)]
    assert_rule(spark, gated_by_reachable(F.col("policy"), POLICIES), "policy string", rows, "boolean")


def test_the_released_profiles_begin_where_the_rules_changed() -> None:
    assert [(profile.name, profile.since, profile.since_number) for profile in released_profiles()] == [
        ("P1", "4.0.0", 40000),
        ("P2", "4.8.0", 40800),
        ("P3", "5.1.1", 50101),
        ("P4", "5.1.4", 50104),
        ("P5", "5.2.0", 50200),
    ]


def test_equal_ladders_of_releases_with_other_constants_are_distinguished(spark: SparkSession) -> None:
    """A failure counts as 30 s up to 5.1.3, as 10 s from 5.1.4 on."""
    ladder = Ladder((10_000, 30_000), (50, 60))
    profiles = released_profiles()
    own = [profiles[0].policy("of old", ladder), profiles[-1].policy("of new", ladder)]
    rule = not_available_ms(F.col("policy"), F.col("latency_ms"), F.col("is_failure"), own)
    rows = [
        ("of old", 5, True, 60),
        ("of new", 5, True, 50),
        ("of old", 10_000, False, 50),
        ("of new", 30_000, False, 60),
    ]
    assert_rule(spark, rule, "policy string, latency_ms bigint, is_failure boolean", rows, "bigint")


def test_an_attempt_that_had_no_time(spark: SparkSession) -> None:
    rows = [
        ("RemotingTimeoutException", 50, True),
        ("RemotingTimeoutException", 51, False),
        ("RemotingTooMuchRequestException", 0, True),
        ("RemotingTooMuchRequestException", 51, False),
        ("RemotingConnectException", 0, False),
        ("SEND_OK", 0, False),
        (None, 0, None),
    ]
    rule = is_out_of_time(F.col("outcome"), F.col("latency_ms"))
    assert_rule(spark, rule, "outcome string, latency_ms bigint", rows, "boolean")


def test_when_an_attempt_began_and_its_broker_was_chosen(spark: SparkSession) -> None:
    times = [
        # started, ended, latency, began, chosen on a day that starts at 1,000
        (1_500, 2_000, 400, 1_500, 1_500),  # as logged, whatever the latency says
        (None, 2_000, 400, 1_600, 1_600),
        (2_500, 2_000, 400, 2_500, 2_000),  # the clock was set back meanwhile
        (900, 1_100, 200, 900, 1_000),  # under way at 00:00
        (None, None, None, None, None),
    ]
    schema = "started_at_ms bigint, ended_at_ms bigint, latency_ms bigint"
    assert_rule(spark, began_at_ms(), schema, [(*row[:3], row[3]) for row in times], "bigint")
    known = [(*row[:3], row[4]) for row in times[:-1]]
    assert_rule(spark, chosen_at_ms(F.lit(1_000).cast("bigint")), schema, known, "bigint")


RULES_OF = [
    # version, language, the number, the profile, why it is not replayed
    ("3.6.2", None, 30602, None, "CLIENT_TOO_OLD"),
    ("4.0.0", "JAVA", 40000, "P1", None),
    ("4.7.1", None, 40701, "P1", None),
    ("4.8.0", "java", 40800, "P2", None),
    ("5.1.0", None, 50100, "P2", None),
    ("V5_1_1", None, 50101, "P3", None),
    ("5.1.3", None, 50103, "P3", None),
    ("5.1.4", None, 50104, "P4", None),
    ("5.1.99", None, 50199, "P4", None),
    ("5.2.0", None, 50200, "P5", None),
    ("9.0.0", None, 90000, "P5", None),
    ("latest", None, None, None, "CLIENT_VERSION_UNKNOWN"),
    (None, None, None, None, "CLIENT_VERSION_UNKNOWN"),
    (None, "GO", None, None, "NOT_A_JAVA_CLIENT"),
    ("5.3.3", "GO", 50303, "P5", "NOT_A_JAVA_CLIENT"),
]


RULED_BY = (
    "client_id string, producer_group string, client_version string, client_language string,"
    " fault_latency_enabled boolean, detector_enabled boolean, queue_chosen_by string, one_line_per string"
)


def test_the_rules_of_each_version(spark: SparkSession) -> None:
    rows = [(str(place), "g", *each[:2], *[None] * 4) for place, each in enumerate(RULES_OF)]
    frame = spark.createDataFrame(rows, RULED_BY)
    found = with_rules(frame, {}).collect()
    told = {int(row["client_id"]): (row["version_number"], row["profile"], row["not_replayed"]) for row in found}
    assert told == {place: each[2:] for place, each in enumerate(RULES_OF)}
    assert {(row["enforced"], row["switch_assumed"], row["detector"], row["by_caller"]) for row in found} == {
        (False, True, False, False)
    }


def test_a_call_that_took_its_time_out_hides_a_wait(spark: SparkSession) -> None:
    rows = [
        (2999, 3000, False),
        (3000, 3000, True),
        (3012, 3000, True),
        (3012, 5000, False),
        (9000, None, False),
        (None, None, False),
    ]
    rule = hides_a_wait(F.col("latency_ms"), F.col("call_timeout_ms"))
    assert_rule(spark, rule, "latency_ms bigint, call_timeout_ms bigint", rows, "boolean")


@pytest.mark.parametrize(
    ("line", "group", "client", "expected"),
    [
        (None, {}, {}, None),
        (None, {"send_timeout_ms": 500}, {}, None),
        ("CALL", {}, {}, 3_000),
        ("CALL", {"send_timeout_ms": 500}, {}, 500),
        ("CALL", {"one_line_per": "attempt"}, {}, None),
        (None, {"one_line_per": "call"}, {}, 3_000),
        (None, {"one_line_per": "call"}, {"one_line_per": "attempt"}, None),
        (None, {"one_line_per": "attempt", "send_timeout_ms": 500}, {"one_line_per": "call"}, 500),
        ("TRY", {"one_line_per": "call"}, {}, None),
    ],
)
def test_a_groups_setting_says_whether_a_line_is_a_call(
    spark: SparkSession, line: str | None, group: dict[str, Any], client: dict[str, Any], expected: int | None
) -> None:
    """One try says so itself."""
    rows = [("p", "g", *[None] * 5, line)]
    (found,) = with_rules(
        spark.createDataFrame(rows, RULED_BY), {"g": ProducerSettings(**group), "p": ProducerSettings(**client)}
    ).collect()
    assert found["call_timeout_ms"] == expected


def test_a_client_ids_settings_win_over_its_groups_key_by_key(spark: SparkSession) -> None:
    settings = {
        "g": ProducerSettings(client_version="5.3.3", fault_latency_enabled=True, queue_chosen_by="CALLER"),
        "p": ProducerSettings(client_version="4.9.8", detector_enabled=True),
    }
    rows = [("p", "g", *[None] * 6), ("q", "g", *[None] * 6), ("r", "h", *[None] * 6)]
    frame = spark.createDataFrame(rows, RULED_BY)
    found = with_rules(frame, settings).collect()
    names = ("version", "enforced", "switch_assumed", "detector", "by_caller")
    assert {row["client_id"]: tuple(row[name] for name in names) for row in found} == {
        "p": ("4.9.8", True, False, True, True),
        "q": ("5.3.3", True, False, False, True),
        "r": (None, False, True, False, False),
    }
