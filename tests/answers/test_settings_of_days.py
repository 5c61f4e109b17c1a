"""Days of one answer that were published with different settings are named, in `show` and on the page."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from jobs.answers.published import open_published
from jobs.answers.report import render
from jobs.answers.settings_of_days import other_settings
from jobs.cli import main as cli
from jobs.tables import RUN_LOG
from tests.given.lakes import write_rows

OTHER = "with other settings than"
RECOMPUTE = "`faultline fault-latency --recompute"
ONE_OF_TWO = "run it again for one of the two"
D1, D2, D3 = (dt.date(2026, 3, day) for day in (1, 2, 3))
FIRST_TWO = f" --from {D1} --to {D2}"


def ran(day: dt.date, settings: str | None, *, seq: int = 1, read: str | None = None, **changes: Any) -> dict[str, Any]:
    """An event of the run log."""
    event = {"event_date": day, "cluster": "main", "flow": "FAULT_LATENCY", "status": "SUCCEEDED", "event_seq": seq}
    at = dt.datetime(2026, 3, 9, seq, tzinfo=dt.UTC)
    return {
        **event,
        "logged_at": at,
        "settings_hash": settings,
        "input_settings_hash": read,
        "code_version": "1.0",
        **changes,
    }


@pytest.mark.parametrize(
    ("events", "sentence"),
    [
        ([ran(D1, "a"), ran(D2, "a"), ran(D3, "a")], None),
        (
            [ran(D1, "a"), ran(D2, "a"), ran(D3, "b")],
            f"fault-latency published {D1}, {D2} with other settings than {D3}: run it again for those",
        ),
        (
            [ran(D1, "a"), ran(D2, "b"), ran(D3, "a")],
            "fault-latency published 2026-03-02 with other settings than 2026-03-03: run it again for one of the two",
        ),
        # Of a day the run that succeeded last counts, whether or not a later one failed.
        ([ran(D1, "a"), ran(D3, "b"), ran(D1, "b", seq=2)], None),
        ([ran(D1, "a"), ran(D3, "a"), ran(D1, "b", seq=2, status="FAILED")], None),
        ([ran(D1, "a", seq=2), ran(D3, "a", seq=1), ran(D1, "b", seq=1)], None),
        # Each flow has its own; what another cluster did is not asked for.
        ([ran(D1, "a"), ran(D3, "b", flow="ALLOCATION")], None),
        ([ran(D1, "a"), ran(D3, "a"), ran(D1, "b", cluster="other")], None),
        (
            [ran(D3, "a"), ran(D1, "x", flow="ALLOCATION"), ran(D3, "y", flow="ALLOCATION")],
            "allocation published 2026-03-01 with other settings than 2026-03-03: run it again for one of the two",
        ),
        # Another release may only hash otherwise; an earlier one hashed nothing.
        (
            [ran(D1, "a", code_version="0.9"), ran(D3, "b")],
            f"fault-latency published {D1} with other settings or by another release than {D3}: {ONE_OF_TWO}",
        ),
        ([ran(D1, None), ran(D3, "b")], None),
        # Lines that were all read alike need no input again, but only sends are in the lake.
        (
            [ran(D1, "a", read="i"), ran(D2, "b", read="i"), ran(D3, "b", read="i")],
            f"fault-latency published {D1} with other settings than {D3}: {RECOMPUTE} --date {D1}` recomputes it",
        ),
        (
            [ran(D1, "a", read="i"), ran(D2, "a", read="i"), ran(D3, "b", read="i")],
            f"fault-latency published {D1}, {D2} {OTHER} {D3}: {RECOMPUTE}{FIRST_TWO}` recomputes those",
        ),
        (
            [ran(D1, "a", read="i", flow="ALLOCATION"), ran(D3, "b", read="i", flow="ALLOCATION")],
            f"allocation published {D1} with other settings than {D3}: {ONE_OF_TWO}",
        ),
        (
            [ran(D1, "a", read="h"), ran(D3, "b", read="i")],
            f"fault-latency published {D1} with other settings than {D3}: {ONE_OF_TWO}",
        ),
        # Recomputed with the settings of today, from lines that were read with others.
        (
            [ran(D1, "b", read="h"), ran(D3, "b", read="i")],
            f"fault-latency published {D1} with other settings than {D3}: {ONE_OF_TWO}",
        ),
        ([ran(D1, "b"), ran(D3, "b", read="i")], None),
    ],
    ids=range(17),
)
def test_days_with_other_settings_are_named(tmp_path: Path, events: list[dict[str, Any]], sentence: str | None) -> None:
    write_rows(tmp_path, RUN_LOG, events)
    assert other_settings(open_published(str(tmp_path), "main", D1, D3)) == sentence
    assert other_settings(open_published(str(tmp_path), "main", D3, D3)) is None


def test_show_and_the_page_say_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write_rows(tmp_path, RUN_LOG, [ran(D1, "a"), ran(D2, "b")])
    sentence = "published 2026-03-01 with other settings than 2026-03-02: run it again for one of the two"
    span = ("--from", f"{D1}", "--to", f"{D2}")
    assert cli.main(["show", "events", "--lake", str(tmp_path), *span]) == 0
    assert f"faultline: fault-latency {sentence}\n" in capsys.readouterr().err
    assert cli.main(["show", "events", "--lake", str(tmp_path), "--date", f"{D2}"]) == 0
    assert "settings" not in capsys.readouterr().err
    page = render(open_published(str(tmp_path), "main", D1, D2))
    assert f'<p class="unsure">Fault-latency {sentence}.</p>' in page


def test_many_days_are_counted(tmp_path: Path) -> None:
    days = [dt.date(2026, 3, 1) + dt.timedelta(days=number) for number in range(13)]
    write_rows(tmp_path, RUN_LOG, [ran(day, "a" if day != days[-1] else "b") for day in days])
    found = other_settings(open_published(str(tmp_path), "main", days[0], days[-1]))
    assert found is not None
    assert found.startswith("fault-latency published 2026-03-03, ")
    assert " 2026-03-12 and 2 earlier days with other settings than 2026-03-13: run it again for those" in found
