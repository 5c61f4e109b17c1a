"""A night's published tables against what was done and what applications saw themselves.

Plain functions over lists; none knows a rule of the product. A fault is one sentence: what is missed, or invented.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tests.given.spans import Spans, agreement, common, length_ms, union, without
from tests.lab.deeds import AT_BROKERS, AT_CONSUMERS, Deed, DeedKind

Rows = Sequence[Mapping[str, Any]]
Queue = tuple[str, str, int]
"""Topic, broker, queue id."""
_Key = TypeVar("_Key")

TIMEOUT_MS = 3_000
LATE_MS = 3_000
"""From a failure until the last producer has seen it."""
LONGEST_ISOLATION_MS = 600_000
ROUTES_MS = 75_000
"""After this a change of servers has reached every client: routes are polled each 30 s, queues allocated each 20 s,
and a client sends its heartbeat each 30 s."""
STARTING_MS = 15_000
CAPTURE_MS = 12_000
"""A collector that asks every five seconds, and waits for a broker that does not answer."""
LOG_PAUSE_MS = 6_000
"""A consumer's log has a line each five seconds, as it persists its offsets."""
KILLED_MS = 1_000
NEAR_MS = 100
CYCLE_MS = 1_600
"""A slow broker stands and runs in turn; perhaps nobody sends to it while it stands for the last time."""
SHORT_MS = 2_000
"""Two hands that write down one change of owner do so within this time."""


@dataclass(frozen=True)
class Producer:
    """What its own lines say of a producer, whose clock is the lab's."""

    client_id: str
    app: str
    client_version: str
    is_isolating: bool
    """The switch is on, and it lets the client choose a queue and waits for an answer."""
    start_ms: int
    end_ms: int
    troubles: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """By broker, ends of the attempts that failed or were slow."""

    @property
    def release(self) -> tuple[int, ...]:
        """The version as numbers."""
        return tuple(map(int, self.client_version.split(".")))


@dataclass(frozen=True)
class Fault:
    """What is wrong: `what` is MISSED or INVENTED."""

    what: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.what}: {self.sentence}"


def missed(sentence: str) -> Fault:
    """Something happened, and the tables do not say so."""
    return Fault("MISSED", sentence)


def invented(sentence: str) -> Fault:
    """The tables say so, and it did not happen."""
    return Fault("INVENTED", sentence)


def missed_isolations(deeds: Iterable[Deed], producers: Iterable[Producer], isolations: Rows) -> Iterator[Fault]:
    """Each producer that met the broker of a deed, while it lasted or a time-out later, isolates it then.

    One whose route lacks the broker does not meet it; somebody does.
    """
    by_item = _by(isolations, "client_id", "broker_name")
    isolating = [producer for producer in producers if producer.is_isolating]
    for deed in deeds:
        if deed.kind not in AT_BROKERS:
            continue
        start_ms, end_ms = deed.start_ms, deed.end_ms + TIMEOUT_MS + LATE_MS
        for broker in deed.names:
            met = [
                producer
                for producer in isolating
                if any(start_ms <= at_ms < end_ms for at_ms in producer.troubles.get(broker, ()))
            ]
            if not met:
                yield missed(f"an attempt at {broker} that fails or is slow in {deed}")
            for producer in met:
                rows = by_item.get((producer.client_id, broker), [])
                if not any(row["start_ms"] < end_ms and row["end_ms"] > start_ms for row in rows):
                    yield missed(f"{producer.client_id} ({producer.app}) isolates {broker} in {deed}")


KINDS = {
    DeedKind.FREEZE: {"TIMED_OUT", "SLOW", "MIXED"},
    DeedKind.KILL_BROKER: {"REFUSED", "MIXED"},
    DeedKind.KILL_ALL_BROKERS: {"REFUSED", "MIXED"},
    DeedKind.SLOW: {"SLOW", "TIMED_OUT", "MIXED"},
    DeedKind.REFUSE_WRITES: {"REFUSED", "BUSY"},  # 5.3.3 says that the system is busy
}
"""What attempts met, by what was done."""


