"""What a change of owners costs, and how even an assignment is, worked out by hand."""

from __future__ import annotations

import pytest

from udfs.moves import Owners, broker_skew, imbalance, moves, owners_of
from udfs.strategy import Queue

A0, A1, A2, B0, B1 = QUEUES = [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1)]


def held(text: str, queues: list[Queue] | None = None) -> Owners:
    """Owners of the five queues, a letter each: `-` nobody, and such as `x+y` of two."""
    pairs = zip(queues or QUEUES, text.split(), strict=False)
    return {queue: frozenset(who.split("+")) for queue, who in pairs if who != "-"}


@pytest.mark.parametrize(
    ("before", "after", "queues", "members", "expected"),
    [
        pytest.param("x x y y y", "x x y y y", QUEUES, "xy", (0, 0), id="nothing changed"),
        pytest.param("x x y y y", "y y x x x", QUEUES, "xy", (5, 0), id="all moved, and none had to"),
        pytest.param("x x x x x", "y y z x x", QUEUES, "xyz", (3, 3), id="to those that joined"),
        pytest.param("x x x y y", "y y y y y", QUEUES, "y", (3, 3), id="of one who left"),
        pytest.param("x x x y y", "z z z y y", QUEUES, "yz", (3, 3), id="one who left keeps nothing"),
        pytest.param("- x x y y", "x x x y y", QUEUES, "xy", (0, 0), id="a queue that nobody had does not count"),
        pytest.param("x x x y y", "- x x y y", QUEUES, "xy", (1, 1), id="one that nobody has any more does"),
        pytest.param("x x x y y", "y y - - -", QUEUES[:2], "xy", (2, 0), id="only what the topic still has"),
        pytest.param("x x x y y", "y y x y y", [*QUEUES, A0], "xy", (2, 1), id="each queue once"),
        pytest.param("x+y x+y - - -", "x x y y y", QUEUES, "xy", (2, 0), id="of two owners one keeps it"),
        pytest.param("x x y y -", "y y y x x", QUEUES, "xy", (3, 0), id="what was nobody's is somebody's load"),
        pytest.param("x x x y y", "x x x y y", QUEUES, "y", (0, 0), id="x is not a member, and keeps all"),
        pytest.param("- - - - -", "x x x y y", QUEUES, "xy", (0, 0), id="nobody had anything"),
        pytest.param("x x x x x", "x+y x+y x+y x+y x+y", QUEUES, "xy", (0, 0), id="y has all as well, and x keeps all"),
        pytest.param("x+y x+y - - -", "x x - - -", QUEUES, "x", (0, 0), id="of two owners one left, and nothing else"),
        pytest.param("x+y x+y - - -", "x+z z - - -", QUEUES, "xz", (1, 0), id="and the other one lost one queue"),
        pytest.param("x+y x+y - - -", "z z - - -", QUEUES, "z", (2, 2), id="both left"),
    ],
)
def test_moves(before: str, after: str, queues: list[Queue], members: str, expected: tuple[int, int]) -> None:
    assert moves(held(before), held(after), queues, members) == expected


def test_the_one_with_most_before_is_the_one_with_most_after() -> None:
    """x had four of five and y one; now y has four: x could have stayed with four, and y with one."""
    assert moves(held("x x x x y"), held("y y y y x"), QUEUES, "xy") == (5, 0)
    # Three members: 3, 1 and 1 before, 2, 2 and 1 after: one had to.
    assert moves(held("x x x y z"), held("z z y y x"), QUEUES, "xyz") == (4, 1)


def test_a_client_that_is_gone_does_not_stand_for_one_that_came() -> None:
    """x had three and left: z may take what it likes, but y need not move."""
    assert moves(held("x x x y y"), held("y y y z z"), QUEUES, "yz") == (5, 3)


def test_owners_of_shares() -> None:
    assert owners_of([("x", [A0, A1]), ("y", [A1]), ("z", [])]) == {
        A0: frozenset("x"),
        A1: frozenset("xy"),
    }


@pytest.mark.parametrize(
    ("owners", "members", "expected"),
    [
        ("x x x y y", "xy", 1),
        ("x x x x y", "xyz", 4),  # z has none
        ("x x x x x", "x", 0),
        ("x x x y y", "xxy", 1),  # a second connection is not a second member
        ("x x+y x y y", "xy", 0),  # a queue of two counts for both
        ("x x x y y", "y", 0),  # x is not a member
        ("x x x y y", "", 0),
        ("- - - - -", "xy", 0),
    ],
)
def test_imbalance(owners: str, members: str, expected: int) -> None:
    assert imbalance(held(owners), list(members)) == expected


def test_broker_skew_is_that_of_the_worst_broker() -> None:
    assert broker_skew(held("x y x y y"), ["x", "y"]) == 2  # of a 2 and 1, of b 0 and 2
    assert broker_skew(held("x x x y y"), ["x", "y"]) == 3
    assert broker_skew(held("x x x x x"), ["x", "y"]) == 3  # not the topic's 5
    assert broker_skew({}, ["x", "y"]) == 0
