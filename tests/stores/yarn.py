"""A real YARN on loopback: a resource manager and a node manager, whose clients find them by a folder of settings."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from urllib.request import urlopen
from xml.sax.saxutils import escape

from jobs.spark.environment import java_command
from tests.given.driven_client import SHORT
from tests.given.processes import wait_until
from tests.stores.hdfs import class_path
from tests.stores.servers import Servers, free_port

_BOUNCY_CASTLE = ("bcprov-jdk18on", "bcpkix-jdk18on", "bcutil-jdk18on")
_SERVER = "org.apache.hadoop.yarn.server"


class Yarn(Servers):
    """One node of four cores.

    Attributes:
        conf: `HADOOP_CONF_DIR` of its clients.
    """

    def __init__(self, folder: Path, file_system: str) -> None:
        super().__init__(folder)
        self.conf = folder / "conf"
        self._file_system, self._web_port = file_system, free_port()

    def bring_up(self) -> None:
        self.conf.mkdir()
        _write(self.conf / "core-site.xml", {"fs.defaultFS": self._file_system})
        _write(self.conf / "yarn-site.xml", self._settings())
        found = os.pathsep.join([str(self.conf), class_path(*_BOUNCY_CASTLE)])
        for name, program in (
            ("resource manager", "resourcemanager.ResourceManager"),
            ("node manager", "nodemanager.NodeManager"),
        ):
            command = [java_command(), *SHORT, "-Xmx384m", "-cp", found]
            self.start(name, [*command, f"{_SERVER}.{program}"])
        wait_until(self._is_whole, "YARN with its node")

    def said_by_containers(self) -> str:
        """All that drivers and executors wrote."""
        return "".join(file.read_text("utf-8", "replace") for file in sorted((self.folder / "logs").rglob("std*")))

    def _is_whole(self) -> bool:
        try:
            with urlopen(f"http://127.0.0.1:{self._web_port}/ws/v1/cluster/metrics", timeout=10) as told:
                return bool(json.load(told)["clusterMetrics"]["activeNodes"])
        except OSError:
            return False

    def _settings(self) -> dict[str, object]:
        manager, node = "yarn.resourcemanager", "yarn.nodemanager"
        asked = ("address", "scheduler.address", "resource-tracker.address", "admin.address")
        return {
            **{f"{manager}.{name}": f"127.0.0.1:{free_port()}" for name in asked},
            f"{manager}.hostname": "127.0.0.1",
            f"{manager}.webapp.address": f"127.0.0.1:{self._web_port}",
            f"{manager}.scheduler.class": f"{_SERVER}.resourcemanager.scheduler.fifo.FifoScheduler",
            f"{manager}.am.max-attempts": "1",
            "yarn.scheduler.minimum-allocation-mb": "256",
            f"{node}.hostname": "127.0.0.1",
            **{f"{node}.{name}": "127.0.0.1:0" for name in ("address", "localizer.address", "webapp.address")},
            f"{node}.resource.memory-mb": "6144",
            f"{node}.resource.cpu-vcores": "4",
            f"{node}.pmem-check-enabled": "false",
            f"{node}.vmem-check-enabled": "false",
            f"{node}.local-dirs": self.folder / "local",
            f"{node}.log-dirs": self.folder / "logs",
            f"{node}.delete.debug-delay-sec": "3600",  # what containers wrote stays
            f"{node}.disk-health-checker.max-disk-utilization-per-disk-percentage": "100",
        }


def _write(file: Path, settings: Mapping[str, object]) -> None:
    told = (
        f"<property><name>{name}</name><value>{escape(str(value))}</value></property>"
        for name, value in settings.items()
    )
    file.write_text(f"<configuration>{''.join(told)}</configuration>\n", encoding="utf-8")
