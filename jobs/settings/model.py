"""Settings: closed, typed, frozen. Files first, then `--set`, then options; later ones win key by key.

A relative path in a settings file is relative to that file's folder; on the command line, to the
working directory. Mistakes are reported before Spark starts: an unknown key with the nearest known one,
a wrong type with the value, an invalid value with the reason.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from jobs.errors import SettingValueError
from jobs.settings.consumer_groups import ClientLogSettings, GroupSettings, check_version
from jobs.settings.inputs import Inputs, OneLinePer
from jobs.uri import is_elsewhere

_LONGEST_MS = 100 * 365 * 86_400_000  # this long after any log's last instant is still a valid instant
_LONGEST_DAYS = 100 * 365
_WITHOUT_ROWS = (
    "lake",
    "date",
    "max_bad_fraction",
    "owners",
    "retention",
    "export",
    "notify",
    "single_writer",
    "spark",
    "origins",
)
"""Settings that no row depends on."""
_OF_GROUPS = ("max_staleness_ms", "groups")
_UNREAD_BY = {
    "FAULT_LATENCY": (*_OF_GROUPS, "client_logs"),
    "ALLOCATION": (
        "event_gap_ms",
        "event_slow_producers",
        "event_slow_share",
        "avoided_too_long_ms",
        "slow_ms",
        "producers",
    ),
    "VERIFY": _OF_GROUPS,
}
"""Flow to the settings that it does not read; all flows but the second read sends."""
_FIRST, _LAST = dt.date(2015, 1, 1), dt.date(2099, 12, 31)  # times outside are quarantined as `time_out_of_range`


def _check_range(name: str, value: float | None, least: float, most: float, fix: str) -> None:
    """Refuse a number outside of the range, and say how to correct it; None is no number.

    Raises:
        SettingValueError: it is outside.
    """
    if value is not None and not least <= value <= most:
        raise SettingValueError(f"{name} is {value}; {fix}")


@dataclass(frozen=True)
class ProducerSettings:
    """`[producers."NAME"]`: what the log of one producer group or client id does not contain.

    The ladder always replaces the released one, and `one_line_per` what `[inputs.sends]` says; the other keys fill what
    the log left null. Arrays of different lengths are accepted, as by the client; a finding reports the consequence.
    `send_timeout_ms` is the producer's `sendMsgTimeout`, 3000 where absent; it counts where a line is a call.
    """

    client_version: str | None = None
    fault_latency_enabled: bool | None = None
    detector_enabled: bool | None = None
    queue_chosen_by: Literal["CLIENT", "CALLER"] | None = None
    latency_max_ms: tuple[int, ...] | None = None
    not_available_ms: tuple[int, ...] | None = None
    one_line_per: OneLinePer | None = None
    send_timeout_ms: int | None = None

    def __post_init__(self) -> None:
        check_version(self.client_version)
        floors, isolations = self.latency_max_ms, self.not_available_ms
        if (floors is None) != (isolations is None):
            raise SettingValueError("a ladder needs both latency_max_ms and not_available_ms; give the missing one")
        for value in (*(floors or ()), *(isolations or ())):
            if not 0 <= value <= _LONGEST_MS:
                raise SettingValueError(
                    f"a ladder's floors and isolations are milliseconds of 0 or more; {value} is invalid, give at most"
                    f" {_LONGEST_MS} (100 years)"
                )
        _check_range(
            "send_timeout_ms",
            self.send_timeout_ms,
            1,
            _LONGEST_MS,
            f"give the producer's sendMsgTimeout, at least 1 ms, at most {_LONGEST_MS}",
        )


@dataclass(frozen=True)
class Retention:
    """`[retention]`: how many days stay in the lake.

    Attributes:
        sends_days: days of `sends` and `send_calls`; absent = all.
        versions_days: days after which `maintain` deletes files that only older versions need.
    """

    sends_days: int | None = None
    versions_days: int = 7

    def __post_init__(self) -> None:
        _check_range(
            "retention.versions_days",
            self.versions_days,
            7,
            _LONGEST_DAYS,
            f"readers may still be at a version of the last 7 days: keep at least 7, at most {_LONGEST_DAYS}",
        )
        _check_range(
            "retention.sends_days", self.sends_days, 1, _LONGEST_DAYS, f"keep at least 1 day, at most {_LONGEST_DAYS}"
        )


@dataclass(frozen=True)
class Export:
    """`[export]`: what `nightly` leaves for other programs when it has published: files of this machine, empty = none.

    Attributes:
        duckdb: the tables as one DuckDB file.
        days: the lake's last days, as many as are in it; absent = all.
        metrics: the last night's figures for node exporter, `*.prom`.
    """

    duckdb: str = ""
    days: int | None = None
    metrics: str = ""

    def __post_init__(self) -> None:
        for name, file in (("duckdb", self.duckdb), ("metrics", self.metrics)):
            if is_elsewhere(file):
                raise SettingValueError(f"export.{name} is {file}; name a file of this machine, and copy it there")
        if self.metrics and not self.metrics.endswith(".prom"):
            raise SettingValueError(f"export.metrics is {self.metrics}; node exporter reads *.prom: end its name so")
        _check_range("export.days", self.days, 1, _LONGEST_DAYS, f"export at least 1 day, at most {_LONGEST_DAYS}")


@dataclass(frozen=True)
class Notify:
    """`[notify]`: who is told of a night.

    Attributes:
        url: a webhook, whose path is often its secret; absent = none.
    """

    url: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.url is not None and not re.fullmatch(
            r"https?://[\w-]{1,63}(\.[\w-]{1,63})*(:[0-9]{1,5})?([/?][!-~]*)?", self.url, re.ASCII
        ):
            raise SettingValueError(
                "notify.url is not the address of a webhook; write it like https://chat.example.com/hooks/…, in ASCII"
                " and without a user; a token goes into the environment as FAULTLINE_NOTIFY_TOKEN"
            )


@dataclass(frozen=True)
class Settings:
    """All settings of a run. `origins`: where each key that is not a default was set.

    Bad attempts at a broker less than `event_gap_ms` apart are one event. Slow ones count in a minute in which
    `event_slow_producers` producers, or `event_slow_share` of the attempts, met them. Producers that avoid a broker for
    `avoided_too_long_ms` or longer after it answered again are a finding. `single_writer` allows a lake on a store that
    cannot keep two runs apart.
    """

    cluster: str = "main"
    lake: str = ""
    date: dt.date | None = None
    max_bad_fraction: float = 0.01
    max_line_bytes: int = 1_048_576
    event_gap_ms: int = 30_000
    event_slow_producers: int = 2
    event_slow_share: float = 0.1
    avoided_too_long_ms: int = 60_000
    slow_ms: int = 550
    max_staleness_ms: int = 300_000
    single_writer: bool = False
    inputs: Inputs = field(default_factory=Inputs)
    producers: dict[str, ProducerSettings] = field(default_factory=dict)
    groups: dict[str, GroupSettings] = field(default_factory=dict)
    client_logs: dict[str, ClientLogSettings] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    retention: Retention = Retention()
    export: Export = Export()
    notify: Notify = Notify()
    spark: dict[str, str] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict, compare=False, metadata={"hidden": True})

    def __post_init__(self) -> None:
        if not self.cluster.strip() or not self.cluster.isprintable():
            raise SettingValueError(f'cluster is {self.cluster!r}; give a printable name, such as "main"')
        if any("\ud800" <= char <= "\udfff" for char in self.lake):  # how Python represents such bytes
            raise SettingValueError(f"lake is {self.lake}; Java and delta-rs open UTF-8 paths only; rename it")
        if "`" in self.lake:
            raise SettingValueError(f"lake is {self.lake}; Delta cannot open a path with a backtick; give one without")
        if pattern := re.search(r"[][{}*?\\]", self.lake):
            raise SettingValueError(
                f"lake is {self.lake}; Spark takes {pattern[0]} in a path as a pattern: give a folder without any of"
                " [ ] { } * ? \\"
            )
        for name in ("max_bad_fraction", "event_slow_share"):
            _check_range(name, getattr(self, name), 0, 1, "it is a share between 0 and 1")
        bounds = {
            "max_line_bytes": (1, 2**31 - 1),  # the largest array of bytes in Java
            "max_staleness_ms": (1, _LONGEST_MS),
            "slow_ms": (1, _LONGEST_MS),
            "event_gap_ms": (1, 86_400_000),
            "event_slow_producers": (1, _LONGEST_MS),
            "avoided_too_long_ms": (1, _LONGEST_MS),
        }
        for name, (least, most) in bounds.items():
            _check_range(name, getattr(self, name), least, most, f"give at least {least}, at most {most}")
        for group, owner in self.owners.items():
            if not group.strip() or not owner.strip() or not f"{group}{owner}".isprintable():
                raise SettingValueError(
                    f"owners: {group!r} = {owner!r}; give a group or a glob, and its owner, both printable"
                )
        if self.date:
            check_date("date", self.date)

    def content_hash(self, flow: str | None = None) -> str:
        """Hash of the settings that the rows of a day depend on: not places, date, owners, retention, exports, Spark.

        Args:
            flow: only settings that this flow reads, as in the run log; None = both flows.
        """
        names = [setting.name for setting in dataclasses.fields(self) if setting.name not in _WITHOUT_ROWS]
        unread = _UNREAD_BY.get(flow or "", ())
        return self._hash_of((name for name in names if name not in unread), flow)

    def input_hash(self, flow: str) -> str:
        """Hash of the settings by which the flow reads lines, for the run log; recomputing keeps it."""
        return self._hash_of(("cluster", "inputs", "max_line_bytes"), flow)

    def _hash_of(self, names: Iterable[str], flow: str | None) -> str:
        """Hash of the settings of those names, without the paths of the input."""
        values = dataclasses.asdict(self)
        chosen = {name: values[name] for name in names}
        chosen["inputs"] = {
            kind: {name: value for name, value in settings.items() if name != "path"}
            for kind, settings in values["inputs"].items()
            if not (kind == "sends" and flow == "ALLOCATION")
        }
        return hashlib.sha256(json.dumps(chosen, sort_keys=True, default=str).encode()).hexdigest()[:16]


def check_date(name: str, date: dt.date) -> None:
    """Refuse a date that no log line can have.

    Raises:
        SettingValueError: it is outside 2015 to 2099.
    """
    if not _FIRST <= date <= _LAST:
        raise SettingValueError(f"{name} is {date}; give a day from {_FIRST} to {_LAST}, the range of logs")
