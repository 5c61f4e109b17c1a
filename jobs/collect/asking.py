"""Requests to a cluster: bounded per second, and with a pause for addresses that do not answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from jobs.collect.cluster import REQUESTS, is_refusal
from jobs.collect.remoting import Answer, Connection, NoAnswerError, Security

_FIRST_REST_S, _LONGEST_REST_S = 1.0, 10.0
_REMARK_CHARACTERS = 200


@dataclass
class Refusal:
    """The first answer of a kind that refuses, who gave it, and how many there were."""

    asked_for: str
    address: str
    answer: Answer
    count: int = 0

    def __str__(self) -> str:
        remark = (self.answer.remark or "without a remark").strip().partition("\n")[0][:_REMARK_CHARACTERS]
        return f"{self.asked_for} by {self.address}, code {self.answer.code}: {remark}"


@dataclass
class Asking:
    """Connections to all addresses of a cluster.

    Attributes:
        timeout_s: the longest wait for a connection, or for an answer.
        per_second: maximum requests per second.
        security: TLS and keys.
        wait: waits so many seconds; true when the collector should stop.
        requests: requests so far.
        unanswered: requests without an answer, those included that were not made as the address is paused.
        refusals: answers that say nothing, by what was asked for and their code.
    """

    timeout_s: float
    per_second: float
    security: Security
    wait: Callable[[float], bool]
    requests: int = 0
    unanswered: int = 0
    refusals: dict[tuple[str, int], Refusal] = field(default_factory=dict)
    _connections: dict[str, Connection] = field(default_factory=dict)
    _rests: dict[str, tuple[float, float]] = field(default_factory=dict)
    _next_s: float = 0.0

    def __call__(self, address: str, code: int, fields: Mapping[str, str]) -> Answer:
        """Ask an address.

        Raises:
            NoAnswerError: it does not answer, or is paused after a failure.
        """
        rest_s, until_s = self._rests.get(address, (0.0, 0.0))  # until on the monotonic clock
        if time.monotonic() < until_s:
            self.unanswered += 1
            raise NoAnswerError(f"{address}: left alone for {rest_s:.0f} s, as it did not answer")
        self._keep_pace()
        self.requests += 1
        connection = self._connections.setdefault(address, Connection(address, self.timeout_s, self.security))
        try:
            answer = connection.call(code, fields)
        except NoAnswerError:
            self.unanswered += 1
            rest_s = min(max(2 * rest_s, _FIRST_REST_S), _LONGEST_REST_S)
            self._rests[address] = rest_s, time.monotonic() + rest_s
            raise
        self._rests.pop(address, None)
        if is_refusal(code, answer.code, answer.remark):
            asked_for = REQUESTS.get(code, str(code))
            self.refusals.setdefault((asked_for, answer.code), Refusal(asked_for, address, answer)).count += 1
        return answer

    def close(self) -> None:
        """Close all connections."""
        for connection in self._connections.values():
            connection.close()

    def _keep_pace(self) -> None:
        now = time.monotonic()
        if self._next_s > now:
            self.wait(self._next_s - now)
        self._next_s = max(now, self._next_s) + 1 / self.per_second
