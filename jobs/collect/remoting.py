"""RocketMQ's remoting protocol, as far as a collector needs it: one request at a time over one connection.

A frame is its length, the length of its header (the upper byte says how that is written: 0 is JSON), header and body
(`RemotingCommand`, the same in 4.3.0 to 5.5.0). Signed as `AclClientRPCHook` does.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import itertools
import json
import socket
import ssl
import struct
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedRWPair
from typing import Any

_MOST_BYTES = 256 * 2**20
_OF_HEADER = 0xFFFFFF
_IS_ANSWER = 1


@dataclass(frozen=True)
class Answer:
    """An answer: the response code, the remark of a code that is not 0, and the raw body."""

    code: int
    remark: str | None
    body: str


class NoAnswerError(Exception):
    """No answer: refused, timed out, closed, or not a frame of this protocol."""


@dataclass(frozen=True)
class Keys:
    """Access key and secret of ACL; `token`: optional security token."""

    access_key: str
    secret_key: str
    token: str | None = None

    def signed(self, fields: Mapping[str, str]) -> dict[str, str]:
        """The fields with the key and the signature over all values in the order of their names.

        >>> Keys("a", "s").signed({"topic": "T"})["Signature"]
        'A3JnjB6AcC/K7do3NWaLZiD5C0Y='
        """
        all_fields = {**fields, "AccessKey": self.access_key, **({"SecurityToken": self.token} if self.token else {})}
        content = "".join(all_fields[name] for name in sorted(all_fields)).encode()
        signature = hmac.new(self.secret_key.encode(), content, hashlib.sha1).digest()
        return {**all_fields, "Signature": base64.b64encode(signature).decode()}


@dataclass(frozen=True)
class Security:
    """How connections are made: TLS or not, and signed or not."""

    tls: ssl.SSLContext | None = None
    keys: Keys | None = None


class Connection:
    """A connection to one address, made when it is first needed and again after each failure."""

    def __init__(self, address: str, timeout_s: float, security: Security) -> None:
        """Nothing is opened yet; `address` is HOST:PORT."""
        self._address, self._timeout_s, self._security = address, timeout_s, security
        self._stream: BufferedRWPair | None = None
        self._numbers = itertools.count(1)

    def call(self, code: int, fields: Mapping[str, str]) -> Answer:
        """Send a request and wait for the answer.

        Raises:
            NoAnswerError: no answer; the connection is closed, and the next call opens another.
        """
        number = next(self._numbers)
        signed = self._security.keys.signed(fields) if self._security.keys else dict(fields)
        header = {"code": code, "language": "PYTHON", "version": 0, "opaque": number, "flag": 0, "extFields": signed}
        packed = json.dumps({**header, "serializeTypeCurrentRPC": "JSON"}).encode()
        try:
            stream = self._opened()
            stream.write(struct.pack(">II", 4 + len(packed), len(packed)) + packed)
            stream.flush()
            return self._answer(stream, number)
        except (OSError, ValueError, KeyError, TypeError, struct.error) as error:
            self.close()
            raise NoAnswerError(f"{self._address}: {str(error) or type(error).__name__}") from error

    def close(self) -> None:
        """Close the connection."""
        if self._stream is not None:
            with suppress(OSError):
                self._stream.close()
            self._stream = None

    def _opened(self) -> BufferedRWPair:
        if self._stream is None:
            host, _, port = self._address.rpartition(":")
            plain = socket.create_connection((host.strip("[]"), int(port)), timeout=self._timeout_s)
            tls = self._security.tls
            with tls.wrap_socket(plain, server_hostname=host) if tls else plain as opened:
                self._stream = opened.makefile("rwb")  # keeps it open
        return self._stream

    @staticmethod
    def _answer(stream: BufferedRWPair, number: int) -> Answer:
        """The answer to the request of that number; a broker's own requests to clients are skipped."""
        while True:
            length, mark = struct.unpack(">II", _read(stream, 8))
            if mark >> 24 or not 4 <= length <= _MOST_BYTES or (mark & _OF_HEADER) > length - 4:
                raise ValueError(f"not a JSON frame: length {length}, header {mark:#x}")
            rest = _read(stream, length - 4)
            header: dict[str, Any] = json.loads(rest[: mark & _OF_HEADER])
            if header["flag"] & _IS_ANSWER and header["opaque"] == number:
                body = rest[mark & _OF_HEADER :].decode(errors="replace")
                return Answer(int(header["code"]), header.get("remark"), body)


def _read(stream: BufferedRWPair, size: int) -> bytes:
    found = stream.read(size)
    if len(found) < size:
        raise ConnectionError("the other side closed the connection")
    return found
