"""`--fail-on`: conditions on a night that a scheduler wants as an exit code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobs.errors import ConditionMetError, UsageError
from jobs.kinds import FindingKind, Severity
from jobs.text.nearest import did_you_mean

if TYPE_CHECKING:  # it imports what reads Delta
    from jobs.answers.digest import Digest

WORDS = ("event", "contradictions", "missing-producer", *Severity, *FindingKind)
OF_VERIFY = ("differing", "unexplained")
"""Brokers of a writer whose isolations differ from what the client wrote; those of them without a known reason."""


@dataclass(frozen=True)
class Condition:
    """One condition: there is more than `above` of `what`, one of `WORDS` or of `OF_VERIFY`."""

    what: str
    above: int = 0


def parse_condition(text: str, known: Sequence[str] = WORDS) -> Condition:
    """A condition of `--fail-on`; letter case does not matter.

    >>> parse_condition("contradictions>10"), parse_condition("all_isolated")
    (Condition(what='contradictions', above=10), Condition(what='ALL_ISOLATED', above=0))

    Raises:
        UsageError: the text is not a condition.
    """
    match = re.fullmatch(r"([\w-]+)(?:>([0-9]{1,18}))?", text.strip())
    words = {word.casefold(): word for word in known}
    what = words.get(match.group(1).casefold()) if match else None
    if match is None or what is None:
        near = did_you_mean(match.group(1) if match else text, known)
        raise UsageError(
            f"--fail-on {text!r} is not a condition{near}; give {', '.join(known)}, or one with >N, like {known[1]}>20"
        )
    return Condition(what, int(match.group(2) or 0))


def check_asked_of(flows: Sequence[str], conditions: Sequence[Condition]) -> None:
    """Refuse conditions if no flow reads send attempts.

    Raises:
        UsageError: there is one.
    """
    if conditions and "fault-latency" not in flows:
        raise UsageError("--fail-on asks about send attempts, which allocation does not read; leave it out")


def check_conditions(conditions: Sequence[Condition], nights: Sequence[Digest] | None) -> None:
    """Fail if a condition holds over all nights together; the tables stay published.

    Args:
        conditions: those to judge.
        nights: the published ones; None if they cannot be read.

    Raises:
        ConditionMetError: naming each condition that held and its count, or that none could be judged.
    """
    if conditions and nights is None:
        raise ConditionMetError(
            "--fail-on could not be judged, as the published tables cannot be read; the tables are published"
        )
    counts = Counter[str](dict.fromkeys(WORDS, 0))
    for night in nights or ():
        counts["event"] += night.counts["events"]
        counts["contradictions"] += night.contradictions
        counts["missing-producer"] += len(night.missing_producers)
        counts.update(night.severities)
        counts.update(night.kinds)
    check_counts(conditions, counts)


def check_counts(conditions: Sequence[Condition], counts: Mapping[str, int]) -> None:
    """Fail if a condition holds; the tables stay published.

    Raises:
        ConditionMetError: naming each condition that held and its count.
    """
    met = [
        f"{condition.what} {counts[condition.what]}"
        for condition in conditions
        if counts[condition.what] > condition.above
    ]
    if met:
        raise ConditionMetError(f"--fail-on held: {', '.join(met)}; the tables are published")
