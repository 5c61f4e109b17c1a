"""Each inference in its smallest case, and its near misses: what the log shows, and what is inferred from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.given.suspicious_processes import Answer, Suspicious, attempts_at, write_to
from udfs.evidence import RETRY_CHARGED

ALWAYS_ABC = Answer(0, 1_000_000, "abc", 2)
ALWAYS_ABCD = Answer(0, 1_000_000, "abcd", 2)
A_LEFT = (Answer(0, 90_000, "abc", 2), Answer(90_000, 1_000_000, "bc", 2))

MIDDLE: dict[str, tuple[tuple[Answer, ...], int | None, list[str]]] = {
    "the third broker was tried in between": ((ALWAYS_ABC,), None, ["b"]),
    "one of two, and nobody knows which": ((ALWAYS_ABCD,), None, []),
    "one of two, of which one was isolated": ((ALWAYS_ABCD,), 70_000, ["d"]),
    "it was isolated, so it was not tried": ((ALWAYS_ABC,), 70_000, []),
    "there is no third broker": ((Answer(0, 1_000_000, "ac", 2),), None, []),
    "the client may not know it": ((Answer(0, 80_000, "ac", 2), Answer(80_000, 1_000_000, "abc", 2)), None, []),
    "no route yet": ((Answer(200_000, 1_000_000, "abc", 2),), None, []),
}
"""Routes, when b was isolated before, and the brokers between a failure at a and one at c."""
BEFORE: dict[str, tuple[str, tuple[int, ...], tuple[tuple[int, int, int], ...], list[int]]] = {
    "the first one isolated it": ("P2", (100_000, 160_000), (), [100_000]),
    "for ten minutes": ("P2", (100_000, 701_000), (), [100_000, 701_000]),
    "a later write cleared it": ("P2", (100_000, 160_000), ((150_000, 5, 0),), [100_000, 160_000]),
    "one before it did not": ("P2", (100_000, 160_000), ((90_000, 5, 0),), [100_000]),
    "the last for ten seconds": ("P5", (100_000, 105_000, 110_001), (), [100_000, 110_001]),
    "where the latest end stays": ("P5", (100_000, 105_000), ((102_000, 5, 0),), [100_000]),
    "another order leaves it isolated": ("P2", (160_000,), ((100_000, 0, 600_000), (100_001, 5, 0)), []),
}
"""Policy, when c failed after a, what was written of b, and when b was in the middle."""
CHARGED: dict[str, tuple[str, str, str | None, list[str]]] = {
    "to 4.7.1 the last broker again": ("P1", "abc", None, ["c"]),
    "to 4.7.1, of four": ("P1", "abcd", None, ["c"]),
    "to 4.7.1 another one was isolated": ("P1", "abc", "b", ["c"]),
    "to 4.7.1 the last one was isolated": ("P1", "abc", "c", []),
    "from 4.8.0 one of two": ("P2", "abc", None, []),
    "from 4.8.0 another one was isolated": ("P2", "abc", "b", ["c"]),
    "from 4.8.0 there is no other": ("P2", "ac", None, ["c"]),
    "from 4.8.0 the last one was isolated": ("P2", "abc", "c", []),
    "from 4.8.0 the client may not know the last one": ("P2", "ab", None, []),
}
"""Profile, brokers of the route, which was isolated before, and which is charged between a and a refusal at c."""
NO_ADDRESS = {"abc": ["b", "c"], "ab": ["b"], "abcd": [], "a": []}
"""Brokers of the route, and those that a failure at a without another address hides."""

Item = tuple[str, int, int, int]
"""Broker, when it was written, latency and isolation, all in ms."""
ALL_ISOLATED: tuple[Item, ...] = (("a", 60_000, 5, 600_000), ("b", 61_000, 50, 600_000), ("c", 62_000, 90, 600_000))
REMOVES: dict[str, tuple[tuple[Item, ...], list[tuple[str, int]], tuple[Answer, ...], list[tuple[str, int]]]] = {
    "the pick is gone": (ALL_ISOLATED, [("b", 100_000), ("b", 100_500)], A_LEFT, [("a", 100_000)]),
    "the send went to the pick": (ALL_ISOLATED, [("a", 100_000)], A_LEFT, []),
    "the pick has its queues": (ALL_ISOLATED, [("b", 100_000)], (ALWAYS_ABC,), []),
    "a broker of the route is not isolated": (ALL_ISOLATED[:2], [("b", 100_000)], A_LEFT, []),
    "a millisecond of latency decides nothing": (
        (("a", 60_000, 49, 600_000), *ALL_ISOLATED[1:]),
        [("b", 100_000)],
        A_LEFT,
        [],
    ),
    "of four items the pick is not certain": (
        (*ALL_ISOLATED, ("d", 63_000, 99, 600_000)),
        [("b", 100_000)],
        A_LEFT,
        [],
    ),
    "one is available": ((*ALL_ISOLATED, ("c", 99_000, 3, 0)), [("b", 100_000)], A_LEFT, []),
    "one may be available": ((*ALL_ISOLATED, ("c", 62_001, 95, 0)), [("b", 100_000)], A_LEFT, []),
    "for some time it was not certain": (
        (*ALL_ISOLATED, ("c", 62_001, 95, 0), ("c", 100_200, 90, 600_000)),
        [("b", 100_000), ("b", 100_500)],
        A_LEFT,
        [("a", 100_500)],
    ),
}
"""Items, sends, routes, and what was removed when."""
PERHAPS = {
    "a millisecond of latency decides nothing": [("a", 100_000)],
    "one may be available": [("a", 100_000)],
    "for some time it was not certain": [("a", 100_000)],
}
"""What may have been removed, and from when on it may be gone."""
READ_ONLY = {"4.9.8": ["a"], "V4_9_8": ["a"], "4.9.7": [], "5.1.3": [], None: []}
"""Versions, and what they remove when broker a may no longer be written to."""

ISOLATED_THEN_CLEARED: tuple[Item, ...] = (("a", 100_000, 0, 60_000), ("a", 100_001, 5, 0), ("b", 50_000, 5, 0))
CLEARED_THEN_ISOLATED: tuple[Item, ...] = (("a", 100_000, 5, 0), ("a", 100_001, 0, 60_000), ("b", 50_000, 5, 0))
ELSEWHERE = [("b", 100_010 + 10 * number) for number in range(14)]
Order = tuple[tuple[Item, ...], list[tuple[str, int]], list[int]]
ORDERS: dict[str, Order] = {
    "6 sends, 6 queues: all may go elsewhere": (ISOLATED_THEN_CLEARED, ELSEWHERE[:6], []),
    "a was sent to": (ISOLATED_THEN_CLEARED, [("a", 100_005), *ELSEWHERE], []),
    "14 sends, none to a: still isolated": (ISOLATED_THEN_CLEARED, ELSEWHERE, [59_999]),
    "sent to while b was available: cleared": (CLEARED_THEN_ISOLATED, [("a", 100_050)], [0]),
    "the send that cleared it was chosen before": (
        (*CLEARED_THEN_ISOLATED, ("a", 100_050, 5, 0)),
        [("a", 100_050)],
        [0],
    ),
    "another write had cleared it": ((*CLEARED_THEN_ISOLATED, ("a", 100_049, 5, 0)), [("a", 100_050)], []),
    "skipped, as an isolated broker is": (CLEARED_THEN_ISOLATED, [("b", 100_050)], []),
    "b was isolated as well": ((*CLEARED_THEN_ISOLATED[:2], ("b", 90_000, 0, 60_000)), [("a", 100_050)], []),
    "passed over for an isolated one: still isolated": (
        (*ISOLATED_THEN_CLEARED[:2], ("b", 90_000, 0, 60_000)),
        [("b", 100_050)],
        [59_999],
    ),
    "the other one was isolated just as it was chosen": (
        (*ISOLATED_THEN_CLEARED[:2], ("b", 100_049, 0, 60_000)),
        [("b", 100_050)],
        [],
    ),
    "2 ms apart": ((("a", 100_000, 0, 60_000), ("a", 100_002, 5, 0)), ELSEWHERE, []),
    "one thread has an order": ((("a", 100_000, 0, 60_000), ("a", 100_001, 5, 0)), ELSEWHERE, []),
}
"""Items, sends, and for how long a is isolated after all."""
MANY = [("b", 100_010 + 10 * number) for number in range(24)]
FOURS = Answer(0, 1_000_000, "abc", 4)
LATE_A = (Answer(0, 1_000_000, "bc", 4), Answer(90_000, 1_000_000, "a", 4))
LIKELY: dict[str, tuple[list[tuple[str, int]], tuple[Answer, ...], str, list[int | None]]] = {
    "24 sends: the band says it too": (MANY, (FOURS,), "P2", [None]),
    "12 sends: less than one in ten": (MANY[:12], (FOURS,), "P2", [100_001]),
    "10 sends: not even that": (MANY[:10], (FOURS,), "P2", []),
    "to 4.7.1 retries rename queues": (MANY, (FOURS,), "P1", [100_001]),
    "retries may pass by a broker of two queues": (MANY, (ALWAYS_ABC,), "P2", [100_001]),
    "a came into the route of late": (MANY, LATE_A, "P2", []),
    "the client had sent to it there": ([("a", 95_000), *MANY], LATE_A, "P2", [None]),
    "or by the route before": ([("a", 95_000), *MANY], (Answer(0, 60_000, "a", 4), *LATE_A), "P2", []),
    "more queues elsewhere": (MANY, (Answer(0, 1_000_000, "a", 4), Answer(0, 1_000_000, "bc", 16)), "P2", []),
}
"""Sends after a was perhaps cleared, routes, policy, and the earliest end of what is inferred after all."""


def middle_cases() -> Iterator[tuple[str, Suspicious]]:
    """Those of MIDDLE, BEFORE, CHARGED and NO_ADDRESS by name."""
    lost: dict[str, Any] = {"middle_topic": "T", "middle_after": "a"}
    for case, (answers, isolated_at, _) in MIDDLE.items():
        before = [write_to("b", isolated_at, 500, 60_000)] if isolated_at else []
        yield case, Suspicious([write_to("c", 100_000, 0, 600_000, **lost), *before], [], answers)
    for case, (policy, failures_at, known, _) in BEFORE.items():
        rules: dict[str, Any] = {"policy": policy, "profile": policy}
        lasts = 600_000 if policy == "P2" else 10_000
        failures = [write_to("c", at_ms, 0, lasts, **lost, **rules) for at_ms in failures_at]
        yield case, Suspicious([*failures, *(write_to("b", *each, **rules) for each in known)], [], (ALWAYS_ABC,))
    for case, (profile, brokers, isolated, _) in CHARGED.items():
        refused: dict[str, Any] = {"middle_topic": "T", "middle_after": "c", "evidence": RETRY_CHARGED}
        charged = write_to("a", 100_000, 3_000, 600_000, **refused, policy=profile, profile=profile)
        before = [write_to(isolated, 70_000, 500, 60_000, policy=profile, profile=profile)] if isolated else []
        yield case, Suspicious([charged, *before], [], (Answer(0, 1_000_000, brokers, 2),))
    for case in NO_ADDRESS:
        yield case, Suspicious([write_to("a", 100_000, 0, 600_000, **lost)], [], (Answer(0, 1_000_000, case, 2),))


def remove_cases() -> Iterator[tuple[str, Suspicious]]:
    """Those of REMOVES and READ_ONLY by name."""
    for case, (items, sends, answers, _) in REMOVES.items():
        yield case, Suspicious([write_to(*item) for item in items], attempts_at(sends), answers)
    read_only = (Answer(0, 90_000, "a", 2), Answer(90_000, 1_000_000, "a", 2, 4), Answer(0, 1_000_000, "bc", 2))
    for version in READ_ONLY:
        writes = [write_to(*item, version=version) for item in ALL_ISOLATED]
        yield str(version), Suspicious(writes, attempts_at([("b", 200_000)]), read_only)


def order_cases() -> Iterator[tuple[str, Suspicious]]:
    """Those of ORDERS and LIKELY by name."""
    for case, (items, sends, _) in ORDERS.items():
        of_one: dict[str, Any] = {"thread": "t"} if case == "one thread has an order" else {}
        yield case, Suspicious([write_to(*item, **of_one) for item in items], attempts_at(sends), (ALWAYS_ABC,))
    for case, (sends, answers, policy, _) in LIKELY.items():
        writes = [write_to(*item, policy=policy, profile=policy) for item in ISOLATED_THEN_CLEARED]
        yield case, Suspicious(writes, attempts_at(sends), answers)
