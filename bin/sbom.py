"""Writes dist/faultline-<version>.cdx.json: `python -m bin.sbom`.

A CycloneDX 1.6 list of what a run uses, as requirements.lock and conf/jars.toml pin it, on any Python; with what is
inside of that: Spark's jars and plotly.js. What needs what is as on this Python. The sha256 of a package with several
files is at each file's reference. Jars without Maven's pom.properties have no purl, and no jar of Spark has a
licence here: pyspark/licenses has them. SOURCE_DATE_EPOCH, where set, is its time: the same locks then give the same
bytes.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import re
import tomllib
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import chain, groupby
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bin.licences import PLOTLY_JS, jars, packages, plotly_js
from bin.locks import dependencies, entries, needed

_LOCK, _JARS = "requirements.lock", "conf/jars.toml"


def listed(project: Mapping[str, Any]) -> str:
    """The list as JSON, for the table `[project]` of pyproject.toml.

    Raises:
        ValueError: it is not valid by the schema of CycloneDX.
    """
    name, version = project["name"], project["version"]
    locked = {name: list(pins) for name, pins in groupby(_packages(project), lambda each: str(each.name))}
    inside = {"plotly": [_plotly_js()], "pyspark": list(_jars_of_spark())}
    own_jars = list(_jars())
    bom = Bom(components=chain(*locked.values(), *inside.values(), own_jars))
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
    pins = [*project["dependencies"], *project["optional-dependencies"]["report"]]
    bom.register_dependency(bom.metadata.component, [*own_jars, *_of(pins, locked)])
    for name, versions in locked.items():
        for package in versions:
            of_it = _of(dependencies(Requirement(name)), locked)
            bom.register_dependency(package, [*of_it, *inside.get(name, ())])
    text = JsonV1Dot6(bom).output_as_string(indent=1)
    if problem := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        raise ValueError(problem)
    return f"{text}\n"


def _of(requirements: Iterable[str], locked: Mapping[str, Sequence[Component]]) -> Iterator[Component]:
    for text in requirements:
        yield from locked[canonicalize_name(Requirement(text).name)]


def _packages(project: Mapping[str, Any]) -> Iterator[Component]:
    """Those of the lock, but what only builds the wheel."""
    lock = Path(_LOCK)
    licences = {(name, version): licence for name, version, licence in packages(lock)}
    with_build, without = (
        {canonicalize_name(each.name) for each in needed(project, extras)}
        for extras in (("report", "build"), ("report",))
    )
    for entry in entries(lock.read_text(encoding="utf-8")):
        if entry.name not in with_build - without:
            purl = PackageURL("pypi", name=entry.name, version=entry.version)
            yield _library(purl, entry.hashes, licences[entry.name, entry.version])


def _plotly_js() -> Component:
    _, version, licence = plotly_js()
    purl = PackageURL("npm", name="plotly.js", version=version)
    return _library(purl, [_sha256(files("plotly") / PLOTLY_JS)], licence)


def _jars() -> Iterator[Component]:
    licences = {(name, version): licence for name, version, licence in jars(_JARS)}
    for jar in tomllib.loads(Path(_JARS).read_text(encoding="utf-8"))["jar"]:
        purl = PackageURL("maven", jar["group"], jar["name"], jar["version"])
        yield _library(purl, [jar["sha256"]], licences[f"{jar['group']}:{jar['name']}", jar["version"]])


def _jars_of_spark() -> Iterator[Component]:
    """By name and version of their files; `connect-repl` has some twice, for Spark Connect's shell."""
    folder = Path(str(files("pyspark")))
    for file in sorted(folder.glob("jars/**/*.jar")):
        name, version = re.fullmatch(r"(.+)-(\d[^-]*\..*)", file.stem).groups()  # type: ignore[union-attr]
        with ZipFile(file) as jar:
            poms = [path for path in jar.namelist() if re.fullmatch(f"META-INF/maven/.*/{name}/pom.properties", path)]
            told = dict(re.findall(r"^(\w+)=(.+?)\s*$", jar.read(poms[0]).decode(), re.MULTILINE)) if poms else {}
        yield Component(
            name=name,
            group=told.get("groupId"),
            version=version,
            bom_ref=f"pyspark/{file.relative_to(folder).as_posix()}",
            purl=PackageURL("maven", told["groupId"], name, told["version"]) if told else None,
            hashes=[_hash(_sha256(file))],
        )


def _library(purl: PackageURL, sha256: Sequence[str], licence: str) -> Component:
    return Component(
        name=purl.name,
        group=purl.namespace,
        version=purl.version,
        bom_ref=str(purl),
        purl=purl,
        hashes=[_hash(each) for each in sha256 if len(sha256) == 1],
        external_references=[_file(purl, each) for each in sha256 if len(sha256) > 1],
        licenses=[LicenseFactory().make_from_string(licence)],
    )


def _file(purl: PackageURL, sha256: str) -> ExternalReference:
    """One of several files: which one is installed depends on system and Python."""
    place = XsUri(str(purl._replace(qualifiers={"checksum": f"sha256:{sha256}"})))
    return ExternalReference(type=ExternalReferenceType.DISTRIBUTION, url=place, hashes=[_hash(sha256)])


def _hash(sha256: str) -> HashType:
    return HashType(alg=HashAlgorithm.SHA_256, content=sha256)


def _sha256(file: Traversable) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def main() -> None:
    """Write the file."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    file = Path("dist", f"{project['name']}-{project['version']}.cdx.json")
    file.parent.mkdir(exist_ok=True)
    file.write_text(listed(project), encoding="utf-8")


if __name__ == "__main__":
    main()
