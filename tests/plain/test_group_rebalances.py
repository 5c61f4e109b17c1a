"""What changes moved, by which view, and how other strategies would have done."""

from __future__ import annotations

import dataclasses

import pytest

from jobs.allocation.group.comparison import comparison
from jobs.allocation.group.inputs import Input
from jobs.allocation.group.known import MemberList
from jobs.allocation.group.rebalances import of_one_view, rebalances
from jobs.allocation.group.shares import Allocated, allocated
from jobs.settings.consumer_groups import GroupSettings
from udfs.shares import shares_of_group
from udfs.strategy import Queue, Strategy

AVG = (("*", Strategy("AVG")),)
FOUR = tuple(("a", number) for number in range(4))


def _input(
    ids: str, start_ms: int, end_ms: int, *, queues: tuple[Queue, ...] = FOUR, view: str | None = None,
    strategy: str = "AVG", topic: str = "T",
) -> Input:  # fmt: skip
    return Input(topic, view, queues, tuple(ids), 1, start_ms, end_ms, strategies=AVG, strategy=strategy)


def _triggers(*inputs: Input) -> list[tuple[str, str, str, int, int]]:
    """Trigger, who joined, who left, moved, the fewest moves."""
    return [
        (each.trigger, "".join(each.joined), "".join(each.left), each.moved, each.fewest_moves)
        for each in rebalances(allocated(inputs))
    ]


@pytest.mark.parametrize(("before", "after", "expected"), [
    ("x", "xy", ("JOINED", "y", "", 2, 2)),
    ("xy", "x", ("LEFT", "", "y", 2, 2)),
    ("xy", "xz", ("JOINED_AND_LEFT", "z", "y", 2, 2)),
    ("x", "xx", ("JOINED", "", "", 2, 2)),
    ("xxx", "xyz", ("LEFT", "yz", "", 2, 2)),
])  # fmt: skip
def test_a_change_of_members(before: str, after: str, expected: tuple[str, str, str, int, int]) -> None:
    assert [row[:3] for row in _triggers(_input(before, 0, 10), _input(after, 10, 20))] == [expected[:3]]


def test_what_it_moves() -> None:
    assert _triggers(_input("xz", 0, 10), _input("xyz", 10, 20)) == [("JOINED", "y", "", 1, 1)]
    assert _triggers(_input("yz", 0, 10), _input("xyz", 10, 20)) == [("JOINED", "x", "", 3, 1)]


def test_a_change_of_queues() -> None:
    assert _triggers(_input("xy", 0, 10, queues=FOUR[:2]), _input("xy", 10, 20)) == [("QUEUES", "", "", 1, 0)]
    both = _input("x", 0, 10, queues=FOUR[:2]), _input("xy", 10, 20)
    assert [row[:3] for row in _triggers(*both)] == [("MEMBERS_AND_QUEUES", "y", "")]
    assert _triggers(_input("xy", 0, 10, queues=FOUR[::-1]), _input("xy", 10, 20)) == []


def test_a_change_of_the_view_wins_over_other_triggers() -> None:
    assert [row[0] for row in _triggers(_input("x", 0, 10), _input("xy", 10, 20, view="a"))] == ["VIEW"]


def test_a_member_that_left_every_list_has_left_whosever_list_counts_then() -> None:
    """Broker a drops y first, b ten seconds later; from then on all agree."""
    lists = [
        MemberList(broker, tuple(ids), start_ms, end_ms, start_ms)
        for broker, ids, start_ms, end_ms in (
            ("a", "xy", 0, 10),
            ("a", "x", 10, 99),
            ("b", "xy", 0, 20),
            ("b", "x", 20, 99),
        )
    ]
    history = _input("xy", 0, 10), _input("x", 10, 20, view="a"), _input("x", 20, 99)
    found = rebalances(allocated(history), lists)
    assert [(each.trigger, each.changed_at_ms, each.left) for each in found] == [
        ("VIEW", 10, ("y",)), ("LEFT", 20, ("y",)),
    ]  # fmt: skip


