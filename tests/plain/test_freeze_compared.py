"""The freeze notices: each kind of difference between two kept folders, and nothing else."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.tables import TABLES
from tests.freeze.__main__ import main
from tests.freeze.compare import Findings, NothingToCompareError, compare
from tests.freeze.expected import Expected, ExpectedError, load_expected
from tests.freeze.rows import in_order, without_places

NOON = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
SCHEMA = pa.schema(
    [
        pa.field("broker", pa.string(), nullable=False),
        pa.field("start_ms", pa.int64(), nullable=False),
        pa.field("isolated_ms", pa.int64()),
        pa.field("clients", pa.list_(pa.string())),
        pa.field("run_id", pa.string()),
    ]
)
ROWS = [
    {"broker": "a", "start_ms": 1, "isolated_ms": 500, "clients": ["p1", "p2"], "run_id": "one"},
    {"broker": "a", "start_ms": 2, "isolated_ms": None, "clients": [], "run_id": "one"},
    {"broker": "b", "start_ms": 1, "isolated_ms": 700, "clients": None, "run_id": "one"},
]
KEYS = {"isolations": ("broker", "start_ms")}


def table(*rows: Mapping[str, Any], schema: pa.Schema = SCHEMA) -> pa.Table:
    return pa.Table.from_pylist([dict(row) for row in rows], schema=schema)


def side(folder: Path, tables: Mapping[str, pa.Table], text: str = "3 isolations\n", **case: Any) -> Path:
    """A kept folder of one case with these tables and one answer."""
    shutil.rmtree(folder, ignore_errors=True)
    for kind in ("tables", "texts"):
        (folder / "cases" / "night" / kind).mkdir(parents=True)
    for name, rows in tables.items():
        pq.write_table(rows, folder / "cases" / "night" / "tables" / f"{name}.parquet")
    (folder / "cases" / "night" / "texts" / "1-nightly.txt").write_text(text, encoding="utf-8")
    entry = {
        "exit_codes": [0],
        "inputs": "same",
        "texts": ["1-nightly.txt"],
        "tables": {name: {"rows": rows.num_rows} for name, rows in tables.items()},
    }
    (folder / "manifest.json").write_text(json.dumps({"cases": {"night": entry | case}}), encoding="utf-8")
    return folder


def compared(folder: Path, was: pa.Table, now: pa.Table, expected: Expected | None = None) -> list[str]:
    before, after = side(folder / "before", {"isolations": was}), side(folder / "after", {"isolations": now})
    return compare(before, after, expected or Expected(keys=KEYS)).differences


def test_order_of_rows_and_columns_and_what_is_of_the_run_do_not_matter(tmp_path: Path) -> None:
    other = [row | {"run_id": "two"} for row in reversed(ROWS)]
    now = table(*other).select(["run_id", "clients", "isolated_ms", "start_ms", "broker"])
    assert compared(tmp_path, table(*ROWS), now) == []


def test_what_was_compared_is_counted(tmp_path: Path) -> None:
    before, after = (side(tmp_path / name, {"isolations": table(*ROWS)}) for name in ("before", "after"))
    found = compare(before, after, Expected())
    assert found == Findings(cases=1, tables=1, rows=3)
    assert found.summary() == "1 table of 1 case, 3 rows: no difference"


@pytest.mark.parametrize("column", ["isolated_ms", "clients"])
def test_a_changed_value_is_noticed_with_its_key(tmp_path: Path, column: str) -> None:
    changed: Any = {"isolated_ms": 501, "clients": ["p2", "p1"]}[column]
    (difference,) = compared(tmp_path, table(*ROWS), table(ROWS[0] | {column: changed}, *ROWS[1:]))
    assert difference.startswith(f"night/isolations: 1 row changed, in {column} (1)")
    assert "[broker='a', start_ms=1]" in difference


def test_null_is_not_a_value(tmp_path: Path) -> None:
    (difference,) = compared(tmp_path, table(*ROWS), table(ROWS[0], ROWS[1] | {"isolated_ms": 0}, ROWS[2]))
    assert "isolated_ms: None -> 0" in difference


def test_a_row_too_many_and_one_missing_are_noticed(tmp_path: Path) -> None:
    (more,) = compared(tmp_path, table(*ROWS), table(*ROWS, ROWS[0] | {"start_ms": 9}))
    (fewer,) = compared(tmp_path, table(*ROWS), table(*ROWS[:2]))
    assert more.startswith("night/isolations: 1 row only after\n    broker='a'")
    assert fewer.startswith("night/isolations: 1 row only before\n    broker='b'")


def test_a_row_that_is_there_twice_is_noticed(tmp_path: Path) -> None:
    (difference,) = compared(tmp_path, table(*ROWS), table(*ROWS, ROWS[0]))
    assert "1 row only after" in difference


def test_rows_of_one_key_are_distinguished_without_it(tmp_path: Path) -> None:
    twice = [ROWS[0], ROWS[0] | {"isolated_ms": 1}]
    found = compared(tmp_path, table(*twice), table(ROWS[0] | {"isolated_ms": 2}, ROWS[0] | {"isolated_ms": 3}))
    assert [each.split("\n")[0] for each in found] == [
        "night/isolations: 2 rows only before",
        "night/isolations: 2 rows only after",
    ]


def test_a_number_of_another_type_is_noticed(tmp_path: Path) -> None:
    place = SCHEMA.get_field_index("isolated_ms")
    now = table(*ROWS, schema=SCHEMA.set(place, pa.field("isolated_ms", pa.float64())))
    assert compared(tmp_path, table(*ROWS), now) == ["night/isolations: column isolated_ms: int64 before, double after"]


def test_a_column_that_may_be_null_now_is_noticed(tmp_path: Path) -> None:
    now = table(*ROWS, schema=SCHEMA.set(0, pa.field("broker", pa.string())))
    assert compared(tmp_path, table(*ROWS), now) == [
        "night/isolations: column broker: string not null before, string after"
    ]


def test_a_renamed_column_is_noticed_unless_it_is_named(tmp_path: Path) -> None:
    now = table(*ROWS).rename_columns(["broker", "begin_ms", "isolated_ms", "clients", "run_id"])
    found = compared(tmp_path, table(*ROWS), now)
    assert "night/isolations: column start_ms: int64 not null before, not there after" in found
    assert "night/isolations: column begin_ms: not there before, int64 not null after" in found
    for of in ("isolations", "*"):
        assert compared(tmp_path, table(*ROWS), now, Expected(columns={of: {"start_ms": "begin_ms"}})) == []


def test_a_change_beside_a_renamed_column_is_noticed(tmp_path: Path) -> None:
    now = table(*ROWS[:2], ROWS[2] | {"isolated_ms": 1}).rename_columns(
        ["broker", "begin_ms", "isolated_ms", "clients", "run_id"]
    )
    expected = Expected(keys={"isolations": ("broker", "begin_ms")}, columns={"isolations": {"start_ms": "begin_ms"}})
    (difference,) = compared(tmp_path, table(*ROWS), now, expected)
    assert "[broker='b', begin_ms=1] isolated_ms: 700 -> 1" in difference


def test_a_rename_of_what_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExpectedError, match="isolations has no column end_ms to rename; it has broker"):
        compared(tmp_path, table(*ROWS), table(*ROWS), Expected(columns={"isolations": {"end_ms": "until_ms"}}))


def test_a_renamed_value_is_noticed_unless_it_is_named(tmp_path: Path) -> None:
    now = table(*(row | {"broker": "A" if row["broker"] == "a" else "b"} for row in ROWS))
    assert compared(tmp_path, table(*ROWS), now)
    assert compared(tmp_path, table(*ROWS), now, Expected(values={"isolations": {"broker": {"a": "A"}}})) == []


def test_a_column_set_apart_may_differ_or_be_gone(tmp_path: Path) -> None:
    expected = Expected(apart={"isolations": ("isolated_ms",)})
    other = table(*(row | {"isolated_ms": 9} for row in ROWS))
    assert compared(tmp_path, table(*ROWS), other, expected) == []
    assert compared(tmp_path, table(*ROWS), other.drop_columns(["isolated_ms"]), expected) == []


def test_a_missing_table_is_noticed_and_a_renamed_one_when_it_is_named(tmp_path: Path) -> None:
    both = {"isolations": table(*ROWS), "sends": table(ROWS[0])}
    before, after = side(tmp_path / "before", both), side(tmp_path / "after", {"isolations": table(*ROWS)})
    assert compare(before, after, Expected()).differences == ["night/sends: the table is only before"]
    assert compare(after, before, Expected()).differences == ["night/sends: the table is only after"]
    renamed = side(tmp_path / "after", {"isolations": table(*ROWS), "attempts": table(ROWS[0])})
    assert len(compare(before, renamed, Expected()).differences) == 2
    assert compare(before, renamed, Expected(tables={"sends": "attempts"})).differences == []


def test_an_empty_side_is_not_an_agreement(tmp_path: Path) -> None:
    empty, full = (
        side(tmp_path / "before", {"isolations": table()}),
        side(tmp_path / "after", {"isolations": table(*ROWS)}),
    )
    for sides in ((empty, full), (full, empty), (empty, empty)):
        with pytest.raises(NothingToCompareError, match="before holds no row of these cases: nothing to compare"):
            compare(*sides, Expected())
    with pytest.raises(NothingToCompareError, match=r"has no manifest\.json: nothing to compare"):
        compare(tmp_path / "nowhere", full, Expected())
    with pytest.raises(NothingToCompareError, match="nothing to compare"):
        compare(full, full, Expected(), only=["another night"])


def test_a_case_of_one_side_is_noticed(tmp_path: Path) -> None:
    before, after = (side(tmp_path / name, {"isolations": table(*ROWS)}) for name in ("before", "after"))
    manifest = json.loads((after / "manifest.json").read_text())
    manifest["cases"]["day"] = manifest["cases"]["night"]
    (after / "manifest.json").write_text(json.dumps(manifest))
    assert compare(before, after, Expected()).differences == ["day: only after"]
    assert compare(before, after, Expected(), only=["night"]).differences == []


def test_sides_of_other_input_are_not_compared(tmp_path: Path) -> None:
    before = side(tmp_path / "before", {"isolations": table(*ROWS)})
    after = side(tmp_path / "after", {"isolations": table(*ROWS)}, inputs="other")
    with pytest.raises(NothingToCompareError, match="night had other input in"):
        compare(before, after, Expected())


def test_another_exit_code_or_answer_is_noticed(tmp_path: Path) -> None:
    before = side(tmp_path / "before", {"isolations": table(*ROWS)})
    after = side(tmp_path / "after", {"isolations": table(*ROWS)}, "4 isolations\n", exit_codes=[7])
    assert compare(before, after, Expected()).differences == [
        "night: exit codes [0] before, [7] after",
        "night/1-nightly.txt: 2 lines changed\n    -3 isolations\n    +4 isolations",
    ]
    said = side(tmp_path / "after", {"isolations": table(*ROWS)}, "3 stretches\n")
    assert compare(before, said, Expected(texts={"isolations": "stretches"})).differences == []


def test_rows_have_one_order_for_any_values() -> None:
    rows = [
        {"b": [2, 1], "at": NOON, "x": None},
        {"b": None, "at": None, "x": float("nan")},
        {"b": [1], "at": NOON, "x": 1.5},
    ]
    schema = pa.schema({"b": pa.list_(pa.int64()), "at": pa.timestamp("us", "UTC"), "x": pa.float64()})
    one, other = (in_order(table(*each, schema=schema)) for each in (rows, reversed(rows)))
    assert one.column_names == ["at", "b", "x"]
    assert str(one.to_pylist()) == str(other.to_pylist())


def test_no_number_differs_from_itself(tmp_path: Path) -> None:
    schema = pa.schema({"broker": pa.string(), "share": pa.float64()})
    rows = [{"broker": "a", "share": float("nan")}, {"broker": "b", "share": 0.5}]
    assert compared(tmp_path, table(*rows, schema=schema), table(*reversed(rows), schema=schema)) == []
    (difference,) = compared(
        tmp_path, table(*rows, schema=schema), table(rows[0], rows[1] | {"share": 0.5000001}, schema=schema)
    )
    assert "share: 0.5 -> 0.5000001" in difference


def test_places_are_named_the_same_on_both_sides() -> None:
    rows = table({"broker": "file:///tmp/one/inputs/a.jsonl", "start_ms": 1})
    assert without_places(rows, {"/tmp/one/inputs": "<inputs>"})["broker"].to_pylist() == ["file://<inputs>/a.jsonl"]


def test_the_command_says_what_differs_and_ends_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = side(tmp_path / "before", {"isolations": table(*ROWS)})
    after = side(
        tmp_path / "after", {"isolations": table(*ROWS).rename_columns(["broker", "begin_ms", *SCHEMA.names[2:]])}
    )
    renames = tmp_path / "renames.toml"
    renames.write_text('[columns.isolations]\nstart_ms = "begin_ms"\n', encoding="utf-8")
    assert main(["compare", f"{before}", f"{after}"]) == 1
    assert "1 table of 1 case, 3 rows: 2 differences" in capsys.readouterr().out
    assert main(["compare", f"{before}", f"{after}", "--renames", f"{renames}"]) == 0
    assert capsys.readouterr().out == "1 table of 1 case, 3 rows: no difference\n"
    renames.write_text('[columms.isolations]\nstart_ms = "begin_ms"\n', encoding="utf-8")
    assert main(["compare", f"{before}", f"{after}", "--renames", f"{renames}"]) == 2
    assert "has a section columms; there are apart, columns" in capsys.readouterr().err
    assert main(["keep", f"{Path(__file__).parent}"]) == 2
    assert "lies within the repository; name a folder outside" in capsys.readouterr().err


def test_keys_are_those_of_the_tables() -> None:
    assert load_expected(None).keys == {each.name: each.keys for each in TABLES}
