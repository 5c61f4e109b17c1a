"""The broker between the first and the last of three async tries: isolated because no time was left, and not logged."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from jobs.fault_latency.inference.fault_item import State, Write
from jobs.fault_latency.inference.known_route import named_throughout
from jobs.fault_latency.inference.producer_process import ProducerProcess
from jobs.fault_latency.producers.known_routes import ROUTE_AHEAD_MS, ROUTE_LAG_MS
from udfs.evidence import RETRY_CHARGED, RETRY_MIDDLE

_STEP = 2


@dataclass(frozen=True)
class _Try:
    """A try that may have been, as a write to the broker, and the item before it."""

    middle: Write
    item: State | None
    hidden: int

    @property
    def may_have_been(self) -> bool:
        return self.item is None or self.item.until_ms < self.middle.at_ms

    @property
    def was_free(self) -> bool:
        return self.item is None or self.item.latest_ms < self.middle.at_ms


def middle_brokers(process: ProducerProcess) -> list[Write]:
    """The writes to middle brokers.

    `MQFaultStrategy.selectOneMessageQueue` takes available brokers first: one that was isolated already was not
    tried. It must have been writable in every route that the client may have used. Where more brokers could have been
    tried than were, none is inferred, and none that another order of tied writes would have left isolated. Three tries,
    as `retryTimesWhenSendAsyncFailed` has it by default; 4.9.3 to 5.2.0 (`MQClientAPIImpl.sendMessageAsync`, catch:
    4.9.8:576, 5.1.4:714, 5.2.0:702; it leaves the item unreachable from 5.1.4 on), and the charged ones to 4.9.2.
    """
    possible = [each for each in _tries(process) if each.may_have_been]
    of_attempt = Counter(each.middle.row_hash for each in possible)
    certain = [each for each in possible if of_attempt[each.middle.row_hash] <= each.hidden and each.was_free]
    return _available_still(process, certain)


def _tries(process: ProducerProcess) -> list[_Try]:
    """Each failure with each broker of its topic that the log does not name, and how many of these were tried."""
    tries = []
    for item in process.items.values():
        for failure in (state.last_write for state in item.states):
            route = process.route_of(failure.middle_topic)
            if route is None or route.known_from_ms > failure.at_ms:
                continue
            named = {failure.broker_name, failure.middle_after}
            # An error without an address names the first broker alone: then the last one is hidden too.
            hidden = 2 if failure.broker_name == failure.middle_after else 1
            since_ms, until_ms = failure.at_ms - ROUTE_LAG_MS, failure.at_ms + ROUTE_AHEAD_MS
            for broker_name in sorted(named_throughout(route.writable, since_ms, until_ms) - named):
                before = process.item_before(broker_name, failure.at_ms)
                tries.append(_Try(_middle_write(process, failure, broker_name), before, hidden))
    return tries


def _middle_write(process: ProducerProcess, failure: Write, broker_name: str) -> Write:
    """The middle try took no time; where refused retries are charged, it is charged as the one before it was."""
    return replace(
        failure,
        broker_name=broker_name,
        step=_STEP,
        current_latency_ms=failure.current_latency_ms if failure.evidence == RETRY_CHARGED else 0,
        reachable=process.lets_last_write_win(failure),
        cause="HIDDEN_RETRY",
        evidence=RETRY_MIDDLE,
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
