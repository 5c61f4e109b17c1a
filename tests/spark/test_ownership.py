"""Who really held which queue, through the published table: logs, midnight, rolled files, polls, bad lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.errors import InputUnreadableError
from jobs.runs.run import RunResult
from jobs.settings.load import load_settings
from tests.given.site import D1, D2, START, at
from tests.given.snapshot_site import SnapshotSite, connection, route, running_info

NOON, MINUTE = at(D1, "12:00:00"), 60_000
SETTINGS = [
    "max_bad_fraction=0.5",
    'client_logs."p09".client_id="said"',
    'client_logs."p09".client_version="4.7.1"',
    'client_logs."p09".time_zone="Asia/Shanghai"',
]
Row = tuple[str, int, str, str]


def _line(clock: str, message: str, day: str = "2026-03-01") -> str:
    """As 4.9.8 writes it in UTC."""
    return f"{day} {clock} INFO RocketmqClient - {message}"


def _newer(clock: str, message: str) -> str:
    """As 5.3.3 writes it."""
    return f"2026-03-01 {clock} INFO  [7] [main] [o.a.r.c.i.c.RebalanceImpl#?:?] - {message}"


def _begun(clock: str, group: str, client: str | None, instance: int = 0, day: str = "2026-03-01") -> list[str]:
    """A consumer starts, and makes its client unless that is shared."""
    started = _line(clock, f"the consumer [{group}] start beginning. messageModel=CLUSTERING, isUnitMode=false", day)
    created = (
        f"Created a new client Instance, InstanceIndex:{instance}, ClientID:{client}, ClientConfig:ClientConfig []"
    )
    return [started, *([_line(clock, created, day)] if client else [])]


def _lite(clock: str, group: str, client: str, instance: int) -> list[str]:
    """A lite pull consumer starts."""
    created = (
        f"Created a new client Instance, InstanceIndex:{instance}, ClientID:{client}, ClientConfig:ClientConfig []"
    )
    return [_line(clock, created), _line(clock, f"the consumer [{group}] start OK")]


def _turned(clock: str, group: str, queue: int, what: str = "add a new", day: str = "2026-03-01") -> str:
    return _line(clock, f"doRebalance, {group}, {what} mq, {_queue(queue)}", day)


def _result(clock: str, group: str, client: str, *queues: int, day: str = "2026-03-01") -> str:
    message = (
        f"rebalanced result changed. allocateMessageQueueStrategyName=AVG, group={group}, topic=T, clientId={client},"
        f" mqAllSize=4, cidAllSize=1, rebalanceResultSize={len(queues)},"
        f" rebalanceResultSet=[{', '.join(map(_queue, queues))}]"
    )
    return _line(clock, message, day)


def _stopped(clock: str, group: str, client: str | None, day: str = "2026-03-01") -> list[str]:
    """A consumer stops, and its client unless another group still uses it."""
    told = [f"the client factory [{client}] shutdown OK"] if client else []
    return [_line(clock, message, day) for message in (*told, f"the consumer [{group}] shutdown OK")]


def _queue(queue: int) -> str:
    return f"MessageQueue [topic=T, brokerName=a, queueId={queue}]"


def _lives(clock: str, day: str = "2026-03-01") -> str:
    """What any process writes now and then."""
    return _line(clock, "[persistAll] Group: G ClientId: c updateConsumeOffsetToBroker", day)


def _write_logs(site: SnapshotSite) -> None:
    """A folder for each process; most begin at noon and say their last word at 12:10."""
    remove, d2, last = "remove unnecessary", "2026-03-02", _lives("12:10:00,000")
    illegal = (
        f"the pull request offset illegal, PullRequest [consumerGroup=P02, messageQueue={_queue(0)}, nextOffset=6]"
    )
    logs = {
        "p01/rocketmq_client.log": [
            *_begun("12:00:00,000", "P01", "c01"),
            _turned("12:00:01,000", "P01", 0),
            _turned("12:00:01,000", "P01", 1),
            _turned("12:00:02,000", "P01", 0),  # said twice
            _line("12:01:00,000", f"doRebalance, P01, add a new mq failed, {_queue(2)}, because lock failed"),
            _line("12:01:00,000", f"doRebalance, P01, add new mq failed, {_queue(3)}"),
            _turned("12:05:00,250", "P01", 1, remove),
            _turned("12:06:00,000", "P01", 2, remove),  # never held
            _turned("12:07:00,000", "P01", 1),
            last,
        ],
        "p01/rocketmq_client.log.2": [],
        "p02/rocketmq_client.log": [
            *_begun("12:00:00,000", "P02", "c02"),
            _turned("12:00:01,000", "P02", 0),
            _line("12:03:00,250", f"{illegal} PullResult [pullStatus=OFFSET_ILLEGAL]"),
            _turned("12:03:20,000", "P02", 0),
            last,
        ],
        "p03/rocketmq_client.log": [
            *_begun("12:00:00,000", "P03", "c03"),
            _turned("12:00:01,000", "P03", 0),
            _line("12:05:00,000", "the consumer [P03] shutdown OK"),
            *_begun("12:06:00,000", "P03", "c03#2", 1),
            _turned("12:06:20,000", "P03", 1),
            last,
        ],
        "p04/rocketmq_client.log": [  # killed: no word of it
            *_begun("12:00:00,000", "P04", "c04"),
            _turned("12:00:01,000", "P04", 0),
            _lives("12:02:30,000"),
            *_begun("12:04:00,000", "P04", "c04#2"),
            _turned("12:04:20,000", "P04", 0),
            last,
        ],
        "p05/rocketmq_client.log": [  # nobody knows whose line it is
            *_begun("12:00:00,000", "P05", "c05"),
            *_begun("12:00:00,500", "P05", "c05#2", 1),
            _turned("12:00:01,000", "P05", 0),
            _turned("12:00:02,000", "P05", 1),
            last,
        ],
        "p06/other_days/rocketmq_client-2026-03-01-1.log.gz": [
            *_begun("12:00:00,000", "P06", "c06"),
            _turned("12:00:01,000", "P06", 0),
        ],
        "p06/rocketmq_client.log.1": [_turned("18:00:00,000", "P06", 1)],
        "p06/rocketmq_client.log": [
            _lives("23:59:30,000"),
            _lives("00:00:30,000", d2),
            _turned("06:00:00,000", "P06", 0, remove, d2),
            _lives("06:10:00,000", d2),
        ],
        "2026-03-01/p07/rocketmq_client.log": [
            *_begun("22:00:00,000", "P07", "c07"),
            _turned("22:00:01,000", "P07", 0),
            _lives("23:59:59,900"),
        ],
        "2026-03-02/p07/rocketmq_client.log": [
            _lives("00:00:20,000", d2),
            _line("01:00:00,000", "the consumer [P07] shutdown OK", d2),
            _lives("01:00:05,000", d2),
        ],
        "p08/rocketmq_client.log": [  # 5.3.3 on a machine in any zone: GMT+8
            _newer("20:00:00.000", "the consumer [P08] start beginning. messageModel=CLUSTERING, isUnitMode=false"),
            _newer("20:00:00.100", "Created a new client Instance, InstanceIndex:0, ClientID:c08, ClientConfig:…"),
            _newer("20:00:01.000", f"doRebalance, P08, add a new pop mq, {_queue(-1)}"),
            _newer("20:04:00.007", f"doRebalance, P08, try remove unnecessary pop mq, {_queue(-1)}"),
            _newer("20:05:00.007", f"doRebalance, P08, remove unnecessary pop mq, {_queue(-1)}"),
        ],
        "p09/rocketmq_client.log": [  # 4.7.1 in Shanghai, as the settings say: the second only
            *_begun("20:00:00,000", "P09", "c09"),
            _turned("20:00:01,001", "P09", 0),
            _turned("20:05:07,007", "P09", 0, remove),
        ],
        "p10/rocketmq_client.log": [  # it ran before its first line; the result names the client
            _turned("12:00:01,000", "P10", 0),
            _result("12:00:01,000", "P10", "c10", 0),
            last,
        ],
        "p11/rocketmq_client.log": [_turned("12:00:01,000", "P11", 0), last],  # whose?
        "p12/rocketmq_client.log": [  # two clients whose process began before the first line
            _turned("12:00:01,000", "P12", 0),
            _result("12:00:01,000", "P12", "c12", 0),
            _result("12:00:02,000", "P12", "c12#2", 0),
            last,
        ],
        "p13/rocketmq_client.log": [  # silent for longer than a client that lives
            *_begun("12:00:00,000", "P13", "c13"),
            _turned("12:00:01,000", "P13", 0),
            _lives("23:58:30,000"),
        ],
        "p14/rocketmq_client.log": [  # it goes on, but nothing came of the next day
            *_begun("12:00:00,000", "P14", "c14"),
            _turned("12:00:01,000", "P14", 0),
            _lives("23:59:00,000"),
        ],
        "p15/rocketmq_client.log": [  # killed on the next day
            *_begun("12:00:00,000", "P15", "c15"),
            _turned("12:00:01,000", "P15", 0),
            _lives("23:59:50,000"),
            _lives("00:30:00,000", d2),
            *_begun("02:00:00,000", "P15", "c15#2", day=d2),
            _turned("02:00:20,000", "P15", 0, day=d2),
            _lives("02:10:00,000", d2),
        ],
        "p16/rocketmq_client.log": [  # two groups share a client
            *_begun("12:00:00,000", "P16", "c16"),
            *_begun("12:00:00,500", "P16-B", None),
            _turned("12:00:01,000", "P16", 0),
            _turned("12:00:01,000", "P16-B", 1),
            _line("12:08:00,000", "the consumer [P16-B] shutdown OK"),
            last,
        ],
        "p17/rocketmq_client.log": [
            *_begun("12:00:00,000", "P17", "c17"),
            _turned("12:00:01,000", "P17", 0),
            "org.apache.rocketmq.client.exception.MQBrokerException: CODE: 25",
            "\tat java.lang.Thread.run(Thread.java:750)",
            _turned("12:03:00,000", "P17", 0, remove)[:-10],
            _turned("12:04:00,000", "P17", 1, day="2026-02-30"),
            last,
        ],
        "p18/rocketmq_client.log": [  # nothing changes on the next day
            *_begun("12:00:00,000", "P18", "c18"),
            _turned("12:00:01,000", "P18", 0),
            _lives("23:59:30,000"),
            _lives("00:00:30,000", d2),
            _lives("05:00:00,000", d2),
        ],
        "p19/rocketmq_client.log": [  # a lite consumer, twice in one process: its client first, then `start OK`
            *_lite("12:00:00,000", "P19", "c19", 0),
            _turned("12:00:01,000", "P19", 0),
            _line("12:05:00,000", "the consumer [P19] shutdown OK"),
            *_lite("12:06:00,000", "P19", "c19#2", 1),
            _turned("12:06:20,000", "P19", 1),
            last,
        ],
        "p20/rocketmq_client.log": [  # two clients of a group, later two others
            *_begun("12:00:00,000", "P20", "c20"),
            _turned("12:00:01,000", "P20", 0),
            _turned("12:00:01,000", "P20", 1),
            _result("12:00:01,100", "P20", "c20", 0, 1),
            *_begun("12:05:00,000", "P20", "c20#2", 1),
            _turned("12:05:01,000", "P20", 1),
            _turned("12:05:01,200", "P20", 1, remove),
            _result("12:05:01,300", "P20", "c20#2", 1),
            _result("12:05:01,400", "P20", "c20", 0),
            *_stopped("12:07:00,000", "P20", "c20"),
            _turned("12:07:10,000", "P20", 0),
            _result("12:07:10,100", "P20", "c20#2", 0, 1),
            _lives("23:59:30,000"),
            _lives("00:00:30,000", d2),
            *_begun("01:00:00,000", "P20", "c20#3", 2, d2),
            _turned("01:00:20,000", "P20", 0, remove, d2),
            _result("01:00:20,100", "P20", "c20#2", 1, day=d2),
            _turned("01:00:21,000", "P20", 0, day=d2),
            _result("01:00:21,100", "P20", "c20#3", 0, day=d2),
            *_stopped("02:00:00,000", "P20", "c20#2", d2),
            _lives("02:10:00,000", d2),
        ],
        "p21/rocketmq_client.log": [  # one of two stops, and nobody knows which
            *_begun("12:00:00,000", "P21", "c21"),
            *_begun("12:00:00,000", "P21", "c21#2", 1),
            _turned("12:00:01,000", "P21", 0),
            _result("12:00:01,100", "P21", "c21", 0),
            *_stopped("12:05:00,000", "P21", None),
            last,
        ],
        "p22/rocketmq_client.log": [  # another process writes into the file of this one
            *_begun("12:00:00,000", "P22", "c22"),
            _turned("12:00:01,000", "P22", 0),
            _result("12:00:01,100", "P22", "c22", 0),
            _turned("12:00:02,000", "P22", 1),
            _result("12:00:02,100", "P22", "c22#9", 1),
            last,
        ],
        "p23/rocketmq_client.log": [  # one of two stops and starts again
            *_begun("12:00:00,000", "P23", "c23"),
            *_begun("12:00:00,000", "P23", "c23#2", 1),
            _turned("12:00:01,000", "P23", 0),
            _result("12:00:01,100", "P23", "c23", 0),
            *_stopped("12:05:00,000", "P23", "c23"),
            *_begun("12:06:00,000", "P23", "c23", 2),
            _turned("12:06:20,000", "P23", 0),
            _result("12:06:20,100", "P23", "c23", 0),
            last,
        ],
        "p24/rocketmq_client.log": [  # one of two stops, and its client goes on with another group
            *_begun("12:00:00,000", "P24", "c24"),
            *_begun("12:00:00,000", "P24", "c24#2", 1),
            _turned("12:00:01,000", "P24", 0),
            _result("12:00:01,100", "P24", "c24", 0),
            *_stopped("12:05:00,000", "P24", None),
            *_stopped("12:09:00,000", "P24-B", "c24"),
            last,
        ],
    }
    for file, lines in logs.items():
        site.client_log(file, lines)


def _polls() -> list[dict[str, Any]]:
    def told(minute: int, group: str, *queues: int, dropped: Sequence[int] = (), **other: Any) -> dict[str, Any]:
        held, gone = ([("T", "a", queue) for queue in each] for each in (queues, dropped))
        strategy = "AllocateMessageQueueAveragely"
        return running_info(NOON + minute * MINUTE, "x", strategy, held, dropped=gone, consumer_group=group, **other)

    late = 12 * 60 - 2  # 23:58
    pulls = {"PROP_CONSUME_TYPE": "CONSUME_ACTIVELY"}
    return [
        *(told(minute, "SHOWN", 0, 1) for minute in (0, 1, 2)),
        *(told(minute, "SHOWN", 0, dropped=[1]) for minute in (3, 4)),
        told(0, "UNANSWERED", 0),
        told(1, "UNANSWERED", 1, code=1, body=None),
        told(2, "UNANSWERED", 0),
        told(3, "UNANSWERED", code=1, body=None),
        *(told(minute, "STALE", 0) for minute in (0, 1, 2, 20, 21)),  # an answer holds five minutes at most
        told(0, "NOTHING", 0),
        told(1, "NOTHING"),
        told(2, "NOTHING", 0),
        *(told(minute, "NEVER") for minute in (0, 1)),
        told(0, "LITE", 0, properties=pulls),
        told(1, "LITE", properties=pulls),
        told(2, "LITE", 0, properties=pulls),
        *(told(late + minute, "LATE", 0) for minute in (0, 1)),
        *(told(late + minute, "ON", 0) for minute in (0, 1, 2, 3)),
    ]


@pytest.fixture(scope="module")
def published(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[SnapshotSite, RunResult]:
    """Two days at once; each group has a story of its own, told by a log or by polls."""
    site = SnapshotSite(spark, tmp_path_factory.mktemp("site"), load_settings([], SETTINGS, {}))
    # KEPT: from 00:00 on its topic has no queue to read from.
    midnight = [START[D2] + minute * MINUTE for minute in (-2, -1, 0, 1)]
    of_kept = [connection(at_ms, ["x"], "K", consumer_group="KEPT") for at_ms in midnight]
    of_k = [route(at_ms, topic="K", a=(1 if at_ms < START[D2] else 0, 1, 6)) for at_ms in midnight]
    site.log("consumers", [connection(NOON, ["x"]), *of_kept])
    site.log("routes", [route(NOON, a=2), *of_k])
    site.log("running_info", _polls())
    _write_logs(site)
    return site, site.run(D1, D2)


@pytest.fixture(scope="module")
def held(published: tuple[SnapshotSite, RunResult]) -> Callable[..., list[Row]]:
    """(client, queue, from, until) of a group on a day."""
    columns = ("consumer_group", "event_date", "client_id", "queue_id", "start_ms", "end_ms")
    rows = [tuple(row.values()) for row in published[0].rows("queue_ownership", *columns)]

    def of(group: str, day: object = D1) -> list[Row]:
        return sorted(
            (client, queue, _clock(began, day), _clock(ended, day))
            for of_group, date, client, queue, began, ended in rows
            if (of_group, date) == (group, day)
        )

    return of


def _clock(at_ms: int, day: Any) -> str:
    seconds, millis = divmod(at_ms - START[day], 1_000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{millis:03}"


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        pytest.param(
            "P01",
            [
                ("c01", 0, "12:00:01.000", "12:10:00.000"),
                ("c01", 1, "12:00:01.000", "12:05:00.250"),
                ("c01", 1, "12:07:00.000", "12:10:00.000"),
            ],
            id="added and removed",
        ),
        pytest.param(
            "P02",
            [("c02", 0, "12:00:01.000", "12:03:00.250"), ("c02", 0, "12:03:20.000", "12:10:00.000")],
            id="an illegal offset drops the queue without a line of its own",
        ),
        pytest.param(
            "P03",
            [("c03", 0, "12:00:01.000", "12:05:00.000"), ("c03#2", 1, "12:06:20.000", "12:10:00.000")],
            id="stopped and started again",
        ),
        pytest.param(
            "P04",
            [("c04", 0, "12:00:01.000", "12:02:30.000"), ("c04#2", 0, "12:04:20.000", "12:10:00.000")],
            id="killed: until its last line",
        ),
        pytest.param("P05", [], id="two clients of one group in one log, without a result"),
        pytest.param(
            "P06",
            [("c06", 0, "12:00:01.000", "24:00:00.000"), ("c06", 1, "18:00:00.000", "24:00:00.000")],
            id="rolled files are one process, and it goes on past midnight",
        ),
        pytest.param("P07", [("c07", 0, "22:00:01.000", "24:00:00.000")], id="folders by day are one process"),
        pytest.param("P08", [("c08", -1, "12:00:01.000", "12:05:00.007")], id="POP; tried is not removed"),
        pytest.param("P09", [("said", 0, "12:00:01.500", "12:05:07.500")], id="as the settings say"),
        pytest.param("P10", [("c10", 0, "12:00:01.000", "12:10:00.000")], id="a result names the client"),
        pytest.param("P11", [], id="a client that nobody names"),
        pytest.param("P12", [("c12", 0, "12:00:01.000", "12:10:00.000")], id="results of two clients in one log"),
        pytest.param("P13", [("c13", 0, "12:00:01.000", "23:58:30.000")], id="silent before midnight"),
        pytest.param("P14", [("c14", 0, "12:00:01.000", "24:00:00.000")], id="still there at midnight"),
        pytest.param("P15", [("c15", 0, "12:00:01.000", "24:00:00.000")], id="killed on the next day"),
        pytest.param("P16", [("c16", 0, "12:00:01.000", "12:10:00.000")], id="groups share a client"),
        pytest.param("P16-B", [("c16", 1, "12:00:01.000", "12:08:00.000")], id="one of them stops"),
        pytest.param("P18", [("c18", 0, "12:00:01.000", "24:00:00.000")], id="on the next day nothing changes"),
        pytest.param(
            "P19",
            [("c19", 0, "12:00:01.000", "12:05:00.000"), ("c19#2", 1, "12:06:20.000", "12:10:00.000")],
            id="a lite consumer stopped and started again",
        ),
        pytest.param("P17", [("c17", 0, "12:00:01.000", "12:10:00.000")], id="bad lines change nothing"),
        pytest.param(
            "P20",
            [
                ("c20", 0, "12:00:01.000", "12:07:00.000"),
                ("c20", 1, "12:00:01.000", "12:05:01.200"),
                ("c20#2", 0, "12:07:10.000", "24:00:00.000"),
                ("c20#2", 1, "12:05:01.000", "24:00:00.000"),
            ],
            id="two clients of one group in one log, told apart by their results",
        ),
        pytest.param("P21", [], id="one of two stopped, and nobody knows which"),
        pytest.param("P22", [], id="a client of another process"),
        pytest.param("P24", [], id="one of two stopped, its client later"),
        pytest.param(
            "P23",
            [("c23", 0, "12:00:01.000", "12:05:00.000"), ("c23", 0, "12:06:20.000", "12:10:00.000")],
            id="one of two stopped and started again",
        ),
    ],
)
def test_what_a_log_shows(held: Callable[..., list[Row]], group: str, expected: list[Row]) -> None:
    assert held(group) == expected


def test_what_was_held_is_carried_over_midnight(held: Callable[..., list[Row]]) -> None:
    """The next day's files do not say again what was added the day before."""
    midnight = "00:00:00.000"
    assert {f"P{number:02}": rows for number in range(1, 24) if (rows := held(f"P{number:02}", D2))} == {
        "P06": [("c06", 0, midnight, "06:00:00.000"), ("c06", 1, midnight, "06:10:00.000")],
        "P07": [("c07", 0, midnight, "01:00:00.000")],
        "P15": [("c15", 0, midnight, "00:30:00.000"), ("c15#2", 0, "02:00:20.000", "02:10:00.000")],
        "P18": [("c18", 0, midnight, "05:00:00.000")],
        "P20": [
            ("c20#2", 0, midnight, "01:00:20.000"),
            ("c20#2", 1, midnight, "02:00:00.000"),
            ("c20#3", 0, "01:00:21.000", "02:10:00.000"),
        ],
    }


