"""Findings of the second flow: a group per story on one day, each with all that is published about it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from jobs.settings.load import load_settings
from tests.given.site import D1, Line, at
from tests.given.snapshot_site import SnapshotSite, connection, last_speaks_go, members, route, running_info

NOON = at(D1, "12:00:00")
MINUTES, SECONDS_10, SECONDS_5 = range(0, 540, 60), range(0, 180, 10), range(0, 180, 5)
"""When snapshots were taken, seconds after noon; the last one of MINUTES holds until 540, of the others until 180."""

AVG, CIRCLE = "AllocateMessageQueueAveragely", "AllocateMessageQueueAveragelyByCircle"
BY_CONFIG = "AllocateMessageQueueByConfig"
SETTINGS = [
    'groups."CONFIGURED".strategy="CONFIG"',
    'groups."CONFIGURED".clients."x".queues=[["a", 0], ["a", 1]]',
    'groups."CONFIGURED".clients."y".queues=[["a", 1]]',
    'groups."GHOST".strategy="CONFIG"',
    'groups."GHOST".queues=[["a", 0], ["a", 1], ["a", 2], ["gone", 0]]',
    'groups."FAILS".strategy="MACHINE_ROOM_NEARBY-AVG"',
    'groups."BROKER".client_rebalance=false',
    'groups."LANGUAGES".message_model="CLUSTERING"',
]


class Found(NamedTuple):
    """A finding; `where` is "topic", "topic broker+queue" or "" for the whole group; times in seconds after noon."""

    basis: str
    kind: str
    cause: str
    where: str
    client_ids: list[str]
    owners_expected: list[str] | None
    owners_observed: list[str] | None
    from_s: float
    until_s: float


def _of_group(kind: str, from_s: float, until_s: float, client_ids: Iterable[str] = ()) -> Found:
    return Found("EXPECTED", kind, "NONE_NEEDED", "", list(client_ids), None, None, from_s, until_s)


def _of_topic(
    kind: str, cause: str, topic: str, until_s: float = 540, client_ids: Iterable[str] = (), from_s: float = 0
) -> Found:
    return Found("EXPECTED", kind, cause, topic, list(client_ids), None, None, from_s, until_s)


def _given(kind: str, cause: str, queue: str, owners: str = "") -> Found:
    return Found("EXPECTED", kind, cause, queue, [*owners], [*owners], None, 0, 540)


def _held(
    kind: str, cause: str, queue: str, concerned: str, expected: str, held: str, *, of_s: tuple[float, float]
) -> Found:
    return Found("OBSERVED", kind, cause, queue, [*concerned], [*expected], [*held], *of_s)


# Topic T has the queues a0, a1, a2 throughout: of two clients AVG gives x a0 and a1, and y a2.
# Clients that are asked each minute are known to a minute, so that a cause counts a minute before and after as well.
STORIES: dict[str, list[Found]] = {
    # By members, routes and strategies alone.
    "FEW": [_of_topic("IDLE_CLIENT", "MORE_CLIENTS_THAN_QUEUES", "T", client_ids="z")],
    "CONFIGURED": [
        _of_topic("IDLE_CLIENT", "STRATEGY_LEAVES_OUT", "T", client_ids="z"),
        _given("UNASSIGNED", "STRATEGY_LEAVES_OUT", "T a2"),
        _given("DOUBLY_OWNED", "STRATEGY_NAMES_TWICE", "T a1", "xy"),
        _held("DOUBLY_OWNED", "STRATEGY_NAMES_TWICE", "T a1", "xy", "xy", "xy", of_s=(0, 540)),
    ],
    # AVG over x, x, y: each takes the share of its id's first place, so the second one is nobody's.
    "TWINS": [
        _of_group("DUPLICATE_CLIENT_ID", 0, 540, "x"),
        _given("UNASSIGNED", "DUPLICATE_CLIENT_ID", "T a1"),
    ],
    # The empty id counts as a member, whose strategy throws `currentCID is empty`; x is the second of two.
    "EMPTY-ID": [
        _of_group("EMPTY_CLIENT_ID", 0, 540),
        _of_topic("IDLE_CLIENT", "STRATEGY_FAILS", "T", client_ids=[""]),
        _given("UNASSIGNED", "STRATEGY_FAILS", "T a0"),
        _given("UNASSIGNED", "STRATEGY_FAILS", "T a1"),
    ],
    "DESERTED": [_of_group("GROUP_WITHOUT_CONSUMERS", 120, 540)],
    "NO-ROUTE": [_of_topic("TOPIC_WITHOUT_ROUTE", "NO_ROUTE", "GONE")],
    "NO-ROUTE-LATER": [_of_topic("TOPIC_WITHOUT_ROUTE", "NO_ROUTE", "GONE", from_s=120)],  # consumed from then on
    "UNTOLD": [_of_topic("TOPIC_WITHOUT_ROUTE", "ROUTE_UNKNOWN", "NEVER", 480 + 300)],  # a topic is told for 300 s
    # A member without a room joins: the strategy throws, and r-1 keeps all.
    "FAILS": [_of_topic("IDLE_CLIENT", "STRATEGY_FAILS", "T", client_ids=["-2"], from_s=60)],
    "BROKER": [_of_topic("NOT_DETERMINABLE", "REQUEST_MODE_UNKNOWN", "T")],
    "OWN-CLASS": [_of_topic("NOT_DETERMINABLE", "STRATEGY_UNKNOWN", "T")],
    "VIEWS-BRIEFLY": [],
    "FLAPS-TWICE": [],
    # AVG gives x a0 and a1, AVG_BY_CIRCLE gives y a1.
    "MIXED": [
        _of_group("MIXED_STRATEGIES", 0, 540),
        _given("UNASSIGNED", "MIXED_STRATEGIES", "T a2"),
        _given("DOUBLY_OWNED", "MIXED_STRATEGIES", "T a1", "xy"),
        _held("DOUBLY_OWNED", "MIXED_STRATEGIES", "T a1", "xy", "xy", "xy", of_s=(0, 540)),
    ],
    # By what clients held.
    "SOUND": [],
    "EVERYONE": [],
    "MUTE": [],
    "STOLEN": [_held("AGAINST_STRATEGY", "UNEXPLAINED", "T a1", "xy", "x", "y", of_s=(240, 540))],
    "SHARED": [_held("DOUBLY_OWNED", "UNEXPLAINED", "T a1", "xy", "x", "xy", of_s=(240, 540))],
    "LANGUAGES": [
        _of_group("MIXED_LANGUAGES", 0, 480 + 300),
        _held("AGAINST_STRATEGY", "MIXED_LANGUAGES", "T a1", "xy", "x", "y", of_s=(240, 540)),
    ],
    "OTHER-TOPIC": [_held("UNASSIGNED", "NOT_SUBSCRIBED", "T a2", "y", "y", "", of_s=(0, 540))],
    "GHOST": [_held("UNASSIGNED", "QUEUE_DOES_NOT_EXIST", "T gone0", "x", "x", "", of_s=(0, 540))],
    "JOINED": [_held("AGAINST_STRATEGY", "REBALANCE_NOT_RUN", "T a2", "xy", "y", "x", of_s=(60, 75))],
    # R has a0 and a1, then four queues, from 60 s on: x's are a0 and a1, y's a2 and a3.
    "STALE": [
        _held("AGAINST_STRATEGY", "STALE_ROUTE", "R a1", "xy", "x", "y", of_s=(60, 100)),
        _held("UNASSIGNED", "STALE_ROUTE", "R a2", "y", "y", "", of_s=(60, 100)),
        _held("UNASSIGNED", "STALE_ROUTE", "R a3", "y", "y", "", of_s=(60, 100)),
    ],
    # 30 s to ask for the route, 21 s to rebalance, 10 s from one answer to the next.
    "NEVER-TOLD": [
        _held(kind, cause, queue, concerned, expected, held, of_s=of_s)
        for cause, of_s in (("STALE_ROUTE", (60, 121)), ("UNEXPLAINED", (121, 180)))
        for kind, queue, concerned, expected, held in (
            ("AGAINST_STRATEGY", "R a1", "xy", "x", "y"),
            ("UNASSIGNED", "R a2", "y", "y", ""),
            ("UNASSIGNED", "R a3", "y", "y", ""),
        )
    ],
    # y is away in minutes 1, 3 and 5; it drops what it holds, and x keeps everything for good.
    "FLAPS": [
        _of_group("FLAPPING", 120, 360 + 21, "y"),
        _held("AGAINST_STRATEGY", "FLAPPING", "T a2", "xy", "y", "x", of_s=(120, 180)),
        _held("AGAINST_STRATEGY", "FLAPPING", "T a2", "xy", "y", "x", of_s=(240, 300)),
        _held("AGAINST_STRATEGY", "FLAPPING", "T a2", "xy", "y", "x", of_s=(360, 360 + 21 + 60)),
        _held("AGAINST_STRATEGY", "UNEXPLAINED", "T a2", "xy", "y", "x", of_s=(360 + 21 + 60, 540)),
    ],
    # V has a0 and b0; broker b does not know y from 40 s to 70 s, so x takes b0 as well and keeps it until 80 s.
    "VIEWS": [
        _of_group("VIEWS_DIFFER", 40, 70),
        _held("DOUBLY_OWNED", "VIEWS_DIFFER", "V b0", "xy", "xy", "xy", of_s=(40, 70)),
        _held("DOUBLY_OWNED", "VIEWS_DIFFER", "V b0", "xy", "y", "xy", of_s=(70, 80)),
    ],
    # By client logs.
    "KILLED": [_held("UNASSIGNED", "STOPPED_NOT_EXPIRED", "T a2", "y", "y", "", of_s=(180, 300))],
    "FROZEN": [
        _held("DOUBLY_OWNED", "CLIENT_SILENT", "T a2", "xy", "y", "xy", of_s=(190, 240)),
        _held("DOUBLY_OWNED", "CLIENT_SILENT", "T a2", "xy", "x", "xy", of_s=(240, 291)),
        _held("DOUBLY_OWNED", "REBALANCE_NOT_RUN", "T a2", "xy", "x", "xy", of_s=(291, 300)),
    ],
    "LOCKED": [_held("UNASSIGNED", "LOCK_NOT_GRANTED", "T a2", "y", "y", "", of_s=(120, 180))],
    "NO-OFFSET": [_held("UNASSIGNED", "OFFSET_UNKNOWN", "T a2", "y", "y", "", of_s=(120, 180))],
}


def _ms(second: float) -> int:
    return NOON + round(second * 1000)


def _members(
    group: str, ids: Iterable[str], times: Iterable[float] = MINUTES, *topics: str, **other: str
) -> list[Line]:
    return [connection(_ms(each), list(ids), *topics, consumer_group=group, **other) for each in times]


def _holds(
    group: str, client_id: str, queues: str, times: Iterable[float] = MINUTES, topic: str = "T", strategy: str = AVG
) -> list[Line]:
    """Answers of one client; `queues` such as "a0 b1"."""
    held = [(topic, queue[0], int(queue[1:])) for queue in queues.split()]
    return [running_info(_ms(each), client_id, strategy, held, [topic], consumer_group=group) for each in times]


def _consumers() -> list[Line]:
    two = ("SOUND", "MUTE", "STOLEN", "SHARED", "OTHER-TOPIC", "MIXED", "BROKER", "OWN-CLASS")
    without_y = {
        "FLAPS": (60, 180, 300),
        "FLAPS-TWICE": (60, 180),
        "FROZEN": (240,),
        "KILLED": MINUTES[5:],
        "LOCKED": MINUTES[:2],
        "NO-OFFSET": MINUTES[:2],
    }
    return [
        *(line for group in two for line in _members(group, "xy")),
        *(
            line
            for group, away in without_y.items()
            for each in MINUTES
            for line in _members(group, "x" if each in away else "xy", [each])
        ),
        *_members("FEW", "wxyz"),
        *_members("CONFIGURED", "xyz"),
        *_members("GHOST", "x"),
        *_members("TWINS", "xxy"),
        *_members("EMPTY-ID", ["", "x"]),
        *_members("DESERTED", "x", (0, 60)),
        *(members(_ms(each), None, code=206, consumer_group="DESERTED") for each in MINUTES[2:]),
        *_members("NO-ROUTE", "x", MINUTES, "GONE"),
        *_members("NO-ROUTE-LATER", "x", MINUTES[2:], "GONE"),
        *_members("UNTOLD", "x", MINUTES, "NEVER"),
        *_members("FAILS", ["r-1"], [0]),
        *_members("FAILS", ["-2", "r-1"], MINUTES[1:]),
        *_members("EVERYONE", "xy", message_model="BROADCASTING"),
        *map(last_speaks_go, _members("LANGUAGES", "xy")),
        *_members("JOINED", "x", SECONDS_10[:6]),
        *_members("JOINED", "xy", SECONDS_10[6:]),
        *(line for group in ("STALE", "NEVER-TOLD") for line in _members(group, "xy", SECONDS_10, "R")),
        *(line for group in ("VIEWS", "VIEWS-BRIEFLY") for line in _members(group, "xy", SECONDS_10, "V")),
        *_members("VIEWS", "xy", [*SECONDS_10[:4], *SECONDS_10[7:]], "V", broker="b"),
        *_members("VIEWS", "x", SECONDS_10[4:7], "V", broker="b"),
        *_members("VIEWS-BRIEFLY", "xy", [*SECONDS_10[:4], 45, *SECONDS_10[5:]], "V", broker="b"),
        *_members("VIEWS-BRIEFLY", "x", [40], "V", broker="b"),
    ]


def _answers() -> list[Line]:
    first, then = MINUTES[:4], MINUTES[4:]
    return [
        *(line for group in ("SOUND", "STOLEN", "SHARED", "LANGUAGES") for line in _holds(group, "x", "a0 a1", first)),
        *(line for group in ("SOUND", "STOLEN", "SHARED", "LANGUAGES") for line in _holds(group, "y", "a2", first)),
        *_holds("SOUND", "x", "a0 a1", then),
        *_holds("SOUND", "y", "a2", then),
        *(line for group in ("STOLEN", "LANGUAGES") for line in _holds(group, "x", "a0", then)),
        *(line for group in ("STOLEN", "LANGUAGES") for line in _holds(group, "y", "a1 a2", then)),
        *_holds("SHARED", "x", "a0 a1", then),
        *_holds("SHARED", "y", "a1 a2", then),
        *_holds("CONFIGURED", "x", "a0 a1", strategy=BY_CONFIG),
        *_holds("CONFIGURED", "y", "a1", strategy=BY_CONFIG),
        *_holds("CONFIGURED", "z", "", strategy=BY_CONFIG),
        *_holds("GHOST", "x", "a0 a1 a2", strategy=BY_CONFIG),
        *_holds("TWINS", "x", "a0"),
        *_holds("TWINS", "y", "a2"),
        *_holds("MIXED", "x", "a0 a1"),
        *_holds("MIXED", "y", "a1", strategy=CIRCLE),
        *_holds("OWN-CLASS", "x", "a0", strategy="Stickily"),
        *_holds("EVERYONE", "x", "a0 a1 a2"),
        *_holds("EVERYONE", "y", "a0 a1 a2"),
        *_holds("MUTE", "x", "a0 a1"),
        *(running_info(_ms(s), "y", AVG, consumer_group="MUTE", code=1, body=None) for s in MINUTES),
        *_holds("OTHER-TOPIC", "x", "a0 a1"),
        *_holds("OTHER-TOPIC", "y", "", topic="U"),
        *_holds("JOINED", "x", "a0 a1 a2", SECONDS_5[:15]),
        *_holds("JOINED", "x", "a0 a1", SECONDS_5[15:]),
        *_holds("JOINED", "y", "", SECONDS_5[12:15]),
        *_holds("JOINED", "y", "a2", SECONDS_5[15:]),
        *_holds("STALE", "x", "a0", SECONDS_10[:10], "R"),
        *_holds("STALE", "y", "a1", SECONDS_10[:10], "R"),
        *_holds("STALE", "x", "a0 a1", SECONDS_10[10:], "R"),
        *_holds("STALE", "y", "a2 a3", SECONDS_10[10:], "R"),
        *_holds("NEVER-TOLD", "x", "a0", SECONDS_10, "R"),
        *_holds("NEVER-TOLD", "y", "a1", SECONDS_10, "R"),
        *_holds("FLAPS", "x", "a0 a1", [0]),
        *_holds("FLAPS", "x", "a0 a1 a2", MINUTES[1:]),
        *_holds("VIEWS", "x", "a0", [*SECONDS_10[:4], *SECONDS_10[8:]], "V"),
        *_holds("VIEWS", "x", "a0 b0", SECONDS_10[4:8], "V"),
        *_holds("VIEWS", "y", "b0", SECONDS_10, "V"),
    ]


def _write_log(folder: Path, group: str, client_id: str, events: Mapping[float, str], alive: Iterable[float]) -> None:
    """A 4.9.8 client's log: a line each 10 s while it is alive, and `events` as "ADDED a0" at their seconds."""
    texts = {
        "STARTED": f"the consumer [{group}] start beginning. messageModel=CLUSTERING, isUnitMode=false",
        "INSTANCE": f"Created a new client Instance, InstanceIndex:0, ClientID:{client_id}, ClientConfig:",
        "STOPPED": f"the consumer [{group}] shutdown OK",
        "ADDED": f"doRebalance, {group}, add a new mq, {{}}",
        "REMOVED": f"doRebalance, {group}, remove unnecessary mq, {{}}",
        "LOCK_FAILED": f"doRebalance, {group}, add a new mq failed, {{}}, because lock failed",
        "NO_OFFSET": f"doRebalance, {group}, add new mq failed, {{}}",
    }
    alive_text = f"[persistAll] Group: {group} ClientId: {client_id} updateConsumeOffsetToBroker"
    said = [(each, alive_text) for each in alive]
    for second, told in events.items():
        for event, _, queues in (each.partition(" ") for each in told.split(", ")):
            for queue in queues.split() or ["-"]:
                mq = f"MessageQueue [topic=T, brokerName={queue[0]}, queueId={queue[1:]}]"
                said.append((second, texts[event].format(mq)))
    file = folder / group / client_id / "rocketmq_client.log"
    file.parent.mkdir(parents=True)
    with file.open("w") as log:
        for second, text in sorted(said, key=lambda each: each[0]):
            when = dt.datetime.fromtimestamp(_ms(second) / 1000, dt.UTC)
            log.write(f"{when:%Y-%m-%d %H:%M:%S},{when.microsecond // 1000:03d} INFO RocketmqClient - {text}\n")


