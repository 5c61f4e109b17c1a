"""Input and lake on another store, looked at without Spark: before a run starts, by `check`, `plan` and `doctor`."""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from jobs.check.before import check_before, read_heads
from jobs.check.elsewhere import NotSeenError, can_see, list_elsewhere
from jobs.check.heads import read_head
from jobs.cli import main as cli
from jobs.doctor.examination import examine
from jobs.errors import InputMissingError, InputUnreadableError
from jobs.settings.load import load_settings
from jobs.settings.model import Settings
from jobs.sources.local_files import InputFile
from jobs.spark import session
from jobs.spark.interruption import Interrupted
from tests.given.bucket import CREDENTIALS, S3A, served
from tests.given.lakes import publish
from tests.given.send_logs import line, write
from tests.given.site import D1

pytestmark = pytest.mark.usefixtures("no_cloud")

Store = tuple[dict[str, str], Path]
SILENT = "http://127.0.0.1:1"
MISSING = "does not exist; give a file, a folder or a glob that matches"
FILES = {
    "in/a.jsonl": line(),
    "in/b/c.jsonl.gz": gzip.compress(line()),
    "in/b/.hidden/d.jsonl": b"",
    "in/b/_SUCCESS": b"",
    "in/b/e.jsonl._COPYING_": b"",
    "in/odd/a b%20+#.jsonl": b"{}\n",
}


@pytest.fixture
def bucket(tmp_path: Path) -> Iterator[Store]:
    """Spark's settings of a store with `FILES`, and the file of what it was asked; its files are beside that one."""
    write(tmp_path, FILES)
    with served(tmp_path) as (spark, asked):
        yield spark, asked


def _settings(spark: Mapping[str, str], *sends: str, lake: str = "lake") -> Settings:
    return load_settings([], [], {"lake": lake, "inputs.sends.path": list(sends), "spark": dict(spark)})


def _settings_file(folder: Path, spark: Mapping[str, str]) -> str:
    text = "".join(f'"{name}" = "{value}"\n' for name, value in spark.items())
    (folder / "site.toml").write_text(f"[spark]\n{text}", encoding="utf-8")
    return str(folder / "site.toml")


@pytest.mark.parametrize(
    ("path", "files", "hidden"),
    [
        ("in/a.jsonl", ["a.jsonl"], 0),
        ("in", ["a.jsonl", "b/c.jsonl.gz", "odd/a b%20+#.jsonl"], 3),
        ("in//b/", ["b/c.jsonl.gz"], 3),
        ("in/b/.hidden", [], 0),
        ("in/*", ["a.jsonl", "b/c.jsonl.gz", "odd/a b%20+#.jsonl"], 3),
        ("*/?/*.gz", ["b/c.jsonl.gz"], 0),
        ("in/{a,none}.jsonl", ["a.jsonl"], 0),
        ("in/{b/c,[^x]}.jsonl*", ["a.jsonl", "b/c.jsonl.gz"], 0),
        ("in/b/*", ["b/c.jsonl.gz"], 3),
    ],
)
def test_files_are_listed_as_hadoop_lists_them(bucket: Store, path: str, files: list[str], hidden: int) -> None:
    listing = list_elsewhere(f"s3a://bucket/{path}", bucket[0])
    if path == "in/b/.hidden":  # asked for by its own name
        files = ["b/.hidden/d.jsonl"]
    assert [file.name for file in listing.files] == [f"s3a://bucket/in/{name}" for name in files]
    assert [file.size for file in listing.files] == [len(FILES[f"in/{name}"]) for name in files]
    assert (len(listing.hidden), listing.problems) == (hidden, ())


@pytest.mark.fault(4)
@pytest.mark.parametrize("path", ["bucket/none", "bucket/in/*.txt", "bucket/in/a", "bucket/{x,y}", "none/in"])
def test_a_path_that_is_not_there_is_refused_before_a_run(bucket: Store, path: str) -> None:
    with pytest.raises(InputMissingError, match=f"^input {re.escape(f's3a://{path}')} does not exist[;:] "):
        check_before(_settings(bucket[0], f"s3a://{path}"), ["sends"], [])


def test_other_stores_are_left_to_the_run() -> None:
    paths = ("oss://b/logs", "viewfs://b/logs", "hdfs:/logs", "/logs", "s3a://b/a\\*b")
    assert [can_see(path) for path in (*paths, "hdfs://n:8020/logs")] == [False] * 5 + [True]
    assert check_before(_settings({}, *paths[:3], paths[4]), ["sends"], []) == []


