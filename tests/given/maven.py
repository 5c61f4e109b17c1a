"""Jars that Maven brings, each set in a folder of its own below `.faultline`."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>tests</groupId><artifactId>jars</artifactId><version>1</version><dependencies>{dependencies}</dependencies></project>"""
_DEPENDENCY = """<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>
<version>{version}</version></dependency>"""
ROCKETMQ = "org.apache.rocketmq"


def jars_by_maven(folder: Path, group: str, names: Sequence[str], version: str) -> list[Path]:
    """The artifacts and what they need at run time; what the folder has already stays."""
    if not list(folder.glob("*.jar")):
        folder.mkdir(parents=True, exist_ok=True)
        dependencies = "".join(_DEPENDENCY.format(group=group, name=name, version=version) for name in names)
        (folder / "pom.xml").write_text(_POM.format(dependencies=dependencies), encoding="utf-8")
        copy = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={folder}"]
        subprocess.run(["mvn", "-q", "-B", "-f", str(folder / "pom.xml"), *copy], check=True)
    return sorted(folder.glob("*.jar"))
