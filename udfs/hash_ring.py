"""The consistent hash ring of `AllocateMessageQueueConsistentHash`: `ConsistentHashRouter` and `MD5Hash`."""

from __future__ import annotations

import bisect
import hashlib
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from udfs.java_text import encoded


def ring_hash(key: str, charset: str = "UTF-8") -> int:
    """The first four bytes of the MD5, big-endian (`ConsistentHashRouter.MD5Hash`).

    Args:
        key: what is hashed.
        charset: UTF-8 from 5.0.0 on, before the platform's. Unencodable characters become `?`, as in Java.

    >>> ring_hash("a"), ring_hash("192.168.0.1@1-0")
    (214005177, 2325484510)
    """
    return int.from_bytes(hashlib.md5(encoded(key, charset), usedforsecurity=False).digest()[:4], "big")


class HashRing:
    """Client ids on a ring, each with its virtual nodes.

    A repeated id gets further replicas. Their index continues from the replicas it has on the ring
    (`getExistingReplicas`): one that another id has overwritten by an equal hash does not count.
    """

    def __init__(self, client_ids: Iterable[str], virtual_nodes: int, charset: str) -> None:
        owners: dict[int, str] = {}
        replicas: Counter[str] = Counter()
        for client_id in client_ids:
            existing = replicas[client_id]
            for index in range(existing, existing + virtual_nodes):
                place = ring_hash(f"{client_id}-{index}", charset)
                if place in owners:
                    replicas[owners[place]] -= 1
                owners[place] = client_id
                replicas[client_id] += 1
        self._owners = owners
        self._places = sorted(owners)
        self._charset = charset

    def owner(self, key: str) -> str | None:
        """The id at the first place at or after the key's hash, wrapping around; None on an empty ring."""
        if not self._places:
            return None
        at = bisect.bisect_left(self._places, ring_hash(key, self._charset))
        return self._owners[self._places[at % len(self._places)]]


@lru_cache(maxsize=64)
def ring_of(client_ids: tuple[str, ...], virtual_nodes: int, charset: str) -> HashRing:
    """The ring of a group; one for all its topics.

    >>> ring_of(("x",), 10, "UTF-8").owner("anything"), ring_of(("x",), 0, "UTF-8").owner("anything")
    ('x', None)
    """
    return HashRing(client_ids, virtual_nodes, charset)
