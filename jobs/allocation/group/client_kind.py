"""What kind of client a member is: which of them the client's own strategies hold for."""

from __future__ import annotations

import re

from jobs.kinds import GroupCause
from jobs.settings.consumer_groups import GroupSettings, StrategySettings

NO_STRATEGY = (GroupCause.CLIENTS_BY_PROXY, GroupCause.NOT_A_JAVA_CLIENT)
"""Why `not_computable`: members of such a kind may each take every queue."""
_JAVA = ("JAVA", "OMS")  # LanguageCode of clients that share RebalanceImpl
_GRPC_ID = re.compile(r"[^@]+@\d+@\d+@[0-9a-z]+")
"""Host, process, index and `System.nanoTime` to the base 36: ids of all gRPC clients (`ClientId`, from 5.0.0 on)."""


def not_computable(
    client_id: str, language: str | None, own: StrategySettings, configured: GroupSettings
) -> GroupCause | None:
    """Why no strategy says what the client gets; None = one may.

    A gRPC client pops from every queue by its proxy, which registers it at the broker as CLUSTERING. A client of
    another language says CLUSTERING even where it broadcasts (Go), or has strategies of its own: settings decide.

    Args:
        client_id: the client.
        language: as its connection says; None = unknown.
        own: settings of the client.
        configured: settings of its group.

    >>> nothing = StrategySettings(), GroupSettings()
    >>> not_computable("orders-7d9f@1@0@2v6q3l8k", "JAVA", *nothing)
    'CLIENTS_BY_PROXY'
    >>> not_computable("10.0.0.1@1#2", "GO", *nothing), not_computable("10.0.0.1@1#2", "JAVA", *nothing)
    ('NOT_A_JAVA_CLIENT', None)
    """
    if _GRPC_ID.fullmatch(client_id):
        return GroupCause.CLIENTS_BY_PROXY
    is_configured = own.strategy or configured.strategy or configured.message_model
    return GroupCause.NOT_A_JAVA_CLIENT if language not in (None, *_JAVA) and not is_configured else None
