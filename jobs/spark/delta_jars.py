"""The two Delta jars: fetched once, checked against the lock in `conf/jars.toml` at every start.

They are fetched with the Ivy that ships with Spark, so a site's mirror is configured as for Spark: an Ivy settings
file, named in FAULTLINE_IVY_SETTINGS. Without a network, put the jars into the folder by hand.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from xml.sax.saxutils import quoteattr

from jobs.errors import PlatformError
from jobs.spark.environment import java_command, spark_jars_folder
from jobs.text.progress import Progress
from jobs.text.redaction import redacted

_FETCH_SECONDS = 300


@dataclass(frozen=True)
class Jar:
    """One locked jar."""

    group: str
    name: str
    version: str
    sha256: str

    @property
    def file_name(self) -> str:
        """Its file name in the cache folder."""
        return f"{self.name}-{self.version}.jar"

    @property
    def coordinates(self) -> str:
        """Its coordinates in a repository."""
        return f"{self.group}:{self.name}:{self.version}"

    def is_at(self, path: Path) -> bool:
        """Whether the file exists and is the locked one."""
        try:
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest() == self.sha256
        except FileNotFoundError:
            return False


def locked_jars() -> tuple[Jar, ...]:
    """The jars of the lock."""
    lock = tomllib.loads(files("conf").joinpath("jars.toml").read_text(encoding="utf-8"))
    return tuple(Jar(**entry) for entry in lock["jar"])


def jar_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """FAULTLINE_CACHE, else `.faultline/jars` of the checkout, else the user's cache."""
    if cache := environ.get("FAULTLINE_CACHE"):
        return Path(cache).absolute()
    if home := environ.get("FAULTLINE_HOME"):
        return Path(home, ".faultline", "jars").absolute()
    return Path.home() / ".cache" / "faultline" / "jars"


def delta_jars() -> tuple[Path, ...]:
    """Paths of the Delta jars, fetched first if need be.

    Raises:
        PlatformError: they cannot be fetched or stored, or do not match the lock.
    """
    return cached(locked_jars(), jar_folder())


def cached(jars: Sequence[Jar], folder: Path) -> tuple[Path, ...]:
    """The jars below `folder`; missing or different files are fetched. Safe to call in parallel.

    Raises:
        PlatformError: they cannot be fetched or stored, or do not match the lock.
    """
    try:
        if _not_good(jars, folder):
            folder.mkdir(parents=True, exist_ok=True)
            with (folder / ".lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)  # one fetch at a time; released when the process ends
                if wrong := _not_good(jars, folder):
                    _fetch_into(folder, wrong)
    except OSError as error:
        raise PlatformError(
            f"cannot keep the Delta jars in {folder}: {error.strerror or error};"
            " name a folder of your own in FAULTLINE_CACHE"
        ) from error
    return tuple(folder / jar.file_name for jar in jars)


def _not_good(jars: Sequence[Jar], folder: Path) -> list[Jar]:
    return [jar for jar in jars if not jar.is_at(folder / jar.file_name)]


def _fetch_into(folder: Path, jars: Sequence[Jar]) -> None:
    progress = Progress()
    for jar in jars:
        if (folder / jar.file_name).exists():
            progress.say(
                f"{folder / jar.file_name} is not the file that conf/jars.toml names, corrupt or changed;"
                " it is replaced"
            )
    progress.say(f"fetching Delta {jars[0].version} jars (once) …")
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as scratch:
        said = _resolve(jars, Path(scratch))
        came = [(jar, Path(scratch, "out", jar.file_name)) for jar in jars]
        if missing := [jar for jar, path in came if not path.exists()]:
            error = PlatformError(
                f"cannot fetch {', '.join(jar.coordinates for jar in missing)} ({_reason(said)});"
                " let this machine reach a Maven repository, name your mirror's Ivy settings in FAULTLINE_IVY_SETTINGS,"
                f" or put {' and '.join(jar.file_name for jar in jars)} into {folder}"
            )
            error.add_note(said)
            raise error
        for jar, path in came:
            if not jar.is_at(path):
                raise PlatformError(
                    f"{jar.coordinates} came with another sha256 than conf/jars.toml names ({jar.sha256});"
                    " find out what the repository or mirror serves before you trust it"
                )
            path.replace(folder / jar.file_name)


def _resolve(jars: Sequence[Jar], scratch: Path) -> str:
    """Let Ivy put the jars, without dependencies, into `scratch`/out; returns its output."""
    dependencies = "".join(
        f"<dependency org={quoteattr(jar.group)} name={quoteattr(jar.name)} rev={quoteattr(jar.version)}"
        ' conf="default->*" transitive="false"/>'
        for jar in jars
    )
    (scratch / "ivy.xml").write_text(
        '<ivy-module version="2.0"><info organisation="faultline" module="jars"/>'
        '<configurations><conf name="default"/></configurations>'
        f"<dependencies>{dependencies}</dependencies></ivy-module>",
        encoding="utf-8",
    )
    settings = os.environ.get("FAULTLINE_IVY_SETTINGS")
    if settings and not Path(settings).is_file():
        raise PlatformError(f"FAULTLINE_IVY_SETTINGS names {settings}, which is not a file; correct it or unset it")
    # Names relative to the scratch folder: (), [] and spaces have a meaning in Ivy's patterns.
    command = [java_command(), f"-Divy.default.ivy.user.dir={scratch / 'home'}", "-jar", str(_ivy()), "-warn"]
    command += ["-settings", str(Path(settings).absolute())] if settings else []
    command += ["-ivy", "ivy.xml", "-cache", "cache", "-confs", "default", "-types", "jar"]
    command += ["-retrieve", "out/[artifact]-[revision].[ext]"]
    try:
        done = subprocess.run(
            command, cwd=scratch, capture_output=True, text=True, errors="replace", timeout=_FETCH_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {_FETCH_SECONDS} s"
    return done.stdout + done.stderr


def _ivy() -> Path:
    folder = spark_jars_folder()
    found = sorted(folder.glob("ivy-*.jar"))
    if not found:
        raise PlatformError(f"{folder} has no ivy-*.jar, which every Spark ships; install pyspark again")
    return found[-1]


def _reason(said: str) -> str:
    """The most telling line of Ivy's report on the failure."""
    lines = [line.strip(" :\t") for line in said.splitlines()]
    marks = ("exception", "error at", "not a valid", "no answer", "denied", "not found")
    return next((line for mark in marks for line in lines if mark in line.lower()), "Ivy gave no reason")


if __name__ == "__main__":
    try:
        sys.stdout.write(",".join(map(str, delta_jars())) + "\n")
    except PlatformError as problem:
        sys.exit(f"faultline: {redacted(str(problem))}")
