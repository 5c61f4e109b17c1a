"""Made-up life of consumer groups, drawn from a seed: what the collector gets of it, round by round.

Members come and go, also over midnight; one id stands on two connections; members of one group use two strategies; one
broker answers late, leaves a member out for minutes, or not at all; queues change; a topic goes away and returns;
consumers hold queues that are not theirs; and a few lines cannot be used.
"""

from __future__ import annotations

import datetime as dt
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tests.given.seeded_producers import Line

BROKERS = ("IDC1@broker-a", "IDC2@broker-b")
TOPICS = ("T_main", "T_side")
EVERY_MS = 45_000

# Group → the strategy that its consumers' own answers name, and the lines of its settings.
GROUPS = {
    "g_avg": ("AllocateMessageQueueAveragely", 'strategy = "AVG"'),
    "g_circle": ("AllocateMessageQueueAveragelyByCircle", 'strategy = "AVG_BY_CIRCLE"'),
    "g_hash": ("AllocateMessageQueueConsistentHash", 'strategy = "CONSISTENT_HASH"\nvirtual_nodes = 10'),
    "g_dup": ("AllocateMessageQueueAveragely", 'strategy = "AVG"'),
    "g_mix": ("AllocateMessageQueueAveragely", ""),
    "g_room": ("AllocateMessageQueueByMachineRoom", 'strategy = "MACHINE_ROOM"\nmachine_rooms = ["IDC1"]'),
    "g_near": (
        "AllocateMachineRoomNearby",
        'strategy = "MACHINE_ROOM_NEARBY-AVG"\nbroker_room = "^([^@]*)"\nclient_room = "^([^-]*)"',
    ),
    "g_config": ("AllocateMessageQueueByConfig", 'strategy = "CONFIG"'),
    "g_untold": ("AllocateMessageQueueAveragelyByCircle", ""),
    "g_pop": (
        "AllocateMessageQueueAveragely",
        'client_rebalance = false\nrequest_mode = "POP"\npop_share_queue_num = -1',
    ),
}
KINDS = ("consumers", "routes", "running_info")
LOGGED = "g_avg"
"""The group whose first member writes a log, the only one of its process."""

Queue = tuple[str, str, int]


@dataclass
class Group:
    """One group at this moment of its made-up life."""

    name: str
    pool: tuple[str, ...]
    members: set[str]
    known: dict[str, list[str]] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)

    def moves(self, chance: random.Random) -> None:
        """Now and then a member comes or goes."""
        if chance.random() < 0.06:
            self.members ^= {chance.choice(self.pool)}

    def seen_by(self, chance: random.Random, broker: str) -> list[str]:
        """What the broker answers: sometimes as before, sometimes without a member for a while."""
        lost = self.left_out.get(broker, 0)
        self.left_out[broker] = lost - 1 if lost else (chance.randrange(4, 20) if chance.random() < 0.01 else 0)
        if broker not in self.known or chance.random() > 0.25:
            now = sorted(self.members)
            self.known[broker] = now[1:] if lost else now
        twice = self.known[broker][:1] if self.name == "g_dup" else []
        return [*self.known[broker], *twice]


@dataclass
class Site:
    """Everything that the collector could see at this moment."""

    groups: list[Group]
    queues: dict[tuple[str, str], int]
    gone: set[str] = field(default_factory=set)

    def moves(self, chance: random.Random) -> None:
        """Now and then queues are added or taken away, and a topic goes away or returns."""
        if chance.random() < 0.03:
            self.queues[chance.choice(list(self.queues))] = chance.randrange(1, 6)
        if chance.random() < (0.3 if self.gone else 0.01):
            self.gone ^= {TOPICS[1]}

    def all_queues(self, topic: str) -> list[Queue]:
        """The topic's queues in the client's order."""
        return (
            []
            if topic in self.gone
            else [(topic, name, n) for name in BROKERS for n in range(self.queues[topic, name])]
        )


def made_up_site(chance: random.Random, names: Sequence[str]) -> Site:
    """Both topics, and of each named group some members."""
    groups = []
    for name in names:
        pool = pool_of(name)
        groups.append(Group(name, pool, set(pool[: 1 + chance.randrange(4)])))
    return Site(groups, {(topic, broker): chance.randrange(2, 6) for topic in TOPICS for broker in BROKERS})


