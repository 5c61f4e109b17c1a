"""What both flows print at their end, line by line: every section and note, what is left out, and what nothing becomes.

Built from literal answers; that a run's answers are what its tables say, tests/spark shows.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from jobs.allocation.summary import Fault, Group
from jobs.allocation.summary_text import allocation_text
from jobs.fault_latency.broker_counts import Broker
from jobs.fault_latency.incident_counts import Incident
from jobs.fault_latency.producer_counts import Contradicting, Producer, ProducerGroup
from jobs.fault_latency.summary import FindingKind
from jobs.fault_latency.summary_text import as_text
from jobs.text.terminal import duration
from tests.given.quiet_answers import DAY, NO_GROUPS, QUIET

DAY_LINE = (
    "2026-11-21  cluster north: 15,832 lines read = 15,700 published + 1,002 quarantined + 3,003 duplicates"
    " + 4,004 of other days"
)


def _sections(**answers: Any) -> list[list[str]]:
    text = as_text(dataclasses.replace(QUIET, **answers))
    return [part.split("\n") for part in text.split("\n\n")]


def _section(title: str, **answers: Any) -> list[str]:
    return next(lines for lines in _sections(**answers) if lines[0].startswith(title))


def _notes(**answers: Any) -> list[str]:
    return [line.strip() for line in _section("Notes", **answers)[1:]]


def _groups_said(**answers: Any) -> list[list[str]]:
    return [part.split("\n") for part in allocation_text(dataclasses.replace(NO_GROUPS, **answers)).split("\n\n")]


def test_a_night_without_anything_is_said_to_be_quiet() -> None:
    assert _sections()[:-1] == [
        [DAY_LINE],
        ["Incidents", "  none"],
        ["Findings", "  none"],
        ["Producers", "  none of 7 isolated a broker"],
    ]


def test_the_last_section_says_where_the_tables_are_and_how_to_ask_them() -> None:
    assert _sections()[-1] == [
        "Tables are in /the/lake (Delta). Ask them with what reads Delta, such as deltalake and duckdb:",
        "  import duckdb, deltalake",
        '  isolations = deltalake.DeltaTable("/the/lake/isolation_intervals").to_pyarrow_table()',
        (
            '  duckdb.sql("FROM isolations SELECT broker_name, client_id, start_at, end_at, cause, ended_by'
            ' WHERE enforced ORDER BY start_ms LIMIT 20").show()'
        ),
    ]


@pytest.mark.parametrize(
    ("lake", "said", "place"),
    [
        ("file:///the/lake", "/the/lake", '"/the/lake/isolation_intervals"'),
        ("s3a://bucket/lake", "s3a://bucket/lake", '"s3a://bucket/lake/isolation_intervals"'),
        ("/the\x1b/la'ke", "/the\\x1b/la'ke", '"/the\\u001b/la\'ke/isolation_intervals"'),
    ],
)
def test_the_tables_are_named_as_what_reads_them_takes_them(lake: str, said: str, place: str) -> None:
    first, _, third, _ = _sections(lake=lake)[-1]
    assert first.startswith(f"Tables are in {said} (Delta).")
    assert third == f"  isolations = deltalake.DeltaTable({place}).to_pyarrow_table()"


def test_sections_come_in_the_order_of_the_readme() -> None:
    everything = _sections(
        brokers=[Broker("b", 1, 0, 0, 0)],
        incident_count=1,
        incidents=[Incident("b", "2026-11-21 00:00:01", "2026-11-21 00:00:02", 1.0, 1, 2, 3, 0, False)],
        findings=[FindingKind("ALL_ISOLATED", 1, 0, 0)],
        producers=[Producer("p", "g", "5.3.3", 1_000, 1, 0)],
        contradictions=1,
    )
    assert [lines[0].split()[0].rstrip(":") for lines in everything] == [
        "2026-11-21", "Brokers", "Incidents", "Findings", "Producers", "Notes", "Tables",
    ]  # fmt: skip


def test_why_lines_were_quarantined_stands_below_a_single_day() -> None:
    reasons = {"not_json": 1_000, "latency_missing": 2}
    assert _sections(quarantine_reasons=reasons)[0] == [
        DAY_LINE,
        "            quarantined: not_json 1000, latency_missing 2",
    ]
    more = reasons | {"outcome_missing": 1}
    assert _sections(quarantine_reasons=more)[0][1] == (
        "            quarantined: not_json 1000, latency_missing 2, outcome_missing 1"
        " (a line counts under each of its reasons)"
    )
    two = [DAY, DAY | {"date": "2026-11-22"}]
    assert _sections(quarantine_reasons=reasons, days=two)[0] == [DAY_LINE, DAY_LINE.replace("-21", "-22")]


def test_days_that_were_recomputed_are_said_in_the_place_of_counts() -> None:
    left = (
        "what only the input says stays as it was (sends, fault_item_updates, topic_brokers, order_key_moves,"
        " quarantine, and all of"
    )
    assert _sections(days=[], recomputed_days=["2026-11-20", "2026-11-21"])[0] == [
        f"2 days of 2026-11-20 to 2026-11-21: recomputed from the lake's own sends; {left} allocation)"
    ]
    assert _sections(days=[DAY], recomputed_days=[])[1][0] == "Incidents"


def test_each_day_of_each_cluster_has_its_line() -> None:
    days = [DAY | {"date": date, "cluster": cluster} for cluster in "ab" for date in ("2026-11-21", "2026-11-22")]
    assert [line[:21] for line in _sections(days=days)[0]] == [
        "2026-11-21  cluster a", "2026-11-22  cluster a", "2026-11-21  cluster b", "2026-11-22  cluster b",
    ]  # fmt: skip


def test_brokers_are_a_table_of_eight_at_most() -> None:
    assert "b\\x1b" in "".join(_section("Brokers", brokers=[Broker("b\x1b", 1, 0, 0, 0)]))
    brokers = [Broker(f"broker-{number}", 1_000 * number, number, 61_000 * number, number) for number in range(1, 10)]
    assert _section("Brokers", brokers=brokers)[:3] == [
        "Brokers",
        "  broker    sends  failures  isolated (sum over producers)  by producers",
        "  broker-1  1,000  1         1 min 01 s                     1",
    ]
    assert [line.split()[0] for line in _section("Brokers", brokers=brokers)[2:]] == [
        f"broker-{number}" for number in range(1, 9)
    ]


def test_incidents_that_the_summary_has_not_are_counted_too() -> None:
    """It holds the hundred longest."""
    assert _section("Incidents", incident_count=101, incidents=[_incident(1, 2.0)])[0].endswith(
        "(the 1 longest of 101)"
    )


def _incident(number: int, seconds: float) -> Incident:
    start = f"2026-11-21 00:{number:02}:00"
    return Incident(f"broker-{number}", start, f"2026-11-21 00:{number:02}:30", seconds, 17, 21, 2_057, 1_010, False)


def test_incidents_are_listed_in_time() -> None:
    assert _section("Incidents", incident_count=2, incidents=[_incident(1, 2.04), _incident(2, 95.0)]) == [
        "Incidents: many producers isolate one broker at the same time, UTC",
        "  broker    from      until     lasted      at the peak         sends lost",
        "  broker-1  00:01:00  00:01:30  2.0 s       17 of 21 producers  1,010 of 2,057",
        "  broker-2  00:02:00  00:02:30  1 min 35 s  17 of 21 producers  1,010 of 2,057",
    ]


def test_minor_incidents_are_folded_into_a_line() -> None:
    minor = dataclasses.replace(_incident(2, 95.0), is_minor=True)
    folded = {"minor_incident_count": 1_234, "minor_incident": "shorter than 2.0 s and so on"}
    *_, last_but_one, last = _section("Incidents", incident_count=1, incidents=[_incident(1, 2.0), minor], **folded)
    assert last_but_one.split()[0] == "broker-1"
    assert last == "  and 1,234 minor ones: shorter than 2.0 s and so on"
    one = {"minor_incident_count": 1, "minor_incident": "short"}
    assert _section("Incidents", incidents=[minor], **one) == ["Incidents", "  none but 1 minor one: short"]


def test_a_name_in_an_incident_does_nothing_to_a_terminal() -> None:
    hostile = dataclasses.replace(_incident(1, 2.0), broker_name="b\x1b")
    assert "b\\x1b" in _section("Incidents", incident_count=1, incidents=[hostile])[-1]


def test_of_many_incidents_the_eight_longest_are_listed_and_all_are_counted() -> None:
    longest_first = [9, 0, 2, 4, 6, 8, 7, 5, 3, 1]
    incidents = [_incident(number, 20.0 - place) for place, number in enumerate(longest_first)]
    title, _, *rows = _section("Incidents", incident_count=123, incidents=incidents)
    assert title.endswith(", UTC (the 8 longest of 123)")
    assert [int(row.split()[0].removeprefix("broker-")) for row in rows] == [0, 2, 4, 5, 6, 7, 8, 9]


def test_findings_are_counted_by_kind_and_severity_and_the_worst_are_said() -> None:
    kinds = [FindingKind("ALL_ISOLATED", 1_008, 9, 12), FindingKind("CLOCK_STEP", 0, 0, 3)]
    assert _section("Findings", findings=kinds, worst_findings=["it is bad", "so is \x1b[31mthis"]) == [
        "Findings: docs/findings says how each kind is found, and what to do",
        "  kind          critical  warning  info",
        "  ALL_ISOLATED  1,008     9        12",
        "  CLOCK_STEP    0         0        3",
        "  it is bad",
        "  so is \\x1b[31mthis",
    ]


OWNERS = {"g": "team-payments", "g2": "ops\x1b"}


def test_owners_stand_beside_the_groups_that_have_one() -> None:
    producers = [Producer("p1", "g", "5.3.3", 1_000, 1, 0), Producer("p2", "x", "5.3.3", 900, 1, 0)]
    assert _section("Producers", producers=producers, producer_count=2, isolations=2, owners=OWNERS)[1:] == [
        "  client id  client  isolated (sum over brokers)  isolations  owner",
        "  p1         5.3.3   1.0 s                        1           team-payments",
        "  p2         5.3.3   0.9 s                        1",
    ]
    assert "owner" not in _section("Producers", producers=producers, producer_count=2, owners={"other": "z"})[1]
    assert _notes(contradictions=3, contradicting=[Contradicting("p", "g2", 3)], owners=OWNERS)[0].endswith(
        ": 3 of p (g2, ops\\x1b)"
    )
    assert _notes(missing_producers=["g", "x"], owners=OWNERS)[0].endswith("nothing: g, team-payments, x")
    fault, group = Fault("g", "VIEWS_DIFFER", 1, 0, 0, 1), Group("g", "AVG", "SETTINGS", 1, 0, 0, 0)
    _, groups, faults, _ = _groups_said(faults=[fault], groups=[group], owners=OWNERS)
    assert [lines[-1].split()[-1] for lines in (groups, faults)] == ["team-payments"] * 2
    assert [lines[1].split()[-1] for lines in (groups, faults)] == ["owner"] * 2


def _many(producers: int, groups: int) -> dict[str, Any]:
    return {
        "isolating_producers": producers, "isolating_groups": groups, "producer_count": 1_300, "isolations": 9_000,
        "producers": [Producer("p", "g", "5.3.3", 1_000, 1, 0)], "owners": OWNERS,
        "producer_groups": [ProducerGroup("g", 1_200, 3_600_000, 8_765), ProducerGroup("", 2, 1_000, 3)],
    }  # fmt: skip


def test_many_client_ids_are_told_by_group_first() -> None:
    said = _sections(**_many(1_202, 2))
    (groups,) = [lines for lines in said if lines[0].startswith("Producer groups")]
    assert groups == [
        "Producer groups that isolated longest (1,202 producers of 2 groups)",
        "  group  producers  isolated (sum over brokers)  isolations  owner",
        "  g      1,200      1 h 00 min                   8,765       team-payments",
        "  ?      2          1.0 s                        3",
        "  one group's: faultline show isolations --group GROUP",
    ]
    longest = said[said.index(groups) + 1]
    assert longest[0] == "Producers that isolated longest (1300 in all, 9000 isolations; of any group)"


@pytest.mark.parametrize(("producers", "groups", "by_group"), [(9, 8, True), (8, 7, False), (9, 9, False)])
def test_groups_come_first_where_producers_are_more_than_fit_and_groups_are_fewer(
    producers: int, groups: int, *, by_group: bool
) -> None:
    titles = [lines[0] for lines in _sections(**_many(producers, groups))]
    assert any(title.startswith("Producer groups") for title in titles) == by_group


def test_producers_are_listed_with_their_versions() -> None:
    producers = [Producer("p\x1b", "g", "5.3.3", 3_600_000, 12, 0), Producer("p2", "g", None, 59_900, 1, 2)]
    assert _section("Producers", producers=producers, producer_count=40, isolations=13) == [
        "Producers that isolated longest (40 in all, 13 isolations)",
        "  client id  client  isolated (sum over brokers)  isolations",
        "  p\\x1b      5.3.3   1 h 00 min                   12",
        "  p2         ?       59.9 s                       1",
    ]


EMPTY_START = (
    "the day before is not in the lake: the day starts with no isolation"
    " (after_unknown_start marks rows that could differ)"
)


@pytest.mark.parametrize(
    ("answers", "note"),
    [
        (
            {"would_have_isolated_ms": 76_000},
            "producers with the switch off would have isolated for 1 min 16 s (enforced = false)",
        ),
        (
            {"switch_assumed_off": 3},
            "3 producers do not log sendLatencyFaultEnable: assumed off; set fault_latency_enabled",
        ),
        ({"rests_on": ["isolations: by these"]}, "isolations: by these"),
        ({"not_replayed": {"CLIENT_TOO_OLD": 2}}, "2 producers not replayed: CLIENT_TOO_OLD"),
        (
            {
                "contradictions": 1_012,
                "contradicting": [Contradicting("p\x1b", "PG_a", 1_007), Contradicting("p2", "", 5)],
            },
            (
                "1,012 first attempts contradict the replay (producer_days.contradictions):"
                " 1,007 of p\\x1b (PG_a), 5 of p2"
            ),
        ),
        (
            {"contradictions": 9, "contradicting": [Contradicting("p1", "PG_a", 7)]},
            "9 first attempts contradict the replay (producer_days.contradictions): 7 of p1 (PG_a), 2 of others",
        ),
        (
            {"missing_producers": ["g1", "g2", "g3", "g4", "g\n5", "g6"]},
            "producer groups of the day before that sent nothing: g1, g2, g3, g4, g\\n5",
        ),
        ({"days": [DAY, DAY | {"started_from": "EMPTY"}]}, EMPTY_START),
        (
            {"cascaded_days": ["2026-11-22", "2026-11-23"]},
            "recomputed because the day before changed: 2026-11-22, 2026-11-23",
        ),
        (
            {"stale_days": ["2026-11-24", "2026-11-25"]},
            "should be recomputed, as the day before changed: from 2026-11-24 on; run without --no-cascade",
        ),
        (
            {"forgotten_days": ["2026-11-18", "2026-11-19"]},
            (
                "not recomputed, as their sends are no longer in the lake (retention.sends_days):"
                " 2 days of 2026-11-18 to 2026-11-19"
            ),
        ),
        (
            {"read_otherwise": ["2026-11-20"]},
            (
                "the lines of 2026-11-20 were read with other settings of the input than these, and stay so: publish"
                " the days from the input"
            ),
        ),
        (
            {"other_settings": ["2026-11-18", "2026-11-20"]},
            (
                "2 days of 2026-11-18 to 2026-11-20 were made with other settings, or by another release, and stay so:"
                " `faultline fault-latency --recompute --from 2026-11-18 --to 2026-11-20` recomputes them from the"
                " lake's sends"
            ),
        ),
        ({"other_days": {"2026-11-20": 1_234}}, "1,234 lines of 2026-11-20: publish them with --date 2026-11-20"),
        ({"bad_routes": 1_002}, "1,002 lines of topic routes cannot be used (see quarantine, source routes)"),
        ({"hidden_files": ["/l/.a", "/l/_b"]}, "2 hidden or half-copied files were not read: /l/.a …"),
        ({"repeated_files": ["/l/c"]}, "1 links or names lead to what is read once already: /l/c …"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_each_note_is_made_for_its_own_reason(answers: dict[str, Any], note: str) -> None:
    assert _notes(**answers) == [note]


def test_notes_come_in_order_and_of_other_days_five_at_most() -> None:
    others = {f"2026-11-{day:02}": day for day in range(1, 8)}
    notes = _notes(
        would_have_isolated_ms=1, switch_assumed_off=1, not_replayed={"A": 2, "B": 1}, contradictions=1,
        missing_producers=["g"], days=[DAY | {"started_from": "EMPTY"}], cascaded_days=["d"], stale_days=["e"],
        forgotten_days=["2026-11-18"], read_otherwise=["2026-11-19"], other_settings=["2026-11-20"],
        other_days=others, bad_routes=1, hidden_files=["f"],
    )  # fmt: skip
    assert [note.split(":")[0][:24] for note in notes] == [
        "producers with the switc", "1 producers do not log s", "2 producers not replayed", "1 producers not replayed",
        "1 first attempts contrad", "producer groups of the d", "the day before is not in", "recomputed because the d",
        "should be recomputed, as", "not recomputed, as their", "the lines of 2026-11-19 ", "2026-11-20 were made wit",
        *(f"{day} lines of 2026-11-{day:02}" for day in range(1, 6)),
        "1 lines of topic routes ", "1 hidden or half-copied ",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (0, "0.0 s"), (49, "0.0 s"), (59_940, "59.9 s"), (59_950, "1 min 00 s"), (60_000, "1 min 00 s"),
        (119_400, "1 min 59 s"), (119_600, "2 min 00 s"), (3_599_000, "59 min 59 s"), (3_599_600, "1 h 00 min"),
        (3_600_000, "1 h 00 min"), (90_061_000, "25 h 01 min"),
    ],
)  # fmt: skip
def test_a_duration_is_said_in_the_unit_that_fits(ms: int, said: str) -> None:
    assert duration(ms) == said


def test_a_run_without_groups_says_so_and_where_findings_are() -> None:
    assert _groups_said() == [
        [DAY_LINE],
        ["Consumer groups", "  none whose queues could be allocated"],
        ["Notes", "  no finding: /the/lake/allocation_findings"],
    ]


def test_groups_are_listed_with_what_their_rebalances_moved() -> None:
    groups = [Group("g\x1b1", "AVG", "SETTINGS", 2, 12, 54, 28), Group("g2", "CONFIG", "RUNNING_INFO", 1, 0, 0, 0)]
    assert _groups_said(groups=groups, group_count=30)[1] == [
        "Consumer groups (30 in all)",
        "  group   strategy               topics  rebalances  queues moved  needed",
        "  g\\x1b1  AVG (settings)         2       12          54            28",
        "  g2      CONFIG (running_info)  1       0           0             0",
    ]


def test_queues_that_were_not_owned_as_they_should_be_are_listed_with_the_reason_in_words() -> None:
    faults = [Fault("g1", "VIEWS_DIFFER", 10, 7, 9, 27_000), Fault("g2", "UNEXPLAINED", 0, 0, 1, 526_000)]
    assert _groups_said(faults=faults)[2] == [
        "Queues without an owner, with several, or with another than the strategy says",
        "  group  why                               no owner  several  another  longest",
        "  g1     brokers report different members  10        7        9        27.0 s",
        "  g2     the data does not show why        0         0        1        8 min 46 s",
    ]


@pytest.mark.parametrize(
    ("answers", "note"),
    [
        ({"kinds": {"IDLE_CLIENT": 3}}, "3 x the client gets no queue (IDLE_CLIENT)"),
        ({"rests_on": ["ownership: by these"]}, "ownership: by these"),
        ({"unread_queues": 4}, "4 queues got messages and had no reader (topic_queues.finding = UNREAD)"),
        ({"idle_queues": 5}, "5 queues were read but never written (topic_queues.finding = IDLE)"),
        ({"route_changes": 46}, "46 changes of a broker's queues (route_changes)"),
        (
            {"stale_days": ["2026-11-22", "2026-11-23"]},
            "should be run again, as the day before changed: 2026-11-22, 2026-11-23",
        ),
        (
            {"other_settings": [f"2026-11-{day}" for day in range(10, 16)]},
            (
                "made with other settings, or by another release: 2026-11-11, 2026-11-12, 2026-11-13, 2026-11-14,"
                " 2026-11-15 and 1 before; run them again with their input"
            ),
        ),
        ({"other_days": {"2026-11-20": 1_234}}, "1,234 lines of 2026-11-20: publish them with --date 2026-11-20"),
        ({"hidden_files": ["/l/.a", "/l/_b"]}, "2 hidden or half-copied files were not read: /l/.a …"),
        ({"repeated_files": ["/l/c"]}, "1 links or names lead to what is read once already: /l/c …"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_each_note_on_groups_is_made_for_its_own_reason(answers: dict[str, Any], note: str) -> None:
    *_, (title, *notes) = _groups_said(**answers)
    assert title == "Notes"
    assert notes == [f"  {note}", "  no finding: /the/lake/allocation_findings"]


def test_names_of_groups_and_of_the_lake_do_nothing_to_a_terminal() -> None:
    """A cause of a later release is said as it is."""
    sections = _groups_said(
        faults=[Fault("g\x1b", "OF_A_LATER_RELEASE", 1, 2, 3, 4_000)], finding_count=1_234, lake="/the\x1b/lake"
    )
    assert sections[2][2].split() == ["g\\x1b", "OF_A_LATER_RELEASE", "1", "2", "3", "4.0", "s"]
    assert sections[-1][-1] == "  1,234 findings, each in words: /the\\x1b/lake/allocation_findings"


def test_notes_on_groups_come_in_order_of_kind_and_of_other_days_five_at_most() -> None:
    *_, (_, *notes) = _groups_said(
        kinds={"VIEWS_DIFFER": 8, "DUPLICATE_CLIENT_ID": 1, "OF_NO_KNOWN_KIND": 5}, unread_queues=1, idle_queues=1,
        route_changes=1, stale_days=["d"], other_days={f"2026-11-{day:02}": day for day in range(1, 8)},
        hidden_files=["f"],
    )  # fmt: skip
    assert [note.strip()[:20] for note in notes] == [
        "1 x two connections ", "8 x brokers report d", "1 queues got message", "1 queues were read b",
        "1 changes of a broke", "should be run again,",
        *(f"{day} lines of 2026-11-{day:02}"[:20] for day in range(1, 6)),
        "1 hidden or half-cop", "no finding: /the/lak",
    ]  # fmt: skip
