"""Names of outcomes, without Spark."""

from __future__ import annotations

import re

ANSWERS = ("SEND_OK", "FLUSH_DISK_TIMEOUT", "FLUSH_SLAVE_TIMEOUT", "SLAVE_NOT_AVAILABLE")
"""SendStatus: the broker answered, so the send counts with its latency."""

SENT = "SENT"
"""One-way: handed over, no answer expected."""

REMOTING = (
    "RemotingException",
    "RemotingCommandException",
    "RemotingConnectException",
    "RemotingSendRequestException",
    "RemotingTimeoutException",
    "RemotingTooMuchRequestException",
)
"""RemotingException and its subclasses in rocketmq-remoting."""

EXCEPTIONS = (*REMOTING, "MQBrokerException", "MQClientException")
"""What isolates a broker in RocketMQ's clients."""

OUTCOMES = (*ANSWERS, SENT, *EXCEPTIONS, "InterruptedException")
"""How a send attempt ends in RocketMQ's clients; a log may have any exception."""

EXCEPTION = r"^([A-Za-z_$][\w$]*)?(Exception|Error|Throwable)$"
"""What the simple class name of an exception looks like."""

_EXCEPTION = re.compile(EXCEPTION, re.ASCII)


def is_plain_known_outcome(text: str) -> bool:
    """`udfs.outcome.is_known_outcome` for one text.

    >>> [is_plain_known_outcome(text) for text in ("SEND_OK", "SENT", "MQBrokerException", "OK", "send_ok")]
    [True, True, True, False, False]
    """
    return text in {*ANSWERS, SENT} or bool(_EXCEPTION.fullmatch(text))


def is_plain_failure(text: str) -> bool:
    """Whether the text is an outcome, and no answer: the caller got an exception.

    >>> [is_plain_failure(text) for text in ("MQClientException", "SENT", "OK")]
    [True, False, False]
    """
    return bool(_EXCEPTION.fullmatch(text))
