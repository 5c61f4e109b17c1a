"""Address of the server, and who can reach it there."""

from __future__ import annotations

import ipaddress
import os
import socket
from dataclasses import dataclass

from jobs.errors import AddressError

DATABASE = "faultline"
"""The database that holds tables, views and functions, unless another is named."""


@dataclass(frozen=True)
class Address:
    """Address to listen at; port 0 = any free one."""

    host: str = "127.0.0.1"
    port: int = 10000

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return all(ipaddress.ip_address(each[4][0]).is_loopback for each in socket.getaddrinfo(self.host, None))


def check_address(address: Address, *, allow_remote: bool) -> None:
    """Refuse, before Spark starts, an address that cannot be served at.

    Raises:
        AddressError: the port is taken, the host is none of this machine, or others could reach it unasked.
    """
    try:
        is_local = address.is_local
        socket.create_server((address.host, address.port)).close()
    except OverflowError:
        raise AddressError(f"port {address.port} is none; give 0 to 65535, 0 = any free one") from None
    except OSError as error:
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        raise AddressError(
            f"cannot serve at {address.host}:{address.port}: {why}; give another --port or --host"
        ) from error
    if not is_local and not allow_remote:
        raise AddressError(
            f"host {address.host} can be reached from other machines, and nobody is asked who they are;"
            " leave --host out, or add --allow-remote if that is meant"
        )
