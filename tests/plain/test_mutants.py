"""Mutants: our list fits the code, a run says which are noticed, and each survivor needs its reason on the page."""

from __future__ import annotations

import fnmatch
import shutil
import tomllib
from pathlib import Path

import pytest

from tests.mutants import __main__ as program
from tests.mutants.copies import ROOT, MutantsError
from tests.mutants.listed import Mutant, all_listed, misfits
from tests.mutants.page import PAGE, Explained, Survivor, compared, explained
from tests.mutants.plain import survivor_of
from tests.mutants.runs import Verdict, verdicts

MUTMUT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mutmut"]
BOTH_FLOWS = ("udfs", "jobs/fault_latency", "jobs/allocation", "jobs/intervals")
# Contents pages, thin wrappers and words: a mutant there is no rule, or any test would notice it.
WITHOUT_RULES = {
    "jobs/allocation/frames.py",
    "jobs/allocation/group_facts.py",
    "jobs/allocation/job.py",
    "jobs/allocation/member_lists.py",
    "jobs/allocation/run.py",
    "jobs/allocation/summary_text.py",
    "jobs/fault_latency/frames.py",
    "jobs/fault_latency/producers/senders.py",
    "jobs/fault_latency/summary_text.py",
    "jobs/intervals/concurrent_counts.py",
    "udfs/evidence.py",
    "udfs/recorded.py",
}


def test_the_list_fits_the_code() -> None:
    assert list(misfits(all_listed(), ROOT)) == []


def test_each_module_of_both_flows_is_mutated() -> None:
    modules = {
        path.relative_to(ROOT).as_posix()
        for folder in BOTH_FLOWS
        for path in (ROOT / folder).rglob("*.py")
        if path.name != "__init__.py"
    }
    listed = {mutant.file for mutant in all_listed()}
    by_mutmut = {path for path in modules for glob in MUTMUT["only_mutate"] if fnmatch.fnmatchcase(path, glob)}
    assert modules - listed - by_mutmut == WITHOUT_RULES


def test_every_glob_of_mutmut_and_every_test_it_runs_is_there() -> None:
    chosen = [*MUTMUT["only_mutate"], *MUTMUT["pytest_add_cli_args_test_selection"]]
    assert [glob for glob in chosen if not any(ROOT.glob(glob))] == []


def test_the_page_can_be_read_and_names_only_mutants_that_are_listed() -> None:
    names = {mutant.name for mutant in all_listed()}
    assert [
        each for each in explained(PAGE.read_text(encoding="utf-8")) if each.is_of_list and each.name not in names
    ] == []


FITS = Mutant("a", "udfs/rule.py", "x > 1", "x >= 1", ("tests/test_rule.py::test_rule[2]",))


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, []),
        ({"file": "udfs/other.py"}, ["a: there is no udfs/other.py"]),
        ({"text": "x"}, ["a: its text stands 2 times in udfs/rule.py"]),
        ({"text": "y"}, ["a: its text stands 0 times in udfs/rule.py"]),
        ({"becomes": "x >"}, ["a: udfs/rule.py is no Python any more"]),
        ({"becomes": "x > 1"}, ["a changes nothing"]),
        ({"tests": ()}, ["a names no tests"]),
        ({"name": "a.b"}, ["a.b has a dot, by which mutmut's names are known"]),
        ({"tests": ("tests/other.py",)}, ["a: there is no tests/other.py"]),
        ({"tests": ("tests/test_rule.py::test_rul",)}, ["a: there is no tests/test_rule.py::test_rul"]),
        ({"tests": ("tests/test_rule.py", "udfs")}, []),
    ],
)
def test_what_does_not_fit_is_named(small: Path, changes: dict[str, object], found: list[str]) -> None:
    assert list(misfits([Mutant(**{**vars(FITS), **changes})], small)) == found


def test_two_of_one_name_are_named(small: Path) -> None:
    assert list(misfits([FITS, FITS], small)) == ["a is listed twice"]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A program of one rule, with a test that sees one side of its threshold."""
    for folder in ("udfs", "jobs/spark", "tests"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copytree(ROOT / "tests/mutants", tmp_path / "tests/mutants", ignore=shutil.ignore_patterns("__pycache__"))
    for package in ("udfs", "jobs", "jobs/spark"):  # else one that is installed comes first
        (tmp_path / package / "__init__.py").touch()
    (tmp_path / "pyproject.toml").write_text('[tool.pytest]\naddopts = ["--import-mode=importlib"]\n')
    (tmp_path / "udfs/rule.py").write_text("def rule(x):\n    return x > 1\n")
    (tmp_path / "jobs/spark/session.py").write_text("def open_session(settings, *, verbose=False): ...\n")
    (tmp_path / "tests/test_rule.py").write_text(
        "from udfs.rule import rule\n\n\ndef test_rule():\n    assert not rule(1)\n"
    )
    (tmp_path / "tests/test_loop.py").write_text("def test_wrong():\n    assert False\n")
    return tmp_path


def test_a_mutant_is_noticed_or_survives_and_leaves_nothing(small: Path) -> None:
    def mutant(name: str, becomes: str) -> Mutant:
        return Mutant(name, "udfs/rule.py", "x > 1", becomes, ("tests/test_rule.py",))

    said: list[str] = []
    mutants = [
        mutant("at", "x >= 1"),
        mutant("above", "x > 2"),
        mutant("raises", "x > y"),
        mutant("at again", "x >= 1"),
    ]
    with (small / "log").open("w") as log:
        found = list(verdicts(mutants, small, log, said.append))
    noticed = "tests/test_rule.py::test_rule"
    assert [(each.mutant.name, each.survived, each.by) for each in found] == [
        ("at", False, noticed),
        ("above", True, ""),
        ("raises", False, noticed),
        ("at again", False, noticed),
    ]
    assert (small / "udfs/rule.py").read_text() == "def rule(x):\n    return x > 1\n"
    assert len(said) == 1


def test_tests_that_fail_without_a_mutant_say_nothing_of_one(small: Path) -> None:
    mutant = Mutant("at", "udfs/rule.py", "x > 1", "x >= 1", ("tests/test_loop.py",))
    with (small / "log").open("w") as log, pytest.raises(MutantsError, match=r"without any mutant .*test_wrong"):
        list(verdicts([mutant], small, log, lambda _: None))


PAGE_OF = """# Mutants

