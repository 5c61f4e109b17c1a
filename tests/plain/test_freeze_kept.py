"""The freeze keeps what a program publishes and prints: here one without Spark, made up for the test."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.freeze.__main__ import main
from tests.freeze.cases import Case, all_cases, chosen
from tests.freeze.keep import keep
from tests.freeze.program import KeepError
from tests.given.seeded_days import write_seeded_sends
from tests.given.seeded_groups import write_seeded_groups

PROGRAM = """
import json, sys
import deltalake, pyarrow as pa

def main(arguments):
    command, inputs, lake = arguments
    print("reading", inputs, file=sys.stderr)
    if command == "dies":
        sys.exit(3)
    brokers = open(f"{inputs}/brokers.txt").read().split()
    rows = [{"broker": broker, "file": f"{inputs}/brokers.txt", "isolated_ms": ISOLATED_MS} for broker in brokers]
    deltalake.write_deltalake(f"{lake}/isolations", pa.Table.from_pylist(rows))
    print(json.dumps({"run_id": "0123456789ab", "lake": lake, "isolations": len(rows)}))
    return 0
"""


@pytest.fixture
def made_up_program(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Whatever commit is checked out, it is a program without Spark that isolates each broker for so long."""

    def isolates_for(isolated_ms: int) -> None:
        def check_out(_: str, tree: Path) -> None:
            tree.mkdir()
            (tree / "pyproject.toml").write_text('[project.scripts]\nfaultline = "entry.way:main"\n', encoding="utf-8")
            (tree / "entry").mkdir()
            program = PROGRAM.replace("ISOLATED_MS", f"{isolated_ms}")
            (tree / "entry" / "way.py").write_text(program, encoding="utf-8")

        monkeypatch.setattr("tests.freeze.keep.check_out", check_out)

    return isolates_for


def made_up_case(name: str, command: str = "nightly", exit_code: int = 0) -> Case:
    def write(inputs: Path) -> None:
        (inputs / "brokers.txt").write_text("b a", encoding="utf-8")

    return Case(name, "brokers", ((command, "{inputs}", "{lake}"),), write, (exit_code,))


def kept(folder: Path, *cases: Case, inputs_of: Path | None = None) -> list[str]:
    """Keep the cases, and what was said meanwhile."""
    said: list[str] = []
    keep(folder, "HEAD", cases, inputs_of=inputs_of, at_once=2, say=said.append)
    return said


def test_what_a_program_publishes_is_kept_and_compared(
    tmp_path: Path, made_up_program: Callable[[int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    sides = one, same, other = [tmp_path / name for name in ("one", "same", "other")]
    for folder, isolated_ms in zip(sides, (500, 500, 501), strict=True):
        made_up_program(isolated_ms)
        said = kept(folder, made_up_case("night"), made_up_case("day"), inputs_of=one if folder is other else None)
        assert said[-1].startswith("2 tables of 2 cases, 4 rows of ")
    rows = pq.read_table(one / "cases" / "night" / "tables" / "isolations.parquet").to_pylist()
    assert rows == [{"broker": name, "file": "<inputs>/brokers/brokers.txt", "isolated_ms": 500} for name in ("a", "b")]
    answer = (one / "cases" / "night" / "texts" / "1-nightly.txt").read_text()
    assert json.loads(answer) == {"run_id": "<run>", "lake": "<lake>", "isolations": 2}
    assert main(["compare", f"{one}", f"{same}"]) == 0
    assert capsys.readouterr().out == "2 tables of 2 cases, 4 rows: no difference\n"
    assert main(["compare", f"{one}", f"{other}"]) == 1
    assert "isolated_ms=500" in capsys.readouterr().out
    with pytest.raises(KeepError, match="one holds a freeze already; name another folder"):
        kept(one, made_up_case("night"))


def test_a_keep_that_was_interrupted_goes_on(tmp_path: Path, made_up_program: Callable[[int], None]) -> None:
    made_up_program(500)
    said = kept(tmp_path / "one", made_up_case("night"), made_up_case("day", "dies"))
    assert any(each.startswith("day: the program ended during dies") for each in said)
    assert any(each.startswith("day ended with no end instead of [0]; see ") for each in said)
    assert said[-1] == "nothing is kept yet; the same command goes on with 1 of 2 cases"
    said = kept(tmp_path / "one", made_up_case("night"), made_up_case("day"))
    (again,) = [each for each in said[:-1] if each.startswith(("night", "day"))]
    assert again.startswith("day: 1 table, 2 rows, ")
    assert said[-1].startswith("2 tables of 2 cases")


def test_a_case_that_ends_otherwise_is_said(tmp_path: Path, made_up_program: Callable[[int], None]) -> None:
    made_up_program(500)
    said = kept(tmp_path / "one", made_up_case("night", exit_code=4))
    assert said[-2].startswith("night ended with [0] instead of [4]")
    assert not (tmp_path / "one" / "manifest.json").exists()


def test_cases_have_names_of_their_own() -> None:
    names = [case.name for case in all_cases()]
    assert len(names) == len({*names})
    assert [case.name for case in chosen(["samples", "consumers-5"])] == ["samples", "consumers-5.3.3"]
    with pytest.raises(ValueError, match="no case begins with nothing; there are"):
        chosen(["nothing"])


def test_a_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    days = (dt.date(2026, 3, 1), dt.date(2026, 3, 2))
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        write_seeded_sends(tmp_path / name / "sends", seed, days[:1])
        write_seeded_groups(tmp_path / name / "groups", seed, days)
    one, again, other = (
        {
            path.relative_to(tmp_path / name): path.read_bytes()
            for path in (tmp_path / name).rglob("*")
            if path.is_file()
        }
        for name in ("one", "again", "other")
    )
    assert one == again
    same = {path for path in one if one[path] == other[path]}
    assert {path.name for path in same} <= {"settings.toml"}
