"""What changed about a consumer group: members that came or went, silent brokers, routes, offsets set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from jobs.allocation.group.flapping import REBALANCE_MS
from jobs.allocation.group.known import GroupFacts, Lifetime, MemberList, Refusal, Route, Silence, Topic, Unheard
from jobs.allocation.group.ownership import EXPIRES_MS
from jobs.allocation.group.rebalances import ROUND_MS
from jobs.intervals.of_lists import covered_parts, grouped, in_time
from jobs.kinds import GroupCause, GroupEventKind
from jobs.tables.day import Day
from udfs.strategy import RETRY_TOPIC

ROUTE_POLL_MS = 30_000  # ClientConfig.pollNameServerInterval
HEARTBEAT_MS = 30_000  # ClientConfig.heartbeatBrokerInterval
SETTLES_MS = 2 * REBALANCE_MS
"""A difference shorter than this is part of every rebalance."""
RECOVERS_MS = HEARTBEAT_MS + ROUTE_POLL_MS + REBALANCE_MS
"""After this clients have told a broker that came back of themselves, know its queues, and have allocated them."""
_SPREAD_MS = 60_000  # a client that joined has reached every broker
SETS_OFFSET_MS = 10_000  # MQClientInstance.resetOffset, DefaultMQPushConsumerImpl.pullMessage
SILENCE_MS = 30_000  # the log of a live client never paused longer than 10 s
STOP_MS = 1_000  # a client starts to stop before it writes its last line


@dataclass(frozen=True, slots=True)
class Change:
    """One change.

    Attributes:
        kind: what changed.
        happened_ms: when, by the client's log; None = no log shows it.
        noticed_from_ms: first broker's answer that shows it; None = none does.
        noticed_until_ms: answer of the last broker that shows it; of silent brokers, when all answered
            again (None = not on this day).
        acts_from_ms: queues may change owner from here on: the last answer without the change, or its log line.
        acts_until_ms: clients have noticed, and allocated queues twice.
        client_ids: clients that came, went, or paused.
        broker_names: brokers that did not answer, or whose queues changed.
        topics: topics whose route or offsets changed.
        dropped_by: brokers whose next list lacks the client; not those that were silent in between.
    """

    kind: GroupEventKind
    happened_ms: int | None
    noticed_from_ms: int | None
    noticed_until_ms: int | None
    acts_from_ms: int
    acts_until_ms: int
    client_ids: tuple[str, ...] = ()
    broker_names: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    dropped_by: tuple[str, ...] = ()

    @property
    def start_ms(self) -> int:
        """When it happened or was first shown, whichever is earlier."""
        known = [instant for instant in (self.happened_ms, self.noticed_from_ms) if instant is not None]
        return min(known, default=self.acts_from_ms)

    def acts_at(self, at_ms: int) -> bool:
        """Whether queues may change owner by it; while a broker stays silent, nothing more happens."""
        if not self.acts_from_ms <= at_ms <= self.acts_until_ms:
            return False
        return self.kind != GroupEventKind.BROKERS_UNREACHABLE or not (
            self.start_ms + RECOVERS_MS < at_ms < (self.noticed_until_ms or self.acts_until_ms)
        )


def changes(facts: GroupFacts, day: Day) -> list[Change]:
    """All changes of the day, by time; none of a group that no broker listed, whose clients only logs show."""
    if not facts.listed:
        return []
    return sorted(
        [
            *_with_logs(_membership(facts, day), facts.lifetimes, facts.silences, day),
            *_silent_brokers(facts.unheard, facts.member_lists, day),
            *_routes(facts.topics, day),
            *_offsets(facts.refusals),
        ],
        key=lambda change: (change.start_ms, change.kind, change.client_ids, change.topics),
    )


def _membership(facts: GroupFacts, day: Day) -> Iterator[Change]:
    """Clients that appear on a first broker's list, or are on none any longer.

    The first lists of a day show no change unless the day before was published; nor does a time without any list.
    """
    lists = [member_list for member_list in facts.member_lists if member_list.end_ms > member_list.start_ms]
    by_broker = {name: in_time(rows) for name, rows in grouped(lists, lambda row: row.broker_name).items()}
    before = {client_id for members in facts.members_before for client_id in members.client_ids}
    is_known, covered_ms = bool(facts.members_before), day.start_ms
    for start_ms, end_ms, covering in covered_parts(lists):
        if start_ms > covered_ms and end_ms - start_ms <= ROUND_MS:
            continue  # after a time without lists one broker answers before the others
        covered_ms = end_ms
        listed = {client_id for member_list in covering for client_id in member_list.client_ids}
        for client_id in sorted(listed - before) if is_known else ():
            yield _joined(client_id, start_ms, by_broker.values())
        for client_id in sorted(before - listed) if is_known else ():
            yield _left(client_id, start_ms, by_broker.values(), day)
        before, is_known = listed, True


def _joined(client_id: str, start_ms: int, by_broker: Iterable[Sequence[MemberList]]) -> Change:
    first_ms, before_ms = [], []
    for lists in by_broker:
        shows = [row for row in lists if start_ms <= row.start_ms <= start_ms + _SPREAD_MS]
        first_ms += [row.start_ms for row in shows if client_id in row.client_ids][:1]
        if any(row.start_ms == start_ms and client_id in row.client_ids for row in shows):
            before_ms += [row.last_answer_ms for row in lists if row.end_ms <= start_ms]
    return Change(
        GroupEventKind.JOINED,
        happened_ms=None,
        noticed_from_ms=start_ms,
        noticed_until_ms=max(first_ms, default=start_ms),
        acts_from_ms=max(before_ms, default=start_ms),
        acts_until_ms=max(first_ms, default=start_ms) + SETTLES_MS,
        client_ids=(client_id,),
    )


def _left(client_id: str, start_ms: int, by_broker: Iterable[Sequence[MemberList]], day: Day) -> Change:
    """The brokers that drop it for good one after another, up to the last one."""
    drops = [
        (after.start_ms, before.last_answer_ms, before.broker_name)
        for lists in by_broker
        for before, after in _after_listing(lists, client_id, start_ms)[-1:]
        if start_ms - EXPIRES_MS <= after.start_ms == before.end_ms and client_id not in after.client_ids
    ]
    first_ms, before_ms, _ = min(drops, default=(start_ms, max(start_ms - HEARTBEAT_MS, day.start_ms), ""))
    return Change(
        GroupEventKind.LEFT,
        happened_ms=None,
        noticed_from_ms=first_ms,
        noticed_until_ms=start_ms,
        acts_from_ms=before_ms,
        acts_until_ms=start_ms + SETTLES_MS,
        client_ids=(client_id,),
        dropped_by=tuple(sorted({broker_name for *_, broker_name in drops})),
    )


def _after_listing(lists: Sequence[MemberList], client_id: str, until_ms: int) -> list[tuple[MemberList, MemberList]]:
    """Each list of a broker that has the client, and the one after it, up to a time."""
    return [
        (before, after)
        for before, after in pairwise(lists)
        if client_id in before.client_ids and after.start_ms <= until_ms
    ]


def _with_logs(
    members: Iterable[Change], lifetimes: Iterable[Lifetime], silences: Iterable[Silence], day: Day
) -> Iterator[Change]:
    """Changes of members with what clients' logs say: when and how; then starts and stops that no list shows."""
    lives = grouped(lifetimes, lambda life: life.client_id)
    pauses = grouped(silences, lambda silence: silence.client_id)
    shown: set[tuple[GroupEventKind, Lifetime]] = set()
    for change in members:
        client_id = change.client_ids[0]
        own, noticed_ms = lives.get(client_id, []), change.noticed_from_ms or change.acts_from_ms
        if change.kind == GroupEventKind.JOINED:
            starts = [life for life in own if (change.kind, life) not in shown and _has_started(life, noticed_ms, day)]
            shown |= {(change.kind, life) for life in starts}
            yield _at(change, change.kind, starts[-1].lived_from_ms) if starts else change
            continue
        until_ms = change.noticed_until_ms or noticed_ms
        ends = [
            life
            for life in own
            if noticed_ms - EXPIRES_MS <= life.lived_until_ms <= until_ms + STOP_MS
            and (life.ended or life.lived_until_ms < day.end_ms - EXPIRES_MS)  # else its log may go on tomorrow
        ]
        stands = [
            pause
            for pause in pauses.get(client_id, ())
            if pause.silent_from_ms < noticed_ms < pause.silent_until_ms
            and pause.silent_until_ms - pause.silent_from_ms > SILENCE_MS
        ]
        if ends:
            shown |= {(GroupEventKind.LEFT, life) for life in ends}
            yield _at(change, _end_of(ends[-1]), ends[-1].lived_until_ms)
        elif stands:
            paused = _at(change, GroupEventKind.PAUSED, stands[-1].silent_from_ms)
            yield replace(paused, acts_until_ms=max(paused.acts_until_ms, stands[-1].silent_until_ms + SETTLES_MS))
        else:
            yield change
    yield from _only_logged(lives.values(), shown, day)


