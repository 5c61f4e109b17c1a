"""One process of a producer in a suspicious stretch of its life: its fault items, the routes it may have known."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from jobs.fault_latency.inference.fault_item import FaultItem, State, Write, WriteRules
from jobs.fault_latency.inference.known_route import KnownRoute, Routes


@dataclass(frozen=True)
class Attempt:
    """A first attempt whose broker the client chose (`MQFaultStrategy.selectOneMessageQueue`).

    Attributes:
        went_to: the broker that the log names.
        addressed_broker: the broker at the address.
        thread: None = not logged.
        chosen_at_ms: when the choice was made.
    """

    topic: str | None
    went_to: str | None
    addressed_broker: str | None
    thread: str | None
    chosen_at_ms: int
    row_hash: int

    def goes_to(self, broker_name: str) -> bool:
        """By its name or by its address."""
        return broker_name in {self.went_to, self.addressed_broker}


@dataclass(frozen=True)
class Knowledge:
    """What holds for every stretch of a process.

    Attributes:
        cluster: in which the topics are.
        routes: of all topics.
        rules: how a write counts.
        written_first: of each broker, when its fault item was written first on the day.
    """

    cluster: str
    routes: Routes
    rules: WriteRules
    written_first: Mapping[str, int]


class ProducerProcess:
    """Fault items from the writes of a stretch, with or without what is inferred.

    A stretch begins when every item is available for sure, so that nothing before it counts but which brokers have one.
    """

    def __init__(self, writes: Sequence[Write], attempts: Iterable[Attempt], knowledge: Knowledge) -> None:
        self.knowledge = knowledge
        self.attempts = sorted(attempts, key=lambda attempt: (attempt.chosen_at_ms, attempt.row_hash))
        self._times = [attempt.chosen_at_ms for attempt in self.attempts]
        self._logged = writes
        of_broker: dict[str, list[Write]] = {}
        for write in writes:
            of_broker.setdefault(write.broker_name, []).append(write)
        self.items = {broker_name: FaultItem(own, knowledge.rules) for broker_name, own in of_broker.items()}

    def with_writes(self, inferred: Sequence[Write]) -> ProducerProcess:
        """The same with these writes, each in place of the logged one whose position it has."""
        replaced = {(write.broker_name, write.first_position) for write in inferred}
        stay = [write for write in self._logged if (write.broker_name, write.first_position) not in replaced]
        return ProducerProcess([*stay, *inferred], self.attempts, self.knowledge)

    def route_of(self, topic: str | None) -> KnownRoute | None:
        """What is known of the topic's routes; None = nothing."""
        return None if topic is None else self.knowledge.routes.get((self.knowledge.cluster, topic))

    def item_before(self, broker_name: str | None, at_ms: int) -> State | None:
        """The broker's item as its last write strictly before that moment left it; None = no write in the stretch."""
        item = None if broker_name is None else self.items.get(broker_name)
        return None if item is None else item.before(at_ms)

    def is_surely_available(self, broker_name: str, at_ms: int) -> bool:
        """Whether it has a fault item that no order of tied writes leaves isolated."""
        state = self.item_before(broker_name, at_ms)
        return self.was_written_before(broker_name, at_ms) if state is None else state.latest_ms < at_ms

    def was_written_before(self, broker_name: str, at_ms: int) -> bool:
        """Whether its fault item was there before that moment, whether in this stretch or before it."""
        first_ms = self.knowledge.written_first.get(broker_name)
        return first_ms is not None and first_ms < at_ms

    def lets_last_write_win(self, write: Write) -> bool:
        """To 5.1.3: the item is as its latest write left it."""
        return write.policy not in self.knowledge.rules.keeps_latest

    def chosen_within(self, after_ms: int, until_ms: int) -> list[Attempt]:
        """The attempts chosen in (`after_ms`, `until_ms`]."""
        return self.attempts[bisect_right(self._times, after_ms) : bisect_right(self._times, until_ms)]
