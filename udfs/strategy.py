"""An allocation strategy as configured in a client."""

from __future__ import annotations

from dataclasses import dataclass

Queue = tuple[str, int]
"""Broker name and queue id."""

ILLEGAL_ARGUMENT = "java.lang.IllegalArgumentException"
NULL_POINTER = "java.lang.NullPointerException"
NEARBY = "MACHINE_ROOM_NEARBY-"
POP = "POP:"
BY_BROKER = "BROKER:"
OF_CLIENTS = ("AVG", "AVG_BY_CIRCLE", "CONFIG", "MACHINE_ROOM", "CONSISTENT_HASH")
OF_BROKERS = ("AVG", "AVG_BY_CIRCLE")
RETRY_TOPIC = "%RETRY%"
"""Prefix of a group's retry topic (`MixAll.RETRY_GROUP_TOPIC_PREFIX`)."""


class AllocationError(Exception):
    """The Java class throws: the client changes nothing.

    Attributes:
        java_class: of the exception.
        message: its text; of a NullPointerException it depends on the JVM.
    """

    def __init__(self, java_class: str, message: str) -> None:
        super().__init__(f"{java_class}: {message}")
        self.java_class, self.message = java_class, message


@dataclass(frozen=True)
class Strategy:
    """A strategy as configured in a client.

    Attributes:
        name: AVG, AVG_BY_CIRCLE, CONFIG, MACHINE_ROOM, MACHINE_ROOM_NEARBY-<inner>, CONSISTENT_HASH; BROADCASTING =
            everyone takes everything; POP:AVG, POP:AVG_BY_CIRCLE = the broker allocates; BROKER:<another> = the broker
            is asked for a strategy that it lacks, and answers with nothing.
        machine_rooms: MACHINE_ROOM's `consumeridcs`; None = never set.
        queues: CONFIG's list; None = never set.
        broker_room: pattern whose first group is the room of a broker name; no match or empty = no room.
        client_room: the same for a client id.
        virtual_nodes: CONSISTENT_HASH's nodes per client.
        charset: of CONSISTENT_HASH's keys; the platform's before 5.0.0.
        version: client version by `udfs.version` (4.9.8 = 40908); 0 = unknown, treated as the newest.
        pop_share_queue_num: `popShareQueueNum` of POP:….
    """

    name: str
    machine_rooms: tuple[str, ...] | None = None
    queues: tuple[Queue, ...] | None = None
    broker_room: str = "^([^@]*)"
    client_room: str = "^([^-]*)"
    virtual_nodes: int = 10
    charset: str = "UTF-8"
    version: int = 0
    pop_share_queue_num: int = -1

    def is_before(self, version: int) -> bool:
        """Whether the client is known to be older than this version.

        >>> Strategy("AVG", version=40701).is_before(40800), Strategy("AVG").is_before(40800)
        (True, False)
        """
        return 0 < self.version < version
