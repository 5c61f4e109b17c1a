"""What one line of an async send shows of its tries, as conditions on its columns.

A log line is one try (`one_line_per` is TRY) or a whole send: then it has the first broker and the last outcome, and
hides the client's retries in between (`MQClientAPIImpl.onExceptionImpl` 4.9.8:607, 5.3.3:703).
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from udfs.choice import began_at_ms
from udfs.outcome import is_answer

TRY, CALL = "TRY", "CALL"
"""`one_line_per` of a line that is one try of an async send, and of one that is a call of `send()`."""
_AT_ONCE_MS = 1
_NOT_REFUSED_AFTER_MS = 20


def is_one_try() -> Column:
    """The line is one try of an async send, so it hides none."""
    return F.coalesce(F.col("one_line_per") == TRY, F.lit(False))


def answering_broker() -> Column:
    """The broker of the answer."""
    first = F.col("addressed_broker")
    return F.when(is_one_try(), first).otherwise(F.coalesce("result_broker_name", first))


def was_retried() -> Column:
    """Another broker answered than the one that the send went to first."""
    return is_answer(F.col("effective_outcome")) & (answering_broker() != F.col("addressed_broker"))


def failed_in_callback() -> Column:
    """A hidden first failure cannot have come at the submit call: that returned at once, and the end came later.

    A broker that refuses the connection does so within the submit call, and the retry is answered within milliseconds.
    """
    submitted = F.col("submitted_at_ms")
    at_once = submitted - began_at_ms() <= _AT_ONCE_MS
    return F.coalesce(at_once & (F.col("ended_at_ms") - submitted > _NOT_REFUSED_AFTER_MS), F.lit(False))
