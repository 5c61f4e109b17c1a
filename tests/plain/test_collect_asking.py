"""How a collector asks: no faster than it may, and patient with who does not answer; and how it goes on meanwhile."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from jobs.collect import asking as module
from jobs.collect.asking import Asking, Refusal
from jobs.collect.collector import Collector, Line, Scope
from jobs.collect.files import HourlyFiles
from jobs.collect.loop import Loop, Pace
from jobs.collect.remoting import Answer, NoAnswerError, Security


class Clock:
    """A monotonic clock that moves when somebody waits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 100.0
        self.waits: list[float] = []
        monkeypatch.setattr("time.monotonic", lambda: self.now_s)

    def wait(self, seconds: float) -> bool:
        self.waits.append(round(seconds, 3))
        self.now_s += seconds
        return False

    def utc(self) -> dt.datetime:
        return dt.datetime.fromtimestamp(1_800_000_000 + self.now_s, dt.UTC)


class Connection:
    """One that answers as its address says: `dead` does not."""

    calls: list[str]

    def __init__(self, address: str, *_: object) -> None:
        self.address = address

    def call(self, *_: object) -> Answer:
        self.calls.append(self.address)
        if self.address == "dead":
            raise NoAnswerError("dead: refused")
        return Answer(0, None, "{}")

    def close(self) -> None:
        self.calls.append(f"{self.address} closed")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setattr(Connection, "calls", [], raising=False)
    monkeypatch.setattr(module, "Connection", Connection)
    return Clock(monkeypatch)


def test_requests_keep_their_distance(clock: Clock) -> None:
    asking = Asking(1.0, 4.0, Security(), clock.wait)
    for _ in range(3):
        asking("a", 1, {})
    assert clock.waits == [0.25, 0.25]
    clock.now_s += 10
    asking("b", 1, {})  # what was not used is not saved up
    asking("a", 1, {})
    assert clock.waits == [0.25, 0.25, 0.25]
    assert (asking.requests, asking.unanswered) == (5, 0)
    asking.close()
    assert Connection.calls[-2:] == ["a closed", "b closed"]


def test_who_does_not_answer_is_left_alone_longer_each_time_and_others_are_not(clock: Clock) -> None:
    asking = Asking(1.0, 1e9, Security(), clock.wait)
    tries: list[float] = []
    for _ in range(3_000):
        calls = len(Connection.calls)
        with pytest.raises(NoAnswerError):
            asking("dead", 1, {})
        if len(Connection.calls) > calls:
            tries.append(clock.now_s)
        clock.now_s += 0.1
    rests = [round(later - earlier) for earlier, later in pairwise(tries)]
    assert rests == [1, 2, 4, 8, *[10] * (len(rests) - 4)]
    assert len(rests) > 20
    assert (asking.requests, asking.unanswered) == (len(tries), 3_000)
    assert asking("alive", 1, {}).code == 0