@pytest.mark.parametrize(("start_ms", "count"), [(1_010, 1), (1_011, 0)])
def test_a_pause_of_more_than_a_round_is_not_a_change(start_ms: int, count: int) -> None:
    assert len(_triggers(_input("x", 0, 10), _input("xy", start_ms, 9_000))) == count


def test_other_topics_are_other_histories() -> None:
    assert _triggers(_input("x", 0, 10), _input("xy", 10, 20, topic="U")) == []


def test_one_view_is_the_first_brokers_where_it_lasts() -> None:
    rows = [
        Allocated(_input("x", start, end, view=view), ())
        for start, end, view in [(0, 5_000, None), (5_000, 9_000, "b"), (5_000, 9_000, "a"), (9_000, 10_000, "a")]
    ]
    assert of_one_view(rows) == [rows[0], rows[2]]
    assert of_one_view(rows[1:2]) == rows[1:2]


def _one_view(*views: tuple[str | None, int, int]) -> list[tuple[str | None, int, int]]:
    """The views that count: broker, from, until."""
    rows = of_one_view([Allocated(_input("x", start_ms, end_ms, view=view), ()) for view, start_ms, end_ms in views])
    return [(row.input.view_broker_name, row.start_ms, row.end_ms) for row in rows]


def test_one_view_is_at_each_time_that_of_the_first_broker_then() -> None:
    agreed = None, 5_000, 9_000
    assert _one_view(("a", 0, 5_000), ("b", 0, 5_000), agreed, ("c", 9_000, 12_000), ("b", 9_000, 12_000)) == [
        ("a", 0, 5_000), agreed, ("b", 9_000, 12_000)
    ]  # fmt: skip
    assert _one_view(("b", 0, 9_000), ("a", 3_000, 6_000)) == [
        ("b", 0, 3_000), ("a", 3_000, 6_000), ("b", 6_000, 9_000)
    ]  # fmt: skip
    assert _one_view(("b", 0, 9_000), ("a", 3_000, 4_000), ("c", 6_000, 7_000)) == [
        ("b", 0, 3_000),
        ("b", 4_000, 9_000),
    ]


def test_each_topic_has_a_view_of_its_own() -> None:
    """Topic U is on broker b alone: what stands there counts, though T has an earlier name's."""
    t, u = _input("x", 0, 5_000, view="a"), _input("x", 0, 5_000, view="b", topic="U")
    rows = [Allocated(t, ()), Allocated(u, ())]
    assert of_one_view(rows) == rows


def test_each_strategy_over_the_same_day() -> None:
    today = [_input("xy", 0, 30, queues=FOUR[:3]), _input("xyz", 30, 40, queues=FOUR[:3])]
    of = {row.strategy: row for row in comparison(today, [], None, shares_of_group)}
    assert sorted(of) == ["AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"]
    own, circle = of["AVG"], of["AVG_BY_CIRCLE"]
    assert (own.is_own, circle.is_own) == (True, False)
    assert (own.rebalances, own.moves, own.fewest_moves) == (1, 2, 1)  # xxy, xyz
    assert (circle.moves, circle.fewest_moves) == (1, 1)  # xyx, xyz
    assert (own.imbalance_max, own.imbalance_mean, own.broker_skew, own.unassigned_max) == (1, 0.75, 1, 0)


def test_what_stood_at_midnight_counts_as_what_changed_then_and_nothing_else() -> None:
    (row,) = (
        each
        for each in comparison([_input("xy", 10, 20)], [_input("x", 0, 10)], None, shares_of_group)
        if each.strategy == "AVG"
    )
    assert (row.rebalances, row.moves, row.imbalance_max) == (1, 2, 0)
    assert comparison([], [_input("x", 0, 10)], None, shares_of_group) == []


def _compared(strategy: str, configured: GroupSettings | None = None) -> dict[str, bool]:
    """Strategies, and whether each is the group's own."""
    rows = comparison([_input("x", 0, 10, strategy=strategy)], [], configured, shares_of_group)
    return {row.strategy: row.is_own for row in rows}


