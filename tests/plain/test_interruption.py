"""Signals that are really sent, to programs without Spark: what they say, how they end, and that no call is cut off."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SENTENCE = "faultline: interrupted by {}; run it again, other days stay whole\n"
HEAD = """
import atexit, signal, sys, time
from jobs.cli import main as cli
from jobs.spark import interruption

signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore them
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)

def ready():
    print("ready", flush=True)

def main(run):
    cli._run = lambda *_: run() or 0
    sys.argv = ["faultline", "plan", "nightly"]
    raise SystemExit(cli.main())

def wait():
    ready()
    time.sleep(60)

class Client:
    calls = []

    def send_command(self, command):
        self.calls.append(command)
        time.sleep(0.1)
        self.calls.append("answered")
        return "answer"

def calling():
    interruption.defer_signals()
    client = Client()
    interruption.heed_calls(client)
    ready()
    try:
        while True:
            client.send_command("c")
    except interruption.Interrupted as ended:
        client.send_command("m\\n")
        interruption.give_back()
        client.send_command("FAILED")
        assert Client.calls[1::2] == ["answered"] * (len(Client.calls) // 2)
        print(len(Client.calls) % 2, Client.calls[-4::2], interruption.what_ended(ValueError()), sep="|", flush=True)
        GIVES_BACK
        raise
"""


class Program:
    """A program that is ready for a signal."""

    def __init__(self, rest: str, gives_back: str = "pass") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HEAD.replace("GIVES_BACK", gives_back) + rest],
            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.await_ready()

    def await_ready(self) -> None:
        assert self.process.stdout
        while self.process.stdout.readline() not in {"ready\n", ""}:
            pass

    def end(self, *numbers: signal.Signals) -> tuple[int, str, str]:
        """Exit code, stdout and stderr after the signals."""
        for number in numbers:
            self.process.send_signal(number)
        out, err = self.process.communicate(timeout=50)
        return self.process.returncode, out, err


@pytest.mark.fault(25)
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_each_signal_has_its_exit_code_and_one_sentence(name: str, code: int) -> None:
    assert Program("main(wait)").end(signal.Signals[name]) == (code, "", SENTENCE.format(name))


def test_a_signal_that_is_ignored_stays_so() -> None:
    """As under nohup, or with & in a script."""
    program = Program("signal.signal(signal.SIGHUP, signal.SIG_IGN)\nmain(wait)")
    assert program.end(signal.SIGHUP, signal.SIGTERM) == (143, "", SENTENCE.format("SIGTERM"))


def test_a_signal_while_python_forgets_an_object_is_not_lost() -> None:
    forgets = "class Thing:\n    def __del__(self):\n        wait()\nmain(lambda: [Thing()] and None)"
    assert Program(forgets).end(signal.SIGINT) == (130, "", SENTENCE.format("SIGINT"))


def test_a_signal_during_the_exit_ends_it_without_a_word() -> None:
    assert Program("atexit.register(wait)\nmain(lambda: None)").end(signal.SIGINT) == (-signal.SIGINT, "", "")


@pytest.mark.fault(25)
def test_a_call_to_the_jvm_gets_its_answer_and_no_other_begins_but_what_gives_back() -> None:
    code, out, err = Program("main(calling)").end(signal.SIGTERM)
    said = "0|['m\\n', 'FAILED']|interrupted by SIGTERM; run it again, other days stay whole\n"
    assert (code, out, err) == (143, said, SENTENCE.format("SIGTERM"))


@pytest.fixture
def giving_back() -> Iterator[Program]:
    """A program that was interrupted and takes a minute to give back."""
    program = Program("main(calling)", gives_back="wait()")
    program.process.send_signal(signal.SIGTERM)
    program.process.send_signal(signal.SIGTERM)  # as timeout(1) does
    program.await_ready()
    yield program
    program.process.kill()
    program.process.communicate()


@pytest.mark.fault(25)
def test_the_same_signal_at_once_counts_once_but_a_later_one_ends_it(giving_back: Program) -> None:
    assert giving_back.process.poll() is None
    time.sleep(1.1)
    assert giving_back.end(signal.SIGTERM) == (-signal.SIGTERM, "", "")
