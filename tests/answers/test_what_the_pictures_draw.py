"""The two pictures as Plotly gets them, from literal rows and bars: what stands where, how wide, in which colour."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.answers.causes import OTHER, SLOW, TIMED_OUT
from jobs.answers.events import Event
from jobs.answers.gantt import Bar
from jobs.answers.group_figure import group_figure
from jobs.answers.groups import NOBODY, SEVERAL, Ownership
from jobs.answers.minutes import Minutes, Point
from jobs.answers.timeline import Row, Timeline
from jobs.answers.timeline_figure import timeline_figure

MINUTE = 60_000
CLEAR, GREY = "rgba(0,0,0,0)", "#808080"
NO_SENDS = Minutes((), {}, 0)
NOTHING = Timeline((), (), ())


def point(minute: float, sends: int = 1, failures: int = 0, width_ms: int = MINUTE, **percentiles: int) -> Point:
    p50, p95, p99 = (percentiles.get(name) for name in ("p50", "p95", "p99"))
    return Point(round(minute * MINUTE), width_ms, sends, failures, p50, p95, p99)


def sent(*points: Point) -> Minutes:
    return Minutes(points, {}, 0)


def row(broker: str, client_id: str | None = None, isolated_ms: int = 0, parent: int | None = None, **more: Any) -> Row:
    """A heading, or a row below one."""
    below = {"producer_group": "PG", "client_version": "5.3.3"} if parent is not None else {}
    known = {"producer_group": None, "client_version": None, "isolations": 1, "would_ms": 7, "host": client_id}
    return Row(broker, client_id, isolated_ms=isolated_ms, parent=parent, **known | below | more)


def isolated(place: int, kind: str, start_ms: int, end_ms: int, *, hollow: bool = False) -> Bar:
    source = {
        "broker_name": "a", "client_id": "p", "producer_group": "PG", "client_version": "5.3.3", "enforced": not hollow,
        "cause": "LATENCY", "opener_latency_ms": 600, "ended_by": "EXPIRED", "evidence": "LOGGED", "extensions": 0,
        "end_earliest_ms": end_ms, "end_latest_ms": end_ms,
    }  # fmt: skip
    return Bar(place, kind, hollow, start_ms, end_ms, source)


def event(brokers: list[str], bad_from_ms: int, last_bad_ms: int, bad_until_ms: int | None) -> Event:
    return Event({
        "broker_name": brokers[0] if len(brokers) == 1 else None, "brokers": brokers, "all_brokers": 9,
        "kind": "TIMED_OUT", "bad_from_ms": bad_from_ms, "last_bad_ms": last_bad_ms, "bad_until_ms": bad_until_ms,
        "producers": 2_021, "hit_producers": 2_019, "avoiding_producers": 1_017,
        "lost_sends": 1_200, "saved_sends": 3, "slow_sends": 4,
    })  # fmt: skip


TWO_BROKERS = (
    row("a", isolated_ms=90_000), row("a", "p1", parent=0), row("a", "p2", parent=0),
    row("b", isolated_ms=1_500), row("b", "p", parent=3),
)  # fmt: skip
DRAWN = Timeline(TWO_BROKERS, (isolated(1, SLOW, 5_000, 9_000),), ())


def pixels(figure: dict[str, Any], *axes: str) -> list[tuple[int, int]]:
    """Lower and upper end of each axis, from the bottom of the plot."""
    margin = figure["layout"]["margin"]
    plot = figure["height"] - margin["t"] - margin["b"]
    domains = [figure["layout"][axis]["domain"] for axis in axes]
    return [(round(plot * low), round(plot * high)) for low, high in domains]


def test_sends_and_failures_are_rates_of_windows_of_their_own_widths() -> None:
    """12 sends in 1 s are 12 per second, 900 in 2 minutes 7.5, and 7 in a day 0.00008102 of them."""
    day, minutes = 1440 * MINUTE, 2 * MINUTE
    all_brokers = (point(0, 900, 45, minutes), point(2, 12, 1, 1_000), point(2.5, 60, 0, 5_000), point(4, 7, 7, day))
    windows = Minutes(all_brokers, {"b": (point(2, 10, 3, 1_000),), "a": (point(0, 240, 0, minutes),)}, 2)
    figure, views = timeline_figure(NOTHING, windows, [])
    assert [[(each["name"], each["x"], each["y"]) for each in view[:2]] for view in views] == [
        [
            ("sends", [0, 120_000, 150_000, 240_000], [7.5, 12, 12, 0.00008102]),
            ("failed", [0, 120_000, 240_000], [0.375, 1, 0.00008102]),
        ],
        [("sends", [120_000], [10]), ("failed", [120_000], [3])],
        [("sends", [0], [2]), ("failed", [], [])],
    ]
    sends, failed = views[0][:2]
    assert (sends["width"], failed["width"]) == ([120_000, 1_000, 5_000, day], [120_000, 1_000, day])
    assert sends["customdata"] == [[900, 120], [12, 1], [60, 5], [7, 86_400]]
    assert failed["customdata"] == [[45, 120], [1, 1], [7, 86_400]]
    assert {each["offset"] for each in views[0][:2]} == {0}  # from the window's start on
    assert figure["data"][:5] == views[0]
    assert figure["layout"]["yaxis2"]["title"]["text"] == "sends<br>per second"
    assert figure["layout"]["yaxis3"]["type"] == "log"


def test_a_percentile_s_step_is_as_wide_as_its_window() -> None:
    points = (point(0, p99=3), point(1, width_ms=1_000, p99=9), point(61 / 60, width_ms=1_000, p99=7), point(2, p99=4))
    p99 = timeline_figure(NOTHING, sent(*points), [])[1][0][2]
    assert p99["x"] == [0, 60_000, 61_000, 62_000, 62_000, 120_000, 180_000, 180_000]
    assert p99["y"] == [3, 9, 7, 7, None, 4, 4, None]


def test_percentiles_are_steps_that_break_where_there_is_none() -> None:
    """A value of 0 is drawn at 0.4, as the axis is of logarithms, and said without decimals; equal times stand once."""
    points = (point(0, p50=0, p95=2, p99=3), point(1, p50=7), point(2), point(3, p50=5))
    p99, p95, p50 = timeline_figure(NOTHING, sent(*points), [])[1][0][2:]
    assert (p50["name"], p50["x"]) == ("p50", [0, 60_000, 120_000, 120_000, 180_000, 240_000, 240_000])
    assert p50["y"] == [0.4, 7, 7, None, 5, 5, None]
    assert "%{y:,.0f} ms" in p50["hovertemplate"]
    assert (p99["name"], p99["x"], p99["y"]) == ("p99", [0, 60_000, 60_000], [3, 3, None])
    assert (p95["name"], p95.get("x"), p95["y"]) == ("p95", None, [2, 2, None])


def test_bars_are_of_the_colour_of_their_cause_and_hollow_with_the_switch_off() -> None:
    bars = (
        isolated(1, TIMED_OUT, 0, 5), isolated(1, SLOW, 10, 30), isolated(2, SLOW, 40, 41, hollow=True),
        isolated(4, SLOW, 20, 27),
    )  # fmt: skip
    figure, _ = timeline_figure(Timeline(TWO_BROKERS, bars, ()), NO_SENDS, [])
    traces = [each for each in figure["data"] if each.get("meta") == "isolation"]
    assert [(each["name"], each["base"], each["x"], [round(y) for y in each["y"]]) for each in traces] == [
        (SLOW, [10, 20], [20, 7], [1, 4]),
        (SLOW, [40], [1], [2]),
        (TIMED_OUT, [0], [5], [1]),
    ]
    assert [(each["marker"]["color"], each["marker"]["line"]["color"]) for each in traces] == [
        ("#e69f00", "#e69f00"), (CLEAR, "#e69f00"), ("#cc79a7", "#cc79a7"),
    ]  # fmt: skip
    assert [each["showlegend"] for each in traces] == [True, False, True]  # a cause is there once
    only_hollow, _ = timeline_figure(Timeline(TWO_BROKERS, (bars[2],), ()), NO_SENDS, [])
    assert only_hollow["data"][-1]["showlegend"]


def test_a_cause_without_a_class_is_drawn_under_its_own_name_in_grey_and_the_other_ones_come_last() -> None:
    bars = [isolated(1, kind, 0, 5) for kind in (OTHER, "SiteException", "<b>Exception", SLOW)]
    figure, _ = timeline_figure(Timeline(TWO_BROKERS, tuple(bars), ()), NO_SENDS, [])
    traces = [each for each in figure["data"] if each.get("meta") == "isolation"]
    assert [(each["name"], each["marker"]["color"]) for each in traces] == [
        (SLOW, "#e69f00"), ("&lt;b&gt;Exception", GREY), ("SiteException", GREY), (OTHER, GREY),
    ]  # fmt: skip


def test_an_event_is_a_bar_on_the_heading_and_a_band_over_the_producers_of_each_of_its_brokers() -> None:
    """To its last bad attempt: nothing may be known of the time to the next answer."""
    events = [event(["a", "b", "not drawn"], 6_000, 15_000, 16_000), event(["b"], 17_000, 18_000, None)]
    figure, _ = timeline_figure(DRAWN, NO_SENDS, events)
    (trace,) = [each for each in figure["data"] if each.get("meta") == "event"]
    assert (trace["base"], trace["x"], trace["y"]) == (
        [6_000, 6_000, 17_000], [9_000, 9_000, 1_000], [0, 3, 3],
    )  # fmt: skip
    assert trace["hovertext"][0] == (
        "<b>event at 3 of 9 brokers: timed out</b><br>1970-01-01 00:00:06.000 – 00:00:15.000 UTC, 9.0 s<br>"
        "all answered again by 00:00:16<br>hit 2,019 of 2,021 producers, avoided by 1,017<br>"
        "sends: 1,200 lost, 3 saved by a retry, 4 slow"
    )
    assert trace["hovertext"][2].startswith("<b>event at b: timed out</b>")
    bands = [each for each in figure["layout"]["shapes"] if each["type"] == "rect"]
    assert [(each["x0"], each["x1"], each["y0"], each["y1"], each["xref"]) for each in bands] == [
        (6_000, 15_000, -0.5, 2.5, "x2"), (6_000, 15_000, 2.5, 4.5, "x2"), (17_000, 18_000, 2.5, 4.5, "x2"),
    ]  # fmt: skip
    assert not [each for each in timeline_figure(DRAWN, NO_SENDS, [])[0]["data"] if each.get("meta") == "event"]


def test_rows_are_labelled_and_a_line_stands_above_each_broker() -> None:
    """A lone producer by group and host; a group by version, its hosts, and several producers of one host."""
    long = "x" * 40
    rows = (
        *TWO_BROKERS, row(long, isolated_ms=61_000), row(long, parent=5, host=None, producers=1_003),
        row(long, "10.0.0.1@4711", parent=6, host="10.0.0.1"), row(long, parent=6, host="10.0.0.2", producers=2),
        row(long, long, parent=8, host="10.0.0.2"),
    )  # fmt: skip
    layout = timeline_figure(Timeline(rows, (), ()), NO_SENDS, [])[0]["layout"]
    assert layout["yaxis"]["ticktext"] == [
        "<b>a</b> 1 min 30 s", "PG p1", "PG p2", "<b>b</b> 1.5 s", "PG p",
        "<b>xxxxxxx…xxxxxxx</b> 1 min 01 s", "PG 5.3.3 (1,003)", "10.0.0.1", "10.0.0.2 (2)",
        "xxxxxxxxxxxxxx…xxxxxxxxxxxxxx",
    ]  # fmt: skip
    assert layout["yaxis"]["tickvals"] == [*range(10)]
    assert layout["yaxis"]["range"] == [9.6, -0.6]  # from the top
    lines = [(each["y0"], each["y1"]) for each in layout["shapes"] if each["type"] == "line"]
    assert lines == [(-0.5, -0.5), (2.5, 2.5), (4.5, 4.5)]


@pytest.mark.parametrize(
    ("windows", "bars", "shown"),
    [
        (NO_SENDS, (), [0, 86_400_000]),
        # until the end of the last window with sends; windows that only know isolation do not count
        (sent(point(0, 0), point(10), point(30, 0), point(69), point(99, 0)), (), [540_000, 4_260_000]),
        (sent(point(0, width_ms=5 * MINUTE), point(4, width_ms=5 * MINUTE)), (), [-9_000, 549_000]),
        # of seconds, to the end of the last second
        (sent(point(0), point(9, width_ms=1_000)), (), [-9_016, 550_016]),
        # an isolation may begin before and after the sends; its end does not count where there are any
        (sent(point(10), point(69)), (isolated(1, SLOW, 0, 90 * MINUTE),), [-70_000, 4_270_000]),
        (sent(point(0), point(9)), (isolated(1, SLOW, 60 * MINUTE, 90 * MINUTE),), [-60_000, 3_660_000]),
        (NO_SENDS, (isolated(1, SLOW, 0, 60_000), isolated(1, SLOW, 30_000, 50_000)), [-1_000, 61_000]),
    ],
)
def test_the_time_that_is_shown(windows: Minutes, bars: tuple[Bar, ...], shown: list[int]) -> None:
    layout = timeline_figure(Timeline(TWO_BROKERS, bars, ()), windows, [])[0]["layout"]
    assert (layout["xaxis"]["range"], layout["xaxis2"]["range"]) == (shown, shown)
    assert layout["xaxis2"]["matches"] == "x"  # who zooms one of them zooms both


def test_the_parts_of_the_timeline_stand_one_above_the_other() -> None:
    """Rows of 17 px, and room for an axis and a legend between them and latency."""
    figure, _ = timeline_figure(DRAWN, NO_SENDS, [])
    assert pixels(figure, "yaxis", "yaxis3", "yaxis2") == [(0, 85), (165, 315), (337, 447)]
    assert pixels(timeline_figure(NOTHING, NO_SENDS, [])[0], "yaxis") == [(0, 34)]


def stretch(kind: str, start_ms: int = 0, end_ms: int = 100, place: int = 0, **how: Any) -> Bar:
    source = {"topic": "T", "broker_name": "a", "queue_id": place}
    return Bar(place, kind, how.get("hollow", False), start_ms, end_ms, source, how.get("rows", 1))


def change(at_ms: int, moved: int, needed: int) -> dict[str, Any]:
    return {
        "topic": "T", "changed_at_ms": at_ms, "trigger": "JOINED", "joined": ["x"], "left": [], "queues": 9,
        "moved": moved, "fewest_moves": needed, "moves": (),
    }  # fmt: skip


def group(*bars: Bar, changes: tuple[dict[str, Any], ...] = (), queues: int = 1) -> dict[str, Any]:
    named = tuple(("T", "a", number) for number in range(queues))
    return group_figure(Ownership("g", "by the clients' logs", named, bars, changes, ()))


def owners(figure: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in figure["data"] if each["meta"] == "owner"]


def test_owners_come_by_name_and_then_nobody_and_several_in_grey() -> None:
    several = stretch(SEVERAL, 60, 80, rows=9)
    traces = owners(group(stretch("c2", 10, 30), several, stretch(NOBODY, 80, 90, hollow=True), stretch("c1", 30, 60)))
    assert [(each["name"], each["base"], each["x"]) for each in traces] == [
        ("c1", [30], [30]), ("c2", [10], [20]), (NOBODY, [80], [10]), (SEVERAL, [60], [20]),
    ]  # fmt: skip
    assert [each["marker"]["color"] for each in traces] == ["#0072b2", "#e69f00", "rgba(128,128,128,0.15)", GREY]
    assert traces[2]["marker"]["pattern"]["shape"] == "\\"
    assert "pattern" not in traces[3]["marker"]


def test_a_client_called_several_is_an_owner_until_its_stretches_are_joined() -> None:
    named = [(each["name"], each["marker"]["color"]) for each in owners(group(stretch(SEVERAL)))]
    assert named == [(SEVERAL, "#0072b2")]
    joined = [(each["name"], each["marker"]["color"]) for each in owners(group(stretch(SEVERAL, rows=2)))]
    assert joined == [(SEVERAL, GREY)]


def test_each_of_many_owners_looks_different() -> None:
    """Seven colours, plain and in three patterns; the 29th looks like the first."""
    traces = owners(group(*(stretch(f"c{number:02}", place=number) for number in range(29)), queues=29))
    looks = [(each["marker"]["color"], each["marker"].get("pattern", {}).get("shape", "")) for each in traces]
    assert len(set(looks)) == 28
    assert (looks[0], looks[6], looks[7], looks[14], looks[28]) == (
        ("#0072b2", ""), ("#b5a400", ""), ("#0072b2", "/"), ("#0072b2", "x"), ("#0072b2", ""),
    )  # fmt: skip


@pytest.mark.parametrize(("clients", "shown"), [(24, True), (25, False)])
def test_the_legend_names_owners_while_they_are_few(clients: int, *, shown: bool) -> None:
    bars = [stretch(f"c{number:02}") for number in range(clients)]
    traces = owners(group(*bars, stretch(NOBODY, hollow=True)))
    assert [each["showlegend"] for each in traces] == [*[shown] * clients, True]


def test_moves_stand_where_they_happened_and_what_was_needed_in_front_of_them() -> None:
    figure = group(stretch("c"), changes=(change(40, 12, 5), change(70, 3, 0)))
    moved, needed = (each for each in figure["data"] if each["meta"] == "rebalance")
    assert (moved["name"], moved["x"], moved["y"]) == ("queues moved", [40, 70], [12, 3])
    assert (needed["name"], needed["x"], needed["y"]) == ("needed", [40, 70], [5, 0])
    assert "moved 12 queues of 9, 5 needed" in moved["hovertext"][0]
    assert needed["hoverinfo"] == "skip"
    assert (moved["width"], needed["width"]) == (1, 1)
    assert figure["layout"]["yaxis2"]["dtick"] == 3


def test_a_group_without_a_rebalance_still_has_its_picture() -> None:
    figure = group(stretch("c"))
    assert [each["y"] for each in figure["data"] if each["meta"] == "rebalance"] == [[], []]
    assert figure["layout"]["yaxis2"]["dtick"] == 1
    assert group(stretch("c"), changes=(change(40, 0, 0),))["layout"]["yaxis2"]["dtick"] == 1


def test_the_time_of_a_group_is_that_of_its_bars() -> None:
    figure = group(stretch("c", 100_000, 900_000), stretch("d", 200_000, 1_100_000), changes=(change(150_000, 1, 1),))
    layout = figure["layout"]
    assert (layout["xaxis"]["range"], layout["xaxis2"]["range"]) == ([90_000, 1_110_000], [90_000, 1_110_000])
    assert layout["xaxis2"]["matches"] == "x"
    assert figure["data"][0]["width"] == 4_636  # a 220th of what is shown


def test_queues_are_labelled_from_the_top() -> None:
    queues = (("T", "a", 0), ("T", "a", 1), ("x" * 40, "a", 12))
    axis = group_figure(Ownership("g", "", queues, (stretch("c"),), (), ()))["layout"]["yaxis"]
    assert axis["ticktext"] == ["T a:0", "T a:1", "xxxxxxxxxxxxx…xxxxxxxx a:12"]
    assert (axis["tickvals"], axis["range"]) == ([0, 1, 2], [2.6, -0.6])


def test_names_in_the_picture_of_a_group_are_not_markup() -> None:
    bold = "<b>c</b>"
    queues = ((bold, "a", 0),)
    figure = group_figure(Ownership("g", "", queues, (stretch(bold),), (), ()))
    assert owners(figure)[0]["name"] == "&lt;b&gt;c&lt;/b&gt;"
    assert figure["layout"]["yaxis"]["ticktext"] == ["&lt;b&gt;c&lt;/b&gt; a:0"]


def test_the_parts_of_a_group_stand_one_above_the_other() -> None:
    """Rows of 17 px; above them an axis, and a line of the legend for every five owners."""
    assert pixels(group(stretch("c"), queues=3), "yaxis", "yaxis2") == [(0, 51), (131, 221)]
    many = [stretch(f"c{number:02}", place=0) for number in range(40)]
    assert pixels(group(*many, queues=3), "yaxis", "yaxis2") == [(0, 51), (267, 357)]
