"""Sentences for findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from jobs.allocation.group.events import PASSING, GroupEvent
from jobs.allocation.group.finding import Finding
from jobs.kinds import GroupCause, GroupEventKind, GroupKind

WHY: Mapping[str, str] = {
    GroupCause.DUPLICATE_CLIENT_ID: "two connections of the group have one client id",
    GroupCause.NOT_SUBSCRIBED: "the client does not subscribe to the topic",
    GroupCause.QUEUE_DOES_NOT_EXIST: "the topic has no such queue",
    GroupCause.MIXED_STRATEGIES: "members of the group use different strategies",
    GroupCause.MIXED_LANGUAGES: "members of the group are clients of different languages",
    GroupCause.FLAPPING: "members of the group drop off and return",
    GroupCause.VIEWS_DIFFER: "brokers report different members",
    GroupCause.STOPPED_NOT_EXPIRED: "the client is gone, and its broker has not dropped it yet",
    GroupCause.CLIENT_SILENT: "the client's process stood still",
    GroupCause.LOCK_NOT_GRANTED: "the broker did not grant the lock of the queue",
    GroupCause.OFFSET_UNKNOWN: "the broker did not return the group's offset",
    GroupCause.OFFSET_RESET: "the client gave the queue up to set its offset, and takes it again as it rebalances",
    GroupCause.STALE_ROUTE: "the route had changed, and clients ask for it every 30 s",
    GroupCause.REBALANCE_NOT_RUN: "members had changed, and clients rebalance within 20 s",
    GroupCause.STRATEGY_FAILS: "the strategy fails on this input, so everyone keeps what it had",
    GroupCause.STRATEGY_LEAVES_OUT: "the strategy, as configured, leaves it out",
    GroupCause.STRATEGY_NAMES_TWICE: "the strategy, as configured, assigns it to several",
    GroupCause.MORE_CLIENTS_THAN_QUEUES: "the group has more clients than the topic has queues",
    GroupCause.REQUEST_MODE_UNKNOWN: "the broker assigns, and settings do not say request_mode",
    GroupCause.STRATEGY_UNKNOWN: "its class is custom, or settings do not configure the strategy",
    GroupCause.CLIENTS_BY_PROXY: "gRPC clients come through a proxy, which pops for each of them from every queue",
    GroupCause.NOT_A_JAVA_CLIENT: "a member is not a Java client, and settings say neither strategy nor message_model",
    GroupCause.MODEL_UNKNOWN: "nothing says whether the group broadcasts",
    GroupCause.BROKERS_SILENT: "no broker answered",
    GroupCause.BROKERS_REFUSE: "brokers refused to answer",
    GroupCause.ROUTE_UNKNOWN: "no snapshot has it, or it is a static topic, whose logical queues are not read",
    GroupCause.NO_ROUTE: "it answered that the topic does not exist",
    GroupCause.UNEXPLAINED: "the data does not show why",
}
_GIVEN: Mapping[str, str] = {
    GroupKind.UNASSIGNED: "the queue is assigned to nobody",
    GroupKind.DOUBLY_OWNED: "the queue is assigned to several clients",
}
_UNKNOWN_MODEL = "two connections have one client id"
_NOT_ALL = "not every client that should own the queue has it"
WHAT: Mapping[str, str] = {
    GroupKind.UNASSIGNED: "nobody has the queue",
    GroupKind.DOUBLY_OWNED: "several clients have the queue",
    GroupKind.AGAINST_STRATEGY: "a client that should not own the queue has it",
    GroupKind.IDLE_CLIENT: "the client gets no queue",
    GroupKind.NOT_DETERMINABLE: "who should own the queues cannot be determined",
    GroupKind.MIXED_LANGUAGES: "clients of different languages may allocate differently",
    GroupKind.MIXED_STRATEGIES: "members use different strategies",
    GroupKind.DUPLICATE_CLIENT_ID: "two connections have one client id: both own the same queues, nobody owns others",
    GroupKind.EMPTY_CLIENT_ID: "a member has an empty client id",
    GroupKind.GROUP_WITHOUT_CONSUMERS: "no broker knows a consumer of the group",
    GroupKind.MEMBERS_UNKNOWN: "the members of the group are not known",
    GroupKind.TOPIC_WITHOUT_ROUTE: "the name server has no route",
    GroupKind.NAME_SERVERS_DISAGREE: "name servers disagree on the route, so which one a client has is not known",
    GroupKind.ORDER_CONF_UNREADABLE: "clients cannot read orderTopicConf, and keep the route of before",
    GroupKind.VIEWS_DIFFER: "brokers report different members, and each client asks one of them at random",
    GroupKind.FLAPPING: "the client dropped off and returned again and again",
}

_CHANGED: Mapping[str, str] = {
    GroupEventKind.JOINED: "{clients} joined",
    GroupEventKind.STOPPED: "{clients} stopped",
    GroupEventKind.KILLED: "{clients} ended without a stop",
    GroupEventKind.PAUSED: "{clients} stood still",
    GroupEventKind.LEFT: "{clients} left, nothing shows why",
    GroupEventKind.BROKERS_UNREACHABLE: "{brokers} did not answer",
    GroupEventKind.ROUTE_CHANGED: "queues of {topics} changed at {brokers}",
    GroupEventKind.OFFSETS_RESET: "offsets of {topics} were set",
}
_MOST_NAMED = 3


def sentence(consumer_group: str, finding: Finding) -> str:
    """Whose queue or which topic, what is wrong, for how long, and why.

    >>> sentence("g", Finding(0, 1_250, "IDLE_CLIENT", topic="T", client_ids=("x", "")))
    'g, T: the client gets no queue for 1.3 s (x, "")'
    """
    queue = finding.broker_name if finding.queue_id is None else f"{finding.broker_name} queue {finding.queue_id}"
    whose = ", ".join(name for name in (consumer_group, finding.topic, queue) if name is not None)
    clients = _listed(finding.client_ids) if finding.queue_id is None and finding.client_ids else None
    details = [detail for detail in (_owners(finding), clients, WHY.get(finding.cause)) if detail is not None]
    said = f"{whose}: {_fact(finding)} for {_seconds(finding.end_ms - finding.start_ms)}"
    return f"{said} ({'; '.join(details)})" if details else said


def event_sentence(consumer_group: str, event: GroupEvent) -> str:
    """Which group, what changed, when brokers showed it, and what the queues went through, and why."""
    names = {"clients": event.client_ids, "brokers": event.broker_names, "topics": event.topics}
    what = _CHANGED[event.kind].format(**{word: _few(of_word) for word, of_word in names.items()})
    troubles = [
        f"{count} {whom} for up to {_seconds(longest_ms or 0)}"
        for count, longest_ms, whom in (
            (event.unowned_queues, event.unowned_ms, "had no owner"),
            (event.doubly_owned_queues, event.doubly_owned_ms, "had several owners"),
            (event.misplaced_queues, event.misplaced_ms, "had the wrong owner"),
        )
        if count
    ]
    parts = [f"{consumer_group}: {what}{_noticed(event)}"]
    if event.unowned_queues is None:
        parts.append("no answer or log shows who owned its queues")
    if troubles:
        why = [PASSING[cause] for cause in event.causes if cause in PASSING]
        parts += [f"of its queues {', '.join(troubles)}", *([f"why: {', '.join(why)}"] if why else [])]
    return "; ".join(parts)


def _noticed(event: GroupEvent) -> str:
    first_ms, last_ms = event.noticed_from_ms, event.noticed_until_ms
    if event.kind == GroupEventKind.BROKERS_UNREACHABLE:
        return " until 24:00" if last_ms is None else f" for {_seconds(last_ms - event.start_ms)}"
    if event.happened_ms is None or first_ms is None or last_ms is None or len(event.client_ids) > 1:
        return ""
    if event.kind == GroupEventKind.JOINED:
        return f", first listed {_seconds(max(first_ms - event.happened_ms, 0))} later"
    return f", and the last broker dropped it {_seconds(max(last_ms - event.happened_ms, 0))} later"


def _seconds(length_ms: int) -> str:
    """Rounded to a tenth.

    >>> _seconds(1_250)
    '1.3 s'
    """
    return f"{(length_ms + 50) // 100 / 10} s"


def _few(names: Sequence[str]) -> str:
    """The first names, and how many more.

    >>> _few(["a", "", "c", "d", "e"])
    'a, "", c and 2 more'
    """
    more = len(names) - _MOST_NAMED
    return _listed(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _fact(finding: Finding) -> str:
    """What is wrong; AGAINST_STRATEGY may also mean that an expected owner is missing and nobody else has the queue."""
    if finding.cause == GroupCause.MODEL_UNKNOWN:
        return _UNKNOWN_MODEL
    if finding.basis == "EXPECTED":
        return _GIVEN.get(finding.kind, WHAT[finding.kind])
    others = {*(finding.owners_observed or ())} - {*(finding.owners_expected or ())}
    return _NOT_ALL if finding.kind == GroupKind.AGAINST_STRATEGY and not others else WHAT[finding.kind]


def _owners(finding: Finding) -> str | None:
    expected, observed = finding.owners_expected, finding.owners_observed
    if expected is not None and observed is not None:
        return f"expected {_listed(expected) or 'nobody'}, held by {_listed(observed) or 'nobody'}"
    return _listed(expected) if expected else None


def _listed(client_ids: Iterable[str]) -> str:
    return ", ".join(client_id or '""' for client_id in client_ids)
