"""What a what-if run says: one line per different policy, the best marked, names harmless, the limits stated."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest

from jobs.errors import PlatformError, UsageError
from jobs.what_if.picture import check_picture, write_picture
from jobs.what_if.summary import with_best
from jobs.what_if.summary_text import what_if_text
from tests.given.what_if_answers import line, summary


def test_the_answer_on_one_screen() -> None:
    first = dataclasses.replace(line("P1", 10, 5), failure_ms=600_000)
    second = dataclasses.replace(line("P2", 10, 5), failure_ms=None)
    told = what_if_text(summary(first, second, line("P5", 30, 9), line("worse", 8, 50)))
    sends = "cluster c: 1,000 sends whose queue the client chose, 40 of them bad (failed, or 550 ms and longer)"
    assert [re.split("  +", row.strip()) for row in told.splitlines()[:12]] == [
        ["2026-11-21", sends],
        [""],
        ["In use on these days, as far as replayed"],
        ["client", "policy", "producers", "groups"],
        ["4.7.1", "P1", "1,200", "PG_0, PG_1, PG_2, PG_3 and 2 more"],
        ["?", "P5 with the ladder of PG\\x1b", "2", "PG\\x1b"],
        [""],
        ["Policies, by bad sends that would have gone to another broker"],
        [
            "policy", "a failure isolates", "bad avoided", "good steered away", "isolations",
            "isolated (sum over producers)",
        ],
        ["*", "P5 (from 5.2.0)", "2.0 s", "30 (75 %)", "9", "3", "1 min 00 s"],
        ["*", "P1 (from 4.0.0), P2 (from 4.8.0)", "10 min 00 s, –", "10 (25 %)", "5", "3", "1 min 00 s"],
        ["worse", "2.0 s", "8 (20 %)", "50", "3", "1 min 00 s"],
    ]  # fmt: skip
    for note in (
        "7 bad sends would have been avoided by none of them",
        "A log cannot show how the other brokers would have answered",
        "25 % of all attempts come from producers whose switch was on",
        "the first day starts with no isolation",
        "2 producers not replayed: NOT_A_JAVA_CLIENT",
        "(from …): the first client version with these rules; the next profile's is the first one without them",
    ):
        assert note in told


def test_a_long_sweep_shows_the_first_and_every_best() -> None:
    lines = [line(f"p{number:02}", 100 - number, 100 + number) for number in range(60)]
    told = what_if_text(summary(*lines, line("none", 0, 0, 0)))
    assert "another broker, 21 of 61" in told
    assert "  *  none" in told
    assert "p30" not in told


def test_twenty_lines_are_shown_and_no_more() -> None:
    """The fewest good ones are steered away by the first, so that no other is a best one."""
    lines = [line(f"p{number:02}", 100 - number, 100 + number) for number in range(21)]
    assert "another broker\n" in what_if_text(summary(*lines[:20]))
    told = what_if_text(summary(*lines))
    assert "another broker, 20 of 21\n" in told
    assert ("p19" in told, "p20" in told) == (True, False)


def test_policies_share_a_line_only_when_all_four_figures_are_the_same() -> None:
    """Each differs from its neighbour in one figure."""
    lines = [
        line("a", 5, 5), dataclasses.replace(line("b", 5, 5), missed=1),
        dataclasses.replace(line("c", 5, 5), isolated_ms=120_000), line("d", 5, 5, isolations=4),
        line("e", 5, 6, isolations=4), line("f", 6, 5),
    ]  # fmt: skip
    shown = what_if_text(summary(*lines)).splitlines()[9:14]
    assert [row[5:].split("  ")[0] for row in shown] == ["f", "a, b", "c", "d", "e"]


def test_of_many_alike_four_are_named() -> None:
    assert "p0, p1, p2, p3  " in what_if_text(summary(*(line(f"p{number}", 1, 1) for number in range(4))))
    assert "p0, p1, p2, p3 and 1 more" in what_if_text(summary(*(line(f"p{number}", 1, 1) for number in range(5))))
    assert "p0, p1, p2, p3 and 2 more" in what_if_text(summary(*(line(f"p{number}", 1, 1) for number in range(6))))


def test_what_there_is_no_need_to_say_is_not_said() -> None:
    told = summary(line("P5", 30, 9))
    assert "AS_RUN: each producer" not in what_if_text(told)
    assert "AS_RUN: each producer under its own version" in what_if_text(summary(line("AS_RUN", 1, 1)))
    plain = dataclasses.replace(told, starts_empty=False, switch_on_share=0.0, not_replayed={}, lake="a\x1bb")
    for note in ("the first day starts", "switch was on", "not replayed"):
        assert note not in what_if_text(plain)
    assert "per broker and day: a\\x1bb/policy_outcomes" in what_if_text(plain)
    days = dataclasses.replace(told, days=["2026-11-20", "2026-11-21", "2026-11-22"], clusters=["c", "d\x1b"])
    assert what_if_text(days).startswith("2026-11-20 to 2026-11-22  cluster c, d\\x1b: 1,000 sends")


def test_nothing_bad_and_no_policy_is_no_error() -> None:
    quiet = dataclasses.replace(summary(line("P5", 0, 0)), bad_sends=0, switch_on_share=None)
    assert "P5 (from 5.2.0)  2.0 s               0            0" in what_if_text(quiet)
    assert "switch was on" not in what_if_text(quiet)


def test_names_do_nothing_to_a_terminal() -> None:
    told = what_if_text(summary(line("\x1b[31m\nred", 1, 1)))
    assert "\x1b" not in told
    assert "\\x1b[31m\\nred" in told


def test_the_picture_holds_every_policy_and_no_markup_of_its_names(tmp_path: Path) -> None:
    file = tmp_path / "picture.html"
    check_picture(file)
    write_picture(summary(line("P5", 30, 9), line("</script><script>alert(1)</script><b>", 8, 50)), file)
    page = file.read_text(encoding="utf-8")
    assert "alert(1)" in page
    assert "<script>alert(1)" not in page
    assert "A log cannot show how the other brokers would have answered" in page


def test_a_picture_that_cannot_be_is_refused_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match=r"x\.png must end in \.html"):
        check_picture(tmp_path / "x.png")
    with pytest.raises(UsageError, match="is in a folder that does not exist"):
        check_picture(tmp_path / "none" / "x.html")
    monkeypatch.setattr("jobs.spark.environment.find_spec", lambda _: None)
    with pytest.raises(PlatformError, match=r"--picture needs packages that are not installed; run: .* plotly jinja2"):
        check_picture(tmp_path / "x.html")


def test_the_best_are_beaten_by_none_before_them() -> None:
    lines = [line("a", 5, 9), line("b", 5, 2), line("c", 4, 8), line("d", 3, 2), line("e", 2, 1)]
    assert [(each.policy, each.is_best) for each in with_best(lines)] == [
        ("b", True), ("a", False), ("c", False), ("d", False), ("e", True),
    ]  # fmt: skip


def test_the_picture_has_good_sends_steered_away_to_the_right_and_bad_ones_avoided_upwards(tmp_path: Path) -> None:
    found = tmp_path / "picture.html"
    write_picture(summary(line("much", 30, 9), line("worse", 8, 50), line("little", 20, 2)), found)
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', found.read_text(encoding="utf-8"))
    figure = json.loads(data)
    assert [(each["text"], each["x"], each["y"]) for each in figure["data"]] == [
        (["little", "much"], [2, 9], [20, 30]),
        (["worse"], [50], [8]),
    ]
    assert [figure["layout"][axis]["title"]["text"] for axis in ("xaxis", "yaxis")] == [
        "good sends steered away",
        "bad sends avoided",
    ]
