"""Days of send attempts that Hypothesis draws, and makes smaller when one of them breaks a property.

A few of the seeded producers, each with a release of its own, call while brokers fail: early, at dawn and up to
midnight. What a call comes to, its latencies too, follows from its number among a handful, so that several end at once.
"""

from __future__ import annotations

import datetime as dt
import itertools
import json
import random
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from hypothesis import strategies as st

from tests.given.drawn_files import DrawnFiles, files_of
from tests.given.seeded_days import DAY_MS, HOUR_MS, bad_lines, seeded_routes, settings_text, start_of, write_text
from tests.given.seeded_producers import BROKERS, Line, Outage, Producer, attempts_of, made_up_producers

OWN, OTHER = ("east", "west")
"""The setting's cluster, whose lines do not name it, and another one."""

_PROFILES = tomllib.loads((Path(__file__).parents[2] / "conf" / "profiles.toml").read_text(encoding="utf-8"))
RELEASES = tuple(profile["since"] for profile in _PROFILES["profile"])
KINDS = len(made_up_producers(random.Random(0), OWN))
SPOTS_MS = (0, 6 * HOUR_MS, DAY_MS - 10_000)
"""Where calls begin, from midnight on."""

_FAILURES = 7  # seeded producers know


@dataclass(frozen=True)
class Make:
    """What a producer is: one of the seeded ones, with another release and other restarts if so drawn."""

    kind: int
    release: str | None
    restarts: str | None
    cluster: str


@dataclass(frozen=True)
class Call:
    """One send of a caller, by the place of its producer."""

    producer: int
    spot: int
    after_ms: int
    chance: int
    starts_anew: bool


@dataclass(frozen=True)
class Failing:
    """One broker, or all, that do not answer well for a while; `how` as in `Outage`."""

    brokers: tuple[str, ...]
    spot: int
    lasts_ms: int
    how: int | str


@dataclass(frozen=True)
class DrawnSends:
    """What was drawn; `lines` follow from it."""

    days: tuple[dt.date, ...]
    makes: tuple[Make, ...]
    calls: tuple[Call, ...]
    failing: tuple[Failing, ...]
    bad_kinds: frozenset[int]
    files: DrawnFiles

    @cached_property
    def lines(self) -> list[Line]:
        """The good ones, in the order in which they ended."""
        outages = [
            Outage(broker, self._at(each.spot) - 1_000, self._at(each.spot) + each.lasts_ms, each.how)
            for each in self.failing
            for broker in each.brokers
        ]
        producers = [_producer(make, number) for number, make in enumerate(self.makes)]
        lines: list[Line] = []
        for call in sorted(self.calls, key=lambda call: self._at(call.spot) + call.after_ms):
            place = call.producer % len(producers)
            producer = producers[place]
            if call.starts_anew and producer.restarts:
                producer.starts_anew(turn=call.chance)
            named = {} if self.makes[place].cluster == OWN else {"cluster": self.makes[place].cluster}
            at_ms = self._at(call.spot) + call.after_ms
            lines += [named | line for line in attempts_of(random.Random(call.chance), producer, at_ms, outages)]
        return sorted(lines, key=lambda line: line["ended_at_ms"])

    @cached_property
    def bad(self) -> list[str]:
        """Lines that cannot be used, of other days, and blank ones."""
        own = [line for line in self.lines if "cluster" not in line]
        kinds = bad_lines(own[self.files.seed % len(own)]) if own else []
        return [text for nth, text in enumerate(kinds) if nth in self.bad_kinds]

    def write_in_order(self, folder: Path) -> None:
        """`sends/`, one file, in the order in which they ended, and the rest."""
        write_text(folder / "sends" / "sends.jsonl", [*map(json.dumps, self.lines), *self.bad])
        self._write_rest(folder)

    def write_as_drawn(self, folder: Path) -> None:
        """`sends/` as the drawn files have it, and the rest."""
        self.files.write(folder / "sends", self.lines, self.bad)
        self._write_rest(folder)

    def _write_rest(self, folder: Path) -> None:
        routes = seeded_routes(random.Random(self.files.number), self.days)
        write_text(folder / "routes" / "routes.jsonl", map(json.dumps, itertools.islice(routes, 0, None, 3)))
        (folder / "settings.toml").write_text(
            settings_text(OWN).replace("max_bad_fraction = 0.05", "max_bad_fraction = 0.9")
            + f'\n[inputs.routes]\npath = "{folder}/routes"\n',
            encoding="utf-8",
        )

    def _at(self, spot: int) -> int:
        day, of_day = divmod(spot, len(SPOTS_MS))
        return start_of(self.days[day]) + SPOTS_MS[of_day]


