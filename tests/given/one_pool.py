"""What Spark warns of a window that takes all rows to one task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F

ONE_POOL = "No Partition Defined for Window"


@contextmanager
def warned_of_windows(spark: SparkSession) -> Iterator[Callable[[], str]]:
    """In the block: what Spark has warned of windows so far; it has been seen to warn."""
    log4j = spark._jvm.org.apache.logging.log4j  # type: ignore[union-attr]
    name, said = "org.apache.spark.sql.execution.window", spark._jvm.java.io.StringWriter()  # type: ignore[union-attr]
    logger = log4j.LogManager.getLogger(name)
    appender = log4j.core.appender.WriterAppender.createAppender(None, None, said, "tests", False, True)
    appender.start()
    logger.addAppender(appender)
    usual = logger.getLevel()
    log4j.core.config.Configurator.setLevel(name, log4j.Level.WARN)
    try:
        spark.range(3).select(F.row_number().over(Window.orderBy("id"))).collect()
        assert ONE_POOL in said.toString()
        said.getBuffer().setLength(0)
        yield said.toString
    finally:
        logger.removeAppender(appender)
        log4j.core.config.Configurator.setLevel(name, usual)
