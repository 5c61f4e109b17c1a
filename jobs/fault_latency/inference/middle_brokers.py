"""The broker between the first and the last of three async tries, isolated and not logged.

Because no time was left there (4.9.3 to 5.2.0), or because the last try was refused and the one before is charged.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from jobs.fault_latency.inference.fault_item import State, Write
from jobs.fault_latency.inference.known_route import KnownRoute, named_throughout
from jobs.fault_latency.inference.producer_process import ProducerProcess
from jobs.fault_latency.producers.known_routes import ROUTE_AHEAD_MS, ROUTE_LAG_MS
from udfs.evidence import RETRY_CHARGED, RETRY_MIDDLE

_STEP = 2


@dataclass(frozen=True)
class _Try:
    """A try that may have been, as a write to the broker, and the item before it.

    `was_tried_after`: the last try went to that broker too, so that whatever its item says, this one may have been.
    """

    middle: Write
    item: State | None
    hidden: int
    was_tried_after: bool

    @property
    def may_have_been(self) -> bool:
        return self.was_tried_after or self.item is None or self.item.until_ms < self.middle.at_ms

    @property
    def was_free(self) -> bool:
        return self.item is None or self.item.latest_ms < self.middle.at_ms


def middle_brokers(process: ProducerProcess) -> list[Write]:
    """The writes to middle brokers.

    `MQFaultStrategy.selectOneMessageQueue` takes available brokers first: one that was isolated already was not
    tried. It must have been writable in every route that the client may have used. Where more brokers could have been
    tried than were, none is inferred, and none that another order of tied writes would have left isolated. Three tries,
    as `retryTimesWhenSendAsyncFailed` has it by default; 4.9.3 to 5.2.0 (`MQClientAPIImpl.sendMessageAsync`, catch:
    4.9.8:576, 5.1.4:714, 5.2.0:702; it leaves the item unreachable from 5.1.4 on), and the charged ones to 4.9.2
    (`onExceptionImpl` 4.7.1:616, 4.9.2:618).
    """
    possible = [each for each in _tries(process) if each.may_have_been]
    of_attempt = Counter(each.middle.row_hash for each in possible)
    certain = [each for each in possible if of_attempt[each.middle.row_hash] <= each.hidden and each.was_free]
    return _available_still(process, certain)


def _tries(process: ProducerProcess) -> list[_Try]:
    """Each failure with each broker that may have been in the middle, and how many of these were tried."""
    tries = []
    for item in process.items.values():
        for failure in (state.last_write for state in item.states):
            route, other = process.route_of(failure.middle_topic), failure.middle_after
            if route is None or other is None or route.known_from_ms > failure.at_ms:
                continue
            # An error without an address names the first broker alone: then the last one is hidden too.
            hidden = 2 if failure.broker_name == other else 1
            is_charged = failure.evidence == RETRY_CHARGED
            for broker_name in sorted(_charged(failure, other, route) if is_charged else _unnamed(failure, route)):
                before = process.item_before(broker_name, failure.at_ms)
                tries.append(_Try(_middle_write(process, failure, broker_name), before, hidden, broker_name == other))
    return tries


def _unnamed(failure: Write, route: KnownRoute) -> set[str]:
    """The brokers that the log does not name: no try went to one that the try before had isolated."""
    since_ms, until_ms = failure.at_ms - ROUTE_LAG_MS, failure.at_ms + ROUTE_AHEAD_MS
    return named_throughout(route.writable, since_ms, until_ms) - {failure.broker_name, failure.middle_after}


def _charged(failure: Write, last: str, route: KnownRoute) -> set[str]:
    """The brokers that may be charged in between; the last one too, as a refusal leaves its own broker available.

    To 4.7.1 (P1) `MQFaultStrategy.selectOneMessageQueue` (68) takes the last broker while it is available, so no other.
    """
    return {last} if failure.profile == "P1" else {last} | _unnamed(failure, route)


def _middle_write(process: ProducerProcess, failure: Write, broker_name: str) -> Write:
    """The middle try took no time; where refused retries are charged, it is charged as the one before it was."""
    is_charged = failure.evidence == RETRY_CHARGED
    return replace(
        failure,
        broker_name=broker_name,
        step=_STEP,
        current_latency_ms=failure.current_latency_ms if is_charged else 0,
        reachable=process.lets_last_write_win(failure),
        cause="HIDDEN_RETRY",
        evidence=RETRY_CHARGED if is_charged else RETRY_MIDDLE,
        middle_topic=None,
        middle_after=None,
        first_position=None,
    )


def _available_still(process: ProducerProcess, tries: list[_Try]) -> list[Write]:
    """Those whose broker no try before them isolated: what each leaves stands to its end or the item's next write.

    A write of the log so near to such a try that either may have come last ends nothing for sure.
    """
    tied_ms = process.knowledge.rules.unordered_within_ms
    last: dict[str, Write] = {}
    middles = []
    for each in sorted(tries, key=lambda each: (each.middle.at_ms, each.middle.row_hash or 0)):
        write, before = each.middle, last.get(each.middle.broker_name)
        is_cleared = (
            before is not None
            and each.item is not None
            and each.item.at_ms > before.at_ms + tied_ms
            and process.lets_last_write_win(write)
        )
        if before is not None and before.at_ms + before.not_available_ms >= write.at_ms and not is_cleared:
            continue
        last[write.broker_name] = write
        middles.append(write)
    return middles
