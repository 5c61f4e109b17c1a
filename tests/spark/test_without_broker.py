"""From when on a client's fallback may have removed an isolation: each rule is a producer of its own, times in ms.

Topics of a producer are its own: topic T of the case `x` is `x T`.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest
from pyspark.sql import SparkSession

from jobs.fault_latency.fault_items.without_broker import with_removals
from jobs.fault_latency.producers.rules import policies
from jobs.settings.client_profiles import released_profiles
from udfs.fault_window import FAR_MS

OWNER = "cluster string, client_id string, producer_group string, process string, enforced boolean"
ISOLATIONS = (
    f"{OWNER}, broker_name string, client_version string, start_ms bigint, end_ms bigint, end_earliest_ms bigint,"
    " end_latest_ms bigint, policy string, evidence string"
)
SENDS = f"{OWNER}, topic string, by_caller boolean, not_replayed string, broker_name string"
SPANS = "array<struct<broker_name: string, from_ms: bigint, until_ms: bigint>>"
ROUTES = f"cluster string, topic string, queued {SPANS}, permitted {SPANS}, writable {SPANS}"
Span = tuple[str, int, int]


class Case(NamedTuple):
    """What a producer isolated and sent to, and what is expected of each broker.

    Attributes:
        isolated: brokers with start, end, and the latest end where that is another.
        sent: topics with the brokers that their sends name.
        expected: brokers with the earliest end and until when the item may have been removed.
        routes: topics with their brokers over time; queued alone where the name ends in `-`.
    """

    isolated: dict[str, tuple[int, ...]]
    sent: dict[str | None, str]
    expected: dict[str, tuple[int, int | None]]
    routes: dict[str, list[Span]] = {}  # noqa: RUF012 (a NamedTuple's default)
    version: str = "4.9.4"
    enforced: bool = True
    by_caller: bool = False
    policy: str = "P2"
    evidence: str = "LOGGED"


ALWAYS = (0, FAR_MS)
POLICIES = policies(released_profiles(), {})
CASES: dict[str, Case] = {
    "from 5.1.4 on the fallback removes nothing": Case(
        {"a": (1_000, 5_000), "b": (2_000, 4_000)}, {"T": "ab"}, {"a": (5_000, None), "b": (4_000, None)}, policy="P4",
    ),
    "what the client recorded is known": Case(
        {"a": (1_000, 5_000), "b": (2_000, 4_000)}, {"T": "ab"}, {"a": (5_000, None), "b": (4_000, None)},
        evidence="RECORDED",
    ),
    "all isolated, no routes: from the last start on": Case(
        {"a": (1_000, 5_000), "b": (2_000, 4_000)}, {"T": "ab"}, {"a": (2_000, 4_000), "b": (2_000, 4_000)},
    ),
    "the topic is not logged": Case(
        {"a": (1_000, 5_000), "b": (2_000, 4_000)}, {None: "ab"}, {"a": (2_000, 4_000), "b": (2_000, 4_000)},
    ),
    "one broker is left": Case(
        {"a": (1_000, 5_000), "b": (2_000, 4_000)}, {"T": "abc"}, {"a": (5_000, None), "b": (4_000, None)},
    ),
    "one ends as the other starts": Case(
        {"a": (1_000, 2_000), "b": (2_000, 4_000)}, {"T": "ab"}, {"a": (2_000, None), "b": (4_000, None)},
    ),
    "the switch is off": Case(
        {"a": (1_000, 5_000), "b": (2_000, 4_000)}, {"T": "ab"}, {"a": (5_000, None), "b": (4_000, None)},
        enforced=False,
    ),
    "the caller chose each queue": Case(
        {"a": (1_000, 5_000), "b": (2_000, 4_000)}, {"T": "ab"}, {"a": (5_000, None), "b": (4_000, None)},
        by_caller=True,
    ),
    "one that may last counts": Case(
        {"a": (1_000, 2_000, 5_000), "b": (3_000, 6_000)}, {"T": "ab"}, {"a": (2_000, 5_000), "b": (3_000, 5_000)},
    ),
    "it starts while the broker of another topic is the only one": Case(
        {"a": (1_000, 9_000), "c": (3_000, 5_000)}, {"T": "a", "U": "cd"},
        {"a": (1_000, 9_000), "c": (3_000, 5_000)},
    ),
    "of two topics: from the first on, last in the second": Case(
        {"a": (1_000, 9_000), "b": (2_000, 3_000), "c": (4_000, 6_000)}, {"T": "ab", "U": "ac"},
        {"a": (2_000, 6_000), "b": (2_000, 3_000), "c": (4_000, 6_000)},
    ),
    "its routes have each broker throughout": Case(
        {"a": (1_000, 5_000), "b": (2_000, 4_000)}, {"T": "ab"}, {"a": (5_000, None), "b": (4_000, None)},
        {"T": [("a", *ALWAYS), ("b", *ALWAYS)]},
    ),
    "a broker of the route that got no send is left": Case(
        {"a": (1_000, 5_000), "b": (2_000, 4_000)}, {"T": "ab"}, {"a": (5_000, None), "b": (4_000, None)},
        {"T": [("a", *ALWAYS), ("c", *ALWAYS)]},
    ),
    "a broker that the route lacks": Case(
        {"a": (1_000, 5_000), "b": (2_000, 4_000)}, {"T": "ab"}, {"a": (5_000, None), "b": (2_000, 4_000)},
        {"T": [("a", *ALWAYS)]},
    ),
    # A client may learn a route 15 s before it is captured, and polls it up to 40 s after.
    "its route ends meanwhile: from 15 s before the capture on": Case(
        {"a": (50_000, 200_000), "b": (50_000, 200_000)}, {"T": "ab"}, {"a": (200_000, None), "b": (85_000, 200_000)},
        {"T": [("a", *ALWAYS), ("b", 0, 100_000)]},
    ),
    "its route ends 15 s after the isolation": Case(
        {"a": (50_000, 200_000), "b": (50_000, 85_000)}, {"T": "ab"}, {"a": (200_000, None), "b": (85_000, None)},
        {"T": [("a", *ALWAYS), ("b", 0, 100_000)]},
    ),
    "its route begins 40 s before": Case(
        {"a": (50_000, 200_000), "b": (100_000, 200_000)}, {"T": "ab"}, {"a": (200_000, None), "b": (200_000, None)},
        {"T": [("a", *ALWAYS), ("b", 60_000, FAR_MS)]},
    ),
    "its route begins a millisecond less before": Case(
        {"a": (50_000, 200_000), "b": (99_999, 200_000)}, {"T": "ab"}, {"a": (200_000, None), "b": (99_999, 200_000)},
        {"T": [("a", *ALWAYS), ("b", 60_000, FAR_MS)]},
    ),
    "without the write permission, 4.9.7 asks for queues alone": Case(
        {"a": (1_000, 5_000), "b": (2_000, 4_000)}, {"T": "ab"}, {"a": (5_000, None), "b": (4_000, None)},
        {"T": [("a", *ALWAYS), ("b-", *ALWAYS)]}, version="4.9.7",
    ),
    "without the write permission, 4.9.8 asks for it": Case(
        {"a": (1_000, 5_000), "b": (2_000, 4_000)}, {"T": "ab"}, {"a": (5_000, None), "b": (2_000, 4_000)},
        {"T": [("a", *ALWAYS), ("b-", *ALWAYS)]}, version="4.9.8",
    ),
    "without the write permission, 5.1.3 asks for queues alone": Case(
        {"a": (1_000, 5_000), "b": (2_000, 4_000)}, {"T": "ab"}, {"a": (5_000, None), "b": (4_000, None)},
        {"T": [("a", *ALWAYS), ("b-", *ALWAYS)]}, version="5.1.3",
    ),
}  # fmt: skip
Bands = dict[str, tuple[int, int | None]]


def _owner(name: str) -> tuple[object, ...]:
    return ("c", name, "g", name, CASES[name].enforced)


def _topic(case: str, topic: str | None) -> str | None:
    return None if topic is None else f"{case} {topic}"


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> dict[str, Bands]:
    """All cases at once."""
    isolations = [
        (
            *_owner(name),
            f"{name} {broker}",
            case.version,
            times[0],
            times[1],
            times[1],
            times[-1],
            case.policy,
            case.evidence,
        )
        for name, case in CASES.items()
        for broker, times in case.isolated.items()
    ]
    sends = [
        (*_owner(name), _topic(name, topic), case.by_caller, None, f"{name} {broker}")
        for name, case in CASES.items()
        for topic, brokers in case.sent.items()
        for broker in brokers
    ]
    routes = []
    for name, case in CASES.items():
        for topic, spans in case.routes.items():
            queued = [(f"{name} {broker.rstrip('-')}", *times) for broker, *times in spans]
            writable = [(f"{name} {broker}", *times) for broker, *times in spans if not broker.endswith("-")]
            routes.append(("c", _topic(name, topic), queued, writable, writable))
    rows = with_removals(
        spark.createDataFrame(isolations, ISOLATIONS),
        spark.createDataFrame(sends, SENDS),
        spark.createDataFrame(routes, ROUTES),
        POLICIES,
    ).collect()
    assert len(rows) == len(isolations)
    bands: dict[str, Bands] = {name: {} for name in CASES}
    for row in rows:
        name, broker = row["client_id"], row["broker_name"].rsplit(" ", 1)[1]
        bands[name][broker] = (row["end_earliest_ms"], row["removable_ms"])
        times = CASES[name].isolated[broker]
        assert (row["start_ms"], row["end_ms"], row["end_latest_ms"]) == (times[0], times[1], times[-1])
    return bands


@pytest.mark.parametrize("name", CASES)
def test_the_fallback_may_have_removed_it(found: dict[str, Bands], name: str) -> None:
    assert found[name] == CASES[name].expected
