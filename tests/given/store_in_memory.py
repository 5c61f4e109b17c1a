"""A folder on a store, in memory, that refuses the second of two new files as HDFS does, as S3 does, or not at all."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from jobs.spark.store_folder import StoreFolder

Refuses = Literal["at create", "at close", "never"]


@dataclass
class StoreInMemory(StoreFolder):
    """Its files, and what happens before each request.

    Attributes:
        refuses: when the second of two that create a file is refused.
        now_ms: last change of what is written.
        contents: name to content.
        before: called before each request, with its number.
        lost: name of the file whose creation succeeds and is answered with a refusal.
        down: every request fails.
    """

    refuses: Refuses = "at close"
    now_ms: int = 0
    contents: dict[str, bytes] = field(default_factory=dict)
    changed_ms: dict[str, int] = field(default_factory=dict)
    before: Callable[[int], None] = lambda _: None
    lost: str = ""
    requests: int = 0
    down: bool = False

    def files(self) -> dict[str, int]:
        self._ask()
        return dict(self.changed_ms)

    def read(self, name: str, most_bytes: int) -> bytes:
        self._ask()
        if name not in self.contents:
            raise FileNotFoundError(errno.ENOENT, "it is gone")
        return self.contents[name][:most_bytes]

    def create(self, name: str) -> _New:  # type: ignore[override]  # a file of this store
        self._ask()
        if self.refuses == "at create":
            self._refuse(name)
            self._put(name, b"")
        return _New(self, name)

    def write(self, name: str, content: bytes) -> None:
        self._ask()
        self._put(name, content)

    def delete(self, name: str) -> None:
        self._ask()
        self.contents.pop(name, None)
        self.changed_ms.pop(name, None)

    def _ask(self) -> None:
        self.requests += 1
        if self.down:
            raise OSError(errno.EIO, "the store is down")
        self.before(self.requests)

    def _put(self, name: str, content: bytes) -> None:
        self.contents[name], self.changed_ms[name] = content, self.now_ms

    def _refuse(self, name: str) -> None:
        if name in self.contents:
            raise OSError(errno.EIO, "it is there")


@dataclass
class _New:
    store: StoreInMemory
    name: str

    def finish(self, content: bytes) -> None:
        self.store._ask()
        if self.store.refuses == "at close":
            self.store._refuse(self.name)
        self.store._put(self.name, content)
        if self.name == self.store.lost:
            self.store._refuse(self.name)