def pool_of(group: str) -> tuple[str, ...]:
    """Everyone who may be a member."""
    number = list(GROUPS).index(group)
    return tuple(f"IDC{1 + member % 2}-10.2.{number}.{member}@{member}" for member in range(5))


def captures(chance: random.Random, site: Site, at_ms: int, *, moves: bool) -> dict[str, list[Line]]:
    """What the collector gets on one round; `moves`: members come and go meanwhile."""
    lines: dict[str, list[Line]] = {kind: [] for kind in KINDS}
    for group in site.groups:
        if moves:
            group.moves(chance)
        lines["consumers"] += _members(chance, group, at_ms)
        if chance.random() < 0.3:
            lines["running_info"] += _running_infos(chance, site, group, at_ms)
    lines["routes"] += _routes(chance, site, at_ms)
    return lines


class ClientLog:
    """What one consumer of release 4.9.8 writes to its log."""

    def __init__(self, client_id: str) -> None:
        self._client_id, self._held, self._runs = client_id, set[Queue](), False
        self.lines: list[str] = []

    def _says(self, at_ms: int, message: str) -> None:
        at = dt.datetime.fromtimestamp(at_ms / 1000, dt.UTC)
        self.lines.append(f"{at:%Y-%m-%d %H:%M:%S},{at_ms % 1000:03} INFO RocketmqClient - {message}")

    def holds(self, at_ms: int, queues: Sequence[Queue]) -> None:
        """It starts if it must, takes what is new and gives up what is not its own any more."""
        if not self._runs:
            self._runs = True
            self._says(at_ms, f"the consumer [{LOGGED}] start beginning. messageModel=CLUSTERING, isUnitMode=false")
            config = "ClientConfig:ClientConfig [namesrvAddr=10.9.0.9:9876]"
            self._says(
                at_ms + 5, f"Created a new client Instance, InstanceIndex:0, ClientID:{self._client_id}, {config}"
            )
        gone, new = sorted(self._held - set(queues)), sorted(set(queues) - self._held)
        for verb, changed in (("remove unnecessary", gone), ("add a new", new)):
            for number, queue in enumerate(changed):
                self._says(at_ms + 20 + number, f"doRebalance, {LOGGED}, {verb} mq, {_as_logged(queue)}")
        if gone or new:
            result = ", ".join(_as_logged(queue) for queue in queues)
            sizes = f"mqAllSize=9, cidAllSize=2, rebalanceResultSize={len(queues)}, rebalanceResultSet=[{result}]"
            name = (
                f"allocateMessageQueueStrategyName=AVG, group={LOGGED}, topic={TOPICS[0]}, clientId={self._client_id}"
            )
            self._says(at_ms + 60, f"rebalanced result changed. {name}, {sizes}")
        self._held = set(queues)

    def stops(self, at_ms: int) -> None:
        """It shuts down."""
        if self._runs:
            self._says(at_ms, f"the consumer [{LOGGED}] shutdown OK")
            self._says(at_ms + 2, f"the client factory [{self._client_id}] shutdown OK")
        self._held, self._runs = set(), False


def _as_logged(queue: Queue) -> str:
    return f"MessageQueue [topic={queue[0]}, brokerName={queue[1]}, queueId={queue[2]}]"


def _members(chance: random.Random, group: Group, at_ms: int) -> Iterator[Line]:
    """Each broker's answer, as a list of ids or as its raw connections; or none."""
    for number, broker in enumerate(BROKERS):
        known = group.seen_by(chance, broker)
        line: Line = {"captured_at_ms": at_ms + number * 40, "consumer_group": group.name, "broker_name": broker}
        line["broker_addr"] = f"10.9.0.{number}:10911"
        if chance.random() < 0.02:
            yield line | {"code": chance.choice((None, 2)), "client_ids": None}
        elif not known:
            yield line | {"code": 206, "body": None}
        elif chance.random() < 0.5:
            yield line | {"code": 0, "client_ids": known}
        else:
            connections = [{"clientId": each, "language": "JAVA", "version": 399} for each in known]
            topics = {topic: {"topic": topic} for topic in TOPICS}
            body = {"connectionSet": connections, "messageModel": "CLUSTERING", "subscriptionTable": topics}
            yield line | {"code": 0, "body": json.dumps(body)}