def _write_logs(folder: Path) -> None:
    always, start = range(-10, 600, 10), "STARTED, INSTANCE"
    end: dict[float, str] = {600: "STOPPED"}
    # y is killed at 180 s; its broker drops it at 300 s.
    _write_log(folder, "KILLED", "x", {-10: f"{start}, ADDED a0 a1", 300.5: "ADDED a2", **end}, always)
    _write_log(folder, "KILLED", "y", {-10: f"{start}, ADDED a2"}, range(-10, 181, 10))
    # y stands still from 60 s to 270 s and has its queue all the time; x takes it when the broker drops y.
    has_a2: dict[float, str] = {190: "ADDED a2", 300: "REMOVED a2"}
    _write_log(folder, "FROZEN", "x", {-10: f"{start}, ADDED a0 a1", **has_a2, **end}, always)
    _write_log(folder, "FROZEN", "y", {-10: f"{start}, ADDED a2", **end}, [*range(-10, 61, 10), *range(270, 600, 10)])
    # y joins and x gives a2 up at 120 s; y gets it at 180 s.
    for group, refused in (("LOCKED", "LOCK_FAILED a2"), ("NO-OFFSET", "NO_OFFSET a2")):
        _write_log(folder, group, "x", {-10: f"{start}, ADDED a0 a1 a2", 120: "REMOVED a2", **end}, always)
        tries: dict[float, str] = {120: refused, 140: refused, 160: refused, 180: "ADDED a2"}
        _write_log(folder, group, "y", {118: start, **tries, **end}, range(120, 600, 10))


