"""Owners that settings give: joined to what `show` and the page say of a group, and to nothing else."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from jobs.answers.published import open_published
from jobs.answers.report import render
from jobs.cli import main as cli
from jobs.tables import ALLOCATION_FINDINGS, EVENTS, FINDINGS, GROUP_EVENTS, ISOLATION_INTERVALS
from tests.given.hostile_night import NIGHT, START, isolation
from tests.given.lakes import publish, write_rows

OWNERS = {"PG_*": "platform", "PG_orders": "<b>team</b>", "GID_*": "team-stock"}
WHERE = {"event_date": NIGHT, "cluster": "main"}


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A lake, and `site.toml` beside it."""
    lake = tmp_path / "lake"
    lake.mkdir()
    publish(lake, NIGHT)
    groups = ("PG_orders", "PG_else", "other")
    rows = [isolation(f"h{number}@1", "b", 0, 9, producer_group=group) for number, group in enumerate(groups)]
    write_rows(lake, ISOLATION_INTERVALS, rows)
    lasts = {"start_ms": START, "end_ms": START + 5}
    of_producer = {"kind": "CLOCK_STEP", "cause": "CLOCK", "severity": "INFO", "sentence": "its clock was set"}
    write_rows(lake, FINDINGS, [WHERE | lasts | of_producer | {"producer_group": "PG_orders"}])
    of_group = {"kind": "FLAPPING", "cause": "NONE_NEEDED", "basis": "EXPECTED", "sentence": "it comes and goes"}
    write_rows(lake, ALLOCATION_FINDINGS, [WHERE | lasts | of_group | {"consumer_group": "GID_a"}])
    write_rows(lake, EVENTS, [WHERE | {"brokers": ["b"]}])
    names = "".join(f"{json.dumps(name)} = {json.dumps(owner)}\n" for name, owner in OWNERS.items())
    (tmp_path / "site.toml").write_text(f"[owners]\n{names}", encoding="utf-8")
    return lake


def _show(capsys: pytest.CaptureFixture[str], lake: Path, *words: str, with_owners: bool = True) -> str:
    settings = ("--settings", str(lake.parent / "site.toml")) if with_owners else ()
    assert cli.main(["show", *words, "--lake", str(lake), *settings]) == 0
    return capsys.readouterr().out


def test_rows_of_a_group_have_its_owner(capsys: pytest.CaptureFixture[str], lake: Path) -> None:
    shown = json.loads(_show(capsys, lake, "isolations", "--json"))["rows"]
    found = [(row["producer_group"], row["owner"]) for row in shown]
    assert found == [("PG_orders", "<b>team</b>"), ("PG_else", "platform"), ("other", None)]
    lines = _show(capsys, lake, "isolations").splitlines()
    assert lines[1].split()[3:7] == ["group", "owner", "host", "client"]
    assert [line.split()[3:7] for line in lines[2:5]] == [
        ["PG_orders", "<b>team</b>", "h0", "5.3.3"], ["PG_else", "platform", "h1", "5.3.3"],
        ["other", "–", "h2", "5.3.3"],
    ]  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(_show(capsys, lake, "group-findings", "--csv"))))
    assert [(row["consumer_group"], row["owner"]) for row in rows] == [("GID_a", "team-stock")]
    write_rows(lake, GROUP_EVENTS, [WHERE | {"consumer_group": "GID_a", "start_ms": START, "kind": "JOINED"}])
    lines = _show(capsys, lake, "group-events").splitlines()
    assert [line.split()[2:4] for line in lines[1:3]] == [["group", "owner"], ["GID_a", "team-stock"]]


@pytest.mark.parametrize(("words", "with_owners"), [(("events",), True), (("isolations",), False)])
def test_what_is_of_no_group_and_settings_without_owners_have_none(
    capsys: pytest.CaptureFixture[str], lake: Path, words: tuple[str, ...], *, with_owners: bool
) -> None:
    rows: list[dict[str, Any]] = json.loads(_show(capsys, lake, *words, "--json", with_owners=with_owners))["rows"]
    assert rows
    assert all("owner" not in row for row in rows)
    assert "owner" not in _show(capsys, lake, *words, with_owners=with_owners)


def test_a_csv_without_rows_has_the_column_too(capsys: pytest.CaptureFixture[str], lake: Path) -> None:
    (header,) = _show(capsys, lake, "isolations", "--at", "23:00", "--csv").splitlines()
    assert header.endswith(",owner")


def test_the_page_says_owners_as_text(lake: Path) -> None:
    """Beside the isolations of each group, the finding and the consumer group, which is in two tables."""
    page = render(open_published(str(lake), None, None, None), OWNERS)
    owner = '<small class="owner"><bdi>{}</bdi></small>'
    counts = {name: page.count(owner.format(name)) for name in ("&lt;b&gt;team&lt;/b&gt;", "platform", "team-stock")}
    assert counts == {"&lt;b&gt;team&lt;/b&gt;": 2, "platform": 1, "team-stock": 2}
    assert 'class="owner"' not in render(open_published(str(lake), None, None, None))


def test_a_report_takes_owners_from_its_settings(capsys: pytest.CaptureFixture[str], lake: Path) -> None:
    page = lake.parent / "page.html"
    where = ("--lake", str(lake), "--settings", str(lake.parent / "site.toml"))
    assert cli.main(["report", *where, "--output", str(page)]) == 0
    assert "wrote" in capsys.readouterr().out
    assert ">team-stock<" in page.read_text(encoding="utf-8")
