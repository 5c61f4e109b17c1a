"""What a piece of work inside this process took, its JVM included."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame

from bench.process import own_cpu_seconds

_RUNS = 3
_LONG_SECONDS = 5


@dataclass(frozen=True)
class Took:
    """What one run took, by the wall clock and in CPU time of all processes."""

    seconds: float
    cpu_seconds: float


def run_once(work: Callable[[], object]) -> Took:
    """One run."""
    started, cpu_started = time.perf_counter(), own_cpu_seconds()
    work()
    return Took(time.perf_counter() - started, own_cpu_seconds() - cpu_started)


def run_warm(work: Callable[[], object]) -> Took:
    """Medians of a few runs after one that is not counted; of one alone where it takes long."""
    first = run_once(work)
    runs = [run_once(work) for _ in range(_RUNS if first.seconds < _LONG_SECONDS else 1)]
    return Took(statistics.median(run.seconds for run in runs), statistics.median(run.cpu_seconds for run in runs))


def all_rows(frame: DataFrame) -> Callable[[], None]:
    """The work of making every row of the frame."""
    return lambda: frame.write.format("noop").mode("overwrite").save()


def together(parts: Sequence[Took]) -> Took:
    """One after the other."""
    return Took(sum(part.seconds for part in parts), sum(part.cpu_seconds for part in parts))
