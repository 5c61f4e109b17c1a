"""The checkers notice: each is given tables that say what really happened, then the same with one thing wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agreement import RECORDINGS, band_of, producers_of, score, scored

RUN = "5.3.3"
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def recorded() -> Rows:
    """The recording's own isolations, as the table `isolation_intervals` would have them."""
    truth, first, last = score.truth_intervals(RECORDINGS / RUN)
    switched_on = {producer["client_id"] for producer in producers_of(RUN) if producer["fault_latency_enabled"]}
    return [
        {
            "client_id": client_id,
            "broker_name": broker_name,
            "start_ms": start,
            "end_ms": end,
            "end_earliest_ms": end,
            "end_latest_ms": end,
            "enforced": True,
        }
        for (client_id, broker_name), spans in sorted(truth.items())
        for start, end in spans
        if client_id in switched_on and first <= start < end <= last
    ]


def _without_one(rows: Rows) -> Rows:
    return rows[1:]


def _one_longer(rows: Rows) -> Rows:
    return [*rows[1:], rows[0] | {"end_ms": rows[0]["end_ms"] + 1_000, "end_latest_ms": rows[0]["end_ms"] + 1_000}]


def _one_of_another_broker(rows: Rows) -> Rows:
    others = {row["broker_name"] for row in rows if row["client_id"] == rows[0]["client_id"]}
    return [*rows[1:], rows[0] | {"broker_name": max(others - {rows[0]["broker_name"]})}]


def _one_of_another_producer(rows: Rows) -> Rows:
    return [*rows[1:], rows[0] | {"client_id": "127.0.0.1@v5.3.3-oneway-on"}]


def _one_not_enforced(rows: Rows) -> Rows:
    return [*rows[1:], rows[0] | {"enforced": False}]


WRONG = [_without_one, _one_longer, _one_of_another_broker, _one_of_another_producer, _one_not_enforced]


def test_what_really_happened_agrees_wholly(recorded: Rows, tmp_path: Path) -> None:
    assert len(recorded) > 50
    *producers, total = scored(recorded, RUN, tmp_path)
    assert total["both_ms"] == total["truth_ms"] == total["ours_ms"] > 0
    assert [row for row in producers if row["enabled"] and row["jaccard"] != 1] == []


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.__name__.removeprefix("_"))
def test_one_wrong_isolation_costs_agreement(recorded: Rows, wrong: Callable[[Rows], Rows], tmp_path: Path) -> None:
    *_, right = scored(recorded, RUN, tmp_path)
    *_, found = scored(wrong(recorded), RUN, tmp_path)
    assert found["both_ms"] < right["both_ms"] or found["ours_ms"] > right["ours_ms"]
    assert found["jaccard"] < 1


def test_the_band_of_what_really_happened_holds_it(recorded: Rows) -> None:
    band = band_of(recorded, RUN)
    assert (band.inside, band.width, band.outside) == (1, 0, [])


def test_a_band_that_leaves_the_truth_out_is_noticed(recorded: Rows) -> None:
    longest = max(recorded, key=lambda row: row["end_ms"] - row["start_ms"])
    others = [row for row in recorded if row is not longest]
    too_short = longest | {"end_latest_ms": longest["end_ms"] - 1}
    too_sure = longest | {"end_earliest_ms": longest["end_ms"] + 1}
    assert band_of([*others, too_short], RUN).inside < 1
    assert band_of([*others, too_sure], RUN).inside < 1
    wide = band_of([*others, longest | {"end_latest_ms": longest["end_ms"] + 5_000}], RUN)
    assert wide.inside == 1
    assert wide.width > 0
