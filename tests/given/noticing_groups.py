"""Consumer groups that a program should notice, a story each, as snapshots and client logs of one day.

Seconds count from noon; of topic T's a0, a1 and a2, AVG gives x the first two and y a2. What is wrong begins at 0 s:
then y holds a0 as well, y alone a1, and nobody a2.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.given.site import D1, Line, at
from tests.given.snapshot_site import SnapshotSite, connection, last_speaks_go, members, route, running_info

NOON = at(D1, "12:00:00")
AVG = "AllocateMessageQueueAveragely"
TIMES = range(-300, 540, 60)
"""When snapshots were taken; the last one holds until 540."""
FIRST_S, LAST_S = -43_200, 43_200  # 00:00 and 24:00
NO_CONSUMER = "no consumer for this group, CODES"  # remark of ConsumerManageProcessor
SETTINGS = [
    'groups."GHOSTS".strategy="CONFIG"',
    'groups."GHOSTS".clients."x".queues=[["a", 0], ["a", 1], ["a", 2], ["a", 5], ["a", 6]]',
    'groups."GHOSTS".clients."y".queues=[["a", 7]]',
    'groups."CONFIGURED".strategy="CONFIG"',
    'groups."CONFIGURED".clients."x".queues=[["a", 0], ["a", 1]]',
    'groups."CONFIGURED".clients."y".queues=[["a", 1]]',
    'groups."TWIN-CONFIGURED".strategy="CONFIG"',
    'groups."TWIN-CONFIGURED".clients."x".queues=[["a", 0], ["a", 1]]',
    'groups."TWIN-CONFIGURED".clients."y".queues=[["a", 1], ["a", 2]]',
    'groups."TWIN-LEFT-OUT".strategy="CONFIG"',
    'groups."TWIN-LEFT-OUT".clients."x".queues=[["a", 0]]',
    'groups."TWIN-LEFT-OUT".clients."y".queues=[["a", 1]]',
    'groups."TWIN-ROOMS".strategy="MACHINE_ROOM"',
    'groups."TWIN-ROOMS".machine_rooms=["IDC1"]',
    'groups."TWIN-ASKS".strategy="CONSISTENT_HASH"',
    'groups."TWIN-ASKS".client_rebalance=false',
    'groups."TWIN-MIXED".clients."z".strategy="CONFIG"',
    'groups."TWIN-MIXED".clients."z".queues=[["a", 2]]',
    'groups."VIEWS-CONFIGURED".strategy="CONFIG"',
    'groups."VIEWS-CONFIGURED".queues=[["b", 0]]',
    'groups."ROOMS".machine_rooms=["IDC1"]',
    'groups."ROOMS".broker_room="^IDC([0-9])"',
    'groups."ROOMS".client_room="([0-9])$"',
    'groups."ROOMS".virtual_nodes=3',
    'groups."ROOMS-OF-CLIENTS".client_room="-(.*)$"',
    'groups."ROOMS-OF-BROKERS".broker_room="^IDC([0-9])"',
    'groups."MIXED".clients."y".strategy="AVG_BY_CIRCLE"',
    'groups."ONE-FAILS".clients."r-1".strategy="MACHINE_ROOM_NEARBY-AVG"',
    'groups."BROKER".client_rebalance=false',
    'groups."LANGUAGES-LATE".message_model="CLUSTERING"',  # whatever Go says
    'groups."DESERTED".message_model="CLUSTERING"',
]


def write_groups(site: SnapshotSite) -> None:
    """Put each group's day into the folders of the site."""
    _write_logs(site.folder / "client_logs")
    site.log("consumers", _consumers())
    site.log("routes", _routes())
    site.log("running_info", _running_info())


def _ms(second: float) -> int:
    return NOON + round(second * 1000)


def _members(
    group: str, ids: Iterable[str], times: Iterable[float] = TIMES, *topics: str, broker: str = "a"
) -> list[Line]:
    """`ids` such as "xy"; with topics or at broker a as a connection, else as a list of members."""
    if broker == "a":
        return [connection(_ms(each), list(ids), *topics, consumer_group=group) for each in times]
    return [members(_ms(each), list(ids), broker, consumer_group=group) for each in times]


def _told(group: str, broker: str, told: dict[float, str]) -> list[Line]:
    return [line for second, ids in told.items() for line in _members(group, ids, [second], broker=broker)]


def _each(times: Iterable[int], usual: str, other: str, *at_s: int) -> dict[float, str]:
    return {second: other if second in at_s else usual for second in times}