def missed_events(deeds: Iterable[Deed], attempts: Mapping[str, Sequence[int]], events: Rows) -> Iterator[Fault]:
    """Each deed at a broker is one event there, of its kind, from its first attempt on and over when it was over.

    Args:
        deeds: what was done.
        attempts: by broker, when attempts started, in order; nobody sees what nobody sends to.
        events: rows of `events`.
    """
    at_brokers = [deed for deed in deeds if deed.kind in AT_BROKERS]
    for deed in at_brokers:
        is_slow = deed.kind == DeedKind.SLOW
        for broker in deed.names:
            until_ms = deed.end_ms + TIMEOUT_MS + LATE_MS
            first_ms = next((at_ms for at_ms in attempts.get(broker, ()) if at_ms >= deed.start_ms), until_ms)
            if first_ms >= deed.end_ms:
                continue
            found = [row for row in events if broker in row["brokers"] and _touches(deed, row)]
            if len(found) != 1:
                yield missed(f"one event of {broker} in {deed}: {len(found)}")
                continue
            (row,) = found
            if row["bad_from_ms"] > first_ms + NEAR_MS * (1 if len(deed.names) == 1 else 5):  # one after the other
                yield missed(f"the begin of the event of {broker}, {row['bad_from_ms']}, in {deed}")
            # Brokers that are started again are ready one by one.
            ready_ms = deed.start_ms if len(deed.names) > 1 else deed.end_ms - (CYCLE_MS if is_slow else 0)
            if not ready_ms - NEAR_MS <= (row["bad_until_ms"] or until_ms):
                yield missed(f"the end of the event of {broker}, {row['bad_until_ms']}, in {deed}")
            within = [other for other in at_brokers if broker in other.names and _touches(other, row)]
            if row["kind"] not in {"MIXED"}.union(*(KINDS[other.kind] for other in within)):
                yield Fault("WRONG", f"the event of {broker} is {row['kind']}, in {deed}")


def _touches(deed: Deed, row: Mapping[str, Any]) -> bool:
    until_ms = deed.end_ms + TIMEOUT_MS + LATE_MS
    return bool(row["bad_from_ms"] < until_ms and row["last_bad_ms"] > deed.start_ms)


def losses_without_event(calls: Rows) -> Iterator[Fault]:
    """A send that was lost after an attempt belongs to an event, unless its time was over before the broker had any."""
    for row in calls:
        had_time = row["attempts"] and row["outcome"] != "RemotingTooMuchRequestException"
        if row["failed"] and had_time and row["event_id"] is None:
            yield missed(f"the event of a send of {row['client_id']} to {row['broker_names']}, lost at {row['end_ms']}")


def wrong_isolations(
    truth: Mapping[tuple[str, str], Spans], isolations: Rows, producers: Iterable[Producer], least: float
) -> Iterator[Fault]:
    """What clients held isolated while they lived, by client id and broker, against `isolation_intervals`."""
    lives = {producer.client_id: [(producer.start_ms, producer.end_ms)] for producer in producers}
    both, either = 0, 0
    ours = _spans_by(((row["client_id"], row["broker_name"]), row) for row in isolations if row["enforced"])
    for item in sorted({*truth, *ours}):
        held, published = (common(side.get(item, []), lives.get(item[0], [])) for side in (truth, ours))
        in_both, in_either = agreement(held, published)
        both, either = both + in_both, either + in_either
        if in_either - in_both > SHORT_MS:
            lacks, adds = without(held, published), without(published, held)
            yield Fault("WRONG", f"isolation of {item[1]} by {item[0]}: lacks {lacks}, adds {adds}")
    if either and both / either < least:
        yield Fault("WRONG", f"isolations agree to {both / either:.5f}, less than {least}")


