"""A span of days with a hole: what is answered is of the published days, and the others are named."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest

from jobs.answers.published import open_published
from jobs.answers.report import render
from jobs.cli import main as cli
from tests.given.lakes import publish

pytestmark = pytest.mark.usefixtures("own_folder")

D20, D21, D22 = (dt.date(2026, 11, day) for day in (20, 21, 22))
SPAN = ("--from", f"{D20}", "--to", f"{D22}")


def _show(capsys: pytest.CaptureFixture[str], lake: Path, *arguments: str) -> tuple[str, str]:
    assert cli.main(["show", *arguments, "--lake", str(lake)]) == 0
    said = capsys.readouterr()
    return said.out, said.err


@pytest.mark.parametrize(
    ("span", "days", "said"),
    [
        (SPAN, "2026-11-20 and 2026-11-22", "2026-11-21 is not published: nothing here is of it"),
        (
            ("--from", "2026-11-18", "--to", "2026-11-23"),
            "2026-11-20 and 2026-11-22",
            "2026-11-18 to 2026-11-19, 2026-11-21 and 2026-11-23 are not published: nothing here is of them",
        ),
        (
            ("--from", f"{D22}", "--to", "9999-12-31"),
            "2026-11-22",
            "2026-11-23 to 9999-12-31 are not published: nothing here is of them",
        ),
        (("--date", f"{D22}"), "2026-11-22", None),
        ((), "2026-11-22", None),
    ],
)
def test_an_answer_is_of_the_published_days_and_names_the_others(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, span: tuple[str, ...], days: str, said: str | None
) -> None:
    publish(tmp_path, D20, D22)
    out, err = _show(capsys, tmp_path, "events", *span)
    assert out == f"events, {days} UTC, cluster main: no event\n"
    assert err == (f"faultline: {said}\n" if said else "")


def test_days_that_follow_each_other_are_a_span(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    publish(tmp_path, D20, D21, D22)
    assert _show(capsys, tmp_path, "events", *SPAN)[0].startswith("events, 2026-11-20 to 2026-11-22 UTC, ")


def test_the_page_and_json_name_them_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    publish(tmp_path, D20, D22)
    said = "2026-11-21 is not published: nothing here is of it"
    for form in ("--json", "--csv"):
        assert _show(capsys, tmp_path, "events", *SPAN, form)[1] == f"faultline: {said}\n"
    whole, one = (json.loads(_show(capsys, tmp_path, "events", *days, "--json")[0]) for days in (SPAN, ()))
    assert whole["days"] == ["2026-11-20", "2026-11-22"]
    assert whole["not_published"] == [{"from": "2026-11-21", "to": "2026-11-21"}]
    assert one["not_published"] == []
    assert cli.main(["report", "--lake", str(tmp_path), *SPAN]) == 0
    assert f"faultline: {said}\n" in capsys.readouterr().err
    paragraph = f'<p class="unsure">{said}.</p>'
    assert paragraph in Path("faultline-2026-11-20-to-2026-11-22.html").read_text()
    assert paragraph not in render(open_published(str(tmp_path), None, D22, D22))


def test_many_holes_are_counted(tmp_path: Path) -> None:
    days = [dt.date(2026, 3, 1) + dt.timedelta(days=2 * number) for number in range(13)]
    publish(tmp_path, *days)
    page = render(open_published(str(tmp_path), None, days[0], days[-1]))
    assert "2026-03-18, 2026-03-20 and 2 more spans are not published" in page


@pytest.mark.parametrize(
    ("arguments", "when"),
    [
        (
            ("--since", "2026-11-20T23:00", "--until", "2026-11-21T01:00"),
            "2026-11-20 23:00:00.000 to 2026-11-21 01:00:00.000",
        ),
        (
            ("--since", "2026-11-20T23:00", "--until", "2026-11-22"),
            "2026-11-20 23:00:00.000 to 2026-11-22 00:00:00.000",
        ),
        (
            ("--since", "2026-11-20T23:00", "--from", f"{D20}", "--to", f"{D21}"),
            "2026-11-20 23:00:00.000 to 2026-11-21",
        ),
        (
            ("--until", "2026-11-22T01:00", "--from", f"{D21}", "--to", f"{D22}"),
            "2026-11-21 to 2026-11-22 01:00:00.000",
        ),
        (("--until", "2026-11-20T01:00", "--from", f"{D20}", "--to", f"{D21}"), "2026-11-20 00:00 to 01:00:00.000"),
        (("--since", "2026-11-21T01:00", "--until", "2026-11-21T02:00"), "2026-11-21 01:00:00.000 to 02:00:00.000"),
    ],
)
def test_a_time_that_reaches_beyond_the_published_days_has_its_own_date(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: tuple[str, ...], when: str
) -> None:
    publish(tmp_path, D21)
    assert _show(capsys, tmp_path, "events", *arguments)[0] == f"events, {when} UTC, cluster main: no event\n"
