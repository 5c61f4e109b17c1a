"""SIGINT, SIGTERM and SIGHUP: a command cleans up, prints one sentence and exits with 128 + the signal.

Before the JVM starts, the signal raises an exception at once. Afterwards it raises one at the next call to the JVM, in
any thread: the current call completes first, so its connection stays usable and no commit follows the release of the
lake. It completes soon, since Spark's jobs are cancelled.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

_TWICE_S = 1.0  # timeout(1) and a closing terminal signal the process and its group
_CANCELLED_EVERY_S = 0.2
_TASKS_END_S = 10.0
_PLANS_END_S, _JVM_ANSWERS_S = 3.0, 5.0
_OWN_THREAD = "faultline-signals"
_FORGET_OBJECT = "m\n"  # py4j's command for an object that Python no longer refers to


class Interrupted(BaseException):
    """A signal ends the command. Not an `Exception`, so that no handler treats it as a failure."""

    def __init__(self, number: int) -> None:
        super().__init__(f"interrupted by {signal.Signals(number).name}; run it again, other days stay whole")
        self.exit_code = 128 + number


class _Calls:
    """Calls to one JVM: allowed until a signal arrives, and again during clean-up.

    Attributes:
        number: the signal that ends the command, or None.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self._gives_back = False
        self._begin, self._over = threading.Event(), threading.Event()
        self._cancelling = threading.Thread(target=self._cancel, daemon=True, name=_OWN_THREAD)
        self._cancelling.start()

    def end(self, number: int) -> None:
        """Refuse further calls and end the current one soon, unless the command is already cleaning up."""
        if not self._gives_back:
            self.number = number
            self._begin.set()

    def check(self) -> None:
        """Check for a signal; called before every call to the JVM.

        Raises:
            Interrupted: a signal has arrived.
        """
        if self.number and not self._gives_back and threading.current_thread().name != _OWN_THREAD:
            raise Interrupted(self.number)

    def give_back(self) -> None:
        """Allow calls again, after cancelled jobs have ended."""
        if not self._gives_back:
            self._gives_back = True
            self._over.set()
            self._begin.set()
            self._cancelling.join(_TASKS_END_S)
            if self.number:
                _wait_for_tasks()

    def _cancel(self) -> None:
        self._begin.wait()
        threading.Thread(target=self._end_plans, daemon=True, name=_OWN_THREAD).start()
        while not self._over.is_set():
            with suppress(Exception):  # Spark may be starting or gone
                _context().cancelAllJobs()
            self._over.wait(_CANCELLED_EVERY_S)

    def _end_plans(self) -> None:
        """End the JVM if its current calls only plan, or if it does not answer."""
        plans: list[bool] = []
        while not self._over.wait(_PLANS_END_S):
            asking = threading.Thread(target=_only_plans, args=(plans,), daemon=True, name=_OWN_THREAD)
            asking.start()
            asking.join(_JVM_ANSWERS_S)
            if not self._over.is_set() and (any(plans) or asking.is_alive()):
                _end_jvm()
                return


def _only_plans(answers: list[bool]) -> None:
    """Append whether all current calls in the JVM are in Spark SQL, and none in a job or a commit."""
    with suppress(Exception):  # Spark may be starting or gone
        jvm = _context()._jvm
        threads = jvm.java.lang.Thread.getAllStackTraces().keySet()
        stacks = [jvm.java.util.Arrays.toString(thread.getStackTrace()) for thread in threads]
        calls = [stack for stack in stacks if "py4j.Gateway.invoke" in stack and "Thread.getStackTrace" not in stack]
        is_other = ["spark.sql" not in stack or "ommit" in stack or "SparkContext.runJob" in stack for stack in calls]
        answers.append(bool(calls) and not any(is_other))