- `ignored`

## Survivors

One that nobody can see.

- `listed`
- `udfs.a.f` `x > 1` → `x >= 1`

Lists are of one length.

- `jobs.*` `strict=True` → `strict=None`
- `jobs.b.g` `, 0` → nothing
"""


def test_the_reasons_of_a_page() -> None:
    assert explained(PAGE_OF) == [
        Explained("listed", "", "", is_of_list=True),
        Explained("udfs.a.f", "x > 1", "x >= 1", is_of_list=False),
        Explained("jobs.*", "strict=True", "strict=None", is_of_list=False),
        Explained("jobs.b.g", ", 0", "", is_of_list=False),
    ]


@pytest.mark.parametrize(
    ("page", "said"),
    [("- `a`\n", "no reason above"), ("\n### Heading\n- `a`\n", "no reason above"), ("Why.\n- a\n", "cannot read")],
)
def test_a_page_that_cannot_be_read(page: str, said: str) -> None:
    with pytest.raises(MutantsError, match=said):
        explained(f"\n## Survivors\n{page}")


@pytest.mark.parametrize(
    ("survivor", "is_explained"),
    [
        (Survivor("listed"), True),
        (Survivor("another"), False),
        (Survivor("udfs.a.f", "return x > 1", "return x >= 1"), True),
        (Survivor("udfs.a.f", "return x > 1 or x > 1", "return x > 1 or x >= 1"), True),
        (Survivor("udfs.a.f", "return x > 1 or x > 1", "return x >= 1 or x >= 1"), False),
        (Survivor("udfs.a.f", "return x > 1", "return x < 1"), False),
        (Survivor("udfs.a.g", "return x > 1", "return x >= 1"), False),
        (Survivor("jobs.b.h", "zip(a, strict=True)", "zip(a, strict=None)"), True),
        (Survivor("jobs.b.h", "zip(a, strict=True)", "zip(None, strict=True)"), False),
        (Survivor("jobs.b.g", "max(a, 0)", "max(a)"), True),
        (Survivor("udfs.a.listed", "", "x"), False),
    ],
)
def test_which_survivors_have_a_reason(survivor: Survivor, is_explained: bool) -> None:  # noqa: FBT001 - a case's value
    without, _ = compared([survivor], explained(PAGE_OF))
    assert without == ([] if is_explained else [survivor])


def test_a_reason_that_nothing_needs_is_named() -> None:
    _, unneeded = compared([Survivor("listed")], explained(PAGE_OF)[:2])
    assert [str(each) for each in unneeded] == ["`udfs.a.f` `x > 1` → `x >= 1`"]


def test_what_mutmut_shows_is_a_function_and_a_change() -> None:
    shown = "--- udfs/a.py\n+++ udfs/a.py\n@@ -1,3 +1,2 @@\n def _f():\n-    g(\n-        a,\n-    )\n+    g()\n"
    assert survivor_of("udfs.a.x__f__mutmut_3", shown) == Survivor("udfs.a._f", "g( a, )", "g()")
    assert survivor_of("udfs.a.xǁItemǁ_end__mutmut_3", shown).name == "udfs.a.Item._end"


@pytest.mark.parametrize(
    ("survived", "page", "exit_code", "said"),
    [
        ((), "", 0, "0 survived, 0 of them without a reason"),
        (("bucket-rounds-to-zero",), "", 1, "no reason for `bucket-rounds-to-zero`"),
        (("bucket-rounds-to-zero",), "Nobody sees it.\n\n- `bucket-rounds-to-zero`\n", 0, "1 survived, 0 of them"),
    ],
)
def test_a_run_ends_with_1_when_a_survivor_has_no_reason(
    survived: tuple[str, ...],
    page: str,
    exit_code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "page.md").write_text(f"\n## Survivors\n{page}")
    monkeypatch.setattr(program, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(program, "copy_to", lambda _: None)
    monkeypatch.setattr(
        program, "verdicts", lambda mutants, *_: (Verdict(each, each.name in survived, "t", 1.0) for each in mutants)
    )
    assert program.main(["--listed", "--only", "bucket-*"]) == exit_code
    assert said in capsys.readouterr().out


def test_a_reason_that_a_whole_run_does_not_need_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "page.md").write_text("\n## Survivors\nNobody sees it.\n- `bucket-rounds-to-zero`\n")
    monkeypatch.setattr(program, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(program, "copy_to", lambda _: None)
    monkeypatch.setattr("tests.mutants.plain.survivors", lambda *_: [])
    monkeypatch.setattr(program, "verdicts", lambda mutants, *_: (Verdict(each, False, "t", 1.0) for each in mutants))
    assert program.main([]) == 0
    assert "the page explains `bucket-rounds-to-zero`, which did not survive" in capsys.readouterr().out
