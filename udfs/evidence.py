"""Evidence of a write to a fault item: what one line of the log shows, by itself or by the client's code."""

from __future__ import annotations

LOGGED = "LOGGED"
RECORDED = "RECORDED"
RETRY_RESULT = "INFERRED_RETRY_RESULT_BROKER"
RETRY_TEXT = "INFERRED_RETRY_TEXT"
RETRY_FIRST = "INFERRED_RETRY_FIRST"
RETRY_CHARGED = "INFERRED_RETRY_CHARGED"
SUBMIT_TIME = "INFERRED_SUBMIT_TIME"

EVIDENCES = (
    (LOGGED, "a line of the log says it"),
    (RECORDED, "the client itself decided it, and a recorder inside it wrote that down"),
    (RETRY_RESULT, "an async send was answered by another broker, so the broker it went to first had failed"),
    (RETRY_TEXT, "the error of an async send names the address of another broker: the last one tried"),
    (RETRY_FIRST, "the error of an async send names another broker, so the one it went to first had failed before"),
    (RETRY_CHARGED, "up to 4.9.2 a refused async retry is charged, with 3000 ms, to the broker tried before it"),
    (SUBMIT_TIME, "the callback overtook the submit hook, so the submit call's update is put right after it"),
)
"""Every value of `evidence`, and what it says."""
