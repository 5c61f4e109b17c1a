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
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
VERSION = PROJECT["version"]
WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
JOBS: dict[str, dict[str, Any]] = WORKFLOW["jobs"]


def steps(job: str, key: str) -> list[Any]:
    """What the job's steps have under the key, in order."""
    return [step[key] for step in JOBS[job]["steps"] if key in step]


def test_it_runs_what_is_here_on_the_oldest_python_that_is_supported() -> None:
    ((script,), (targets,)) = steps("test", "run"), steps("release", "run")[:-1]
    assert (ROOT / script).stat().st_mode & 0o111
    command, *asked = targets.split()
    assert command == "make"
    assert set(asked) <= set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    given = [each["python-version"] for job in JOBS for each in steps(job, "with") if "python-version" in each]
    assert {PROJECT["requires-python"].split(",")[0]} == {f">={version}" for version in given}


def test_each_action_is_pinned_to_a_commit() -> None:
    used = [name for job in JOBS for name in steps(job, "uses")]
    assert len(used) >= 5
    assert [name for name in used if not re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", name)] == []


RECORDER = "integrations/recorder/target/faultline-recorder.jar"
BUILT = (
    *(f"dist/faultline-{VERSION}{end}" for end in ("-py3-none-any.whl", ".zip", ".cdx.json")),
    *(RECORDER, f"{RECORDER}.sha256"),
)
CHANGELOG = f"""## [Unreleased]

new

## [{VERSION}] - a day

[A page](docs/page.md#part), [two](https://example.org/a), [three](README.md): `[x]`.

## [0.0.1] - a day

old
"""


def released(folder: Path, tag: str, changelog: str = CHANGELOG) -> tuple[int, str]:
    """Exit code and output of the last step, where `gh` prints its arguments and `make` has built this version."""
    for name in BUILT:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    (folder / "CHANGELOG.md").write_text(changelog)
    (folder / "gh").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (folder / "gh").chmod(0o755)
    told = {"GITHUB_REF_NAME": tag, "GITHUB_SERVER_URL": "https://git.example", "GITHUB_REPOSITORY": "a/b"}
    environ = {"PATH": f"{folder}:{os.environ['PATH']}", **told}
    step = ["bash", "-e", "-c", steps("release", "run")[-1]]
    done = subprocess.run(step, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_a_tag_is_released_with_what_was_built_and_its_part_of_the_changelog(tmp_path: Path) -> None:
    code, said = released(tmp_path, f"v{VERSION}")
    assert (code, said.splitlines()[-len(BUILT) :]) == (0, list(BUILT))
    tree = f"https://git.example/a/b/blob/v{VERSION}"
    assert (tmp_path / "dist/notes.md").read_text().strip() == (
        f"[A page]({tree}/docs/page.md#part), [two](https://example.org/a), [three]({tree}/README.md): `[x]`."
    )


def test_each_link_of_the_notes_leads_somewhere(tmp_path: Path) -> None:
    assert released(tmp_path, f"v{VERSION}", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))[0] == 0
    links = re.findall(r"\]\((.*?)\)", (tmp_path / "dist/notes.md").read_text(encoding="utf-8"))
    tree = f"https://git.example/a/b/blob/v{VERSION}/"
    own = [link.removeprefix(tree).partition("#")[0] for link in links if link.startswith(tree)]
    assert len(own) >= 5
    assert [name for name in own if not (ROOT / name).is_file()] == []
    assert [link for link in links if not link.startswith("https://")] == []


def test_a_tag_without_its_part_of_the_changelog_is_not_released(tmp_path: Path) -> None:
    said = f"CHANGELOG.md has no section [{VERSION}]\n"
    assert released(tmp_path, f"v{VERSION}", CHANGELOG.replace(f"[{VERSION}]", "[0.0.2]")) == (1, said)


@pytest.mark.parametrize("tag", ["v9.9.9", f"{VERSION}rc1"])
def test_a_tag_of_another_version_is_not_released(tag: str, tmp_path: Path) -> None:
    said = f"the tag {tag} is not v and the version of pyproject.toml\n"
    assert released(tmp_path, tag) == (1, said)


def test_the_changelog_has_notes_of_this_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## \[(.+?)\](?: - (?:\d{4}-\d\d-\d\d|unreleased))?$", changelog, re.MULTILINE)
    assert headings[:2] == ["Unreleased", VERSION]


def test_pages_and_deployments_name_this_version() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/*.md"), *ROOT.glob("deploy/**/*")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in pages if path.is_file())
    named = re.findall(r"\bfaultline[:-]v?(\d+\.\d+\.\d+)", text)
    assert len(named) >= 5
    assert set(named) == {VERSION}
