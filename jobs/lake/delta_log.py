"""A table's Delta log, file by file: a gap, a broken commit, a checkpoint that cannot be read.

Readers stop at the first of these with a message of their library, or read on without a commit that is empty.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet
from pyarrow.fs import FileSelector, FileSystem, LocalFileSystem, SubTreeFileSystem

LOG = "_delta_log"
HINT = f"{LOG}/_last_checkpoint"
_REBUILD = "put it back from a copy of the lake, or move the table's folder away and publish its days again"
_READABLE = "let the user that this runs as read it"
_COMMIT = re.compile(rf"{LOG}/(\d{{20}})\.json")
_CHECKPOINT = re.compile(  # whole, in parts, or of version 2, which another tool may switch on
    rf"{LOG}/(\d{{20}})\.checkpoint(?:(?:\.\d{{10}}\.(\d{{10}}))?\.parquet|\.[0-9a-f-]{{36}}\.(?:parquet|json))"
)

Problem = tuple[str, str]
"""A problem, and its fix."""


@dataclass(frozen=True)
class TableLog:
    """The log of one table.

    Attributes:
        store: the table's folder.
        sizes: every file below it, by path, in bytes.
    """

    store: FileSystem
    sizes: Mapping[str, int]

    @staticmethod
    def of_folder(folder: Path) -> TableLog:
        """The log of a table in a local folder."""
        store = SubTreeFileSystem(str(folder.absolute()), LocalFileSystem())
        files = store.get_file_info(FileSelector(LOG, allow_not_found=True))
        return TableLog(store, {file.path: file.size for file in files if file.is_file})

    @cached_property
    def commits(self) -> dict[int, str]:
        """Version to file, in order."""
        found = ((match, path) for path in self.sizes if (match := _COMMIT.fullmatch(path)))
        return {int(match[1]): path for match, path in sorted(found, key=lambda each: each[1])}

    @cached_property
    def checkpoints(self) -> dict[int, list[str]]:
        """Version to files, of checkpoints that have all their parts."""
        parts: dict[int, list[str]] = {}
        whole: dict[int, int] = {}
        for path in sorted(self.sizes):
            if match := _CHECKPOINT.fullmatch(path):
                parts.setdefault(int(match[1]), []).append(path)
                whole[int(match[1])] = int(match[2] or 1)
        return {version: paths for version, paths in parts.items() if len(paths) >= whole[version]}

    def problems(self) -> Iterator[Problem]:
        """Problems of the log; none when all is well."""
        yield from self._since(min([*self.commits, self._last_checkpoint + 1]))
        if HINT in self.sizes:
            yield from self._looked_into(self._hint, HINT)

    def newest_problems(self) -> Iterator[Problem]:
        """Problems of the files that the newest version consists of: the last checkpoint and the commits after it."""
        yield from self._since(self._last_checkpoint + 1)

    @property
    def _last_checkpoint(self) -> int:
        return max(self.checkpoints, default=-1)

    def _since(self, first: int) -> Iterator[Problem]:
        """Of the commits from `first` on, and of the last checkpoint."""
        yield from self._missing(first)
        for version, path in self.commits.items():
            if version >= first:
                yield from self._looked_into(self._commit, path)
        for path in self.checkpoints.get(self._last_checkpoint, ()):
            yield from self._looked_into(self._checkpoint, path)

    def _missing(self, first: int) -> Iterator[Problem]:
        for version in range(first, max([*self.commits, *self.checkpoints], default=-1) + 1):
            if version not in self.commits:
                yield f"{LOG}/{version:020}.json is missing", _REBUILD

    def _looked_into(self, look: Callable[[str], Iterator[Problem]], path: str) -> Iterator[Problem]:
        """Problems that `look` finds in the file; one that may not be read is a problem itself."""
        try:
            yield from look(path)
        except OSError as error:
            yield f"{path} cannot be read ({error})", _READABLE

    def _commit(self, path: str) -> Iterator[Problem]:
        lines = self._read(path).splitlines()
        if not lines:
            yield f"{path} is empty", self._cut_short(path)
        for number, line in enumerate(lines, 1):
            try:
                json.loads(line)
            except ValueError:
                yield f"{path} line {number} is no JSON", self._cut_short(path)
                return

    def _cut_short(self, path: str) -> str:
        if path == self.commits[max(self.commits)]:
            return "it is the last commit: delete it, the table is then as before it, and run that day again"
        return _REBUILD

    def _checkpoint(self, path: str) -> Iterator[Problem]:
        fix = f"delete it and {HINT}; the commits before it are all there" if 0 in self.commits else _REBUILD
        if path.endswith(".json"):
            if not self._holds_actions(path):
                yield f"{path} is no JSON", fix
            return
        with self.store.open_input_file(path) as file:
            try:
                parquet.read_metadata(file)
            except (OSError, pa.ArrowException):
                yield f"{path} is no Parquet file", fix

    def _holds_actions(self, path: str) -> bool:
        """Whether the file holds a JSON object in each line."""
        try:
            lines = [json.loads(line) for line in self._read(path).splitlines()]
        except ValueError:
            return False
        return bool(lines) and all(isinstance(line, dict) for line in lines)

    def _hint(self, path: str) -> Iterator[Problem]:
        try:
            version = json.loads(self._read(path))["version"]
        except (ValueError, KeyError, TypeError):
            found = "is no JSON with a version"
        else:
            if version in self.checkpoints:
                return
            found = f"names the checkpoint {version}, which is not there"
        yield f"{path} {found}", "delete it; it only saves readers a look into the folder"

    def _read(self, path: str) -> bytes:
        with self.store.open_input_stream(path) as stream:
            return bytes(stream.read())
