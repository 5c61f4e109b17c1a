"""What the answers for published days rest on, and what their sources cannot show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs.answers.days import days_text
from jobs.answers.producers import PRODUCER, producer_name
from jobs.answers.published import Published
from jobs.answers.runs import ALLOCATION, FAULT_LATENCY, last_runs
from jobs.tables import PRODUCER_DAYS, QUEUE_ALLOCATION, QUEUE_OWNERSHIP, REPLAY_CHECKS, TOPIC_BROKERS
from jobs.text.completeness import of_calls, of_client_logs, of_owners, of_producers
from jobs.text.terminal import counted, duration, safe

_MOST_NAMED = 3


def rests_on(published: Published) -> list[str]:
    """A sentence for each kind of source of the requested days; for one producer group only its own.

    Raises:
        LakeError: a table cannot be read.
    """
    of_sends, of_groups = (
        [runs[day] for day in published.days if day in runs]
        for runs in (last_runs(published, flow) for flow in (FAULT_LATENCY, ALLOCATION))
    )
    sentences: list[str] = []
    if of_sends:
        sentences += [*_of_producers(published), *_of_starts(of_sends), *_of_verify(published)]
    if of_groups and published.producer_group is None:
        sources = pc.unique(published.rows(QUEUE_OWNERSHIP, ["source"])["source"]).to_pylist()
        logs = of_client_logs(file for run in of_groups for file in run["client_logs"] or ())
        sentences += [of_owners(sources), *logs, *_of_strategies(published)]
    return sentences


def _of_producers(published: Published) -> Iterator[str]:
    """Sources, what was assumed or left out, and where sends contradict the replay."""
    counts = ["enforced", "switch_assumed", "not_replayed", "isolated_ms", "recorded_updates", "contradictions"]
    rows = published.rows(PRODUCER_DAYS, [*PRODUCER, *counts, "call_timeout_ms", "client_version"])
    by_producer = rows.filter(pc.field("enforced")).group_by(PRODUCER).aggregate([("recorded_updates", "max")])
    recorded = pc.sum(pc.greater(by_producer["recorded_updates_max"], 0)).as_py() or 0
    routes = published.rows(TOPIC_BROKERS, ["topic"])
    yield from of_producers(by_producer.num_rows, recorded, has_routes=bool(routes.num_rows))
    if would_have := pc.sum(rows.filter(~pc.field("enforced"))["isolated_ms"]).as_py():
        yield f"producers with the switch off would have isolated for {duration(would_have)} (enforced = false)"
    if assumed := _producers(rows.filter(pc.field("switch_assumed"))):
        does = "does" if assumed == 1 else "do"
        yield (
            f"{counted(assumed, 'producer')} {does} not log sendLatencyFaultEnable; assumed off"
            " (setting fault_latency_enabled)"
        )
    yield from of_calls(_producers(rows.filter(pc.field("call_timeout_ms").is_valid())))
    left_out = rows.filter(~pc.field("not_replayed").is_null())
    for why in sorted(pc.unique(left_out["not_replayed"]).to_pylist()):
        count = _producers(left_out.filter(pc.field("not_replayed") == pc.scalar(why)))
        yield f"{counted(count, 'producer')} not replayed: {why}"
    if pc.any(pc.greater(rows["contradictions"], 0)).as_py():
        yield _contradictions(rows.to_pylist())


def _producers(rows: pa.Table) -> int:
    return int(rows.group_by(PRODUCER).aggregate([]).num_rows)


def _contradictions(rows: Sequence[Mapping[str, Any]]) -> str:
    """How many first attempts contradict the replay, and whose they mostly are."""
    counts: Counter[str] = Counter()
    for row in rows:
        counts[producer_name(row)] += row["contradictions"]
    total = counts.total()
    most = [pair for pair in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])) if pair[1]][:_MOST_NAMED]
    who = [f"{count:,} of {name}" for name, count in most]
    if rest := total - sum(count for _, count in most):
        who.append(f"{rest:,} of others")
    attempts = "1 first attempt contradicts" if total == 1 else f"{total:,} first attempts contradict"
    return f"{attempts} the replay (producer_days.contradictions): {', '.join(who)}"


def _of_starts(runs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Days that start without the isolations of the day before."""
    days = [run["event_date"] for run in runs if run["started_from"] == "EMPTY"]
    if days:
        starts = f"{days_text(days)} {'starts' if len(days) == 1 else 'start'} with no isolation"
        yield f"the day before was not in the lake: {starts} (after_unknown_start marks rows that could differ)"


def _of_strategies(published: Published) -> Iterator[str]:
    assumed = published.rows(QUEUE_ALLOCATION, ["consumer_group"], pc.field("strategy_source") == pc.scalar("ASSUMED"))
    groups = sorted(pc.unique(assumed["consumer_group"]).to_pylist())
    if groups:
        named = ", ".join(map(safe, groups[:_MOST_NAMED])) + (", …" if groups[_MOST_NAMED:] else "")
        yield f"the strategy of {counted(len(groups), 'group')} is assumed, as nothing says it: {named}"


def _of_verify(published: Published) -> Iterator[str]:
    checks = published.rows(REPLAY_CHECKS, ["written", "matched", "cause"]).to_pylist()
    if checks:
        written, matched = (sum(row[name] for row in checks) for name in ("written", "matched"))
        differing = sum(row["cause"] not in (None, "WITHOUT_EFFECT") for row in checks)
        alike = f"verified: {matched:,} of {counted(written, 'write')} of clients replayed alike from their sends"
        yield f"{alike}; {counted(differing, 'broker')} of a producer, or log, isolated otherwise (replay_checks)"