def _routes(chance: random.Random, site: Site, at_ms: int) -> Iterator[Line]:
    for topic in TOPICS:
        if chance.random() < 0.02:
            yield {"captured_at_ms": at_ms, "topic": topic, "code": None, "body": None}
        elif topic in site.gone:
            yield {"captured_at_ms": at_ms, "topic": topic, "code": 17, "body": None}
        else:
            brokers = [{"brokerName": name, "cluster": "C", "brokerAddrs": {"0": f"{name}:10911"}} for name in BROKERS]
            numbers = [(name, site.queues[topic, name]) for name in BROKERS]
            datas = [{"brokerName": name, "perm": 6, "readQueueNums": n, "writeQueueNums": n} for name, n in numbers]
            body = json.dumps({"brokerDatas": brokers, "queueDatas": datas})
            yield {"captured_at_ms": at_ms, "topic": topic, "code": 0, "body": body}


def _running_infos(chance: random.Random, site: Site, group: Group, at_ms: int) -> Iterator[Line]:
    """What each member says it holds: an even share, or now and then something else."""
    for number, client_id in enumerate(sorted(group.members)):
        topics = TOPICS if chance.random() < 0.9 else TOPICS[:1]
        held = [each for topic in topics for each in shares(site.all_queues(topic), sorted(group.members), client_id)]
        if held and chance.random() < 0.05:
            held.pop()
        table = ",".join(
            f'{{"brokerName":"{broker}","queueId":{queue_id},"topic":"{topic}"}}:{{"droped":false}}'
            for topic, broker, queue_id in held
        )
        strategy = f"org.apache.rocketmq.client.consumer.rebalance.{GROUPS[group.name][0]}@{number:08x}"
        properties = json.dumps({"allocateMessageQueueStrategy": strategy})
        subscribed = json.dumps([{"topic": topic} for topic in topics])
        body = f'{{"mqTable":{{{table}}},"properties":{properties},"subscriptionSet":{subscribed}}}'
        line: Line = {"captured_at_ms": at_ms + 100 + number, "consumer_group": group.name, "client_id": client_id}
        yield line | ({"code": 0, "body": body} if chance.random() < 0.97 else {"code": None, "body": None})


def shares(queues: Sequence[Queue], members: Sequence[str], client_id: str) -> list[Queue]:
    """An even share in stretches, the longer ones first."""
    place, each, more = members.index(client_id), *divmod(len(queues), len(members))
    first = place * each + min(place, more)
    return list(queues[first : first + each + (place < more)])


def bad_lines(good: Line) -> list[str]:
    """Lines that cannot be used: no time, no name, no JSON, a control character, and one of another day."""
    subject = "topic" if "topic" in good else "consumer_group"
    changes: list[Line] = [{"captured_at_ms": None}, {subject: ""}, {subject: "T\u0001"}, {"body": "{", "code": 0}]
    return [*(json.dumps(good | change) for change in changes), "no JSON", '{"captured_at_ms": 1']


def settings_text() -> str:
    """What the site of these consumers would write."""
    parts = ['max_bad_fraction = 0.05\n[client_logs."client_logs"]\nclient_version = "4.9.8"\ntime_zone = "UTC"']
    parts += [f'[groups."{name}"]\n{lines}' for name, (_, lines) in GROUPS.items() if lines]
    for number, client_id in enumerate(pool_of("g_mix")):
        parts.append(f'[groups."g_mix".clients."{client_id}"]\nstrategy = "{("AVG", "AVG_BY_CIRCLE")[number % 2]}"')
    for number, client_id in enumerate(pool_of("g_config")):
        queues = [[BROKERS[number % 2], number], [BROKERS[0], 0], ["broker-zz", 0]][: 1 + number]
        parts.append(f'[groups."g_config".clients."{client_id}"]\nqueues = {json.dumps(queues)}')
    return "\n\n".join(parts) + "\n"
