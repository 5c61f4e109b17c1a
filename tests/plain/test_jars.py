"""Fetching the locked jars with Spark's own Ivy, from a repository that is a folder of the test: no network."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.errors import PlatformError
from jobs.spark.delta_jars import Jar, cached, jar_folder, locked_jars

ROOT = Path(__file__).parents[2]
CONTENT = {"alpha": b"alpha's classes", "beta": b"beta's classes"}
JARS = tuple(Jar("org.example", name, "1.0", hashlib.sha256(held).hexdigest()) for name, held in CONTENT.items())
SETTINGS = """
<ivysettings>
  <settings defaultResolver="folder"/>
  <resolvers>
    <filesystem name="folder" m2compatible="true">
      <ivy pattern="{folder}/[organisation]/[module]/[revision]/[artifact]-[revision].pom"/>
      <artifact pattern="{folder}/[organisation]/[module]/[revision]/[artifact]-[revision].[ext]"/>
    </filesystem>
  </resolvers>
</ivysettings>
"""
POM = """
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.example</groupId><artifactId>{name}</artifactId><version>1.0</version>
  <dependencies>
    <dependency><groupId>org.example</groupId><artifactId>dragged-in</artifactId><version>9</version></dependency>
  </dependencies>
</project>
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Maven repository with both jars; each also depends on one that is nowhere."""
    folder = tmp_path / "repository"
    for name, held in CONTENT.items():
        place = folder / "org/example" / name / "1.0"
        place.mkdir(parents=True)
        (place / f"{name}-1.0.jar").write_bytes(held)
        (place / f"{name}-1.0.pom").write_text(POM.format(name=name))
    settings = tmp_path / "mirror.xml"
    settings.write_text(SETTINGS.format(folder=folder))
    monkeypatch.setenv("FAULTLINE_IVY_SETTINGS", str(settings))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "a cache (of mine) [1]"


def held_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != ".lock"}


WHOLE = {"alpha-1.0.jar": CONTENT["alpha"], "beta-1.0.jar": CONTENT["beta"]}


@pytest.mark.usefixtures("repository")
def test_an_empty_cache_is_filled_with_the_locked_jars_and_nothing_else(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cached(JARS, folder) == (folder / "alpha-1.0.jar", folder / "beta-1.0.jar")
    assert held_in(folder) == WHOLE
    assert capsys.readouterr().err == "fetching Delta 1.0 jars (once) …\n"


def test_a_full_cache_asks_no_repository_and_is_not_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAULTLINE_IVY_SETTINGS", "/nowhere")
    folder.mkdir()
    for name, content in WHOLE.items():
        (folder / name).write_bytes(content)
    cached(JARS, folder)
    assert sorted(path.name for path in folder.iterdir()) == sorted(WHOLE)
    assert capsys.readouterr().err == ""


@pytest.mark.fault(46)
@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize("left", [b"tampered with", b"", CONTENT["alpha"][:5]], ids=["tampered", "empty", "cut short"])
def test_a_cached_file_that_is_not_the_locked_one_is_replaced_and_named(
    folder: Path, left: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.mkdir()
    (folder / "alpha-1.0.jar").write_bytes(left)
    (folder / "beta-1.0.jar").write_bytes(CONTENT["beta"])
    cached(JARS, folder)
    assert held_in(folder) == WHOLE
    replaced, fetching = capsys.readouterr().err.splitlines()
    assert replaced == (
        f"{folder}/alpha-1.0.jar is not the file that conf/jars.toml names, corrupt or changed; it is replaced"
    )
    assert fetching == "fetching Delta 1.0 jars (once) …"


@pytest.mark.fault(46)
def test_a_repository_that_serves_something_else_is_refused(repository: Path, folder: Path) -> None:
    (repository / "org/example/beta/1.0/beta-1.0.jar").write_bytes(b"evil classes")
    with pytest.raises(PlatformError, match=r"org.example:beta:1.0 came with another sha256 than conf/jars.toml names"):
        cached(JARS, folder)
    assert "beta-1.0.jar" not in held_in(folder)


@pytest.mark.fault(34)
def test_a_jar_that_no_repository_has_is_named_with_the_ways_out(repository: Path, folder: Path) -> None:
    (repository / "org/example/beta/1.0/beta-1.0.jar").unlink()
    (repository / "org/example/beta/1.0/beta-1.0.pom").unlink()
    with pytest.raises(PlatformError) as refused:
        cached(JARS, folder)
    said = str(refused.value)
    assert said.startswith(
        "cannot fetch org.example:alpha:1.0, org.example:beta:1.0 (module not found: org.example#beta;1.0)"
    )
    assert "FAULTLINE_IVY_SETTINGS" in said
    assert f"put alpha-1.0.jar and beta-1.0.jar into {folder}" in said
    assert "\n" not in said
    assert held_in(folder) == {}


def test_ivy_settings_that_do_not_exist_are_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULTLINE_IVY_SETTINGS", "/nowhere/mirror.xml")
    with pytest.raises(PlatformError, match=r"FAULTLINE_IVY_SETTINGS names /nowhere/mirror\.xml, which is not a file"):
        cached(JARS, folder)


def test_a_cache_folder_that_cannot_be_made_is_named_with_the_fix(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(PlatformError, match=r"cannot keep the Delta jars in .*file/jars: .*FAULTLINE_CACHE"):
        cached(JARS, tmp_path / "file" / "jars")


@pytest.mark.usefixtures("repository")
def test_three_at_once_fetch_once(folder: Path) -> None:
    imported = "from jobs.spark.delta_jars import Jar, cached; from pathlib import Path"
    code = f"{imported}; cached({JARS!r}, Path({str(folder)!r}))"
    started = [
        subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stderr=subprocess.PIPE, text=True) for _ in range(3)
    ]
    said = [process.communicate(timeout=60)[1] for process in started]
    assert [process.returncode for process in started] == [0, 0, 0], said
    assert sum(line.count("fetching") for line in said) == 1
    assert held_in(folder) == WHOLE


def test_the_folder_is_the_named_one_then_the_checkouts_then_the_users() -> None:
    assert jar_folder({"FAULTLINE_CACHE": "/c", "FAULTLINE_HOME": "/h"}) == Path("/c")
    assert jar_folder({"FAULTLINE_HOME": "/h"}) == Path("/h/.faultline/jars")
    assert jar_folder({}) == Path.home() / ".cache/faultline/jars"


def test_the_lock_names_deltas_own_two_jars() -> None:
    assert [jar.file_name for jar in locked_jars()] == ["delta-spark_4.2_2.13-4.4.0.jar", "delta-storage-4.4.0.jar"]
    assert all(len(jar.sha256) == 64 for jar in locked_jars())
