"""What an event of the page opens to: two bars, its cost, the sends that it lost, and why the broker was avoided."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from jobs.answers.event_details import MOST_EXPLAINED, MOST_LINES, MOST_LOST, Details, event_details
from jobs.answers.night import MOST_EVENTS, night
from jobs.answers.published import Published, open_published
from jobs.answers.report import render
from jobs.answers.window import Window
from jobs.cli import main as cli
from jobs.settings.client_profiles import released_profiles
from jobs.tables import EVENTS, FAULT_ITEM_CHANGES, FINDINGS, ISOLATION_INTERVALS, SEND_CALLS, SENDS
from tests.given.hostile_night import NIGHT, START
from tests.given.lakes import publish, write_rows

RELEASED = {profile.name: profile.policy(profile.name) for profile in released_profiles()}


def event(name: str, **other: object) -> dict[str, Any]:
    """Bad for ten seconds; avoided from second 5 to second 50."""
    return {
        "event_date": NIGHT, "event_id": name, "broker_name": "broker-a", "brokers": ["broker-a"],
        "kind": "TIMED_OUT", "severity": "WARNING", "bad_from_ms": START, "last_bad_ms": START + 10_000,
        "avoiding_producers": 1, "avoided_from_ms": START + 5_000, "avoided_until_ms": START + 50_000, **other,
    }  # fmt: skip


def isolation(client_id: str, from_ms: int, until_ms: int, **other: object) -> dict[str, Any]:
    end_ms = START + until_ms
    return {
        "event_date": NIGHT, "client_id": client_id, "producer_group": "PG", "process": client_id, "profile": "P2",
        "policy": "P2", "broker_name": "broker-a", "start_ms": START + from_ms, "end_ms": end_ms,
        "end_earliest_ms": end_ms, "end_latest_ms": end_ms, "cause": "LATENCY", "evidence": "LOGGED",
        "ended_by": "EXPIRED", "enforced": True, **other,
    }  # fmt: skip


def call(at_ms: int, **other: object) -> dict[str, Any]:
    """A send of PG that `e` lost."""
    return {
        "event_date": NIGHT, "client_id": "10.0.0.1@7", "producer_group": "PG", "client_version": "4.9.8", "topic": "T",
        "start_ms": START + at_ms, "end_ms": START + at_ms + 3_000, "total_ms": 3_000, "attempts": 1,
        "broker_names": ["broker-a"], "outcome": "RemotingTimeoutException", "failed": True, "event_id": "e",
        "row_hash": at_ms, **other,
    }  # fmt: skip


def lake_of(lake: Path, *events: dict[str, Any]) -> Published:
    publish(lake, NIGHT)
    write_rows(lake, EVENTS, events)
    return open_published(str(lake), None, None, None)


def details_of(published: Published) -> dict[str, Details]:
    return event_details(published, night(published).events[:MOST_EVENTS], RELEASED, {})


def command(published: Published, client_id: str, at: str, group: str = "PG") -> str:
    where = f"--lake {published.root} --cluster main"
    return f"faultline explain isolation {where} --producer {client_id} --group {group} --broker broker-a --at {at}"


@pytest.mark.parametrize(
    ("row", "bars"),
    [
        (
            event("e", bad_until_ms=START + 20_000),
            {"outage": (0, 20), "unanswered": (20, 20), "avoidance": (10, 90)},
        ),
        (event("e"), {"outage": (0, 20), "avoidance": (10, 90)}),
        (
            event("e", bad_until_ms=START + 40_000, avoided_from_ms=None, avoided_until_ms=None),
            {"outage": (0, 25), "unanswered": (25, 75)},
        ),
        (
            event("e", avoided_from_ms=START - 10_000, avoided_until_ms=START + 5_000),
            {"outage": (50, 50), "avoidance": (0, 75)},
        ),
        (event("e", last_bad_ms=START, avoided_from_ms=None, avoided_until_ms=None), {"outage": (0, 0)}),
    ],
)
def test_outage_and_avoidance_stand_on_one_axis(tmp_path: Path, row: dict[str, Any], bars: dict[str, Any]) -> None:
    found = details_of(lake_of(tmp_path, row))["e"].bars
    assert {name: (each.left, each.width) for name, each in found.items()} == {
        name: pytest.approx(place) for name, place in bars.items()
    }


def test_what_is_not_known_is_said_and_not_drawn(tmp_path: Path) -> None:
    avoided, alone = event("avoided", bad_until_ms=START + 20_000), event("alone", bad_from_ms=START + 1)
    alone |= {"avoided_from_ms": None, "avoided_until_ms": None, "avoiding_producers": 0}
    page = render(lake_of(tmp_path, avoided, alone))
    first, second = page.split('<details class="event"')[1:]
    assert 'aria-label="outage from 00:00:00.000 to 00:00:10.000, 10.0 s; answered again at 00:00:20"' in first
    assert 'aria-label="avoidance from 00:00:05.000 to 00:00:50.000, 45.0 s"' in first
    assert '<i class="unanswered" style="left:20.0%;width:20.0%"></i>' in first
    assert "The isolations of the avoidance are not in the lake." in first
    second = second.partition("</details>")[0]
    assert "10.0 s; no later answer is known" in second
    assert "no producer avoided it" in second
    assert re.findall('<i class="(.*?)"', second) == ["outage"]
    assert "The isolations" not in second
    assert 'id="event-alone">' in second
    assert '<a href="#event-alone">link to this event</a>' in second


def test_costs_by_group_and_lost_sends_are_those_of_the_event(tmp_path: Path) -> None:
    """PG lost 22, PH lost none of 3; one send is of another event and one of none."""
    published = lake_of(tmp_path, event("e"), event("other", bad_from_ms=START + 5))
    retried = {"failed": False, "retried": True, "producer_group": "PH"}
    write_rows(
        tmp_path,
        SEND_CALLS,
        [
            *(call(at) for at in range(MOST_LOST + 1, 0, -1)),
            call(0, topic=None, broker_names=["broker-a", "broker-b"], outcome="MQBrokerException", retried=True),
            call(3, **retried),
            call(4, **retried, slow=True),
            call(5, failed=False, slow=True, producer_group="PH"),
            call(6, event_id="other"),
            call(7, event_id=None),
        ],
    )
    found = details_of(published)
    costs = [tuple(cost[name] for name in ("producer_group", "lost", "saved", "slow")) for cost in found["e"].costs]
    assert costs == [("PG", MOST_LOST + 2, 0, 0), ("PH", 0, 2, 1)]
    assert [send["start_ms"] - START for send in found["e"].lost] == [*range(MOST_LOST)]
    assert (found["e"].lost_sends, found["other"].lost_sends) == (MOST_LOST + 2, 1)
    page = unescape(re.sub("<[^>]*>", "", render(published)))
    producer = "PG on 10.0.0.1 (client 4.9.8, 10.0.0.1@7)"
    assert (
        f"00:00:00.000 {producer} to topic –, tried broker-a, broker-b: MQBrokerException after 3,000 ms\n"
        f"00:00:00.001 {producer} to topic T, tried broker-a: RemotingTimeoutException after 3,000 ms\n"
    ) in page
    assert "and 2 more, later ones" in page
    of_ph = details_of(replace(published, producer_group="PH"))["e"]
    assert ([cost["producer_group"] for cost in of_ph.costs], of_ph.lost) == (["PH"], ())
    early = details_of(replace(published, window=Window(START - 1, START + 2)))["e"]
    assert [send["start_ms"] - START for send in early.lost] == [0, 1]


def test_the_isolation_that_avoided_it_longest_is_named(tmp_path: Path) -> None:
    published = lake_of(tmp_path, event("e"))
    write_rows(
        tmp_path,
        ISOLATION_INTERVALS,
        [
            isolation("early", 5_000, 45_000),
            isolation("last", 9_000, 50_000),
            isolation("on", 9_500, 50_000, counted_until_ms=START + 12_000, producer_group="PH"),  # a sign of life less
            isolation("off", 5_000, 60_000, enforced=False),
            isolation("elsewhere", 5_000, 60_000, broker_name="broker-b"),
            isolation("before", 0, 5_000),
            isolation("after", 50_000, 90_000),
        ],
    )
    assert details_of(published)["e"].command == command(published, "last", "2026-03-02T00:00:09.000")
    too_long = {"kind": "AVOIDED_TOO_LONG", "cause": "LADDER", "severity": "WARNING", "sentence": "PH did"}
    write_rows(tmp_path, FINDINGS, [{"event_date": NIGHT, "event_id": "e", "producer_group": "PH", **too_long}])
    of_ph = command(published, "on", "2026-03-02T00:00:09.500", "PH")
    assert details_of(published)["e"].command == of_ph
    assert details_of(replace(published, producer_group="PG"))["e"].command == command(
        published, "last", "2026-03-02T00:00:09.000"
    )
    assert details_of(replace(published, producer_group="PX"))["e"].command is None
    nobody = render(replace(published, producer_group="PX"))
    assert "No isolation of this producer group was part of the avoidance." in nobody


@pytest.mark.usefixtures("own_folder")
def test_the_explanation_is_what_the_command_beside_it_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of two isolations explained in one read, each with the lines of its own fault item; also within a window."""
    lake = tmp_path / "a lake"
    lake.mkdir()
    second = event("two", broker_name="b", brokers=["b"], bad_from_ms=START + 1)
    published = lake_of(lake, event("one"), second)
    producers = (("p1", "broker-a"), ("p2", "b"))
    write_rows(lake, ISOLATION_INTERVALS, [isolation(who, 5_000, 35_000, broker_name=at) for who, at in producers])
    opened = {"change": "OPENED", "current_latency_ms": 600, "not_available_ms": 30_000, "position": 1}
    write_rows(
        lake,
        FAULT_ITEM_CHANGES,
        [
            isolation(who, 5_000, 35_000, broker_name=at)
            | {**opened, "changed_at_ms": START + 5_000, "available_at_ms": START + 35_000, "seq": 7}
            for who, at in producers
        ],
    )
    sent = {"event_date": NIGHT, "producer_group": "PG", "mode": "SYNC", "outcome": "SEND_OK"}
    write_rows(
        lake,
        SENDS,
        [
            {**sent, "client_id": who, "broker_name": at, "latency_ms": 600, "ended_at_ms": START + 5_000, "seq": 7}
            for who, at in producers
        ]
        + [
            {**sent, "client_id": "p2", "broker_name": "b", "ended_at_ms": START + 6_000 + number, "seq": 8 + number,
             "queue_chosen_by": "CALLER"}
            for number in range(MOST_LINES)
        ],
    )  # fmt: skip
    page = Path("page.html")
    for more in ((), ("--date", f"{NIGHT}", "--since", "00:00:08", "--until", "00:00:09")):
        assert cli.main(["report", "--lake", str(lake), "--output", f"{page}", *more]) == 0
        capsys.readouterr()
        told = page.read_text(encoding="utf-8").split('<details class="event"')[1:]
        assert len(told) == len(producers)
        for text in told:
            head, lines, typed = map(unescape, re.findall("<pre[^>]*>\n?([^<]*)</pre>", text))
            words = shlex.split(typed)
            assert cli.main([*words[1:], "--limit", f"{MOST_LINES}"]) == 0
            assert head + lines == capsys.readouterr().out
    assert "1 lines between them" in told[1]
    (first, why, *_), _ = details_of(published)["one"].explained or ((), ())
    assert first.startswith("isolation of broker-a by PG (client version unknown, p1), 2026-03-02 00:00:05.000")
    assert why.endswith("SYNC SEND_OK (00:00:05.000, seq 7) set; P2 gives 30 s for 600 ms")


