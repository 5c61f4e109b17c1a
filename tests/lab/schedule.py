"""What a night will do and when, drawn from a seed."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.lab.deeds import Deed, DeedKind

FIRST_MS = 12_000
PAUSE_MS = 14_000
"""From the end of a deed to the next: isolations of clients from 5.1.4 on last ten seconds after a failure."""
ROUTES_MS = 40_000
"""The same after a deed that changes routes, which clients ask for each 30 s: then they send to the broker again."""
CHANGES_ROUTES = frozenset({
    DeedKind.KILL_BROKER, DeedKind.KILL_ALL_BROKERS, DeedKind.REFUSE_WRITES, DeedKind.NAME_SERVER_AWAY,
})  # fmt: skip
LAST_MS = 20_000
"""From the end of the last deed to the end of the night."""
LENGTHS_S = {
    DeedKind.FREEZE: (5, 8),
    DeedKind.KILL_BROKER: (12, 25),
    DeedKind.KILL_ALL_BROKERS: (4, 6),
    DeedKind.SLOW: (8, 12),
    DeedKind.REFUSE_WRITES: (5, 10),
    DeedKind.NAME_SERVER_AWAY: (8, 15),
    DeedKind.PRODUCER_KILLED: (4, 6),
}
"""For how long; the others happen at once."""
ORDER = tuple(kind for kind in DeedKind if kind not in {DeedKind.PRODUCER_STARTS, DeedKind.PRODUCER_STOPS})


@dataclass(frozen=True)
class Site:
    """Who is there at the start.

    Attributes:
        brokers: names.
        apps: applications that may be killed and come back.
        consumers: instance names by group; at least two in each.
        to_join: names of consumers that may join, by group.
    """

    brokers: Sequence[str]
    apps: Sequence[str]
    consumers: Mapping[str, Sequence[str]]
    to_join: Mapping[str, Sequence[str]]


def schedule(seed: int, minutes: float, site: Site) -> list[Deed]:
    """Deeds in order, their times since the start of the night; none begins before the one before is over.

    Each kind once, in an order drawn, and then again as long as there is time. A kind for which nobody is left is
    skipped: a group keeps one consumer.
    """
    draw = random.Random(seed)
    members = {group: list(names) for group, names in site.consumers.items()}
    waiting = {group: list(names) for group, names in site.to_join.items()}
    end_ms, at_ms = int(minutes * 60_000) - LAST_MS, FIRST_MS
    deeds: list[Deed] = []
    topics = 0
    while True:
        kinds = draw.sample(ORDER, len(ORDER))
        drawn = len(deeds)
        for kind in kinds:
            names = _names(kind, draw, site, members, waiting, topics)
            shortest, longest = LENGTHS_S.get(kind, (0, 0))
            length_ms = draw.randint(shortest * 1_000, longest * 1_000)
            if at_ms + length_ms > end_ms:
                return deeds
            if names:
                topics += kind == DeedKind.NEW_TOPIC
                deeds.append(Deed(kind, names, at_ms, at_ms + length_ms))
                at_ms += length_ms + (ROUTES_MS if kind in CHANGES_ROUTES else PAUSE_MS)
        if drawn == len(deeds):
            return deeds


def _names(
    kind: DeedKind,
    draw: random.Random,
    site: Site,
    members: dict[str, list[str]],
    waiting: dict[str, list[str]],
    topics: int,
) -> tuple[str, ...]:
    """Whom it befalls, perhaps nobody; consumers that come or go are moved between the lists."""
    some_broker = (draw.choice(site.brokers),)
    match kind:
        case DeedKind.KILL_ALL_BROKERS:
            names = tuple(site.brokers)
        case DeedKind.FREEZE if draw.random() < 0.5:
            names = tuple(sorted(draw.sample(site.brokers, 2)))
        case DeedKind.FREEZE | DeedKind.KILL_BROKER | DeedKind.SLOW | DeedKind.REFUSE_WRITES:
            names = some_broker
        case DeedKind.NAME_SERVER_AWAY:
            names = ("namesrv",)
        case DeedKind.NEW_TOPIC:
            names = (f"T_new_{topics + 1}",)
        case DeedKind.PRODUCER_KILLED:
            names = (draw.choice(site.apps),)
        case DeedKind.CONSUMER_JOINS:
            groups = [group for group, waiting_names in waiting.items() if waiting_names]
            group = draw.choice(groups) if groups else None
            names = () if group is None else (waiting[group].pop(0),)
            if group is not None:
                members[group] += names
        case _:
            of_several = [of_group for of_group in members.values() if len(of_group) > 1]
            names = (_gone(draw, draw.choice(of_several)),) if of_several else ()
    return names


def _gone(draw: random.Random, names: list[str]) -> str:
    return names.pop(draw.randrange(len(names)))
