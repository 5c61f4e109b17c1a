"""`export duckdb`: one file with tables, views, functions and comments; whole, or the old one."""

from __future__ import annotations

import datetime as dt
import os
import re
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest

from jobs.answers.delta_table import opened as opened_as_ever
from jobs.cli import main as cli
from jobs.cli.answer_of_a_run import Answer
from jobs.cli.export import export_night
from jobs.runs.run import Run
from jobs.serving.functions import duckdb_functions
from jobs.serving.views import VIEWS, read_view
from jobs.settings.client_profiles import released_profiles
from jobs.settings.load import load_settings
from jobs.settings.model import Settings
from jobs.tables import EVENTS, RUN_LOG, TABLES
from jobs.text.progress import Progress
from tests.given.bucket import served
from tests.given.lakes import LiteralLake, in_duckdb, publish, write_rows
from tests.given.site import D1, D2, D3, at
from tests.given.small_disk import small_disk
from udfs.ladder import plain_isolation_ms

pytestmark = pytest.mark.usefixtures("own_folder")

QUEUE = {"topic": "T", "broker_name": "broker-a", "queue_id": 3, "owners_observed": ["c1", "c2"]}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two published days; tables of the second flow have one row, those of verify and what-if are not there."""
    made = tmp_path_factory.mktemp("lake")
    publish(made, D1, D2)
    for day in (D1, D2):
        minute = {"event_date": day, "broker_name": "broker-a", "window_start_ms": at(day, "01:00:00"), "sends": 7}
        write_rows(made, next(each for each in TABLES if each.name == "broker_windows"), [minute])
    event = {"event_date": D2, "consumer_group": "G", "start_ms": at(D2, "02:00:00.250"), "queues": [QUEUE]}
    write_rows(made, next(each for each in TABLES if each.name == "group_events"), [event])
    return made


@pytest.fixture(scope="module")
def opened(lake: Path) -> duckdb.DuckDBPyConnection:
    return in_duckdb(lake)


def _export(*arguments: str) -> int:
    return cli.main(["export", "duckdb", *arguments])


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _bytes_below(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_program_without_ours_reads_tables_views_functions_and_comments(lake: Path) -> None:
    assert _export("--lake", str(lake), "--out", "F.duckdb") == 0
    asks = """
import sys
sys.modules.update(deltalake=None, pyarrow=None, jobs=None)
import duckdb
file = duckdb.connect("F.duckdb", read_only=True, config={"autoload_known_extensions": "false"})
names = [name for (name,) in file.execute("SELECT table_name FROM information_schema.tables ORDER BY ALL").fetchall()]
for name in names:
    file.execute(f"SELECT * FROM {name}").fetchall()
print(*names)
print(file.execute("SELECT broker_name, sends FROM worst_brokers WHERE last_night").fetchall())
print(file.execute("SELECT java_hash_code('ab'), not_available_duration(550, 'P1')").fetchall())
"""
    done = subprocess.run([sys.executable, "-I", "-c", asks], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    names, worst, functions = done.stdout.splitlines()
    assert names.split() == sorted([*(table.name for table in TABLES), *VIEWS])
    assert (worst, functions) == ("[('broker-a', 7)]", "[(3105, 30000)]")


def test_it_is_read_under_another_name_too(lake: Path) -> None:
    assert _export("--lake", str(lake), "--out", "F.duckdb") == 0
    with duckdb.connect() as other:
        other.execute("ATTACH 'F.duckdb' AS night (READ_ONLY)")
        assert other.sql("SELECT sends FROM night.worst_brokers WHERE last_night").fetchall() == [(7,)]
        assert other.sql("SELECT night.java_hash_code('ab')").fetchall() == [(3_105,)]


def test_what_was_written_is_said(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Four rows of the run log, two minutes, one event of a group."""
    assert _export("--lake", str(lake), "--out", "F.duckdb") == 0
    said = capsys.readouterr().out
    wrote = rf"wrote F\.duckdb \(\d+\.\d MB\): {len(TABLES)} tables, {len(VIEWS)} views, 7 rows of {D1} to {D2}"
    assert re.fullmatch(rf"{wrote}, in \d+\.\d s\n", said)
    assert _names(Path()) == ["F.duckdb"]


