"""A real HDFS on loopback: a name node and data nodes, a JVM each."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from jobs.spark.environment import java_command, spark_jars_folder
from tests.given.driven_client import SHORT
from tests.given.processes import wait_until
from tests.stores.servers import Servers, free_port, jars

_FROM_SPARK = ("hadoop-client-*.jar", "slf4j-api-*.jar", "log4j-*.jar", "jcl-over-slf4j-*.jar", "snappy-java-*.jar")
_NODES = "org.apache.hadoop.hdfs.server"


class Hdfs(Servers):
    """A file system of its own.

    Attributes:
        uri: of its root.
    """

    def __init__(self, folder: Path, data_nodes: int = 1) -> None:
        super().__init__(folder)
        self._port, self._web_port, self._data_nodes = free_port(), free_port(), data_nodes
        self.uri = f"hdfs://127.0.0.1:{self._port}"

    def bring_up(self) -> None:
        subprocess.run(
            [*self._command("namenode.NameNode"), "-format"], cwd=self.folder, check=True, capture_output=True
        )
        self.start_name_node()
        for number in range(self._data_nodes):
            self.start_data_node(number)
        self.wait_until_whole()

    def start_name_node(self) -> None:
        """At the same port each time."""
        self.start("name node", self._command("namenode.NameNode"))

    def start_data_node(self, number: int) -> None:
        """With the blocks that it has had."""
        self.start(f"data node {number}", self._command("datanode.DataNode", f"data {number}"))

    def wait_until_whole(self) -> None:
        """Every data node is known, and the name node takes writes."""
        wait_until(self._is_whole, "HDFS with all its nodes")

    def put(self, source: Path, target: str) -> None:
        """Copy the files below a folder to a path of this file system."""
        for file in filter(Path.is_file, source.rglob("*")):
            path = f"{target}/{file.relative_to(source)}?op=CREATE&noredirect=true&user.name=tests"
            with urlopen(Request(f"{self._web}/webhdfs/v1{path}", method="PUT")) as told:
                where = json.load(told)["Location"]
            with urlopen(Request(where, data=file.read_bytes(), method="PUT")):
                pass

    def text(self, path: str) -> str:
        """What is in a file of this file system."""
        with urlopen(f"{self._web}/webhdfs/v1{path}?op=OPEN&user.name=tests") as told:
            found: bytes = told.read()
        return found.decode()

    @property
    def _web(self) -> str:
        return f"http://127.0.0.1:{self._web_port}"

    def _is_whole(self) -> bool:
        try:
            live = self._bean("FSNamesystemState")["NumLiveDataNodes"]
            return bool(live == self._data_nodes and not self._bean("NameNodeInfo")["Safemode"])
        except (OSError, LookupError):
            return False

    def _bean(self, name: str) -> dict[str, Any]:
        with urlopen(f"{self._web}/jmx?qry=Hadoop:service=NameNode,name={name}", timeout=10) as told:
            found: dict[str, Any] = json.load(told)["beans"][0]
        return found

    def _command(self, node: str, data: str = "") -> list[str]:
        """Addresses are numbers: a machine need not know its own name."""
        settings = {
            "fs.defaultFS": self.uri,
            "hadoop.tmp.dir": self.folder / "tmp",
            "dfs.permissions.enabled": "false",
            "dfs.namenode.name.dir": self.folder / "names",
            "dfs.namenode.http-address": f"127.0.0.1:{self._web_port}",
            "dfs.namenode.safemode.extension": "0",
            "dfs.namenode.heartbeat.recheck-interval": "2000",  # a data node is dead after 14 s
            "dfs.heartbeat.interval": "1",
            "dfs.datanode.data.dir": self.folder / data,
            "dfs.datanode.address": "127.0.0.1:0",
            "dfs.datanode.http.address": "127.0.0.1:0",
            "dfs.datanode.ipc.address": "127.0.0.1:0",
            "dfs.datanode.hostname": "127.0.0.1",
        }
        given = [word for name, value in settings.items() for word in ("-D", f"{name}={value}")]
        return [java_command(), *SHORT, "-Xmx256m", "-cp", class_path(), f"{_NODES}.{node}", *given]


def class_path(*more: str) -> str:
    """Hadoop's servers, with what Spark brings of it, and further locked jars."""
    from_spark = [jar for pattern in _FROM_SPARK for jar in sorted(spark_jars_folder().glob(pattern))]
    return os.pathsep.join(map(str, [*jars("hadoop-client-minicluster", *more), *from_spark]))