def wrong_losses(
    failures: Mapping[str, Sequence[int]],
    out_of_time: Mapping[str, int],
    lost: Mapping[str, Sequence[int]],
    deeds: Iterable[Deed],
) -> Iterator[Fault]:
    """Ends of failed sends by application: what it logged itself, and what is published.

    The last moment of a killed process counts on neither side: its recorder loses a fifth of a second. A send whose
    time was over before its first attempt (`out_of_time` may be such) has no line.
    """
    kills = [(name, deed) for deed in deeds if deed.kind == DeedKind.PRODUCER_KILLED for name in deed.names]
    for app in sorted({*failures, *lost}):
        moments = [(deed.start_ms - KILLED_MS, deed.end_ms + KILLED_MS) for name, deed in kills if name == app]
        logged, published = (
            sum(not any(start <= at_ms < end for start, end in moments) for at_ms in side.get(app, ()))
            for side in (failures, lost)
        )
        if not 0 <= logged - published <= out_of_time.get(app, 0):
            yield Fault("WRONG", f"{app} logged {logged} failed sends, {published} are published")


def missed_rebalances(deeds: Iterable[Deed], rebalances: Rows, within: tuple[int, int]) -> Iterator[Fault]:
    """A consumer that comes or goes is a rebalance with its client id, where answers before and after show it."""
    for deed in deeds:
        if deed.kind in AT_CONSUMERS and within[0] < deed.start_ms and deed.end_ms + CAPTURE_MS < within[1]:
            column = "joined" if deed.kind == DeedKind.CONSUMER_JOINS else "left"
            for name in deed.names:
                if not any(
                    deed.start_ms - SHORT_MS < row["changed_at_ms"] < deed.end_ms + CAPTURE_MS
                    and any(client.endswith(f"@{name}") for client in row[column] or ())
                    for row in rebalances
                ):
                    yield missed(f"a rebalance as {name} {column}, {deed}")


def invented_rebalances(deeds: Sequence[Deed], rebalances: Rows) -> Iterator[Fault]:
    """A consumer that joined or left did so; what else moves queues follows a deed."""
    for row in rebalances:
        clients = {client.rpartition("@")[2] for client in (*(row["joined"] or ()), *(row["left"] or ()))}
        doers = [deed for deed in deeds if deed.kind in AT_CONSUMERS and clients & {*deed.names}]
        if clients and not _near(doers, row["changed_at_ms"], CAPTURE_MS):
            at_servers = [deed for deed in deeds if deed.kind not in AT_CONSUMERS]
            if not _near(at_servers, row["changed_at_ms"], ROUTES_MS):
                yield invented(f"a rebalance at {row['changed_at_ms']}: joined {row['joined']}, left {row['left']}")
        elif not clients and not _near(deeds, row["changed_at_ms"], ROUTES_MS):
            yield invented(f"a rebalance at {row['changed_at_ms']} by {row['trigger']}")


def wrong_owners(
    truth: Mapping[tuple[str, Queue], Spans],
    ownership: Rows,
    deeds: Iterable[Deed],
    within: tuple[int, int],
    least: float,
) -> Iterator[Fault]:
    """Who held which queue by the consumers' own listeners, against `queue_ownership`, within a span of time.

    Of a client with a log that alone counts: answers come seldom. A difference of at most SHORT_MS at one change counts
    as agreement, and so does the time from a killed client's last line to its end.
    """
    with_log = {row["client_id"] for row in ownership if row["source"] == "CLIENT_LOG"}
    ours = _spans_by(
        ((row["client_id"], (row["topic"], row["broker_name"], row["queue_id"])), row)
        for row in ownership
        if row["source"] == "CLIENT_LOG" or row["client_id"] not in with_log
    )
    kills = {name: deed for deed in deeds if deed.kind == DeedKind.CONSUMER_KILLED for name in deed.names}
    both, either = 0, 0
    for key in sorted({*truth, *ours}):
        deed = kills.get(key[0].rpartition("@")[2])
        unknown = [] if deed is None else [(deed.start_ms - LOG_PAUSE_MS, deed.end_ms)]
        held, published = (without(common(side.get(key, []), [within]), unknown) for side in (truth, ours))
        lacks = [span for span in without(held, published) if span[1] - span[0] > SHORT_MS]
        adds = [span for span in without(published, held) if span[1] - span[0] > SHORT_MS]
        in_either = length_ms([*held, *published])
        either, both = either + in_either, both + in_either - length_ms(lacks) - length_ms(adds)
        if lacks or adds:
            yield Fault("WRONG", f"owner {key[0]} of {key[1]}: lacks {lacks}, adds {adds}")
    if either and both / either < least:
        yield Fault("WRONG", f"owners agree to {both / either:.5f}, less than {least}")


