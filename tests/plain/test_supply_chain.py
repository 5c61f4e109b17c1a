"""Locks, hashes and licences: each thing that could go wrong is done to a lock, and named."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

from jobs.spark.delta_jars import locked_jars
from tests.given.scripts import script

pytestmark = pytest.mark.fault(46)

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCK = (ROOT / "requirements-dev.lock").read_text()


locks, licences, sbom = script("locks"), script("licences"), script("sbom")


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """The list of what a run uses, as `make sbom` writes it; the library holds it to CycloneDX's own schema."""
    with pytest.MonkeyPatch.context() as set_up:
        set_up.chdir(ROOT)
        set_up.setenv("SOURCE_DATE_EPOCH", "1795968536")
        first, again = (str(sbom.listed(PROJECT)) for _ in range(2))
    assert first == again
    found: dict[str, Any] = json.loads(first)
    return found


def test_the_list_of_what_a_run_uses_has_each_pin_and_jar_with_hash_and_licence(told: dict[str, Any]) -> None:
    assert (told["bomFormat"], told["metadata"]["component"]["version"]) == ("CycloneDX", PROJECT["version"])
    assert told["metadata"]["timestamp"] == "2026-11-29T16:08:56+00:00"
    components = {each["purl"]: each for each in told["components"] if not each["bom-ref"].startswith("pyspark/")}
    pins = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["report"]]
    assert {f"pkg:pypi/{pin.replace('==', '@')}" for pin in pins} < components.keys()
    assert not [purl for purl in components if "hatchling" in purl or "pathspec" in purl]  # they build the wheel
    for jar in locked_jars():
        one = components[f"pkg:maven/{jar.group}/{jar.name}@{jar.version}"]
        assert one["hashes"] == [{"alg": "SHA-256", "content": jar.sha256}]
        assert one["licenses"] == [{"license": {"id": "Apache-2.0"}}]
    assert components["pkg:npm/plotly.js@4.1.1"]["licenses"] == [{"license": {"id": "MIT"}}]
    assert not [purl for purl, each in components.items() if not each["licenses"]]


def test_each_hash_in_the_list_is_that_of_one_file(told: dict[str, Any]) -> None:
    for each in told["components"]:
        files = [each] if "hashes" in each else each["externalReferences"]
        assert [len(file["hashes"]) for file in files] == [1] * len(files)
    (click,) = (each for each in told["components"] if each["name"] == "click")
    listed = {file["url"]: file["hashes"][0]["content"] for file in click["externalReferences"]}
    locked = re.findall("sha256:([0-9a-f]{64})", entry("click"))
    assert listed == {f"pkg:pypi/click@8.5.1?checksum=sha256:{each}": each for each in locked}


def test_the_list_says_what_needs_what(told: dict[str, Any]) -> None:
    needs = {each["ref"]: set(each.get("dependsOn", ())) for each in told["dependencies"]}
    pins = {*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["report"]}
    jars = {f"pkg:maven/{jar.group}/{jar.name}@{jar.version}" for jar in locked_jars()}
    assert needs["faultline"] == jars | {f"pkg:pypi/{pin.replace('==', '@')}" for pin in pins}
    in_spark = {each["bom-ref"] for each in told["components"] if each["bom-ref"].startswith("pyspark/")}
    assert needs["pkg:pypi/pyspark@4.2.0"] == in_spark | {"pkg:pypi/py4j@0.10.9.9"}
    assert needs["pkg:pypi/delta-spark@4.4.0"] == {"pkg:pypi/pyspark@4.2.0", "pkg:pypi/importlib-metadata@8.7.1"}
    assert "pkg:npm/plotly.js@4.1.1" in needs["pkg:pypi/plotly@7.1.0"]
    assert needs["pkg:pypi/click@8.5.1"] == set()


@pytest.mark.parametrize(
    ("file", "name", "version", "purl"),
    [
        ("guava-33.6.0-jre", "guava", "33.6.0-jre", "pkg:maven/com.google.guava/guava@33.6.0-jre"),
        ("log4j-1.2-api-2.25.4", "log4j-1.2-api", "2.25.4", "pkg:maven/org.apache.logging.log4j/log4j-1.2-api@2.25.4"),
        (
            "orc-core-2.3.0-shaded-protobuf",
            "orc-core",
            "2.3.0-shaded-protobuf",
            "pkg:maven/org.apache.orc/orc-core@2.3.0",
        ),
        ("spark-core_2.13-4.2.0", "spark-core_2.13", "4.2.0", "pkg:maven/org.apache.spark/spark-core_2.13@4.2.0"),
        ("zstd-jni-1.5.7-7", "zstd-jni", "1.5.7-7", None),  # built by sbt: no pom.properties
    ],
)
def test_the_list_has_the_jars_inside_pyspark(
    file: str, name: str, version: str, purl: str | None, told: dict[str, Any]
) -> None:
    (one,) = (each for each in told["components"] if each["bom-ref"] == f"pyspark/jars/{file}.jar")
    assert (one["name"], one["version"], one.get("purl")) == (name, version, purl)


def problems(lock: str, project: dict[str, Any] = PROJECT) -> list[str]:
    return list(locks.problems(lock, project, ("dev",)))


def entry(name: str) -> str:
    """The lines of one package in the lock."""
    start = LOCK.index(f"\n{name}==") + 1
    end = next(at for at in range(start + 1, len(LOCK)) if LOCK[at - 1] == "\n" and LOCK[at] not in " #\n")
    return LOCK[start:end]


