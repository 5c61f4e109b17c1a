"""Keys of the first flow's rows."""

from __future__ import annotations

PRODUCER = ("cluster", "client_id", "producer_group")
PROCESS = (*PRODUCER, "process")
OWNER = (*PROCESS, "enforced")
"""One process of one producer, and its switch: false = what would have happened."""
ITEM = (*OWNER, "broker_name")
"""A fault item: what one process knows of one broker."""
TOPIC = (*OWNER, "topic")
SENDER = (
    "cluster",
    "client_id",
    "producer_group",
    "process_id",
    "client_version",
    "client_language",
    "fault_latency_enabled",
    "detector_enabled",
    "queue_chosen_by",
    "topic",
    "mode",
    "broker_name",
    "broker_addr",
)
"""What rules, process and the names of addresses follow from, and what the attempt was for."""
