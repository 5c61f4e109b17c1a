"""A client's own decisions about fault items, as the recorder inside it writes them."""

from __future__ import annotations

UPDATE = "UPDATE"
REMOVE = "REMOVE"
REACHABLE = "REACHABLE"
DROPPED = "DROPPED"
PICKED = "PICKED"

OPS = (UPDATE, REMOVE, REACHABLE, DROPPED, PICKED)
"""`LatencyFaultToleranceImpl`: the client called `updateFaultItem` or `remove`; `detectByOneRound` set the flag or
removed the item (5.1.4 and later); `pickOneAtLeast` chose the broker (up to 5.1.3)."""
