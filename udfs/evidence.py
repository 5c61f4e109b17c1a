"""Evidence of a write to a fault item: a line of the log, or an inference from the client's code."""

from __future__ import annotations

LOGGED = "LOGGED"
RECORDED = "RECORDED"
RETRY_RESULT = "INFERRED_RETRY_RESULT_BROKER"
RETRY_TEXT = "INFERRED_RETRY_TEXT"
RETRY_FIRST = "INFERRED_RETRY_FIRST"
RETRY_CHARGED = "INFERRED_RETRY_CHARGED"
RETRY_MIDDLE = "INFERRED_RETRY_MIDDLE"
SUBMIT_TIME = "INFERRED_SUBMIT_TIME"
REMOVED = "INFERRED_REMOVED"
ORDER = "INFERRED_ORDER"
DETECTOR = "INFERRED_DETECTOR"

EVIDENCES = (
    (LOGGED, "a line of the log says it"),
    (RECORDED, "the client itself decided it, and a recorder inside it wrote that down"),
    (RETRY_RESULT, "an async attempt was answered by another broker, so the broker it went to first had failed"),
    (RETRY_TEXT, "the error of an async attempt names the address of another broker: the last one tried"),
    (RETRY_FIRST, "the error of an async attempt names another broker, so the one it went to first had failed before"),
    (RETRY_CHARGED, "up to 4.9.2 a refused async retry is charged, with 3000 ms, to the broker tried before it"),
    (RETRY_MIDDLE, "an async attempt ran out of time after three tries: the broker tried between first and last"),
    (SUBMIT_TIME, "the callback overtook the submit hook, so the submit call's update is put right after it"),
    (REMOVED, "every broker was isolated and the attempt did not go to the fallback's pick, so the pick was removed"),
    (ORDER, "writes within a millisecond: where the sends went afterwards shows which of them came last"),
    (DETECTOR, "5.1.4: the broker answered somebody, so the next round of the detector found it reachable"),
)
"""Every value of `evidence`, and what it says. All but LOGGED and RECORDED are left out with `infer = false`."""
