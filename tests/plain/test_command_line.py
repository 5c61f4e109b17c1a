"""The program before it does anything: what its help imports, its version, and how a shell completes it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

from jobs.cli import main as cli
from jobs.cli.program import COMPLETE, faultline

ROOT = Path(__file__).parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
HEAVY = {"pyspark", "py4j", "delta", "pandas", "numpy", "pyarrow", "deltalake", "plotly", "jinja2"}
COUNTED = """
import sys
from jobs.cli.main import main
assert [main(line.split()) for line in sys.argv[1:]] == [0] * (len(sys.argv) - 1)
print(*sorted({name.split(".")[0] for name in sys.modules}), len(sys.modules), file=sys.stderr)
"""


def _started(*command: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """A process of its own, as a shell starts it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **environ}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "lines",
    [["--help"], ["--version"], ["nightly --help"], [f"{name} --help" for name in faultline.commands]],
    ids=["help", "version", "help of nightly", "help of each command"],
)
def test_help_imports_no_spark_and_no_pandas(lines: list[str]) -> None:
    done = _started(sys.executable, "-c", COUNTED, *lines)
    assert done.returncode == 0, done.stderr
    *modules, count = done.stderr.split()
    assert HEAVY & set(modules) == set()
    assert {"click", "jobs"} <= set(modules)
    assert int(count) < 400  # 240; with Spark and pandas 1,500 and more


def test_answers_import_no_pandas_and_arrow_can_still_make_its_objects() -> None:
    """It is a third of a second of every `explain`, `show` and `report`."""
    asked = "import sys, pyarrow; from jobs.answers.delta_table import rows_of; pyarrow.scalar(1)"
    made = 'assert "pandas" not in sys.modules; assert len(pyarrow.table({"a": [1]}).to_pandas()) == 1'
    done = _started(sys.executable, "-c", f"{asked}\n{made}")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_version_is_the_package_s(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr() == (f"faultline {VERSION}\n", "")


def test_a_help_page_is_the_same_on_every_terminal() -> None:
    pages = {
        _started(sys.executable, "-m", "jobs.cli", "nightly", "-h", COLUMNS=width).stdout for width in ("40", "200")
    }
    (page,) = pages
    assert max(map(len, page.splitlines())) <= 100


def test_help_is_plain_ascii_as_not_every_terminal_shows_more() -> None:
    for name, command in faultline.commands.items():
        with faultline.make_context("faultline", [name]) as parent:
            assert command.get_help(click.Context(command, info_name=name, parent=parent)).isascii()


@pytest.mark.parametrize("arguments", [["--help"], ["plan", "nightly", "--lake", "lake"]], ids=" ".join)
def test_a_reader_that_left_ends_it_without_a_word(arguments: list[str], tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer) as gone:
        done = subprocess.run(
            [sys.executable, "-m", "jobs.cli", *arguments],
            cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]},  # buffered, as a shell has it
            stdout=gone,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, b"")


def test_each_command_says_what_it_does_and_each_option_too() -> None:
    for command in faultline.commands.values():
        assert command.help
        assert command.short_help
        options = [each for each in command.params if isinstance(each, click.Option)]
        assert [each.name for each in options if not each.help] == []
        assert command.params[-1].name in {"verbose", "how"}


def test_a_value_that_begins_with_a_dash_is_attached(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plan = ["plan", "nightly", "--date", "2026-11-21"]
    assert cli.main([*plan, f"--lake={tmp_path}", "--set", "cluster=x", "--sends=-odd"]) == 0
    assert "sends: " in capsys.readouterr().out
    assert cli.main([*plan, "--lake", "-odd"]) == 2
    assert "write --lake=-odd if it is meant; see faultline plan --help" in capsys.readouterr().err


def test_bash_completes_commands_options_and_words(tmp_path: Path) -> None:
    """With the script that the program prints, in a real bash."""
    completed = {
        ("ni",): ["nightly"],
        ("ma",): ["maintain"],
        ("nightly", "--f"): ["--from", "--fault-item-updates", "--fail-on"],
        ("nightly", "--json", "--allow"): ["--allow-empty"],
        ("plan", ""): ["nightly", "fault-latency", "allocation"],
        ("show", "ev"): ["events"],
        ("show", "events", "--broker", "b", "--li"): ["--limit"],
    }
    program = tmp_path / "faultline"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m jobs.cli "$@"\n')
    program.chmod(0o755)
    script = [f'eval "$({COMPLETE}=bash_source faultline)"', "complete -p faultline >&2"]
    for words in completed:
        typed = shlex.join(["faultline", *words])
        script.append(f"COMP_WORDS=({typed}); COMP_CWORD={len(words)}; COMPREPLY=()")
        script.append("_faultline_completion faultline; echo ${COMPREPLY[@]}")
    done = _started("bash", "-c", "\n".join(script), PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert done.stderr == "complete -o nosort -F _faultline_completion faultline\n"
    assert [line.split() for line in done.stdout.splitlines()] == list(completed.values())


@pytest.mark.parametrize(("typed", "kind"), [("--lake", "dir"), ("--settings", "file"), ("--sends", "file")])
def test_a_shell_completes_paths_itself(typed: str, kind: str) -> None:
    words = {"COMP_WORDS": f"faultline\nnightly\n{typed}\nlo", "COMP_CWORD": "3", COMPLETE: "bash_complete"}
    done = _started(sys.executable, "-m", "jobs.cli", **words)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{kind},lo\n", "")


def test_zsh_gets_a_script_too() -> None:
    done = _started(sys.executable, "-m", "jobs.cli", **{COMPLETE: "zsh_source"})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("#compdef faultline\n")
