"""`--fail-on`: conditions on a night that a scheduler wants to hear about as an exit code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from jobs.errors import ConditionMetError, UsageError

if TYPE_CHECKING:  # it imports Spark
    from jobs.fault_latency.summary import Summary

Kind = Literal["incident", "contradictions", "missing-producer"]


@dataclass(frozen=True)
class Condition:
    """One condition: `kind` counts more than `above`."""

    kind: Kind
    above: int = 0


def parse_condition(text: str) -> Condition:
    """A condition of `--fail-on`.

    >>> parse_condition("contradictions>10")
    Condition(kind='contradictions', above=10)

    Raises:
        UsageError: the text is no condition.
    """
    match = re.fullmatch(r"(incident|contradictions|missing-producer)(?:>(\d{1,18}))?", text.strip())
    if match is None:
        raise UsageError(f"--fail-on {text!r} is no condition; give incident, contradictions>N or missing-producer")
    kind: Kind = match.group(1)  # type: ignore[assignment]
    return Condition(kind, int(match.group(2) or 0))


def check_asked_of(flows: Sequence[str], conditions: Sequence[Condition]) -> None:
    """Refuse a condition where no flow reads send attempts.

    Raises:
        UsageError: there is one.
    """
    if conditions and "fault-latency" not in flows:
        raise UsageError("--fail-on asks about send attempts, which allocation does not read; leave it out")


def check_conditions(conditions: Sequence[Condition], summary: Summary) -> None:
    """Fail when a condition holds; the tables are published all the same.

    Raises:
        ConditionMetError: naming each condition that held and its count.
    """
    counts = {
        "incident": summary.incident_count,
        "contradictions": summary.contradictions,
        "missing-producer": len(summary.missing_producers),
    }
    met = [f"{each.kind} {counts[each.kind]}" for each in conditions if counts[each.kind] > each.above]
    if met:
        raise ConditionMetError(f"--fail-on held: {', '.join(met)}; the tables are published")
