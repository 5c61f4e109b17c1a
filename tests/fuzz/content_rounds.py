"""Rounds whose files can be read: their lines are spoilt, and each has to be accounted for."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from tests.fuzz import hostile, invariants, lakes, sends, snapshots
from tests.fuzz.program import Ended, call
from tests.fuzz.recordings import DATE
from tests.fuzz.written import Written, WrittenFile
from tests.site import D1, START

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


def sends_round(kind: str, random: Random, folder: Path, lake: Path, *, again: bool) -> list[str]:
    """Publish spoilt sends, with routes beside them.

    Args:
        kind: of `SENDS_KINDS`.
        random: where all of it comes from.
        folder: gets the input.
        lake: may hold what earlier rounds published.
        again: run it twice and compare the tables.
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
    arguments = ["fault-latency", "--sends", str(folder / "sends"), "--routes", str(folder / "routes")]
    return _judged(random, arguments, folder, lake, written, flow="fault-latency", again=again)


def snapshots_round(kind: str, random: Random, folder: Path, lake: Path, *, again: bool) -> list[str]:
    """Publish spoilt snapshots; as `sends_round`, `kind` of `SNAPSHOT_KINDS`."""
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
    inputs = [text for name in _SOURCES for text in (f"--{name.replace('_', '-')}", str(folder / name))]
    return _judged(random, ["allocation", *inputs], folder, lake, written, flow="allocation", again=again)


def _judged(
    random: Random, command: Sequence[str], folder: Path, lake: Path, written: Written, *, flow: str, again: bool
) -> list[str]:
    """What is wrong with how the command ended and what it published."""
    most_bad = random.choice(("1.0",) * 9 + ("0.01",))
    arguments = [*command, "--date", str(DATE), "--lake", str(lake), "--settings", str(folder / "site.toml"), "--json",
                 "--set", f"max_bad_fraction={most_bad}"]  # fmt: skip
    before = lakes.versions(lake)
    ended = call(arguments, folder, VARIABLES)
    breaches = invariants.no_trace(ended) + invariants.expected_code(ended, {0} if most_bad == "1.0" else {0, 4})
    if ended.code != 0:
        return breaches + _nothing_published(before, lake, ended)
    breaches += _account(ended, lake, written, flow)
    if again and not breaches:
        first = lakes.content(lake)
        repeated = call(arguments, folder, VARIABLES)
        breaches += invariants.expected_code(repeated, {0}) + invariants.the_same_again(first, lakes.content(lake))
    return breaches


def _nothing_published(before: dict[str, int], lake: Path, ended: Ended) -> list[str]:
    shown = invariants.nothing_of_the_environment(ended.out, ended.err)
    return shown + (invariants.as_before(before, lakes.versions(lake)) if before else [])


def _account(ended: Ended, lake: Path, written: Written, flow: str) -> list[str]:
    """Where every line went, by the summary, the run log and the tables."""
    whole = json.loads(ended.out)
    summary = whole if flow == "fault-latency" else whole["allocation"]
    days, other_days = invariants.counted(summary)
    counted = {"sends"} if flow == "fault-latency" else set(_SOURCES)
    found = lakes.rows_of_run(lake, summary["run_id"], [day["cluster"] for day in days])
    breaches = [
        *invariants.sum_holds(days, other_days, written.rows(*counted)),
        *invariants.tables_say_the_same(days, found, counts_sends=flow == "fault-latency", sources=counted),
        *invariants.bad_lines_are_ours(written, found.quarantine),
        *invariants.nothing_of_the_environment(ended.out, ended.err, lakes.everything_in(lake)),
    ]
    if flow == "fault-latency":
        breaches += invariants.clean_lines_are_published(written, found.sends, DAY_MS)
        breaches += [] if written.in_own_names else invariants.published_lines_are_as_written(written, found.sends)
    return breaches
