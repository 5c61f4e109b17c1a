"""Settings of Spark that act only while its JVM starts: given to spark-submit, or refused once that has started it.

`python -m jobs.spark.at_launch COMMAND …` prints them as options of spark-submit for that command line of Faultline,
quoted for the shell; bin/spark-submit-cluster.sh asks it.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from jobs.errors import FaultlineError, SettingsError
from jobs.settings.load import load_settings
from jobs.spark.delta_jars import delta_jars
from jobs.text.redaction import is_secret, redacted

_FILES = {"spark.jars": "--jars", "spark.files": "--files", "spark.archives": "--archives"}
"""Settings that are lists of files, and the option that takes the place of each."""
_LISTS = (*_FILES, "spark.submit.pyFiles", *(f"spark.yarn.dist.{kind}" for kind in ("jars", "files", "archives")))
"""Settings that are lists of files, which spark-submit rewrites."""
_SUBMITTERS = ("spark.master", "spark.submit.deployMode")
"""What spark-submit decides, whatever the site says."""
_OF_PACKAGE = re.compile(r"([^:/]+):([^:/]+):([^:/]+)")
"""A package; `--packages` leaves in the settings only the jar that Spark has made of it, under the name `group_…`."""
_AT_LAUNCH = re.compile(
    r"spark\.(master|jars|files|archives|(jars|submit|pyspark|yarn|kubernetes)\..+"
    r"|driver\.(memory.*|cores|extra.+|defaultJavaOptions|userClassPathFirst))"
)


def acting_later(site: Mapping[str, str], started: Mapping[str, str]) -> dict[str, str]:
    """The site's settings that act in a JVM that spark-submit has started.

    >>> acting_later({"spark.jars": "/opt/s3.jar", "spark.sql.shuffle.partitions": "8"}, {"spark.jars": "file:/s3.jar"})
    {'spark.sql.shuffle.partitions': '8'}

    Args:
        site: the `[spark]` table.
        started: settings with which the JVM was started.

    Raises:
        SettingsError: one that acts only at launch is not what the JVM was started with.
    """
    # The cluster manager's act when the context starts: in client mode that is still to come.
    managers = () if started.get("spark.submit.deployMode") == "cluster" else ("spark.yarn.", "spark.kubernetes.")
    acting = {
        key: value
        for key, value in site.items()
        if not _is_at_launch(key) or (key.startswith(managers) and key not in _LISTS)
    }
    late = [
        (key, value)
        for key, value in site.items()
        if key not in acting and key not in _SUBMITTERS and not _is_given(key, value, started)
    ]
    if late:
        options = shlex.join(word for key, value in late for word in _option(key, value, started))
        raise SettingsError(
            f"spark-submit has started Spark without {', '.join(key for key, _ in late)} of [spark], too late for"
            f" Faultline to set; give spark-submit {options}"
        )
    return acting


def submit_options(words: Sequence[str], jars: str, *, to_cluster: bool = False) -> list[str]:
    """Options of spark-submit for a command line of Faultline; values that are secret are left to spark-defaults.conf.

    Args:
        words: the command line.
        jars: Delta's, separated by commas; the site's are appended.
        to_cluster: the driver runs on the cluster, where the settings files are put into its folder.

    Raises:
        SettingsError: the settings cannot be used, or a settings file is named by a path that the cluster lacks.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for name in ("--settings", "--set"):
        parser.add_argument(name, action="append", nargs="?", default=[])  # whoever forgot a value learns it later
    given = parser.parse_known_args(words)[0]
    files = [name for name in given.settings if name]
    site = load_settings(map(Path, files), filter(None, given.set), {}).spark
    own = {
        key: value
        for key, value in site.items()
        if _is_at_launch(key) and not is_secret(key) and redacted(f"{key}={value}") == f"{key}={value}"
    }
    for name in files if to_cluster else ():
        if Path(name).name != name:
            raise SettingsError(
                f"settings file {name} lies in the driver's own folder on the cluster; go to"
                f" {Path(name).parent} and give --settings {Path(name).name}"
            )
    ours = {"spark.jars": jars, "spark.files": ",".join(files) if to_cluster else ""}
    return [word for key, value in {**ours, **own}.items() for word in _option(key, value, ours)]


def _is_at_launch(key: str) -> bool:
    return _AT_LAUNCH.fullmatch(key) is not None


def _is_given(key: str, value: str, started: Mapping[str, str]) -> bool:
    """Whether the JVM was started with it; files by their names, as each cluster manager keeps them elsewhere."""
    if started.get(key) == value or key not in (*_LISTS, "spark.jars.packages"):
        return started.get(key) == value
    names = {PurePosixPath(part).name for text in started.values() for part in text.split(",")}
    files = [PurePosixPath(_OF_PACKAGE.sub(r"\1_\2-\3.jar", jar)).name for jar in value.split(",")]
    return all(any(fnmatchcase(name, file) for name in names) for file in files)


def _option(key: str, value: str, given: Mapping[str, str]) -> tuple[str, ...]:
    """Words by which spark-submit gets the setting, files besides those that it is given already."""
    if key not in _FILES:
        return "--conf", f"{key}={value}"
    files = ",".join(dict.fromkeys(filter(None, [given.get(key), value])))
    return (_FILES[key], files) if files else ()


if __name__ == "__main__":
    try:
        locked = os.environ.get("DELTA_JARS") or ",".join(map(str, delta_jars()))
        options = submit_options(sys.argv[1:], locked, to_cluster=os.environ.get("MODE") == "cluster")
        sys.stdout.write(shlex.join(options) + "\n")
    except FaultlineError as problem:
        sys.stderr.write(f"faultline: {redacted(str(problem))}\n")
        sys.exit(problem.exit_code)
