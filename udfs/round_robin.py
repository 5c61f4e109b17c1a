"""Round robin over a topic's queues, as clients choose: how likely a broker is passed by.

Each thread counts on its own, from anywhere, and takes one place of the list further with each choice; the list names
the queues broker by broker (`ThreadLocalIndex`, `TopicPublishInfo.selectOneMessageQueue` 4.7.1:70-94, 4.9.8:71-94;
`MQClientInstance.topicRouteData2TopicPublishInfo` 4.9.8:161-208).
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

_THREADS = (*range(1, 17), 32)


def chance_of_none(choices: Column, own_queues: Column, queues: Column) -> Column:
    """The greatest chance that none of so many choices falls on an available broker's queues.

    Greatest over the number of threads that made them, which a log need not tell. Of a thread that makes m choices one
    after another, `queues - own_queues - m + 1` of the `queues` places where it may stand miss the broker.

    Args:
        choices: of one topic, one after another, 1 or more.
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

    def by(threads: int) -> Column:
        of_each = F.greatest(F.lit(1.0), choices / threads)
        missed = F.greatest(F.lit(0.0), (places - of_each) / queues)
        return F.when(choices.isNotNull(), F.pow(missed, F.least(F.lit(threads), choices)))

    return F.greatest(*(by(threads) for threads in _THREADS))