def invented_owner_findings(
    truth: Mapping[tuple[str, Queue], Spans], groups: Mapping[str, str], deeds: Iterable[Deed], findings: Rows
) -> Iterator[Fault]:
    """A queue that is said to have no owner, or two, has not had them for all the time by the group's listeners.

    While consumers start or stop nobody but they know who holds what.

    Args:
        truth: as for `wrong_owners`.
        groups: client id to its consumer group.
        deeds: what was done.
        findings: rows of `allocation_findings`.
    """
    unknown = [(deed.start_ms, deed.end_ms) for deed in deeds if deed.kind in AT_CONSUMERS]
    by_queue: dict[tuple[str, Queue], list[Spans]] = defaultdict(list)
    for (client, queue), spans in truth.items():
        by_queue[groups[client], queue].append(spans)
    for row in findings:
        if row["kind"] not in {"UNASSIGNED", "DOUBLY_OWNED"} or row["basis"] != "OBSERVED":
            continue
        time = without([(row["start_ms"], row["end_ms"])], unknown)
        queue = (row["topic"], row["broker_name"], row["queue_id"])
        owners = by_queue.get((row["consumer_group"], queue), [])
        held = union(span for spans in owners for span in spans)
        twice = union(
            span for place, spans in enumerate(owners) for other in owners[place + 1 :] for span in common(spans, other)
        )
        true = without(time, held) if row["kind"] == "UNASSIGNED" else common(time, twice)
        if length_ms(time) - length_ms(true) > SHORT_MS:
            yield invented(f"{row['kind']} {time}: true for {length_ms(true)} ms, {row['sentence']}")


def invented_group_findings(deeds: Sequence[Deed], findings: Rows) -> Iterator[Fault]:
    """Each finding about a group begins at a deed, or until it has reached every client."""
    for row in findings:
        if not _near(deeds, row["start_ms"], ROUTES_MS):
            yield invented(f"{row['kind']} from {row['start_ms']}: {row['sentence']}")


_CHANGES = {
    DeedKind.CONSUMER_JOINS: "JOINED",
    DeedKind.CONSUMER_STOPS: "STOPPED",
    DeedKind.CONSUMER_KILLED: "KILLED",
}


def missed_group_events(deeds: Iterable[Deed], events: Rows, within: tuple[int, int]) -> Iterator[Fault]:
    """Who comes or goes is in one event of its group, of that kind and at that time; so is a killed broker."""
    for deed in deeds:
        if not within[0] < deed.start_ms or deed.end_ms + CAPTURE_MS > within[1]:
            continue
        for name in deed.names if deed.kind in _CHANGES else ():
            own = [
                row
                for row in events
                if row["kind"] == _CHANGES[deed.kind]
                and any(client.endswith(f"@{name}") for client in row["client_ids"])
                and deed.start_ms - LOG_PAUSE_MS <= row["start_ms"] <= deed.end_ms + CAPTURE_MS
            ]
            if len(own) != 1:
                yield missed(f"one event {_CHANGES[deed.kind]} of {name}, there are {len(own)}, {deed}")
        if deed.kind in {DeedKind.KILL_BROKER, DeedKind.KILL_ALL_BROKERS}:
            for group in sorted({row["consumer_group"] for row in events}):
                silent = [
                    row
                    for row in events
                    if row["consumer_group"] == group
                    and row["kind"] == "BROKERS_UNREACHABLE"
                    and {*deed.names} <= {*row["broker_names"]}
                    and deed.start_ms - SHORT_MS <= row["start_ms"] <= deed.end_ms + CAPTURE_MS
                ]
                if len(silent) != 1:
                    yield missed(f"one event of {group} without its brokers, there are {len(silent)}, {deed}")


