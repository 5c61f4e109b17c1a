"""Writes dist/faultline-<version>.cdx.json: `python -m bin.sbom`.

A CycloneDX 1.6 list of what a run uses, as requirements.lock and conf/jars.toml pin it: licences, and the sha256 of
each file that may be installed. The jars of Spark are inside pyspark and not listed one by one. SOURCE_DATE_EPOCH,
where set, is its time: the same locks then give the same bytes.
"""

from __future__ import annotations

import datetime as dt
import os
import tomllib
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

from bin.licences import jars, packages
from bin.locks import entries

_LOCK, _JARS = "requirements.lock", "conf/jars.toml"


def listed(project: Mapping[str, str]) -> str:
    """The list as JSON, for the table `[project]` of pyproject.toml.

    Raises:
        ValueError: it is not valid by the schema of CycloneDX.
    """
    name, version = project["name"], project["version"]
    bom = Bom(components=[*_packages(), *_jars()])
    bom.metadata.component = Component(
        name=name,
        version=version,
        type=ComponentType.APPLICATION,
        bom_ref=name,
        description=project["description"],
        licenses=[LicenseFactory().make_from_string(project["license"])],
    )
    if epoch := os.environ.get("SOURCE_DATE_EPOCH"):
        bom.metadata.timestamp = dt.datetime.fromtimestamp(int(epoch), dt.UTC)
    told = [name, version, f"{bom.metadata.timestamp}", *sorted(f"{each.bom_ref.value}" for each in bom.components)]
    bom.serial_number = uuid.uuid5(uuid.NAMESPACE_OID, " ".join(told))
    bom.register_dependency(bom.metadata.component, bom.components)
    text = JsonV1Dot6(bom).output_as_string(indent=1)
    if problem := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        raise ValueError(problem)
    return f"{text}\n"


def _packages() -> Iterator[Component]:
    lock = Path(_LOCK)
    licences = {(name, version): licence for name, version, licence in packages(lock)}
    for entry in entries(lock.read_text(encoding="utf-8")):
        purl = PackageURL("pypi", name=entry.name, version=entry.version)
        yield _library(purl, entry.hashes, licences[entry.name, entry.version])


def _jars() -> Iterator[Component]:
    licences = {(name, version): licence for name, version, licence in jars(_JARS)}
    for jar in tomllib.loads(Path(_JARS).read_text(encoding="utf-8"))["jar"]:
        purl = PackageURL("maven", jar["group"], jar["name"], jar["version"])
        yield _library(purl, [jar["sha256"]], licences[f"{jar['group']}:{jar['name']}", jar["version"]])


def _library(purl: PackageURL, sha256: Sequence[str], licence: str) -> Component:
    return Component(
        name=purl.name,
        group=purl.namespace,
        version=purl.version,
        bom_ref=str(purl),
        purl=purl,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=each) for each in sha256],
        licenses=[LicenseFactory().make_from_string(licence)],
    )


def main() -> None:
    """Write the file."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    file = Path("dist", f"{project['name']}-{project['version']}.cdx.json")
    file.parent.mkdir(exist_ok=True)
    file.write_text(listed(project), encoding="utf-8")


if __name__ == "__main__":
    main()
