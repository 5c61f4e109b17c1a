"""The pages say what is: commands parse, links lead somewhere, lists are whole."""

from __future__ import annotations

import fnmatch
import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from jobs import errors
from jobs.cli.main import _parser, main
from jobs.settings.model import Settings
from udfs.evidence import EVIDENCES

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
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
        arguments = shlex.split(command, comments=True)[1:]
        assert _parser().parse_args([each for each in arguments if each != "…"]).command == arguments[0]


@pytest.mark.parametrize(
    "page", ["README.md", *(f"docs/{name}.md" for name in ("operations", "report", "sql", "what-if"))]
)
def test_commands_are_found_on_each_page_that_shows_some(page: str) -> None:
    assert len(_commands(ROOT / page)) >= 2


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


def test_the_readme_lists_every_exit_code() -> None:
    kinds = [
        each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, errors.FaultlineError)
    ]
    codes = {each.exit_code for each in kinds}
    listed = {
        int(code) for code in re.findall(r"^\| (\d) \|", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert listed == codes | {0}


def test_every_kind_of_evidence_is_explained() -> None:
    text = (ROOT / "docs/exactness.md").read_text(encoding="utf-8")
    for name, sentence in EVIDENCES:
        assert f"| `{name}` | {sentence} |" in text


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