def test_events_that_are_not_among_the_gravest_have_the_command_alone(tmp_path: Path) -> None:
    """Also those under rules that are not known."""
    lasts = [event(f"e{at}", last_bad_ms=START + 60_000 - at) for at in range(MOST_EXPLAINED + 1)]
    published = lake_of(tmp_path, *lasts)
    write_rows(tmp_path, ISOLATION_INTERVALS, [isolation("p", 5_000, 35_000)])
    found = details_of(published)
    assert [name for name, each in found.items() if each.explained is None] == [f"e{MOST_EXPLAINED}"]
    assert {each.command for each in found.values()} == {command(published, "p", "2026-03-02T00:00:05.000")}
    page = render(published)
    assert page.count("<pre") == page.count("faultline explain isolation --lake") == len(lasts)


def test_events_of_several_brokers_come_first_then_those_that_began_first(tmp_path: Path) -> None:
    several = {"broker_name": None, "brokers": ["broker-a", "broker-b"]}
    published = lake_of(
        tmp_path,
        event("late", bad_from_ms=START + 9),
        event("first"),
        event("both", bad_from_ms=START + 8, **several),
        event("both before", bad_from_ms=START + 7, **several),
    )
    drawn = [each.row["event_id"] for each in night(published).drawn_events]
    assert drawn == ["both before", "both", "first", "late"]
