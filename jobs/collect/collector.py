"""The collector: rounds of requests, and a line for each answer in the format that `faultline allocation` reads."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from jobs.collect import cluster as of_cluster
from jobs.collect.asking import Asking
from jobs.collect.remoting import Answer, NoAnswerError

Line = dict[str, Any]


@dataclass(frozen=True)
class Wanted:
    """What to ask about.

    Attributes:
        groups: consumer groups; empty = all.
        topics: topics besides those that the groups read; neither groups nor topics = all.
        cluster: name to write into every line; None = no name.
    """

    groups: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    cluster: str | None = None


@dataclass(frozen=True)
class Scope:
    """What a round asks about.

    Attributes:
        brokers: broker name to the address of its master.
        groups: consumer groups.
        topics: topics whose routes to ask for.
    """

    brokers: Mapping[str, str]
    groups: Sequence[str]
    topics: Sequence[str]

    @property
    def requests(self) -> int:
        """Number of requests in a round, without consumers' running info."""
        return 1 + len(self.topics) + len(self.groups) * len(self.brokers)


@dataclass(frozen=True)
class Round:
    """The lines of one round, and its members: group and client id to the address of a broker that knows it."""

    routes: list[Line]
    consumers: list[Line]
    members: Mapping[tuple[str, str], str]


class Collector:
    """Asks a cluster about its consumers.

    Args:
        asking: asks an address.
        name_servers: their addresses; the first that answers counts.
        wanted: what to ask about.
        clock: the instant now, UTC.
    """

    def __init__(
        self, asking: Asking, name_servers: Sequence[str], wanted: Wanted, clock: Callable[[], dt.datetime]
    ) -> None:
        self._asking, self._name_servers, self._wanted, self._clock = asking, name_servers, wanted, clock

    def brokers(self) -> dict[str, str]:
        """Name of each broker that the name server knows now to the address of its master.

        Raises:
            NoAnswerError: no name server answers, or not with RocketMQ's protocol.
        """
        with self._readable():
            return of_cluster.masters(self._info())

    def scope(self) -> Scope:
        """What to ask about now.

        Raises:
            NoAnswerError: no name server answers, or not with RocketMQ's protocol.
        """
        with self._readable():
            info = self._info()
            brokers = of_cluster.masters(info)
            groups = self._wanted.groups or self._groups(brokers.values())
            return Scope(brokers, groups, self._topics(info, brokers, groups))

    def round(self, scope: Scope) -> Round:
        """Ask once about routes and members."""
        routes = [self._route(topic) for topic in scope.topics]
        consumers: list[Line] = []
        members: dict[tuple[str, str], str] = {}
        for group in scope.groups:
            for broker, address in scope.brokers.items():
                answer = self._answer(address, of_cluster.CONSUMER_CONNECTIONS, {"consumerGroup": group})
                subject = {"consumer_group": group, "broker_name": broker, "broker_addr": address}
                consumers.append(self._line(subject, answer))
                for client_id in _members(answer):
                    members.setdefault((group, client_id), address)
        return Round(routes, consumers, members)

    def running_info(self, members: Mapping[tuple[str, str], str]) -> Iterator[Line]:
        """Ask each member, through a broker that knows it, what it holds; this costs the consumer."""
        for (group, client_id), address in sorted(members.items()):
            fields = {"consumerGroup": group, "clientId": client_id, "jstackEnable": "false"}
            answer = self._answer(address, of_cluster.RUNNING_INFO, fields)
            yield self._line({"consumer_group": group, "client_id": client_id}, answer)

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Turns an unreadable answer into an error: what listens there is not a name server."""
        try:
            yield
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise NoAnswerError(f"{', '.join(self._name_servers)}: no answer of a name server: {error}") from error

    def _info(self) -> str:
        return self._of_name_server(of_cluster.CLUSTER_INFO, {}).body

    def _route(self, topic: str) -> Line:
        fields = {"topic": topic, "acceptStandardJsonOnly": "true"}
        with suppress(NoAnswerError):
            return self._line({"topic": topic}, self._of_name_server(of_cluster.TOPIC_ROUTE, fields))
        return self._line({"topic": topic}, None)

    def _groups(self, addresses: Iterable[str]) -> list[str]:
        """All groups that a broker has a configuration of; a broker that does not answer has none."""
        answers = [self._answer(address, of_cluster.SUBSCRIPTION_GROUPS, {}) for address in addresses]
        groups = (of_cluster.groups_in(answer.body) for answer in answers if answer and answer.code == 0)
        return sorted(set().union(*groups))

    def _topics(self, info: str, brokers: Mapping[str, str], groups: Sequence[str]) -> list[str]:
        if not self._wanted.groups and not self._wanted.topics:
            return of_cluster.topics_in(self._of_name_server(of_cluster.ALL_TOPICS, {}).body, info)
        topics = set(self._wanted.topics)
        for group in self._wanted.groups:
            fields = {"consumerGroup": group}
            answers = [self._answer(address, of_cluster.CONSUMER_CONNECTIONS, fields) for address in brokers.values()]
            topics |= of_cluster.topics_read(answer.body for answer in answers if answer and answer.code == 0)
        return sorted(topics | {f"{of_cluster.RETRY}{group}" for group in groups})

    def _of_name_server(self, code: int, fields: Mapping[str, str]) -> Answer:
        problems = []
        for address in self._name_servers:
            try:
                return self._asking(address, code, fields)
            except NoAnswerError as problem:
                problems.append(f"{problem}")
        raise NoAnswerError("; ".join(problems))

    def _answer(self, address: str, code: int, fields: Mapping[str, str]) -> Answer | None:
        with suppress(NoAnswerError):
            return self._asking(address, code, fields)
        return None

    def _line(self, subject: Mapping[str, Any], answer: Answer | None) -> Line:
        """The line of an answer: code null when there was none; the body only of code 0."""
        of_cluster_too = {"cluster": self._wanted.cluster} if self._wanted.cluster is not None else {}
        captured_at_ms = int(self._clock().timestamp() * 1000)
        code, body = (answer.code, answer.body or None) if answer else (None, None)
        return {"captured_at_ms": captured_at_ms, **of_cluster_too, **subject, "code": code, "body": body}


def _members(answer: Answer | None) -> list[str]:
    """The client ids of an answer about a group; none of an unreadable one, which the lake will quarantine."""
    if answer is None or answer.code != 0:
        return []
    with suppress(ValueError, KeyError, TypeError):
        return of_cluster.members_in(answer.body)
    return []
