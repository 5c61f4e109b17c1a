"""A flow: what it reads and publishes, and how; `jobs.runs.runner` runs any of them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from pyspark.sql import DataFrame, SparkSession

from jobs.lake.commits import Commit
from jobs.runs.context import RunContext
from jobs.settings.model import Settings
from jobs.sources.staged import Staged
from jobs.tables import Table
from jobs.tables.day import Day

S = TypeVar("S", bound=Staged)


@dataclass(frozen=True)
class Opening:
    """State at 00:00 of a day.

    Attributes:
        is_known: the day before is in the lake.
        rows: name of a carried table to the day before's rows that stand at 24:00; no rows unless `is_known`.
        state: hash of those rows.
    """

    is_known: bool
    rows: Mapping[str, DataFrame]
    state: str


@dataclass(frozen=True)
class Flow(Generic[S]):
    """A day's input lines to its tables.

    Attributes:
        name: in the run log.
        reads: its input in a word or two, for the progress.
        derives: what `derive` does, in the same form.
        sources: the inputs whose bad lines only this flow puts into quarantine.
        published: the tables that `publish` writes.
        derived: the tables that `derive` gives.
        carried: those of them whose rows at 24:00 the next day starts from.
        stage: session, settings, first and last day, folder → the input, staged below the folder.
        derive: day, the state at 00:00 and the input → name of each derived table to its rows. The input is None when
            a later day is recomputed from the lake.
        needed: the inputs without whose lines a day is empty.
        forgotten: the tables that `retention.sends_days` clears.
        publish: writes what the lines themselves say; a flow whose tables hold no lines publishes nothing there.
        can_recompute: whether a later day can be derived from the lake alone; it cannot unless the flow says so.
    """

    name: str
    reads: str
    derives: str
    sources: tuple[str, ...]
    published: tuple[Table, ...]
    derived: tuple[Table, ...]
    carried: tuple[Table, ...]
    stage: Callable[[SparkSession, Settings, tuple[dt.date, dt.date], str], S]
    derive: Callable[[RunContext, Day, Opening, S | None], Mapping[str, DataFrame]]
    needed: tuple[str, ...] = ()
    forgotten: tuple[Table, ...] = ()
    publish: Callable[[RunContext, Day, S], list[Commit]] = lambda *_: []
    can_recompute: Callable[[RunContext, Day], bool] = lambda *_: False
