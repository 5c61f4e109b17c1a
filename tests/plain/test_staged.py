"""What is counted of staged lines, without Spark."""

from __future__ import annotations

import datetime as dt
from typing import cast

import pytest
from pyspark.sql import DataFrame

from jobs.day import Day
from jobs.errors import SettingValueError
from jobs.ingest import check_fit_to_publish
from jobs.settings import Settings
from jobs.sources.files import Manifest
from jobs.sources.judged_lines import PUBLISHED, QUARANTINED
from jobs.staged import Fates, Staged, StagedInput

DATE = dt.date(2026, 11, 21)
DAY = Day(DATE, "main")


def _input(name: str, fates: Fates) -> StagedInput:
    return StagedInput(name, cast("DataFrame", None), Manifest((), ()), fates)


@pytest.mark.parametrize(("clusters", "fits"), [(200, True), (201, False)])
def test_a_field_that_is_no_clusters_name_stops_the_run(clusters: int, *, fits: bool) -> None:
    staged = Staged((_input("sends", {(PUBLISHED, f"c{number:03}", DATE): 1 for number in range(clusters)}),))
    days = [Day(DATE, cluster) for cluster in staged.clusters()]
    if fits:
        check_fit_to_publish(staged, days, Settings(), allow_empty=False)
        return
    with pytest.raises(SettingValueError, match=r"the lines name 201 clusters, such as 'c000' and 'c200'"):
        check_fit_to_publish(staged, days, Settings(), allow_empty=False)


def test_bad_lines_of_what_is_read_aside_are_kept_but_not_counted() -> None:
    sends = _input("sends", {(PUBLISHED, "main", DATE): 5, (QUARANTINED, "main", DATE): 1})
    other_day = dt.date(2026, 11, 20)
    bad: Fates = {
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
