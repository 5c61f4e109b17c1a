"""The program, to which a signal comes at one of its steps: `interrupted.py SIGNAL HOW STEP AFTER_S COMMAND…`.

It knows nothing of it: its steps are wrapped from outside. A step is the n-th of a kind: a write to a table
(`sends 1`), `staging 1`, `jvm 1`, `context 1` or `stop 1`. AFTER_S seconds after it began the signal goes to the whole
process group, as from a terminal, HOW: `once`; `twice`, as timeout(1) does; `again`, once more while the run gives
back; `dead`, when the JVM is.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from pyspark import SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

import jobs.runs.runner
import jobs.spark.session
from jobs.cli import main as cli
from jobs.lake.tables_io import Lake
from jobs.spark.interruption import give_back
from tests.faults.steps import staged_by

_begun: Counter[str] = Counter()


def _wrapped(function: Callable[..., Any], name: Callable[..., str], step: str, send: Callable[[], None]) -> Any:
    def called(*args: Any, **named: Any) -> Any:
        _begun[name(*args)] += 1
        if step == f"{name(*args)} {_begun[name(*args)]}":
            threading.Thread(target=send, daemon=True).start()
        return function(*args, **named)

    return called


def _again(number: int, give_back: Callable[[], None]) -> Callable[[], None]:
    """What the run calls before it gives back: it takes its time then, and the person who waits loses patience."""

    def called() -> None:
        time.sleep(1.2)
        os.killpg(0, number)
        time.sleep(5)
        give_back()

    return called


def main(name: str, how: str, step: str, after_s: str, *command: str) -> int:
    """Run the command, and be interrupted."""
    number = signal.Signals[name]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it, and hanging up
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

    def send() -> None:
        time.sleep(float(after_s))
        if how == "dead":
            jvm = SparkContext._gateway.proc  # type: ignore[union-attr]
            jvm.kill()
            jvm.wait()
        for _ in range(2 if how == "twice" else 1):
            os.killpg(0, number)

    def wrapped(function: Callable[..., Any], what: str) -> Any:
        return _wrapped(function, lambda *_: what, step, send)

    for method in ("publish_day", "append"):
        function = getattr(Lake, method)
        setattr(Lake, method, _wrapped(function, lambda _, table, *__: table.name, step, send))
    for each in staged_by(lambda stage: wrapped(stage, "staging")):
        each.start()
    vars(jobs.spark.session)["launch_gateway"] = wrapped(launch_gateway, "jvm")
    vars(jobs.spark.session)["_started"] = wrapped(jobs.spark.session._started, "context")
    SparkSession.stop = wrapped(SparkSession.stop, "stop")  # type: ignore[method-assign]
    if how == "again":
        vars(jobs.runs.runner)["give_back"] = _again(number, give_back)
    sys.argv = ["faultline", *command]
    return cli.main()


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
