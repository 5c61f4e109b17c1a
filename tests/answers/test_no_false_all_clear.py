"""An answer without rows is one about something that was there: unknown names and words are mistakes, and what no input
tells of is said to be missing, never counted as 0."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from jobs.answers.causes import CAUSES
from jobs.answers.night import night
from jobs.answers.published import open_published
from jobs.answers.report import render
from jobs.answers.rests_on import rests_on
from jobs.cli import main as cli
from jobs.tables import (
    ALLOCATION_FINDINGS,
    BROKER_WINDOWS,
    FINDINGS,
    GROUP_MEMBERS,
    ISOLATION_INTERVALS,
    PLAIN_CALLS,
    PRODUCER_DAYS,
    QUEUE_OWNERSHIP,
    REBALANCES,
    RUN_LOG,
    SENDS,
)
from tests.given.lakes import publish, write_rows
from tests.given.site import D1, D2, START
from udfs.plain_outcome import ANSWERS, OUTCOMES, REMOTING, SENT

pytestmark = pytest.mark.usefixtures("own_folder")

T1 = START[D1]
WHERE = {"event_date": D1, "cluster": "main"}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two days of both flows; names stand in one table each, none of them in the table of a question."""
    root = tmp_path_factory.mktemp("lake")
    for flow in ("FAULT_LATENCY", "ALLOCATION"):
        publish(root, D1, D2, flow=flow)
    write_rows(root, BROKER_WINDOWS, [WHERE | {"broker_name": name} for name in ("broker-a", "broker-b")])
    write_rows(root, BROKER_WINDOWS, [WHERE | {"event_date": D2, "broker_name": "broker-of-later"}])
    write_rows(root, BROKER_WINDOWS, [WHERE | {"cluster": "other", "broker_name": "broker-elsewhere"}])
    write_rows(root, PRODUCER_DAYS, [WHERE | {"client_id": f"10.0.0.{number}@1"} for number in range(14)])
    write_rows(root, PLAIN_CALLS, [WHERE | {"client_id": "10.0.0.1@1", "topic": "orders", "calls": 1}])
    write_rows(
        root,
        SENDS,
        [
            WHERE
            | {"client_id": "10.0.0.2@1", "topic": "payments", "broker_name": "broker-b", "outcome": "SiteException"}
        ],
    )
    write_rows(root, GROUP_MEMBERS, [WHERE | {"consumer_group": "g_orders", "broker_name": "broker-c"}])
    write_rows(
        root,
        QUEUE_OWNERSHIP,
        [WHERE | {"consumer_group": "g_pay", "topic": "orders", "broker_name": "broker-a", "client_id": "consumer-1"}],
    )
    spans = {"start_ms": T1, "end_ms": T1 + 1}
    write_rows(
        root,
        ISOLATION_INTERVALS,
        [WHERE | spans | {"broker_name": "broker-a", "client_id": "10.0.0.1@1", "cause": "SiteException"}],
    )
    write_rows(root, FINDINGS, [WHERE | spans])
    return root


