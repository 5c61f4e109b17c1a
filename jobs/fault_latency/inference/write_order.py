"""Writes that ran within a millisecond: where the sends went afterwards shows which of them came last.

Under last-write-wins (to 5.1.3) the order decides. The log's best guess is refuted when the broker would have been
available for longer than the round robin lets it wait for a send, when a send went to an isolated broker instead,
or when a send went to it while another broker was available. The first of these is a matter of chance: below one in
ten the guess is corrected, below one in a hundred its band is as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from jobs.fault_latency.inference.fault_item import Write
from jobs.fault_latency.inference.known_route import (
    fewest_queues,
    is_named_since_use,
    most_queues,
    named_throughout,
)
from jobs.fault_latency.inference.producer_process import ProducerProcess
from jobs.fault_latency.inference.tied_writes import Choice, Choices, Tie, choices_after, ties
from jobs.fault_latency.producers.known_routes import ROUTE_AHEAD_MS, ROUTE_LAG_MS
from udfs.evidence import ORDER
from udfs.round_robin import chance_of_none

_UNLIKELY, _OUT_OF_QUESTION = 0.1, 0.01
"""The chance that an available broker is passed by: below it another order is taken, and taken for sure."""

_CHOICES_OF_A_SEND = 3
"""Choices that a send makes with the retries that clients are born with; round robin moves on by each of them."""


class Verdict(NamedTuple):
    """The end that the sends leave, and whether no other is left; of two the later one counts."""

    until_ms: int
    is_sure: bool


def order_proofs(process: ProducerProcess) -> list[Write]:
    """The last of tied writes with the isolation that the sends show, each in place of the write it corrects.

    What is likely and not sure keeps the band of all orders, in `carried_earliest_ms` and `carried_latest_ms`.
    """
    proofs = []
    for tie in ties(process):
        choices = choices_after(tie, process)
        elsewhere = [choice for choice in choices.all if _passes_by(choice, tie, choices)]
        longer = [_starved(tie, elsewhere), _passed_over(tie, elsewhere, process)]
        verdict = max((each for each in longer if each), default=None) or _chosen_early(tie, choices, process)
        if verdict:
            proofs.append(_corrected(tie, verdict))
    return proofs


def _corrected(tie: Tie, verdict: Verdict) -> Write:
    state = tie.last
    return replace(
        state.last_write,
        not_available_ms=max(verdict.until_ms - state.at_ms, 0),
        carried_earliest_ms=None if verdict.is_sure else state.earliest_ms,
        carried_latest_ms=None if verdict.is_sure else state.latest_ms,
        cause=next(end.cause for end in tie.ends if end.until_ms == verdict.until_ms),
        evidence=ORDER,
    )


def _passes_by(choice: Choice, tie: Tie, choices: Choices) -> bool:
    """A choice before the first that came to the broker, whose every possible route had the broker's queues."""
    came_at_ms = choices.came_at_ms
    if choice.at_ms >= tie.last.next_or_far_ms or (came_at_ms is not None and choice.at_ms >= came_at_ms):
        return False
    writable, until_ms = choice.route.writable, choice.at_ms + ROUTE_AHEAD_MS
    return tie.broker_name in named_throughout(writable, choice.at_ms - ROUTE_LAG_MS, until_ms) or is_named_since_use(
        writable, tie.broker_name, choice.used_at_ms, until_ms
    )


def _starved(tie: Tie, elsewhere: Sequence[Choice]) -> Verdict | None:
    """The ends refuted because an available broker would have been sent to: the earliest later end that is not.

    Never for sure for P1 (to 4.7.1), whose retries rename queues, so that a broker may have fewer than its route says,
    nor by topics of which it has fewer queues than a send has choices: retries may pass those by again and again.
    """
    guessed_ms = tie.last.until_ms
    ends_ms = [end_ms for end_ms in tie.ends_ms if end_ms >= guessed_ms]
    refuted = {}
    for end_ms in ends_ms:
        chances = list(_chances(tie, [choice for choice in elsewhere if choice.at_ms > end_ms]))
        if math.prod(chance for chance, _ in chances) < _UNLIKELY:
            refuted[end_ms] = math.prod(chance for chance, is_bound in chances if is_bound)
    if guessed_ms not in refuted:
        return None
    left = (end_ms for end_ms in ends_ms if end_ms not in refuted)
    return Verdict(next(left), max(refuted.values()) < _OUT_OF_QUESTION and tie.last.last_write.profile != "P1")


