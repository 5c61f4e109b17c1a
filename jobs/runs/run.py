"""A run: one call of a command, and its result for each day."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field

from jobs.sources.log_files import LogFile
from jobs.sources.staged import Counts
from jobs.tables.day import Day


@dataclass(frozen=True)
class Run:
    """One call of a command.

    Attributes:
        run_id: unique; in every run log row and commit.
        command: as the user called it.
        days: the requested UTC days, ascending.
        allow_empty: a day without a line is published as an empty day.
        cascade: recompute the published days after a day whose closing state changed.
        clock: gives the time for the run log and the lock's lease.
        break_lock: take the lake even from a run that holds it.
        wait: how long to queue for a lake that another run holds.
    """

    run_id: str
    command: str
    days: tuple[dt.date, ...]
    allow_empty: bool
    cascade: bool
    clock: Callable[[], dt.datetime]
    break_lock: bool = False
    wait: dt.timedelta = dt.timedelta()


@dataclass(frozen=True)
class PublishedDay:
    """What the run log has of a published day, by its latest success, or gets of one that was just published.

    Attributes:
        started_from: PREVIOUS_DAY, or EMPTY when the day before is not in the lake.
        opening_state: hash of the state at 00:00.
        settings: hash of the settings that its rows rest on.
        input_settings: hash of those by which its lines were read; None where no run read any.
        lines: its good lines when they were last read; None where no run counted them.
        closing_state: hash of the state at 24:00.
        is_broken_off: a later run started to recompute it and did not finish.
    """

    started_from: str
    opening_state: str
    settings: str | None = None
    input_settings: str | None = None
    lines: int | None = None
    closing_state: str | None = None
    is_broken_off: bool = False


@dataclass(frozen=True)
class DayResult:
    """Result of a run for one day.

    Attributes:
        counts: where the lines went; None for a day that was recomputed from the lake.
        made: as it is published now.
        table_versions: table to the version that its commit made.
        cascaded: recomputed because the closing state of the day before changed.
        log_files: what was read of each client log of the day.
    """

    day: Day
    counts: Counts | None
    made: PublishedDay
    table_versions: dict[str, int]
    cascaded: bool = False
    log_files: tuple[LogFile, ...] = ()


@dataclass
class RunResult:
    """Result of a run.

    Attributes:
        other_days: lines of days that were not requested, by day.
        clusters: of the published days.
        stale_days: later days that start from another state than they were computed from, or whose recompute broke
            off, and were left so.
        forgotten_days: days that were to be recomputed, whose sends the lake no longer has.
        other_settings: published days that the run left, where it stands beside one, made with other settings.
        cascading: the later day that was recomputed last, or is just being.
        warnings: sentences on what was read, but perhaps not as it was meant.
    """

    run: Run
    days: list[DayResult] = field(default_factory=list)
    other_days: dict[dt.date, int] = field(default_factory=dict)
    clusters: list[str] = field(default_factory=list)
    hidden_files: tuple[str, ...] = ()
    stale_days: list[dt.date] = field(default_factory=list)
    forgotten_days: list[dt.date] = field(default_factory=list)
    other_settings: list[dt.date] = field(default_factory=list)
    cascading: Day | None = None
    warnings: list[str] = field(default_factory=list)

    def read_otherwise(self, input_settings: str) -> list[dt.date]:
        """The days that were made from lines that other settings of the input read."""
        return [done.day.date for done in self.days if done.made.input_settings not in (None, input_settings)]