Logs = dict[str, list[tuple[float, str]]]
"""Lines of each process: when, and what."""


def _log(
    logs: Logs, group: str, client_id: str, *events: tuple[float, str], alive: Sequence[float], topic: str = "T"
) -> None:
    """A 4.9.8 client's log, which starts with its first line; `events` such as (0, "ADDED a0 a1").

    Groups whose client of one id is alive at the same times are in one process and share it.
    """
    texts = {
        "ADDED": f"doRebalance, {group}, add a new mq, {{}}",
        "REMOVED": f"doRebalance, {group}, remove unnecessary mq, {{}}",
        "LOCK_FAILED": f"doRebalance, {group}, add a new mq failed, {{}}, because lock failed",
        "NO_OFFSET": f"doRebalance, {group}, add new mq failed, {{}}",
        "STOPPED": f"the consumer [{group}] shutdown OK",
    }
    process = f"{client_id}-{sum(alive):.3f}"
    is_first = process not in logs
    said = logs.setdefault(process, [])
    said.append((alive[0], f"the consumer [{group}] start beginning. messageModel=CLUSTERING, isUnitMode=false"))
    if is_first:
        said.append((alive[0], f"Created a new client Instance, InstanceIndex:0, ClientID:{client_id}, ClientConfig:"))
        said += [(each, f"[persistAll] Group: {group} ClientId: {client_id} updateConsumeOffset") for each in alive]
    for second, told in events:
        event, *queues = told.split()
        for queue in queues or ["-"]:
            of, _, name = queue.rpartition(":")
            mq = f"MessageQueue [topic={of or topic}, brokerName={name[0]}, queueId={name[1:]}]"
            said.append((second, texts[event].format(mq)))


def _write_logs(folder: Path) -> None:
    for process, said in _logs().items():
        file = folder / process / "rocketmq_client.log"
        file.parent.mkdir(parents=True)
        with file.open("w") as log:
            for second, text in sorted(said, key=lambda each: each[0]):
                when = dt.datetime.fromtimestamp(_ms(second) / 1000, dt.UTC)
                log.write(f"{when:%Y-%m-%d %H:%M:%S},{when.microsecond // 1000:03d} INFO RocketmqClient - {text}\n")


ALIVE = range(-310, 600, 10)
WRONG_X = ((-300, "ADDED a0 a1"), (0, "REMOVED a1"))
WRONG_Y = ((-300, "ADDED a2"), (0, "REMOVED a2"), (0, "ADDED a0 a1"))


