"""`faultline show`: rows of the published tables in a terminal, whatever the names in them look like."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import re
import shutil
from pathlib import Path
from typing import Any, cast

import pytest
from pyarrow.fs import LocalFileSystem

from jobs.answers.delta_table import _filesystem
from jobs.answers.forms import as_csv
from jobs.answers.published import Published, open_published
from jobs.answers.questions import QUESTIONS
from jobs.answers.report import render
from jobs.answers.show import Answer
from jobs.cli import main as cli
from jobs.cli.show import FLAGS, NAMES, NIGHT, SUBJECTS
from jobs.errors import InputMissingError
from jobs.spark import environment
from jobs.tables import (
    FINDINGS,
    ISOLATION_INTERVALS,
    QUEUE_ALLOCATION,
    QUEUE_OWNERSHIP,
    REBALANCES,
    RUN_LOG,
    SENDS,
    Table,
)
from tests.given.lakes import publish, write_rows
from tests.given.site import D1, D2, START

pytestmark = pytest.mark.usefixtures("own_folder")

T1, T2 = START[D1], START[D2]
SQL = "x' OR '1'='1'; DROP TABLE sends --"
ANSI = "\x1b[31mred\x1b]0;owned\x07"
FORMULA = '=HYPERLINK("http://evil","x")'


def isolation(start_ms: int, end_ms: int, **other: object) -> dict[str, Any]:
    day, start = (D1, T1) if start_ms < 86_400_000 else (D2, T1)
    return {
        "event_date": day, "cluster": "main", "client_id": "p1", "broker_name": "broker-a", "process": "A",
        "start_ms": start + start_ms, "end_ms": start + end_ms, "cause": "LATENCY", "ended_by": "EXPIRED",
        "opener_latency_ms": 600, "enforced": True, **other,
    }  # fmt: skip


def owned(client_id: str, from_ms: int, until_ms: int, **other: object) -> dict[str, Any]:
    return {
        "event_date": D1, "cluster": "main", "consumer_group": "g", "topic": "T", "broker_name": "broker-a",
        "queue_id": 3, "client_id": client_id, "start_ms": T1 + from_ms, "end_ms": T1 + until_ms, **other,
    }  # fmt: skip


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("lake")
    publish(root, D1, D2)
    publish(root, D1, D2, flow="ALLOCATION")
    publish(root, D1, cluster="other")
    write_rows(
        root,
        ISOLATION_INTERVALS,
        [
            isolation(5_000, 7_000),
            isolation(1_000, 31_000, client_id="p2", producer_group="PG", client_version="5.3.3"),
            isolation(2_000, 2_500, broker_name="broker-b", enforced=False),
            isolation(3_000, 4_000, broker_name=SQL, client_id=ANSI),
            isolation(3_500, 4_000, broker_name="broker-c", client_id=FORMULA),
            isolation(3_600, 4_000, broker_name="broker-c", client_id="-1\nsecond line,\u202eRTL"),
            isolation(86_400_000, 86_401_000, client_id="p1"),
            isolation(1_000, 2_000, cluster="other", client_id="elsewhere"),
        ],
    )
    write_rows(root, QUEUE_OWNERSHIP, [owned("c1", 0, 10_000, source="CLIENT_LOG", process="log"),
                                       owned("c2", 10_000, 86_400_000, source="RUNNING_INFO")])  # fmt: skip
    write_rows(root, QUEUE_ALLOCATION, [owned("c1", 0, 8_000), owned("c2", 8_000, 86_400_000, queue_id=4)])
    change = {"consumer_group": "g", "topic": "T", "changed_at_ms": T1 + 8_000, "joined": ["c2", ANSI], "moved": 1}
    write_rows(root, REBALANCES, [{"event_date": D1, "cluster": "main", "queues": 4, **change}])
    send = {"client_id": "p1", "broker_name": "broker-a", "outcome": "SEND_OK", "queue_id": -1}
    sends = [{"event_date": D1, "cluster": "main", "ended_at_ms": T1 + each, **send} for each in range(5)]
    write_rows(root, SENDS, sends)
    return root


class Said:
    """What `faultline show` says."""

    def __init__(self, capsys: pytest.CaptureFixture[str], lake: Path, *arguments: str) -> None:
        self.code = cli.main(["show", *arguments, "--lake", str(lake)])
        self.out, self.err = capsys.readouterr()

    @property
    def rows(self) -> list[dict[str, Any]]:
        assert self.code == 0, self.err
        found: list[dict[str, Any]] = json.loads(self.out)["rows"]
        return found


def test_every_question_is_one_that_the_command_line_knows() -> None:
    assert [NIGHT, *QUESTIONS] == list(SUBJECTS)
    for question in QUESTIONS.values():
        names = set(question.table.schema.fieldNames())
        assert {
            *question.screen,
            *question.order,
            *question.narrowed_by.values(),
            *(question.interval or ()),
        } <= names | {"host", "owner", "held_by", "should_be_held_by"}
        assert question.narrowed_by.keys() <= {*NAMES, *FLAGS}


def test_isolations_of_a_broker_as_text(capsys: pytest.CaptureFixture[str], lake: Path) -> None:
    said = Said(capsys, lake, "isolations", "--broker", "broker-a", "--date", f"{D1}", "--cluster", "main")
    assert said.code == 0
    assert [line.split() for line in said.out.splitlines()[1:]] == [
        [
            "from",
            "until",
            "broker",
            "group",
            "host",
            "client",
            "cause",
            "latency",
            "ms",
            "ended",
            "by",
            "enforced",
            "client",
            "id",
        ],
        [
            "00:00:01.000",
            "00:00:31.000",
            "broker-a",
            "PG",
            "–",
            "5.3.3",
            "slow",
            "answer",
            "600",
            "EXPIRED",
            "yes",
            "p2",
        ],
        ["00:00:05.000", "00:00:07.000", "broker-a", "–", "–", "–", "slow", "answer", "600", "EXPIRED", "yes", "p1"],
    ]
    assert said.out.startswith("isolations, 2026-03-01 UTC, cluster main\n")


@pytest.mark.fault(37)
@pytest.mark.parametrize(
    ("arguments", "clients"),
    [
        (["--producer", "p1", "--date", f"{D1}"], ["p1", "p1"]),
        (["--producer", "p1", "--from", f"{D1}", "--to", f"{D2}"], ["p1", "p1", "p1"]),
        (["--producer", "p1"], ["p1"]),  # the last published day
        (["--at", "2026-03-01T00:00:02.250Z"], ["p2", "p1"]),
        (["--at", "2026-03-01T01:00:02.250+01:00"], ["p2", "p1"]),
        (["--at", "2026-03-01T00:00:31"], []),  # the end is exclusive
        (["--date", f"{D1}", "--broker", SQL], [ANSI]),
        (["--date", f"{D1}", "--producer", FORMULA], [FORMULA]),
    ],
)
def test_options_narrow_by_equality(
    capsys: pytest.CaptureFixture[str], lake: Path, arguments: list[str], clients: list[str]
) -> None:
    rows = Said(capsys, lake, "isolations", "--json", "--cluster", "main", *arguments).rows
    assert [row["client_id"] for row in rows] == clients


@pytest.mark.fault(37)
def test_an_identifier_that_is_sql_finds_nothing_and_does_nothing(
    capsys: pytest.CaptureFixture[str], lake: Path
) -> None:
    said = Said(capsys, lake, "isolations", "--date", f"{D1}", "--cluster", "main", "--producer", SQL)
    assert (said.code, said.out) == (2, "")
    assert f"no producer '{SQL}' in 2026-03-01 of cluster 'main'" in said.err
    assert len(Said(capsys, lake, "sends", "--date", f"{D1}", "--cluster", "main", "--json").rows) == 5


@pytest.mark.fault(41)
def test_text_shows_control_characters_instead_of_passing_them_on(
    capsys: pytest.CaptureFixture[str], lake: Path
) -> None:
    out = Said(capsys, lake, "isolations", "--date", f"{D1}", "--cluster", "main").out
    assert "\\x1b[31mred\\x1b]0;owned\\x07" in out
    assert "-1\\nsecond line,\\u202eRTL" in out
    assert all(character.isprintable() for character in out.replace("\n", ""))


@pytest.mark.fault(40)
def test_a_spreadsheet_runs_nothing_of_the_csv(capsys: pytest.CaptureFixture[str], lake: Path) -> None:
    out = Said(capsys, lake, "isolations", "--date", f"{D1}", "--cluster", "main", "--csv").out
    rows = list(csv.DictReader(io.StringIO(out)))
    clients = [row["client_id"] for row in rows]
    assert f"'{FORMULA}" in clients
    assert "'-1\\nsecond line,\\u202eRTL" in clients
    assert not [cell for row in rows for cell in row.values() if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert (rows[0]["start_ms"], rows[0]["enforced"], rows[0]["client_version"]) == (f"{T1 + 1_000}", "true", "5.3.3")


@pytest.mark.fault(40)
@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx"])
def test_each_way_a_formula_may_begin_is_quoted(name: str) -> None:
    answer = Answer("isolations", cast("Published", None), ({"client_id": name, "start_ms": -1},), 0)
    (row,) = csv.DictReader(io.StringIO(as_csv(answer), newline=""))
    assert row["client_id"].startswith("'")
    assert row["start_ms"] == "-1"


@pytest.mark.fault(40)
def test_a_number_in_the_csv_stays_a_number(capsys: pytest.CaptureFixture[str], lake: Path) -> None:
    out = Said(capsys, lake, "sends", "--date", f"{D1}", "--cluster", "main", "--csv").out
    assert {row["queue_id"] for row in csv.DictReader(io.StringIO(out))} == {"-1"}


def test_rows_of_several_days_name_their_day(capsys: pytest.CaptureFixture[str], lake: Path) -> None:
    where = ("isolations", "--producer", "p1", "--cluster", "main", "--from", f"{D1}", "--to", f"{D2}")
    lines = [line.split()[:4] for line in Said(capsys, lake, *where).out.splitlines()[2:]]
    assert lines == [
        ["2026-03-01", "00:00:02.000", "2026-03-01", "00:00:02.500"],
        ["2026-03-01", "00:00:05.000", "2026-03-01", "00:00:07.000"],
        ["2026-03-02", "00:00:00.000", "2026-03-02", "00:00:01.000"],
    ]


def test_the_settings_name_the_cluster_unless_an_option_does(
    capsys: pytest.CaptureFixture[str], lake: Path, tmp_path: Path
) -> None:
    settings = tmp_path / "site.toml"
    settings.write_text('cluster = "other"\n', encoding="utf-8")
    where = ("isolations", "--date", f"{D1}", "--json")
    assert Said(capsys, lake, *where).code == InputMissingError.exit_code
    own = Said(capsys, lake, *where, "--settings", str(settings))
    assert [row["client_id"] for row in own.rows] == ["elsewhere"]
    asked = Said(capsys, lake, *where, "--settings", str(settings), "--cluster", "main", "--producer", "p2")
    assert [row["cluster"] for row in asked.rows] == ["main"]


def test_json_keeps_names_as_they_are(capsys: pytest.CaptureFixture[str], lake: Path) -> None:
    said = Said(capsys, lake, "isolations", "--date", f"{D1}", "--cluster", "main", "--json")
    assert ANSI in [row["client_id"] for row in said.rows]
    assert "\x1b" not in said.out
    assert json.loads(said.out)["days"] == [f"{D1}"]


@pytest.mark.fault(32)
def test_what_a_limit_leaves_out_is_counted(capsys: pytest.CaptureFixture[str], lake: Path) -> None:
    where = ("sends", "--date", f"{D1}", "--cluster", "main")
    assert "  3 more are not shown" in Said(capsys, lake, *where, "--limit", "2").out
    few = json.loads(Said(capsys, lake, *where, "--limit", "2", "--json").out)
    everything = json.loads(Said(capsys, lake, *where, "--limit", "0", "--json").out)
    assert (few["not_shown"], everything["not_shown"]) == (3, 0)
    assert few["rows"] == everything["rows"][:2]
    all_of_it = Said(capsys, lake, *where, "--limit", "0").out
    assert "broker-a" in all_of_it
    assert "not shown" not in all_of_it


def test_owners_and_who_should_have_been(capsys: pytest.CaptureFixture[str], lake: Path) -> None:
    where = ("owners", "--date", f"{D1}", "--cluster", "main", "--group", "g")
    at = Said(capsys, lake, *where, "--queue", "broker-a:3", "--at", "2026-03-01T00:00:01Z", "--json").rows
    assert [(row["client_id"], row["source"]) for row in at] == [("c1", "CLIENT_LOG"), ("c1", "STRATEGY")]
    later = Said(capsys, lake, *where, "--queue", "broker-a:3", "--at", "2026-03-01T12:00:00Z").out
    assert later.splitlines()[2:] == [
        "  00:00:10.000  24:00:00.000  g      T      broker-a  3      c2       –                  RUNNING_INFO"
    ]
    strategy = Said(capsys, lake, *where, "--source", "STRATEGY", "--json").rows
    assert [row["queue_id"] for row in strategy] == [3, 4]


def test_who_should_hold_a_queue_stands_under_a_heading_of_its_own(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    publish(tmp_path, D1)
    publish(tmp_path, D1, flow="ALLOCATION")
    write_rows(tmp_path, QUEUE_OWNERSHIP, [owned("c1", 0, 1_000, source="CLIENT_LOG")])
    nobody: dict[str, Any] = owned("", 2_000, 3_000) | {"client_id": None}
    write_rows(tmp_path, QUEUE_ALLOCATION, [owned("c2", 1_000, 2_000), nobody])
    _, headings, *lines = Said(capsys, tmp_path, "owners").out.splitlines()
    assert [each.strip() for each in headings.split("  ") if each.strip()][-3:] == [
        "held by",
        "should be held by",
        "known from",
    ]
    assert [line.split()[6:] for line in lines] == [
        ["c1", "–", "CLIENT_LOG"],
        ["–", "c2", "STRATEGY"],
        ["–", "nobody", "STRATEGY"],
    ]


def test_rows_without_length_are_explained(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    publish(tmp_path, D1)
    write_rows(tmp_path, ISOLATION_INTERVALS, [isolation(1_000, 2_000)])
    assert "without length" not in Said(capsys, tmp_path, "isolations").out
    write_rows(
        tmp_path, ISOLATION_INTERVALS, [isolation(5_000, 5_000), isolation(6_000, 6_000), isolation(7_000, 7_001)]
    )
    assert Said(capsys, tmp_path, "isolations").out.splitlines()[-1] == (
        "  2 rows without length: only another order of attempts that ended at one time would have isolated the broker,"
        " until end_latest_ms"
    )


def test_a_limit_holds_for_owners_of_both_tables_together(capsys: pytest.CaptureFixture[str], lake: Path) -> None:
    where = ("owners", "--date", f"{D1}", "--cluster", "main", "--json")
    everything = Said(capsys, lake, *where, "--limit", "0").rows
    assert [(row["queue_id"], row["client_id"], row["source"]) for row in everything] == [
        (3, "c1", "CLIENT_LOG"),
        (3, "c1", "STRATEGY"),
        (3, "c2", "RUNNING_INFO"),
        (4, "c2", "STRATEGY"),
    ]
    for limit in (1, 2, 3, 4):
        few = json.loads(Said(capsys, lake, *where, "--limit", f"{limit}").out)
        assert (few["rows"], few["not_shown"]) == (everything[:limit], 4 - limit)


@pytest.mark.parametrize(
    ("source", "unread", "shown"), [("STRATEGY", QUEUE_OWNERSHIP, 2), ("CLIENT_LOG", QUEUE_ALLOCATION, 1)]
)
@pytest.mark.parametrize("limit", ["0", "100"])
def test_a_table_that_a_source_rules_out_is_not_read(
    capsys: pytest.CaptureFixture[str], lake: Path, tmp_path: Path, source: str, unread: Table, shown: int, limit: str
) -> None:
    shutil.copytree(lake, tmp_path / "lake")
    for file in (tmp_path / "lake" / unread.name).rglob("*.parquet"):
        file.unlink()
    where = ("owners", "--date", f"{D1}", "--cluster", "main", "--limit", limit)
    rows = Said(capsys, tmp_path / "lake", *where, "--source", source, "--json").rows
    assert [row["source"] for row in rows] == [source] * shown
    assert list(rows[0]) == QUEUE_OWNERSHIP.schema.fieldNames()
    assert "cannot read table" in Said(capsys, tmp_path / "lake", *where).err


def test_the_help_says_what_can_be_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["show", "--help"]) == 0
    assert "\n  owners          who held which queue, and who should have\n" in capsys.readouterr().out


def test_lists_stand_in_one_cell(capsys: pytest.CaptureFixture[str], lake: Path) -> None:
    where = ("rebalances", "--date", f"{D1}", "--cluster", "main")
    assert "c2, \\x1b[31mred" in Said(capsys, lake, *where).out
    assert "c2; \\x1b[31mred" in Said(capsys, lake, *where, "--csv").out


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["events", "--date", "2026-02-01", "--cluster", "main"], 3, "nothing of 2026-02-01 is published"),
        (["events", "--date", "2026-02-01", "--cluster", "main"], 3, "there is 2026-03-01, 2026-03-02"),
        (["events"], 3, "holds 2 clusters; name one of them with --cluster: 'main', 'other'"),
        (["events", "--cluster", "mian"], 3, "cluster 'mian' has no published day"),
        (["weather"], 2, "WHAT 'weather' is none of night, events, findings,"),
        (["events", "--group", "g", "--cluster", "main"], 2, "--group does not narrow events; use --broker"),
        (["events", "--queue", "a:1", "--cluster", "main"], 2, "--queue does not narrow events"),
        (["owners", "--queue", "broker-a:x", "--cluster", "main"], 2, "--queue 'broker-a:x' is not a queue"),
        (["events", "--at", "noon"], 2, "--at 'noon' is not a time; write it like 2026-11-21T00:26:51Z, or"),
        (["events", "--limit", "many"], 2, "--limit 'many' is not a number of rows"),
        (["events", "--limit", "9" * 20], 2, f"--limit '{'9' * 20}' is not a number of rows"),
        (
            ["owners", "--queue", f"broker-a:{'9' * 20}", "--cluster", "main"],
            2,
            "is not a queue; write it like broker-a:3",
        ),
        (["sends", "--at", "2026-03-01T00:00:00Z", "--cluster", "main"], 2, "--at does not go with sends"),
        (["events", "--date", "2026-03-01", "--from", "2026-03-01"], 2, "exclude each other"),
        (["events", "--json", "--csv"], 2, "--json and --csv exclude each other; give one of them"),
    ],
)
def test_a_mistake_is_a_sentence(
    capsys: pytest.CaptureFixture[str], lake: Path, arguments: list[str], code: int, sentence: str
) -> None:
    said = Said(capsys, lake, *arguments)
    assert (said.code, said.out) == (code, "")
    assert sentence in said.err


def test_no_lake_is_a_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    said = Said(capsys, tmp_path / "none", "events")
    assert said.code == 1
    assert "none is not a lake: it holds no run log" in said.err
    assert not (tmp_path / "none").exists()


@pytest.mark.fault(35)
def test_a_lake_of_another_release(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    publish(tmp_path, D1)
    assert Said(capsys, tmp_path, "findings").out == "findings, 2026-03-01 UTC, cluster main: no finding\n"
    write_rows(tmp_path, FINDINGS, [{"event_date": D1, "cluster": "main"}], version=FINDINGS.version + 1)
    newer = Said(capsys, tmp_path, "findings")
    assert (newer.code, newer.out) == (1, "")
    assert f"has version {FINDINGS.version + 1}, this program reads {FINDINGS.version}" in newer.err


@pytest.mark.fault(33)
def test_an_empty_commit_is_a_sentence_and_not_a_table_without_its_rows(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    publish(tmp_path, D1)
    write_rows(tmp_path, ISOLATION_INTERVALS, [isolation(1, 2)])
    (tmp_path / "isolation_intervals/_delta_log" / f"{1:020}.json").write_text("")
    said = Said(capsys, tmp_path, "isolations")
    assert (said.code, said.out) == (1, "")
    assert f"_delta_log/{1:020}.json is empty or not JSON" in said.err


@pytest.mark.fault(33)
def test_a_lost_file_is_a_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    publish(tmp_path, D1)
    write_rows(tmp_path, ISOLATION_INTERVALS, [isolation(1, 2)])
    for file in (tmp_path / "isolation_intervals").rglob("*.parquet"):
        file.unlink()
    said = Said(capsys, tmp_path, "isolations")
    assert said.code == 1
    assert said.err.startswith("faultline: cannot read table isolation_intervals in ")


def test_no_thread_of_arrow_needs_python_while_python_ends() -> None:
    local = _filesystem("/lake/sends")
    assert local is not None
    assert isinstance(local.base_fs, LocalFileSystem)
    assert _filesystem("s3://bucket/lake/sends") is None


@pytest.mark.fault(36)
def test_without_the_extra_it_says_how_to_get_it(
    capsys: pytest.CaptureFixture[str], lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "find_spec", lambda _: None)
    said = Said(capsys, lake, "events")
    assert said.code == 2
    assert "faultline show needs packages that are not installed; run: " in said.err
    assert said.err.endswith("-m pip install deltalake\n")


@pytest.mark.fault(41)
def test_a_long_name_is_shortened_in_the_text_and_whole_in_json_and_csv(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    long, spaced = "x" * 10_000, "a b " * 2_500
    publish(tmp_path, D1, cluster=long)
    write_rows(tmp_path, ISOLATION_INTERVALS, [isolation(0, 1_000, cluster=long, broker_name=long, client_id=spaced)])
    write_rows(
        tmp_path,
        FINDINGS,
        [{"event_date": D1, "cluster": long, "sentence": f"{long} is slow: mend it"}],
    )
    for question in ("isolations", "findings"):
        arguments = ["show", question, "--lake", str(tmp_path)]
        assert cli.main(arguments) == 0
        text = capsys.readouterr().out
        assert "xxx…xxx" in text
        assert max(map(len, text.splitlines())) < 700
        for form in ("--json", "--csv"):
            assert cli.main([*arguments, form]) == 0
            assert long in capsys.readouterr().out
    assert re.search("  x+…x+ is slow: mend it$", text.strip())
    assert cli.main(["show", "events", "--lake", str(tmp_path), "--cluster", "y"]) == 3
    assert len(capsys.readouterr().err) < 700


def _event(status: str, hour: int, flow: str = "FAULT_LATENCY") -> dict[str, Any]:
    at = dt.datetime(2026, 3, 2, hour, tzinfo=dt.UTC)
    return {"event_date": D1, "cluster": "main", "flow": flow, "status": status, "run_id": f"r{hour}", "logged_at": at}


@pytest.mark.parametrize(
    ("later", "is_unsure"),
    [
        ([], False),
        ([_event("STARTED", 1)], True),
        ([_event("STARTED", 1), _event("FAILED", 2)], True),
        ([_event("STARTED", 1), _event("FAILED", 2), _event("STARTED", 3), _event("SUCCEEDED", 4)], False),
        ([_event("FAILED", 2, "ALLOCATION")], True),
        ([_event("FAILED", 2) | {"event_date": D2}], False),
        ([_event("FAILED", 2) | {"cluster": "other"}], False),
        # A clock that was set back: the log's own order counts, and what has none was logged before.
        ([_event("SUCCEEDED", 9) | {"event_seq": 3}, _event("FAILED", 1) | {"event_seq": 5}], True),
        ([_event("FAILED", 9) | {"event_seq": 3}, _event("SUCCEEDED", 1) | {"event_seq": 5}], False),
        ([_event("FAILED", 9), _event("SUCCEEDED", 1) | {"event_seq": 5}], False),
    ],
)
def test_a_day_whose_last_run_did_not_succeed_is_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, later: list[dict[str, Any]], *, is_unsure: bool
) -> None:
    publish(tmp_path, D1)
    write_rows(tmp_path, RUN_LOG, later)
    told = "the last run of 2026-03-01 has not succeeded: its tables may not fit together; run it again"
    assert cli.main(["show", "events", "--lake", str(tmp_path), "--date", f"{D1}", "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["rows"] == []
    assert (f"faultline: {told}" in said.err.splitlines()) == is_unsure
    page = render(open_published(str(tmp_path), "main", D1, D1))
    assert (f'<p class="unsure">T{told[1:]}.</p>' in page) == is_unsure
