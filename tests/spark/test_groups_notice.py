"""Every cause of every kind of finding on groups, both sides of each threshold, in words; moves and routes by hand.

One lake, a group of `noticing_groups` per story. Seconds count from noon.
"""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.kinds import GroupCause, GroupKind
from jobs.settings.load import load_settings
from jobs.tables.rebalances import TRIGGERS
from tests.given.noticing_groups import FIRST_S, LAST_S, NOON, SETTINGS, write_groups
from tests.given.site import D1
from tests.given.snapshot_site import SnapshotSite

Piece = tuple[str, float, float]
"""A cause, from and until."""
Found = tuple[str, str, str, str, str, str | None, str | None, float, float]
"""Basis, kind, cause, "topic queue", clients, owners expected and observed, from and until."""


def _wrongly_held(*pieces: Piece, queues: str = "a0 a1 a2", topic: str = "T") -> list[Found]:
    """The three queues held wrongly: the first by y too, the second by y alone, the third by nobody."""
    doubly, against, nobodys = queues.split()
    return [
        ("OBSERVED", kind, cause, f"{topic} {queue}", clients, expected, observed, from_s, until_s)
        for cause, from_s, until_s in pieces
        for kind, queue, clients, expected, observed in (
            ("DOUBLY_OWNED", doubly, "x y", "x", "x y"),
            ("AGAINST_STRATEGY", against, "x y", "x", "y"),
            ("UNASSIGNED", nobodys, "y", "y", ""),
        )
    ]


def _observed(kind: str, cause: str, where: str, clients: str, owners: tuple[str, str], *when: float) -> Found:
    return ("OBSERVED", kind, cause, where, clients, *owners, when[0], when[1])


def _of_group(kind: str, from_s: float, until_s: float, clients: str = "") -> Found:
    return ("EXPECTED", kind, "NONE_NEEDED", "", clients, None, None, from_s, until_s)