def test_instants_are_utc_without_a_zone(opened: duckdb.DuckDBPyConnection) -> None:
    """So nobody needs the extension icu, and a session in another zone sees the same; nor is there a HUGEINT."""
    kinds = opened.sql("SELECT DISTINCT data_type FROM duckdb_columns() WHERE NOT internal").fetchall()
    scalar = {kind for (kind,) in kinds if not kind.endswith("[]")}
    assert scalar == {"BIGINT", "BOOLEAN", "DATE", "DOUBLE", "INTEGER", "TIMESTAMP", "VARCHAR"}
    assert [kind for (kind,) in kinds if "TIME ZONE" in kind] == []
    (found,) = opened.sql("SELECT typeof(start_at), start_at FROM group_events").fetchall()
    assert found == ("TIMESTAMP", dt.datetime(2026, 3, 2, 2, 0, 0, 250_000))  # noqa: DTZ001 - so it is read


def test_nested_columns_stay_nested(opened: duckdb.DuckDBPyConnection) -> None:
    asked = "SELECT queue.topic, queue.queue_id, queue.owners_observed FROM group_events, unnest(queues) AS _(queue)"
    assert opened.sql(asked).fetchall() == [("T", 3, ["c1", "c2"])]


def test_everything_has_its_comment(opened: duckdb.DuckDBPyConnection) -> None:
    def told(asked: str) -> dict[Any, str]:
        return {tuple(key): text for *key, text in opened.sql(asked).fetchall()}

    views = list(map(read_view, VIEWS))
    assert told("SELECT table_name, comment FROM duckdb_tables()") == {(each.name,): each.grain for each in TABLES}
    assert told("SELECT view_name, comment FROM duckdb_views() WHERE NOT internal") == {
        (view.name,): view.question for view in views
    }
    assert told("SELECT table_name, column_name, comment FROM duckdb_columns() WHERE NOT internal") == {
        **{(each.name, field.name): field.metadata["comment"] for each in TABLES for field in each.columns},
        **{(view.name, name): meaning for view in views for name, meaning in view.columns.items()},
    }
    assert told("SELECT function_name, comment FROM duckdb_functions() WHERE NOT internal") == {
        (head.partition("(")[0],): gives for head, (gives, _) in duckdb_functions().items()
    }


def test_a_first_day_bounds_every_table(lake: Path) -> None:
    assert _export("--lake", str(lake), "--out", "F.duckdb", "--since", f"{D2}") == 0
    with duckdb.connect("F.duckdb", read_only=True) as file:
        counts = {
            table.name: file.sql(f"SELECT count(*), min(event_date) FROM {table.name}").fetchall() for table in TABLES
        }
    assert {name: found for name, found in counts.items() if found != [(0, None)]} == {
        "run_log": [(2, D2)], "broker_windows": [(1, D2)], "group_events": [(1, D2)],
    }  # fmt: skip


@pytest.mark.parametrize("profile", released_profiles(), ids=lambda profile: profile.name)
def test_a_ladder_in_sql_is_the_rule(opened: duckdb.DuckDBPyConnection, profile: Any) -> None:
    latencies = [0, 10**12, *(floor + step for floor in profile.latency_max_ms for step in (-1, 0, 1))]
    ladder = profile.policy("").ladder
    for latency in latencies:
        found = opened.execute("SELECT not_available_duration(?::BIGINT, ?)", [latency, profile.name]).fetchall()
        assert found == [(plain_isolation_ms(latency, ladder),)], latency


