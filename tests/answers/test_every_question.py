"""Every question of `faultline show`: its headings, what narrows it, what `--at` asks, and its order."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from jobs.cli import main as cli
from jobs.tables import (
    ALLOCATION_FINDINGS,
    EVENTS,
    FINDINGS,
    ISOLATION_INTERVALS,
    QUEUE_OWNERSHIP,
    REBALANCES,
    SEND_CALLS,
    SENDS,
    Table,
)
from tests.given.lakes import publish, write_rows
from tests.given.site import D1, START

T1 = START[D1]
HEADINGS = {
    "events": (
        "from until answered_again brokers kind severity producers_hit of avoided_by avoided_until ms_after lost"
        " saved slow"
    ),
    "findings": "from until severity kind cause in_words",
    "isolations": "from until broker group host client cause latency_ms ended_by enforced client_id",
    "calls": "from took_ms group host client topic brokers_tried outcome failed retried slow fault_latency client_id",
    "sends": "ended group host client topic broker queue mode attempt latency_ms outcome client_id",
    "owners": "from until group topic broker queue held_by should_be_held_by known_from",
    "group-findings": "from until group topic broker queue kind cause in_words",
    "rebalances": "at group topic trigger joined left queues moved needed",
}
NOTHING = {
    "events": "no event", "findings": "no finding", "isolations": "no isolation", "sends": "no send attempt",
    "calls": "no such send; plain_calls counts the plain ones",
    "owners": "no owner", "group-findings": "no finding about a group", "rebalances": "no rebalance",
}  # fmt: skip
COLUMNS = {
    "broker": "broker_name", "producer": "client_id", "group": "consumer_group", "topic": "topic", "kind": "kind",
    "severity": "severity", "cause": "cause", "outcome": "outcome", "source": "source",
}  # fmt: skip
NARROWED_BY = {
    "events": ("broker", "kind", "severity"),
    "findings": ("kind", "severity", "cause", "broker", "producer", "group", "topic"),
    "isolations": ("broker", "producer", "group", "cause"),
    "calls": ("broker", "producer", "group", "topic", "outcome"),
    "sends": ("broker", "producer", "group", "topic", "outcome"),
    "owners": ("group", "topic", "broker", "source"),
    "group-findings": ("group", "topic", "broker", "kind", "cause"),
    "rebalances": ("group", "topic"),
}
WORDS = {
    ("events", "kind"): ("BUSY", "MIXED"),
    ("events", "severity"): ("INFO", "WARNING"),
    ("findings", "kind"): ("CLOCK_STEP", "LONE_ISOLATION"),
    ("findings", "severity"): ("INFO", "WARNING"),
    ("findings", "cause"): ("CLOCK", "SETTINGS"),
    ("owners", "source"): ("CLIENT_LOG", "RUNNING_INFO"),
    ("group-findings", "kind"): ("FLAPPING", "UNASSIGNED"),
    ("group-findings", "cause"): ("CLIENT_SILENT", "UNEXPLAINED"),
}
"""Of a column with a closed list the word of one row, and that of the others."""
TABLES: Mapping[str, tuple[Table, str, str | None]] = {
    "events": (EVENTS, "bad_from_ms", "last_bad_ms"),
    "findings": (FINDINGS, "start_ms", "end_ms"),
    "isolations": (ISOLATION_INTERVALS, "start_ms", "end_ms"),
    "calls": (SEND_CALLS, "start_ms", "end_ms"),
    "sends": (SENDS, "ended_at_ms", None),
    "owners": (QUEUE_OWNERSHIP, "start_ms", "end_ms"),
    "group-findings": (ALLOCATION_FINDINGS, "start_ms", "end_ms"),
    "rebalances": (REBALANCES, "changed_at_ms", None),
}


def _column(question: str, option: str) -> str:
    if option == "group" and question in {"calls", "findings", "isolations", "sends"}:
        return "producer_group"
    lists = {"calls": "broker_names", "events": "brokers"}
    return lists[question] if option == "broker" and question in lists else COLUMNS[option]


def _cell(question: str, option: str, place: int) -> object:
    """As a row of the table has it."""
    value = _value(question, option, place)
    return ["before", value] if _column(question, option) in {"broker_names", "brokers"} else value


def _value(question: str, option: str, place: int) -> str:
    return WORDS.get((question, option), ("this", "other"))[place]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of each question a row that differs from the others in one column alone, and each a second later than the one
    before; written in the wrong order."""
    root = tmp_path_factory.mktemp("questions")
    publish(root, D1)
    publish(root, D1, flow="ALLOCATION")
    for question, (table, start, end) in TABLES.items():
        others: dict[str, Any] = {
            _column(question, option): _cell(question, option, 1) for option in NARROWED_BY[question]
        }
        rows = []
        for place, option in enumerate([*NARROWED_BY[question], None]):
            changed = (
                {_column(question, option): _cell(question, option, 0)}
                if option
                else {"queue_id": 7, "broker_name": "this:one"}
            )
            at_ms = {start: T1 + 1_000 * place} | ({end: T1 + 1_000 * place + 1_000} if end else {})
            rows.append({"event_date": D1, "cluster": "main", "queue_id": 1, **others, **changed, **at_ms})
        write_rows(
            root, table, [{key: row[key] for key in row if key in table.schema.fieldNames()} for row in rows[::-1]]
        )
    return root