def test_a_strategy_that_throws_from_midnight_on_keeps_what_was_held_before(
    published: tuple[SnapshotSite, RunResult],
) -> None:
    columns = ("start_ms", "broker_name", "queue_id", "in_route", "client_id", "is_carried")
    rows = published[0].rows("queue_allocation", *columns, consumer_group="KEPT")
    assert [tuple(row.values()) for row in rows] == [
        (START[D2] - 2 * MINUTE, "a", 0, True, "x", False),
        (START[D2], "a", 0, False, "x", True),
    ]


def test_the_log_a_row_is_from(published: tuple[SnapshotSite, RunResult]) -> None:
    site, logs = published[0], f"{published[0].folder}/client_logs"
    columns = ("source", "process", "popped", "last_answer_ms")
    found = {
        group: {tuple(row.values()) for row in site.rows("queue_ownership", *columns, consumer_group=group)}
        for group in ("P01", "P06", "P07", "P08")
    }
    assert found == {
        "P01": {("CLIENT_LOG", f"{logs}/p01/rocketmq_client.log", False, None)},
        "P06": {("CLIENT_LOG", f"{logs}/p06/rocketmq_client.log", False, None)},
        "P07": {("CLIENT_LOG", f"{logs}/*/p07/rocketmq_client.log", False, None)},
        "P08": {("CLIENT_LOG", f"{logs}/p08/rocketmq_client.log pid 7", True, None)},
    }


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        pytest.param(
            "SHOWN",
            [("x", 0, "12:00:00.000", "12:05:00.000"), ("x", 1, "12:00:00.000", "12:03:00.000")],
            id="shown by three answers, then dropped",
        ),
        pytest.param("UNANSWERED", [("x", 0, "12:00:00.000", "12:04:00.000")], id="no answer changes nothing"),
        pytest.param(
            "STALE",
            [("x", 0, "12:00:00.000", "12:07:00.000"), ("x", 0, "12:20:00.000", "12:22:00.000")],
            id="an answer grows stale",
        ),
        pytest.param(
            "NOTHING",
            [("x", 0, "12:00:00.000", "12:01:00.000"), ("x", 0, "12:02:00.000", "12:03:00.000")],
            id="an answer without a queue",
        ),
        pytest.param("LITE", [("x", 0, "12:00:00.000", "12:03:00.000")], id="a pull consumer that shows none"),
        pytest.param("NEVER", [], id="never a queue"),
        pytest.param("LATE", [("x", 0, "23:58:00.000", "24:00:00.000")], id="until midnight"),
        pytest.param("ON", [("x", 0, "23:58:00.000", "24:00:00.000")], id="over midnight"),
    ],
)
def test_what_answers_show(held: Callable[..., list[Row]], group: str, expected: list[Row]) -> None:
    assert held(group) == expected


