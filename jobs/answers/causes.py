"""Causes of isolations in a few classes, one colour each."""

from __future__ import annotations

from collections.abc import Mapping

from udfs.plain_outcome import ANSWERS, EXCEPTIONS, SENT

SLOW, TIMED_OUT, NO_CONNECTION, REFUSED, HIDDEN, DETECTED, IN_CLIENT, OTHER = (
    "slow answer",
    "time-out",
    "no connection",
    "refused by the broker",
    "failed try inside the client, not logged",
    "probe of the client's detector",
    "error in the client",
    "other causes, each less",
)
CLASSES = {
    SLOW: "#e69f00",
    TIMED_OUT: "#cc79a7",
    NO_CONNECTION: "#0072b2",
    REFUSED: "#56b4e9",
    HIDDEN: "#009e73",
    DETECTED: "#b5a400",
    IN_CLIENT: "#8c6d46",
}
"""Class of causes to its colour, from the colour-blind-safe palette of Okabe and Ito, a darker yellow, and brown.

Vermilion is left out: it is too close to the orange. What has no class is grey.
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

_WORDS = {"LATENCY": SLOW, "HIDDEN_RETRY": HIDDEN, "DETECTOR": DETECTED}
_CLASS_OF = {
    **dict.fromkeys(EXCEPTIONS, IN_CLIENT),
    **dict.fromkeys(OUTCOME_CLASSES["TIME_OUT"], TIMED_OUT),
    **dict.fromkeys(OUTCOME_CLASSES["NO_CONNECTION"], NO_CONNECTION),
    **dict.fromkeys(OUTCOME_CLASSES["REFUSED"], REFUSED),
    **_WORDS,
}
_MOST_OWN = 4


def cause_words(cause: str | None) -> str | None:
    """A cause of an isolation for a reader: an exception by its name, the others in words.

    >>> cause_words("LATENCY"), cause_words("RemotingConnectException"), cause_words("HIDDEN_RETRY")
    ('slow answer', 'RemotingConnectException', 'failed try inside the client, not logged')
    """
    return _WORDS.get(cause or "", cause)


def classes_of(lengths: Mapping[str, int]) -> dict[str, str]:
    """Each cause's class. An unknown cause is a class of its own; of many, those that took least time are OTHER.

    >>> classes = classes_of({"LATENCY": 9, "a": 1, "b": 3, "c": 4, "d": 5, "e": 2})
    >>> [classes[cause] for cause in ("LATENCY", "d", "c", "b", "e", "a")]
    ['slow answer', 'd', 'c', 'b', 'e', 'other causes, each less']

    Args:
        lengths: cause, as `isolation_intervals` has it, to the time of its isolations.
    """
    own = sorted(lengths.keys() - _CLASS_OF, key=lambda cause: (-lengths[cause], cause))
    return {**dict.fromkeys(own, OTHER), **{cause: cause for cause in own[:_MOST_OWN]}, **_CLASS_OF}