def _end_jvm() -> None:
    """End the JVM; one started by spark-submit halts itself. Every later call fails."""
    from pyspark import SparkContext  # noqa: PLC0415 - as above

    gateway: Any = SparkContext._gateway  # noqa: SLF001 - the only way to the process
    with suppress(Exception):  # it ends without an answer
        if hasattr(gateway, "proc"):
            gateway.proc.kill()
        else:
            gateway.jvm.java.lang.Runtime.getRuntime().halt(1)


def _wait_for_tasks() -> None:
    """Wait until tasks of cancelled jobs end: until then they may write where the command cleans up."""
    until_s = time.monotonic() + _TASKS_END_S
    with suppress(Exception):  # Spark may be gone
        tracker = _context()._jsc.sc().statusTracker()  # Python's tracker does not know
        while time.monotonic() < until_s and any(executor.numRunningTasks() for executor in tracker.getExecutorInfos()):
            time.sleep(0.05)


def _context() -> Any:
    from pyspark import SparkContext  # noqa: PLC0415 - who ends without Spark does not load it

    return SparkContext._active_spark_context  # noqa: SLF001 - no other way to it that makes none


class _Arrived:
    """The first signal, its time, and the calls to the latest JVM."""

    number: int | None = None
    at_s = 0.0
    calls: _Calls | None = None


_arrived = _Arrived()


def _heeded() -> list[signal.Signals]:
    """Signals that end a command; ignored signals stay ignored, as under `nohup`."""
    ends = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return [number for number in ends if signal.getsignal(number) is not signal.SIG_IGN]


@contextmanager
def heeding_signals(*, to_the_end: bool) -> Iterator[None]:
    """Within the block, a signal raises `Interrupted`; a second one, a moment later, ends the process at once.

    Args:
        to_the_end: the process ends soon after the block; a later signal ends it silently.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before, unraisable = {number: signal.getsignal(number) for number in _heeded()}, sys.unraisablehook
    _arrived.number = _arrived.calls = None
    sys.unraisablehook = _unraisable
    for number in before:
        signal.signal(number, _arrive)
    try:
        yield
    except Exception as error:
        ended = what_ended(error)
        if ended is error:
            raise
        raise ended from error
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if to_the_end else handler)
        sys.unraisablehook = unraisable


def _arrive(number: int, _frame: FrameType | None) -> None:
    if _arrived.number is None:
        _arrived.number, _arrived.at_s = number, time.monotonic()
        if _arrived.calls is None:
            raise Interrupted(number)
        logging.disable()  # py4j logs such calls at length; the process ends anyway
        _arrived.calls.end(number)
    elif time.monotonic() - _arrived.at_s > _TWICE_S:
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)


def _unraisable(found: sys.UnraisableHookArgs) -> None:
    """End the process here: Python swallows exceptions raised in finalizers."""
    if isinstance(found.exc_value, Interrupted):
        sys.stderr.write(f"faultline: {found.exc_value}\n")
        sys.stderr.flush()
        os._exit(found.exc_value.exit_code)
    sys.__unraisablehook__(found)


def defer_signals() -> None:
    """Defer signals to the next call to the JVM: a half-started JVM would not end by itself."""
    _arrived.calls = _Calls()


def heed_calls(client: Any) -> None:
    """Let signals end the calls to the JVM of this py4j client."""
    if "send_command" in vars(client):  # from an earlier session
        return
    send = client.send_command

    def checked(command: str, *how: Any, **named: Any) -> Any:
        if _arrived.calls and not command.startswith(_FORGET_OBJECT):
            _arrived.calls.check()
        return send(command, *how, **named)

    client.send_command = checked


def give_back() -> None:
    """Allow calls to the JVM from now on, despite signals; call this before a command's clean-up."""
    if _arrived.calls:
        _arrived.calls.give_back()


def what_ended(error: BaseException) -> BaseException:
    """The signal, if it caused the error; otherwise the error."""
    return Interrupted(_arrived.calls.number) if _arrived.calls and _arrived.calls.number else error