def _logs() -> Logs:
    logs: Logs = {}
    plain = ("NOTHING", "JOINED", "TWICE", "TWICE-TO-ONE", "ELSEWHERE", "X-ELSEWHERE", "FLAPS", "LANGUAGES")
    for group in plain:
        _log(logs, group, "x", *WRONG_X, alive=ALIVE)
        _log(logs, group, "y", *WRONG_Y, alive=ALIVE)
    _log(logs, "ROUTED", "x", *WRONG_X, alive=ALIVE, topic="P")
    _log(logs, "ROUTED", "y", *WRONG_Y, (-300, "ADDED a3"), (120, "REMOVED a3"), alive=ALIVE, topic="P")
    _log(logs, "ONE-LOGS", "y", *WRONG_Y, alive=ALIVE)
    wrong_x = ((-300, "ADDED W:a0 W:a1"), (0, "REMOVED W:a1"))
    wrong_y = ((-300, "ADDED W:a2"), (0, "REMOVED W:a2"), (0, "ADDED W:a0 W:a1"))
    _log(logs, "VIEWS", "x", *WRONG_X, *wrong_x, (-300, "ADDED V:a0"), alive=ALIVE)
    _log(logs, "VIEWS", "y", *WRONG_Y, *wrong_y, (-300, "ADDED V:b0"), alive=ALIVE)
    _log(logs, "GHOSTS", "x", (-300, "ADDED a0 a1 a2 a5 a6"), (0, "REMOVED a6"), alive=ALIVE)
    _log(logs, "GHOSTS", "y", (-300, "ADDED a7"), (0, "REMOVED a7"), (0, "ADDED a5 a6"), alive=ALIVE)
    _log(logs, "STOPPED", "x", (-300, "ADDED a0 a1 a2"), (100, "ADDED a3 a4"), alive=ALIVE, topic="S")
    _log(logs, "STOPPED", "y", (-300, "ADDED a3 a4 a5"), (100, "STOPPED"), alive=range(-310, 101, 10), topic="S")
    _log(logs, "STOPPED", "z", (-300, "ADDED a6 a7 a8"), (100, "ADDED a4"), alive=ALIVE, topic="S")
    for group, next_s in (("PAUSED", 130), ("SILENT", 130.001)):
        _log(logs, group, "x", *WRONG_X, alive=ALIVE)
        _log(logs, group, "y", *WRONG_Y, alive=[*range(-310, 101, 10), next_s, *range(140, 600, 10)])
    for group, refused in (
        ("LOCKED", "LOCK_FAILED a0 a1 a2"), ("ONE-LOCKED", "LOCK_FAILED a2"), ("NO-OFFSET", "NO_OFFSET a0 a1 a2"),
    ):  # fmt: skip
        _log(logs, group, "x", *WRONG_X, alive=ALIVE)
        _log(logs, group, "y", *WRONG_Y, (200, refused), alive=ALIVE)
    _log(logs, "LATE", "x", (-300, "ADDED a0 a1"), alive=ALIVE)
    _log(logs, "LATE", "y", alive=range(60, 600, 10))
    _log(logs, "STOPS", "x", (-300, "ADDED a0 a1"), alive=ALIVE)
    _log(logs, "STOPS", "y", (-300, "ADDED a2"), (99, "REMOVED a2"), (100, "STOPPED"), alive=range(-320, 101, 10))
    _log(logs, "SHRUNK", "x", (0, "ADDED a0 a1"), (60, "REMOVED a1"), alive=ALIVE, topic="H")
    _log(logs, "SHRUNK", "y", (0, "ADDED a2 a3"), (60, "REMOVED a3"), (60, "ADDED a1"), alive=ALIVE, topic="H")
    for client_id in "xy":
        _log(logs, "VIEWS-CONFIGURED", client_id, (-300, "ADDED b0"), alive=ALIVE, topic="V")
    away = ((100, "REMOVED a1"), (101, "ADDED a1"), (200, "REMOVED a1"), (201.001, "ADDED a1"))
    _log(logs, "HAND-OVER", "x", (-300, "ADDED a0 a1"), *away, alive=ALIVE)
    _log(logs, "HAND-OVER", "y", (-300, "ADDED a2"), alive=ALIVE)
    for group in ("STOOD", "BEGAN"):
        first = range(FIRST_S, FIRST_S + 200, 10)
        _log(logs, group, "x", (FIRST_S, "ADDED a0"), alive=first, topic="M")
        _log(logs, group, "y", (FIRST_S, "ADDED a0 a1"), alive=first, topic="M")
    at_last, wrong_s = range(LAST_S - 300, LAST_S, 10), LAST_S - 60
    x_then, y_then = ((LAST_S - 290, each[0][1]) for each in (WRONG_X, WRONG_Y))
    _log(logs, "UNTIL-MIDNIGHT", "x", x_then, (wrong_s, "REMOVED a1"), alive=at_last, topic="N")
    _log(logs, "UNTIL-MIDNIGHT", "y", y_then, (wrong_s, "REMOVED a2"), (wrong_s, "ADDED a0 a1"), alive=at_last,
         topic="N")  # fmt: skip
    for group in ("MIXED", "CONFIGURED"):
        _log(logs, group, "x", (-300, "ADDED a0 a1"), alive=ALIVE)
        _log(logs, group, "y", (-300, "ADDED a1"), alive=ALIVE)
    _log(logs, "BOTH", "x", (0, "ADDED a0"), (100, "REMOVED a0"), alive=ALIVE)
    return logs