def _said(capsys: pytest.CaptureFixture[str], lake: Path, *arguments: str) -> str:
    assert cli.main(["show", *arguments, "--lake", str(lake)]) == 0
    return capsys.readouterr().out


def _rows(capsys: pytest.CaptureFixture[str], lake: Path, *arguments: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(_said(capsys, lake, *arguments, "--json"))["rows"]
    return rows


@pytest.mark.parametrize("question", TABLES)
def test_headings_and_order(capsys: pytest.CaptureFixture[str], lake: Path, question: str) -> None:
    _, headings, *lines = _said(capsys, lake, question).splitlines()
    expected = [heading.replace("_", " ") for heading in HEADINGS[question].split()]
    assert [cell.strip() for cell in headings.split("  ") if cell.strip()] == expected
    starts = [line.split()[0] for line in lines]
    in_time = range(len(NARROWED_BY[question]) + 1)
    order = {"owners": (3, 2, 4, 1, 0)}.get(question, in_time)  # owners by group, topic and queue, then in time
    assert starts == [f"00:00:{second:02}.000" for second in order]


@pytest.mark.parametrize("question", TABLES)
def test_every_column_is_in_json_and_csv(capsys: pytest.CaptureFixture[str], lake: Path, question: str) -> None:
    columns = TABLES[question][0].schema.fieldNames()
    assert list(_rows(capsys, lake, question)[0]) == columns
    assert _said(capsys, lake, question, "--csv").splitlines()[0] == ",".join(columns)


@pytest.mark.parametrize("question", TABLES)
def test_nothing_found_is_said(capsys: pytest.CaptureFixture[str], lake: Path, question: str) -> None:
    """Of two names that the lake holds, but no row together."""
    options = [option for option in NARROWED_BY[question] if (question, option) not in WORDS][:2]
    given = [word for option in options for word in (f"--{option}", _value(question, option, 0))]
    when = f"{D1}"
    if len(options) < 2:
        given, when = [*given, "--since", "23:00"], f"{D1} 23:00:00.000 to 24:00"
    said = _said(capsys, lake, question, *given)
    assert said == f"{question}, {when} UTC, cluster main: {NOTHING[question]}\n"


@pytest.mark.parametrize(("question", "option"), [(name, each) for name in NARROWED_BY for each in NARROWED_BY[name]])
def test_an_option_narrows_by_its_column(
    capsys: pytest.CaptureFixture[str], lake: Path, question: str, option: str
) -> None:
    value = _value(question, option, 0)
    (row,) = _rows(capsys, lake, question, f"--{option}", value)
    assert [name for name, cell in row.items() if cell in (value, ["before", value])] == [_column(question, option)]


@pytest.mark.parametrize(("question", "option"), WORDS)
def test_letter_case_of_a_word_does_not_matter(
    capsys: pytest.CaptureFixture[str], lake: Path, question: str, option: str
) -> None:
    value = _value(question, option, 0)
    (row,) = _rows(capsys, lake, question, f"--{option}", f"{value[:3].lower()}{value[3:].title()}")
    assert row[_column(question, option)] == value


@pytest.mark.parametrize("question", TABLES)
def test_other_options_are_refused(capsys: pytest.CaptureFixture[str], lake: Path, question: str) -> None:
    for option in set(COLUMNS) - set(NARROWED_BY[question]):
        assert cli.main(["show", question, f"--{option}", "this", "--lake", str(lake)]) == 2
        flags = ("failed", "retried", "slow") if question == "calls" else ()
        takes = ", ".join(f"--{each}" for each in (*NARROWED_BY[question], *flags))
        assert f"--{option} does not narrow {question}; use {takes}" in capsys.readouterr().err


@pytest.mark.parametrize("question", TABLES)
def test_a_queue_narrows_where_rows_have_one(capsys: pytest.CaptureFixture[str], lake: Path, question: str) -> None:
    if question not in {"owners", "group-findings", "sends"}:
        assert cli.main(["show", question, "--queue", "7", "--lake", str(lake)]) == 2
        assert f"--queue does not narrow {question}" in capsys.readouterr().err
        return
    for queue in ("7", "this:one:7"):
        (row,) = _rows(capsys, lake, question, "--queue", queue)
        assert (row["queue_id"], row["broker_name"]) == (7, "this:one")
    assert _rows(capsys, lake, question, "--queue", "other:7") == []


@pytest.mark.parametrize("question", TABLES)
def test_what_stands_at_an_instant(capsys: pytest.CaptureFixture[str], lake: Path, question: str) -> None:
    _, start, end = TABLES[question]
    if end is None:
        assert cli.main(["show", question, "--at", "2026-03-01T00:00:01Z", "--lake", str(lake)]) == 2
        assert f"--at does not go with {question}, whose rows are moments" in capsys.readouterr().err
        return
    (row,) = _rows(capsys, lake, question, "--at", "2026-03-01T00:00:01Z")  # the first is over, the second begins
    assert row[start] == T1 + 1_000