def _only_logged(
    lives: Iterable[Sequence[Lifetime]], shown: set[tuple[GroupEventKind, Lifetime]], day: Day
) -> Iterator[Change]:
    for own in lives:
        for life in own:
            start_ms, end_ms = life.lived_from_ms, life.lived_until_ms
            if start_ms is not None and start_ms > day.start_ms and (GroupEventKind.JOINED, life) not in shown:
                yield _logged(GroupEventKind.JOINED, start_ms, life.client_id)
            is_back = any(other.lived_from_ms is not None and other.lived_from_ms >= end_ms for other in own)
            if (life.ended or is_back) and end_ms < day.end_ms and (GroupEventKind.LEFT, life) not in shown:
                yield _logged(_end_of(life), end_ms, life.client_id)


def _logged(kind: GroupEventKind, at_ms: int, client_id: str) -> Change:
    return Change(kind, at_ms, None, None, at_ms - STOP_MS, at_ms + SETTLES_MS, client_ids=(client_id,))


def _end_of(life: Lifetime) -> GroupEventKind:
    """A log that ends without the line of a stop, of a client that brokers dropped or that was started again."""
    return GroupEventKind.STOPPED if life.ended else GroupEventKind.KILLED


def _has_started(life: Lifetime, noticed_ms: int, day: Day) -> bool:
    """Whether the life is the one that a broker lists first at that time: it began shortly before, or goes on then."""
    start_ms = life.lived_from_ms
    if start_ms is None or not day.start_ms <= start_ms <= noticed_ms + STOP_MS:
        return False
    return life.lived_until_ms >= noticed_ms or start_ms >= noticed_ms - EXPIRES_MS


