"""Round robin over a topic's queues, as clients choose: how likely a broker is passed by.

Each thread counts on its own, from anywhere, and takes one place of the list further with each choice; the list names
the queues broker by broker (`ThreadLocalIndex`, `TopicPublishInfo.selectOneMessageQueue` 4.7.1:70-94, 4.9.8:71-94;
`MQClientInstance.topicRouteData2TopicPublishInfo` 4.9.8:161-208).
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

_THREADS = (*range(1, 17), 20, 24, 32, 48, 64)


def chance_of_none(choices: Column, own_queues: Column, queues: Column) -> Column:
    """The greatest chance that none of so many choices falls on an available broker's queues.

    Greatest over the number of threads that made them, which a log need not tell: up to 16, some more, and one for each
    choice; of numbers in between it is at most a fiftieth more. Of a thread that makes m choices one after another,
    `queues - own_queues - m + 1` of the `queues` places where it may stand miss the broker. As many do at most where
    other choices lie between them, if no more than `own_queues - 1` at a time.

    Args:
        choices: of one topic, 1 or more.
        own_queues: of the broker, 1 or more.
        queues: of all brokers of the topic; while others are isolated, the chance is less.

    Returns:
        double from 0 to 1; null when an argument is.

    Examples:
        >>> rows = [(1, 4, 12), (6, 4, 12), (12, 4, 12), (24, 4, 12), (12, 16, 48), (1, 4, 4), (None, 4, 12)]
        >>> frame = spark.createDataFrame(rows, "choices int, own int, queues int")
        >>> chance = chance_of_none(F.col("choices"), F.col("own"), F.col("queues"))
        >>> frame.select("*", F.round(chance, 3).alias("chance")).show()
        +-------+---+------+------+
        |choices|own|queues|chance|
        +-------+---+------+------+
        |      1|  4|    12| 0.667|
        |      6|  4|    12|  0.25|
        |     12|  4|    12| 0.072|
        |     24|  4|    12| 0.005|
        |     12| 16|    48| 0.438|
        |      1|  4|     4|   0.0|
        |   NULL|  4|    12|  NULL|
        +-------+---+------+------+
        <BLANKLINE>
    """
    places = queues - own_queues + 1

    def by(threads: Column) -> Column:
        missed = F.greatest(F.lit(0.0), (places - choices / threads) / queues)
        return F.when(threads <= choices, F.pow(missed, threads))

    each = F.pow((places - 1) / queues, choices)
    return F.when(each.isNotNull(), F.greatest(each, *(by(F.lit(threads)) for threads in _THREADS)))