def invented_group_events(deeds: Sequence[Deed], events: Rows) -> Iterator[Fault]:
    """An event names who did something then, and what changes at servers follows a deed at them."""
    at_consumers = [deed for deed in deeds if deed.kind in AT_CONSUMERS]
    at_servers = [deed for deed in deeds if deed.kind not in AT_CONSUMERS]
    for row in events:
        names = {client.rpartition("@")[2] for client in row["client_ids"]}
        is_done = any(
            names & {*deed.names} and deed.start_ms - LOG_PAUSE_MS <= row["start_ms"] <= deed.end_ms + LOG_PAUSE_MS
            for deed in at_consumers
        )
        if not is_done and (names or not _near(at_servers, row["start_ms"], ROUTES_MS)):
            yield invented(f"an event of a group: {row['kind']} at {row['start_ms']}, {row['sentence']}")


def invented_findings(deeds: Sequence[Deed], producers: Sequence[Producer], findings: Rows) -> Iterator[Fault]:
    """Each finding about producers or brokers is what a deed led to."""
    off = {producer.client_id for producer in producers if not producer.is_isolating}
    at_brokers = [deed for deed in deeds if deed.kind in AT_BROKERS]
    starts, kills = (
        [deed for deed in deeds if deed.kind == kind] for kind in (DeedKind.PRODUCER_STARTS, DeedKind.PRODUCER_KILLED)
    )
    for row in findings:
        at_ms, broker = row["start_ms"], row["broker_name"]
        at_this = [deed for deed in at_brokers if broker is None or broker in deed.names]
        match row["kind"]:
            case "AVOIDED_TOO_LONG":
                is_true = row["event_id"] is not None and (
                    _near(at_this, at_ms, ROUTES_MS) or _near(starts, at_ms, STARTING_MS)
                )
            case "COLLATERAL_ISOLATION":
                is_true = _near(at_brokers, at_ms, TIMEOUT_MS + LATE_MS) or _near(starts, at_ms, STARTING_MS)
            case "SENT_WHILE_ISOLATED" if row["cause"] == "SWITCH_OFF":
                is_true = row["client_id"] in off and _near(at_brokers, at_ms, ROUTES_MS)  # perhaps collateral
            case "SENT_WHILE_ISOLATED" | "ALL_ISOLATED" | "DEAD_BROKER_MAGNET":
                is_true = row["cause"] != "UNEXPLAINED" and (
                    _near(at_brokers, at_ms, LONGEST_ISOLATION_MS) or _is_start(producers, row)
                )
            case "LONE_ISOLATION":
                is_true = _near(starts, at_ms, STARTING_MS)
            case "RESTARTED":
                is_true = _near(kills, at_ms, STARTING_MS)
            case "ISOLATION_LOST_BY_SUBMIT" | "REMOVED_WHILE_ISOLATED":
                is_true = _near(at_brokers, at_ms, LONGEST_ISOLATION_MS)
            case _:
                is_true = False
        if not is_true:
            yield invented(f"{row['kind']} {row['cause']} from {at_ms}: {row['sentence']}")


def _is_start(producers: Iterable[Producer], row: Mapping[str, Any]) -> bool:
    """The first sends of a client run out of time at each broker, while it connects."""
    return any(
        -SHORT_MS <= row["start_ms"] - producer.start_ms <= STARTING_MS
        for producer in producers
        if producer.client_id == row["client_id"]
    )