def test_a_ladder_of_nothing_is_null_and_of_an_unknown_profile_an_error(opened: duckdb.DuckDBPyConnection) -> None:
    nulls = "SELECT not_available_duration(NULL, 'P1'), not_available_duration(1, NULL), java_hash_code(NULL)"
    assert opened.sql(nulls).fetchall() == [(None, None, None)]
    with pytest.raises(duckdb.InvalidInputException, match="profile P9 is unknown; known are P1, P2, "):
        opened.sql("SELECT not_available_duration(1, 'P9')").fetchall()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", 0),
        ("ab", 3_105),
        ("\x00a", 97),
        ("e\u0301", 3_900),
        ("\ue000", 57_344),
        ("\U0001f680", 1_773_027),
        ("zzzzzz", -685_785_664),
        ("polygenelubricants", -(2**31)),
    ],
)
def test_a_hash_code_in_sql_is_that_of_java(opened: duckdb.DuckDBPyConnection, text: str, code: int) -> None:
    assert opened.execute("SELECT java_hash_code(?)", [text]).fetchall() == [(code,)]


def _of_another_program(file: Path) -> None:
    file.write_text("id,name\n1,a\n", encoding="utf-8")


def _in_use(file: Path) -> None:
    with duckdb.connect(file) as own:
        own.execute("CREATE TABLE own AS SELECT 1")
    file.with_name(f"{file.name}.wal").write_bytes(b"what is not in it yet")


@pytest.mark.parametrize(
    ("there", "sentence"),
    [
        (_of_another_program, "F.duckdb is there and no DuckDB file; name another, or delete it"),
        (Path.touch, "F.duckdb is there and no DuckDB file; name another, or delete it"),
        (Path.mkdir, "F.duckdb cannot be written: Is a directory; name a file in a folder that takes it"),
        (
            _in_use,
            "F.duckdb is being written to, as F.duckdb.wal says; close what does that, or delete F.duckdb.wal",
        ),
    ],
)
def test_what_must_not_be_replaced_is_refused(
    lake: Path, capsys: pytest.CaptureFixture[str], there: Any, sentence: str
) -> None:
    there(Path("F.duckdb"))
    before = _bytes_below(Path())
    assert _export("--lake", str(lake), "--out", "F.duckdb") == 2
    assert capsys.readouterr() == ("", f"faultline: {sentence}\n")
    assert _bytes_below(Path()) == before


@pytest.mark.parametrize("out", ["nowhere/F.duckdb", "F.csv/F.duckdb", "x" * 300])
def test_a_path_that_cannot_be_written_is_one_sentence(
    lake: Path, capsys: pytest.CaptureFixture[str], out: str
) -> None:
    _of_another_program(Path("F.csv"))
    assert _export("--lake", str(lake), "--out", out) == 2
    said = capsys.readouterr().err
    assert re.fullmatch(r"faultline: .* cannot be written: [^;]+; name a file in a folder that takes it\n", said)
    assert _names(Path()) == ["F.csv"]


def test_a_full_disk_is_one_sentence_and_the_old_file_stays(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with small_disk(tmp_path / "small", "1m") as folder:
        with duckdb.connect(folder / "F.duckdb") as old:
            old.execute("CREATE TABLE own AS SELECT 1")
        before = _bytes_below(folder)
        assert _export("--lake", str(lake), "--out", str(folder / "F.duckdb")) == 2
        assert _bytes_below(folder) == before
        assert _names(folder) == ["F.duckdb"]
    assert re.fullmatch(r"faultline: .*/small/F\.duckdb cannot be written: .*\n", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("makes", "code", "sentence"),
    [
        (lambda _: None, 1, "is not a lake: it holds no run log"),
        (LiteralLake, 3, "no day is published in .*; run faultline nightly first"),
        (lambda lake: publish(lake, D1), 3, f"nothing is published since {D2} in .*; the last day there is {D1}"),
    ],
)
def test_a_lake_without_a_day_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], makes: Any, code: int, sentence: str
) -> None:
    makes(tmp_path / "lake")
    assert _export("--lake", "lake", "--out", "F.duckdb", "--since", f"{D2}") == code
    said = capsys.readouterr().err
    assert re.search(sentence, said)
    assert said.count("\n") == 1
    assert not Path("F.duckdb").exists()


