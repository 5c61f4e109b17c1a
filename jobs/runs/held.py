"""The lake as a run holds it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from jobs.errors import LakeBusyError
from jobs.lake.tables_io import Lake
from jobs.runs.run import Run
from jobs.settings.model import Settings
from jobs.text.progress import Progress

_LOOKS_EVERY_S = 5.0


@contextmanager
def held(lake: Lake, settings: Settings, run: Run, progress: Progress) -> Iterator[str | None]:
    """Hold the lake; yields, and says, whose lock was taken over or broken, or None.

    Raises:
        LakeBusyError: another run holds it, and still does after `run.wait`.
        FaultlineError: as of `Lake.locked`.
    """
    until_s = time.monotonic() + run.wait.total_seconds()
    waits = False
    with ExitStack() as stack:
        while True:
            locked = lake.locked(run.run_id, run.clock, break_lock=run.break_lock, single_writer=settings.single_writer)
            try:
                taken_from = stack.enter_context(locked)
                break
            except LakeBusyError as busy:
                if time.monotonic() >= until_s:
                    raise
                if not waits:
                    progress.say(f"{str(busy).partition(';')[0]}; waiting for it")
                waits = True
                time.sleep(_LOOKS_EVERY_S)
        if taken_from:
            progress.say(taken_from)
        yield taken_from
