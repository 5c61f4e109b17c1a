"""Causes of isolations in a few classes, one colour each."""

from __future__ import annotations

from udfs.plain_outcome import ANSWERS, EXCEPTIONS, SENT

SLOW, TIMED_OUT, NO_CONNECTION, REFUSED, HIDDEN, OTHER = (
    "slow answer",
    "time-out",
    "no connection",
    "refused by the broker",
    "failed try inside an async send",
    "other",
)
CLASSES = {
    SLOW: "#e69f00",
    TIMED_OUT: "#cc79a7",
    NO_CONNECTION: "#0072b2",
    REFUSED: "#56b4e9",
    HIDDEN: "#009e73",
    OTHER: "#808080",
}
"""Class of causes to its colour, from the colour-blind-safe palette of Okabe and Ito, and grey.

Vermilion is left out: it is too close to the orange.
"""

CAUSES = ("LATENCY", *EXCEPTIONS)
"""What starts an isolation in RocketMQ's clients; a log may have other causes."""

OUTCOME_CLASSES = {
    "ANSWERED": (*ANSWERS, SENT),
    "TIME_OUT": ("RemotingTimeoutException", "RemotingTooMuchRequestException"),
    "NO_CONNECTION": ("RemotingConnectException", "RemotingSendRequestException"),
    "REFUSED": ("MQBrokerException",),
    "OTHER": (),
}
"""Class of outcomes to its outcomes; all others are OTHER."""

_CLASS_OF = {
    "LATENCY": SLOW,
    **dict.fromkeys(OUTCOME_CLASSES["TIME_OUT"], TIMED_OUT),
    **dict.fromkeys(OUTCOME_CLASSES["NO_CONNECTION"], NO_CONNECTION),
    **dict.fromkeys(OUTCOME_CLASSES["REFUSED"], REFUSED),
    "HIDDEN_RETRY": HIDDEN,
}


def cause_class(cause: str) -> str:
    """The class of a cause as `isolation_intervals` has it.

    >>> cause_class("LATENCY"), cause_class("RemotingConnectException"), cause_class("HIDDEN_RETRY")
    ('slow answer', 'no connection', 'failed try inside an async send')
    """
    return _CLASS_OF.get(cause, OTHER)