def test_answers_hold_over_midnight_until_they_are_stale(held: Callable[..., list[Row]]) -> None:
    assert held("LATE", D2) == [("x", 0, "00:00:00.000", "00:04:00.000")]  # answered at 23:59 and never again
    assert held("ON", D2) == [("x", 0, "00:00:00.000", "00:02:00.000")]


def test_the_latest_answer_is_kept(published: tuple[SnapshotSite, RunResult]) -> None:
    columns = ("queue_id", "source", "process", "popped", "last_answer_ms")
    rows = published[0].rows("queue_ownership", *columns, consumer_group="SHOWN")
    assert [tuple(row.values()) for row in rows] == [
        (0, "RUNNING_INFO", None, False, NOON + 4 * MINUTE),
        (1, "RUNNING_INFO", None, False, NOON + 2 * MINUTE),
    ]


def test_bad_lines_have_their_place_and_reason(published: tuple[SnapshotSite, RunResult]) -> None:
    site = published[0]
    file = f"{site.folder}/client_logs/p17/rocketmq_client.log"
    rows = site.rows("quarantine", "event_date", "source", "file", "line", "reason", "detail")
    dateless = ("client_logs", file, 7, "time_out_of_range", "2026-02-30 12:04:00,000 INFO R")
    assert [tuple(row.values()) for row in rows] == [
        (D1, "client_logs", file, 6, "log_line_breaks_off", None),
        (D1, *dateless),
        (D2, *dateless),  # it tells no day: every run has it
    ]


