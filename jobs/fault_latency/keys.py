"""Keys of the first flow's rows."""

from __future__ import annotations

PRODUCER = ("cluster", "client_id", "producer_group")
PROCESS = (*PRODUCER, "process")
OWNER = (*PROCESS, "enforced")
"""One process of one producer, and its switch: false = what would have happened."""
ITEM = (*OWNER, "broker_name")
"""A fault item: what one process knows of one broker."""
TOPIC = (*OWNER, "topic")
RULED_BY = (
    *PRODUCER,
    "process_id",
    "client_version",
    "client_language",
    "fault_latency_enabled",
    "detector_enabled",
    "queue_chosen_by",
    "one_line_per",
)
"""What the rules and the process of a line follow from, besides the settings."""
SENDER = (*RULED_BY, "topic", "mode", "broker_name", "broker_addr")
"""The same, what the attempt was for, and where it went."""
RULES = (
    "version",
    "version_number",
    "profile",
    "policy",
    "not_replayed",
    "enforced",
    "switch_assumed",
    "detector",
    "by_caller",
    "call_timeout_ms",
)
