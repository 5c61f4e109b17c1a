"""Groups on the page: which are the most troubled, what is drawn of them, and what is left out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from jobs.answers.gantt import Bar, bar_trace, in_lanes, interval_words, lanes, merged
from jobs.answers.groups import (
    MOST_BARS,
    MOST_CHANGES,
    MOST_DRAWN,
    MOST_FINDINGS,
    MOST_GROUPS,
    MOST_QUEUES,
    NOBODY,
    Groups,
    Ownership,
    consumer_groups,
    owner_hover,
    rebalance_hover,
)
from jobs.answers.moved_queues import Move
from jobs.answers.published import open_published
from jobs.answers.report import render
from jobs.tables import ALLOCATION_FINDINGS, QUEUE_ALLOCATION, QUEUE_OWNERSHIP, REBALANCES, Table
from tests.given.hostile_night import NIGHT, START, owned
from tests.given.lakes import publish, write_rows

Row = dict[str, Any]
WHERE = {"event_date": NIGHT, "cluster": "main"}


def fault(from_ms: int, until_ms: int, queue_id: int | None = 0, **other: object) -> Row:
    return {
        **WHERE, "consumer_group": "g", "topic": "T", "broker_name": "a", "queue_id": queue_id, "kind": "UNASSIGNED",
        "cause": "UNEXPLAINED", "basis": "OBSERVED", "start_ms": START + from_ms,
        "end_ms": START + until_ms, "sentence": "s", **other,
    }  # fmt: skip


def change(at_ms: int, moved: int = 1, **other: object) -> Row:
    return {
        **WHERE, "consumer_group": "g", "topic": "T", "changed_at_ms": START + at_ms, "trigger": "JOINED",
        "joined": ["x"], "left": [], "queues": 9, "moved": moved, "fewest_moves": 1, **other,
    }  # fmt: skip


def groups_of(folder: Path, **rows: list[Row]) -> Groups:
    tables: dict[str, Table] = {
        each.name: each for each in (ALLOCATION_FINDINGS, QUEUE_ALLOCATION, QUEUE_OWNERSHIP, REBALANCES)
    }
    publish(folder, NIGHT)
    for name, told in rows.items():
        write_rows(folder, tables[name], told)
    return consumer_groups(open_published(str(folder), None, None, None))


def test_the_most_troubled_come_first(tmp_path: Path) -> None:
    """By time × queues at fault, then queues moved, then findings, then name."""
    found = groups_of(
        tmp_path,
        allocation_findings=[
            fault(0, 100, consumer_group="long"),
            fault(0, 60, consumer_group="two queues"),
            fault(0, 60, 1, consumer_group="two queues"),
            fault(0, 99, kind="FLAPPING", queue_id=None, topic=None, broker_name=None, consumer_group="flaps"),
            fault(0, 99, consumer_group=None, kind="TOPIC_WITHOUT_ROUTE"),
        ],
        rebalances=[change(0, 3, consumer_group="moves"), change(9, 2, consumer_group="moves", fewest_moves=0)],
        queue_allocation=[
            WHERE | {"consumer_group": each, "topic": "T", "broker_name": "a", "client_id": "x"} for each in ("b", "a")
        ],
    )
    assert [(each.consumer_group, each.fault_ms, each.moved, each.findings) for each in found.groups] == [
        ("two queues", 120, 0, 2),
        ("long", 100, 0, 1),
        ("moves", 0, 5, 0),
        ("flaps", 0, 0, 1),
        ("a", 0, 0, 0),
        ("b", 0, 0, 0),
    ]
    moves = found.groups[2]
    assert (moves.rebalances, moves.needed) == (2, 1)
    assert {each.consumer_group for each in found.findings} == {"long", "two queues", "flaps", None}


@pytest.mark.parametrize(
    ("faults", "fault_ms"),
    [
        ([fault(0, 10), fault(20, 30)], 20),
        ([fault(0, 10), fault(5, 30)], 30),
        ([fault(0, 30), fault(5, 10)], 30),
        ([fault(0, 30), fault(5, 10), fault(20, 40)], 40),
        ([fault(0, 10), fault(0, 10, topic="U")], 20),
        ([fault(0, 10), fault(0, 10, broker_name="b")], 20),
        ([fault(0, 10), fault(0, 10, kind="DOUBLY_OWNED"), fault(0, 11, kind="AGAINST_STRATEGY")], 11),
        ([fault(0, 10, kind="IDLE_CLIENT")], 0),
    ],
)
def test_a_queue_with_several_faults_at_a_time_counts_once(tmp_path: Path, faults: list[Row], fault_ms: int) -> None:
    (group,) = groups_of(tmp_path, allocation_findings=faults).groups
    assert group.fault_ms == fault_ms


def test_findings_of_one_kind_and_cause_are_told_by_the_longest(tmp_path: Path) -> None:
    found = groups_of(
        tmp_path,
        allocation_findings=[
            fault(50, 60, sentence="short"),
            fault(70, 100, sentence="as long"),
            fault(80, 110, 1, sentence="long"),
            fault(0, 40, cause="VIEWS_DIFFER", sentence="another cause"),
            fault(0, 25, kind="DOUBLY_OWNED", sentence="another kind"),
            fault(0, 20, consumer_group="h", sentence="another group"),
        ],
    )
    told = [(each.sentence, each.count, each.first_ms - START, each.longest_ms) for each in found.findings]
    assert told == [
        ("another cause", 1, 0, 40),
        ("long", 3, 50, 30),
        ("another kind", 1, 0, 25),
        ("another group", 1, 0, 20),
    ]


def test_what_is_beyond_the_most_is_named(tmp_path: Path) -> None:
    found = groups_of(
        tmp_path,
        allocation_findings=[
            fault(0, 1 + number, consumer_group=f"g{number:03d}") for number in range(MOST_FINDINGS + 1)
        ],
        queue_ownership=[owned(0, "x", 0, 9, consumer_group=f"g{number:03d}") for number in range(MOST_FINDINGS + 1)],
    )
    assert (len(found.groups), len(found.findings), len(found.ownership)) == (MOST_GROUPS, MOST_FINDINGS, MOST_DRAWN)
    assert found.groups[0].consumer_group == f"g{MOST_FINDINGS}"
    assert found.not_drawn == (
        "who owned the queues of 195 groups with less trouble",
        "151 groups beyond the 50 with most trouble",
        "1 kind of findings about groups, the shortest ones",
    )


def test_as_many_as_may_be_are_all_told(tmp_path: Path) -> None:
    rows = [fault(0, 1, consumer_group=f"g{number}") for number in range(MOST_DRAWN)]
    assert groups_of(tmp_path, allocation_findings=rows).not_drawn == ()


def test_as_many_groups_as_may_be_are_all_told(tmp_path: Path) -> None:
    rows = [fault(0, 1, consumer_group=f"g{number}") for number in range(MOST_GROUPS)]
    found = groups_of(tmp_path, allocation_findings=rows)
    assert found.not_drawn == (f"who owned the queues of {MOST_GROUPS - MOST_DRAWN} groups with less trouble",)


def one(folder: Path, **rows: list[Row]) -> Ownership:
    (found,) = groups_of(
        folder, queue_allocation=[WHERE | {"consumer_group": "g", "topic": "T", "broker_name": "a"}], **rows
    ).ownership
    return found


def test_logs_tell_better_than_answers(tmp_path: Path) -> None:
    both = one(tmp_path, queue_ownership=[owned(0, "log", 0, 9), owned(0, "answer", 0, 9, source="RUNNING_INFO")])
    assert (both.known_from, [bar.kind for bar in both.bars]) == ("who held them, by the clients' logs", ["log"])


def test_answers_tell_better_than_the_strategy(tmp_path: Path) -> None:
    told = one(tmp_path, queue_ownership=[owned(0, "answer", 0, 9, source="RUNNING_INFO")])
    assert (told.known_from, [bar.kind for bar in told.bars]) == ("who held them, by the clients' answers", ["answer"])


def test_queues_stand_by_topic_and_retry_topics_last(tmp_path: Path) -> None:
    rows = [
        owned(1, "x", 0, 9), owned(0, "x", 0, 9), owned(0, "x", 0, 9, topic="%RETRY%g"),
        owned(0, "x", 0, 9, broker_name="b"), owned(0, "x", 0, 9, topic="A"),
    ]  # fmt: skip
    found = one(tmp_path, queue_ownership=rows)
    assert found.queues == (
        ("A", "broker-a", 0), ("T", "b", 0), ("T", "broker-a", 0), ("T", "broker-a", 1), ("%RETRY%g", "broker-a", 0),
    )  # fmt: skip
    assert min((bar.row, bar.start_ms, bar.end_ms) for bar in found.bars) == (0, START, START + 9_000)


def test_the_queues_whose_owner_changed_least_are_left_out(tmp_path: Path) -> None:
    often = [owned(MOST_QUEUES + 1, client, start, start + 1) for start, client in enumerate("xyx")]
    rows = [owned(number, "x", 0, 9) for number in range(MOST_QUEUES + 1)]
    found = one(tmp_path, queue_ownership=[*rows, *often])
    assert len(found.queues) == MOST_QUEUES
    assert [queue[2] for queue in found.queues] == [*range(MOST_QUEUES - 1), MOST_QUEUES + 1]
    assert found.not_drawn == ("2 queues of group g whose owner changed least",)


def test_intervals_that_are_drawn_as_one_bar_are_counted(tmp_path: Path) -> None:
    turns = [owned(0, "xy"[second % 2], second, second + 1) for second in range(MOST_BARS + 1)]
    assert one(tmp_path, queue_ownership=turns).not_drawn == (
        "601 intervals of queue_ownership of group g are drawn as 1 bar",
    )


def test_rebalances_that_moved_most_come_first(tmp_path: Path) -> None:
    most = [change(100 + number, 5) for number in range(MOST_CHANGES)]
    first = [change(9, 7), change(8, 6), change(7, 6, topic="U"), change(7, 6)]
    found = one(tmp_path, rebalances=[*most, *first, change(0, 99, consumer_group="h")])
    told = [(each["moved"], each["changed_at_ms"] - START, each["topic"]) for each in found.rebalances]
    assert told[:5] == [(7, 9, "T"), (6, 7, "T"), (6, 7, "U"), (6, 8, "T"), (5, 100, "T")]
    assert len(told) == MOST_CHANGES
    assert found.not_drawn == ("4 rebalances of group g beyond the 200 that moved most",)


def test_of_groups_that_are_drawn_those_that_moved_most_come_first(tmp_path: Path) -> None:
    found = groups_of(
        tmp_path,
        allocation_findings=[fault(0, 100)],
        rebalances=[change(0, 1), change(0, 5, consumer_group="h")],
        queue_ownership=[owned(0, "x", 0, 9), owned(0, "x", 0, 9, consumer_group="h")],
    )
    assert [each.consumer_group for each in found.groups] == ["g", "h"]
    assert [each.consumer_group for each in found.ownership] == ["h", "g"]


def should_own(queue_id: int, client_id: str | None, from_ms: int, until_ms: int, **other: object) -> Row:
    return {
        **WHERE, "consumer_group": "g", "topic": "T", "broker_name": "a", "queue_id": queue_id, "client_id": client_id,
        "start_ms": START + from_ms, "end_ms": START + until_ms, "in_route": True, **other,
    }  # fmt: skip


def moves_of(folder: Path, rebalance: Row, *allocated: Row) -> list[tuple[int, str, str]]:
    (group,) = groups_of(folder, rebalances=[rebalance], queue_allocation=[*allocated]).ownership
    (told,) = group.rebalances
    return [(move.queue[1], "".join(move.before), "".join(move.after)) for move in told["moves"]]


def test_a_rebalance_names_the_queues_that_it_moved(tmp_path: Path) -> None:
    """A new queue, one of another topic or group, and one that nobody had did not move."""
    rows = [
        should_own(0, "x", 0, 50), should_own(0, "y", 50, 90),
        should_own(1, "y", 0, 50), should_own(1, "y", 50, 90),
        should_own(2, "x", 0, 50), should_own(2, None, 50, 90),
        should_own(3, None, 0, 50), should_own(3, "y", 50, 90),
        should_own(4, "y", 50, 90),
        should_own(5, "x", 0, 50), should_own(5, "y", 50, 90, in_route=False),
        should_own(6, "x", 0, 50, topic="U"), should_own(6, "y", 50, 90, topic="U"),
        should_own(7, "x", 0, 50, consumer_group="h"), should_own(7, "y", 50, 90, consumer_group="h"),
        should_own(1, "z", 90, 99),  # moved later
    ]  # fmt: skip
    groups = groups_of(tmp_path, rebalances=[change(50, 2, left=["x"])], queue_allocation=rows).ownership
    (told,) = next(each for each in groups if each.consumer_group == "g").rebalances
    assert [(move.queue, move.before, move.after) for move in told["moves"]] == [
        (("a", 0), ("x",), ("y",)), (("a", 2), ("x",), ()),
    ]  # fmt: skip


def test_of_several_owners_one_that_left_moves_nothing_while_another_stays(tmp_path: Path) -> None:
    before, after = [should_own(0, each, 0, 50) for each in "xy"], [should_own(0, each, 50, 90) for each in "yz"]
    assert moves_of(tmp_path / "left", change(50, 0, left=["x"]), *before, *after) == []
    assert moves_of(tmp_path / "lost it", change(50, 1), *before, *after) == [(0, "xy", "yz")]


def test_brokers_that_disagree_for_a_moment_hide_no_move(tmp_path: Path) -> None:
    """Owners before are those of the list that all brokers gave, not of the second in which they were asked."""
    rows = [should_own(0, "x", 0, 5_000), should_own(0, "y", 6_000, 9_000)]
    views = [should_own(0, who, 5_000, 6_000, view_broker_name=view) for who, view in (("y", "a"), ("x", "b"))]
    assert moves_of(tmp_path, change(6_000), *rows, *views) == [(0, "x", "y")]


def test_of_brokers_that_disagree_the_first_by_name_counts(tmp_path: Path) -> None:
    views = [
        should_own(0, who, from_ms, until_ms, view_broker_name=view)
        for who, view, from_ms, until_ms in (("x", "b", 0, 9_000), ("y", "a", 5_000, 9_000), ("z", "c", 0, 9_000))
    ]
    assert moves_of(tmp_path, change(5_000, trigger="VIEW"), *views) == [(0, "x", "y")]


@pytest.mark.parametrize(
    ("moved", "rows"),
    [
        (2, [should_own(0, "x", 0, 50), should_own(0, "y", 50, 90)]),  # one of them is not told
        (1, [should_own(0, "y", 50, 90)]),  # what was before is not
        (1, [should_own(0, "x", 0, 50)]),  # what is after is not
        (1, [should_own(0, "x", 0, 50), should_own(0, "y", 1_051, 2_000)]),  # there was a gap
        (1, []),
    ],
)
def test_moves_that_the_tables_do_not_tell_in_full_are_only_counted(
    tmp_path: Path, moved: int, rows: list[Row]
) -> None:
    at = rows[-1]["start_ms"] - START if len(rows) == 2 else 50
    owner = [owned(0, "x", 0, 9)]
    (group,) = groups_of(
        tmp_path, rebalances=[change(at, moved)], queue_allocation=rows, queue_ownership=owner
    ).ownership
    assert [each["moves"] for each in group.rebalances] == [()]


def test_the_page_lists_what_rebalances_moved(tmp_path: Path) -> None:
    """For who cannot point at a bar; a rebalance that moved nothing is not there, names are inert."""
    rows = [
        should_own(number, client, from_ms, from_ms + 50, broker_name="<b>")
        for number in range(21)
        for client, from_ms in (("<i>x", 0), ("y", 50))
    ]
    groups_of(
        tmp_path,
        rebalances=[change(50, 21, queues=21), change(60, 3), change(70, 0)],
        queue_allocation=rows,
    )
    page = render(open_published(str(tmp_path), None, None, None))
    listed = page.partition("Queues that rebalances of <bdi>g</bdi> moved, by the strategy</summary>")[2]
    text = " ".join(re.sub("<[^>]+>", "", listed.partition("</details>")[0]).split())
    queues = " ".join(f"&lt;b&gt;:{number} &lt;i&gt;x → y" for number in range(20))
    assert text == (
        f"00:00:00.050 T JOINED moved 21 queues of 21, 1 needed {queues} and 1 more"
        " 00:00:00.060 T JOINED moved 3 queues of 9, 1 needed"
    )


def test_what_a_rebalance_and_an_owner_say() -> None:
    told = rebalance_hover(change(0, 1_000, joined=list("abcdef"), queues=2_000, moves=()))
    assert told == (
        "<b>T</b> 2026-03-02 00:00:00.000 UTC<br>JOINED<br>joined a, b, c, d, e<br>left –<br>"
        "moved 1,000 queues of 2,000, 1 needed"
    )
    moves = [Move(("a<", number), ("x", "y"), ("z",) if number else ()) for number in range(7)]
    assert rebalance_hover(change(0, 7, moves=moves)).partition(", 1 needed")[2] == (
        "<br>a&lt;:0 x, y → nobody<br>a&lt;:1 x, y → z<br>a&lt;:2 x, y → z<br>a&lt;:3 x, y → z<br>a&lt;:4 x, y → z"
        "<br>and 2 more"
    )
    assert rebalance_hover(change(0, 5, moves=moves[:5])).endswith("<br>a&lt;:4 x, y → z")
    row = owned(3, "x", 0, 9)
    alone = Bar(0, NOBODY, True, START, START + 1_000, row)
    assert owner_hover(alone) == ("<b>T broker-a:3</b><br>nobody<br>2026-03-02 00:00:00.000 – 00:00:01.000 UTC, 1.0 s")
    together = Bar(0, NOBODY, True, START, START + 1_000, row, rows=2)
    assert owner_hover(together) == f"{owner_hover(alone)}<br>2 intervals, drawn as one"


def test_an_interval_over_midnight_names_both_days() -> None:
    assert interval_words(START - 1, START).startswith("2026-03-01 23:59:59.999 – 2026-03-02 00:00:00.000 UTC, ")


def bar(start_ms: int, end_ms: int, kind: str = "slow", row: int = 0, *, hollow: bool = False) -> Bar:
    return Bar(row, kind, hollow, start_ms, end_ms, {"at": start_ms})


def test_bars_are_joined_over_a_pixel_first_and_then_over_more() -> None:
    """A pixel of 16,000 ms is 10 ms."""
    ends = [bar(0, 1), bar(15_999, 16_000)]
    near, beyond = [bar(100, 110), bar(120, 130)], [bar(200, 210), bar(221, 230)]
    told = [(each.start_ms, each.end_ms, each.rows) for each in merged([*ends, *near, *beyond], 5)]
    assert told == [(0, 1, 1), (100, 130, 2), (200, 210, 1), (221, 230, 1), (15_999, 16_000, 1)]
    told = [(each.start_ms, each.end_ms, each.rows) for each in merged([*ends, *near, *beyond], 4)]
    assert told == [(0, 1, 1), (100, 130, 2), (200, 230, 2), (15_999, 16_000, 1)]


def test_an_outline_is_not_joined_with_a_bar_and_the_first_tells_for_all() -> None:
    told = merged([bar(0, 100), bar(10, 20), bar(15, 16, hollow=True), bar(90, 95)], 2)
    assert [(each.start_ms, each.end_ms, each.rows, each.hollow, each.source["at"]) for each in told] == [
        (0, 100, 3, False, 0),
        (15, 16, 1, True, 15),
    ]


def test_a_bar_is_as_thick_as_its_row_wherever_it_is_alone() -> None:
    """Of a bar that ends another takes the lane; the one beside them keeps its own."""
    first, second, third, after, below = bar(0, 10), bar(5, 20), bar(10, 15), bar(20, 30), bar(0, 10, row=1)
    found = lanes([below, after, third, second, first])
    assert {(each.whole or each, each.start_ms, each.end_ms): place for each, place in found.items()} == {
        (first, 0, 5): (0, 1),
        (first, 5, 10): (0, 2),
        (second, 5, 15): (1, 2),
        (third, 10, 15): (0, 2),
        (second, 15, 20): (0, 1),
        (after, 20, 30): (0, 1),
        (below, 0, 10): (0, 1),
    }
    assert {each for each in found if each.whole is None} == {third, after, below}  # these are not cut
    whole, upper, lower = (next(each for each in found if found[each] == place) for place in ((0, 1), (0, 2), (1, 2)))
    middles, thickness = in_lanes([whole, upper, lower], found)
    assert middles == pytest.approx([0.0, -0.19, 0.19])
    assert thickness == pytest.approx([0.76, 0.38, 0.38])


def test_a_piece_says_what_the_whole_bar_says() -> None:
    found = lanes([bar(0, 10), bar(5, 20)])
    trace = bar_trace("", [*found], in_lanes([*found], found), lambda each: f"{each.start_ms} to {each.end_ms}", {})
    pieces = zip(trace["base"], trace["x"], trace["hovertext"], strict=True)
    assert sorted(pieces) == [(0, 5, "0 to 10"), (5, 5, "0 to 10"), (5, 5, "5 to 20"), (10, 10, "5 to 20")]


def test_many_at_once_are_not_cut_at_every_edge_of_each_other() -> None:
    """Six hundred begin one after another: in lanes of 1, 2, 3, 4, 8, 16 … 1,024 for as long as these are enough."""
    many = lanes([bar(start, 1_000) for start in range(600)])
    assert sum(each.start_ms == 599 for each in many) == 1  # but for the last one, nothing is cut there
    assert {count for each, (_, count) in many.items() if each.end_ms == 1_000} == {1_024}
    assert len({lane for each, (lane, _) in many.items() if each.end_ms == 1_000}) == 600
    assert len(many) < 600 + 1 + 2 + 3 + 4 + 8 + 16 + 32 + 64 + 128 + 256 + 512 + 1


@pytest.mark.parametrize(("bars", "lanes_at_the_end"), [(1_000, 2), (1_001, 4)])
def test_of_very_many_bars_those_beside_others_are_cut_less(bars: int, lanes_at_the_end: int) -> None:
    """Two keep the lanes of four that they had beside a third one; a bar that is alone is whole all the same."""
    long, shorter, short = bar(0, 100), bar(20, 50), bar(30, 40)
    found = lanes([long, shorter, short, *(bar(0, 10, row=place) for place in range(1, bars - 2))])
    of_row = {(each.whole or each, each.start_ms): place for each, place in found.items() if each.row == 0}
    assert (of_row[long, 0], of_row[long, 20], of_row[long, 50]) == ((0, 1), (0, 2), (0, 1))
    assert of_row[shorter, 20] == (1, 2)
    _, count = max((start_ms, place[1]) for (each, start_ms), place in of_row.items() if each is shorter)
    assert count == lanes_at_the_end


@pytest.mark.parametrize(("bars_of_the_last", "drawn"), [(1, 13), (2, 12)])
def test_as_many_bars_as_may_be_drawn_leave_no_queue_out(tmp_path: Path, bars_of_the_last: int, drawn: int) -> None:
    bars = [*[49] * 11, 60, bars_of_the_last]  # 599 without the last
    turns = [owned(queue_id, "c", at, at + 1) for queue_id, count in enumerate(bars) for at in range(count)]
    assert len(one(tmp_path, queue_ownership=turns).queues) == drawn
