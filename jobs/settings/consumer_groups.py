"""Settings of consumer groups and client logs: what snapshots do not show."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from jobs.errors import SettingValueError
from jobs.settings.time_zone import check_time_zone
from udfs.plain_version import plain_version_number
from udfs.strategy import NEARBY, OF_CLIENTS

_MOST_NODES = 100_000


def check_version(text: str | None) -> None:
    """Refuse an invalid client version.

    Raises:
        SettingValueError: it is invalid.
    """
    if text is not None and plain_version_number(text) == 0:
        raise SettingValueError(f"client_version {text!r} is not a version; give one such as 4.9.8")


@dataclass(frozen=True)
class StrategySettings:
    """Settings of one client's allocation, as its code configures it; absent keys come from group or snapshots."""

    strategy: str | None = None
    machine_rooms: tuple[str, ...] | None = None
    broker_room: str | None = None
    client_room: str | None = None
    virtual_nodes: int | None = None
    client_charset: str | None = None
    client_version: str | None = None
    queues: tuple[tuple[str, int], ...] | None = None

    def __post_init__(self) -> None:
        check_version(self.client_version)
        if self.strategy is not None:
            inner = self.strategy.removeprefix(NEARBY)
            if inner not in OF_CLIENTS:
                known = ", ".join((*OF_CLIENTS, f"{NEARBY}<one of these>"))
                raise SettingValueError(f"strategy {self.strategy!r} is unknown; known are {known}")
            if self.strategy.startswith(NEARBY) and inner == "CONFIG":
                raise SettingValueError("MACHINE_ROOM_NEARBY-CONFIG does not exist; give another inner strategy")
        for name in ("broker_room", "client_room"):
            pattern = getattr(self, name)
            if pattern is not None:
                _check_room(name, pattern)
        if self.virtual_nodes is not None and self.virtual_nodes > _MOST_NODES:
            raise SettingValueError(
                f"virtual_nodes is {self.virtual_nodes}; give at most {_MOST_NODES} for each client"
            )
        if self.client_charset is not None:
            try:
                "".encode(self.client_charset)
            except LookupError:
                raise SettingValueError(f"client_charset {self.client_charset!r} is unknown; try UTF-8") from None


@dataclass(frozen=True)
class GroupSettings(StrategySettings):
    """`[groups."NAME"]`: one consumer group; `clients` has what differs for one member."""

    topics: tuple[str, ...] | None = None
    message_model: Literal["CLUSTERING", "BROADCASTING"] | None = None
    client_rebalance: bool | None = None
    request_mode: Literal["POP", "PULL"] | None = None
    pop_share_queue_num: int | None = None
    clients: dict[str, StrategySettings] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.request_mode == "POP" and self.pop_share_queue_num is None:
            raise SettingValueError('request_mode "POP" needs pop_share_queue_num; -1 is the broker\'s default')


@dataclass(frozen=True)
class ClientLogSettings:
    """`[client_logs."FOLDER OR GLOB"]`: what a client's log does not contain."""

    client_version: str | None = None
    time_zone: str | None = None
    client_id: str | None = None

    def __post_init__(self) -> None:
        check_version(self.client_version)
        check_time_zone(self.time_zone)


def _check_room(name: str, pattern: str) -> None:
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise SettingValueError(f"{name} {pattern!r} is not a pattern: {error}") from None
    if groups < 1:
        raise SettingValueError(f"{name} {pattern!r} has no group; put the room in parentheses, such as ^([^@]*)")