@pytest.fixture(scope="module")
def site(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SnapshotSite:
    """One day; each group of `STORIES` from noon on."""
    folder = tmp_path_factory.mktemp("site")
    _write_logs(folder / "client_logs")
    made = SnapshotSite(
        spark, folder, load_settings([], SETTINGS, {"inputs.client_logs.path": str(folder / "client_logs")})
    )
    made.log("consumers", _consumers())
    routes = [
        *(route(_ms(each), a=3) for each in MINUTES),
        *(route(_ms(each), topic="V", a=1, b=1) for each in MINUTES),
        *(route(_ms(each), topic="R", a=2 if each < 60 else 4) for each in SECONDS_10),
        *(route(_ms(each), topic="GONE", code=17) for each in MINUTES),
    ]
    made.log("routes", routes)
    made.log("running_info", _answers())
    made.run(D1)
    return made


def _findings(site: SnapshotSite, group: str) -> list[Found]:
    """Findings, and what events of the group tell that no finding does."""
    found = site.rows("allocation_findings", consumer_group=group)
    told = {(row["topic"], row["broker_name"], row["queue_id"], row["start_ms"]) for row in found}
    found += [
        {**queue, "basis": "OBSERVED", "client_ids": sorted({*queue["owners_expected"], *queue["owners_observed"]})}
        for event in site.rows("group_events", consumer_group=group)
        for queue in event["queues"]
        if (queue["topic"], queue["broker_name"], queue["queue_id"], queue["start_ms"]) not in told
    ]

    def where(row: dict[str, Any]) -> str:
        queue = "" if row["queue_id"] is None else f" {row['broker_name']}{row['queue_id']}"
        return f"{row['topic'] or ''}{queue}"

    return sorted(
        Found(
            row["basis"],
            row["kind"],
            row["cause"],
            where(row),
            row["client_ids"],
            row["owners_expected"],
            row["owners_observed"],
            (row["start_ms"] - NOON) / 1000,
            (row["end_ms"] - NOON) / 1000,
        )
        for row in found
    )


@pytest.mark.parametrize("group", STORIES)
def test_story(site: SnapshotSite, group: str) -> None:
    assert _findings(site, group) == sorted(STORIES[group])


def test_no_other_group_has_a_finding(site: SnapshotSite) -> None:
    """What lasts for less than two rebalances is in its event alone."""
    rows = site.rows("allocation_findings", "consumer_group")
    with_story = {group for group, found in STORIES.items() if found}
    assert {row["consumer_group"] for row in rows} == with_story - {"JOINED", "STALE"}


SENTENCES = {
    ("FEW", "IDLE_CLIENT"): "FEW, T: the client gets no queue for 540.0 s"
    " (z; the group has more clients than the topic has queues)",
    ("TWINS", "UNASSIGNED"): "TWINS, T, a queue 1: the queue is assigned to nobody for 540.0 s"
    " (two connections of the group have one client id)",
    ("STOLEN", "AGAINST_STRATEGY"): "STOLEN, T, a queue 1: a client that should not own the queue has it for 300.0 s"
    " (expected x, held by y; the data does not show why)",
    ("KILLED", "UNASSIGNED"): "KILLED, T, a queue 2: nobody has the queue for 120.0 s"
    " (expected y, held by nobody; the client is gone, and its broker has not dropped it yet)",
    ("LANGUAGES", "MIXED_LANGUAGES"): "LANGUAGES: clients of different languages may allocate differently for 780.0 s",
}


@pytest.mark.parametrize(("group", "kind"), SENTENCES)
def test_in_words(site: SnapshotSite, group: str, kind: str) -> None:
    rows = site.rows("allocation_findings", "sentence", consumer_group=group, kind=kind)
    assert rows == [{"sentence": SENTENCES[group, kind]}]
