"""Agreement of published intervals with a recording, beyond what score.py gives: the band, and the export."""

from __future__ import annotations

import importlib.util
import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).parent
RECORDINGS = HERE / "producer"
RUNS = ("4.7.1", "4.9.8", "5.1.3", "5.1.4", "5.3.3", "4.9.8-long", "5.3.3-long")
Spans = list[tuple[int, int]]


def _score_module() -> ModuleType:
    """score.py as it is: the same scorer that outsiders hold the tables against."""
    spec = importlib.util.spec_from_file_location("score", HERE / "score.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


score = _score_module()


def producers_of(run: str) -> list[dict[str, Any]]:
    """How the recording's producers were set up."""
    found: list[dict[str, Any]] = json.loads((RECORDINGS / run / "producers.json").read_text())["producers"]
    return found


def settings_toml(run: str) -> str:
    """What the site of this recording would write in its settings: who chooses queues, and own ladders."""
    parts = []
    for producer in producers_of(run):
        lines = []
        if producer["sends"] == "selector":
            lines.append('queue_chosen_by = "CALLER"')
        if "custom" in producer["client_id"]:
            lines.append(f"latency_max_ms = {producer['latency_max_ms']}")
            lines.append(f"not_available_ms = {producer['not_available_ms']}")
        if lines:
            parts.append("\n".join([f'[producers."{producer["producer_group"]}"]', *lines]))
    return "\n\n".join(parts)


def scored(rows: list[dict[str, Any]], run: str, folder: Path) -> list[dict[str, Any]]:
    """score.py's table of the published rows: one entry per producer, the sum last."""
    file = folder / f"{run}.jsonl"
    file.write_text("".join(json.dumps(row, default=str) + "\n" for row in rows), encoding="utf-8")
    table: list[dict[str, Any]] = score.score(file, RECORDINGS / run)
    return table


def band_holds(rows: list[dict[str, Any]], run: str) -> float:
    """Share of (producer, broker) time in which the truth lies inside the published band, switch on only.

    Isolated truth lies inside [start, end_latest) of some interval; available truth in no [start, end_earliest).
    """
    truth, first, last = score.truth_intervals(RECORDINGS / run)
    surely, possibly = defaultdict(list), defaultdict(list)
    for row in rows:
        if row["enforced"]:
            key = row["client_id"], row["broker_name"]
            surely[key].append((row["start_ms"], row["end_earliest_ms"]))
            possibly[key].append((row["start_ms"], row["end_latest_ms"]))
    switched_on = {producer["client_id"] for producer in producers_of(run) if producer["fault_latency_enabled"]}
    keys = {key for key in {*truth, *possibly} if key[0] in switched_on}
    outside = 0
    for key in keys:
        isolated = _clipped(truth.get(key, []), first, last)
        outside += score.length(isolated) - score.overlap(isolated, _clipped(possibly[key], first, last))
        sure = _clipped(surely[key], first, last)
        outside += score.length(sure) - score.overlap(sure, isolated)
    share: float = 1 - outside / ((last - first) * len(keys))
    return share


def _clipped(spans: Iterable[tuple[int, int]], first: int, last: int) -> Spans:
    merged: Spans = score.merge([(start, end) for start, end in spans if end > start])
    return [(max(start, first), min(end, last)) for start, end in merged if min(end, last) > max(start, first)]
