"""Policies that a run replays: released profiles, own ladders, sweeps of ladders."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.errors import UsageError
from jobs.settings.client_profiles import Profile
from jobs.tables.day import DAY_MS
from udfs.ladder import Ladder
from udfs.policy import Policy

AS_RUN = "AS_RUN"
"""Name of the policy under which each producer keeps its own rules, its switch taken as on."""

_MOST = 500


@dataclass(frozen=True)
class RequestedPolicies:
    """The policies of one run.

    Attributes:
        policies: by unique names.
        as_run: also each producer under its own policy, as `AS_RUN`.
    """

    policies: tuple[Policy, ...]
    as_run: bool

    @property
    def names(self) -> tuple[str, ...]:
        """Every policy's name."""
        return (*([AS_RUN] if self.as_run else []), *(policy.name for policy in self.policies))

    def followed(self, own: Sequence[Policy]) -> tuple[Policy, ...]:
        """Every policy that an attempt may follow in the run; `own` are those that producers themselves have."""
        asked = (replace(policy, name=_followed(policy)) for policy in self.policies)
        return (*(own if self.as_run else ()), *asked)

    def followed_by_name(self) -> dict[str, Column]:
        """Requested name to the name of the policy that the row's attempt then follows."""
        asked = {policy.name: F.lit(_followed(policy)) for policy in self.policies}
        return ({AS_RUN: F.col("policy")} if self.as_run else {}) | asked


def _followed(requested: Policy) -> str:
    """A name that no producer's own policy has."""
    return f"requested {requested.name}"


def requested_policies(
    profiles: Sequence[Profile],
    *,
    names: Sequence[str] = (),
    ladders: Sequence[str] = (),
    sweeps: Sequence[str] = (),
) -> RequestedPolicies:
    """The policies behind the options; without any, `AS_RUN` and every released profile.

    Args:
        profiles: the released ones, oldest first.
        names: `P1` … or `AS_RUN`.
        ladders: `NAME=FLOORS/ISOLATIONS[@PROFILE]`, such as `short=550,2000/1000,5000@P5`, in ms.
        sweeps: `PROFILE/FACTORS/FACTORS`, such as `P5/0.5,1,2/1,2,4`: floors and isolations times each factor.

    Raises:
        UsageError: a text of another form, a value out of range, or two policies of one name.
    """
    released = {profile.name: profile for profile in profiles}
    if not (names or ladders or sweeps):
        names = (AS_RUN, *released)
    policies = (
        *(_profile(released, name, "--policy").policy(name) for name in names if name != AS_RUN),
        *(_of_text(released, text) for text in ladders),
        *(policy for text in sweeps for policy in _of_sweep(released, text)),
    )
    asked = [*(name for name in names if name == AS_RUN), *(policy.name for policy in policies)]
    twice = [name for name, count in Counter(asked).items() if count > 1]
    if twice:
        raise UsageError(f"policy {twice[0]!r} is asked twice; give each policy a name of its own")
    if len(asked) > _MOST:
        raise UsageError(f"{len(asked)} policies are asked; ask at most {_MOST} in one run")
    return RequestedPolicies(policies, AS_RUN in names)


def _profile(released: Mapping[str, Profile], name: str, where: str) -> Profile:
    if name not in released:
        raise UsageError(f"{where} {name!r} is not a released profile; known are {AS_RUN}, {', '.join(released)}")
    return released[name]


def _of_text(released: Mapping[str, Profile], text: str) -> Policy:
    name, named, rest = text.rpartition("=")
    arrays, _, profile = rest.partition("@")
    floors, halved, isolations = arrays.partition("/")
    if not named or not halved:
        raise UsageError(f"--ladder {text!r} has no form like short=550,2000/1000,5000@P5; give floors/isolations")
    return _policy(
        released, f"--ladder {name!r}", name, _whole(text, floors), _whole(text, isolations), profile or None
    )


def _of_sweep(released: Mapping[str, Profile], text: str) -> Iterator[Policy]:
    parts = text.split("/")
    if len(parts) != 3:
        raise UsageError(f"--sweep {text!r} has no form like P5/0.5,1,2/1,2,4; give profile/floors/isolations")
    profile = _profile(released, parts[0], "--sweep")
    for floor_factor in _factors(text, parts[1]):
        for factor in _factors(text, parts[2]):
            name = f"{profile.name} x{floor_factor:g}/x{factor:g}"
            floors = tuple(round(floor * floor_factor) for floor in profile.latency_max_ms)
            isolations = tuple(round(length * factor) for length in profile.not_available_ms)
            yield _policy(released, f"--sweep {text!r}", name, floors, isolations, profile.name)


def _policy(
    released: Mapping[str, Profile],
    where: str,
    name: str,
    floors: tuple[int, ...],
    isolations: tuple[int, ...],
    profile: str | None,
) -> Policy:
    if not name.strip():
        raise UsageError(f"{where} has no name; give one before the =")
    if name == AS_RUN or name in released:
        raise UsageError(f"{where} is the name of a released policy; give another")
    outside = [value for value in (*floors, *isolations) if not 0 <= value <= DAY_MS]
    if outside:
        raise UsageError(f"{where} has {outside[0]} ms; give 0 to {DAY_MS} (one day)")
    ladder = Ladder(floors, isolations)
    if not ladder.is_even:
        raise UsageError(
            f"{where} has {len(floors)} floors but {len(isolations)} isolations; give one isolation per floor"
        )
    return _profile(released, profile or list(released)[-1], where).policy(name, ladder)


def _whole(text: str, numbers: str) -> tuple[int, ...]:
    try:
        return tuple(int(number) for number in numbers.split(","))
    except ValueError:
        raise UsageError(f"--ladder {text!r}: {numbers!r} is not a list of milliseconds like 550,2000") from None


def _factors(text: str, numbers: str) -> tuple[float, ...]:
    try:
        factors = tuple(float(number) for number in numbers.split(","))
    except ValueError:
        factors = (math.nan,)
    if not all(0 < factor <= 1_000 for factor in factors):
        raise UsageError(f"--sweep {text!r}: {numbers!r} is not a list of factors like 0.5,1,2 (above 0, at most 1000)")
    return factors
