"""`faultline collect`: ask the name server and brokers about consumers, and write down their answers."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import socket
import ssl
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import click

from jobs.cli import options
from jobs.cli.call import Call
from jobs.cli.command import Command
from jobs.cli.parameters import FILE, FOLDER
from jobs.collect.asking import Asking
from jobs.collect.collector import Collector, Scope
from jobs.collect.files import HourlyFiles
from jobs.collect.loop import Loop, Pace
from jobs.collect.remoting import Keys, NoAnswerError, Security
from jobs.errors import InputMissingError, LakeBusyError, UsageError
from jobs.text.terminal import counted, one_line

_IN_FULL = """\
Ask the name server for topic routes, each broker for the members of each consumer group, and, less often, each
consumer for what it holds; write the answers as they are, below --out: routes/, consumers/ and running_info/, an hour
a file. Runs until SIGTERM or Ctrl-C; then, and after each hour, the files get their names. ACL keys come from the
environment: ROCKETMQ_ACCESS_KEY, ROCKETMQ_SECRET_KEY, and ROCKETMQ_SECURITY_TOKEN if there is one.
"""
_WHAT, _HOW = "what to ask about (default: all groups and topics but RocketMQ's own)", "how often, and how"
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)(s|m|h)?")
_UNITS = {None: 1, "s": 1, "m": 60, "h": 3600}


@click.command(
    "collect",
    cls=Command,
    short_help="ask brokers about consumers every few seconds, for faultline allocation",
    help=_IN_FULL,
)
@options.each(
    options.option(
        "--namesrv", multiple=True, required=True, metavar="HOST:PORT", help="name server; repeatable, or with ;"
    ),
    options.option("--out", type=FOLDER, required=True, metavar="DIR", help="folder of the files, of one collector"),
    options.option(
        "--group", "groups", multiple=True, metavar="GROUP", section=_WHAT, help="and the topics it reads; repeatable"
    ),
    options.option("--topic", "topics", multiple=True, metavar="TOPIC", section=_WHAT, help="its route; repeatable"),
    options.option("--cluster", metavar="NAME", section=_WHAT, help="write it into each line"),
    options.option("--every", metavar="TIME", section=_HOW, default="10s", help="a round; 10s by default"),
    options.option(
        "--running-info-every",
        metavar="TIME",
        section=_HOW,
        default="60s",
        help="ask consumers; 60s by default, never = not at all",
    ),
    options.option(
        "--requests-per-second", type=float, metavar="N", section=_HOW, default=50.0, help="no more; 50 by default"
    ),
    options.option(
        "--timeout", metavar="TIME", section=_HOW, default="3s", help="longest wait for an answer; 3s by default"
    ),
    options.option("--rounds", type=click.IntRange(min=1), metavar="N", section=_HOW, help="stop after so many"),
    options.option("--tls", is_flag=True, section=_HOW, help="encrypt; who answers is not checked, as clients do"),
    options.option(
        "--tls-ca", type=FILE, metavar="FILE", section=_HOW, help="encrypt, and check who answers by these certificates"
    ),
    options.option("--plan", is_flag=True, help="say what a round asks, and stop"),
    options.verbose,
)
@click.pass_obj
def collect(
    call: Call,
    namesrv: tuple[str, ...],
    out: str,
    groups: tuple[str, ...],
    topics: tuple[str, ...],
    cluster: str | None,
    every: str,
    running_info_every: str,
    requests_per_second: float,
    timeout: str,
    rounds: int | None,
    tls_ca: str | None,
    *,
    tls: bool,
    plan: bool,
    verbose: bool,  # noqa: ARG001 - main reads it from the words
) -> None:
    """Ask until stopped."""
    consumers_s = None if running_info_every == "never" else seconds("--running-info-every", running_info_every)
    pace = Pace(seconds("--every", every), consumers_s, rounds)
    if requests_per_second <= 0:
        raise UsageError(f"--requests-per-second {requests_per_second:g} is out of range; give more than 0")
    stop = threading.Event()
    security = _security(call.secrets, tls_ca, tls=tls)
    asking = Asking(seconds("--timeout", timeout), requests_per_second, security, stop.wait)
    collector = Collector(asking, _addresses(namesrv), groups, topics, cluster, call.clock)
    with _stopped_by_signals(stop), closing(asking):
        try:
            print(_plan(collector.scope(), pace, requests_per_second), file=sys.stdout if plan else sys.stderr)
        except NoAnswerError as problem:
            if plan:
                raise InputMissingError(f"no name server answers: {problem}; check --namesrv") from None
            _say(f"no name server answers: {problem}; asking again every {every}")
        if plan:
            return
        with _alone_in(Path(out)) as folder:
            name = f"{socket.gethostname()}-{os.getpid()}"
            files = {kind: HourlyFiles(folder / kind, name) for kind in ("routes", "consumers", "running_info")}
            loop = Loop(collector, files, pace, call.clock, stop.wait, _say)
            for path in (path for kind in files.values() for path in kind.finished):
                _say(f"finished {one_line(str(path))}, which an earlier collector left")
            loop.run()
    lost = f", {counted(loop.lost, 'line')} lost" if loop.lost else ""
    refused = sum(refusal.count for refusal in asking.refusals.values())
    for refusal in asking.refusals.values():
        _say(f"refused {counted(refusal.count, 'time')}: {refusal}")
    _say(f"stopped: {counted(asking.requests, 'request')}, {asking.unanswered:,} without an answer,"
         f" {refused:,} refused, {counted(loop.lines, 'line')} written{lost}")  # fmt: skip


def seconds(option: str, text: str) -> float:
    """Seconds of a text such as 10s, 1.5m or 2h; without a unit they are seconds.

    >>> seconds("--every", "1.5m"), seconds("--every", "10")
    (90.0, 10.0)

    Raises:
        UsageError: it is not a time, or 0.
    """
    match = _SECONDS.fullmatch(text.strip())
    found = float(match[1]) * _UNITS[match[2]] if match else 0.0
    if found <= 0:
        raise UsageError(f"{option} {text!r} is not a time; write it like 10s, 1m or 1h")
    return found


def _addresses(texts: tuple[str, ...]) -> list[str]:
    """The addresses of name servers.

    Raises:
        UsageError: one of them is not an address.
    """
    addresses = [address.strip() for text in texts for address in text.split(";") if address.strip()]
    for address in addresses:
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 65_536:
            raise UsageError(f"--namesrv {address!r} is not an address; write it like 10.0.0.1:9876")
    return addresses


def _security(secrets: set[str], tls_ca: str | None, *, tls: bool) -> Security:
    """TLS and keys, from options and the environment.

    Raises:
        UsageError: half a pair of keys, or a file that holds no certificates.
    """
    names = ("ROCKETMQ_ACCESS_KEY", "ROCKETMQ_SECRET_KEY", "ROCKETMQ_SECURITY_TOKEN")
    access_key, secret_key, token = (os.environ.get(name) or None for name in names)
    secrets.update(secret for secret in (secret_key, token) if secret)
    if bool(access_key) != bool(secret_key):
        raise UsageError(f"{names[0]} and {names[1]} go together; set both, or none")
    keys = Keys(access_key, secret_key, token) if access_key and secret_key else None
    if not tls and tls_ca is None:
        return Security(None, keys)
    encrypting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    encrypting.check_hostname = False  # brokers are known by their addresses
    if tls_ca is None:
        encrypting.verify_mode = ssl.CERT_NONE
    else:
        try:
            encrypting.load_verify_locations(cafile=tls_ca)
        except OSError as problem:
            raise UsageError(f"--tls-ca {tls_ca}: {problem}; give certificates in PEM") from None
    return Security(encrypting, keys)


def _plan(scope: Scope, pace: Pace, per_second: float) -> str:
    """What a round asks, and how long it takes at least."""
    takes_s = scope.requests / per_second
    members = f"{counted(len(scope.groups), 'group')} at {counted(len(scope.brokers), 'broker')}"
    sentence = (
        f"a round: {members}, {counted(len(scope.topics), 'route')}: {counted(scope.requests, 'request')}, every"
        f" {pace.every_s:g} s; at most {per_second:g} requests a second: {takes_s:.1f} s at least"
    )
    if pace.running_info_every_s is not None:
        sentence += f"; besides, one request per member every {pace.running_info_every_s:g} s"
    late = " (rounds will follow each other without a pause: raise --requests-per-second, or --every)"
    return sentence + (late if takes_s > pace.every_s else "")


@contextmanager
def _stopped_by_signals(stop: threading.Event) -> Iterator[None]:
    """Within the block SIGTERM and SIGINT end the loop, not the process; their handlers are restored afterwards."""
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _alone_in(out: Path) -> Iterator[Path]:
    """Lock the folder for this process: a second collector would finish the first one's files.

    Raises:
        UsageError: the folder cannot be made.
        LakeBusyError: another collector writes there.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock = (out / ".lock").open("w")
    except OSError as problem:
        raise UsageError(f"--out {out}: {problem}; give a folder that can be written") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LakeBusyError(f"another collector writes into {out}; stop it, or give another --out") from None
        yield out


def _say(sentence: str) -> None:
    print(f"faultline collect: {one_line(sentence)}", file=sys.stderr, flush=True)
