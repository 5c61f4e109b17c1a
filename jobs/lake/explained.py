"""Errors of Spark and Delta while a table is read or written, as our errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from delta import exceptions as delta_errors
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from jobs.errors import LakeBusyError, LakeError
from jobs.spark.failures import root_cause, table_remedy

_CONFLICTS = (
    delta_errors.ConcurrentAppendException,
    delta_errors.ConcurrentDeleteDeleteException,
    delta_errors.ConcurrentDeleteReadException,
    delta_errors.ConcurrentTransactionException,
    delta_errors.ConcurrentWriteException,
    delta_errors.DeltaConcurrentModificationException,
    delta_errors.MetadataChangedException,
    delta_errors.ProtocolChangedException,
)


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn exceptions of Spark and Delta in the block into our errors."""
    try:
        yield
    except _CONFLICTS as error:
        raise LakeBusyError(f"{what}: another writer changed it at the same time; run it again") from error
    except (Py4JJavaError, PySparkException) as error:
        raise LakeError("; ".join(filter(None, (f"{what}: {root_cause(error)}", table_remedy(error))))) from error