def test_an_answer_ends_its_rests(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    answers, tries = iter([False, False, False, True, False, False]), list[float]()

    def call(*_: object) -> Answer:
        tries.append(clock.now_s)
        if next(answers):
            return Answer(0, None, "{}")
        raise NoAnswerError("refused")

    monkeypatch.setattr(Connection, "call", call)
    asking = Asking(1.0, 1e9, Security(), clock.wait)
    while len(tries) < 6:
        with suppress(NoAnswerError):
            asking("a", 1, {})
        clock.now_s += 0.5
    assert [later - earlier for earlier, later in pairwise(tries)] == [1, 2, 4, 0.5, 1]


class Cluster(Collector):
    """One whose name server is there at some looks only, and knows broker-b at some only."""

    def __init__(self, clock: Clock, is_there: Mapping[int, bool], struck_off: range = range(0)) -> None:
        self.looks, self.scopes, self.rounds, self._is_there, self._time = 0, 0, 0, is_there, clock
        self._struck_off = struck_off
        self.asked_for: list[list[str]] = []

    @property
    def refusals(self) -> list[Refusal]:
        return []

    def scope(self, known: Scope | None = None) -> Scope:
        self.looks, self.scopes = self.looks + 1, self.scopes + (known is None)
        if not self._is_there.get(self.looks, True):
            raise NoAnswerError(f"try {self.looks}")
        brokers = {"a": ["a:1"]} if self.looks in self._struck_off else {"b": ["b:1"], "a": ["a:1"]}
        return replace(known, brokers=brokers) if known else Scope(brokers, self.groups(), [])

    def groups(self) -> list[str]:
        return []

    def round(self, scope: Scope) -> tuple[list[Line], list[Line], dict[tuple[str, str], str]]:
        self.asked_for.append(list(scope.brokers))
        self.rounds += 1
        self._time.now_s += 3
        return [{"n": self.rounds, "groups": scope.groups}], [], {}


def looped(clock: Clock, cluster: Cluster, folder: Path, rounds: int, every_s: float = 10) -> tuple[Loop, list[str]]:
    said: list[str] = []
    files = {kind: HourlyFiles(folder / kind, "p") for kind in ("routes", "consumers", "running_info")}
    loop = Loop(cluster, files, Pace(every_s, None, rounds), clock.utc, clock.wait, said.append)
    loop.run()
    return loop, said


def test_a_round_begins_when_due_however_long_the_previous_one_took(clock: Clock, tmp_path: Path) -> None:
    loop, said = looped(clock, Cluster(clock, {}), tmp_path, 3)
    assert (clock.waits, said, loop.lines) == ([7, 7, 0], [], 3)
    clock.waits.clear()
    looped(clock, Cluster(clock, {}), tmp_path, 3, every_s=2)
    assert clock.waits == [0, 0, 0]


def test_what_there_is_to_ask_about_is_looked_up_once_a_minute(clock: Clock, tmp_path: Path) -> None:
    cluster = Cluster(clock, {})
    looped(clock, cluster, tmp_path, 13)
    assert (cluster.scopes, cluster.looks, cluster.rounds) == (3, 13, 13)


def test_a_broker_that_is_struck_off_is_asked_for_an_hour_more(clock: Clock, tmp_path: Path) -> None:
    cluster = Cluster(clock, {}, range(3, 500))
    _, said = looped(clock, cluster, tmp_path, 501)
    assert said == ["1 broker gone: b", "1 broker new: b"]
    both = [place for place, brokers in enumerate(cluster.asked_for) if brokers == ["a", "b"]]
    assert both == [*range(361), 499, 500]  # 10 s apart; it was there at the second look
    assert all("a" in brokers for brokers in cluster.asked_for)


def test_groups_that_come_and_go_are_said(clock: Clock, tmp_path: Path) -> None:
    class Groups(Cluster):
        def groups(self) -> list[str]:
            return [f"g{number}" for number in range(7)] if self.scopes == 2 else ["g1", "other"]

    _, said = looped(clock, Groups(clock, {}), tmp_path, 13)
    assert said == [
        "6 groups new: g0, g2, g3, g4, g5 and 1 more", "1 group gone: other",
        "1 group new: other", "6 groups gone: g0, g2, g3, g4, g5 and 1 more",
    ]  # fmt: skip


def test_without_a_name_server_it_goes_on_with_what_it_knows_and_says_so_once(clock: Clock, tmp_path: Path) -> None:
    cluster = Cluster(clock, {1: False, 2: False, 4: False, 5: False})
    _, said = looped(clock, cluster, tmp_path, 20, every_s=20)
    assert said == [
        "no name server answers: try 1", "a name server answers again",
        "no name server answers: try 4", "a name server answers again",
    ]  # fmt: skip
    assert cluster.rounds == 18


def test_lines_that_cannot_be_written_are_counted(
    clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(HourlyFiles, "write", full)
    loop, said = looped(clock, Cluster(clock, {}), tmp_path, 2)
    assert (loop.lines, loop.lost) == (0, 2)
    assert said[0] == "1 line of routes lost: [Errno 28] No space left on device"