def test_a_table_that_cannot_be_read_leaves_the_old_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    publish(tmp_path / "lake", D1)
    assert _export("--lake", "lake", "--out", "F.duckdb") == 0
    write_rows(tmp_path / "lake", EVENTS, [], version=99)
    before = _bytes_below(Path())
    assert _export("--lake", "lake", "--out", "F.duckdb") == 1
    assert re.search(r"^faultline: table events in .* has version 99, ", capsys.readouterr().err)
    assert _bytes_below(Path()) == before
    assert _names(Path()) == ["F.duckdb", "lake"]


def test_a_file_of_another_store_is_refused_and_a_file_uri_is_a_path(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _export("--lake", str(lake), "--out", "s3a://bucket/F.duckdb") == 2
    sentence = "--out s3a://bucket/F.duckdb is on another store; name a file of this machine, and copy it there"
    assert capsys.readouterr().err == f"faultline: {sentence}\n"
    assert _export("--lake", str(lake), "--out", f"{tmp_path.as_uri()}/F.duckdb") == 0
    assert (tmp_path / "F.duckdb").is_file()


def test_a_file_that_another_program_may_write_to_is_not_replaced(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else what it writes later would be read as a part of the new file."""
    assert _export("--lake", str(lake), "--out", "F.duckdb") == 0
    before = Path("F.duckdb").read_bytes()
    writes = "import duckdb; file = duckdb.connect('F.duckdb'); print('open', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", writes], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "open\n"
        capsys.readouterr()
        assert _export("--lake", str(lake), "--out", "F.duckdb") == 2
        assert capsys.readouterr().err == (
            "faultline: F.duckdb is open for writing in another program; close it there, and open it read_only\n"
        )
        assert Path("F.duckdb").read_bytes() == before
        writer.communicate("\n")
    assert _export("--lake", str(lake), "--out", "F.duckdb") == 0


def test_a_link_and_its_permissions_stay(lake: Path) -> None:
    Path("dashboards").mkdir()
    assert _export("--lake", str(lake), "--out", "dashboards/F.duckdb") == 0
    Path("dashboards/F.duckdb").chmod(0o640)
    Path("F.duckdb").symlink_to("dashboards/F.duckdb")
    old = Path("F.duckdb").stat().st_ino
    assert _export("--lake", str(lake), "--out", "F.duckdb") == 0
    assert Path("F.duckdb").is_symlink()
    assert Path("dashboards/F.duckdb").stat().st_ino != old
    assert stat.S_IMODE(Path("dashboards/F.duckdb").stat().st_mode) == 0o640


def test_what_a_killed_export_left_is_cleared_a_day_later(lake: Path) -> None:
    for name, hours in ((".F.duckdb-old", 25), (".F.duckdb-new", 1), (".other-old", 25)):
        Path(name).mkdir()
        Path(name, "lake.duckdb").touch()
        os.utime(name, (time.time() - hours * 3_600,) * 2)
    assert _export("--lake", str(lake), "--out", "F.duckdb") == 0
    assert _names(Path()) == [".F.duckdb-new", ".other-old", "F.duckdb"]


def test_a_table_that_was_written_and_is_gone_is_not_told_as_empty(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    publish(tmp_path / "lake", D1)
    written = {"event_date": D1, "status": "SUCCEEDED", "table_versions": '{"send_calls": 3}'}
    write_rows(tmp_path / "lake", RUN_LOG, [written])
    for subject, file in (("duckdb", "F.duckdb"), ("metrics", "F.prom")):
        assert cli.main(["export", subject, "--lake", "lake", "--out", file]) == 1
        assert re.fullmatch(
            "faultline: table send_calls is not in .*lake, though a run wrote it; restore it, or publish its days .*\n",
            capsys.readouterr().err,
        )
        assert not Path(file).exists()


def test_who_has_the_old_file_open_keeps_it(tmp_path: Path) -> None:
    publish(tmp_path / "lake", D1)
    assert _export("--lake", "lake", "--out", "F.duckdb") == 0
    asks = """
import duckdb
file = duckdb.connect("F.duckdb", read_only=True)
print(file.sql("SELECT count(*) FROM run_log").fetchall(), flush=True)
input()
print(file.sql("SELECT count(*) FROM run_log WHERE run_id IS NOT NULL").fetchall())
"""
    with subprocess.Popen(
        [sys.executable, "-c", asks], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        assert reader.stdout.readline() == "[(2,)]\n"
        publish(tmp_path / "lake", D2)
        assert _export("--lake", "lake", "--out", "F.duckdb") == 0
        with duckdb.connect("F.duckdb", read_only=True) as new:
            assert new.sql("SELECT count(*) FROM run_log").fetchall() == [(4,)]
        assert reader.communicate("\n")[0] == "[(2,)]\n"


def test_the_log_is_read_before_the_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A night that is published meanwhile is in some tables and not in the log, rather than the other way round."""
    publish(tmp_path / "lake", D1)
    order: list[str] = []

    def opened(root: str, table: Any, options: Any) -> Any:
        order.append(table.name)
        return opened_as_ever(root, table, options)

    monkeypatch.setattr("jobs.serving.duckdb_file.opened", opened)
    assert _export("--lake", "lake", "--out", "F.duckdb") == 0
    assert order[0] == RUN_LOG.name
    assert len(order) == len(TABLES)


@pytest.mark.usefixtures("no_cloud")
def test_a_lake_on_s3_is_read_as_show_reads_it(tmp_path: Path) -> None:
    publish(tmp_path / "the/lake", D1)
    with served(tmp_path) as (spark, _):
        text = "".join(f'"{name}" = "{value}"\n' for name, value in spark.items())
        Path("site.toml").write_text(f"[spark]\n{text}", encoding="utf-8")
        assert _export("--lake", "s3a://bucket/the/lake", "--settings", "site.toml", "--out", "F.duckdb") == 0
    with duckdb.connect("F.duckdb", read_only=True) as file:
        assert file.sql("SELECT count(*) FROM run_log").fetchall() == [(2,)]


def _answer(settings: Settings, day: dt.date) -> Answer:
    run = Run("r", "nightly", (day,), allow_empty=False, cascade=True, clock=dt.datetime.now)
    return Answer(settings, run, Progress())


@pytest.mark.parametrize(("days", "first"), [("", D1), ("export.days=2", D2), ("export.days=1", D3)])
def test_a_night_leaves_the_file_that_settings_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], days: str, first: dt.date
) -> None:
    publish(tmp_path / "lake", D1, D2, D3)
    settings = load_settings([], ["lake=lake", "export.duckdb=F.duckdb", *([days] if days else [])], {})
    export_night(_answer(settings, D1))  # a day that was published late
    with duckdb.connect("F.duckdb", read_only=True) as file:
        assert file.sql("SELECT min(event_date) FROM run_log").fetchall() == [(first,)]
    said = capsys.readouterr()
    assert said.out == ""
    assert re.match(r"wrote .*/F\.duckdb \(", said.err)


def test_without_the_setting_a_night_leaves_none(tmp_path: Path) -> None:
    publish(tmp_path / "lake", D1)
    export_night(_answer(load_settings([], ["lake=lake"], {}), D1))
    assert _names(Path()) == ["lake"]


@pytest.mark.parametrize(
    ("module", "why"),
    [
        (None, r"/nowhere/F\.duckdb cannot be written: No such file or directory; name a file in a folder that takes"),
        ("duckdb", r"export\.duckdb needs packages that are not installed; run: .* -m pip install duckdb"),
    ],
)
def test_a_file_that_cannot_be_made_is_said_as_the_night_is_published(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    module: str | None,
    why: str,
) -> None:
    publish(tmp_path / "lake", D1)
    found = "jobs.spark.environment.find_spec"
    monkeypatch.setattr(found, lambda name: None if name == module else name)
    export_night(_answer(load_settings([], ["lake=lake", "export.duckdb=/nowhere/F.duckdb"], {}), D1))
    said = capsys.readouterr()
    assert said.out == ""
    assert re.fullmatch(
        rf"faultline: published, but not exported: {why}.*; then run faultline export duckdb\n", said.err
    )
