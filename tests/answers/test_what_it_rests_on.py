"""What the page says that its days rest on: sources, and what clients wrote themselves."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from jobs.answers.published import open_published
from jobs.answers.report import render
from jobs.answers.rests_on import rests_on
from jobs.tables import PRODUCER_DAYS, QUEUE_OWNERSHIP, REPLAY_CHECKS, TOPIC_BROKERS
from jobs.text.completeness import of_owners
from tests.given.lakes import publish, write_rows
from tests.given.site import D1, D2

BOTH = "1 of 3 producers with the switch on by replay of their sends, 2 as their clients recorded them"


def producer(client_id: str, group: str = "PG", updates: int = 0, **other: object) -> dict[str, Any]:
    return {
        "event_date": D1, "client_id": client_id, "producer_group": group, "enforced": True,
        "recorded_updates": updates, **other,
    }  # fmt: skip


def said(lake: Path, group: str | None = None) -> list[str]:
    return rests_on(replace(open_published(str(lake), "main", D1, D1), producer_group=group))


def test_each_source_has_its_sentence(tmp_path: Path) -> None:
    publish(tmp_path, D1, D2)
    publish(tmp_path, D1, D2, flow="ALLOCATION")
    write_rows(tmp_path, PRODUCER_DAYS, [
        producer("p1", updates=7), producer("p1", "PG2", updates=1), producer("p2", updates=0),
        producer("p3", enforced=False), producer("p4", event_date=D2), producer("p5", cluster="other"),
    ])  # fmt: skip
    write_rows(tmp_path, TOPIC_BROKERS, [{"event_date": D1, "topic": "T"}])
    write_rows(tmp_path, QUEUE_OWNERSHIP, [{"event_date": D1, "source": "RUNNING_INFO", "end_ms": 1}])
    answers_alone = "ownership: by answers alone, no consumer logs: changes between two answers are unknown"
    assert said(tmp_path) == [f"isolations: {BOTH}", answers_alone]
    assert said(tmp_path, "PG2") == ["isolations: 1 producer with the switch on as their clients recorded them"]
    counts = {"written": 10, "matched": 8, "missed": 2, "replayed": 8, "source": "RECORDED", "client_ids": []}
    write_rows(tmp_path, REPLAY_CHECKS, [
        {"event_date": D1, **counts, "cause": cause} for cause in (None, "WITHOUT_EFFECT", "OTHER_LADDER")
    ])  # fmt: skip
    verified = "verified: 24 of 30 writes of clients replayed alike from their sends"
    assert said(tmp_path)[1] == f"{verified}; 1 broker of a producer, or log, isolated otherwise (replay_checks)"
    page = render(open_published(str(tmp_path), "main", D1, D1))
    items = re.findall(r"<li>(.*?)</li>", page.partition("What this rests on")[2].partition("</details>")[0])
    assert [item[0] + item[-1] for item in items] == ["I.", "V.", "O."]


def test_what_did_not_run_is_not_said(tmp_path: Path) -> None:
    publish(tmp_path, D1, flow="ALLOCATION")
    assert said(tmp_path) == [of_owners(())]
    assert said(tmp_path, "PG") == []
    assert "What this rests on" in render(open_published(str(tmp_path), "main", D1, D1))


def test_a_day_of_the_other_flow_alone(tmp_path: Path) -> None:
    publish(tmp_path, D1)
    assert said(tmp_path) == ["no topic routes: brokers of a topic are those in its sends"]


def test_producers_whose_lines_are_calls_are_counted(tmp_path: Path) -> None:
    publish(tmp_path, D1)
    write_rows(tmp_path, PRODUCER_DAYS, [
        producer("p1", call_timeout_ms=3_000), producer("p1", enforced=False, call_timeout_ms=3_000), producer("p2"),
    ])  # fmt: skip
    unseen = "failed tries within a call are not seen (evidence INFERRED_CALL)"
    assert f"1 producer logs calls, not attempts: {unseen}" in said(tmp_path)