def _chances(tie: Tie, elsewhere: Sequence[Choice]) -> Iterator[tuple[float, bool]]:
    """Of each topic: the chance that so many choices pass the broker by, and whether retries cannot make it greater."""
    by_topic: dict[str | None, list[Choice]] = {}
    for choice in elsewhere:
        by_topic.setdefault(choice.attempt.topic, []).append(choice)
    for choices in by_topic.values():
        spans = [(each.route, each.at_ms - ROUTE_LAG_MS, each.at_ms + ROUTE_AHEAD_MS) for each in choices]
        own = [fewest_queues(route.broker_counts, tie.broker_name, *span) for route, *span in spans]
        of_topic = [most_queues(route.queue_counts, *span) for route, *span in spans]
        own_queues = min(each for each in own if each is not None)  # the broker is in the routes of each choice
        queues = max(each for each in of_topic if each is not None)
        yield chance_of_none(len(choices), own_queues, queues), own_queues >= _CHOICES_OF_A_SEND


def _passed_over(tie: Tie, elsewhere: Sequence[Choice], process: ProducerProcess) -> Verdict | None:
    """The ends refuted because a send went to an isolated broker instead: the earliest end after the last such send.

    Selection takes an available broker first. Where queues were renamed the fallback does: `pickOneAtLeast` sorts the
    available ones to the front. The other one was isolated in any order of its writes, just before and at the choice.
    """
    seen_at_ms = None
    for choice in elsewhere:
        at_ms, attempt = choice.at_ms, choice.attempt
        other = process.item_before(attempt.went_to, at_ms)
        if attempt.went_to != attempt.addressed_broker or at_ms <= tie.last.until_ms or other is None:
            continue
        was_isolated = other.earliest_ms > at_ms and other.at_ms < at_ms - 1
        if was_isolated and other.next_or_far_ms > at_ms + 1:
            seen_at_ms = at_ms
    if seen_at_ms is None:
        return None
    later = (end_ms for end_ms in tie.ends_ms if end_ms > seen_at_ms)  # the last end is after every choice
    return Verdict(next(later), is_sure=True)


def _chosen_early(tie: Tie, choices: Choices, process: ProducerProcess) -> Verdict | None:
    """The ends refuted because a send went to the broker while another one was available: the latest end before it.

    Selection skips an isolated broker while any other of the topic is available: here one that was so in any order of
    its writes, just before and at the choice. Not for sure when only the routes captured by then had it: the client
    may have known the next one, without it.
    """
    came_at_ms = choices.came_at_ms
    if came_at_ms is None or came_at_ms >= tie.last.until_ms:
        return None
    before = [end_ms for end_ms in tie.ends_ms if end_ms <= came_at_ms]
    if not before:
        return None
    first_here = [each for each in choices.all if each.at_ms == came_at_ms and each.attempt.goes_to(tie.broker_name)]
    for until_ms, is_sure in ((came_at_ms + ROUTE_AHEAD_MS, True), (came_at_ms, False)):
        others = {
            broker_name
            for each in first_here
            for broker_name in named_throughout(each.route.writable, came_at_ms - ROUTE_LAG_MS, until_ms)
            if broker_name != tie.broker_name
        }
        if any(
            all(process.is_surely_available(other, at_ms) for at_ms in (came_at_ms, came_at_ms + 1)) for other in others
        ):
            return Verdict(before[-1], is_sure)
    return None