@pytest.mark.fault(5)
@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("in/z.jsonl.gz", b"{}", "is named .gz but is not gzip"),
        ("in/z.jsonl", gzip.compress(b"{}"), "is gzip but its name does not end in .gz"),
        ("in/z.parquet", b"", "is empty, so it is not Parquet"),
        ("in/12:30.jsonl", b"{}", "has a colon in its name"),
    ],
)
def test_a_file_that_cannot_be_read_ends_a_run_before_spark_and_lake(
    bucket: Store,
    name: str,
    content: bytes,
    sentence: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_spark(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(session, "running", no_spark)
    spark, asked = bucket
    write(asked.parent, {name: content})
    words = ["--lake", str(asked.parent / "lake"), "--settings", _settings_file(asked.parent, spark)]
    assert cli.main(["fault-latency", "--sends", "s3a://bucket/in", "--date", "2026-11-21", *words]) == 3
    said = capsys.readouterr().err
    assert f"faultline: s3a://bucket/{name} {sentence}" in said
    assert not (asked.parent / "lake").exists()


def test_what_a_key_may_not_read_is_left_to_the_run(bucket: Store) -> None:
    """The run may assume a role."""
    write(bucket[1].parent, {"in/closed.jsonl": b"{}"})
    assert check_before(_settings(bucket[0], "s3a://bucket/in"), ["sends"], []) == []


def test_an_endpoint_of_the_environment_alone_is_not_asked(bucket: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", bucket[0][f"{S3A}endpoint"])
    with pytest.raises(NotSeenError, match="the environment names an endpoint"):
        list_elsewhere("s3a://none/in", CREDENTIALS)
    assert not bucket[1].exists()


def test_mapped_columns_are_looked_for_when_other_input_cannot_be_seen(tmp_path: Path) -> None:
    write(tmp_path, {"in/a.jsonl": line()})
    values = {
        "lake": "l",
        "inputs.sends.path": [str(tmp_path / "in")],
        "inputs.sends.fields.topic": "no_such_column",
        "inputs.routes.path": ["s3a://bucket/in"],
        "spark": CREDENTIALS | {f"{S3A}endpoint": SILENT},
    }
    (warning,) = check_before(load_settings([], [], values), ["routes", "sends"], [])
    assert warning.startswith("no column no_such_column")


class _Broken(io.BytesIO):
    """A file that opens, and whose store is gone after the first bytes."""

    def seek(self, *_: int) -> int:
        raise OSError("error sending request")


@pytest.mark.parametrize(("name", "error"), [("s3a://bucket/a.parquet", OSError), ("/a.parquet", InputUnreadableError)])
def test_a_footer_that_the_network_loses_is_no_broken_file(name: str, error: type[Exception]) -> None:
    with pytest.raises(error, match="error sending request"):
        read_head(InputFile(name, 12, 0), "parquet", _settings({}).inputs.sends, lambda _: _Broken(b"PAR1" * 3))


class PanicException(BaseException):
    """What a panic in Rust becomes."""


@pytest.mark.parametrize(
    ("raised", "seen"),
    [
        (PanicException("index out of bounds"), NotSeenError),
        (KeyboardInterrupt(), KeyboardInterrupt),
        (SystemExit(), SystemExit),
        (Interrupted(15), Interrupted),
    ],
)
def test_a_panic_is_left_to_the_run_but_no_interruption(
    raised: BaseException, seen: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def handler(*_: object) -> None:
        raise raised

    monkeypatch.setattr("deltalake.fs.DeltaStorageHandler", handler)
    with pytest.raises(seen):
        list_elsewhere("hdfs://n:8020/logs", {})


def test_input_is_looked_for_where_a_run_reads_it(bucket: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not where the environment says, if the settings say otherwise."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", SILENT)
    assert list_elsewhere("s3a://bucket/in/a.jsonl", bucket[0]).problems == ()


def test_a_store_that_refuses_is_left_to_the_run(tmp_path: Path) -> None:
    with served(tmp_path, "<Error><Code>AccessDenied</Code></Error>") as (spark, asked):
        settings = load_settings(
            [],
            [],
            {"lake": "l", "spark": spark}
            | {f"inputs.{kind}.path": ["s3a://bucket/in"] for kind in ("sends", "routes")},
        )
        assert check_before(settings, ["sends", "routes"], []) == []
        assert len(asked.read_text(encoding="utf-8").splitlines()) == 1  # it is not asked for each input
        with pytest.raises(NotSeenError, match="the store answers AccessDenied"):
            list_elsewhere("s3a://bucket/in", spark)


def test_each_file_is_asked_for_once(tmp_path: Path) -> None:
    """The listing has its size: no HEAD before each GET."""
    write(tmp_path, {f"in/{number}.jsonl": line() for number in range(40)})
    with served(tmp_path) as (spark, asked):
        check_before(_settings(spark, "s3a://bucket/in"), ["sends"], [])
        requests = [request.split(" ")[-2:] for request in asked.read_text(encoding="utf-8").splitlines()]
    assert sorted(requests)[-40:] == sorted(["GET", f"/bucket/in/{number}.jsonl"] for number in range(40))
    assert len(requests) <= 40 + 3  # the folder, as a folder, and what is below


def test_check_reads_heads_as_it_does_of_local_files(bucket: Store, capsys: pytest.CaptureFixture[str]) -> None:
    spark, asked = bucket
    heads = read_heads(list_elsewhere("s3a://bucket/in/{a.jsonl,b/c*}", spark).files, _settings(spark))
    assert [len(head.records) for head in heads] == [1, 1]
    words = ["--settings", _settings_file(asked.parent, spark)]
    assert cli.main(["check", "--sends", "s3a://bucket/in/{a.jsonl,b/c*}", "--routes", "s3a://bucket/no", *words]) == 3
    said = capsys.readouterr().out
    assert said.startswith("sends: 2 files, the first lines of 2 of them: 2 lines\n")
    assert f"routes: WRONG: input s3a://bucket/no {MISSING}" in said
    words = ["--settings", _settings_file(asked.parent, spark | {f"{S3A}endpoint": SILENT})]
    assert cli.main(["check", "--sends", "s3a://bucket/in", *words]) == 0
    assert capsys.readouterr().out.startswith(
        "sends: unchecked, as its store cannot be looked at from here: http://127.0.0.1:1 does not answer: Connection"
    )


def test_the_plan_says_what_is_there_and_what_it_could_not_see(
    bucket: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    spark, asked = bucket
    publish(asked.parent / "lake", D1)
    inputs = ("--sends", "s3a://bucket/in", "--routes", "s3a://bucket/no", "--routes", "oss://b/r")
    settings = ("--settings", _settings_file(asked.parent, spark))

    def plan(lake: str) -> list[str]:
        assert cli.main(["plan", "fault-latency", *inputs, "--lake", lake, *settings]) == 0
        said = capsys.readouterr().out.splitlines()
        return [each.strip() for each in said if each.startswith(("  read", "  write", "           WRONG"))]

    assert plan("s3a://bucket/lake") == [
        "read     sends: s3a://bucket/in (3 files, 0.0 MB)",
        "read     routes: s3a://bucket/no (MISSING)",
        "read     routes: oss://b/r (not looked at)",
        f"WRONG: input s3a://bucket/no {MISSING}",
        "write    s3a://bucket/lake (exists)",
    ]
    assert plan("s3a://bucket/other")[-1] == "write    s3a://bucket/other (would be made)"
    _settings_file(asked.parent, spark | {f"{S3A}endpoint": SILENT})
    sends, *others = plan("s3a://bucket/lake")
    assert sends.startswith("read     sends: s3a://bucket/in (not looked at: http://127.0.0.1:1 does not answer")
    assert others == [
        "read     routes: s3a://bucket/no (not looked at either)",
        "read     routes: oss://b/r (not looked at)",
        "write    s3a://bucket/lake (not looked at either)",
    ]


def test_the_doctor_claims_nothing_of_a_lake_that_it_could_not_see(
    bucket: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spark, asked = bucket
    publish(asked.parent / "lake", D1)

    def checks(lake: str) -> list[tuple[bool | None, str]]:
        found = examine(_settings(spark, lake=lake), {})
        return [(check.is_ok, check.found) for check in found if check.name in ("lake", "run_log")]

    assert checks("s3a://bucket/lake")[0] == (True, "s3a://bucket/lake holds a run log")
    assert checks("s3a://bucket/new")[0] == (True, "s3a://bucket/new would be made by the first run")
    assert checks("s3a://no/lake") == [(False, "cannot open lake s3a://no/lake: the store answers NoSuchBucket")]
    monkeypatch.setenv("AWS_ENDPOINT_URL", SILENT)
    ((is_ok, found),) = checks("s3a://bucket/lake")
    assert (is_ok, found.partition(" does not answer")[0]) == (
        None, "cannot open lake s3a://bucket/lake: http://127.0.0.1:1",
    )  # fmt: skip
    words = ["--lake", "s3a://bucket/lake", "--settings", _settings_file(asked.parent, spark)]
    assert cli.main(["doctor", *words]) == 0
    assert "?      lake " in capsys.readouterr().out
