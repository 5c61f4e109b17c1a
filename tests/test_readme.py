"""The pages say what is: commands parse, links lead somewhere, lists are whole."""

from __future__ import annotations

import fnmatch
import gzip
import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from itertools import islice
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from jobs import errors
from jobs.cli.main import main
from jobs.cli.program import NAME, faultline
from jobs.kinds import Evidence
from jobs.settings.model import Settings
from jobs.tables import TABLES

ROOT = Path(__file__).parents[1]
EXACTNESS = "docs/exactness.md"
PAGES = [
    ROOT / "README.md",
    ROOT / "ARCHITECTURE.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "data_samples/README.md",
    *sorted((ROOT / "docs").glob("**/*.md")),
]


def _commands(page: Path) -> list[str]:
    joined = page.read_text(encoding="utf-8").replace("\\\n", " ")
    return re.findall(
        r"^(?:bin/)?faultline .*$", "\n".join(re.findall(r"```sh\n(.*?)```", joined, re.DOTALL)), re.MULTILINE
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_each_command_is_one_that_the_program_takes(page: Path) -> None:
    for command in _commands(page):
        name, *arguments = (each for each in shlex.split(command.partition(" > ")[0], comments=True)[1:] if each != "…")
        with faultline.make_context(NAME, [name]) as context:
            faultline.commands[name].make_context(name, arguments, parent=context)


@pytest.mark.parametrize(
    "page", ["README.md", *(f"docs/{name}.md" for name in ("operations", "report", "sql", "what-if"))]
)
def test_commands_are_found_on_each_page_that_shows_some(page: str) -> None:
    assert _commands(ROOT / page)


def test_who_names_own_logs_and_a_lake_gets_nothing_of_the_samples(capsys: pytest.CaptureFixture[str]) -> None:
    own = [command for command in _commands(ROOT / "README.md") if "--lake" in command]
    assert len(own) >= 2
    for command in own:
        assert main(["plan", *shlex.split(command)[1:]]) == 0
        plan = capsys.readouterr().out
        assert "  read " in plan
        assert "data_samples" not in plan
        assert "LabCluster" not in plan


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_each_link_leads_to_a_file(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        assert "://" in target or (page.parent / target).exists(), target


def sample_output(page: str) -> list[str]:
    """What the page shows of the first command's output, line by line."""
    _, _, rest = (ROOT / page).read_text(encoding="utf-8").partition("<!-- sample output -->\n```text\n")
    return rest.partition("\n```\n<!-- end of sample output -->")[0].split("\n")


def test_the_readme_shows_lines_that_the_sample_prints_in_that_order() -> None:
    printed = iter(sample_output("data_samples/README.md"))
    shown = sample_output("README.md")
    assert len(shown) >= 10
    assert [line for line in shown if line not in printed] == []


def test_the_readme_states_figures_that_the_page_of_exactness_states() -> None:
    readme, page = (" ".join((ROOT / name).read_text(encoding="utf-8").split()) for name in ("README.md", EXACTNESS))
    rows = re.findall(r"\| [\d.]+(?:-long)? \| (0\.\d{5}) \| ([\d.]+%) \| [\d.]+% \|", page)
    assert len(rows) == 7
    agreements, inside = zip(*rows, strict=True)
    assert f"agree to between {min(agreements)} and {max(agreements)}," in readme
    assert f"for at least {min(inside)} of the time" in readme
    recorded = re.findall(r"\| [\w.-]+ \| ([01]\.\d{5}) \| [\d,]+ of [\d,]+ \|", page)
    assert f"in {len(recorded)} recordings" in readme
    assert min(recorded) >= "0.99990"
    (results,) = re.findall(r"Every one of ([\d,]+) recorded results", page)
    assert f"Each of {results} recorded results" in readme


def test_the_readme_names_tables_that_there_are() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    listed = readme.partition("## The tables\n")[2].partition("\n## ")[0]
    named = {name for row in re.findall(r"^\| (`.*?) \|", listed, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert len(named) >= 10
    assert named <= {table.name for table in TABLES}
    assert f"All {len(TABLES)} with every column" in listed


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_each_file_and_folder_that_is_named_is_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"`((?:jobs|udfs|conf|bin|bench|docs|tests|data_samples)/[\w./-]*)`", text)
    assert len(named) >= 5
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_room_is_on_the_map() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rooms = {path.parent.name for path in ROOT.glob("jobs/*/__init__.py")}
    assert {room for room in rooms if f"`jobs/{room}/`" not in text} == set()
    inner = {path.parent.name for path in ROOT.glob("jobs/fault_latency/*/__init__.py")}
    assert {room for room in inner if f"`{room}/`" not in text} == set()


def test_the_architecture_follows_a_line_that_the_sample_has() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    number, file = re.findall(r"This is line (\d+) of `(.*?)`", text.replace("\n", " "))[0]
    shown = json.loads(text.partition("```json\n")[2].partition("```")[0])
    with gzip.open(ROOT / file, "rt", encoding="utf-8") as lines:
        line = json.loads(next(islice(lines, int(number) - 1, None)))
    assert {name: line[name] for name in shown} == shown


def test_every_exit_code_is_listed() -> None:
    kinds = [
        each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, errors.FaultlineError)
    ]
    codes = {each.exit_code for each in kinds}
    page = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    listed = {int(code) for code in re.findall(r"^\| (\d) \|", page, re.MULTILINE)}
    assert listed == codes | {0}


def test_every_kind_of_evidence_is_explained() -> None:
    text = (ROOT / EXACTNESS).read_text(encoding="utf-8")
    for evidence in Evidence:
        assert f"\n| `{evidence}` | " in text


def test_every_setting_is_explained() -> None:
    text = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
    shown = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    shown += [f"{key} = 0" for key in re.findall(r"^\| `(.+?)` \|", text, re.MULTILINE)]
    explained = {key for each in shown for key in _keys_shown(tomllib.loads(each))}
    assert [key for key in _keys(Settings) if not fnmatch.filter(explained, key.replace(".clients.*", ""))] == []


def _keys(kind: Any, at: str = "") -> Iterator[str]:
    """Every key that settings may have, dotted; `*` stands for a site's own name."""
    types = get_type_hints(kind)
    for each in fields(kind):
        name, of = f"{at}{each.name}", types[each.name]
        if get_origin(of) is dict:
            name, of = f"{name}.*", get_args(of)[1]
        if is_dataclass(of):
            yield from _keys(of, f"{name}.")
        elif "hidden" not in each.metadata:
            yield name


def _keys_shown(table: dict[str, Any], at: str = "") -> Iterator[str]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _keys_shown(value, f"{at}{key}.")
        else:
            yield f"{at}{key}"
