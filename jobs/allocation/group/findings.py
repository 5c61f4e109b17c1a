"""Findings from members, routes and strategies alone: unassigned queues and misconfigured groups."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from jobs.allocation.group.causes import of_several_views
from jobs.allocation.group.differences import is_shared
from jobs.allocation.group.expected import Expected
from jobs.allocation.group.finding import Finding, without_pauses
from jobs.allocation.group.flapping import Flap
from jobs.allocation.group.inputs import Input
from jobs.allocation.group.known import Languages, MemberList, Topic, Unheard, twins
from jobs.allocation.group.shares import Allocated
from jobs.allocation.group.strategy import GroupStrategy
from jobs.intervals.of_lists import covered_parts, grouped, joined
from jobs.kinds import GroupCause, GroupKind
from jobs.tables.day import Day
from udfs.shares import UNCHANGED
from udfs.strategy import BY_BROKER, RETRY_TOPIC

_IN_A_ROOM = re.compile("^([^@]*)@[^@]+@*$")  # two parts, as Java's split counts


def of_allocation(expected: Iterable[Expected], allocated: Sequence[Allocated]) -> list[Finding]:
    """Queues assigned to nobody or to several, and clients without queues; retry topics are skipped."""
    plain = [row for row in allocated if not row.input.is_of_retries]
    intervals = {(row.input.topic, row.input.view_broker_name, row.start_ms): row for row in plain}
    of_intervals = grouped(
        expected, lambda assignment: (assignment.topic, assignment.view_broker_name, assignment.start_ms)
    )
    of_queues = (
        finding
        for interval, rows in of_intervals.items()
        if interval in intervals
        for finding in _of_queues(intervals[interval], rows)
    )
    return without_pauses([*of_queues, *(finding for row in plain for finding in _idle(row))])


def _of_queues(row: Allocated, expected: Iterable[Expected]) -> Iterator[Finding]:
    if not row.input.client_ids:
        return
    for (broker_name, queue_id), rows in grouped(
        expected, lambda assignment: (assignment.broker_name, assignment.queue_id)
    ).items():
        owners = tuple(sorted({assignment.client_id for assignment in rows if assignment.client_id is not None}))
        if not owners or (len(owners) > 1 and not is_shared(queue_id, row.input.strategy)):
            yield Finding(
                start_ms=row.start_ms,
                end_ms=row.end_ms,
                kind=GroupKind.DOUBLY_OWNED if owners else GroupKind.UNASSIGNED,
                cause=_cause_of_queue(row, broker_name, is_unassigned=not owners),
                topic=row.input.topic,
                broker_name=broker_name,
                queue_id=queue_id,
                client_ids=owners,
                owners_expected=owners,
            )


def _cause_of_queue(row: Allocated, broker_name: str, *, is_unassigned: bool) -> GroupCause:
    strategy = row.input.strategy
    has_lists = strategy.endswith("CONFIG")  # every id has its own list
    loses_shares = bool(twins(row.input.client_ids)) and not has_lists and not strategy.startswith(BY_BROKER)
    if is_unassigned and loses_shares and not _is_left_out(row.input, broker_name):
        return GroupCause.DUPLICATE_CLIENT_ID  # the second connection gets no share
    if row.fails:
        return GroupCause.STRATEGY_FAILS
    if strategy == "MIXED":
        return GroupCause.MIXED_STRATEGIES
    return GroupCause.STRATEGY_LEAVES_OUT if is_unassigned else GroupCause.STRATEGY_NAMES_TWICE


def _is_left_out(of: Input, broker_name: str) -> bool:
    """Whether the broker is in none of MACHINE_ROOM's rooms, so that no member can get the queue."""
    if not of.strategy.endswith("MACHINE_ROOM"):
        return False
    room = _IN_A_ROOM.search(broker_name)
    rooms = {machine_room for _, strategy in of.strategies for machine_room in strategy.machine_rooms or ()}
    return room is None or room.group(1) not in rooms


def _idle(row: Allocated) -> Iterator[Finding]:
    has_more = len(row.input.client_ids) > len(row.input.queues)  # connections count, even with equal ids
    for share in row.shares:
        if not share.queues:
            cause = GroupCause.MORE_CLIENTS_THAN_QUEUES if has_more else GroupCause.STRATEGY_LEAVES_OUT
            yield Finding(
                start_ms=row.start_ms,
                end_ms=row.end_ms,
                kind=GroupKind.IDLE_CLIENT,
                cause=GroupCause.STRATEGY_FAILS if share.outcome == UNCHANGED else cause,
                topic=row.input.topic,
                client_ids=(share.client_id,),
            )


def of_members(member_lists: Sequence[MemberList], unheard: Iterable[Unheard], *, is_awaited: bool) -> list[Finding]:
    """When the group has no members, and when it is unknown whether it has any.

    A group that never had members is only a name in a broker's table, and gets no finding.

    Args:
        member_lists: intervals longer than zero.
        unheard: intervals in which a broker was asked but returned no members.
        is_awaited: the group had members at 00:00 or is configured, so consumers are expected.
    """
    findings, heard_or_not = [], list[MemberList | Unheard]([*member_lists, *unheard])
    for start_ms, end_ms, covering in covered_parts(heard_or_not):
        lists = [interval for interval in covering if isinstance(interval, MemberList)]
        is_awaited = is_awaited or any(member_list.client_ids for member_list in lists)
        if lists and is_awaited and not any(member_list.client_ids for member_list in lists):
            findings.append(Finding(start_ms, end_ms, GroupKind.GROUP_WITHOUT_CONSUMERS))
        elif not lists:
            cause = min(interval.cause for interval in covering if isinstance(interval, Unheard))
            findings.append(Finding(start_ms, end_ms, GroupKind.MEMBERS_UNKNOWN, cause=cause))
    return without_pauses(findings)


