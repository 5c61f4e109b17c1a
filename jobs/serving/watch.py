"""Waits with the server for its end: a signal, or a JVM that cannot go on."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import suppress

from py4j.protocol import Py4JError

from jobs.errors import PlatformError
from jobs.serving.limits import Limits
from jobs.serving.thrift import Server
from jobs.spark.interruption import heeded

_EACH_S = 5
_SILENT_S = 60
_UNSTOPPABLE_S = 60
_STEADY_S = 600
_RESTARTS = 5


def stop_signal() -> threading.Event:
    """Event that SIGINT, SIGTERM and SIGHUP set from now on."""
    stop = threading.Event()
    for number in heeded():
        signal.signal(number, lambda *_: stop.set())
    return stop


def why_it_ended(server: Server, limits: Limits, stop: threading.Event) -> str | None:
    """Wait for the end; None = a signal stopped it, else the reason why its JVM ended."""
    since: dict[str, float] = {}
    while not stop.wait(_EACH_S):
        work = _work(server)
        if stop.is_set():
            break
        if work is None:
            return "its JVM ended, or does not answer"
        now = time.monotonic()
        since = {name: since.get(name, now) for name in work}
        if any(now - began > limits.time_s + _UNSTOPPABLE_S for began in since.values()):
            return "a question could not be stopped"
    return None


def _work(server: Server) -> set[str] | None:
    """Names of what the JVM works on; null = it is gone, or has been silent for a minute."""
    answers: list[set[str]] = []

    def ask() -> None:
        with suppress(Py4JError, OSError):
            if not server.spark.sparkContext._jsc.sc().isStopped():
                answers.append(set(server.door.work()))

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(_SILENT_S)
    return answers[0] if answers else None


class Restarts:
    """Number of restarts of the server without a steady time in between."""

    def __init__(self) -> None:
        self._in_a_row = 0
        self._began = time.monotonic()

    def another(self, why: str) -> str:
        """Message on the next start.

        Raises:
            PlatformError: there were too many in a row.
        """
        now = time.monotonic()
        self._in_a_row = 1 if now - self._began > _STEADY_S else self._in_a_row + 1
        self._began = now
        if self._in_a_row > _RESTARTS:
            raise PlatformError(
                f"the server ended {self._in_a_row} times in a row, now as {why}; give it more"
                " spark.driver.memory, or start it again with -v for all that the JVM says"
            )
        return f"{why}; starting anew at the same port ({self._in_a_row} of {_RESTARTS} times in a row)"
