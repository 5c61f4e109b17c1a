"""`--since`, `--until` and `--at` of `faultline show`: which days they open, and which rows a window has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jobs.cli import main as cli
from jobs.cli.parameters import TIME
from jobs.cli.times import Time
from jobs.errors import UsageError
from jobs.tables import ISOLATION_INTERVALS, SENDS
from tests.given.lakes import publish, write_rows
from tests.given.site import D1, D2, START

T1, T2 = START[D1], START[D2]
DAY_MS = 86_400_000


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """On each day an isolation of 00:00:10 to 00:00:20, one without length at 00:00:30, and one of 23:59:50 to 24:00; a
    send at each of their starts."""
    root = tmp_path_factory.mktemp("lake")
    publish(root, D1, D2)
    spans = ((10_000, 20_000, "first"), (30_000, 30_000, "no length"), (DAY_MS - 10_000, DAY_MS, "last"))
    days = ((D1, T1, "1"), (D2, T2, "2"))
    write_rows(
        root,
        ISOLATION_INTERVALS,
        [
            {"event_date": day, "client_id": f"{name} of {number}", "start_ms": at + start, "end_ms": at + end}
            for day, at, number in days for start, end, name in spans
        ],
    )  # fmt: skip
    write_rows(
        root,
        SENDS,
        [
            {"event_date": day, "client_id": f"{name} of {number}", "ended_at_ms": at + start}
            for day, at, number in days for start, _, name in spans
        ],
    )  # fmt: skip
    return root


def _clients(capsys: pytest.CaptureFixture[str], lake: Path, question: str, *arguments: str) -> list[str]:
    assert cli.main(["show", question, "--lake", str(lake), "--json", *arguments]) == 0
    return [row["client_id"] for row in json.loads(capsys.readouterr().out)["rows"]]


@pytest.mark.parametrize(
    ("arguments", "clients"),
    [
        (["--since", "00:00:19.999", "--date", f"{D1}"], ["first of 1", "no length of 1", "last of 1"]),
        (["--since", "00:00:20", "--date", f"{D1}"], ["no length of 1", "last of 1"]),  # the end is exclusive
        (["--since", "00:00:30", "--date", f"{D1}"], ["no length of 1", "last of 1"]),
        (["--since", "00:00:30.001", "--date", f"{D1}"], ["last of 1"]),
        (["--until", "00:00:10", "--date", f"{D1}"], []),
        (["--until", "00:00:10.001", "--date", f"{D1}"], ["first of 1"]),
        (["--until", "00:00:30", "--date", f"{D1}"], ["first of 1"]),
        (["--until", "00:00:30.001", "--date", f"{D1}"], ["first of 1", "no length of 1"]),
        (["--since", "00:00:12", "--until", "00:00:13", "--date", f"{D1}"], ["first of 1"]),  # it goes on all the while
        (["--since", "23:59:59.999", "--until", "24:00:00.000", "--date", f"{D1}"], ["last of 1"]),
        (["--since", "23:59:59"], ["last of 2"]),  # of the last published day
        (["--until", "00:00:15Z"], ["first of 2"]),
        (["--at", "00:00:15", "--date", f"{D1}"], ["first of 1"]),
        (["--at", "00:00:30", "--date", f"{D1}"], []),
        # A date names the day, two of them name the days between
        (["--since", "2026-03-01T23:00"], ["last of 1"]),
        (["--until", "2026-03-01T00:00:11Z"], ["first of 1"]),
        (["--until", "2026-03-02"], ["first of 1", "no length of 1", "last of 1"]),  # 00:00 is the day before's 24:00
        (["--since", "2026-03-01T23:00", "--until", "2026-03-02T00:00:11"], ["last of 1", "first of 2"]),
        (["--since", "2026-03-02T00:00+01:00", "--until", "2026-03-02T00:00:11"], ["last of 1", "first of 2"]),
        (["--since", "2026-02-28T23:00", "--until", "2026-03-01T00:00:11"], ["first of 1"]),
        (["--since", "2026-03-01T23:00", "--from", f"{D1}", "--to", f"{D2}"],
         ["last of 1", "first of 2", "no length of 2", "last of 2"]),
    ],
)  # fmt: skip
def test_a_window_has_what_lies_in_it_even_in_part(
    capsys: pytest.CaptureFixture[str], lake: Path, arguments: list[str], clients: list[str]
) -> None:
    assert _clients(capsys, lake, "isolations", *arguments) == clients


@pytest.mark.parametrize(
    ("since", "until", "clients"),
    [
        ("00:00:10", "00:00:30", ["first of 1"]),
        ("00:00:10.001", "00:00:30.001", ["no length of 1"]),
    ],
)
def test_of_moments_a_window_has_its_first_and_not_its_last(
    capsys: pytest.CaptureFixture[str], lake: Path, since: str, until: str, clients: list[str]
) -> None:
    assert _clients(capsys, lake, "sends", "--date", f"{D1}", "--since", since, "--until", until) == clients


@pytest.mark.parametrize(
    ("arguments", "when"),
    [
        (["--since", "00:00:40", "--until", "00:00:41", "--date", f"{D1}"], "2026-03-01 00:00:40.000 to 00:00:41.000"),
        (["--since", "00:01", "--until", "2026-03-03"], "2026-03-02 00:01:00.000 to 24:00:00.000"),
        (["--until", "00:00:01"], "2026-03-02 00:00 to 00:00:01.000"),
        (["--at", "00:00:01"], "2026-03-02 00:00:01.000"),
        (
            ["--since", "2026-03-01T23:00", "--until", "2026-03-02T00:00:01"],
            "2026-03-01 23:00:00.000 to 2026-03-02 00:00:01.000",
        ),
    ],
)
def test_an_answer_without_rows_says_of_what_time(
    capsys: pytest.CaptureFixture[str], lake: Path, arguments: list[str], when: str
) -> None:
    assert cli.main(["show", "events", "--lake", str(lake), *arguments]) == 0
    assert capsys.readouterr().out == f"events, {when} UTC, cluster main: no event\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--since", "00:02", "--until", "00:01"], "--until 00:01 is not after --since 00:02; swap them"),
        (["--since", "00:02", "--until", "00:02"], "--until 00:02 is not after --since 00:02; swap them"),
        (["--since", "00:02", "--at", "00:03"], "--at and --since/--until exclude each other; give an instant or a"),
        (["--since", "00:02", "--from", "2026-03-01", "--to", "2026-03-02"], "--since 00:02 names no day of --from"),
        (["--since", "00:02", "--from", "2026-03-01", "--to", "2026-03-02"], "write it like 2026-03-01T00:26:51"),
        (["--since", "2026-03-02T00:00", "--date", "2026-03-01"], "--since 2026-03-02T00:00 is not within 2026-03-01;"),
        (["--until", "2026-03-01", "--date", "2026-03-01"], "--until 2026-03-01 is not within 2026-03-01;"),
        (["--until", "00:00"], "--until 00:00 is not within 2026-03-02; give another time, or day"),
        (["--at", "24:00"], "--at 24:00 is not within 2026-03-02"),
        (["--at", "2026-03-02T00:00", "--date", "2026-03-01"], "--at 2026-03-02T00:00 is not within 2026-03-01"),
        (["--since", "noon"], "--since 'noon' is not a time; write it like 2026-11-21T00:26:51Z, or 00:26:51 with"),
        (["--until", "25:00"], "--until '25:00' is not a time"),
        (["--until", "24:01"], "--until '24:01' is not a time"),
        (["--until", "12:00+01:00"], "--until '12:00+01:00' is not a time"),
        (["--since", "7"], "--since '7' is not a time"),
    ],
)  # fmt: skip
def test_a_wrong_window_is_a_sentence(
    capsys: pytest.CaptureFixture[str], lake: Path, arguments: list[str], sentence: str
) -> None:
    assert cli.main(["show", "isolations", "--lake", str(lake), *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert sentence in said.err


@pytest.mark.parametrize(
    ("text", "at_ms", "has_date"),
    [
        ("00:26:51.042", 1_611_042, False),
        ("00:26", 1_560_000, False),
        ("24:00", DAY_MS, False),
        ("2026-11-21T00:26:51Z", 1_795_220_811_000, True),
        ("2026-11-21T00:30+01:00", 1_795_217_400_000, True),
        ("2026-11-21", 1_795_219_200_000, True),
        ("1969-12-31T23:59:59.999", -1, True),
    ],
)
def test_how_a_time_is_read(text: str, at_ms: int, *, has_date: bool) -> None:
    assert TIME.convert(text, None, None) == Time(text, at_ms, has_date)


def test_a_time_with_trailing_text_is_refused() -> None:
    for text in ("24:00:00.001", "00:26:51 ", "2026-11-21T", ""):
        with pytest.raises(UsageError):
            TIME.convert(text, None, None)
