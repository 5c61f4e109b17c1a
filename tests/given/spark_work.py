"""What a run asks of Spark, read from Spark's event log: its SQL executions and jobs, by the part of the program.

Counted are executions that are their own root: what Delta runs inside of one, such as a look for a table's files, is
part of it, and so are its jobs.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from py4j.java_gateway import JavaMember
from pyspark.sql import SparkSession

from jobs.text.progress import Progress

ROOT = Path(__file__).parents[2]
_STARTED = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart"
_GROUP = "spark.jobGroup.id"
_ELSE = "?"
OPENING = "opening the lake"
"""The step that each flow begins with."""

_ASKS = {"collectToPython", "count", "execute", "getRowsToPython", "head", "history", "isEmpty", "parquet", "save",
         "writeFiles", "commit", "sql", "take", "tail", "toPythonIterator", "update"}  # fmt: skip


@dataclass(frozen=True)
class SparkWork:
    """What was asked for, by the part of the program that asked: `1. step | file function`, 1 of the first flow."""

    executions: Counter[str] = field(default_factory=Counter)
    jobs: Counter[str] = field(default_factory=Counter)

    def of(self, wanted: Callable[[str], bool]) -> SparkWork:
        """The work of some parts."""
        chosen = ({part: n for part, n in each.items() if wanted(part)} for each in (self.executions, self.jobs))
        return SparkWork(*map(Counter, chosen))

    def __str__(self) -> str:
        """A line per part: executions, jobs, which part."""
        lines = [f"{n:4} {self.jobs[part]:4}  {part}" for part, n in self.executions.items()]
        return "\n".join([*lines, f"{self.executions.total():4} {self.jobs.total():4}  in all"])


def work_of(events: Iterable[Mapping[str, Any]]) -> SparkWork:
    """Count the events of a log.

    >>> start = {"Event": _STARTED, "rootExecutionId": 1, "jobGroupId": "a"}
    >>> job = {"Event": "SparkListenerJobStart", "Properties": {"spark.sql.execution.id": "2"}}
    >>> found = work_of([start | {"executionId": 1}, start | {"executionId": 2}, job])
    >>> found.executions, found.jobs
    (Counter({'a': 1}), Counter({'a': 1}))
    """
    found, roots, parts = SparkWork(), dict[int, int](), dict[int, str]()
    for event in events:
        if event["Event"] == _STARTED:
            number = event["executionId"]
            roots[number] = event.get("rootExecutionId", number)
            if roots[number] == number:
                parts[number] = event.get("jobGroupId") or _ELSE
                found.executions[parts[number]] += 1
        elif event["Event"] == "SparkListenerJobStart":
            properties = event.get("Properties") or {}
            execution = properties.get("spark.sql.execution.id")
            root = roots.get(int(execution)) if execution else None
            found.jobs[parts.get(root, _ELSE) if root is not None else properties.get(_GROUP) or _ELSE] += 1
    return found


@contextmanager
def recorded(spark: SparkSession, folder: Path) -> Iterator[list[SparkWork]]:
    """Write an event log of the block below `folder`; what it holds is in the list when the block has ended."""
    jvm: Any = spark._jvm
    context = spark._jsc.sc()
    settings = context.getConf().set("spark.eventLog.compress", "false").set("spark.eventLog.rolling.enabled", "false")
    folder.mkdir(parents=True, exist_ok=True)
    uri = jvm.java.net.URI(folder.absolute().as_uri())
    listener = jvm.org.apache.spark.scheduler.EventLoggingListener(
        "work", jvm.scala.Option.empty(), uri, settings, context.hadoopConfiguration()
    )
    listener.start()
    context.addSparkListener(listener)
    found: list[SparkWork] = []
    try:
        with pytest.MonkeyPatch.context() as patch:
            _name_who_asks(spark, patch)
            yield found
    finally:
        context.listenerBus().waitUntilEmpty()
        context.removeSparkListener(listener)
        listener.stop()
        spark.sparkContext.setLocalProperty(_GROUP, None)  # type: ignore[arg-type]
    (log,) = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")]
    with log.open(encoding="utf-8") as lines:
        found.append(work_of(map(json.loads, lines)))


def _name_who_asks(spark: SparkSession, patch: pytest.MonkeyPatch) -> None:
    """Tell Spark, before each call that may start an execution, which part of the program makes it."""
    call, step = JavaMember.__call__, Progress.step
    now, flows, named = ["between steps"], [0], threading.local()

    @contextmanager
    def named_step(self: Progress, what: str) -> Iterator[None]:
        before, now[0] = now[0], what
        flows[0] += what == OPENING
        with step(self, what):
            yield
        now[0] = before

    def asking(self: Any, *given: Any) -> Any:
        if self.name in _ASKS:
            part = f"{flows[0]}. {now[0]} | {_asker()}"
            if getattr(named, "part", None) != part:
                named.part = part
                spark.sparkContext.setLocalProperty(_GROUP, part)
        return call(self, *given)

    patch.setattr(Progress, "step", named_step)
    patch.setattr(JavaMember, "__call__", asking)


def _asker() -> str:
    """The innermost function of the program under way, and its caller; in the lake also the table."""
    frame: FrameType | None = sys._getframe(2)
    found, table = list[str](), ""
    while frame is not None and len(found) < 2:
        path = frame.f_code.co_filename
        if path.startswith((f"{ROOT}/jobs/", f"{ROOT}/udfs/")):
            found.append(f"{path.removeprefix(f'{ROOT}/')} {frame.f_code.co_name}")
            table = table or getattr(frame.f_locals.get("table"), "name", "")
        frame = frame.f_back
    return " < ".join(found) + (f" of {table}" if table else "")
