"""Behaviour profiles of the released clients, and the policy of each producer's replay."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files

from jobs.settings.toml_dataclass import typed
from udfs.ladder import Ladder
from udfs.plain_version import plain_version_number
from udfs.policy import Policy, WriteRule


@dataclass(frozen=True)
class Profile:
    """Rules of a range of client releases, from `conf/profiles.toml`."""

    name: str
    since: str
    write_rule: WriteRule
    reachable_gates: bool
    failure_latency_ms: int
    not_exist_isolates: bool
    latency_max_ms: tuple[int, ...]
    not_available_ms: tuple[int, ...]
    source: str

    @property
    def since_number(self) -> int:
        """`since` as `udfs.version.version_number` counts."""
        return plain_version_number(self.since)

    def policy(self, name: str, ladder: Ladder | None = None) -> Policy:
        """The policy of a producer with this profile, with its own ladder if it has one."""
        return Policy(
            name=name,
            profile=self.name,
            ladder=ladder or Ladder(self.latency_max_ms, self.not_available_ms),
            failure_latency_ms=self.failure_latency_ms,
            write_rule=self.write_rule,
            reachable_gates=self.reachable_gates,
            not_exist_isolates=self.not_exist_isolates,
        )


def released_profiles() -> tuple[Profile, ...]:
    """The profiles that ship, oldest first."""
    table = tomllib.loads(files("conf").joinpath("profiles.toml").read_text(encoding="utf-8"))
    profiles = [typed(Profile, entry, "profile.") for entry in table["profile"]]
    return tuple(sorted(profiles, key=lambda profile: profile.since_number))
