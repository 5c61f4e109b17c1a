"""`faultline serve` as a process of its own, and clients of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from jobs.spark.delta_jars import delta_jars

ROOT = Path(__file__).parents[2]
Ask = Callable[[str], list[tuple[str | None, ...]]]


class Served:
    """The process, and the URL that it names when it is ready."""

    def __init__(self, lake: Path, folder: Path, *options: str, memory: str = "1g") -> None:
        folder.mkdir()
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "jobs.cli", "serve", "--lake", str(lake), "--port", "0",
             "--set", f'spark."spark.driver.memory"={memory}', *options],
            cwd=folder,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "FAULTLINE_CACHE": str(delta_jars()[0].parent),
                "AWS_SECRET_ACCESS_KEY": "hush",
                "HIVE_SERVER2_THRIFT_BIND_HOST": "0.0.0.0",
            },
            stdout=subprocess.PIPE,
            stderr=os.open(folder / "err", os.O_CREAT | os.O_WRONLY),
            text=True,
        )  # fmt: skip
        self.url = self.next_url()

    def next_url(self) -> str:
        """Wait until it says that it is ready, the first time or again."""
        assert self.process.stdout
        ready = self.process.stdout.readline()
        assert "ready at" in ready, self.said()
        return str(re.findall(r"jdbc:hive2://\S+", ready)[0])

    def said(self) -> str:
        return (self.folder / "err").read_text()

    @property
    def port(self) -> int:
        return int(self.url.split(":")[3].split("/")[0])

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


def client(spark: SparkSession, url: str) -> Ask:
    """A connection over JDBC; an answer is rows of texts."""
    jvm: Any = spark._jvm
    jvm.java.lang.Class.forName("org.apache.hive.jdbc.HiveDriver")
    connection = jvm.java.sql.DriverManager.getConnection(url, "anyone", "")

    def ask(sql: str) -> list[tuple[str | None, ...]]:
        result = connection.createStatement().executeQuery(sql)
        rows = []
        while result.next():
            rows.append(tuple(result.getString(place + 1) for place in range(result.getMetaData().getColumnCount())))
        return rows

    return ask
