"""Executors that do not fit are refused: what is asked of whom, and what is said; their Spark is a stand-in."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import py4j
import pyarrow as pa
import pyspark
import pytest
from py4j.protocol import Py4JJavaError

from jobs.errors import LakeError, PlatformError
from jobs.spark.executors import _QUESTION, check_executors, check_seen, misfits
from tests.given.scripts import script

ROOT = Path(__file__).parents[2]
MINOR = "{}.{}".format(*sys.version_info)
NEEDED = tomllib.loads((ROOT / "conf/jars.toml").read_text())["executors"]["packages"]


class Cluster:
    """A Spark context on a cluster: answers by starting its Python, once per task."""

    def __init__(
        self, python: str | Path, *cores: int, master: str = "spark://a:7077", conf: dict[str, str] | None = None
    ) -> None:
        self.pythonExec, self.master, self.asked, self.conf = str(python), master, list[int](), conf or {}
        self.known = ["driver"]
        self._cores = list(cores)
        self._jsc = self

    @property
    def defaultParallelism(self) -> int:  # noqa: N802 - Spark's name
        """The cores, as they register."""
        return self._cores.pop(0) if len(self._cores) > 1 else self._cores[0]

    def getConf(self) -> dict[str, str]:  # noqa: N802 - Spark's name
        return self.conf

    def statusTracker(self) -> Any:  # noqa: N802 - Spark's name
        return SimpleNamespace(getExecutorInfos=lambda: self.known)

    def parallelize(self, rows: list[object], tasks: int) -> Any:
        assert rows == []  # a task without a row writes nothing to a process that may not read
        self.asked.append(tasks)
        return SimpleNamespace(pipe=lambda command: SimpleNamespace(collect=lambda: self._answers(command, tasks)))

    def _answers(self, command: list[str], tasks: int) -> list[str]:
        said = subprocess.run(command, capture_output=True, text=True, check=True)
        return said.stdout.splitlines() * tasks


class CannotRunError(Py4JJavaError):  # type: ignore[misc]
    """Spark's, of an executor that cannot start the Python."""

    def __init__(self) -> None:
        self.java_exception = Mock()
        self.java_exception.getCause.return_value = None
        self.java_exception.getClass().getSimpleName.return_value = "IOException"
        self.java_exception.getMessage.return_value = "Cannot run program"

    def __str__(self) -> str:
        return "Lost task 0.0 in stage 0.0 (TID 0) (node7 executor 1): java.io.IOException: Cannot run program"


def check(cluster: Any) -> None:
    check_executors(SimpleNamespace(sparkContext=cluster))  # type: ignore[arg-type]


def test_executors_that_fit_are_asked_until_none_is_new() -> None:
    cluster = Cluster(sys.executable, 2, 6, 6)
    check(cluster)
    assert cluster.asked == [2, 6]


@pytest.mark.parametrize(
    ("executors", "cores_each", "asked"), [(3, {"spark.executor.cores": "4"}, 12), (3, {}, 3), (0, {}, 1)]
)
def test_a_sites_own_parallelism_is_not_the_number_of_cores(
    executors: int, cores_each: dict[str, str], asked: int
) -> None:
    cluster = Cluster(sys.executable, 2_000, conf={"spark.default.parallelism": "2000", **cores_each})
    cluster.known += ["executor"] * executors
    check(cluster)
    assert cluster.asked == [asked]


def test_a_misfit_has_host_path_version_need_and_fix(tmp_path: Path) -> None:
    python = tmp_path / "python"
    found = {"Python": [f"{MINOR}.1", ""], "pyarrow": ["17.0.0", "has pyarrow 17.0.0"]}
    answer = ["node7", "/usr/bin/python3", found]
    python.write_text(f"#!/bin/sh\necho '{json.dumps(answer)}'\n")
    python.chmod(0o755)
    with pytest.raises(PlatformError) as refused:
        check(Cluster(python, 4))
    major, minor = sys.version_info[:2]
    assert str(refused.value) == (
        "on executor node7 /usr/bin/python3 has pyarrow 17.0.0; executors need"
        f" Python>={major}.{minor},<{major}.{minor + 1} and pyarrow>=18,<27: set PYSPARK_PYTHON to one that each has,"
        " or run `make executor-env` and give spark-submit what it prints"
    )


@pytest.mark.parametrize("master", ["local", "local[1]", "local[*]", "local[2, 4]"])
def test_one_machine_is_asked_nothing(master: str) -> None:
    check(SimpleNamespace(master=master))


