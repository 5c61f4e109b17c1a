"""Agreement of published intervals with a recording, beyond what score.py gives: the band, and the export."""

from __future__ import annotations

import importlib.util
import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.given.spans import common, without

HERE = Path(__file__).parent
RECORDINGS = HERE / "producer"
RUNS = ("4.7.1", "4.9.8", "5.1.3", "5.1.4", "5.3.3", "4.9.8-long", "5.3.3-long")


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


@dataclass(frozen=True)
class Band:
    """How the published band of a recording's isolations compares with the truth; switch on only.

    Attributes:
        inside: share of (producer, broker) time in which the truth lies inside the band.
        width: the band's milliseconds as a share of those that the best estimate calls isolated.
        outside: client, broker, start, end and what the client did there (ISOLATED or AVAILABLE), for each interval
            outside the band.
    """

    inside: float
    width: float
    outside: list[tuple[str, str, int, int, str]]


def band_of(rows: list[dict[str, Any]], run: str) -> Band:
    """Hold the published band against the recording.

    Isolated truth has to lie inside [start, end_latest) of some interval; available truth in no [start, end_earliest).
    """
    truth, first, last = score.truth_intervals(RECORDINGS / run)
    surely, possibly, best = defaultdict(list), defaultdict(list), defaultdict(list)
    for row in rows:
        if row["enforced"]:
            key = row["client_id"], row["broker_name"]
            surely[key].append((row["start_ms"], row["end_earliest_ms"]))
            possibly[key].append((row["start_ms"], row["end_latest_ms"]))
            best[key].append((row["start_ms"], row["end_ms"]))
    switched_on = {producer["client_id"] for producer in producers_of(run) if producer["fault_latency_enabled"]}
    keys = {key for key in {*truth, *possibly} if key[0] in switched_on}
    outside, width_ms, isolated_ms = [], 0, 0
    for key in sorted(keys):
        isolated, possible, sure, ours = (
            common(spans.get(key, []), [(first, last)]) for spans in (truth, possibly, surely, best)
        )
        outside += [(*key, *span, "ISOLATED") for span in without(isolated, possible)]
        outside += [(*key, *span, "AVAILABLE") for span in without(sure, isolated)]
        width_ms += score.length(possible) - score.overlap(possible, sure)
        isolated_ms += score.length(ours)
    outside_ms = sum(end - start for _, _, start, end, _ in outside)
    return Band(1 - outside_ms / ((last - first) * len(keys)), width_ms / isolated_ms, outside)
