"""Days of consumer groups that Hypothesis draws, and makes smaller when one of them breaks a property.

A few of the seeded groups, of which a collector asks at times round midnight and at dawn, at 00:00:00.000 too. Between
its rounds members come and go, queues change, and a topic goes away and returns.
"""

from __future__ import annotations

import datetime as dt
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from hypothesis import strategies as st

from tests.given.drawn_files import DrawnFiles, files_of
from tests.given.seeded_days import HOUR_MS, start_of, write_text
from tests.given.seeded_groups import (
    BROKERS,
    EVERY_MS,
    GROUPS,
    KINDS,
    LOGGED,
    TOPICS,
    ClientLog,
    bad_lines,
    captures,
    made_up_site,
    settings_text,
    shares,
)
from tests.given.seeded_producers import Line

OTHER = "west"
_AT_DAWN = 100  # rounds from here on begin at 06:00


@dataclass(frozen=True, order=True)
class Round:
    """The collector's way round, and what changed before it.

    Attributes:
        day: its place.
        nth: rounds after midnight, before it if negative; from `_AT_DAWN` on after 06:00.
        late_ms: after the even time.
        chance: what decides which answers come, and how.
        joins_or_leaves: group and member that do, by their places.
        queues: topic, broker and their number from now on.
        topic_turns: the second topic goes away, or returns.
    """

    day: int
    nth: int
    late_ms: int
    chance: int
    joins_or_leaves: tuple[tuple[int, int], ...]
    queues: tuple[tuple[int, int, int], ...]
    topic_turns: bool


@dataclass(frozen=True)
class DrawnGroups:
    """What was drawn; `lines` follow from it."""

    days: tuple[dt.date, ...]
    names: tuple[str, ...]
    others: frozenset[str]
    rounds: tuple[Round, ...]
    bad_kinds: frozenset[int]
    files: DrawnFiles

    @cached_property
    def lines(self) -> dict[str, list[Line]]:
        """Kind to its good lines, in the order of their capture."""
        lines: dict[str, list[Line]] = {kind: [] for kind in KINDS}
        for kind, line in self._seen[0]:
            lines[kind].append(line)
        return lines

    @cached_property
    def log(self) -> list[str]:
        """What the first member of the logging group wrote, if that was drawn."""
        return self._seen[1].lines

    @cached_property
    def _seen(self) -> tuple[list[tuple[str, Line]], ClientLog]:
        site = made_up_site(random.Random(0), self.names)
        logging = next((group for group in site.groups if group.name == LOGGED and LOGGED not in self.others), None)
        log, seen = ClientLog(logging.pool[0] if logging else ""), list[tuple[str, Line]]()
        for each in sorted(self.rounds, key=self.at_ms):
            for group, member in each.joins_or_leaves:
                own = site.groups[group % len(site.groups)]
                own.members ^= {own.pool[member]}
            for topic, broker, number in each.queues:
                site.queues[TOPICS[topic], BROKERS[broker]] = number
            site.gone ^= {TOPICS[1]} if each.topic_turns else set()
            at_ms = self.at_ms(each)
            for kind, lines in captures(random.Random(each.chance), site, at_ms, moves=False).items():
                seen += [(kind, named) for line in lines for named in self._of_clusters(line)]
            if logging and logging.pool[0] in logging.members:
                log.holds(at_ms + 900, shares(site.all_queues(TOPICS[0]), sorted(logging.members), logging.pool[0]))
            elif logging:
                log.stops(at_ms + 900)
        return seen, log

    def at_ms(self, each: Round) -> int:
        """When the round begins."""
        midnight_ms = start_of(self.days[each.day])
        if each.nth >= _AT_DAWN:
            midnight_ms, nth = midnight_ms + 6 * HOUR_MS, each.nth - _AT_DAWN
        else:
            nth = each.nth
        return midnight_ms + nth * EVERY_MS + each.late_ms

    def _of_clusters(self, line: Line) -> Iterator[Line]:
        """A group is of one cluster, a topic of both if there are two."""
        group = line.get("consumer_group")
        if group not in self.others:
            yield line
        if group in self.others or (group is None and self.others):
            yield {"cluster": OTHER} | line

    @cached_property
    def bad(self) -> dict[str, list[str]]:
        """Kind to lines that cannot be used."""
        return {
            kind: [text for nth, text in enumerate(bad_lines(lines[0])) if nth in self.bad_kinds] if lines else []
            for kind, lines in self.lines.items()
        }

    def write_in_order(self, folder: Path) -> None:
        """`consumers/`, `routes/`, `running_info/`, one file each, in the order of capture; a log; the settings."""
        for kind, lines in self.lines.items():
            write_text(folder / kind / f"{kind}.jsonl", [*map(json.dumps, lines), *self.bad[kind]])
        self._write_rest(folder, files=1)

    def write_as_drawn(self, folder: Path) -> None:
        """Likewise, but as the drawn files have the lines; a log, whose order means something, rolled once."""
        for kind, lines in self.lines.items():
            self.files.write(folder / kind, lines, self.bad[kind])
        self._write_rest(folder, files=2)

    def _write_rest(self, folder: Path, files: int) -> None:
        log = folder / "client_logs" / "host-1" / "rocketmq_client.log"
        if self.log:
            midnight = f"{self.days[1]}"
            later = [line for line in self.log if line >= midnight] if files > 1 else self.log
            rolled = self.log[: len(self.log) - len(later)]
            write_text(log, later)
            if rolled:
                write_text(log.with_name("rocketmq_client.log.1"), rolled)
        (folder / "settings.toml").write_text(
            settings_text().replace("max_bad_fraction = 0.05", "max_bad_fraction = 0.9"), encoding="utf-8"
        )