def test_the_locks_and_licences_of_this_checkout_are_right() -> None:
    for command in (["bin/locks.py"], ["bin/licences.py", "--check"]):
        done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_a_pin_that_was_raised_without_the_lock_is_named() -> None:
    pins = [pin.replace("pyarrow==26.0.1", "pyarrow==26.0.2") for pin in PROJECT["dependencies"]]
    assert problems(LOCK, PROJECT | {"dependencies": pins}) == [
        "pyarrow is locked at 26.0.1, but pyarrow==26.0.2 is asked"
    ]


def test_a_pin_that_was_added_without_the_lock_is_named() -> None:
    pins = [*PROJECT["dependencies"], "pip"]
    assert problems(LOCK, PROJECT | {"dependencies": pins}) == ["pip is not locked"]


@pytest.mark.parametrize(("name", "asked"), [("ruff", "ruff==0.17.5"), ("py4j", "py4j<0.10.9.10,>=0.10.9.7")])
def test_a_package_that_is_missing_is_named(name: str, asked: str) -> None:
    """A direct one, and one that another needs."""
    assert problems(LOCK.replace(entry(name), "")) == [f"{asked} is not locked"]


def test_a_package_that_nobody_needs_is_named() -> None:
    stray = f"stray==1.0 \\\n    --hash=sha256:{'0' * 64}\n"
    assert problems(LOCK + stray) == ["stray is locked, but nothing needs it"]


def test_a_package_for_other_systems_is_not_a_stray() -> None:
    stray = f"stray==1.0 ; sys_platform == 'win32' \\\n    --hash=sha256:{'0' * 64}\n"
    assert problems(LOCK + stray) == []


def test_a_package_without_a_hash_is_named() -> None:
    whole = entry("iniconfig")
    bare = "\n".join(line for line in whole.splitlines() if "--hash" not in line) + "\n"
    assert problems(LOCK.replace(whole, bare)) == ["iniconfig 2.3.1 has no hash"]


def test_a_package_that_is_not_pinned_is_named() -> None:
    said = problems(LOCK.replace("iniconfig==2.3.1", "iniconfig>=2.3.1"))
    assert said[0].startswith("1 of ")
    assert said[0].endswith("packages are not pinned as name==version with hashes")


@pytest.mark.parametrize("path", locks.JAR_LOCKS)
def test_a_jar_without_checksum_is_named(path: str) -> None:
    text = (ROOT / path).read_text()
    assert locks.jars_without_checksum(text) == []
    first = text.index("sha256 = ")
    assert len(locks.jars_without_checksum(text[:first] + text[first:].replace("sha256 =", "md5 =", 1))) == 1


def test_every_lock_of_jars_is_looked_at() -> None:
    own = [folder for folder in ROOT.iterdir() if folder.is_dir() and not folder.name.startswith(".")]
    found = [file.relative_to(ROOT).as_posix() for folder in own for file in folder.rglob("jars.toml")]
    assert sorted(found) == sorted(locks.JAR_LOCKS)


@pytest.mark.parametrize("licence", ["MIT", "GPL-3.0 OR MIT", "BSD-3-Clause AND MIT", "MIT AND GPL-3.0 OR ISC"])
def test_a_licence_that_is_allowed(licence: str) -> None:
    licences.check_allowed(("x", "1", licence), licences.ALLOWED)


@pytest.mark.parametrize("licence", ["GPL-3.0", "GPL-3.0 AND MIT", "", "MIT AND (GPL-3.0 OR X)", "Proprietary"])
def test_a_licence_that_is_not_allowed_is_named(licence: str) -> None:
    with pytest.raises(licences.UnknownLicenceError, match=r"^x 1 has the licence .* which is not allowed; "):
        licences.check_allowed(("x", "1", licence), licences.ALLOWED)


@pytest.mark.parametrize(
    ("told", "licence"),
    [
        ([("License-Expression", "MIT"), ("License", "GPL")], "MIT"),
        ([("License", "Apache 2.0")], "Apache-2.0"),
        ([("License", "a long text\nof a licence"), ("Classifier", "License :: OSI Approved :: BSD License")], "BSD"),
    ],
)
def test_metadata_has_the_licence(told: list[tuple[str, str]], licence: str) -> None:
    assert licences.licence_of("x", message(told)) == licence


@pytest.mark.parametrize(
    "told", [[], [("License", "see file")], [("Classifier", "License :: Other/Proprietary License")]]
)
def test_metadata_without_a_known_licence_is_named(told: list[tuple[str, str]]) -> None:
    with pytest.raises(licences.UnknownLicenceError, match=r"^x has no known licence"):
        licences.licence_of("x", message(told))


def message(told: list[tuple[str, str]]) -> Message:
    found = Message()
    for name, value in told:
        found[name] = value
    return found


def test_a_stale_page_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    page = tmp_path / "licences.md"
    page.write_text(licences.page().replace("| pyspark | 4.2.0 |", "| pyspark | 4.1.0 |"))
    monkeypatch.setattr(licences, "_PAGE", page)
    assert licences.main(["--check"]) == 1
    assert capsys.readouterr().err == f"{page} is stale; run make licences\n"
    assert licences.main([]) == 0
    assert licences.main(["--check"]) == 0