def _show(capsys: pytest.CaptureFixture[str], lake: Path, *arguments: str) -> tuple[int, str, str]:
    code = cli.main(["show", *arguments, "--cluster", "main", "--lake", str(lake)])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["events", "--broker", "broker-x"],
            (
                "no broker 'broker-x' in 2026-03-01 of cluster 'main' (did you mean 'broker-c'?);"
                " there is 'broker-a', 'broker-b', 'broker-c'"
            ),
        ),
        (["events", "--broker", "BROKER-A"], "(did you mean 'broker-a'?); there is 'broker-a', "),
        (["events", "--broker", "zzz"], "of cluster 'main'; there is 'broker-a', 'broker-b', 'broker-c'"),
        (["events", "--broker", "broker-of-later"], "no broker 'broker-of-later' in 2026-03-01 of"),
        (["events", "--broker", "broker-elsewhere"], "no broker 'broker-elsewhere' in 2026-03-01 of"),
        (["findings", "--producer", "10.0.0.77@1"], "no producer '10.0.0.77@1' in"),
        (["findings", "--producer", "10.0.0.77@1"], " and 2 more"),
        (["findings", "--producer", "consumer-1"], "no producer 'consumer-1' in"),  # a consumer is none
        (
            ["findings", "--topic", "order"],
            "no topic 'order' in 2026-03-01 of cluster 'main' (did you mean 'orders'?);",
        ),
        (["findings", "--topic", "order"], "there is 'orders', 'payments'"),
        (["rebalances", "--group", "g_order"], "no consumer group 'g_order' in 2026-03-01 of cluster"),
        (["rebalances", "--group", "g_order"], "(did you mean 'g_orders'?); there is 'g_orders', 'g_pay'"),
        (["owners", "--queue", "broker-q:3"], "no broker 'broker-q' in"),
        # A name that is known beside one that is not
        (["isolations", "--broker", "broker-a", "--producer", "p"], "no producer 'p'"),
        (["isolations", "--cause", "Latencies"], "no cause 'Latencies' in 2026-03-01 of cluster"),
        (["isolations", "--cause", "Latencies"], "(did you mean 'LATENCY'?); there is 'LATENCY', "),
        (["isolations", "--cause", "Latencies"], "'SiteException'"),
        (["sends", "--outcome", "SEND_K"], "(did you mean 'SEND_OK'?); there is "),
    ],
)
def test_a_name_that_the_days_nowhere_hold_is_a_mistake(
    capsys: pytest.CaptureFixture[str], lake: Path, arguments: list[str], sentence: str
) -> None:
    code, out, err = _show(capsys, lake, *arguments, "--date", f"{D1}")
    assert (code, out) == (2, "")
    assert sentence in err


@pytest.mark.parametrize(
    ("arguments", "none"),
    [
        (["events", "--broker", "broker-c"], "no event"),  # known from the second flow alone
        (["events", "--broker", "broker-of-later"], "no event"),
        (["findings", "--topic", "payments"], "no finding"),
        (["findings", "--topic", "orders"], "no finding"),
        (["findings", "--producer", "10.0.0.2@1"], "no finding"),
        (["rebalances", "--group", "g_pay"], "no rebalance"),
        (["isolations", "--cause", "RemotingTimeoutException"], "no isolation"),
        (["sends", "--outcome", "FLUSH_DISK_TIMEOUT"], "no send attempt"),
        (["findings", "--kind", "DEAD_BROKER_MAGNET"], "no finding"),
        (["findings", "--severity", "warning"], "no finding"),
        (["group-findings", "--cause", "lock_not_granted"], "no finding about a group"),
        (["owners", "--source", "strategy"], "no owner"),
    ],
)
def test_a_known_name_without_a_row_is_an_answer(
    capsys: pytest.CaptureFixture[str], lake: Path, arguments: list[str], none: str
) -> None:
    code, out, err = _show(capsys, lake, *arguments, "--from", f"{D1}", "--to", f"{D2}")
    assert (code, out, err) == (
        0,
        f"{arguments[0]}, 2026-03-01 to 2026-03-02 UTC, cluster main: {none}\n",
        "",
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["findings", "--severity", "CRITCAL"], "--severity 'CRITCAL' is none of CRITICAL, WARNING, INFO (did you "),
        (["findings", "--severity", "CRITCAL"], "(did you mean 'CRITICAL'?)"),
        (["findings", "--kind", "FLAPPING"], "--kind 'FLAPPING' is none of SENT_WHILE_ISOLATED, ISOLATION_LOST_BY_SUB"),
        (["findings", "--cause", "LOCK_NOT_GRANTED"], "--cause 'LOCK_NOT_GRANTED' is none of SWITCH_OFF, "),
        (["group-findings", "--kind", "ALL_ISOLATED"], "--kind 'ALL_ISOLATED' is none of UNASSIGNED, DOUBLY_OWNED, "),
        (["group-findings", "--cause", "SILENT"], "--cause 'SILENT' is none of OFFSET_RESET, DUPLICATE_CLIENT_ID, "),
        (["owners", "--source", "LOG"], "--source 'LOG' is none of RUNNING_INFO, CLIENT_LOG, STRATEGY"),
    ],
)
def test_a_word_outside_its_closed_list_is_a_mistake(
    capsys: pytest.CaptureFixture[str], lake: Path, arguments: list[str], sentence: str
) -> None:
    code, out, err = _show(capsys, lake, *arguments)
    assert (code, out) == (2, "")
    assert sentence in err


