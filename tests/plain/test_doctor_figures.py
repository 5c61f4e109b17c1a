"""What the doctor measures and how it puts it: each limit from both sides, and where each figure comes from."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from jobs.doctor import examination, machine, software
from jobs.doctor.check import Check, checked
from jobs.doctor.examination import as_json, as_text, is_fit
from jobs.doctor.folders import LITTLE_BYTES, TOO_LITTLE_BYTES, room, temporary, writable
from jobs.doctor.inputs import inputs
from jobs.doctor.machine import locale, memory, time_zone
from jobs.errors import LakeError
from jobs.settings.load import load_settings
from jobs.spark.delta_jars import Jar

GIB = 1_073_741_824


def test_room_is_said_in_gib_and_has_two_limits() -> None:
    assert (LITTLE_BYTES, TOO_LITTLE_BYTES) == (2_147_483_648, 209_715_200)
    assert room("lake", Path("/l"), 3 * GIB // 2).found == "/l can be written, 1.5 GiB free"


def test_room_is_what_is_free_not_what_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(total=99 * GIB, used=98 * GIB, free=GIB))
    check = writable("lake", tmp_path, "")
    assert (check.verdict, check.found) == ("warning", f"{tmp_path} can be written, 1.0 GiB free")


def test_of_several_temporary_folders_java_takes_the_last_and_the_command_line_s(tmp_path: Path) -> None:
    first, second, third = (str(tmp_path / name) for name in "abc")
    for name in "abc":
        (tmp_path / name).mkdir()
    twice = {"spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={first} -Djava.io.tmpdir={second}"}
    by_environment = {"JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={third}"}
    assert [check.found.partition(" ")[0] for check in temporary(twice, by_environment)] == [second, second]
    assert [check.found.partition(" ")[0] for check in temporary({}, by_environment)] == [third, third]
    checks = list(temporary({"spark.local.dir": f"{first},{second},{first}"}, by_environment))
    assert [check.found.partition(" ")[0] for check in checks] == [first, second, third]


def test_a_temporary_folder_that_is_not_there_yet_is_tried_above(tmp_path: Path) -> None:
    *_, check = temporary({"spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={tmp_path}/not/yet"}, {})
    assert (check.name, check.found.partition(" ")[0]) == ("java.io.tmpdir", str(tmp_path))


@pytest.mark.parametrize(
    ("asked", "there", "verdict"),
    [("4g", 5 * GIB, "ok"), ("4097m", 5 * GIB, "warning"), ("5g", 5 * GIB, "warning"), ("5121m", 5 * GIB, "wrong")],
)
def test_the_driver_may_take_four_fifths_of_the_memory(asked: str, there: int, verdict: str) -> None:
    check = memory(asked, there)
    assert (check.verdict, check.found.partition(":")[0]) == (verdict, f"spark.driver.memory {asked} of 5.0 GiB")
    assert ('at most "4g"' in check.fix) == (verdict != "ok")


def test_a_machine_with_little_memory_is_not_told_to_give_none() -> None:
    assert memory("2g", GIB).fix == 'set spark.driver.memory to at most "1g"'


@pytest.mark.parametrize(
    ("size", "there", "verdict"),
    [
        ("1t", 1025 * GIB, "warning"), ("1t", 1023 * GIB, "wrong"), ("1048576k", GIB, "warning"),
        ("1048577kb", GIB, "wrong"), ("1073741824b", GIB, "warning"), ("1073741825b", GIB, "wrong"),
        ("1024", GIB, "warning"), ("1025", GIB, "wrong"),
    ],
)  # fmt: skip
def test_each_unit_of_a_size(size: str, there: int, verdict: str) -> None:
    assert memory(size, there).verdict == verdict


@pytest.mark.parametrize(
    ("limits", "there"),
    [
        ([], 8 * GIB),
        (["max\n"], 8 * GIB),
        ([f"{2 * GIB}\n"], 2 * GIB),
        (["max\n", f"{3 * GIB}\n"], 3 * GIB),
        (["9223372036854771712\n"], 8 * GIB),  # none, as the first version of cgroups writes it
    ],
)
def test_a_container_has_what_it_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limits: list[str], there: int
) -> None:
    files = [tmp_path / f"limit-{number}" for number in range(2)]
    for file, limit in zip(files, limits, strict=False):
        file.write_text(limit)
    monkeypatch.setattr(machine, "_CONTAINER_LIMITS", tuple(map(str, files)))
    sizes = {"SC_PHYS_PAGES": 2 * 1024 * 1024, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(os, "sysconf", sizes.__getitem__)
    assert machine._memory_bytes() == there


@pytest.mark.parametrize(
    ("environ", "name"),
    [
        ({"LC_CTYPE": "C.UTF-8", "LANG": "C"}, "C.UTF-8"),
        ({"LC_ALL": "de_DE.utf8", "LC_CTYPE": "C", "LANG": "C"}, "de_DE.utf8"),
        ({"LC_CTYPE": "C", "LANG": "C.UTF-8"}, "C"),
    ],
)
def test_the_locale_is_the_first_that_is_set(environ: dict[str, str], name: str) -> None:
    assert locale(environ).found.partition("; ")[0].partition(" ")[0] == name


def test_of_two_time_zones_java_takes_the_last() -> None:
    options = "-Duser.timezone=UTC -Duser.timezone=Asia/Tokyo"
    assert "Java's Asia/Tokyo;" in time_zone({"JAVA_TOOL_OPTIONS": options}).found
    assert "TZ not set, Java's the same;" in time_zone({}).found


WARNED = Check("a", "warning", "half", "mend it")


def test_only_what_is_wrong_makes_a_machine_unfit() -> None:
    assert is_fit([Check("a", "ok", ""), WARNED])
    assert not is_fit([WARNED, Check("b", "wrong", ""), Check("c", "ok", "")])
    assert json.loads(as_json([WARNED])) == {
        "fit": True, "checks": [{"name": "a", "verdict": "warning", "found": "half", "fix": "mend it"}],
    }  # fmt: skip


def test_each_verdict_has_its_colour_and_its_count() -> None:
    text = as_text([Check("a", "ok", "x"), WARNED, Check("b", "wrong", "y"), Check("c", "ok", "z")], colour=True)
    for colour, verdict in (("32", "ok     "), ("33", "warning"), ("31", "wrong  ")):
        assert f"\x1b[{colour}m{verdict}\x1b[0m" in text
    assert text.splitlines()[-1] == "2 ok, 1 warning, 1 wrong"
    assert as_text([WARNED], colour=False).splitlines()[-1] == "1 warning"


def test_the_site_s_own_settings_of_spark_are_looked_at() -> None:
    settings = load_settings([], ["spark.local.dir=/proc", "spark.driver.memory=900t"], {})
    checks = {check.name: check for check in examination._surroundings(settings)}
    assert checks["spark.local.dir"].found.startswith("/proc cannot be written")
    assert checks["memory"].found.startswith("spark.driver.memory 900t of ")


def test_without_spark_the_rest_is_still_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jobs.spark.session", None)
    checks = list(examination._surroundings(load_settings([], [], {})))
    assert [(check.name, check.verdict) for check in checks] == [("machine", "warning"), ("input", "warning")]
    assert checks[0].found.startswith("not looked into, as Spark cannot be imported: ")


class Session:
    """A session that counts to what it is given, or fails."""

    version = "4.2.0"

    def __init__(self, counts: int | Exception) -> None:
        self._counts, self.done = counts, list[str]()

    def range(self, _: int) -> Session:
        return self

    def count(self) -> int:
        if isinstance(self._counts, Exception):
            raise self._counts
        return self._counts

    def stop(self) -> None:
        self.done.append("stopped")


@pytest.mark.parametrize(
    ("counts", "check"),
    [
        (2, Check("session", "ok", "Spark 4.2.0 counts to 2, Delta is loaded")),
        (1, Check("session", "ok", "Spark 4.2.0 counts to 1, Delta is loaded")),
        (LakeError("it does not count; start it again; or not"), Check(
            "session", "wrong", "it does not count", "start it again; or not")),
    ],
)  # fmt: skip
def test_a_session_is_asked_something_and_stopped(
    monkeypatch: pytest.MonkeyPatch, counts: int | Exception, check: Check
) -> None:
    session = Session(counts)
    monkeypatch.setattr("jobs.spark.session.open_session", lambda _: session)
    monkeypatch.setattr(examination, "give_back", lambda: session.done.append("given back"))
    assert examination._session(load_settings([], [], {})) == check
    assert session.done == ["given back", "stopped"]


def test_an_error_without_a_fix_is_all_found() -> None:
    def fails() -> str:
        raise LakeError("gone")

    assert checked("lake", fails) == Check("lake", "wrong", "gone", "")


def test_of_many_things_that_are_no_files_twenty_are_named(tmp_path: Path) -> None:
    for number in range(25):
        (tmp_path / f"{number}.jsonl").symlink_to("nowhere")
    checks = list(inputs(load_settings([], [], {"inputs.sends.path": str(tmp_path)})))
    assert [check.verdict for check in checks] == ["wrong"] * 20


def test_what_is_wrong_with_an_input_keeps_all_but_the_fix(tmp_path: Path) -> None:
    (tmp_path / "a; b.jsonl").symlink_to("nowhere")
    (check,) = inputs(load_settings([], [], {"inputs.sends.path": str(tmp_path)}))
    assert check.found == f"{tmp_path}/a; b.jsonl is a link to nowhere, which does not exist"
    assert check.fix == "remove it or mend it"


def test_a_link_into_the_lake_is_no_input(tmp_path: Path) -> None:
    for folder in ("lake", "sends"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.jsonl").touch()
    (tmp_path / "sends/link").symlink_to("../lake")
    given = {"inputs.sends.path": f"{tmp_path}/sends", "lake": f"{tmp_path}/lake"}
    checks = list(inputs(load_settings([], [], given)))
    assert [check.verdict for check in checks] == ["wrong", "ok"]
    assert checks[1].found == f"{tmp_path}/sends: 1 files, 0.0 MB"


def test_a_plain_path_is_of_the_store_that_the_settings_name() -> None:
    given = {"inputs.sends.path": "/logs"}
    (check,) = inputs(load_settings([], ["spark.hadoop.fs.defaultFS=hdfs://namenode:8020"], given))
    assert (check.verdict, check.found) == ("ok", "/logs: another store, not looked into")


@pytest.mark.parametrize("missing", ["deltalake", "jinja2", "plotly"])
def test_each_package_of_the_extra_is_looked_for(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.setattr(software, "environment_checks", dict)
    monkeypatch.setattr(software, "find_spec", lambda name: None if name == missing else name)
    (check,) = software.software()
    assert (check.verdict, check.found) == ("warning", f"not installed: {missing}")
    assert check.fix.endswith("-m pip install 'faultline[report]'")


def test_a_jar_that_cannot_be_read_is_wrong(tmp_path: Path) -> None:
    jar = Jar("g", "thing", "1.0", "0")
    (tmp_path / jar.file_name).mkdir()
    (check,) = software.jars([jar], tmp_path)
    assert (check.verdict, check.found) == ("wrong", f"{tmp_path}/thing-1.0.jar cannot be read: Is a directory")
    assert "FAULTLINE_CACHE" in check.fix