@pytest.mark.parametrize("master", ["local-cluster[1,1,1024]", "yarn", "k8s://https://a"])
def test_every_other_master_is(master: str) -> None:
    cluster = Cluster(sys.executable, 1, master=master)
    check(cluster)
    assert cluster.asked == [1]


@pytest.mark.parametrize(
    ("python", "pyarrow", "wrong"),
    [
        ("3.11.2", "26.0.1", []),
        ("3.11.0rc1", "18.0.0", []),
        ("3.10.13", "26.0.1", ["python"]),
        ("3.12.0a1", "26.0.1", ["python"]),
        ("3.11.2", "27.0.0", ["pyarrow"]),
        ("3.11.2", "17.0.0", ["pyarrow"]),
        ("2.7.18", "", ["python", "pyarrow"]),
    ],
)
def test_what_does_not_fit(python: str, pyarrow: str, wrong: list[str]) -> None:
    needed = {"Python": {"from": "3.11", "below": "3.12"}, "pyarrow": {"from": "18", "below": "27"}}
    assert misfits({"Python": (python, "python"), "pyarrow": (pyarrow, "pyarrow")}, needed) == wrong


def test_a_python_without_the_package_says_so() -> None:
    said = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _QUESTION, "pyarrow"], capture_output=True, text=True, check=True
    ).stdout
    _, path, found = json.loads(said)
    assert path == sys.executable
    assert found == {
        "Python": [platform.python_version(), f"is Python {platform.python_version()}"],
        "pyarrow": ["", "cannot import pyarrow (ModuleNotFoundError: No module named 'pyarrow')"],
    }


def test_what_runs_on_executors_imports_what_they_are_asked_for(tmp_path: Path) -> None:
    """Every module that hands a function to Spark, in a Python that has no other package."""
    for package in (pa, py4j, pyspark):
        (tmp_path / package.__name__).symlink_to(package.__path__[0])
    handed = [file.relative_to(ROOT) for file in (ROOT / "jobs").rglob("*.py") if "InArrow(" in file.read_text()]
    assert len(handed) >= 4
    names = [".".join(file.with_suffix("").parts) for file in handed]
    code = f"import sys; sys.path += {[str(tmp_path), str(ROOT)]}; import {', '.join(names)}"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert NEEDED == ["pyarrow"]


def test_the_archive_holds_what_the_lock_pins() -> None:
    lock = "a==1 \\\n    --hash=sha256:0\n    # via b\nb==2 ; python_version < '4' \\\n    --hash=sha256:1\n"
    pins = script("executor_env").pins
    assert pins(lock, ["b"]) == "b==2 ; python_version < '4' \\\n    --hash=sha256:1\n"
    with pytest.raises(LookupError, match="c"):
        pins(lock, ["c"])
    for name in NEEDED:
        assert pins((ROOT / "requirements.lock").read_text(), [name]).startswith(f"{name}==")


def test_a_lake_that_an_executor_does_not_see_is_refused(tmp_path: Path) -> None:
    lock = tmp_path / "_lock"
    cluster = Cluster(sys.executable, 2)
    with pytest.raises(LakeError, match=r"^lake /lake is a folder that executor \S+ does not see; put it on a disk"):
        check_seen(SimpleNamespace(sparkContext=cluster), "/lake", str(lock))  # type: ignore[arg-type]
    lock.touch()
    check_seen(SimpleNamespace(sparkContext=cluster), "/lake", str(lock))  # type: ignore[arg-type]
    assert cluster.asked == [2, 2]


def test_on_one_machine_nobody_is_asked_whether_he_sees_the_lake(tmp_path: Path) -> None:
    cluster = Cluster(sys.executable, 2, master="local[2]")
    check_seen(SimpleNamespace(sparkContext=cluster), "/lake", str(tmp_path / "_lock"))  # type: ignore[arg-type]
    assert cluster.asked == []


@pytest.mark.parametrize("asks", [check_executors, lambda spark: check_seen(spark, "/lake", "/lake/_lock")])
def test_a_question_that_an_executor_cannot_run_is_an_error_with_its_host(asks: Callable[[Any], None]) -> None:
    cluster = Cluster("/no/python", 2)
    cluster._answers = Mock(side_effect=CannotRunError())  # type: ignore[method-assign]
    with pytest.raises(PlatformError, match=r"^executor node7 cannot run /no/python \(IOException: Cannot"):
        asks(SimpleNamespace(sparkContext=cluster))