def test_letter_case_of_a_cause_does_not_matter(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    publish(tmp_path, D1)
    write_rows(tmp_path, ISOLATION_INTERVALS, [WHERE | {"cause": "RemotingTimeoutException"}])
    _, out, _ = _show(capsys, tmp_path, "isolations", "--cause", "remotingtimeoutexception", "--json")
    assert len(json.loads(out)["rows"]) == 1


def test_the_words_are_those_of_the_rules() -> None:
    exceptions = (*REMOTING, "MQBrokerException", "MQClientException")
    assert ("LATENCY", *exceptions) == CAUSES
    assert (*ANSWERS, SENT, *exceptions, "InterruptedException") == OUTCOMES


def test_a_lake_of_one_flow_names_no_group(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    publish(tmp_path, D1)
    code, _, err = _show(capsys, tmp_path, "rebalances", "--group", "g")
    assert code == 2
    assert "no consumer group 'g' in 2026-03-01 of cluster 'main'; there is none: no consumer snapshots were" in err


@pytest.mark.parametrize(
    ("question", "flow", "sentence"),
    [
        ("rebalances", "FAULT_LATENCY", "no consumer snapshots were given"),
        ("owners", "FAULT_LATENCY", "no consumer snapshots were given"),
        ("group-findings", "FAULT_LATENCY", "no consumer snapshots were given"),
        ("events", "ALLOCATION", "no send log was given"),
        ("findings", "ALLOCATION", "no send log was given"),
        ("isolations", "ALLOCATION", "no send log was given"),
        ("sends", "ALLOCATION", "no send log was given"),
    ],
)
def test_what_was_not_given_is_no_answer_of_none(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, question: str, flow: str, sentence: str
) -> None:
    publish(tmp_path, D1, flow=flow)
    head = f"{question}, 2026-03-01 UTC, cluster main"
    assert _show(capsys, tmp_path, question) == (0, f"{head}: {sentence}\n", "")
    _, out, err = _show(capsys, tmp_path, question, "--json")
    assert (json.loads(out)["not_given"], err) == (sentence, f"faultline: {sentence}\n")
    assert _show(capsys, tmp_path, question, "--csv")[2] == f"faultline: {sentence}\n"


def test_days_without_input_are_named_beside_the_others(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    publish(tmp_path, D1, D2)
    publish(tmp_path, D2, flow="ALLOCATION")
    span = ("--from", f"{D1}", "--to", f"{D2}")
    missing = "no consumer snapshots were given for 2026-03-01"
    assert _show(capsys, tmp_path, "rebalances", *span)[1].endswith(f": no rebalance; {missing}\n")
    write_rows(tmp_path, REBALANCES, [WHERE | {"event_date": D2}])
    assert _show(capsys, tmp_path, "rebalances", *span)[1].splitlines()[-1] == f"  {missing}"
    assert _show(capsys, tmp_path, "rebalances")[1].count("\n") == 3  # the last day has both


@pytest.mark.parametrize("statuses", [("STARTED",), ("STARTED", "FAILED")])
def test_a_run_that_did_not_succeed_gave_nothing_to_look_at(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, statuses: tuple[str, ...]
) -> None:
    publish(tmp_path, D1)
    write_rows(tmp_path, RUN_LOG, [WHERE | {"flow": "ALLOCATION", "status": status} for status in statuses])
    missing = "no consumer snapshots were given"
    code, out, err = _show(capsys, tmp_path, "owners")
    assert (code, out) == (0, f"owners, 2026-03-01 UTC, cluster main: {missing}\n")
    assert "the last run of 2026-03-01 has not succeeded" in err
    published = open_published(str(tmp_path), None, None, None)
    assert _tiles(render(published))["rebalances"] == f"– {missing}"
    assert [each for each in rests_on(published) if "consumer" in each] == []


def _tiles(page: str) -> dict[str, str]:
    found = re.findall(r"<dt>([^<]+)</dt><dd>(.*?)</dd>", page)
    return {name: re.sub("<[^>]+>", "", text).strip() for name, text in found}


@pytest.mark.parametrize(
    ("flow", "tiles"),
    [
        (
            "FAULT_LATENCY",
            {"sends lost": "0", "saved by a retry": "0", "slow": "0", "events": "0",
             "findings about groups": "– no consumer snapshots were given",
             "rebalances": "– no consumer snapshots were given"},
        ),
        (
            "ALLOCATION",
            {"sends lost": "– no send log was given", "saved by a retry": "– no send log was given",
             "slow": "– no send log was given",
             "send attempts": "– no send log was given", "attempts failed": "– no send log was given",
             "events": "– no send log was given", "isolations": "– no send log was given",
             "isolated, summed": "– no send log was given", "findings about producers": "– no send log was given",
             "findings about groups": "0", "rebalances": "0 moved 0 queues"},
        ),
    ],
)  # fmt: skip
def test_a_tile_about_what_was_not_given_counts_nothing(tmp_path: Path, flow: str, tiles: dict[str, str]) -> None:
    publish(tmp_path, D1, flow=flow)
    page = render(open_published(str(tmp_path), None, None, None))
    assert _tiles(page).items() >= tiles.items()


def test_a_section_about_what_was_not_given_says_so(tmp_path: Path) -> None:
    publish(tmp_path, D1, D2, flow="ALLOCATION")
    publish(tmp_path, D2)
    nothing = re.compile('<p class="none">(.*?)</p>')
    first, both = (open_published(str(tmp_path), None, D1, last) for last in (D1, D2))
    assert nothing.findall(render(first))[:4] == [
        "No send log was given.",
        "No send log was given.",
        "No send log was given.",
        "No consumer group is published for these days. ",
    ]
    assert nothing.findall(render(both))[0] == "None. No send log was given for 2026-03-01."


def test_what_one_of_two_days_was_given_is_counted(tmp_path: Path) -> None:
    publish(tmp_path, D1, D2)
    publish(tmp_path, D2, flow="ALLOCATION")
    write_rows(tmp_path, REBALANCES, [WHERE | {"event_date": D2, "moved": 1}])
    tiles = _tiles(render(open_published(str(tmp_path), None, D1, D2)))
    missing = f"no consumer snapshots were given for {D1}"
    assert (tiles["rebalances"], tiles["findings about groups"]) == (f"1 moved 1 queue {missing}", f"0 {missing}")


def test_a_night_before_without_input_has_dashes(tmp_path: Path) -> None:
    publish(tmp_path, D1, flow="ALLOCATION")
    publish(tmp_path, D2)
    of_group = {"consumer_group": "g", "topic": "T"}
    write_rows(tmp_path, REBALANCES, [WHERE | of_group | {"moved": moved, "fewest_moves": 2} for moved in (3, 4)])
    write_rows(tmp_path, ALLOCATION_FINDINGS, [WHERE | of_group])
    published = open_published(str(tmp_path), None, None, None)
    assert [(day.has_sends, day.has_groups) for day in night(published).days] == [(False, True), (True, False)]
    page = render(published)
    rows: Any = re.findall(r'<th scope="row">(2026-03-0\d)(.*?)</tr>', page, re.DOTALL)
    cells = {day: [text.strip() for text in re.sub("<[^>]+>", " ", row).split()] for day, row in rows}
    assert cells == {
        "2026-03-01": ["–"] * 9 + ["1", "2", "7"],
        "2026-03-02": ["0", "0", "0", "0", "0", "0", "(0", "%)", "0", "0.0", "s", "0", "–", "–", "–"],
    }