def test_who_broadcasts_is_left_out_and_what_the_broker_assigns_is_compared_without_its_own() -> None:
    everywhere = {"AVG": False, "AVG_BY_CIRCLE": False, "CONSISTENT_HASH": False}
    assert _compared("BROADCASTING") == {}
    assert _compared("POP:AVG") == _compared("BROKER:CONFIG") == everywhere
    assert _compared("MIXED") == everywhere | {"MIXED": True}


def test_a_group_whose_members_strategies_change_is_one_history_of_its_own() -> None:
    """y, which allocates by circle, joins x: what each member does, and all of them by each strategy."""
    of_y = (*AVG, ("y", Strategy("AVG_BY_CIRCLE")))
    today = [
        dataclasses.replace(each, strategies=of_y)
        for each in (_input("x", 0, 10), _input("xy", 10, 20, strategy="MIXED"), _input("x", 20, 30))
    ]
    rows = comparison(today[1:], today[:1], None, shares_of_group)
    assert [(row.strategy, row.is_own, row.rebalances, row.moves) for row in rows[:-1]] == [
        ("MIXED", True, 2, 3), ("AVG", False, 2, 4), ("AVG_BY_CIRCLE", False, 2, 4)
    ]  # fmt: skip
    assert (rows[-1].strategy, rows[-1].is_own, rows[-1].rebalances) == ("CONSISTENT_HASH", False, 2)


def test_the_groups_own_strategy_is_that_of_its_members() -> None:
    """While there are none, that of all clients: x is the only one that came."""
    nobody = _input("", 0, 10, strategy="MIXED")
    (own,) = (row for row in comparison([nobody, _input("x", 10, 20)], [], None, shares_of_group) if row.is_own)
    assert own.strategy == "AVG"
    (own,) = (row for row in comparison([nobody], [], None, shares_of_group) if row.is_own)
    assert own.strategy == "MIXED"
    one_after_the_other = [_input("x", 0, 10), _input("y", 10, 20, strategy="AVG_BY_CIRCLE")]
    (own,) = (row for row in comparison(one_after_the_other, [], None, shares_of_group) if row.is_own)
    assert own.strategy == "MIXED"


def test_a_group_of_which_some_pop_is_compared_without_its_own_but_for_what_it_retries() -> None:
    some_pop = (*AVG, ("y", Strategy("POP:AVG")))
    today = [dataclasses.replace(_input("xy", 0, 10, strategy="MIXED", topic=topic), strategies=some_pop)
             for topic in ("T", "%RETRY%g")]  # fmt: skip
    rows = comparison(today, [], None, shares_of_group)
    assert [(row.topic, row.strategy) for row in rows if row.is_own] == [("%RETRY%g", "MIXED")]
    assert {row.strategy for row in rows if row.topic == "T"} == {"AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"}


def test_of_a_group_that_broadcast_for_a_while_the_rest_is_compared() -> None:
    today = [_input("x", 0, 10, strategy="BROADCASTING"), _input("x", 10, 20)]
    assert {row.strategy for row in comparison(today, [], None, shares_of_group)} == {
        "AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"
    }  # fmt: skip


def test_a_room_is_near_by_the_patterns_of_brokers_and_of_clients() -> None:
    """A client takes the queues of the broker in its own room, whatever their number."""
    rooms = GroupSettings(broker_room="^(.)", client_room="^(.)")
    queues = (("a", 0), ("a", 1), ("a", 2), ("b", 0))
    today = [_input("ab", 0, 10, queues=queues)]
    (nearby,) = (each for each in comparison(today, [], rooms, shares_of_group) if each.strategy.startswith("MACHINE"))
    assert (nearby.strategy, nearby.imbalance_max) == ("MACHINE_ROOM_NEARBY-AVG", 2)


def test_rooms_that_settings_name_are_tried() -> None:
    rooms = GroupSettings(machine_rooms=("A",), broker_room="^(a)", virtual_nodes=3)
    assert set(_compared("AVG", rooms)) == {
        "AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "MACHINE_ROOM", "MACHINE_ROOM_NEARBY-AVG"
    }  # fmt: skip
