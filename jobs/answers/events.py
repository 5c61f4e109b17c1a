"""Events with the findings that follow from them, and both in words: what a night cost, what happened to a broker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.kinds import EventKind, FindingKind, Severity
from jobs.text.terminal import counted, duration, safe

NOT_A_BROKER = "not a broker; look at network, name server, or these producers"
_SEVERITIES = tuple(Severity)
_DID = {
    EventKind.REFUSED: "refused sends",
    EventKind.TIMED_OUT: "let sends time out",
    EventKind.BUSY: "rejected sends as busy",
    EventKind.SLOW: "answered slowly",
    EventKind.MIXED: "failed sends in several ways",
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
    def end_ms(self) -> int:
        """When an attempt was answered again; if none was, when the last bad one ended."""
        answered, last_bad = self.row["bad_until_ms"], self.row["last_bad_ms"]
        return int(last_bad if answered is None else answered)

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
            f"{', '.join(map(safe, row['brokers']))} within {row['began_within_ms']:,} ms: {NOT_A_BROKER}": (
                row["broker_name"] is None
            ),
            "goes on from the day before": row["continued_from_previous_day"],
            "no attempt was answered after it": row["bad_until_ms"] is None,
            "goes on after 24:00": row["continues_next_day"],
        }
        return [note for note, is_so in found.items() if is_so]

    @property
    def words(self) -> str:
        """What happened, for how long, and who avoided the broker."""
        row, one = self.row, self.row["broker_name"] is not None
        said = f"{safe(self.where)} {_DID[row['kind']]} for {duration(self.end_ms - row['bad_from_ms'])}"
        if not one:
            said += f", the first within {row['began_within_ms']:,} ms of the last ({NOT_A_BROKER})"
        if row["bad_until_ms"] is None:
            said += " and answered none after it"
        if not row["avoiding_producers"]:
            return f"{said}, no producer avoided {'it' if one else 'them'}"
        said += f", {row['avoiding_producers']:,} of {counted(row['producers'], 'producer')} avoided"
        if not row["avoided_after_ms"]:
            return f"{said} {'it' if one else 'them'}"
        again = "it for {} after it answered again" if one else "them for {} after they answered again"
        return f"{said} {again.format(duration(row['avoided_after_ms']))}"


def with_findings(
    rows: Sequence[Mapping[str, Any]], findings: Iterable[Mapping[str, Any]]
) -> tuple[list[Event], list[Mapping[str, Any]]]:
    """The events, and the findings to tell on their own: those without one of the events, and AVOIDED_TOO_LONG.

    Both with the gravest first: of events by severity, sends lost, sends saved or slow, length; of findings by
    severity and failures.
    """
    following: dict[str, list[Mapping[str, Any]]] = {row["event_id"]: [] for row in rows}
    alone = []
    for finding in sorted(findings, key=_finding_order):
        event = following.get(finding["event_id"])
        if event is not None:
            event.append(finding)
        if event is None or finding["kind"] == FindingKind.AVOIDED_TOO_LONG:
            alone.append(finding)
    events = [Event(row, tuple(following[row["event_id"]])) for row in rows]
    return sorted(events, key=_event_order), alone


def _event_order(event: Event) -> tuple[int | str, ...]:
    row = event.row
    cost = -row["lost_sends"], -row["saved_sends"] - row["slow_sends"]
    started = row["bad_from_ms"]
    return _SEVERITIES.index(row["severity"]), *cost, started - event.end_ms, started, row["event_id"]


def _finding_order(finding: Mapping[str, Any]) -> tuple[int | str, ...]:
    severity = _SEVERITIES.index(finding["severity"])
    return severity, -(finding["failures"] or 0), finding["start_ms"], finding["sentence"]


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