def _consumers() -> list[Line]:
    by_x_y = (
        "NOTHING", "JOINED", "ASKED-10", "ASKED-30", "ONE-LOGS", "TWICE", "TWICE-TO-ONE", "ELSEWHERE", "X-ELSEWHERE",
        "GHOSTS", "FLAPS", "PAUSED", "SILENT", "LOCKED", "NO-OFFSET", "ONE-LOCKED", "HAND-OVER", "MIXED", "BROKER",
        "OWN-CLASS", "LATE", "STOPS",
    )  # fmt: skip
    joins: dict[float, str] = {second: "x" if second < 120 else "xy" for second in TIMES}
    flapped = {"FLAPS-IN-600": 0, "FLAPS-IN-LONGER": 0.001}
    away = {"AWAY-120": 0, "AWAY-LONGER": 0.001}
    differ = {"DIFFER-10": 0, "DIFFER-LONGER": 0.001}
    return [
        *(line for group in by_x_y for line in _members(group, "xy")),
        *(line for group in ("JOINED", "ASKED-10", "ASKED-30", "ONE-LOGS") for line in _told(group, "b", joins)),
        *_members("ROUTED", "xy", TIMES, "P"),
        *(
            line
            for group, brokers in (("TWICE", "bc"), ("TWICE-TO-ONE", "b"))
            for broker in brokers
            for line in _told(group, broker, _each(range(-300, 181, 60), "xy", "xxy", 120, 180))
        ),
        *_told("TWICE-TO-ONE", "c", _each(TIMES, "xy", "")),
        *_told("FLAPS", "b", _each(TIMES, "xy", "x", 120, 240, 360)),
        *_members("VIEWS", "xy", TIMES, "T", "V", "W"),
        *_told("VIEWS", "b", _each(TIMES, "xy", "x", 120, 180)),
        *_members("STOPPED", "xyz", TIMES, "S"),
        *(last_speaks_go(line) if line["captured_at_ms"] == _ms(120) else line for line in _members("LANGUAGES", "xy")),
        *_members("STOOD", "xy", [FIRST_S, FIRST_S + 60, FIRST_S + 120], "M"),
        *_members("BEGAN", "xy", [FIRST_S + each + 0.001 for each in (0, 60, 120)], "M"),
        *_members("UNTIL-MIDNIGHT", "xy", [LAST_S - 150, LAST_S - 90, LAST_S - 30], "N"),
        *(
            line
            for group, late in flapped.items()
            for line in _told(group, "b", {0: "xy", 30: "x", 60: "xy", 330: "x", 360: "xy", 630: "x", 660 + late: "xy"})
        ),
        *(
            line
            for group, late in away.items()
            for line in _told(
                group, "b", {0: "xy", 60: "x", 180: "xy", 240: "x", 360: "xy", 420: "x", 540 + late: "xy"}
            )
        ),
        *(
            line
            for group, late in differ.items()
            for line in [
                *_members(group, "xy", TIMES, "V"),
                *_told(group, "b", {60: "xy", 120: "x", 130 + late: "xy", 180: "xy"}),
            ]
        ),
        *_members("ONE-FAILS", ["r-1"], [0]),
        *_members("ONE-FAILS", ["-2", "r-1"], range(60, 540, 60)),
        *_members("TWIN-CONFIGURED", "xxy"),
        *_members("TWIN-LEFT-OUT", "xxy"),
        *_members("TWIN-ASKS", "xxy"),
        *_members("TWIN-MIXED", "xxyz"),
        *_members("TWIN-VIEW", "xxy", TIMES, "V"),
        *_told("TWIN-VIEW", "b", dict.fromkeys(TIMES, "xy")),
        *_members("RETRIES", "xxy", TIMES, "%RETRY%RETRIES", "%RETRY%ONE", "%RETRY%NEVER"),
        *_members("SHRUNK", "xy", range(0, 540, 60), "H"),
        *_members("VIEWS-CONFIGURED", "xy", TIMES, "V"),
        *_told("VIEWS-CONFIGURED", "b", _each(TIMES, "xy", "x", 120, 180)),
        *map(last_speaks_go, _members("LANGUAGES-LATE", "xy", [LAST_S - 30], "N")),
        *_members("NO-ROUTE-BEFORE", "x", (-300, -240), "GONE"),
        *_members("ROUTE-WENT-LATER", "x", (-300, -240), "C"),
        *(connection(_ms(each), [*"xxy"], "I", broker="IDC1@a", consumer_group="TWIN-ROOMS") for each in TIMES),
        # The other pairs of a kind and a cause.
        *_members("CONFIGURED", "xyz"),
        *_members("EMPTY-ID", ["", "x"]),
        *_members("FEW", "wxyz"),
        *_members("NO-ROUTE", "x", TIMES, "GONE"),
        *_members("UNTOLD", "x", TIMES, "NEVER"),
        *(members(_ms(each), None, code=206, consumer_group="DESERTED") for each in TIMES),
        *_rebalancing(),
        *_answered(),
        *_unknown(),
    ]