def sends_of(*days: dt.date, hard: bool = False) -> st.SearchStrategy[DrawnSends]:
    """A few dozen attempts on these days; `hard`: of one cluster, and never without bad lines, copies and the like."""
    every_spot = range(len(SPOTS_MS) * len(days))
    at_midnight = [spot for spot in every_spot[1:-1] if spot % len(SPOTS_MS) != 1]
    spots = st.sampled_from([*every_spot, *at_midnight])
    return st.builds(
        DrawnSends,
        days=st.just(days),
        makes=st.lists(
            _makes(st.just(OWN) if hard else st.sampled_from((OWN, OWN, OTHER))),
            min_size=4,
            max_size=6,
            unique_by=lambda make: make.kind,
        ).map(tuple),
        calls=st.lists(_calls(spots), min_size=20, max_size=40).map(tuple),
        failing=st.lists(_failing(spots), min_size=2, max_size=6).map(tuple),
        bad_kinds=st.frozensets(st.integers(0, 16), min_size=3 if hard else 0, max_size=6),
        files=files_of(days, hard=hard),
    )


def _makes(clusters: st.SearchStrategy[str]) -> st.SearchStrategy[Make]:
    return st.builds(
        Make,
        kind=st.sampled_from(range(KINDS)),
        release=st.one_of(st.none(), st.sampled_from(RELEASES)),
        restarts=st.sampled_from((None, "", "id", "seq")),
        cluster=clusters,
    )


def _calls(spots: st.SearchStrategy[int]) -> st.SearchStrategy[Call]:
    return st.builds(
        Call,
        producer=st.integers(0, 5),
        spot=spots,
        after_ms=st.sampled_from((0, 0, 1, 700, 2_500, 5_000, 9_000, 9_996)),
        chance=st.integers(0, 4),
        starts_anew=st.sampled_from((False, False, False, True)),
    )


def _failing(spots: st.SearchStrategy[int]) -> st.SearchStrategy[Failing]:
    return st.builds(
        Failing,
        brokers=st.one_of(st.just(BROKERS), st.sampled_from(BROKERS).map(lambda name: (name,))),
        spot=spots,
        lasts_ms=st.sampled_from((900, 4_000, 15_000)),
        how=st.one_of(st.just(0), st.sampled_from(range(_FAILURES)), st.just("slow")),
    )


def _producer(make: Make, number: int) -> Producer:
    made = made_up_producers(random.Random(number), make.cluster)[make.kind]
    made.client_id = f"{number}.{made.client_id}"
    made.seq = 40  # so that a process that starts again is told by its falling seq
    made.version = made.version if make.release is None else make.release
    made.restarts = made.restarts if make.restarts is None else make.restarts
    return made


def features(drawn: DrawnSends) -> set[str]:
    """What makes the days hard, seen in their lines."""
    return {name for name, is_there in _features(drawn.lines, drawn) if is_there}


def _features(lines: Sequence[Line], drawn: DrawnSends) -> Iterator[tuple[str, bool]]:
    midnights = {start_of(day) for day in drawn.days[1:]}
    clients = {line["client_id"] for line in lines}
    by_client = [[line for line in lines if line["client_id"] == each] for each in clients]
    pairs = [pair for own in by_client for pair in itertools.pairwise(own)]
    yield "one client, two processes by id", any(len({line.get("process_id") for line in own}) > 1 for own in by_client)
    falls = [pair for pair in pairs if _falls(*pair)]
    yield "seq that starts again", bool(falls)
    yield (
        "a restart over midnight",
        any(
            before["ended_at_ms"] < midnight <= after["ended_at_ms"]
            and (before.get("process_id") != after.get("process_id") or (before, after) in falls)
            for before, after in pairs
            for midnight in midnights
        ),
    )
    yield "ends within one ms", any(one["ended_at_ms"] == other["ended_at_ms"] for one, other in pairs)
    yield (
        "an attempt over midnight",
        any(line["started_at_ms"] < midnight <= line["ended_at_ms"] for line in lines for midnight in midnights),
    )
    yield (
        "a failure just before midnight",
        any(
            line["outcome"].endswith("Exception") and 0 < midnight - line["ended_at_ms"] <= 10_000
            for line in lines
            for midnight in midnights
        ),
    )
    for mode in ("SYNC", "ASYNC", "ONEWAY"):
        yield mode, any(line["mode"] == mode for line in lines)
    yield "several releases", len({line["client_version"] for line in lines}) > 2
    yield "several brokers", len({line["broker_addr"] for line in lines}) > 2
    for switch, name in ((True, "on"), (False, "off"), (None, "not logged")):
        yield f"switch {name}", any(line.get("fault_latency_enabled") == switch for line in lines)
    yield "retries", any(line["attempt"] > 1 for line in lines)
    yield "order keys", any("order_key" in line for line in lines)
    queues = {(line["order_key"], line["broker_addr"], line["queue_id"]) for line in lines if "order_key" in line}
    yield "a key on two queues", len({key for key, *_ in queues}) < len(queues)
    yield "two clusters", len({line.get("cluster") for line in lines}) > 1
    days_of = {(line.get("cluster"), line["ended_at_ms"] // DAY_MS) for line in lines}
    yield "a cluster without a send on one day", len(days_of) % len(drawn.days) > 0
    yield "bad lines of several kinds", len(drawn.bad_kinds) > 2
    yield "copies", bool(drawn.files.copied)
    yield "several files", drawn.files.number > 1
    yield "days not in order", list(drawn.files.days) != sorted(drawn.files.days)


def _falls(before: Line, after: Line) -> bool:
    return "process_id" not in before and None not in (before["seq"], after["seq"]) and after["seq"] < before["seq"] / 2
