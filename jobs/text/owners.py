"""Owners of producer and consumer groups, by settings; joined when answers are read, stored nowhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType

NO_OWNERS: Mapping[str, str] = MappingProxyType({})


def owner_of(group: str | None, owners: Mapping[str, str]) -> str | None:
    """The owner of a group: by its exact name, else by the longest matching glob, else None.

    >>> owners = {"PG_*": "platform", "PG_orders*": "team-payments", "PG_orders_dlq": "ops"}
    >>> [owner_of(group, owners) for group in ("PG_orders_dlq", "PG_orders_eu", "PG_x", "GID_x", "", None)]
    ['ops', 'team-payments', 'platform', None, None, None]
    """
    if not group:
        return None
    fitting = [pattern for pattern in owners if fnmatchcase(group, pattern)]
    best = group if group in owners else max(fitting, key=lambda pattern: (len(pattern), pattern), default=None)
    return None if best is None else owners[best]


def owners_of(groups: Iterable[str | None], owners: Mapping[str, str]) -> dict[str, str]:
    """Owner by group, for groups that have one."""
    owner_by_group = {group: owner_of(group, owners) for group in groups if group}
    return {group: owner for group, owner in sorted(owner_by_group.items()) if owner is not None}
