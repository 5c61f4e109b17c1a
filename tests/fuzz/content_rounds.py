"""Rounds whose files can be read: their lines are spoilt, and each has to be accounted for.

At depth READ the input is read and judged; at RUN a command publishes it, too; at WHOLE it runs once more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Literal

from pyspark.sql import SparkSession

from jobs.settings.load import load_settings
from jobs.sources.staged_sends import StagedSends
from jobs.sources.staging import stage_sends, stage_snapshots
from tests.fuzz import hostile, invariants, lakes, sends, snapshots
from tests.fuzz.invariants import Lake
from tests.fuzz.program import call
from tests.fuzz.recordings import DATE
from tests.fuzz.written import Written, WrittenFile
from tests.given.site import D1, START

Depth = Literal["READ", "RUN", "WHOLE"]

_DAY_BEGIN_MS = START[D1] + (DATE - D1).days * 86_400_000
DAY_MS = (_DAY_BEGIN_MS, _DAY_BEGIN_MS + 86_400_000)
VARIABLES = {hostile.CANARY_NAME: hostile.CANARY}

_FORMATS: dict[str, Callable[[Random, Path, str, sends.Attempts, sends.SiteNames], WrittenFile]] = {
    "jsonl": sends.json_file,
    "csv": sends.csv_file,
    "parquet": sends.parquet_file,
}
SENDS_KINDS = {**{name: (name,) for name in _FORMATS}, "sends": tuple(_FORMATS), "routes": ("jsonl",)}
"""Kind of round to the formats of its sends; of `routes`, the routes are spoilt."""
_SOURCES = ("consumers", "routes", "running_info", "client_logs")
SNAPSHOT_KINDS = {"snapshots": _SOURCES, **{name: (name,) for name in _SOURCES if name != "routes"}}
"""Kind of round to the inputs of the second flow that are spoilt."""


def sends_round(kind: str, random: Random, folder: Path, lake: Path, depth: Depth) -> list[str]:
    """Spoilt sends, with routes beside them.

    Args:
        kind: of `SENDS_KINDS`.
        random: where all of it comes from.
        folder: gets the input.
        lake: may hold what earlier rounds published.
        depth: how far it goes.
    """
    names = sends.any_names(random)
    cluster = sends.clean_name(random) if random.random() < 0.25 else None
    spoilt = 0.05 if kind == "routes" else random.choice((0.1, 0.5, 0.8))
    written = Written(in_own_names=bool(names.toml))
    for at in range(random.randint(2, 4)):
        style = _FORMATS[SENDS_KINDS[kind][at % len(SENDS_KINDS[kind])]]
        said = sends.attempts(random, random.choice((3, 30, 80)), f"{at}", spoilt=spoilt, cluster=cluster)
        written.files.append(style(random, folder / "sends", f"{at}", said, names))
    for at in range(random.randint(1, 2)):
        of_routes = 0.6 if kind == "routes" else 0.0
        written.files.append(snapshots.json_file(random, "routes", folder / "routes", f"{at}", 30, spoilt=of_routes))
    (folder / "site.toml").write_text(names.toml, encoding="utf-8")
    judge = _read if depth == "READ" else _published
    return judge(Round(random, folder, lake, written, "fault-latency", ("sends", "routes"), depth))


def snapshots_round(kind: str, random: Random, folder: Path, lake: Path, depth: Depth) -> list[str]:
    """Spoilt snapshots; as `sends_round`, `kind` of `SNAPSHOT_KINDS`."""
    written = Written()
    share = {name: random.choice((0.1, 0.4, 0.8)) if name in SNAPSHOT_KINDS[kind] else 0.0 for name in _SOURCES}
    for name in snapshots.JSON_KINDS:
        for at in range(random.randint(1, 2)):
            most = random.choice((5, 60))
            file = snapshots.json_file(random, name, folder / name, f"{at}", most, spoilt=share[name])
            written.files.append(file)
    for at in range(random.randint(1, 3)):
        file = snapshots.client_log(random, folder / "client_logs", f"{at}", 150, spoilt=share["client_logs"])
        written.files.append(file)
    (folder / "site.toml").write_text('[client_logs."client_logs"]\nclient_version = "4.9.8"\n', encoding="utf-8")
    judge = _read if depth == "READ" else _published
    return judge(Round(random, folder, lake, written, "allocation", _SOURCES, depth))


@dataclass(frozen=True)
class Round:
    """A round whose input is written.

    Attributes:
        random: what is left of its luck.
        folder: holds the input, a folder for each kind of it, and `site.toml`.
        lake: what it publishes into.
        written: its lines.
        flow: the command.
        inputs: kinds of input that the command is given.
        depth: how far the round goes.
    """

    random: Random
    folder: Path
    lake: Path
    written: Written
    flow: str
    inputs: Sequence[str]
    depth: Depth


def _read(of: Round) -> list[str]:
    """What is wrong with how the input was read and judged."""
    paths = {f"inputs.{name}.path": str(of.folder / name) for name in of.inputs}
    settings = load_settings([of.folder / "site.toml"], [], paths)
    stage = stage_sends if of.flow == "fault-latency" else stage_snapshots
    staged = stage(SparkSession.active(), settings, (DATE, DATE), str(of.folder / "staging"))
    days = [(day, staged.counts(day)) for day in staged.days([DATE], settings.cluster)]
    bad = [row.asDict() for day, _ in days for row in staged.quarantine(day, "run").collect()]
    sends = [row.asDict() for day, _ in days if isinstance(staged, StagedSends) for row in staged.sends(day).collect()]
    logged = [{"status": "SUCCEEDED", "cluster": day.cluster, **asdict(counts)} for day, counts in days]
    other_days = {str(day): count for day, count in staged.other_days.items()}
    return _account(of, logged, other_days, Lake(sends, bad, logged))


def _published(of: Round) -> list[str]:
    """What is wrong with how the command ended and what it published."""
    inputs = [text for name in of.inputs for text in (f"--{name.replace('_', '-')}", str(of.folder / name))]
    most_bad = of.random.choice(("1.0",) * 9 + ("0.01",))
    arguments = [of.flow, *inputs, "--date", str(DATE), "--lake", str(of.lake), "--json", "--allow-empty",
                 "--settings", str(of.folder / "site.toml"), "--set", f"max_bad_fraction={most_bad}"]  # fmt: skip
    before = lakes.versions(of.lake, may_be_new=True)
    ended = call(arguments, of.folder, VARIABLES)
    breaches = invariants.no_trace(ended) + invariants.expected_code(ended, {0} if most_bad == "1.0" else {0, 4})
    breaches += invariants.nothing_of_the_environment(ended.out, ended.err)
    if ended.code != 0:
        return breaches + (invariants.as_before(before, lakes.versions(of.lake, may_be_new=True)) if before else [])
    whole = json.loads(ended.out)
    days, other_days = invariants.counted(whole, of.flow)
    found = lakes.rows_of_run(of.lake, whole["run_id"], [day["cluster"] for day in days])
    breaches += _account(of, days, other_days, found)
    breaches += [] if whole["nights"] else ["the published night cannot be read back"]
    breaches += invariants.nothing_of_the_environment(lakes.everything_in(of.lake))
    if of.depth == "WHOLE" and not breaches:
        first = lakes.content(of.lake)
        repeated = call(arguments, of.folder, VARIABLES)
        breaches += invariants.expected_code(repeated, {0})
        breaches += invariants.the_same_again(first, lakes.content(of.lake))
    return breaches


def _account(of: Round, days: Sequence[invariants.Row], other_days: Mapping[str, int], lake: Lake) -> list[str]:
    """Where every line went, by what the run says, the run log and the tables."""
    publishes_sends = of.flow == "fault-latency"
    counted = {"sends"} if publishes_sends else set(of.inputs)
    breaches = [
        *invariants.sum_holds(days, other_days, of.written.rows(*counted)),
        *invariants.tables_say_the_same(days, lake, counts_sends=publishes_sends, sources=counted),
        *invariants.bad_lines_are_ours(of.written, lake.quarantine),
        *invariants.nothing_of_the_environment(str(lake)),
    ]
    if publishes_sends:
        breaches += invariants.clean_lines_are_published(of.written, lake.sends, DAY_MS)
        if not of.written.in_own_names:
            breaches += invariants.published_lines_are_as_written(of.written, lake.sends)
    return breaches
