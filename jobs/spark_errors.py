"""What a failed Spark or JVM call says, in one line."""

from __future__ import annotations

from py4j.protocol import Py4JJavaError


def root_cause(error: BaseException) -> str:
    """The innermost message of a Spark or JVM error."""
    if isinstance(error, Py4JJavaError):
        cause = error.java_exception
        while cause.getCause() is not None:
            cause = cause.getCause()
        return f"{cause.getClass().getSimpleName()}: {cause.getMessage()}".splitlines()[0]
    lines = str(error).splitlines() or [type(error).__name__]
    # Delta tells of a broken constraint below the write it refuses.
    return next((line.strip() for line in lines if "DELTA_VIOLATE_CONSTRAINT" in line or "NOT_NULL" in line), lines[0])