def _at(change: Change, kind: GroupEventKind, at_ms: int | None) -> Change:
    from_ms = change.acts_from_ms if at_ms is None else min(change.acts_from_ms, at_ms - STOP_MS)
    return replace(change, kind=kind, happened_ms=at_ms, acts_from_ms=from_ms)


def _silent_brokers(unheard: Iterable[Unheard], member_lists: Sequence[MemberList], day: Day) -> Iterator[Change]:
    """Brokers that did not answer; one that was silent at 00:00 already, or refused, is not a change.

    Several are one change if they fell silent within the time between two rebalances, and came back within two.
    """
    silent = [
        broker for broker in unheard if broker.cause == GroupCause.BROKERS_SILENT and broker.start_ms > day.start_ms
    ]
    together: list[list[Unheard]] = []
    for broker in in_time(silent):
        alike = (
            run
            for run in together
            if broker.start_ms - run[0].start_ms <= REBALANCE_MS and abs(broker.end_ms - run[0].end_ms) <= SETTLES_MS
        )
        if run := next(alike, None):
            run.append(broker)
        else:
            together.append([broker])
    for run in together:
        names = {broker.broker_name for broker in run}
        start_ms, end_ms = run[0].start_ms, max(broker.end_ms for broker in run)
        before = (row.last_answer_ms for row in member_lists if row.broker_name in names and row.end_ms <= start_ms)
        yield Change(
            GroupEventKind.BROKERS_UNREACHABLE,
            happened_ms=None,
            noticed_from_ms=start_ms,
            noticed_until_ms=end_ms if end_ms < day.end_ms else None,
            acts_from_ms=max(before, default=start_ms),
            acts_until_ms=end_ms + RECOVERS_MS,
            broker_names=tuple(sorted(names)),
        )


def _routes(topics: Iterable[Topic], day: Day) -> Iterator[Change]:
    """Queues that a broker gained or lost; an answer without a route is not used by clients, and is a finding."""
    for topic in topics:
        if topic.topic.startswith(RETRY_TOPIC):
            continue
        before_midnight = Route(topic.route_before, day.start_ms, day.start_ms, day.start_ms)
        usable = [route for route in (before_midnight, *topic.routes) if route.brokers and not route.trouble]
        for before, after in pairwise(usable):
            names = {broker.broker_name for broker in {*(before.brokers or ())} ^ {*(after.brokers or ())}}
            if names:
                yield Change(
                    GroupEventKind.ROUTE_CHANGED,
                    happened_ms=None,
                    noticed_from_ms=after.start_ms,
                    noticed_until_ms=after.start_ms,
                    acts_from_ms=before.last_answer_ms,
                    acts_until_ms=after.start_ms + ROUTE_POLL_MS + SETTLES_MS,
                    broker_names=tuple(sorted(names)),
                    topics=(topic.topic,),
                )


def _offsets(refusals: Iterable[Refusal]) -> Iterator[Change]:
    """Queues that clients gave up to set their offsets, by their logs."""
    drops = {(refusal.topic, refusal.at_ms) for refusal in refusals if refusal.event == "DROPPED"}
    for topic, at_ms in sorted(drops):
        until_ms = at_ms + SETS_OFFSET_MS + SETTLES_MS
        yield Change(GroupEventKind.OFFSETS_RESET, at_ms, None, None, at_ms, until_ms, topics=(topic,))