def of_group(
    member_lists: Sequence[MemberList],
    inputs: Sequence[Input],
    strategy: GroupStrategy | None,
    flaps: Iterable[Flap],
    languages: Iterable[Languages],
    day: Day,
    stale_ms: int,
) -> list[Finding]:
    """Findings about the group as a whole.

    Args:
        member_lists: intervals longer than zero.
        inputs: inputs of its strategies.
        strategy: how it allocates; None = unknown.
        flaps: members that repeatedly drop off and return.
        languages: when members used several languages.
        day: the day.
        stale_ms: maximum age of an answer.
    """

    def within(start_ms: int, end_ms: int) -> tuple[int, int]:
        return max(start_ms, day.start_ms), min(end_ms, day.end_ms)

    return without_pauses(
        [
            *(
                Finding(
                    member_list.start_ms,
                    member_list.end_ms,
                    GroupKind.DUPLICATE_CLIENT_ID,
                    cause=cause,
                    client_ids=twins(member_list.client_ids),
                )
                for member_list in member_lists
                if twins(member_list.client_ids) and (cause := _of_twins(member_list.client_ids, strategy))
            ),
            *(
                Finding(member_list.start_ms, member_list.end_ms, GroupKind.EMPTY_CLIENT_ID)
                for member_list in member_lists
                if "" in member_list.client_ids
            ),
            *(
                Finding(
                    interval.start_ms,
                    interval.end_ms,
                    GroupKind.NOT_DETERMINABLE,
                    cause=interval.undetermined,
                    topic=interval.topic,
                )
                for interval in inputs
                if interval.undetermined is not None
            ),
            *(
                Finding(interval.start_ms, interval.end_ms, GroupKind.MIXED_STRATEGIES)
                for interval in inputs
                if interval.strategy == "MIXED"
            ),
            *(Finding(start_ms, end_ms, GroupKind.VIEWS_DIFFER) for start_ms, end_ms in of_several_views(inputs)),
            *(
                Finding(*within(start_ms, end_ms), GroupKind.FLAPPING, client_ids=(client_id,))
                for client_id, start_ms, end_ms in flaps
            ),
            *(
                Finding(*within(period.first_ms, period.last_ms + stale_ms), GroupKind.MIXED_LANGUAGES)
                for period in languages
            ),
        ]
    )


def _of_twins(client_ids: Iterable[str], strategy: GroupStrategy | None) -> GroupCause | None:
    """What two connections with one id mean for the queues; None = nothing, since every member takes every queue.

    Clients that broadcast do, and never ask for members (`RebalanceImpl`, 5.3.3); so do gRPC clients.
    """
    of_members = strategy.of_members(client_ids) if strategy else None
    if of_members is None or of_members.undetermined == GroupCause.NOT_A_JAVA_CLIENT:
        return GroupCause.MODEL_UNKNOWN
    takes_all = of_members.strategy == "BROADCASTING" or of_members.undetermined == GroupCause.CLIENTS_BY_PROXY
    return None if takes_all else GroupCause.NONE_NEEDED


def of_topics(topics: Iterable[Topic], day: Day, stale_ms: int) -> list[Finding]:
    """Topics whose route is missing, unknown for longer than `stale_ms`, or unusable for clients."""
    plain = [topic for topic in topics if not topic.topic.startswith(RETRY_TOPIC)]
    troubles = (trouble for topic in plain for trouble in _troubles(topic, day, stale_ms))
    return without_pauses(trouble for trouble in troubles if trouble.end_ms > trouble.start_ms)


def _troubles(topic: Topic, day: Day, stale_ms: int) -> Iterator[Finding]:
    routes = [route for route in topic.routes if route.end_ms > route.start_ms]
    known = joined((route.start_ms, route.end_ms) for route in routes)
    edges = [max(topic.from_ms, day.start_ms), *chain.from_iterable(known), topic.until_ms]
    for from_ms, until_ms in zip(edges[::2], edges[1::2], strict=True):
        if not routes or until_ms - from_ms > stale_ms:
            yield Finding(
                from_ms,
                until_ms,
                GroupKind.TOPIC_WITHOUT_ROUTE,
                cause=GroupCause.ROUTE_UNKNOWN,
                topic=topic.topic,
            )
    for route in routes:
        of_topic = Finding(
            max(route.start_ms, topic.from_ms),
            min(route.end_ms, topic.until_ms),
            route.trouble or GroupKind.TOPIC_WITHOUT_ROUTE,
            cause=GroupCause.NONE_NEEDED if route.trouble else GroupCause.NO_ROUTE,
            topic=topic.topic,
            broker_name=route.trouble_broker_name,
        )
        if route.trouble or not route.brokers:
            yield of_topic
