"""The start-up check, against real processes: fake `java` scripts, fake installed packages."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

from jobs.errors import PlatformError
from jobs.spark.environment import PYTHON_BELOW, PYTHON_FROM, check_python

ROOT = Path(__file__).parents[2]
FITTING = {"pyspark": "4.2.0", "delta-spark": "4.4.0", "pyarrow": "26.0.1", "pandas": "2.3.3", "click": "8.5.1"}
GOOD_JAVA = """echo 'openjdk version "17.0.15" 2025-04-15' >&2"""
CHECK = """
import sys
from jobs.spark.environment import check_environment
from jobs.errors import PlatformError
try:
    print(check_environment())
except PlatformError as error:
    sys.exit(str(error))
assert "pyspark" not in sys.modules
"""


class Machine:
    """A folder that a process of its own takes for the whole machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.packages = dict(FITTING)
        self.environ = {"PATH": str(folder / "bin")}
        self.spark("4.2.0")
        self.java(GOOD_JAVA)
        (folder / "packages/click").symlink_to(Path(click.__file__).parent)

    def java(self, script: str, at: str = "bin/java") -> None:
        java = self.folder / at
        java.parent.mkdir(parents=True, exist_ok=True)
        java.write_text(f"#!/bin/sh\n{script}\n")
        java.chmod(0o755)

    def spark(self, version: str, at: str = "packages/pyspark") -> None:
        jars = self.folder / at / "jars"
        jars.mkdir(parents=True)
        (jars / f"spark-core_2.13-{version}.jar").touch()
        (jars.parent / "__init__.py").touch()

    def check(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The check alone, or what the arguments start."""
        for name, version in self.packages.items():
            info = self.folder / "packages" / f"{name.replace('-', '_')}-{version}.dist-info"
            info.mkdir(parents=True)
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        path = os.pathsep.join([str(self.folder / "packages"), str(ROOT)])
        return subprocess.run(
            [sys.executable, "-S", *(arguments or ("-c", CHECK))],
            cwd=self.folder,
            env={"PYTHONPATH": path, **self.environ},
            capture_output=True,
            text=True,
            check=False,
        )

    def refusal(self, *arguments: str, code: int = 1) -> str:
        done = self.check(*arguments)
        assert done.returncode == code, done.stdout + done.stderr
        assert done.stderr.count("\n") == 1, f"not one sentence: {done.stderr}"
        return done.stderr.strip()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.fault(34, simulated="a Java, Python, Spark or package that only says its version")
def test_a_fitting_machine_passes(machine: Machine) -> None:
    done = machine.check()
    assert done.stderr == ""
    assert "'pyspark': '4.2.0', 'delta-spark': '4.4.0', 'pyarrow': '26.0.1', 'pandas': '2.3.3'" in done.stdout


def test_this_machine_passes() -> None:
    done = subprocess.run([sys.executable, "-c", CHECK], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_java_home_wins_over_path_as_for_spark(machine: Machine) -> None:
    machine.java("""echo 'openjdk version "21.0.2" 2024-01-16' >&2""", at="jdk 21/bin/java")
    machine.environ["JAVA_HOME"] = str(machine.folder / "jdk 21")
    assert "'java': '21.0.2'" in machine.check().stdout


def test_a_line_from_java_tool_options_is_not_taken_for_the_version(machine: Machine) -> None:
    machine.java(f"echo 'Picked up JAVA_TOOL_OPTIONS: -Dx=version \"9\"' >&2\n{GOOD_JAVA}")
    assert "'java': '17.0.15'" in machine.check().stdout


@pytest.mark.fault(34)
def test_no_java_is_named_with_the_fix(machine: Machine) -> None:
    (machine.folder / "bin/java").unlink()
    refusal = machine.refusal()
    assert refusal.startswith("no Java: JAVA_HOME is not set and PATH has no java; install a JRE or JDK 17 or 21")


def test_java_home_without_java_is_named(machine: Machine) -> None:
    machine.environ["JAVA_HOME"] = "/nowhere"
    assert machine.refusal().startswith("JAVA_HOME is /nowhere, which has no bin/java; install")


@pytest.mark.fault(34, simulated="a Java, Python, Spark or package that only says its version")
@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("""echo 'openjdk version "11.0.2" 2019-01-15' >&2""", "Java 11.0.2 at {java} is older than 17"),
        ("""echo 'java version "1.8.0_392"' >&2""", "Java 1.8.0_392 at {java} is older than 17"),
        (
            "echo 'Unable to locate a Java Runtime.' >&2; exit 1",
            "{java} is not a working Java (Unable to locate a Java",
        ),
        ("exit 3", "{java} is not a working Java (it printed nothing)"),
        (
            f'{GOOD_JAVA}; case "$*" in *jdk.incubator.vector*) exit 1;; esac',
            "Java 17.0.15 at {java} lacks the module jdk.incubator.vector",
        ),
    ],
    ids=["11", "8", "a stub", "silent", "no vector module"],
)
def test_a_java_that_does_not_fit_is_named_with_the_fix(machine: Machine, script: str, said: str) -> None:
    machine.java(script)
    refusal = machine.refusal()
    assert refusal.startswith(said.format(java=machine.folder / "bin/java"))
    assert "install a JRE or JDK 17 or 21" in refusal


def test_a_java_that_cannot_be_run_is_named(machine: Machine) -> None:
    (machine.folder / "bin/java").write_bytes(b"\x7fELF of another machine")
    assert "bin/java cannot be run (" in machine.refusal()


@pytest.mark.fault(36)
@pytest.mark.parametrize("name", sorted(FITTING))
def test_a_missing_package_is_named_with_the_fix(machine: Machine, name: str) -> None:
    del machine.packages[name]
    refusal = machine.refusal()
    assert refusal.startswith(
        f"the Python package {name} is not installed; run: {sys.executable} -m pip install '{name}"
    )


@pytest.mark.fault(34, 36, simulated="a Java, Python, Spark or package that only says its version")
@pytest.mark.parametrize(
    ("name", "found", "said"),
    [
        ("pyspark", "4.2.1", "pyspark 4.2.1 is installed, but only 4.2.0 fits the rest; run: "),
        ("delta-spark", "4.4.1", "delta-spark 4.4.1 is installed, but only 4.4.0 fits the rest; run: "),
        ("pyarrow", "17.0.0", "pyarrow 17.0.0 is installed, which is outside >=18,<27; run: "),
        ("pyarrow", "27.0.0", "pyarrow 27.0.0 is installed, which is outside >=18,<27; run: "),
        ("pandas", "3.0.0", "pandas 3.0.0 is installed, which is outside >=2.2,<3; run: "),
        ("click", "8.1.8", "click 8.1.8 is installed, which is outside >=8.5,<9; run: "),
    ],
)
def test_a_package_of_another_version_is_named_with_the_fix(machine: Machine, name: str, found: str, said: str) -> None:
    machine.packages[name] = found
    assert machine.refusal().startswith(said)


@pytest.mark.fault(34, simulated="a Java, Python, Spark or package that only says its version")
def test_a_spark_home_of_another_spark_is_named(machine: Machine) -> None:
    machine.spark("3.5.1", at="spark-3.5")
    machine.environ["SPARK_HOME"] = str(machine.folder / "spark-3.5")
    assert machine.refusal().endswith(
        "spark-3.5/jars holds Spark 3.5.1, but pyspark is 4.2.0; unset SPARK_HOME or point it to Spark 4.2.0"
    )


def test_a_driver_on_yarn_has_pyspark_without_jars(machine: Machine) -> None:
    for jar in (machine.folder / "packages/pyspark/jars").iterdir():
        jar.unlink()
    machine.environ["PYSPARK_GATEWAY_PORT"] = "1"
    assert machine.check().stderr == ""


@pytest.mark.parametrize("command", ["nightly", "fault-latency", "allocation", "what-if", "register"])
def test_each_command_that_starts_spark_refuses_before_it_imports_spark(machine: Machine, command: str) -> None:
    """The machine's pyspark is an empty package: to import anything of it would be another error."""
    machine.packages["pyspark"] = "4.2.1"
    refusal = machine.refusal("-m", "jobs.cli", command, "--lake", "lake", code=2)
    assert refusal.startswith("faultline: pyspark 4.2.1 is installed, but only 4.2.0 fits the rest; run: ")
    assert not (machine.folder / "lake").exists()


def test_the_doctor_says_all_that_is_wrong_on_a_machine_where_nothing_fits(machine: Machine) -> None:
    machine.packages = {"pyspark": "4.2.1", "pyarrow": "17.0.0", "pandas": "3.0.0", "click": "8.5.1"}
    machine.java("""echo 'openjdk version "11.0.2" 2019-01-15' >&2""")
    done = machine.check("-m", "jobs.cli", "doctor", "--json", "--lake", "lake")
    assert (done.returncode, done.stderr) == (2, "")
    wrong = {each["name"]: each["found"] for each in json.loads(done.stdout)["checks"] if not each["is_ok"]}
    assert list(wrong) == ["pyspark", "delta-spark", "pyarrow", "pandas", "spark", "java", "tables"]
    assert wrong["delta-spark"] == "the Python package delta-spark is not installed"
    assert wrong["java"].startswith("Java 11.0.2 at ")


@pytest.mark.fault(36)
@pytest.mark.parametrize("arguments", [["--help"], ["doctor"], ["nightly", "--lake", "lake"]])
def test_a_machine_without_click_is_answered_in_one_sentence(machine: Machine, arguments: list[str]) -> None:
    (machine.folder / "packages/click").unlink()
    del machine.packages["click"]
    refusal = machine.refusal("-m", "jobs.cli", *arguments, code=2)
    fix = f"run: {sys.executable} -m pip install 'click>=8.5,<9'"
    assert refusal == f"faultline: the Python package click is not installed; {fix}"


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["nightly", "--help"], ["show", "--help"]])
def test_help_needs_no_package_but_click(machine: Machine, arguments: list[str]) -> None:
    """Neither Spark nor what an extra brings is there to be imported."""
    machine.packages = {"click": "8.5.1"}
    shutil.rmtree(machine.folder / "packages/pyspark")
    done = machine.check("-m", "jobs.cli", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(("Usage: faultline", "faultline "))


def test_spark_submit_with_an_older_python_is_refused_before_anything_is_imported(machine: Machine) -> None:
    code = "import sys, runpy; sys.version_info = (3, 10, 13, 'final', 0); sys.modules['tomllib'] = None;"
    refusal = machine.refusal("-c", f"{code} runpy.run_path({str(ROOT / 'bin/submit.py')!r})")
    assert refusal.startswith(f"faultline: Python 3.10 at {sys.executable} does not fit; set one of 3.11, 3.12, 3.13")


@pytest.mark.fault(36, simulated="a Java, Python, Spark or package that only says its version")
@pytest.mark.parametrize("found", [(3, 10, 13), (3, 14, 0), (2, 7, 18)])
def test_a_python_out_of_range_is_named(found: tuple[int, ...]) -> None:
    with pytest.raises(PlatformError, match=rf"^Python {'.'.join(map(str, found))} at .*; use one of 3.11, 3.12, 3.13"):
        check_python(found)


def test_pyproject_and_bin_setup_ask_for_what_the_check_accepts() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    fits = tomllib.loads((ROOT / "conf/jars.toml").read_text())
    assert project["requires-python"] == ">={}.{},<{}.{}".format(*PYTHON_FROM, *PYTHON_BELOW)
    assert f"{PYTHON_FROM} <= sys.version_info[:2] < {PYTHON_BELOW}" in (ROOT / "bin/setup").read_text()
    pins = dict(dependency.split("==") for dependency in project["dependencies"])
    assert pins.pop("deltalake")  # without it a run publishes, and says that it cannot read the night back
    assert pins == FITTING
    assert pins.keys() == fits["packages"].keys()
    for name, bounds in fits["packages"].items():
        assert pins[name] == bounds.get("exactly", pins[name])
    versions = {jar["version"] for jar in fits["jar"]}
    assert versions == {pins["delta-spark"]}
    spark_minor = re.match(r"\d+\.\d+", pins["pyspark"])
    assert spark_minor
    assert fits["jar"][0]["name"] == f"delta-spark_{spark_minor[0]}_2.13"
