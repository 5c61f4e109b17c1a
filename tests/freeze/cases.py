"""What the freeze runs: each case is a lake of its own, made by a few commands from input that no commit changes."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.given.seeded_days import write_seeded_sends
from tests.given.seeded_groups import write_seeded_groups

ROOT = Path(__file__).parents[2]
RECORDINGS = ROOT / "tests" / "truth"
RECORDED = "2026-11-21"
D1, D2, D3 = (dt.date(2026, 3, day) for day in (1, 2, 3))

SMALL = ("--set", 'spark."spark.sql.shuffle.partitions"="2"', "--set", 'spark."spark.driver.memory"="3g"')
"""What makes small days faster and changes no row."""
ASKED = ("events", "findings", "isolations", "owners", "group-findings", "rebalances")


@dataclass(frozen=True)
class Case:
    """One lake.

    Attributes:
        name: folder below `cases/`.
        inputs: folder below `inputs/`; several cases may share one.
        commands: arguments of each command; `{inputs}` and `{lake}` stand for the folders.
        exit_codes: what each has to end with.
        write: writes the inputs into an empty folder.
    """

    name: str
    inputs: str
    commands: tuple[tuple[str, ...], ...]
    write: Callable[[Path], None]
    exit_codes: tuple[int, ...] = (0,)

    def arguments(self, inputs: Path, lake: Path) -> list[list[str]]:
        """Each command as the program gets it."""
        places = {"{inputs}": str(inputs / self.inputs), "{lake}": str(lake)}
        return [[_placed(argument, places) for argument in command] for command in self.commands]


def all_cases() -> list[Case]:
    """Every case, those that take longest first."""
    return [*_seeded(), *_samples(), *_consumers(), *_producers()]


def chosen(only: Sequence[str]) -> list[Case]:
    """The cases of these names, or whose name begins so; all when none is given.

    Raises:
        ValueError: a name that begins no case.
    """
    cases = all_cases()
    for name in only:
        if not any(case.name.startswith(name) for case in cases):
            raise ValueError(f"no case begins with {name}; there are {', '.join(case.name for case in cases)}")
    return [case for case in cases if not only or case.name.startswith(tuple(only))]


def _samples() -> list[Case]:
    settings = ("--settings", "{inputs}/conf/local.toml", "--lake", "{lake}", *SMALL)
    asked = tuple(("show", subject, "--lake", "{lake}", "--limit", "25") for subject in ASKED)
    what_if = ("what-if", "--date", RECORDED, "--json", *settings)
    nightly = ("nightly", "--date", RECORDED, *settings)
    return [
        Case("samples", "samples", (nightly, what_if, *asked), _write_samples, (0,) * (2 + len(asked))),
    ]


def _producers() -> list[Case]:
    """Each recording."""
    cases = []
    for folder in sorted((RECORDINGS / "producer").iterdir()):

        def write(inputs: Path, folder: Path = folder) -> None:
            for name in ("sends.jsonl.gz", "routes.jsonl.gz"):
                shutil.copy(folder / name, inputs)
            (inputs / "settings.toml").write_text(_settings_of(folder), encoding="utf-8")

        run: tuple[str, ...] = (
            "fault-latency",
            "--date",
            RECORDED,
            "--settings",
            "{inputs}/settings.toml",
            "--lake",
            "{lake}",
        )
        run += ("--sends", "{inputs}/sends.jsonl.gz", "--routes", "{inputs}/routes.jsonl.gz", *SMALL)
        commands = ((*run, "--json"),)
        cases.append(Case(f"producer-{folder.name}", f"producer-{folder.name}", commands, write))
    return cases


def _consumers() -> list[Case]:
    """Each recording."""
    cases = []
    for folder in sorted((RECORDINGS / "consumers").iterdir()):

        def write(inputs: Path, folder: Path = folder) -> None:
            for name in ("consumers.jsonl.gz", "routes.jsonl.gz", "running_info.jsonl.gz", "groups.toml"):
                shutil.copy(folder / name, inputs)
            shutil.copytree(folder / "client_logs", inputs / "client_logs")

        version = folder.name.removesuffix("-mini")
        run: tuple[str, ...] = (
            "allocation",
            "--date",
            RECORDED,
            "--settings",
            "{inputs}/groups.toml",
            "--lake",
            "{lake}",
            "--json",
        )
        run += ("--set", f'client_logs."client_logs".client_version="{version}"', *SMALL)
        for kind in ("consumers", "routes", "running_info"):
            run += (f"--{kind.replace('_', '-')}", f"{{inputs}}/{kind}.jsonl.gz")
        run += ("--client-logs", "{inputs}/client_logs")
        cases.append(Case(f"consumers-{folder.name}", f"consumers-{folder.name}", (run,), write))
    return cases


def _seeded() -> list[Case]:
    """Made-up days: several at once and one by one, a day corrected later, and one that is refused."""
    settings = ("--settings", "{inputs}/settings.toml", "--lake", "{lake}", *SMALL)
    sends = ("--sends", "{inputs}/sends", "--routes", "{inputs}/routes", *settings)
    corrected = ("--sends", "{inputs}/corrected", *sends[2:])
    groups: tuple[str, ...] = tuple(
        f"--{kind}={{inputs}}/{kind.replace('-', '_')}" for kind in ("consumers", "routes", "running-info")
    )
    groups += ("--client-logs={inputs}/client_logs", *settings)
    span, two_days = ("--from", f"{D1}", "--to", f"{D3}"), ("--from", f"{D1}", "--to", f"{D2}")
    of_day = [("--date", f"{day}") for day in (D1, D2)]
    return [
        Case("seeded-days-1", "seeded-days-1", (("fault-latency", *span, "--json", *sends),), _write_days_1),
        Case(
            "seeded-days-2",
            "seeded-days-2",
            (
                *(("fault-latency", *day, *sends) for day in of_day),
                ("fault-latency", *of_day[0], "--json", *corrected),
                ("what-if", *two_days, "--policy=AS_RUN", "--ladder=own=550,2000/1000,5000@P5", *settings),
            ),
            _write_days_2,
            (0, 0, 0, 0),
        ),
        Case("seeded-groups-1", "seeded-groups-1", (("allocation", *two_days, "--json", *groups),), _write_groups_1),
        Case(
            "seeded-groups-2",
            "seeded-groups-2",
            tuple(("allocation", *day, *groups) for day in of_day),
            _write_groups_2,
            (0, 0),
        ),
        Case(
            "seeded-refused",
            "seeded-days-2",
            (("fault-latency", *of_day[0], *sends, "--set", "max_bad_fraction=0.0001"),),
            _write_days_2,
            (4,),
        ),
    ]


def _write_samples(inputs: Path) -> None:
    shutil.copytree(ROOT / "data_samples", inputs / "data_samples")
    (inputs / "conf").mkdir()
    shutil.copy(ROOT / "conf" / "local.toml", inputs / "conf")


def _write_days_1(inputs: Path) -> None:
    write_seeded_sends(inputs, 1, (D1, D2, D3), ("east", "west"))


def _write_days_2(inputs: Path) -> None:
    """Two days, and the first of them again with every twentieth line missing, as a late correction leaves it."""
    write_seeded_sends(inputs, 2, (D1, D2))
    lines = (inputs / "sends" / "main" / f"sends-{D1}.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (inputs / "corrected").mkdir()
    left = "".join(line for number, line in enumerate(lines) if number % 20)
    (inputs / "corrected" / "sends.jsonl").write_text(left, encoding="utf-8")


def _write_groups_1(inputs: Path) -> None:
    write_seeded_groups(inputs, 1, (D1, D2))


def _write_groups_2(inputs: Path) -> None:
    write_seeded_groups(inputs, 2, (D1, D2))


def _settings_of(recording: Path) -> str:
    """What the site of a recording would write: who chooses queues, and own ladders."""
    parts = []
    for producer in json.loads((recording / "producers.json").read_text(encoding="utf-8"))["producers"]:
        lines = ['queue_chosen_by = "CALLER"'] if producer["sends"] == "selector" else []
        if "custom" in producer["client_id"]:
            lines += [f"{name} = {producer[name]}" for name in ("latency_max_ms", "not_available_ms")]
        if lines:
            parts.append("\n".join([f'[producers."{producer["producer_group"]}"]', *lines]))
    return f'cluster = "{recording.name}"\n\n' + "\n\n".join(parts) + "\n"


def _placed(argument: str, places: dict[str, str]) -> str:
    for name, place in places.items():
        argument = argument.replace(name, place)
    return argument
