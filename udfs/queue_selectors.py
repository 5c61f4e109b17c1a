"""Queue selectors of the producer side: which queue an order key leads to.

`SelectMessageQueueByRandom` draws from a generator of its own: no record tells what it drew.
"""

from __future__ import annotations

from udfs.java_text import INT_MIN, string_hash

_ABS_AFTER_MODULO = 40800  # 4.8.0: Math.abs of the remainder; before, the remainder of Math.abs


def select_by_hash(key: str | int, queues: int, version: int) -> int:
    """Index that `SelectMessageQueueByHash` picks among `queues`.

    Args:
        key: the order key; an int is the `hashCode` of a key that is no String.
        queues: number of queues to send to.
        version: client version as `udfs.version` numbers it.

    Raises:
        IndexError: before 4.8.0 for a hash of `Integer.MIN_VALUE`, where Java throws IndexOutOfBoundsException
            unless the remainder is 0.

    >>> select_by_hash("192.168.0.1@1-0", 17, 50303)
    14
    """
    code = string_hash(key) if isinstance(key, str) else key
    if version >= _ABS_AFTER_MODULO:
        return abs(code) % queues  # |remainder| = remainder of the magnitude
    if code == INT_MIN:  # Math.abs(Integer.MIN_VALUE) is negative
        index = -((2**31) % queues)
        if index < 0:
            raise IndexError(f"SelectMessageQueueByHash of {key!r} is {index}")
        return index
    return abs(code) % queues


def select_by_machine_room() -> None:
    """`SelectMessageQueueByMachineRoom` returns null for everything, 4.0.0 to 5.5.0: the send fails."""