NO, RUN = "UNEXPLAINED", "REBALANCE_NOT_RUN"
STORIES: dict[str, list[Found]] = {
    "NOTHING": _wrongly_held((NO, 0, 540)),
    # Broker b, which has no queue of T, tells x at 60 s, and x and y at 120 s: 21 s from then to rebalance.
    "JOINED": _wrongly_held((NO, 0, 60), (RUN, 60, 141), (NO, 141, 540)),
    # The same, seen by answers alone: longer by their usual distance, which is that of the client asked seldom.
    "ASKED-10": _wrongly_held((NO, 0, 50), (RUN, 50, 151), (NO, 151, 540)),
    "ASKED-30": _wrongly_held((NO, 0, 30), (RUN, 30, 171), (NO, 171, 540)),
    # Only the distance of those without a log counts.
    "ONE-LOGS": _wrongly_held((NO, 0, 50), (RUN, 50, 151), (NO, 151, 540)),
    # The number of queues to read changed between 60 s and 120 s: 30 s to ask for the route, 21 s to rebalance. That of
    # queues to write, at 240 s, is nothing to a consumer.
    "ROUTED": _wrongly_held((NO, 0, 60), ("STALE_ROUTE", 60, 171), (NO, 171, 540), topic="P"),
    # Brokers b and c list x twice from 120 s to 240 s, 21 s more; what changed before it has a row of its own.
    "TWICE": [
        *_wrongly_held((NO, 0, 60), (RUN, 60, 120), ("DUPLICATE_CLIENT_ID", 120, 261), (NO, 261, 540)),
        _of_group("DUPLICATE_CLIENT_ID", 120, 240, "x"),
    ],
    # Broker b alone: x came back to it before its old connection was dropped.
    "TWICE-TO-ONE": [
        *_wrongly_held((NO, 0, 60), (RUN, 60, 141), (NO, 141, 540)),
        _of_group("DUPLICATE_CLIENT_ID", 120, 240, "x"),
    ],
    # y answered at 100 s that it subscribes U alone, and T at 160 s: 300 s before, and until it has its share.
    "ELSEWHERE": _wrongly_held(("NOT_SUBSCRIBED", 0, 211), (NO, 211, 540)),
    # x answered so, once: what y lacks is not for that.
    "X-ELSEWHERE": [
        *_wrongly_held(("NOT_SUBSCRIBED", 0, 540))[:2],
        *_wrongly_held((NO, 0, 540))[2:],
    ],
    "GHOSTS": _wrongly_held(("QUEUE_DOES_NOT_EXIST", 0, 540), queues="a5 a6 a7"),
    # y is away from broker b in minutes 2, 4 and 6; back at 180, 300 and 420 s.
    "FLAPS": [
        *_wrongly_held((NO, 0, 60), (RUN, 60, 180), ("FLAPPING", 180, 441), (NO, 441, 540)),
        _of_group("FLAPPING", 180, 441, "y"),
    ],
    # Broker b of topics V and W does not know y from 120 s to 240 s, and would give x its queue. Of T nobody asks b,
    # but that the members change there, twice, counts.
    "VIEWS": [
        *_wrongly_held((NO, 0, 60), (RUN, 60, 141), (NO, 141, 180), (RUN, 180, 261), (NO, 261, 540)),
        *(each for each in _wrongly_held(
              (NO, 0, 60), (RUN, 60, 120), ("VIEWS_DIFFER", 120, 261), (NO, 261, 540), topic="W"
          )
          if each[1] != "UNASSIGNED"),
        *(_observed("UNASSIGNED", cause, "W a2", client_id, (expected, ""), *when)
          for cause, client_id, expected, *when in (
              (NO, "y", "y", 0, 60), (RUN, "y", "y", 60, 120), ("VIEWS_DIFFER", "x", "x y", 120, 240),
              ("VIEWS_DIFFER", "y", "x y", 120, 240), ("VIEWS_DIFFER", "y", "y", 240, 261), (NO, "y", "y", 261, 540),
          )),
        _of_group("VIEWS_DIFFER", 120, 240),
        _observed("AGAINST_STRATEGY", "VIEWS_DIFFER", "V b0", "x", ("x y", "y"), 120, 240),
    ],
    # y of x, y and z stops at 100 s: 120 s and 10 s for the broker to drop it, 21 s to rebalance.
    "STOPPED": [
        _observed("AGAINST_STRATEGY", "STOPPED_NOT_EXPIRED", "S a3", "x y", ("y", "x"), 100, 251),
        _observed("AGAINST_STRATEGY", NO, "S a3", "x y", ("y", "x"), 251, 540),
        _observed("DOUBLY_OWNED", "STOPPED_NOT_EXPIRED", "S a4", "x y z", ("y", "x z"), 100, 251),
        _observed("DOUBLY_OWNED", NO, "S a4", "x y z", ("y", "x z"), 251, 540),
        _observed("UNASSIGNED", "STOPPED_NOT_EXPIRED", "S a5", "y", ("y", ""), 100, 230),
    ],
    # y's process wrote no line for just 30 s, and for a millisecond more.
    "PAUSED": _wrongly_held((NO, 0, 540)),
    "SILENT": _wrongly_held((NO, 0, 100), ("CLIENT_SILENT", 100, 151.001), (NO, 151.001, 540)),
    # Refused at 200 s: tried again each rebalance.
    "LOCKED": _wrongly_held((NO, 0, 179), ("LOCK_NOT_GRANTED", 179, 221), (NO, 221, 540)),
    "NO-OFFSET": _wrongly_held((NO, 0, 179), ("OFFSET_UNKNOWN", 179, 221), (NO, 221, 540)),
    # Only the lock of a2.
    "ONE-LOCKED": [
        *_wrongly_held((NO, 0, 540))[:2],
        *(each for each in _wrongly_held((NO, 0, 179), ("LOCK_NOT_GRANTED", 179, 221), (NO, 221, 540))
          if each[1] == "UNASSIGNED"),
    ],
    # One connection, at 120 s, tells of a client in Go: it holds 300 s.
    "LANGUAGES": [
        *_wrongly_held((NO, 0, 120), ("MIXED_LANGUAGES", 120, 420), (NO, 420, 540)),
        _of_group("MIXED_LANGUAGES", 120, 420),
    ],
    # x gives a1 up for a second, and later for a millisecond more.
    "HAND-OVER": [_observed("UNASSIGNED", NO, "T a1", "x", ("x", ""), 200, 201.001)],
    # First told of at 00:00, which is what stood, and a millisecond later, which is a change.
    "STOOD": _wrongly_held((NO, FIRST_S, FIRST_S + 180), topic="M"),
    "BEGAN": _wrongly_held(
        (RUN, FIRST_S + 0.001, FIRST_S + 21.001), (NO, FIRST_S + 21.001, FIRST_S + 180), topic="M"
    ),
    # The last capture would hold until 00:00:30.
    "UNTIL-MIDNIGHT": _wrongly_held((NO, LAST_S - 60, LAST_S), topic="N"),
    # Of three returns two may be as far apart as ten minutes; and each absence two minutes long.
    "FLAPS-IN-600": [_of_group("FLAPPING", 60, 681, "y")],
    "FLAPS-IN-LONGER": [],
    "AWAY-120": [_of_group("FLAPPING", 180, 561, "y")],
    "AWAY-LONGER": [],
    # Brokers of V differ for ten seconds, and for a millisecond more.
    "DIFFER-10": [],
    "DIFFER-LONGER": [_of_group("VIEWS_DIFFER", 120, 130.001)],
    # r-1 keeps all that it has when a member without a room joins, which takes its share.
    "ONE-FAILS": [
        _of_group("MIXED_STRATEGIES", 60, 540),
        *(("EXPECTED", "DOUBLY_OWNED", "STRATEGY_FAILS", f"T {queue}", "-2 r-1", "-2 r-1", None, 60, 540)
          for queue in ("a0", "a1")),
    ],
    # That x is there twice gives nobody else its queue.
    "TWIN-CONFIGURED": [
        _of_group("DUPLICATE_CLIENT_ID", -300, 540, "x"),
        ("EXPECTED", "DOUBLY_OWNED", "STRATEGY_NAMES_TWICE", "T a1", "x y", "x y", None, -300, 540),
    ],
    # Nor does it take a queue that no list has.
    "TWIN-LEFT-OUT": [
        _of_group("DUPLICATE_CLIENT_ID", -300, 540, "x"),
        ("EXPECTED", "UNASSIGNED", "STRATEGY_LEAVES_OUT", "T a2", "", "", None, -300, 540),
    ],
    # Of room IDC1's three x gets the first and y the third; a name of three parts is in no room.
    "TWIN-ROOMS": [
        _of_group("DUPLICATE_CLIENT_ID", -300, 540, "x"),
        *(("EXPECTED", "UNASSIGNED", cause, f"I {queue}", "", "", None, -300, 540)
          for queue, cause in (("IDC1@a1", "DUPLICATE_CLIENT_ID"), ("IDC2@b0", "STRATEGY_LEAVES_OUT"),
                               ("IDC1@c@d0", "STRATEGY_LEAVES_OUT"))),
    ],
    # x and y by AVG of four: a0 and a2; z by its own list a2 as well.
    "TWIN-MIXED": [
        _of_group("DUPLICATE_CLIENT_ID", -300, 540, "x"),
        _of_group("MIXED_STRATEGIES", -300, 540),
        ("EXPECTED", "UNASSIGNED", "DUPLICATE_CLIENT_ID", "T a1", "", "", None, -300, 540),
        ("EXPECTED", "DOUBLY_OWNED", "MIXED_STRATEGIES", "T a2", "y z", "y z", None, -300, 540),
    ],
    # Only broker a of topic V lists x twice: by its list x gets a0, y nothing, and b0 is of x's second connection.
    "TWIN-VIEW": [
        _of_group("DUPLICATE_CLIENT_ID", -300, 540, "x"),
        _of_group("VIEWS_DIFFER", -300, 540),
        ("EXPECTED", "UNASSIGNED", "DUPLICATE_CLIENT_ID", "V b0", "", "", None, -300, 540),
        ("EXPECTED", "IDLE_CLIENT", "MORE_CLIENTS_THAN_QUEUES", "V", "y", None, None, -300, 540),
    ],
    # Of retry topics nothing is said: a queue of nobody, a client without any, no route.
    "RETRIES": [_of_group("DUPLICATE_CLIENT_ID", -300, 540, "x")],
    # y is a member before its log begins: what it lacks is said from there on.
    "LATE": [_observed("UNASSIGNED", NO, "T a2", "y", ("y", ""), 60, 540)],
    # y gives its queue up a second before it says that it has stopped.
    "STOPS": [_observed("UNASSIGNED", "STOPPED_NOT_EXPIRED", "T a2", "y", ("y", ""), 99, 230)],
    # H has two queues from 60 s on; y keeps a2, which is not one of them: 51 s for the route.
    "SHRUNK": [
        _observed("AGAINST_STRATEGY", "STALE_ROUTE", "H a2", "y", ("", "y"), 60, 111),
        _observed("AGAINST_STRATEGY", NO, "H a2", "y", ("", "y"), 111, 540),
    ],
    # Both clients' lists have b0, whatever the brokers tell.
    "VIEWS-CONFIGURED": [
        _of_group("VIEWS_DIFFER", 120, 240),
        ("EXPECTED", "UNASSIGNED", "STRATEGY_LEAVES_OUT", "V a0", "", "", None, -300, 540),
        ("EXPECTED", "DOUBLY_OWNED", "STRATEGY_NAMES_TWICE", "V b0", "x y", "x y", None, -300, 540),
        _observed("DOUBLY_OWNED", "STRATEGY_NAMES_TWICE", "V b0", "x y", ("x y", "x y"), -300, 540),
    ],
    "LANGUAGES-LATE": [_of_group("MIXED_LANGUAGES", LAST_S - 30, LAST_S)],
    # Consumed until five minutes after its last connection; C has a route until 420 s.
    "NO-ROUTE-BEFORE": [("EXPECTED", "TOPIC_WITHOUT_ROUTE", "NO_ROUTE", "GONE", "", None, None, -300, 60)],
    "ROUTE-WENT-LATER": [],
    # The broker lacks this strategy and answers with nothing: everyone keeps what it had, and that is nothing.
    "TWIN-ASKS": [
        _of_group("DUPLICATE_CLIENT_ID", -300, 540, "x"),
        *(("EXPECTED", "UNASSIGNED", "STRATEGY_FAILS", f"T a{number}", "", "", None, -300, 540)
          for number in range(3)),
        *(("EXPECTED", "IDLE_CLIENT", "STRATEGY_FAILS", "T", each, None, None, -300, 540) for each in "xy"),
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def site(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SnapshotSite:
    made = SnapshotSite(spark, tmp_path_factory.mktemp("site"), load_settings([], SETTINGS, {}))
    write_groups(made)
    made.run(D1)
    return made


def _second(at_ms: int) -> float:
    return (at_ms - NOON) / 1000


def _words(ids: list[str] | None) -> str | None:
    return None if ids is None else " ".join(ids)


def _findings(site: SnapshotSite, group: str) -> list[Found]:
    def where(row: dict[str, Any]) -> str:
        return " ".join(filter(None, (row["topic"], row["broker_name"] and f"{row['broker_name']}{row['queue_id']}")))

    return [
        (
            row["basis"], row["kind"], row["cause"], where(row), " ".join(row["client_ids"]),
            _words(row["owners_expected"]), _words(row["owners_observed"]),
            _second(row["start_ms"]), _second(row["end_ms"]),
        )
        for row in site.rows("allocation_findings", consumer_group=group)
    ]  # fmt: skip


@pytest.mark.parametrize("group", STORIES)
def test_story(site: SnapshotSite, group: str) -> None:
    assert sorted(map(repr, _findings(site, group))) == sorted(map(_as_published, STORIES[group]))


def _as_published(found: Found) -> str:
    return repr((*found[:7], float(found[7]), float(found[8])))


# Every pair that the program can publish. A mix of strategies and one that names a queue twice make it owned twice.
OF_HOLDINGS = ("UNASSIGNED", "DOUBLY_OWNED", "AGAINST_STRATEGY")
OF_ONE_KIND = {"MIXED_STRATEGIES": "DOUBLY_OWNED", "STRATEGY_NAMES_TWICE": "DOUBLY_OWNED"}
BY_HOLDINGS = (
    "DUPLICATE_CLIENT_ID", "NOT_SUBSCRIBED", "QUEUE_DOES_NOT_EXIST", "FLAPPING", "VIEWS_DIFFER", "STOPPED_NOT_EXPIRED",
    "CLIENT_SILENT", "LOCK_NOT_GRANTED", "OFFSET_UNKNOWN", "STALE_ROUTE", "REBALANCE_NOT_RUN", "MIXED_LANGUAGES",
    "UNEXPLAINED",
)  # fmt: skip
BY_STRATEGIES = {
    "UNASSIGNED": ("DUPLICATE_CLIENT_ID", "STRATEGY_FAILS", "MIXED_STRATEGIES", "STRATEGY_LEAVES_OUT"),
    "DOUBLY_OWNED": ("STRATEGY_FAILS", "MIXED_STRATEGIES", "STRATEGY_NAMES_TWICE"),
    "IDLE_CLIENT": ("STRATEGY_FAILS", "MORE_CLIENTS_THAN_QUEUES", "STRATEGY_LEAVES_OUT"),
    "NOT_DETERMINABLE": ("STRATEGY_UNKNOWN", "REQUEST_MODE_UNKNOWN", "CLIENTS_BY_PROXY", "NOT_A_JAVA_CLIENT"),
    "MEMBERS_UNKNOWN": ("BROKERS_SILENT", "BROKERS_REFUSE"),
    "DUPLICATE_CLIENT_ID": ("MODEL_UNKNOWN",),
    "TOPIC_WITHOUT_ROUTE": ("NO_ROUTE", "ROUTE_UNKNOWN"),
}
OF_WHOLE_GROUPS = (
    "MIXED_LANGUAGES", "MIXED_STRATEGIES", "DUPLICATE_CLIENT_ID", "EMPTY_CLIENT_ID", "GROUP_WITHOUT_CONSUMERS",
    "VIEWS_DIFFER", "FLAPPING", "NAME_SERVERS_DISAGREE", "ORDER_CONF_UNREADABLE",
)  # fmt: skip
PAIRS = {
    ("OBSERVED", "UNASSIGNED", "OFFSET_RESET"),
    *(("OBSERVED", kind, cause) for kind in OF_HOLDINGS for cause in BY_HOLDINGS),
    *(("OBSERVED", kind, cause) for cause, kind in OF_ONE_KIND.items()),
    *(("EXPECTED", kind, cause) for kind, causes in BY_STRATEGIES.items() for cause in causes),
    *(("EXPECTED", kind, "NONE_NEEDED") for kind in OF_WHOLE_GROUPS),
}


def test_every_kind_has_each_of_its_causes(site: SnapshotSite) -> None:
    found = {tuple(row.values()) for row in site.rows("allocation_findings", "basis", "kind", "cause")}
    assert found == PAIRS
    assert {kind for _, kind, _ in PAIRS} == set(GroupKind)
    assert {cause for _, _, cause in PAIRS} == set(GroupCause)


ANOTHER, EXPECTED_X = "a client that should not own the queue has it", "expected x, held by y"
SENTENCES = {
    ("TWICE", "AGAINST_STRATEGY", "DUPLICATE_CLIENT_ID"): f"TWICE, T, a queue 1: {ANOTHER} for 141.0 s"
    f" ({EXPECTED_X}; two connections of the group have one client id)",
    ("ELSEWHERE", "AGAINST_STRATEGY", "NOT_SUBSCRIBED"): f"ELSEWHERE, T, a queue 1: {ANOTHER} for 211.0 s"
    f" ({EXPECTED_X}; the client does not subscribe to the topic)",
    ("GHOSTS", "AGAINST_STRATEGY", "QUEUE_DOES_NOT_EXIST"): f"GHOSTS, T, a queue 6: {ANOTHER} for 540.0 s"
    f" ({EXPECTED_X}; the topic has no such queue)",
    ("MIXED", "UNASSIGNED", "MIXED_STRATEGIES"): "MIXED, T, a queue 2: the queue is assigned to nobody for 840.0 s"
    " (members of the group use different strategies)",
    ("LANGUAGES", "AGAINST_STRATEGY", "MIXED_LANGUAGES"): f"LANGUAGES, T, a queue 1: {ANOTHER} for 300.0 s"
    f" ({EXPECTED_X}; members of the group are clients of different languages)",
    ("FLAPS", "AGAINST_STRATEGY", "FLAPPING"): f"FLAPS, T, a queue 1: {ANOTHER} for 261.0 s"
    f" ({EXPECTED_X}; members of the group drop off and return)",
    ("VIEWS", "DOUBLY_OWNED", "VIEWS_DIFFER"): "VIEWS, W, a queue 0: several clients have the queue for 141.0 s"
    " (expected x, held by x, y; brokers report different members)",
    ("STOPPED", "UNASSIGNED", "STOPPED_NOT_EXPIRED"): "STOPPED, S, a queue 5: nobody has the queue for 130.0 s"
    " (expected y, held by nobody; the client is gone, and its broker has not dropped it yet)",
    ("SILENT", "UNASSIGNED", "CLIENT_SILENT"): "SILENT, T, a queue 2: nobody has the queue for 51.0 s"
    " (expected y, held by nobody; the client's process stood still)",
    ("LOCKED", "UNASSIGNED", "LOCK_NOT_GRANTED"): "LOCKED, T, a queue 2: nobody has the queue for 42.0 s"
    " (expected y, held by nobody; the broker did not grant the lock of the queue)",
    ("NO-OFFSET", "UNASSIGNED", "OFFSET_UNKNOWN"): "NO-OFFSET, T, a queue 2: nobody has the queue for 42.0 s"
    " (expected y, held by nobody; the broker did not return the group's offset)",
    ("ROUTED", "UNASSIGNED", "STALE_ROUTE"): "ROUTED, P, a queue 2: nobody has the queue for 111.0 s"
    " (expected y, held by nobody; the route had changed, and clients ask for it every 30 s)",
    ("JOINED", "DOUBLY_OWNED", "REBALANCE_NOT_RUN"): "JOINED, T, a queue 0: several clients have the queue for 81.0 s"
    " (expected x, held by x, y; members had changed, and clients rebalance within 20 s)",
    ("EMPTY-ID", "IDLE_CLIENT", "STRATEGY_FAILS"): "EMPTY-ID, T: the client gets no queue for 840.0 s"
    ' (""; the strategy fails on this input, so everyone keeps what it had)',
    ("CONFIGURED", "UNASSIGNED", "STRATEGY_LEAVES_OUT"): "CONFIGURED, T, a queue 2: the queue is assigned to nobody for"
    " 840.0 s (the strategy, as configured, leaves it out)",
    ("CONFIGURED", "IDLE_CLIENT", "STRATEGY_LEAVES_OUT"): "CONFIGURED, T: the client gets no queue for 840.0 s"
    " (z; the strategy, as configured, leaves it out)",
    ("TWIN-CONFIGURED", "DOUBLY_OWNED", "STRATEGY_NAMES_TWICE"): "TWIN-CONFIGURED, T, a queue 1: the queue is"
    " assigned to several clients for 840.0 s (x, y; the strategy, as configured, assigns it to several)",
    ("FEW", "IDLE_CLIENT", "MORE_CLIENTS_THAN_QUEUES"): "FEW, T: the client gets no queue for 840.0 s"
    " (z; the group has more clients than the topic has queues)",
    ("BROKER", "NOT_DETERMINABLE", "REQUEST_MODE_UNKNOWN"): "BROKER, T: who should own the queues cannot be"
    " determined for 840.0 s (the broker assigns, and settings do not say request_mode)",
    ("OWN-CLASS", "NOT_DETERMINABLE", "STRATEGY_UNKNOWN"): "OWN-CLASS, T: who should own the queues cannot be"
    " determined for 840.0 s (its class is custom, or settings do not configure the strategy)",
    ("UNTOLD", "TOPIC_WITHOUT_ROUTE", "ROUTE_UNKNOWN"): "UNTOLD, NEVER: the name server has no route for 1080.0 s"
    " (no snapshot has it, or it is a static topic, whose logical queues are not read)",
    ("NO-ROUTE", "TOPIC_WITHOUT_ROUTE", "NO_ROUTE"): "NO-ROUTE, GONE: the name server has no route for 840.0 s"
    " (it answered that the topic does not exist)",
    ("MIXED", "MIXED_STRATEGIES", "NONE_NEEDED"): "MIXED: members use different strategies for 840.0 s",
    ("TWICE", "DUPLICATE_CLIENT_ID", "NONE_NEEDED"): "TWICE: two connections have one client id: both own the same"
    " queues, nobody owns others for 120.0 s (x)",
    ("LANGUAGES", "MIXED_LANGUAGES", "NONE_NEEDED"): "LANGUAGES: clients of different languages may allocate"
    " differently for 300.0 s",
    ("EMPTY-ID", "EMPTY_CLIENT_ID", "NONE_NEEDED"): "EMPTY-ID: a member has an empty client id for 840.0 s",
    ("DESERTED", "GROUP_WITHOUT_CONSUMERS", "NONE_NEEDED"): "DESERTED: no broker knows a consumer of the group for"
    " 840.0 s",
    (
        "VIEWS",
        "VIEWS_DIFFER",
        "NONE_NEEDED",
    ): "VIEWS: brokers report different members, and each client asks one of them at random for 120.0 s",
    (
        "BROKERS-SILENT",
        "MEMBERS_UNKNOWN",
        "BROKERS_SILENT",
    ): "BROKERS-SILENT: the members of the group are not known for 540.0 s (no broker answered)",
    (
        "BROKERS-REFUSE",
        "MEMBERS_UNKNOWN",
        "BROKERS_REFUSE",
    ): "BROKERS-REFUSE: the members of the group are not known for 540.0 s (brokers refused to answer)",
    (
        "BY-PROXY",
        "NOT_DETERMINABLE",
        "CLIENTS_BY_PROXY",
    ): "BY-PROXY, T: who should own the queues cannot be determined for"
    " 840.0 s (gRPC clients come through a proxy, which pops for each of them from every queue)",
    ("GO", "NOT_DETERMINABLE", "NOT_A_JAVA_CLIENT"): "GO, T: who should own the queues cannot be determined for 840.0 s"
    " (a member is not a Java client, and settings say neither strategy nor message_model)",
    (
        "IDS",
        "DUPLICATE_CLIENT_ID",
        "MODEL_UNKNOWN",
    ): "IDS: two connections have one client id for 840.0 s (x; nothing says whether the group broadcasts)",
    ("NAME-SERVERS", "NAME_SERVERS_DISAGREE", "NONE_NEEDED"): "NAME-SERVERS, NS: name servers disagree on the route, so"
    " which one a client has is not known for 840.0 s",
    (
        "ORDER-CONF",
        "ORDER_CONF_UNREADABLE",
        "NONE_NEEDED",
    ): "ORDER-CONF, CONF, a: clients cannot read orderTopicConf, and keep the route of before for 840.0 s",
    (
        "RESETS",
        "UNASSIGNED",
        "OFFSET_RESET",
    ): "RESETS, T, a queue 2: nobody has the queue for 60.0 s (expected x, held by"
    " nobody; the client gave the queue up to set its offset, and takes it again as it rebalances)",
    ("FLAPS", "FLAPPING", "NONE_NEEDED"): "FLAPS: the client dropped off and returned again and again for 261.0 s (y)",
    ("X-ELSEWHERE", "UNASSIGNED", "UNEXPLAINED"): "X-ELSEWHERE, T, a queue 2: nobody has the queue for 540.0 s"
    " (expected y, held by nobody; the data does not show why)",
}


@pytest.mark.parametrize(("group", "kind", "cause"), SENTENCES)
def test_in_words(site: SnapshotSite, group: str, kind: str, cause: str) -> None:
    rows = site.rows("allocation_findings", "topic", "sentence", consumer_group=group, kind=kind, cause=cause)
    assert [row["sentence"] for row in rows if row["topic"] != "V"] == [SENTENCES[group, kind, cause]]


def test_each_kind_and_cause_has_its_words_held() -> None:
    assert {kind for _, kind, _ in SENTENCES} == set(GroupKind)
    assert {cause for _, _, cause in SENTENCES} == set(GroupCause)


Rebalance = tuple[float, str, str, str, int, int, int, int]
"""When, trigger, joined, left, queues, moved, fewest moves, moved beyond these."""
MOVES: dict[str, list[Rebalance]] = {
    # Six queues; AVG gives each member its block in the order of ids.
    "EVERY": [
        (60, "JOINED", "w", "", 6, 3, 2, 1),  # xxxyyy → wwxxyy: a0, a1 and a3; w's two had to
        (120, "LEFT", "", "w", 6, 3, 2, 1),  # back
        (180, "JOINED_AND_LEFT", "z", "y", 6, 3, 3, 0),  # xxxyyy → xxxzzz
        (240, "JOINED_AND_LEFT", "w", "z", 6, 6, 3, 3),  # xxxzzz → wwwxxx
        (300, "JOINED", "", "", 6, 3, 2, 1),  # wwwxxx → wwxx--: a second connection of x
        (360, "LEFT", "", "", 6, 1, 0, 1),  # wwxx-- → wwwxxx: what nobody had does not count
    ],
    "GROWS": [(60, "MEMBERS_AND_QUEUES", "y", "", 4, 0, 0, 0)],  # xx → xxyy
    "SHRINKS": [(60, "QUEUES", "", "", 2, 1, 1, 0)],  # xxyy → xy
    "FIVE": [(60, "JOINED", "y z", "", 5, 3, 3, 0)],  # xxxxx → xxyyz
    # The second broker tells of y a second after the first one, and a millisecond later.
    "ROUND": [(61, "JOINED", "y", "", 2, 1, 1, 0)],
    "ROUND-LATE": [(60, "VIEW", "y", "", 2, 1, 1, 0), (61.001, "VIEW", "", "", 2, 0, 0, 0)],
    # What x alone had is stale after 300 s; the next answer comes a second later, and a millisecond more.
    "STALE": [(301, "JOINED", "y", "", 2, 1, 1, 0)],
    "STALE-LONGER": [],
    # Lists of two kinds, then of three, then of two: the first broker's stays the same.
    "VIEWS-OF-THREE": [],
}


@pytest.mark.parametrize("group", MOVES)
def test_what_a_change_moved(site: SnapshotSite, group: str) -> None:
    columns = (
        "changed_at_ms", "trigger", "joined", "left", "queues", "moved", "fewest_moves", "moved_beyond_fewest",
    )  # fmt: skip
    rows = (tuple(row.values()) for row in site.rows("rebalances", *columns, consumer_group=group))
    found = [(_second(at_ms), trigger, _words(j), _words(left), *rest) for at_ms, trigger, j, left, *rest in rows]
    assert found == MOVES[group]


def test_every_trigger_has_a_story() -> None:
    assert {trigger for rows in MOVES.values() for _, trigger, *_ in rows} == set(TRIGGERS)


def test_what_other_strategies_would_have_moved(site: SnapshotSite) -> None:
    columns = (
        "is_own", "rebalances", "moves", "fewest_moves", "imbalance_max", "broker_skew", "unassigned_max",
        "imbalance_mean",
    )  # fmt: skip
    rows = site.rows("strategy_comparison", "strategy", *columns, consumer_group="FIVE")
    found = {row.pop("strategy"): tuple(row.values()) for row in rows}
    assert set(found) == {"AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"}
    # Alone for 60 s of 240; then x a0 a1, y a2 b0, z b1: of broker a two and none.
    assert found["AVG"] == (True, 1, 3, 3, 1, 2, 0, 0.75)
    # x a0 b0, y a1 b1, z a2.
    assert found["AVG_BY_CIRCLE"] == (False, 1, 3, 3, 1, 1, 0, 0.75)
    every = site.rows("strategy_comparison", *columns[1:], consumer_group="EVERY", strategy="AVG")
    # Of one topic's six queues two were nobody's while x had two connections; the others shared evenly.
    assert [tuple(row.values()) for row in every] == [(6, 19, 12, 0, 0, 2, 0.0)]


EVERYWHERE = {"AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"}
NEARBY = "MACHINE_ROOM_NEARBY-AVG"


@pytest.mark.parametrize(
    ("group", "own", "others"),
    [
        ("NOTHING", {"AVG"}, EVERYWHERE - {"AVG"}),
        ("CONFIGURED", {"CONFIG"}, EVERYWHERE),
        ("TWIN-ASKS", set[str](), EVERYWHERE),  # what the broker gives is not its own
        ("ROOMS", {"AVG"}, {*EVERYWHERE, "MACHINE_ROOM", NEARBY} - {"AVG"}),
        ("ROOMS-OF-CLIENTS", {"AVG"}, {*EVERYWHERE, NEARBY} - {"AVG"}),
        ("ROOMS-OF-BROKERS", {"AVG"}, {*EVERYWHERE, NEARBY} - {"AVG"}),
        ("TWIN-ROOMS", {"MACHINE_ROOM"}, EVERYWHERE),
    ],
)
def test_strategies_that_a_group_is_compared_under(
    site: SnapshotSite, group: str, own: set[str], others: set[str]
) -> None:
    rows = site.rows("strategy_comparison", "strategy", "is_own", consumer_group=group)
    assert sorted((row["strategy"], row["is_own"]) for row in rows) == sorted(
        [*((name, True) for name in own), *((name, False) for name in others)]
    )


def test_rooms_are_those_of_the_settings(site: SnapshotSite) -> None:
    """Broker IDC1@a has three queues, IDC2@b and IDC1@c@d one each."""

    def figures(group: str, strategy: str) -> tuple[int, int]:
        columns = ("imbalance_max", "unassigned_max")
        (row,) = site.rows("strategy_comparison", *columns, consumer_group=group, strategy=strategy)
        return row["imbalance_max"], row["unassigned_max"]

    assert figures("ROOMS", "AVG") == (1, 0)
    assert figures("ROOMS", "MACHINE_ROOM") == (1, 2)  # three of IDC1@a
    for group in ("ROOMS", "ROOMS-OF-CLIENTS", "ROOMS-OF-BROKERS"):
        assert figures(group, NEARBY) == (3, 0)  # four of IDC1, one of IDC2
    assert figures("ROOMS", "CONSISTENT_HASH") == (5, 0)  # of three nodes each x1's come first; of ten it has one queue


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        pytest.param(
            "CODES",
            [("a", 0, 240, "x y", 3), ("a", 240, 300, "", 0), ("a", 300, 360, "x y", 0), ("a", 360, 420, "", 0)],
            id="1 and 206 tell of no members; 17, null and 2 tell nothing",
        ),
        pytest.param("AT-ONCE", [("a", 0, 180, "x y", 0)], id="of one instant the answer with more"),
        pytest.param("ONCE", [("a", 0, 300, "x", 0)], id="one capture, until it is stale"),
        pytest.param("40-APART", [("a", 0, 80, "x", 0)], id="once more as long as usual"),
        pytest.param("400-APART", [("a", 0, 300, "x", 0), ("a", 400, 700, "x", 0)], id="never past stale"),
        pytest.param(
            "VIEWS",
            [
                ("a", -300, 540, "x y", 0), ("b", -300, 120, "x y", 0), ("b", 120, 240, "x", 0),
                ("b", 240, 540, "x y", 0),
            ],
            id="each broker's own",
        ),
    ],
)  # fmt: skip
def test_members(site: SnapshotSite, group: str, expected: list[tuple[str, float, float, str, int]]) -> None:
    columns = ("broker_name", "start_ms", "end_ms", "client_ids", "unanswered")
    rows = site.rows("group_members", *columns, consumer_group=group)
    assert [
        (row["broker_name"], _second(row["start_ms"]), _second(row["end_ms"]),
         _words(row["client_ids"]), row["unanswered"])
        for row in rows
    ] == expected  # fmt: skip


def test_changes_of_a_route(site: SnapshotSite) -> None:
    columns = ("changed_at_ms", "broker_name", "change", "readable_before", "readable_after", "writable_before",
               "writable_after")  # fmt: skip
    found = [tuple(row.values()) for row in site.rows("route_changes", *columns, topic="C")]
    assert [(_second(at_ms), *rest) for at_ms, *rest in found] == [
        (60, "a", "CHANGED", 2, 2, 2, 0),  # no permission to write
        (60, "b", "REMOVED", 2, None, 2, None),
        (60, "c", "ADDED", None, 1, None, 1),
        (120, "a", "REMOVED", 2, None, 0, None),  # in the route, but no permission at all
        (240, "a", "ADDED", None, 2, None, 3),
        (240, "c", "REMOVED", 1, None, 1, None),
        (300, "a", "CHANGED", 2, 2, 3, 0),  # no master
        (420, "a", "REMOVED", 2, None, 0, None),  # no such topic
    ]


def test_a_master_that_takes_no_messages_changes_no_queue(site: SnapshotSite) -> None:
    queues = site.rows("topic_queues", "start_ms", "queue_id", "readable", "writable", "has_master", topic="READ")
    assert [(_second(row.pop("start_ms")), *row.values()) for row in queues] == [
        (0, 0, True, False, True), (0, 1, True, False, True), (60, 0, True, False, False), (60, 1, True, False, False),
    ]  # fmt: skip
    assert site.rows("route_changes", topic="READ") == []


def test_queues_by_permission_and_master(site: SnapshotSite) -> None:
    columns = (
        "start_ms", "end_ms", "broker_name", "queue_id", "readable", "writable", "has_master", "finding",
    )  # fmt: skip
    found = [tuple(row.values()) for row in site.rows("topic_queues", *columns, topic="C")]
    assert [(_second(begin), _second(end), *rest) for begin, end, *rest in found] == [
        *((0, 60, broker, number, True, True, True, "NONE") for broker in "ab" for number in (0, 1)),
        *((60, 120, "a", number, True, False, True, "IDLE") for number in (0, 1)),
        (60, 120, "c", 0, True, True, True, "NONE"),
        (120, 240, "c", 0, True, True, True, "NONE"),  # what failed at 180 s changes nothing
        *((240, 300, "a", number, True, True, True, "NONE") for number in (0, 1)),
        (240, 300, "a", 2, False, True, True, "UNREAD"),
        *((300, 420, "a", number, True, False, False, "IDLE") for number in (0, 1)),
    ]


def test_a_log_and_answers_tell_side_by_side(site: SnapshotSite) -> None:
    columns = ("source", "queue_id", "popped", "start_ms", "end_ms")
    rows = (tuple(row.values()) for row in site.rows("queue_ownership", *columns, consumer_group="BOTH"))
    assert [(*rest, _second(begin), _second(end)) for *rest, begin, end in rows] == [
        ("CLIENT_LOG", 0, False, 0, 100),
        ("RUNNING_INFO", -1, True, 0, 60),
        ("RUNNING_INFO", 0, False, 0, 120),  # dropped in the answer of 120 s
    ]