def missed_restarts(deeds: Iterable[Deed], findings: Rows) -> Iterator[Fault]:
    """A producer that was killed and came back is a finding."""
    for deed in deeds:
        if deed.kind == DeedKind.PRODUCER_KILLED and not any(
            row["kind"] == "RESTARTED" and _near([deed], row["start_ms"], SHORT_MS) for row in findings
        ):
            yield missed(f"a finding that {deed.names[0]} was started again after {deed}")


def events_without_deed(deeds: Iterable[Deed], events: Rows) -> Iterator[Mapping[str, Any]]:
    """Those that begin neither in a deed at their brokers, nor a time-out later, nor while an application starts."""
    at_brokers = [deed for deed in deeds if deed.kind in AT_BROKERS]
    starts = [deed for deed in deeds if deed.kind == DeedKind.PRODUCER_STARTS]
    for row in events:
        at_these = [deed for deed in at_brokers if {*row["brokers"]} <= {*deed.names}]
        is_start = _near(starts, row["bad_from_ms"], STARTING_MS)
        if not (is_start or _near(at_these, row["bad_from_ms"], TIMEOUT_MS + LATE_MS)):
            yield row


def invented_events(deeds: Iterable[Deed], seen: Mapping[str, Sequence[int]], events: Rows) -> Iterator[Fault]:
    """An event without a deed is real where others than the recorder saw at least half its bad attempts at its brokers.

    A machine at its limit makes a broker slow, too. Nobody else sees a slow answer of a producer with the switch off,
    or of a send whose caller chose the queue: hence half.

    Args:
        deeds: what was done.
        seen: by broker, when another hand than the recorder saw an attempt there that failed or was slow.
        events: rows of `events`.
    """
    for row in events_without_deed(deeds, events):
        span = range(row["bad_from_ms"], row["last_bad_ms"] + NEAR_MS)
        counts = [sum(at_ms in span for at_ms in seen.get(broker, ())) for broker in row["brokers"]]
        if 0 in counts or 2 * sum(counts) < row["failed_attempts"] + row["slow_attempts"]:
            yield invented(f"an event of {row['brokers']}, {row['kind']} from {row['bad_from_ms']}")


NO_LINE_SHOWS = frozenset({"REMOVED_ITEM", "DETECTOR"})
"""Causes of `replay_checks` that no line of a send log can show."""


def disagreeing_replays(checks: Rows, producers: Iterable[Producer]) -> Iterator[Fault]:
    """`verify`: a replay from sends alone agrees to 0.98 from 5.2 on, to 0.95 before; else a cause is named."""
    releases = {producer.client_id: producer.release for producer in producers}
    for client, rows in _by([row for row in checks if row["source"] == "RECORDED"], "writer").items():
        least = 0.98 if releases.get(client[0], (0,)) >= (5, 2) else 0.95
        shown = [row for row in rows if row["cause"] not in NO_LINE_SHOWS]
        isolated, differing = (sum(row[name] for row in shown) for name in ("isolated_ms", "differing_ms"))
        replayed = sum(row["replayed_ms"] for row in shown)
        either = (isolated + replayed + differing) / 2
        if either and 1 - differing / either < least:
            share, causes = 1 - differing / either, sorted({str(row["cause"]) for row in rows})
            yield Fault("WRONG", f"verify: {client[0]} agrees to {share:.5f}, less than {least} {causes}")


def _near(deeds: Iterable[Deed], at_ms: int, after_ms: int) -> bool:
    return any(deed.start_ms - SHORT_MS <= at_ms <= deed.end_ms + after_ms for deed in deeds)


def _by(rows: Iterable[Mapping[str, Any]], *names: str) -> dict[tuple[Any, ...], list[Mapping[str, Any]]]:
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in names)].append(row)
    return groups


def _spans_by(rows: Iterable[tuple[_Key, Mapping[str, Any]]]) -> dict[_Key, Spans]:
    spans: dict[_Key, Spans] = defaultdict(list)
    for key, row in rows:
        spans[key].append((row["start_ms"], row["end_ms"]))
    return spans
