"""Producers as a reader knows them: producer group, then host and client version, the client id last."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from jobs.answers.published import Published
from jobs.tables import PRODUCER_DAYS
from jobs.text.owners import NO_OWNERS, owner_of
from jobs.text.terminal import safe

Producer = tuple[str, str]
"""Client id and producer group."""
PRODUCER = ("client_id", "producer_group")
"""Columns that say it."""


def host_of(client_id: str | None) -> str | None:
    """The host in a client id, which clients make as `ip@instance` (`ClientConfig.buildMQClientId`); None = not known.

    >>> host_of("10.0.0.1@4711#99"), host_of("orders-1"), host_of("@4711")
    ('10.0.0.1', None, None)
    """
    host, at, _ = (client_id or "").partition("@")
    return (at and host) or None


def group_name(group: str | None, owners: Mapping[str, str] = NO_OWNERS) -> str:
    """A group, with its owner beside it where settings name one.

    >>> group_name("PG_orders", {"PG_*": "team-payments"}), group_name("PG_orders"), group_name("")
    ('PG_orders [team-payments]', 'PG_orders', '(unknown group)')
    """
    owner = owner_of(group, owners)
    return safe(group or "(unknown group)") + (f" [{safe(owner)}]" if owner else "")


def producer_name(row: Mapping[str, Any], owners: Mapping[str, str] = NO_OWNERS) -> str:
    """The producer of a row with `client_id`, `producer_group` and `client_version`.

    >>> producer_name({"client_id": "10.0.0.1@4711", "producer_group": "PG_orders", "client_version": "5.3.3"})
    'PG_orders on 10.0.0.1 (client 5.3.3, 10.0.0.1@4711)'
    >>> producer_name({"client_id": "orders-1", "producer_group": "", "client_version": None})
    '(unknown group) (client version unknown, orders-1)'
    """
    where = f" on {safe(host)}" if (host := host_of(row["client_id"])) else ""
    version = safe(row["client_version"] or "version unknown")
    return f"{group_name(row['producer_group'], owners)}{where} (client {version}, {safe(row['client_id'])})"


def versions_of(published: Published) -> dict[Producer, str]:
    """Producer to its client versions on these days; empty where none is known."""
    rows = published.rows(PRODUCER_DAYS, [*PRODUCER, "client_version"]).group_by(PRODUCER)
    return {
        (row["client_id"], row["producer_group"]): ", ".join(sorted(filter(None, row["client_version_distinct"])))
        for row in rows.aggregate([("client_version", "distinct")]).to_pylist()
    }


def with_names(
    finding: Mapping[str, Any], versions: Mapping[Producer, str], owners: Mapping[str, str] = NO_OWNERS
) -> str:
    """The sentence of a row of `findings`, its producer or group named for a reader.

    >>> finding = {"client_id": "c@1", "producer_group": "PG", "sentence": "c@1 alone isolated broker-a"}
    >>> with_names(finding, {("c@1", "PG"): "5.3.3"}, {"PG": "ops"})
    'PG [ops] on c (client 5.3.3, c@1) alone isolated broker-a'
    """
    client_id, group = finding["client_id"], finding["producer_group"]
    row = {**finding, "client_version": versions.get((client_id, group))}
    name = producer_name(row, owners) if client_id else group_name(group, owners)
    said = re.escape(client_id or group or "") or "$."  # matches nothing
    return re.sub(rf"(?<!\S){said}(?![^\s,])", lambda _: name, str(finding["sentence"]), count=1)
