"""What is counted of staged lines, without Spark."""

from __future__ import annotations

import datetime as dt
from typing import cast

import pytest
from pyspark.sql import DataFrame

from jobs.errors import InputMissingError, SettingValueError
from jobs.settings.model import Settings
from jobs.sources.dispositions import DUPLICATE, OTHER_DAY, PUBLISHED, QUARANTINED
from jobs.sources.fit_to_publish import check_fit_to_publish
from jobs.sources.local_files import Listing
from jobs.sources.staged import Counts, LineCounts, Staged, StagedInput
from jobs.tables.day import Day

DATE = dt.date(2026, 11, 21)
DAY = Day(DATE, "main")


def _input(name: str, fates: LineCounts) -> StagedInput:
    return StagedInput(name, cast("DataFrame", None), Listing(()), fates)


@pytest.mark.parametrize(("clusters", "fits"), [(200, True), (201, False)])
def test_a_field_that_is_not_a_cluster_name_stops_the_run(clusters: int, *, fits: bool) -> None:
    staged = Staged((_input("sends", {(PUBLISHED, f"c{number:03}", DATE): 1 for number in range(clusters)}),))
    days = [Day(DATE, cluster) for cluster in staged.clusters()]
    if fits:
        check_fit_to_publish(staged, days, Settings(), needed=["sends"], allow_empty=False)
        return
    with pytest.raises(SettingValueError, match=r"the lines name 201 clusters, such as 'c000' and 'c200'"):
        check_fit_to_publish(staged, days, Settings(), needed=["sends"], allow_empty=False)


GOOD: LineCounts = {(PUBLISHED, "main", DATE): 2}
BEFORE, AFTER = (DATE + dt.timedelta(days=days) for days in (-1, 1))


@pytest.mark.fault(4)
@pytest.mark.parametrize(
    ("needed", "others", "sentence"),
    [
        pytest.param(
            {"sends": {(OTHER_DAY, "main", AFTER): 3}},
            {"fault_item_updates": GOOD},
            "no good line of 2026-11-21 in 3 lines of sends; they hold 2026-11-22 (3 lines)",
            id="only clients' own updates",
        ),
        pytest.param(
            {"consumers": {(OTHER_DAY, "main", BEFORE): 7, (PUBLISHED, "main", AFTER): 1}, "routes": GOOD},
            {},
            "no good line of 2026-11-21 in 8 lines of consumers; they hold 2026-11-20 (7 lines), 2026-11-22 (1 lines)",
            id="only routes; the day after is run as well",
        ),
        pytest.param(
            {"consumers": GOOD, "routes": {(OTHER_DAY, "main", BEFORE): 7}},
            {"client_logs": GOOD},
            "no good line of 2026-11-21 in 7 lines of routes; they hold 2026-11-20 (7 lines)",
            id="no routes",
        ),
        pytest.param(
            {"sends": {(QUARANTINED, "main", DATE): 1, (QUARANTINED, "main", None): 1}},
            {"fault_item_updates": GOOD},
            "no good line of 2026-11-21 in 2 lines of sends; they hold no line of another day",
            id="bad lines only",
        ),
        pytest.param(
            {"sends": {}}, {}, "no good line of 2026-11-21 in 0 lines of sends; they hold no line", id="nothing at all"
        ),
        pytest.param({"consumers": GOOD, "routes": GOOD}, {"client_logs": {}}, None, id="all that is needed"),
        pytest.param(
            {"sends": {(PUBLISHED, "south", DATE): 1}}, {"fault_item_updates": GOOD}, None, id="of another cluster"
        ),
    ],
)
def test_a_day_without_a_line_that_a_flow_needs_is_not_an_empty_day(
    needed: dict[str, LineCounts], others: dict[str, LineCounts], sentence: str | None
) -> None:
    """Else a published day would be swapped for one without sends, or without groups."""
    staged = Staged(tuple(_input(name, fates) for name, fates in (needed | others).items()))
    days, most = staged.days([DATE], "main"), Settings(max_bad_fraction=1.0)
    check_fit_to_publish(staged, days, most, needed=list(needed), allow_empty=True)
    if sentence is None:
        check_fit_to_publish(staged, days, most, needed=list(needed), allow_empty=False)
        return
    with pytest.raises(InputMissingError) as refused:
        check_fit_to_publish(staged, days, most, needed=list(needed), allow_empty=False)
    assert (refused.value.exit_code, str(refused.value).startswith(sentence)) == (3, True), str(refused.value)
    assert str(refused.value).endswith("; give another --date, or --allow-empty")


def test_of_many_other_days_five_are_named() -> None:
    others: LineCounts = {(OTHER_DAY, "main", DATE + dt.timedelta(days=day)): 1 for day in range(1, 8)}
    with pytest.raises(InputMissingError) as refused:
        check_fit_to_publish(Staged((_input("sends", others),)), [DAY], Settings(), needed=["sends"], allow_empty=False)
    assert str(refused.value).count("(1 lines)") == 5


def test_bad_lines_of_what_is_read_aside_are_kept_but_not_counted() -> None:
    sends = _input("sends", {(PUBLISHED, "main", DATE): 5, (QUARANTINED, "main", DATE): 1})
    other_day = dt.date(2026, 11, 20)
    bad: LineCounts = {
        (QUARANTINED, "main", DATE): 2,
        (QUARANTINED, "main", None): 3,
        (QUARANTINED, "main", other_day): 4,
        (QUARANTINED, "stray", DATE): 6,  # of a cluster that sends nothing: the first one's
        (PUBLISHED, "main", DATE): 7,
    }
    staged = Staged((sends,), (_input("routes", bad),))
    assert staged.rows_quarantined(DAY) == 1 + 2 + 3 + 6
    counts = staged.counts(DAY)
    assert (counts.rows_read, counts.rows_published, counts.rows_quarantined) == (6, 5, 1)


def test_every_line_of_two_clusters_has_one_place() -> None:
    """Counted one by one, not as what is left: a line of no place would show."""
    next_day = DATE + dt.timedelta(days=1)
    fates: LineCounts = {
        (PUBLISHED, "north", DATE): 1,
        (PUBLISHED, "south", DATE): 10,
        (PUBLISHED, "south", next_day): 20,
        (DUPLICATE, "south", DATE): 100,
        (QUARANTINED, "south", DATE): 200,
        (QUARANTINED, "south", None): 300,
        (QUARANTINED, "stray", None): 1_000,  # of a cluster that sends nothing: the first one's
        (QUARANTINED, "north", next_day): 2_000,
        (OTHER_DAY, "north", DATE - dt.timedelta(days=1)): 10_000,
    }
    staged = Staged((_input("sends", fates),))
    north, south, later = (staged.counts(Day(*of)) for of in ((DATE, "north"), (DATE, "south"), (next_day, "south")))
    read = sum(fates.values())
    assert north == Counts(read, 1, 1_000, 0, 20 + 2_000 + 10_000, 10 + 100 + 200 + 300)
    assert south == Counts(read, 10, 200 + 300, 100, 20 + 2_000 + 10_000, 1 + 1_000)
    assert later == Counts(read, 20, 300 + 1_000 + 2_000, 0, read - 20 - 300 - 1_000 - 2_000, 0)
    assert all(counts.add_up for counts in (north, south, later))
    assert not Counts(3, 1, 0, 1, 0, 0).add_up
