"""The pages say what is: commands parse, links lead somewhere, lists are whole."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from jobs import errors
from jobs.cli import _parser
from jobs.settings import Settings
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


def test_the_readme_shows_commands() -> None:
    assert len(_commands(ROOT / "README.md")) >= 3


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
    for name in Settings.__dataclass_fields__:
        explained = any(shown in text for shown in (f"| `{name}` |", f"| `{name}.", f"[{name}."))
        assert name == "origins" or explained, name
