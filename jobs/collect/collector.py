"""The collector: rounds of requests, and a line for each answer in the format that `faultline allocation` reads."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from jobs.collect import cluster as of_cluster
from jobs.collect.asking import Asking, Refusal
from jobs.collect.remoting import Answer, NoAnswerError

Line = dict[str, Any]


@dataclass(frozen=True)
class Scope:
    """What a round asks about.

    Attributes:
        brokers: names to their addresses, the master's first.
        groups: consumer groups.
        topics: topics whose routes to ask for.
    """

    brokers: Mapping[str, Sequence[str]]
    groups: Sequence[str]
    topics: Sequence[str]
    name_servers: int = 1

    @property
    def requests(self) -> int:
        """How many a round makes, without consumers' running info."""
        return 1 + len(self.topics) * self.name_servers + len(self.groups) * len(self.brokers)


class Collector:
    """Asks a cluster about its consumers.

    Args:
        asking: asks an address.
        name_servers: their addresses; of lists the first that answers counts, of routes each is asked.
        groups: consumer groups to ask about; empty = all.
        topics: topics besides those that the groups read; neither groups nor topics = all.
        cluster: name to write into every line; None = no name.
        clock: the instant now, UTC.
    """

    def __init__(
        self,
        asking: Asking,
        name_servers: Sequence[str],
        groups: Sequence[str],
        topics: Sequence[str],
        cluster: str | None,
        clock: Callable[[], dt.datetime],
    ) -> None:
        self._asking, self._name_servers, self._clock = asking, name_servers, clock
        self._wanted_groups, self._wanted_topics, self._cluster = groups, topics, cluster
        self._groups_of: dict[str, set[str]] = {}

    @property
    def refusals(self) -> list[Refusal]:
        """Answers that said nothing, so far."""
        return list(self._asking.refusals.values())

    def scope(self, known: Scope | None = None) -> Scope:
        """What to ask about now; what is known already, with the brokers of now.

        Raises:
            NoAnswerError: no name server answers, or not with RocketMQ's protocol.
        """
        with self._readable():
            info = self._of_name_server(of_cluster.CLUSTER_INFO).body
            brokers = of_cluster.addresses(info)
            if known is not None:
                return replace(known, brokers=brokers)
            groups = self._wanted_groups or self._groups(brokers)
            return Scope(brokers, groups, self._topics(info, brokers, groups), len(self._name_servers))

    def round(self, scope: Scope) -> tuple[list[Line], list[Line], dict[tuple[str, str], str]]:
        """Ask once about routes and members.

        Returns:
            Lines of routes, lines of consumers, and the members: group and client id to the address of a broker that
            knows it. An unreadable answer, which the lake will quarantine, has none.
        """
        routes = [line for topic in scope.topics for line in self._routes(topic)]
        consumers: list[Line] = []
        members: dict[tuple[str, str], str] = {}
        for group in scope.groups:
            for broker, addresses in scope.brokers.items():
                address, answer = self._answer_of(addresses, of_cluster.CONSUMER_CONNECTIONS, {"consumerGroup": group})
                subject = {"consumer_group": group, "broker_name": broker, "broker_addr": address}
                consumers.append(self._line(subject, answer))
                if answer and answer.code == 0:
                    with suppress(ValueError, KeyError, TypeError):
                        for client_id in of_cluster.members_in(answer.body):
                            members.setdefault((group, client_id), address)
        return routes, consumers, members

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

    def _routes(self, topic: str) -> Iterator[Line]:
        """A line of the first name server that answers, and one of each that says something else."""
        fields, said = {"topic": topic, "acceptStandardJsonOnly": "true"}, list[Answer]()
        for address in self._name_servers:
            answer = self._answer(address, of_cluster.TOPIC_ROUTE, fields)
            if answer and all(
                other.code != answer.code or of_cluster.routes_differ(other.body, answer.body) for other in said
            ):
                said.append(answer)
                yield self._line({"topic": topic, "name_server": address}, answer)
        if not said:
            yield self._line({"topic": topic}, None)

    def _groups(self, brokers: Mapping[str, Sequence[str]]) -> list[str]:
        """All groups that a broker has settings of; one that does not answer, or refuses, those of its last answer."""
        for broker, addresses in brokers.items():
            _, answer = self._answer_of(addresses, of_cluster.SUBSCRIPTION_GROUPS, {})
            if answer and answer.code == 0:
                self._groups_of[broker] = of_cluster.groups_in(answer.body)
        return sorted(set().union(*(self._groups_of.get(broker, ()) for broker in brokers)))

    def _topics(self, info: str, brokers: Mapping[str, Sequence[str]], groups: Sequence[str]) -> list[str]:
        if not self._wanted_groups and not self._wanted_topics:
            return of_cluster.topics_in(self._of_name_server(of_cluster.ALL_TOPICS).body, info)
        topics = set(self._wanted_topics)
        for group in self._wanted_groups:
            asked = (
                self._answer_of(addresses, of_cluster.CONSUMER_CONNECTIONS, {"consumerGroup": group})
                for addresses in brokers.values()
            )
            topics |= of_cluster.topics_read(answer.body for _, answer in asked if answer and answer.code == 0)
        return sorted(topics | {f"{of_cluster.RETRY}{group}" for group in groups})

    def _of_name_server(self, code: int) -> Answer:
        """The first answer that is not a refusal."""
        problems = []
        for address in self._name_servers:
            try:
                answer = self._asking(address, code, {})
            except NoAnswerError as problem:
                problems.append(f"{problem}")
                continue
            if answer.code == 0:
                return answer
            problems.append(f"{address}: code {answer.code}: {answer.remark}")
        raise NoAnswerError("; ".join(problems))

    def _answer_of(self, addresses: Sequence[str], code: int, fields: Mapping[str, str]) -> tuple[str, Answer | None]:
        """The first address that answers, the master's unless it is away, and its answer; else the first address."""
        for address in addresses:
            if (answer := self._answer(address, code, fields)) is not None:
                return address, answer
        return addresses[0], None

    def _answer(self, address: str, code: int, fields: Mapping[str, str]) -> Answer | None:
        with suppress(NoAnswerError):
            return self._asking(address, code, fields)
        return None

    def _line(self, subject: Mapping[str, Any], answer: Answer | None) -> Line:
        """A line of what came back: code null when nothing did; the body only of an answer, else the remark."""
        of_cluster_too = {"cluster": self._cluster} if self._cluster is not None else {}
        captured_at_ms = int(self._clock().timestamp() * 1000)
        code, body = (answer.code, answer.body or None) if answer else (None, None)
        line = {"captured_at_ms": captured_at_ms, **of_cluster_too, **subject, "code": code, "body": body}
        return line | {"remark": answer.remark} if answer and answer.code != 0 and answer.remark else line
