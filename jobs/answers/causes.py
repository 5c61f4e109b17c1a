"""Causes of isolations, in as few classes as colours can show."""

from __future__ import annotations

SLOW, TIMED_OUT, NO_CONNECTION, REFUSED, OTHER = (
    "slow answer",
    "time-out",
    "no connection",
    "refused by the broker",
    "other",
)
CLASSES = {SLOW: "#e69f00", TIMED_OUT: "#d55e00", NO_CONNECTION: "#0072b2", REFUSED: "#cc79a7", OTHER: "#009e73"}
"""Class of causes to its colour, of the palette by Okabe and Ito, which colour-blind people tell apart."""

_EXCEPTIONS = (
    "RemotingException",
    "RemotingCommandException",
    "RemotingConnectException",
    "RemotingSendRequestException",
    "RemotingTimeoutException",
    "RemotingTooMuchRequestException",
    "MQBrokerException",
    "MQClientException",
)
CAUSES = ("LATENCY", *_EXCEPTIONS)
"""What opens an isolation in RocketMQ's clients; a log may name others."""

OUTCOME_CLASSES = {
    "ANSWERED": ("SEND_OK", "FLUSH_DISK_TIMEOUT", "FLUSH_SLAVE_TIMEOUT", "SLAVE_NOT_AVAILABLE", "SENT"),
    "TIME_OUT": ("RemotingTimeoutException", "RemotingTooMuchRequestException"),
    "NO_CONNECTION": ("RemotingConnectException", "RemotingSendRequestException"),
    "REFUSED": ("MQBrokerException",),
    "OTHER": (),
}
"""Class of outcomes to its outcomes; all others are OTHER."""

OUTCOMES = (*OUTCOME_CLASSES["ANSWERED"], *_EXCEPTIONS, "InterruptedException")
"""How a send attempt ends in RocketMQ's clients; a log may name other exceptions."""

_CLASS_OF = {
    "LATENCY": SLOW,
    "RemotingTimeoutException": TIMED_OUT,
    "RemotingTooMuchRequestException": TIMED_OUT,
    "RemotingConnectException": NO_CONNECTION,
    "RemotingSendRequestException": NO_CONNECTION,
    "MQBrokerException": REFUSED,
}


def cause_class(cause: str) -> str:
    """The class of a cause as `isolation_intervals` has it.

    >>> cause_class("LATENCY"), cause_class("RemotingConnectException"), cause_class("HIDDEN_RETRY")
    ('slow answer', 'no connection', 'other')
    """
    return _CLASS_OF.get(cause, OTHER)
