"""The lake and the input lie apart: a run, its plan and the doctor refuse what would mix them, before Spark starts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jobs.cli import main as cli
from jobs.errors import SettingValueError
from jobs.settings.load import load_settings
from jobs.sources.lake_apart import check_apart

WHY = "what is read and what is written must not mix; give the lake another folder"


def _check(lake: str, **inputs: str) -> None:
    check_apart(load_settings([], [], {"lake": lake, **{f"inputs.{kind}.path": path for kind, path in inputs.items()}}))


@pytest.mark.fault(38)
@pytest.mark.parametrize(
    ("lake", "sends", "which"),
    [
        ("data/lake", "data", "lake in input"),
        ("data/lake", "data/", "lake in input"),
        ("data/lake", "data/../data/./", "lake in input"),
        ("data/lake", "linked", "lake in input"),
        ("linked/lake", "data", "lake in input"),
        ("data/not/yet/there", "data", "lake in input"),
        ("data/lake", "data/*", "lake in input"),
        ("data/lake/deep", "{other,data/l*}", "lake in input"),
        ("data/lake", "/", "lake in input"),
        ("data", "data", "input in lake"),
        ("data", "data/sends", "input in lake"),
        ("data", "data/sends/*.jsonl", "input in lake"),
        ("data", "linked/sends", "input in lake"),
        ("file:data", "data/sends", "input in lake"),
        ("s3a://bucket/data/lake", "s3a://bucket/data/", "lake in input"),
        ("s3a://bucket/data", "s3a://bucket/data/sends/*.gz", "input in lake"),
    ],
)
def test_one_in_the_other_is_refused(tmp_path: Path, lake: str, sends: str, which: str) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "linked").symlink_to("data")

    def at(path: str) -> str:
        if path.startswith(("s3a:", "/")):
            return path
        return f"file:{tmp_path}/{path[5:]}" if path.startswith("file:") else f"{tmp_path}/{path}"

    def shown(path: str) -> str:
        return os.path.normpath(at(path)) if at(path).startswith("/") else at(path)

    sentence = {
        "lake in input": f"the lake {shown(lake)} lies in the input sends {shown(sends)}: {WHY}",
        "input in lake": f"the input sends {shown(sends)} lies in the lake {shown(lake)}: {WHY}",
    }
    with pytest.raises(SettingValueError) as caught:
        _check(at(lake), sends=at(sends))
    assert (str(caught.value), caught.value.exit_code) == (sentence[which], 2)
    with pytest.raises(SettingValueError, match="the input client_logs "):
        _check(at(lake), sends=f"{tmp_path}/apart", client_logs=at(sends))


@pytest.mark.parametrize(
    ("lake", "sends"),
    [
        ("/data/lake", "/data/lake2"),
        ("/data/lake2", "/data/lake"),
        ("/data/lake", "/data/sends"),
        ("/data/lake", "/data/*.jsonl"),
        ("/data/lake", "/data/[!l]*"),
        ("/data/lake", "s3a://bucket/data"),
        ("s3a://bucket/data/lake", "/data"),
        ("s3a://bucket/lake", "s3a://bucket/lakes"),
    ],
)
def test_neighbours_are_fine(lake: str, sends: str) -> None:
    _check(lake, sends=sends)


@pytest.mark.fault(38)
@pytest.mark.parametrize("command", [["nightly"], ["plan", "nightly"], ["allocation"]])
def test_a_command_refuses_it_before_anything_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    where = ["--sends", f"{tmp_path}/data", "--lake", f"{tmp_path}/data/lake", "--date", "2026-11-21"]
    assert cli.main([*command, *where]) == 2
    said = capsys.readouterr().err
    assert said == f"faultline: the lake {tmp_path}/data/lake lies in the input sends {tmp_path}/data: {WHY}\n"
    assert list((tmp_path / "data").iterdir()) == []
