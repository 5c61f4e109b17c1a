"""Events with the findings that follow from them, and both in words: what a night cost, what happened to a broker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.answers.words import clock_time
from jobs.intervals.of_lists import grouped
from jobs.kinds import EventKind, FindingKind, Severity
from jobs.text.terminal import counted, duration, safe

IN_FULL = (FindingKind.AVOIDED_TOO_LONG, FindingKind.LONE_ISOLATION)
"""Kinds told on their own even if they follow from an event: its broker is not all that there is to look at."""
_SEVERITIES = tuple(Severity)
_SOON_MS = 1_000
_DID = {
    EventKind.REFUSED: "refused sends from {}",
    EventKind.TIMED_OUT: "timed out on sends from {}",
    EventKind.BUSY: "rejected sends from {} as too busy",
    EventKind.SLOW: "was slow to answer {}",
    EventKind.MIXED: "failed sends from {} in several ways",
}


@dataclass(frozen=True)
class Event:
    """One event.

    Attributes:
        row: its row of `events`.
        findings: rows of `findings` that follow from it, the gravest first.
    """

    row: Mapping[str, Any]
    findings: tuple[Mapping[str, Any], ...] = ()

    @property
    def bad_ms(self) -> int:
        """From the first bad attempt to the end of the last one; whether the broker was bad after it is not known."""
        return int(self.row["last_bad_ms"] - self.row["bad_from_ms"])

    @property
    def answered(self) -> str:
        """When an attempt was answered again."""
        until_ms = self.row["bad_until_ms"]
        if until_ms is None:
            return "no later answer is known"
        again = "answered again at" if self.row["broker_name"] is not None else "all answered again by"
        return f"{again} {clock_time(until_ms)[:8]}"

    @property
    def kinds(self) -> dict[str, int]:
        """Kind of its findings to their number, the most frequent first."""
        return dict(Counter(finding["kind"] for finding in self.findings).most_common())

    @property
    def worst(self) -> str | None:
        """The sentence of its worst finding; None unless that is CRITICAL."""
        first = self.findings[0] if self.findings else None
        return first["sentence"] if first and first["severity"] == Severity.CRITICAL else None

    @property
    def where(self) -> str:
        """The broker, or how many of the brokers."""
        return self.row["broker_name"] or f"{len(self.row['brokers'])} of {counted(self.row['all_brokers'], 'broker')}"

    @property
    def what(self) -> str:
        """What happened to sends, in a word or two."""
        return str(self.row["kind"]).lower().replace("_", " ")

    @property
    def notes(self) -> list[str]:
        """What the figures of the event do not say."""
        row = self.row
        found = {
            f"{', '.join(map(safe, row['brokers']))}: {_at_once(row)}": row["broker_name"] is None,
            "goes on from the day before": row["continued_from_previous_day"],
            self.answered: row["bad_until_ms"] is None or row["bad_until_ms"] - row["last_bad_ms"] >= _SOON_MS,
            "goes on after 24:00": row["continues_next_day"],
        }
        return [note for note, is_so in found.items() if is_so]

    @property
    def words(self) -> str:
        """What happened, to whom, for how long, and who avoided the broker."""
        row, one = self.row, self.row["broker_name"] is not None
        did = _DID[row["kind"]].format(f"{row['hit_producers']:,} of {counted(row['producers'], 'producer')}")
        then = f"; {_at_once(row)}; " if not one else "; " if row["bad_until_ms"] is None else " and "
        avoided = counted(row["avoiding_producers"], "producer") if row["avoiding_producers"] else "no producer"
        after = f", for up to {duration(row['avoided_after_ms'])} after that" if row["avoided_after_ms"] else ""
        return (
            f"{safe(self.where)} {did} for {duration(self.bad_ms)}{then}{self.answered};"
            f" {avoided} avoided {'it' if one else 'them'}{after}"
        )


def _at_once(row: Mapping[str, Any]) -> str:
    """How close together several brokers began, and where to look."""
    look = "several at once: look at what they share"
    if 2 * len(row["brokers"]) > row["all_brokers"]:
        look = "not a broker; look at network, name server, or these producers"
    return f"all began within {row['began_within_ms']:,} ms ({look})"


def with_findings(
    rows: Sequence[Mapping[str, Any]], findings: Iterable[Mapping[str, Any]]
) -> tuple[list[Event], list[Mapping[str, Any]]]:
    """The events, and the findings to tell on their own: those without one of the events, and `IN_FULL`.

    Both with the gravest first: of events by severity, sends lost, sends saved or slow, length; of findings by
    severity and failures.
    """
    in_order = sorted(
        findings,
        key=lambda finding: (
            _SEVERITIES.index(finding["severity"]),
            -(finding["failures"] or 0),
            finding["start_ms"],
            finding["sentence"],
        ),
    )
    following = grouped(in_order, lambda finding: finding["event_id"])
    events = [Event(row, tuple(following.get(row["event_id"], ()))) for row in rows]
    ids = {row["event_id"] for row in rows}
    alone = [finding for finding in in_order if finding["event_id"] not in ids or finding["kind"] in IN_FULL]
    return sorted(events, key=_event_order), alone


def _event_order(event: Event) -> tuple[int | str, ...]:
    row = event.row
    return (
        _SEVERITIES.index(row["severity"]),
        -row["lost_sends"],
        -row["saved_sends"] - row["slow_sends"],
        -event.bad_ms,
        row["bad_from_ms"],
        row["event_id"],
    )


def cost_words(cost: Mapping[str, int]) -> str:
    """What sends cost their callers.

    Args:
        cost: `lost`, of these `unsent`, `saved`, `slow`: numbers of sends.

    >>> cost_words({"lost": 12, "unsent": 2, "saved": 340, "slow": 25})
    '12 sends lost (2 before a broker was chosen), 340 saved by a retry, 25 slow'
    >>> cost_words({"lost": 0, "unsent": 0, "saved": 0, "slow": 0})
    'no send lost, retried or slow'
    """
    if not any(cost[name] for name in ("lost", "saved", "slow")):
        return "no send lost, retried or slow"
    unsent = f" ({cost['unsent']:,} before a broker was chosen)" if cost["unsent"] else ""
    lost = counted(cost["lost"], "send") if cost["lost"] else "no send"
    return f"{lost} lost{unsent}, {cost['saved']:,} saved by a retry, {cost['slow']:,} slow"
