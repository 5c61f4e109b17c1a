"""Failures of Spark and the JVM in one line, with the fix."""

from __future__ import annotations

import re

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException

from jobs.errors import LakeError

# What Spark says, then its meaning for the user; the first match counts.
_MEANINGS = {
    "No space left on device": "the disk is full; free some space and run it again",
    "Read-only file system": "the disk is read-only; make it writable and run it again",
    "Mkdirs failed to create": "a folder cannot be created; free some space, or make it writable, and run it again",
    "Permission denied": "a file may not be written or read; check the permissions and run it again",
    "Python worker exited unexpectedly": "a Python worker died, killed or out of memory; run it again",
    "OutOfMemoryError": "the driver's memory is too small; give more, such as --set spark.driver.memory=8g",
    "PYTHON_VERSION_MISMATCH": "Python workers are of another version than the driver; set PYSPARK_PYTHON to the same",
    "ModuleNotFoundError": "Python workers lack a package; set PYSPARK_PYTHON to a Python that has it",
    "An exception was thrown from the Python worker": "a Python worker failed; run it again with -v and report it",
}
# The exception that a Python traceback ends with; a text may quote the traceback indented.
_RAISED = re.compile(r"(^[ \t]*|)Traceback \(most recent call last\):\n(?:\1[ \t].*\n)*\1(\S.*)", re.MULTILINE)
_NO_JVM = "does not exist in the JVM"  # message of calls to a JVM that died
_UNREADABLE = ("FAILED_READ_FILE", "FileNotFoundException", "does not exist", "not a Parquet file", "ChecksumException")
_LOST_FILE = "restore the file from a copy, or delete that day from the table and publish it again"
BROKEN_LOG = (
    "its _delta_log is broken: restore it from a copy, or move the table's folder away and publish its days again"
)
_LOG_SIGNS = ("_delta_log", "NOT_CONTIGUOUS", "TRUNCATED_TRANSACTION_LOG", "STATE_RECOVER", "JsonEOF", "JsonParse")


def root_cause(error: BaseException) -> str:
    """The innermost message of a Spark or JVM error; of a Python worker's failure its exception."""
    if isinstance(error, Py4JJavaError):
        cause = error.java_exception
        while cause.getCause() is not None:
            cause = cause.getCause()
        text = f"{cause.getClass().getSimpleName()}: {cause.getMessage()}"
    else:
        text = str(error)
    raised = [found[2] for found in _RAISED.finditer(text)][-1:]
    lines = raised or [line for line in text.splitlines() if line.strip()] or [type(error).__name__]
    # Delta reports a broken constraint in a cause below the refused write.
    return next((line.strip() for line in lines if "DELTA_VIOLATE_CONSTRAINT" in line or "NOT_NULL" in line), lines[0])


def failure(error: Py4JError | PySparkException | ConnectionError, lake: str) -> LakeError | None:
    """The error of a failed run that a user can act on; None for an unknown failure.

    Args:
        error: from Spark or the JVM.
        lake: folder or URI of the tables, to find the table of an unreadable file.
    """
    if isinstance(error, Py4JNetworkError | ConnectionError) or _NO_JVM in str(error):
        return LakeError("the JVM died, killed or out of memory; give more with --set spark.driver.memory=8g")
    text = str(error)
    if meaning := _meaning(text):
        return LakeError(f"{meaning}; other days stay whole ({root_cause(error)})")
    table = re.search(rf"{re.escape(lake.rstrip('/').removeprefix('file:'))}/([a-z_]+)/", text)
    if table and any(sign in text for sign in _UNREADABLE):
        return LakeError(f"table {table[1]} in {lake} cannot be read ({root_cause(error)}); {_LOST_FILE}")
    return None


def table_remedy(error: Py4JError | PySparkException) -> str | None:
    """Fix for a table that cannot be read or written; None when unknown."""
    text = str(error)
    if meaning := _meaning(text):
        return meaning
    if ".parquet" in text and any(sign in text for sign in _UNREADABLE):
        return _LOST_FILE
    return BROKEN_LOG if any(sign in text for sign in _LOG_SIGNS) else None


def _meaning(text: str) -> str | None:
    return next((meaning for sign, meaning in _MEANINGS.items() if sign in text), None)
