"""The machine: memory, cores, the driver's address, time zone and locale."""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from jobs.doctor.check import Check

_UNITS = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_CONTAINER_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_MOST_OF_IT = 0.8


def machine(spark: Mapping[str, str], environ: Mapping[str, str]) -> Iterator[Check]:
    """Each check of the machine.

    Args:
        spark: Spark's settings, defaults of one machine included.
        environ: the environment.
    """
    yield memory(spark["spark.driver.memory"], _memory_bytes())
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield Check("cores", "ok", f"{cores} for {spark['spark.master']}")
    yield address(spark["spark.driver.host"], spark["spark.driver.bindAddress"])
    yield time_zone(environ)
    yield locale(environ)


def memory(memory_setting: str, there_bytes: int) -> Check:
    """Whether the driver's heap fits; Spark and Python need some beside it."""
    found = f"spark.driver.memory {memory_setting} of {there_bytes / 2**30:.1f} GiB"
    setting_bytes = _in_bytes(memory_setting)
    if setting_bytes is None:
        return Check("memory", "wrong", f"spark.driver.memory is {memory_setting}", 'write it like "4g"')
    fix = f'set spark.driver.memory to at most "{max(1, int(there_bytes * _MOST_OF_IT / 2**30))}g"'
    if setting_bytes > there_bytes:
        return Check("memory", "wrong", found, fix)
    if setting_bytes > there_bytes * _MOST_OF_IT:
        return Check("memory", "warning", f"{found}: Python's workers need some too", fix)
    return Check("memory", "ok", found)


def address(host: str, bind: str) -> Check:
    """Whether the driver's name resolves, and whether this machine can listen at its address."""
    fix = 'set spark.driver.host and spark.driver.bindAddress to "127.0.0.1", or mend /etc/hosts'
    try:
        resolved = socket.getaddrinfo(host, None)[0][4][0]
        family, kind, protocol, _, at = socket.getaddrinfo(bind, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as listener:
            listener.bind(at)
    except OSError as error:
        return Check("driver address", "wrong", f"{host}, bound to {bind}: {error.strerror or error}", fix)
    return Check("driver address", "ok", f"{host} is {resolved}, {bind} can be bound")


def time_zone(environ: Mapping[str, str]) -> Check:
    """For information: everything is computed in UTC, whatever these are."""
    java = re.findall(r"-Duser\.timezone=(\S+)", environ.get("JAVA_TOOL_OPTIONS", ""))
    named = f"{time.tzname[0]}, TZ {environ.get('TZ', 'not set')}, Java's {java[-1] if java else 'the same'}"
    return Check("time zone", "ok", f"{named}; results are the same in any, days are UTC")


def locale(environ: Mapping[str, str]) -> Check:
    """Java opens files by names beyond ASCII only in a UTF-8 locale."""
    name = next((environ[key] for key in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(key)), "POSIX")
    if re.search(r"utf-?8$", name, re.IGNORECASE):
        return Check("locale", "ok", f"{name}; results are the same in any")
    found = f"{name} is not UTF-8: Java cannot open files whose names go beyond ASCII"
    return Check("locale", "warning", found, "export LC_ALL=C.UTF-8")


def _memory_bytes() -> int:
    """The machine's memory, or what a container is allowed of it."""
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limits = [Path(file).read_text(encoding="ascii").strip() for file in _CONTAINER_LIMITS if Path(file).is_file()]
    return min([there, *(int(limit) for limit in limits if limit.isdecimal())])


def _in_bytes(memory_setting: str) -> int | None:
    """Spark's way to write a size; a bare number of `spark.driver.memory` is MiB.

    >>> [_in_bytes(text) for text in ("4g", "512MB", "1024", "much")]
    [4294967296, 536870912, 1073741824, None]
    """
    match = re.fullmatch(r"(\d+)\s*([bkmgt]?)b?", memory_setting.strip().lower())
    if match is None:
        return None
    return int(match[1]) * (_UNITS[match[2]] if match[2] else _UNITS["m"])
