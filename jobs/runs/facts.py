"""What only the run knows of itself: lines by where they went, days that it recomputed or left, files it left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from jobs.runs.run import RunResult
from jobs.runs.run_log import ALLOCATION, FAULT_LATENCY
from jobs.settings.model import Settings
from jobs.text.terminal import one_line, safe

_LOGGED_AS = {"fault-latency": FAULT_LATENCY, "allocation": ALLOCATION}


@dataclass(frozen=True)
class Facts:
    """A run of one flow. Days are UTC dates.

    Attributes:
        days: those whose lines were read, and where the lines went.
        recomputed_days: those recomputed from the lake's own sends, as it was asked for.
        cascaded_days: recomputed because the day before changed.
        stale_days: those that should have been, but were left.
        forgotten_days: those that could not be: the lake no longer has their sends.
        read_otherwise: recomputed from lines that were read with other settings of the input than today's.
        other_settings: days beside the run's that other settings made; they stay as they are.
        other_days: lines of days that were not requested, by day.
        warnings: sentences on lines that were read, but perhaps not as they were meant.
    """

    flow: str
    clusters: list[str]
    days: list[dict[str, Any]]
    recomputed_days: list[str]
    cascaded_days: list[str]
    stale_days: list[str]
    forgotten_days: list[str]
    read_otherwise: list[str]
    other_settings: list[str]
    other_days: dict[str, int]
    hidden_files: list[str]
    warnings: list[str]


def facts_of(flow: str, settings: Settings, result: RunResult) -> Facts:
    """The facts of a run of the flow `fault-latency` or `allocation`."""
    return Facts(
        flow=flow,
        clusters=result.clusters,
        days=[
            {"date": f"{done.day.date}", "cluster": done.day.cluster, "started_from": done.made.started_from,
             **asdict(done.counts)}
            for done in result.days
            if done.counts
        ],
        recomputed_days=[f"{done.day.date}" for done in result.days if done.counts is None and not done.cascaded],
        cascaded_days=[f"{done.day.date}" for done in result.days if done.cascaded],
        stale_days=[*map(str, result.stale_days)],
        forgotten_days=[*map(str, result.forgotten_days)],
        read_otherwise=[*map(str, result.read_otherwise(settings.input_hash(_LOGGED_AS[flow])))],
        other_settings=[*map(str, result.other_settings)],
        other_days={f"{day}": count for day, count in result.other_days.items()},
        hidden_files=[*result.hidden_files],
        warnings=result.warnings,
    )  # fmt: skip


def facts_text(facts: Facts) -> str:
    """A line per day, and one for each thing that needs a look."""
    head = [_day(facts.flow, day) for day in facts.days] or [f"{facts.flow}:"]
    return "\n".join([*head, *(f"  {note}" for note in _notes(facts))])


def _day(flow: str, day: Mapping[str, Any]) -> str:
    """Lines of the day by where they went; other clusters are named where the input has their lines."""
    elsewhere = f" + {day['rows_other_cluster']:,} of other clusters" if day["rows_other_cluster"] else ""
    return (
        f"{day['date']}, cluster {safe(day['cluster'])}, {flow}: {day['rows_read']:,} lines read ="
        f" {day['rows_published']:,} published + {day['rows_quarantined']:,} quarantined"
        f" + {day['rows_duplicate']:,} duplicates + {day['rows_other_day']:,} of other days{elsewhere}"
    )


def _notes(facts: Facts) -> list[str]:
    notes = [f"warning: {one_line(warning)}" for warning in facts.warnings]
    can_recompute = facts.flow == "fault-latency"
    if facts.recomputed_days:
        notes.append(
            f"{_days(facts.recomputed_days)} recomputed from the lake's own sends; tables of what only the input says"
            " stay as they were (sends, fault_item_updates, topic_brokers, order_key_moves, quarantine)"
        )
    if facts.cascaded_days:
        notes.append(f"recomputed because the day before changed: {', '.join(facts.cascaded_days)}")
    if facts.stale_days:
        how = "run without --no-cascade" if can_recompute else "run them again with their input"
        notes.append(f"not recomputed though the day before changed, from {facts.stale_days[0]} on: {how}")
    if facts.forgotten_days:
        notes.append(
            "not recomputed, as their sends are no longer in the lake (retention.sends_days):"
            f" {_days(facts.forgotten_days)}"
        )
    if facts.read_otherwise:
        notes.append(
            f"{_days(facts.read_otherwise)}: lines were read with other settings of the input than these, and stay so;"
            " publish them from the input"
        )
    if others := facts.other_settings:
        again = f"faultline fault-latency --recompute --from {others[0]} --to {others[-1]}"
        how = f"`{again}` recomputes them from the lake's sends" if can_recompute else "run them again with their input"
        notes.append(f"made with other settings, or by another release: {_days(others)}; {how}")
    notes += [
        f"{count:,} lines of {day}: publish them with --date {day}" for day, count in [*facts.other_days.items()][:5]
    ]
    if hidden := facts.hidden_files:
        notes.append(f"{len(hidden)} hidden or half-copied files were not read: {safe(hidden[0])} …")
    return notes


def _days(days: Sequence[str]) -> str:
    """Days in short.

    >>> _days(["2026-11-01"]), _days(["2026-11-01", "2026-11-02", "2026-11-09"])
    ('2026-11-01', '3 days of 2026-11-01 to 2026-11-09')
    """
    return days[0] if len(days) == 1 else f"{len(days)} days of {days[0]} to {days[-1]}"
