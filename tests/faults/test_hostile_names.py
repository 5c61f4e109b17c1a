"""Names that would like to be SQL, a path, a line of a log or a command of the terminal."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.answers.digest import digests
from jobs.answers.digest_text import nights_text
from jobs.cli import main as cli
from jobs.errors import InputUnreadableError, UsageError
from jobs.runs.facts import facts_text
from jobs.runs.run import RunResult
from jobs.sources.files import list_files
from tests.given.quiet_answers import FACTS
from tests.given.send_logs import fates, line, stage, write
from tests.given.site import D1, Site, at, send

SQL = [
    "x'; DROP TABLE sends; --",
    '`"',
    "a' OR '1'='1",
    "x\\",
    "\\' OR 1=1 --",
    "\uff53\uff07elect",
    "${env:HOME}",
    "{x}%s$1",
    ":name ?",
]
PATHS = ["../../outside", "..", "/etc", "file:///tmp/x", "a/../../b", "%2e%2e%2f", "C:\\x", "a=b/c=d", "_staging"]
TERMINAL = "\x1b]0;owned\x07\x1b[2J\nfaultline: all is well\u202e"


BIDI = "[red]b\u202e\u2028roker\u0085"
NAMES = [*SQL, *PATHS, BIDI]
CLUSTER = f"../../${{env:HOME}}x'; DROP TABLE sends; --\\~{'c' * 10_000}"


@pytest.fixture(scope="module")
def hostile(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Site, RunResult]:
    """Each name is a producer, group, process, topic, key and broker, which fails; so is that of the cluster."""
    site = Site(spark, tmp_path_factory.mktemp("around") / "site")
    site.log(
        send(at(D1, "12:00:03"), 3_000, "RemotingTimeoutException", client_id=name, producer_group=name, topic=name,
             broker_name=name, process_id=name, order_key=name, cluster=CLUSTER)
        for name in NAMES
    )  # fmt: skip
    return site, site.run(D1)


@pytest.mark.fault(37)
def test_names_are_values(hostile: tuple[Site, RunResult]) -> None:
    site, _ = hostile
    for table in ("sends", "isolation_intervals"):
        rows = site.rows(table, "broker_name", "cluster")
        assert sorted(row["broker_name"] for row in rows) == sorted(NAMES)
        assert {row["cluster"] for row in rows} == {CLUSTER}


@pytest.mark.fault(38)
def test_no_name_becomes_a_path(hostile: tuple[Site, RunResult]) -> None:
    site, _ = hostile
    assert [path.name for path in site.folder.parent.iterdir()] == ["site"]
    assert {path.name for path in site.folder.iterdir()} == {"sends", "lake"}
    folders = {path.name for path in site.lake.glob("*/*") if path.is_dir()}
    assert {name for name in folders if not name.startswith("_")} == {"event_date=2026-03-01"}


@pytest.mark.fault(38)
def test_a_link_in_the_input_is_followed(spark: SparkSession, tmp_path: Path) -> None:
    elsewhere = write(tmp_path / "elsewhere", {"b.jsonl": line(seq=2)})
    folder = write(tmp_path / "logs", {"a.jsonl": line(seq=1)})
    (folder / "linked").symlink_to(elsewhere)
    staged = stage(spark, folder)
    assert fates(staged) == {"PUBLISHED": 2}
    assert [file.name.removeprefix(f"{folder}/") for file in staged.inputs[0].manifest.files] == [
        "a.jsonl",
        "linked/b.jsonl",
    ]


@pytest.mark.fault(37)
@pytest.mark.parametrize("name", ["x;--", "x`y", "x\ny", "s\u0435nds", "x.y", "'", "x y"])
def test_a_database_name_is_letters(name: str) -> None:
    from jobs.serving.database import checked_database

    with pytest.raises(UsageError, match="is not a name; use letters, digits and _"):
        checked_database(name)


@pytest.mark.fault(41)
@pytest.mark.parametrize(
    "arguments",
    [
        ["nightly", "--lake", "x", "--settings", TERMINAL],
        ["nightly", "--lake", "x", "--date", TERMINAL],
        ["nightly", "--lake", "x", "--set", f"{TERMINAL}=1"],
        ["show", "events", "--lake", TERMINAL],
        ["plan", "nightly", "--lake", TERMINAL, "--sends", TERMINAL, "--date", f"{D1}"],
        ["plan", "nightly", "--lake", "x", "--set", f"cluster={TERMINAL}", "--date", f"{D1}"],
    ],
)
def test_what_is_said_is_one_line_that_a_terminal_only_shows(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    cli.main(arguments)
    captured = capsys.readouterr()
    said = captured.out + captured.err
    assert "\\x1b]0;owned" in said  # the name is there, shown
    assert all(char.isprintable() for char in said.replace("\n", ""))
    assert "\nfaultline: all is well" not in said


@pytest.mark.fault(6, 41)
def test_a_file_that_forges_a_line_is_shown_escaped(spark: SparkSession, tmp_path: Path) -> None:
    for name, told in ((TERMINAL.replace(":", ""), "not gzip"), (TERMINAL, "has a colon in its name")):
        folder = write(tmp_path / told, {f"{name}.jsonl.gz": b"no gzip"})
        with pytest.raises(InputUnreadableError, match=told) as caught:
            list_files(spark, [str(folder)])
        assert not re.search("[\x00-\x1f\u202e]", str(caught.value))


@pytest.mark.fault(37, 41)
def test_the_digest_shows_names_escaped(hostile: tuple[Site, RunResult]) -> None:
    site, result = hostile
    nights = digests(str(site.lake), result.clusters, [D1], owners={"*": TERMINAL})
    (first,) = nights
    assert first.cluster == CLUSTER
    long = "x" * 10_000
    assert {broker["broker_name"] for broker in first.brokers} == set(NAMES)
    brokers = [first.brokers[0] | {"broker_name": long}, *first.brokers]
    shown = dataclasses.replace(first, brokers=brokers, missing_producers=[BIDI])
    text = nights_text([shown, *nights])
    assert re.search("^  x+…x+  ", text, re.MULTILINE)
    assert long not in text
    assert "that sent nothing: [red]b\\u202e\\u2028roker\\x85" in text
    assert all(char.isprintable() for char in text.replace("\n", ""))


@pytest.mark.fault(41)
def test_a_file_that_was_left_out_is_shown_escaped() -> None:
    text = facts_text(dataclasses.replace(FACTS, hidden_files=[BIDI]))
    assert "1 hidden or half-copied files were not read: [red]b\\u202e\\u2028roker\\x85" in text
    assert all(char.isprintable() for char in text.replace("\n", ""))