def groups_of(*days: dt.date, hard: bool = False) -> st.SearchStrategy[DrawnGroups]:
    """A dozen rounds over these days; `hard`: of one cluster, never without a log, bad lines and the like."""
    rounds = st.builds(
        Round,
        day=st.integers(0, len(days) - 1),
        nth=st.one_of(st.integers(-5, 5), st.integers(-1, 0), st.integers(_AT_DAWN, _AT_DAWN + 8)),
        late_ms=st.sampled_from((0, 0, 1, 250)),
        chance=st.integers(0, 99),
        joins_or_leaves=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=2).map(tuple),
        queues=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(1, 4)), max_size=1).map(tuple),
        topic_turns=st.sampled_from((False, False, False, False, True)),
    )
    others = [name for name in sorted(GROUPS) if name != LOGGED]
    names = st.lists(st.sampled_from(others if hard else [LOGGED, *others]), min_size=1, max_size=3, unique=True)
    return st.builds(
        DrawnGroups,
        days=st.just(days),
        names=names.map(lambda drawn: (LOGGED, *drawn) if hard else tuple(drawn)),
        others=st.sampled_from(
            (frozenset(), frozenset() if hard else frozenset({"g_mix", "g_dup", "g_circle", "g_avg"}))
        ),
        rounds=st.lists(rounds, min_size=8, max_size=16, unique_by=lambda each: (each.day, each.nth)).map(tuple),
        bad_kinds=st.frozensets(st.integers(0, 5), min_size=3 if hard else 0, max_size=4),
        files=files_of(days, hard=hard),
    )


def features(drawn: DrawnGroups) -> set[str]:
    """What makes the days hard, seen in their lines."""
    return {name for name, is_there in _features(drawn) if is_there}


def _features(drawn: DrawnGroups) -> Iterator[tuple[str, bool]]:
    midnights = [start_of(day) for day in drawn.days[1:]]
    lines = [line for of_kind in drawn.lines.values() for line in of_kind]
    times = sorted({line["captured_at_ms"] for line in lines})
    changing = {drawn.at_ms(each) for each in drawn.rounds if each.joins_or_leaves}
    yield "a capture at 00:00:00.000", any(midnight in times for midnight in midnights)
    yield "members that change at 00:00:00.000", any(midnight in changing for midnight in midnights)
    yield (
        "members that change within a minute of midnight",
        any(0 < abs(at_ms - midnight) <= 60_000 for at_ms in changing for midnight in midnights),
    )
    around = [{at_ms < midnight for at_ms in times if abs(at_ms - midnight) < 300_000} for midnight in midnights]
    yield "captures on both sides of midnight", any(len(sides) == 2 for sides in around)
    yield "several groups", len(drawn.names) > 1
    yield "two clusters", len({line.get("cluster") for line in lines}) > 1
    yield "queues that change", any(each.queues for each in drawn.rounds)
    yield "a topic that goes away", any(line.get("code") == 17 for line in drawn.lines["routes"])
    yield "a broker without an answer", any(line["code"] in (None, 2) for line in drawn.lines["consumers"])
    yield "running info", bool(drawn.lines["running_info"])
    yield "a client's log", bool(drawn.log)
    yield "bad lines of several kinds", len(drawn.bad_kinds) > 2
    yield "copies", bool(drawn.files.copied)
    yield "several files", drawn.files.number > 1
    yield "days not in order", list(drawn.files.days) != sorted(drawn.files.days)
