"""What the answers of published days rest on, and what their sources cannot know."""

from __future__ import annotations

import pyarrow.compute as pc

from jobs.answers.published import Published
from jobs.answers.runs import ALLOCATION, FAULT_LATENCY, days_with
from jobs.tables import PRODUCER_DAYS, QUEUE_OWNERSHIP, REPLAY_CHECKS, TOPIC_BROKERS
from jobs.text.completeness import of_owners, of_producers
from jobs.text.terminal import counted

_WITHOUT_EFFECT = "WITHOUT_EFFECT"


def rests_on(published: Published) -> list[str]:
    """A sentence for each kind of source of the requested days; of one producer group those of its own.

    Raises:
        LakeError: a table cannot be read.
    """
    ran = days_with(published)
    sentences: list[str] = []
    if ran[FAULT_LATENCY] & set(published.days):
        sentences += [*_of_producers(published), *_of_verify(published)]
    if ran[ALLOCATION] & set(published.days) and published.producer_group is None:
        sources = published.rows(QUEUE_OWNERSHIP, ["source"])["source"]
        sentences.append(of_owners(set(pc.unique(sources).to_pylist())))
    return sentences


def _of_producers(published: Published) -> list[str]:
    columns = ["client_id", "producer_group", "recorded_updates"]
    producers = published.rows(PRODUCER_DAYS, columns, pc.field("enforced"))
    by_producer = producers.group_by(columns[:2]).aggregate([("recorded_updates", "max")])
    recorded = pc.sum(pc.greater(by_producer["recorded_updates_max"], 0)).as_py() or 0
    has_routes = published.rows(TOPIC_BROKERS, ["topic"]).num_rows > 0
    return of_producers(by_producer.num_rows, recorded, has_routes=has_routes)


def _of_verify(published: Published) -> list[str]:
    checks = published.rows(REPLAY_CHECKS, ["written", "matched", "cause"]).to_pylist()
    if not checks:
        return []
    written, matched = (sum(row[name] for row in checks) for name in ("written", "matched"))
    differing = sum(row["cause"] not in (None, _WITHOUT_EFFECT) for row in checks)
    alike = f"verified: {matched:,} of {counted(written, 'write')} of clients replayed alike from their sends"
    return [f"{alike}; {counted(differing, 'broker')} of a producer, or log, isolated otherwise (replay_checks)"]
