"""What is released: the workflow that tests each push, and what a tag brings with it."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
JOBS: dict[str, dict[str, Any]] = WORKFLOW["jobs"]


def steps(job: str, key: str) -> list[Any]:
    """What the job's steps have under the key, in order."""
    return [step[key] for step in JOBS[job]["steps"] if key in step]


def test_each_push_and_pull_request_is_tested_as_ci_does_anywhere() -> None:
    assert set(WORKFLOW[True]) == {"push", "pull_request"}  # YAML reads `on` as true
    assert (steps("test", "run"), JOBS["test"]["timeout-minutes"]) == ([".ci/run"], 90)
    versions = {name: value for given in steps("test", "with") for name, value in given.items() if "version" in name}
    assert versions == {"python-version": "3.11", "java-version": "17"}


def test_each_action_is_pinned_to_a_commit() -> None:
    used = [name for job in JOBS for name in steps(job, "uses")]
    assert len(used) >= 5
    assert [name for name in used if not re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", name)] == []


def released(folder: Path, tag: str) -> tuple[int, str]:
    """Exit code and output of the last step, where `gh` prints its arguments and `make` has built this version."""
    (folder / "dist").mkdir()
    for name in ("-py3-none-any.whl", ".cdx.json"):
        (folder / f"dist/faultline-{VERSION}{name}").touch()
    sections = {"Unreleased": "new", VERSION: "notes", "0.0.1": "old"}
    changelog = "".join(f"## [{name}] - a day\n\n{text}\n\n" for name, text in sections.items())
    (folder / "CHANGELOG.md").write_text(changelog)
    (folder / "gh").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (folder / "gh").chmod(0o755)
    environ = {"PATH": f"{folder}:{os.environ['PATH']}", "GITHUB_REF_NAME": tag}
    step = ["bash", "-e", "-c", steps("release", "run")[-1]]
    done = subprocess.run(step, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_a_tag_is_released_with_wheel_list_and_its_part_of_the_changelog(tmp_path: Path) -> None:
    assert (JOBS["release"]["needs"], JOBS["release"]["if"]) == ("test", "github.ref_type == 'tag'")
    assert steps("release", "run")[0] == "make package sbom"
    code, said = released(tmp_path, f"v{VERSION}")
    assert code == 0
    wheel, sbom = f"dist/faultline-{VERSION}-py3-none-any.whl", f"dist/faultline-{VERSION}.cdx.json"
    assert said.splitlines()[-2:] == [wheel, sbom]
    assert (tmp_path / "dist/notes.md").read_text().split() == ["notes"]


@pytest.mark.parametrize("tag", ["v9.9.9", f"{VERSION}rc1"])
def test_a_tag_of_another_version_is_not_released(tag: str, tmp_path: Path) -> None:
    said = f"the tag {tag} is not v and the version of pyproject.toml\n"
    assert released(tmp_path, tag) == (1, said)


def test_the_changelog_has_notes_of_this_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## \[(.+?)\](?: - \d{4}-\d\d-\d\d)?$", changelog, re.MULTILINE)
    assert headings[:2] == ["Unreleased", VERSION]


def test_pages_and_deployments_name_this_version() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/*.md"), *ROOT.glob("deploy/**/*")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in pages if path.is_file())
    named = re.findall(r"\bfaultline[:-]v?(\d+\.\d+\.\d+)", text)
    assert len(named) >= 5
    assert set(named) == {VERSION}
