"""Round robin over a topic's queues, as clients choose: how likely a broker is passed by.

Each thread counts on its own, from anywhere, and takes one place of the list further with each choice; the list names
the queues broker by broker (`ThreadLocalIndex`, `TopicPublishInfo.selectOneMessageQueue` 4.7.1:70-94, 4.9.8:71-94;
`MQClientInstance.topicRouteData2TopicPublishInfo` 4.9.8:161-208).
"""

from __future__ import annotations

import math

_THREADS = (*range(1, 17), 20, 24, 32, 48, 64)


def chance_of_none(choices: int, own_queues: int, queues: int) -> float:
    """The greatest chance that none of so many choices falls on an available broker's queues.

    Greatest over the number of threads that made them, which a log need not tell: up to 16, some more, and one for each
    choice; of numbers in between it is at most a fiftieth more. Of a thread that makes m choices one after another,
    `queues - own_queues - m + 1` of the `queues` places where it may stand miss the broker. As many do at most where
    other choices lie between them, if no more than `own_queues - 1` at a time.

    Args:
        choices: of one topic, 1 or more.
        own_queues: of the broker, 1 or more.
        queues: of all brokers of the topic; while others are isolated, the chance is less.

    Examples:
        >>> rows = [(1, 4, 12), (6, 4, 12), (12, 4, 12), (24, 4, 12), (12, 16, 48), (1, 4, 4)]
        >>> [round(chance_of_none(*row), 3) for row in rows]
        [0.667, 0.25, 0.072, 0.005, 0.438, 0.0]
    """
    places = queues - own_queues + 1
    by_threads = [
        math.pow(max(0.0, (places - choices / threads) / queues), threads) for threads in _THREADS if threads <= choices
    ]
    return max(math.pow((places - 1) / queues, choices), *by_threads)