def _rebalancing() -> list[Line]:
    """Groups of which only moves are asked."""
    late = {"ROUND": 1, "ROUND-LATE": 1.001}
    rooms = {"ROOMS": ["x1", "y2"], "ROOMS-OF-CLIENTS": ["x-IDC1", "y-IDC2"], "ROOMS-OF-BROKERS": ["1-x", "2-y"]}
    return [
        *(
            connection(_ms(each), ids, "I", broker="IDC1@a", consumer_group=group)
            for group, ids in rooms.items()
            for each in TIMES
        ),
        *_members("VIEWS-OF-THREE", "xy", TIMES, "THREE"),
        *_told("VIEWS-OF-THREE", "b", dict.fromkeys(TIMES, "x")),
        *_told("VIEWS-OF-THREE", "c", _each(TIMES, "xy", "y", 60, 120)),
        *(
            line
            for second, ids in enumerate(["xy", "wxy", "xy", "xz", "wx", "wxx", "wx"])
            for line in _members("EVERY", ids, [second * 60], "Q")
        ),
        *_members("GROWS", "x", [0], "G"),
        *_members("GROWS", "xy", [60, 120], "G"),
        *_members("SHRINKS", "xy", [0, 60, 120], "H"),
        *_members("FIVE", "x", [0], "F"),
        *_members("FIVE", "xyz", [60, 120, 180], "F"),
        *(
            line
            for group, after in late.items()
            for line in [
                *_members(group, "x", [0], "V"),
                *_members(group, "xy", [60, 120], "V"),
                *_told(group, "b", {1: "x", 60 + after: "xy", 121: "xy"}),
            ]
        ),
        *(
            line
            for group, then in (("STALE", 301), ("STALE-LONGER", 301.001))
            for line in [*_members(group, "x", [0], "V"), *_members(group, "xy", [then], "V")]
        ),
    ]


def _unknown() -> list[Line]:
    """Groups of which something is not known, whatever is asked."""
    codes: dict[str, int | None] = {"BROKERS-SILENT": None, "BROKERS-REFUSE": 16}
    return [
        *(line for group in codes for line in _members(group, "x", [-300])),
        *(
            members(_ms(each), None, code=code, consumer_group=group)
            for group, code in codes.items()
            for each in TIMES[1:]
        ),
        *_members("BY-PROXY", ["host@1@0@2v6q3l8k"]),
        *map(last_speaks_go, _members("GO", "x")),
        *(members(_ms(each), "xx", consumer_group="IDS") for each in TIMES),
        *_members("NAME-SERVERS", "x", TIMES, "NS"),
        *_members("ORDER-CONF", "x", TIMES, "CONF"),
        *_members("RESETS", "x", TIMES, "T"),
    ]


def _answered() -> list[Line]:
    """Groups of which only the members are asked."""
    codes: dict[float, tuple[str | None, int | None]] = {
        0: ("xy", 0), 60: ("", 17), 120: (None, None), 180: (None, 2), 240: (None, 206), 300: ("xy", 0), 360: (None, 1),
    }  # fmt: skip
    at_once: list[tuple[float, str | None, int | None]] = [
        (0, "x", 0), (0, "xy", 0), (60, "xy", 0), (60, None, None), (120, None, 1), (120, "xy", 0),
    ]  # fmt: skip
    return [
        *(
            members(_ms(second), ids, code=code, remark=NO_CONSUMER if code == 1 else None, consumer_group="CODES")
            for second, (ids, code) in codes.items()
        ),
        *(members(_ms(second), ids, code=code, consumer_group="AT-ONCE") for second, ids, code in at_once),
        members(_ms(0), "x", consumer_group="ONCE"),
        *(members(_ms(second), "x", consumer_group="40-APART") for second in (0, 40)),
        *(members(_ms(second), "x", consumer_group="400-APART") for second in (0, 400)),
    ]


def _held(group: str, client_id: str, queues: str, times: Iterable[int]) -> list[Line]:
    held = [("T", queue[0], int(queue[1:])) for queue in queues.split()]
    return [running_info(_ms(each), client_id, AVG, held, consumer_group=group) for each in times]


T_A = [("T", "a", queue_id) for queue_id in range(3)]


