"""Settings of inputs: their paths, and the mapping of a site's own send log to ours."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

SendsFormat = Literal["auto", "jsonl", "csv", "parquet"]


Unit = Literal["ns", "us", "ms", "s", "iso8601"]


@dataclass(frozen=True)
class FieldSource:
    """Source of one canonical field of a send in a site's own log.

    `column` is the site's name, dotted when nested (`ctx.broker`); `unit` what its number counts.
    """

    SHORT: ClassVar[str] = "column"

    column: str
    unit: Unit | None = None


@dataclass(frozen=True)
class SendsInput:
    """`[inputs.sends]`: files of send attempts."""

    SHORT: ClassVar[str] = "path"

    path: tuple[str, ...] = ()
    format: SendsFormat = "auto"
    fields: dict[str, FieldSource] = field(default_factory=dict)


@dataclass(frozen=True)
class FilesInput:
    """`[inputs.routes]` and the like: files of one kind."""

    SHORT: ClassVar[str] = "path"

    path: tuple[str, ...] = ()


@dataclass(frozen=True)
class Inputs:
    """`[inputs]`: where each kind of input lies. A path is a file, a folder or a glob.

    Attributes:
        sends: send attempts.
        routes: topic routes over time; they also tell the name of a broker from its address.
        consumers: each broker's answers on who is in a consumer group.
        running_info: consumers' own answers on what they hold.
        client_logs: `rocketmq_client.log` of consumers.
    """

    sends: SendsInput = SendsInput()
    routes: FilesInput = FilesInput()
    consumers: FilesInput = FilesInput()
    running_info: FilesInput = FilesInput()
    client_logs: FilesInput = FilesInput()
