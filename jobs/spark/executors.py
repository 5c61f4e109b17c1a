"""What executors are asked before anything is read or published: otherwise a run fails in its middle, or worse."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from jobs.errors import LakeError, PlatformError
from jobs.spark.environment import numbers
from jobs.spark.failures import root_cause

# For any Python, also one that Spark's workers do not start with: host, path, and each name's version in numbers and
# in words.
_QUESTION = """
import json, platform, socket, sys
found = {"Python": (platform.python_version(), "is Python " + platform.python_version())}
for name in sys.argv[1:]:
    try:
        version = __import__(name).__version__
        found[name] = version, "has %s %s" % (name, version)
    except Exception as error:
        found[name] = "", "cannot import %s (%s: %s)" % (name, type(error).__name__, error)
print(json.dumps((socket.gethostname(), sys.executable, found)))
"""


def check_executors(spark: SparkSession) -> None:
    """Refuse executors whose Python does not fit; on one machine nothing is asked.

    Each core that is there is asked once, by a process: Spark's own worker does not say where it does not fit. An
    executor that starts later, or whose cores are taken, is not asked; what it lacks fails the run (`failure`).

    Raises:
        PlatformError: the first executor whose Python cannot run, has another minor version, or lacks a package.
    """
    context = spark.sparkContext
    if _is_one_machine(spark):
        return
    fits = tomllib.loads(files("conf").joinpath("jars.toml").read_text(encoding="utf-8"))
    major, minor = sys.version_info[:2]
    needed = {"Python": {"from": f"{major}.{minor}", "below": f"{major}.{minor + 1}"}}
    needed |= {name: fits["packages"][name] for name in fits["executors"]["packages"]}
    wanted = " and ".join(f"{name}>={of['from']},<{of['below']}" for name, of in needed.items())
    fix = (
        f"executors need {wanted}: set PYSPARK_PYTHON to one that each has, or run `make executor-env` and give"
        " spark-submit what it prints"
    )
    asked = 0
    while asked < (cores := _cores(context)):  # executors register one by one
        asked = cores
        for on, path, found in _answers(context, cores, fix, _QUESTION, *fits["executors"]["packages"]):
            if wrong := misfits(found, needed):
                raise PlatformError(f"on executor {on} {path} {' and '.join(wrong)}; {fix}")


_SEES = """
import json, os.path, socket, sys
print(json.dumps((socket.gethostname(), os.path.exists(sys.argv[1]))))
"""


def check_seen(spark: SparkSession, lake: str, file: str) -> None:
    """Refuse a lake in a folder that an executor does not see: it would write to its own disk, and nobody would know.

    Each core that is there is asked once, as in `check_executors`.

    Args:
        spark: the session.
        lake: its folder.
        file: one in it that is there now.

    Raises:
        LakeError: the first executor that does not see it.
        PlatformError: one cannot run the question.
    """
    context = spark.sparkContext
    if _is_one_machine(spark):
        return
    for on, is_seen in _answers(context, _cores(context), "run it again", _SEES, file):
        if not is_seen:
            raise LakeError(
                f"lake {lake} is a folder that executor {on} does not see; put it on a disk that all machines share"
                " under this path, or on a store, such as s3a://… or hdfs://…"
            )


def _cores(context: SparkContext) -> int:
    """Cores that are there, at least one; `spark.default.parallelism`, where a site sets it, is another number."""
    conf = context.getConf()
    if conf.get("spark.default.parallelism") is None:
        return context.defaultParallelism
    # The driver is one of the infos.
    return max(len(context.statusTracker().getExecutorInfos()) - 1, 1) * int(conf.get("spark.executor.cores", "1"))


def _answers(context: SparkContext, cores: int, fix: str, question: str, *words: str) -> list[Any]:
    """What a Python on each core prints when it is asked, read as JSON.

    Args:
        context: the cluster's.
        cores: number of them.
        fix: for an executor that cannot run it.
        question: a program in Python, and `words` are its arguments.

    Raises:
        PlatformError: an executor cannot run it.
    """
    try:
        asked = context._jsc.parallelize([], cores).pipe([context.pythonExec, "-c", question, *words])
        return [json.loads(answer) for answer in asked.collect()]
    except Py4JJavaError as error:
        host = re.search(r"\((\S+) executor \S+\)", str(error))
        raise PlatformError(
            f"executor {host[1] if host else '?'} cannot run {context.pythonExec} ({root_cause(error)}); {fix}"
        ) from error


def _is_one_machine(spark: SparkSession) -> bool:
    return str(spark.sparkContext.master).partition("[")[0] == "local"


def misfits(found: Mapping[str, tuple[str, str]], needed: Mapping[str, Mapping[str, str]]) -> list[str]:
    """What does not fit, in words.

    Args:
        found: name to its version, in numbers and in words.
        needed: name to its bounds, `from` and `below`.

    >>> misfits({"Python": ("3.12.1", "is Python 3.12.1")}, {"Python": {"from": "3.11", "below": "3.12"}})
    ['is Python 3.12.1']
    """
    bounds = {name: (numbers(of["from"]), numbers(of["below"])) for name, of in needed.items()}
    return [words for name, (at, words) in found.items() if not bounds[name][0] <= numbers(at) < bounds[name][1]]