def _running_info() -> list[Line]:
    tens, before = range(-300, 540, 10), range(-300, 0, 10)
    popped = running_info(_ms(0), "x", AVG, consumer_group="BOTH")
    pop = '{"mqPopTable":{{"brokerName":"a","queueId":-1,"topic":"T"}:{"droped":false}},'
    return [
        *(line for group in ("ASKED-30", "ONE-LOGS") for line in _held(group, "x", "a0 a1", before)),
        *_held("ASKED-10", "x", "a0 a1", [*range(-300, -200, 10), *range(-100, 0, 10)]),  # usually every 10 s
        *(line for group in ("ASKED-10", "ASKED-30", "ONE-LOGS") for line in _held(group, "x", "a0", tens[30:])),
        *_held("ASKED-10", "y", "a2", before),
        *_held("ASKED-10", "y", "a0 a1", tens[30:]),
        *(line for group in ("ASKED-30", "ONE-LOGS") for line in _held(group, "y", "a2", before[::3])),
        *(line for group in ("ASKED-30", "ONE-LOGS") for line in _held(group, "y", "a0 a1", range(0, 540, 30))),
        *(
            running_info(_ms(each), "y", AVG, code=1, body=None, consumer_group="ASKED-30")
            for each in tens
            if each % 30
        ),
        running_info(_ms(100), "y", AVG, code=1, body=None, consumer_group="NOTHING"),
        running_info(_ms(100), "y", AVG, [], ["U"], consumer_group="ELSEWHERE"),
        running_info(_ms(160), "y", AVG, [], ["T"], consumer_group="ELSEWHERE"),
        running_info(_ms(100), "x", AVG, [], ["U"], consumer_group="X-ELSEWHERE"),
        running_info(_ms(0), "x", "Stickily", consumer_group="OWN-CLASS"),
        popped | {"body": popped["body"].replace("{", pop, 1)},
        running_info(_ms(60), "x", AVG, consumer_group="BOTH"),
        *(running_info(_ms(s), "x", AVG, [], dropped=[("T", "a", 0)], consumer_group="BOTH") for s in (120, 180)),
        *_held("RESETS", "x", "a0 a1 a2", (each for each in TIMES if each != 120)),
        running_info(_ms(120), "x", AVG, T_A[:2], dropped=T_A[2:], consumer_group="RESETS"),
    ]


def _without_master(line: Line) -> Line:
    return line | {"body": line["body"].replace("{0:", "{1:")}


def _with_order_conf(line: Line, conf: str) -> Line:
    return line | {"body": f'{line["body"][:-1]},"orderTopicConf":"{conf}"}}'}


B1 = {"b": 1}


def _routes() -> list[Line]:
    return [
        *(route(_ms(each), a=3) for each in TIMES),
        *(route(_ms(each), topic="V", a=1, b=1) for each in TIMES),
        *(route(_ms(each), topic="W", a=3, b=(0, 1, 6)) for each in TIMES),
        *(route(_ms(each), topic="P", a=(4 if each < 120 else 3, 3 if each < 240 else 4, 6)) for each in TIMES),
        *(route(_ms(each), topic="S", a=9) for each in TIMES),
        *(route(_ms(each), topic="I", **{"IDC1@a": 3, "IDC2@b": 1, "IDC1@c@d": 1}) for each in TIMES),
        *(route(_ms(each), topic="THREE", a=1, b=1, c=1) for each in TIMES),
        *(route(_ms(each), topic="%RETRY%RETRIES", a=3) for each in TIMES),
        *(route(_ms(each), topic="%RETRY%ONE", a=1) for each in TIMES),
        *(route(_ms(each), topic="GONE", code=17) for each in TIMES),
        *(
            route(_ms(each + late_s), topic="NS", a=1, **others)
            for each in TIMES
            for late_s, others in ((0, B1), (0.04, {}))
        ),
        *(_with_order_conf(route(_ms(each), topic="CONF", a=2), "a:two") for each in TIMES),
        *(route(_ms(FIRST_S + each), topic="M", a=3) for each in (0, 60, 120)),
        *(route(_ms(LAST_S - each), topic="N", a=3) for each in (150, 90, 30)),
        *(route(_ms(each), topic="Q", a=6) for each in TIMES),
        *(route(_ms(each), topic="G", a=2 if each < 60 else 4) for each in TIMES),
        *(route(_ms(each), topic="H", a=4 if each < 60 else 2) for each in TIMES),
        *(route(_ms(each), topic="F", a=3, b=2) for each in TIMES),
        route(_ms(0), topic="C", a=2, b=2),
        route(_ms(60), topic="C", a=(2, 2, 4), c=1),
        route(_ms(120), topic="C", a=(2, 2, 0), c=1),
        route(_ms(180), topic="C", code=1),
        route(_ms(240), topic="C", a=(2, 3, 6)),
        _without_master(route(_ms(300), topic="C", a=(2, 3, 6))),
        _without_master(route(_ms(360), topic="C", a=(2, 0, 4))),
        route(_ms(420), topic="C", code=17),
        route(_ms(0), topic="READ", a=(2, 2, 4)),
        _without_master(route(_ms(60), topic="READ", a=(2, 2, 4))),
    ]