def test_the_counts_add_up(published: tuple[SnapshotSite, RunResult]) -> None:
    """Of the stack trace's two lines neither is counted."""
    counts = [each.counts for each in published[1].days]
    found = [
        (each.rows_read, each.rows_published, each.rows_quarantined, each.rows_duplicate, each.rows_other_day)
        for each in counts
        if each is not None
    ]
    # Five lines each of consumers and routes (2 of D2), 28 of polls (2 of D2), 181 of logs (23 of D2, 2 bad).
    assert found == [(219, 188, 2, 0, 29), (219, 29, 1, 0, 189)]


@pytest.mark.slow  # the day once more
def test_a_day_run_again_has_the_same_rows(published: tuple[SnapshotSite, RunResult]) -> None:
    site = published[0]
    before = site.rows("queue_ownership")
    assert site.run(D1).stale_days == []
    assert site.rows("queue_ownership") == before


def test_a_file_that_is_not_a_log_is_refused(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    site = SnapshotSite(spark, tmp_path_factory.mktemp("no-log"))
    site.log("consumers", [connection(NOON, ["x"])])
    site.log("routes", [route(NOON, a=2)])
    site.client_log("p1/rocketmq_client.log", [_lives("12:00:00,000")])
    site.client_log("p1/notes.txt", ["a note of 2026-03-01 12:00:00,000"])
    with pytest.raises(InputUnreadableError, match=r"client_logs/p1/notes\.txt holds no line of a client log"):
        site.run(D1)
    assert site.rows("queue_ownership") == []
