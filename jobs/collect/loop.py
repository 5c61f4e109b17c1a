"""The collector's loop: ask, write, wait for the next round, until stopped."""

from __future__ import annotations

import datetime as dt
import itertools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from jobs.collect.collector import Collector, Scope
from jobs.collect.files import HourlyFiles
from jobs.collect.remoting import NoAnswerError
from jobs.text.terminal import counted

_LOOK_AGAIN_S = 60.0
_REMEMBERED_S = 3_600.0
_NAMED = 5


@dataclass(frozen=True)
class Pace:
    """How often to ask.

    Attributes:
        every_s: seconds from the start of a round to the next.
        running_info_every_s: the same for consumers' running info; None = never.
        rounds: stop after so many; None = never.
    """

    every_s: float
    running_info_every_s: float | None
    rounds: int | None = None


@dataclass
class Loop:
    """A running collector.

    Attributes:
        collector: asks the cluster.
        files: for the lines: `routes`, `consumers` and `running_info`.
        pace: how often to ask.
        clock: returns the current instant, UTC.
        wait: waits for a number of seconds; true = stop.
        say: prints a progress message.
        lines: number of lines written.
        lost: number of lines that could not be written.
    """

    collector: Collector
    files: Mapping[str, HourlyFiles]
    pace: Pace
    clock: Callable[[], dt.datetime]
    wait: Callable[[float], bool]
    say: Callable[[str], None]
    lines: int = 0
    lost: int = 0
    _scope: Scope | None = None
    _brokers: dict[str, tuple[Sequence[str], float]] = field(default_factory=dict)
    _refusals_said: int = 0
    _looked_s: float = field(default=float("-inf"))
    _asked_consumers_s: float = field(default=float("-inf"))
    _is_wrong: bool = False

    def run(self) -> None:
        """Ask and write until stopped, then finish the files of the hour."""
        try:
            for done in itertools.count(1):
                began_s = time.monotonic()
                self._one_round(began_s)
                is_last = done == self.pace.rounds
                took_s = time.monotonic() - began_s
                if self.wait(0.0 if is_last else max(0.0, self.pace.every_s - took_s)) or is_last:
                    break
        finally:
            for file in self.files.values():
                file.close()

    def _one_round(self, now_s: float) -> None:
        scope = self._scope_at(now_s)
        if scope is None:
            return
        routes, consumers, members = self.collector.round(scope)
        self._write("routes", routes)
        self._write("consumers", consumers)
        every_s = self.pace.running_info_every_s
        if every_s is not None and now_s - self._asked_consumers_s >= every_s:
            self._asked_consumers_s = now_s
            self._write("running_info", list(self.collector.running_info(members)))
        refusals = self.collector.refusals
        for refusal in refusals[self._refusals_said :]:  # the first of each kind
            self.say(f"refused: {refusal}")
        self._refusals_said = len(refusals)

    def _scope_at(self, now_s: float) -> Scope | None:
        """What to ask about: current brokers, and groups and topics of the last minute.

        Falls back to the previous scope while no name server answers. A broker that the name server dropped is asked
        for another hour: its silence is a fact too, and so is the moment of its return.
        """
        try:
            is_due = self._scope is None or now_s - self._looked_s >= _LOOK_AGAIN_S
            found = self.collector.scope(None if is_due else self._scope)
            if self._scope is not None:
                self._say_changes("group", self._scope.groups, found.groups)
                self._say_changes("broker", self._scope.brokers, found.brokers)
            self._scope, self._looked_s = found, now_s if is_due else self._looked_s
            self._brokers |= {name: (addresses, now_s) for name, addresses in found.brokers.items()}
            self._say_once(None)
        except NoAnswerError as problem:
            self._say_once(f"no name server answers: {problem}")
        if self._scope is None:
            return None
        known = {
            name: addresses for name, (addresses, at_s) in sorted(self._brokers.items()) if now_s - at_s < _REMEMBERED_S
        }
        return replace(self._scope, brokers=known)

    def _write(self, kind: str, lines: Sequence[Mapping[str, Any]]) -> None:
        try:
            self.files[kind].write(lines, self.clock())
            self.lines += len(lines)
        except OSError as problem:
            self.lost += len(lines)
            self.say(f"{counted(len(lines), 'line')} of {kind} lost: {problem}")

    def _say_changes(self, what: str, before: Iterable[str], after: Iterable[str]) -> None:
        """Print which names appeared and disappeared."""
        names, others = set(before), set(after)
        for which, how in ((others - names, "new"), (names - others, "gone")):
            if which:
                more = f" and {len(which) - _NAMED} more" if len(which) > _NAMED else ""
                listed = ", ".join(sorted(which)[:_NAMED])
                self.say(f"{counted(len(which), what)} {how}: {listed}{more}")

    def _say_once(self, trouble: str | None) -> None:
        """Print a problem when it starts and when it is over."""
        was_wrong, self._is_wrong = self._is_wrong, trouble is not None
        if was_wrong != self._is_wrong:
            self.say(trouble or "a name server answers again")
