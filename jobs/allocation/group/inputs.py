"""Inputs of the strategies: per topic and view, intervals in which members, queues and strategy stay the same."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from jobs.allocation.group.known import MemberList, Route, RoutedBroker, Topic
from jobs.allocation.group.strategy import GroupStrategy
from jobs.intervals.of_lists import covered_parts, grouped, touching
from jobs.kinds import GroupCause
from udfs.strategy import POP, RETRY_TOPIC, Queue, Strategy


@dataclass(frozen=True, slots=True)
class Input:
    """One interval of unchanged inputs of a strategy.

    Attributes:
        topic: the topic.
        view_broker_name: broker whose member list is used; None = the brokers of the topic agree.
        queues: readable queues of the topic.
        client_ids: members, sorted, duplicates kept.
        views: number of different member lists.
        start_ms: start.
        end_ms: end, exclusive.
        strategies: how each client of the group allocates, as `udfs.shares` takes it.
        strategy: strategy of these members; MIXED when they differ.
        strategy_source: where the strategy comes from.
        undetermined: why the owners cannot be computed, or None.
    """

    topic: str
    view_broker_name: str | None
    queues: tuple[Queue, ...]
    client_ids: tuple[str, ...]
    views: int
    start_ms: int
    end_ms: int
    strategies: tuple[tuple[str, Strategy], ...] = ()
    strategy: str = ""
    strategy_source: str = ""
    undetermined: str | None = None

    @property
    def is_of_retries(self) -> bool:
        """The topic is the group's retry topic."""
        return self.topic.startswith(RETRY_TOPIC)


def inputs(topics: Iterable[Topic], member_lists: Sequence[MemberList], strategy: GroupStrategy | None) -> list[Input]:
    """Inputs of every topic, by topic, view and time; none for a group without known clients.

    A client asks a random broker of the topic for the members. A broker that does not know the group returns an
    error, and the client keeps its queues: such a view is ignored while another broker knows the group.

    Args:
        topics: topics that the group consumes.
        member_lists: intervals longer than zero.
        strategy: how the group allocates; None = neither settings nor clients show it.
    """
    if strategy is None:
        return []
    return [_allocating(interval, strategy) for topic in topics for interval in _of_topic(topic, member_lists)]


def readable_queues(brokers: Iterable[RoutedBroker]) -> tuple[Queue, ...]:
    """Queues that consumers may read.

    >>> readable_queues([RoutedBroker("a", 2), RoutedBroker("b", 0)])
    (('a', 0), ('a', 1))
    """
    return tuple((broker.broker_name, queue_id) for broker in brokers for queue_id in range(broker.readable))


def _of_topic(topic: Topic, member_lists: Sequence[MemberList]) -> Iterator[Input]:
    by_view = grouped(_by_part(topic, member_lists), lambda interval: interval.view_broker_name)
    for of_view in by_view.values():
        for run in touching(of_view, lambda interval: (interval.queues, interval.client_ids, interval.views)):
            yield dataclasses.replace(run[0], end_ms=run[-1].end_ms)


def _by_part(topic: Topic, member_lists: Sequence[MemberList]) -> Iterator[Input]:
    """Inputs without strategy, split wherever the route or any broker's answer changes."""
    answers: list[Route | MemberList] = [*_consumed(topic), *member_lists]
    for start_ms, end_ms, covering in covered_parts(answers):
        route = next((answer for answer in covering if isinstance(answer, Route)), None)
        if route is None or route.brokers is None:
            continue
        asked_brokers = {broker.broker_name for broker in route.brokers}
        by_broker = sorted(
            (answer.client_ids, answer.broker_name)
            for answer in covering
            if isinstance(answer, MemberList) and answer.broker_name in asked_brokers
        )
        lists = {client_ids for client_ids, _ in by_broker}
        for client_ids, broker_name in by_broker[:1] if len(lists) == 1 else by_broker:
            if client_ids or len(lists) == 1:
                view = None if len(lists) == 1 else broker_name
                yield Input(topic.topic, view, readable_queues(route.brokers), client_ids, len(lists), start_ms, end_ms)


def _consumed(topic: Topic) -> list[Route]:
    """Routes clipped to the time in which the group consumes the topic; may end before they start."""
    return [
        dataclasses.replace(
            route, start_ms=max(route.start_ms, topic.from_ms), end_ms=min(route.end_ms, topic.until_ms)
        )
        for route in topic.routes
    ]


def _allocating(interval: Input, strategy: GroupStrategy) -> Input:
    """The input with its members' strategy; on a retry topic the broker assigns whole queues in both modes."""
    name, source, undetermined = strategy.of_members(interval.client_ids)
    if interval.is_of_retries:
        name = name.removeprefix(POP)
        undetermined = None if undetermined == GroupCause.REQUEST_MODE_UNKNOWN else undetermined
    return dataclasses.replace(
        interval,
        strategies=strategy.strategies,
        strategy=name,
        strategy_source=source,
        undetermined=undetermined,
    )
