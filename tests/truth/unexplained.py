"""What each recording's replay leaves unexplained: every send to a broker held as isolated, and why it is left."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

RENAMED = (
    "it waited for broker-a, which was frozen, while the fallback of the producer's other thread renamed its queue:"
    " the line has broker-a's address and broker-b's name"
)
SEEN_BY_DETECTOR = (
    "the detector found the restarted broker reachable, of which no line tells, before anybody else sent to it"
)


@dataclass(frozen=True)
class Unexplained:
    """One send that no rule of the client explains.

    Attributes:
        client_id: of its producer.
        broker_name: where the line says it went.
        chosen_at: when, in UTC.
        why: what really happened, from the recording.
    """

    client_id: str
    broker_name: str
    chosen_at: str
    why: str


UNEXPLAINED: dict[str, tuple[Unexplained, ...]] = {
    "4.7.1": (Unexplained("127.0.0.1@v4.7.1-shared-on", "broker-b", "00:26:48.098", RENAMED),),
    "4.9.8": (),
    "5.1.3": (),
    "5.1.4": (Unexplained("127.0.0.1@v5.1.4-detector-on", "broker-b", "00:31:45.452", SEEN_BY_DETECTOR),),
    "5.3.3": (),
    "4.9.8-long": (),
    "5.3.3-long": (),
}
"""Each is the first attempt of its send, so `producer_days.contradictions` counts it too."""


def differs(run: str, found: Sequence[tuple[str, ...]], *fields: str) -> str:
    """How the sends that the run leaves unexplained differ from the named ones, in a sentence; empty = they do not.

    Args:
        run: the recording.
        found: each unexplained send by the fields.
        fields: of `Unexplained`.
    """
    return unnamed(run, found, [tuple(getattr(each, name) for name in fields) for each in UNEXPLAINED[run]])


def unnamed(run: str, found: Iterable[tuple[str, ...]], named: Iterable[tuple[str, ...]]) -> str:
    """Which of the run's are not named, and which named ones the run does not have, in a sentence; empty = none.

    >>> unnamed("5.3.3", [("p", "a"), ("q", "a")], [("q", "a"), ("r", "b")])
    'recording 5.3.3: 1 more than UNEXPLAINED names (p a), 1 fewer (r b); look why, then name what is left'
    >>> unnamed("5.3.3", [("p", "a")], [("p", "a")])
    ''
    """
    more, fewer = Counter(found) - Counter(named), Counter(named) - Counter(found)
    names = [", ".join(" ".join(each) for each in sorted(which.elements())) or "-" for which in (more, fewer)]
    told = f"{more.total()} more than UNEXPLAINED names ({names[0]}), {fewer.total()} fewer ({names[1]})"
    return f"recording {run}: {told}; look why, then name what is left" if more or fewer else ""


def where(found: dict[str, Any]) -> list[tuple[str, ...]]:
    """A finding as client, broker and first choice, once for each of its sends."""
    at = dt.datetime.fromtimestamp(found["start_ms"] / 1000, dt.UTC).strftime("%H:%M:%S.%f")[:-3]
    return [(found["client_id"], found["broker_name"], at)] * int(found["sends"])
