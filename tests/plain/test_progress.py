"""What a run says on stderr: plain lines in a file, one line rewritten on a terminal, and none of it in the way."""

from __future__ import annotations

import io
import itertools
from types import SimpleNamespace

import pytest

from jobs.text import progress
from jobs.text.progress import Progress
from jobs.text.terminal import one_line, safe

CLEAR = "\r\033[K"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class GoneTerminal(Terminal):
    """A terminal that was closed after its first words."""

    def write(self, text: str) -> int:
        if self.tell():
            raise OSError("Input/output error")
        return super().write(text)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the clock is 2.25 s after the one before."""
    ticks = itertools.count(100.0, 2.25)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(ticks)))


def test_in_a_file_each_step_is_a_line_when_it_is_done() -> None:
    said = io.StringIO()
    with Progress(said).step("reading\x1b sends"):
        assert said.getvalue() == ""
    assert said.getvalue() == "reading\\x1b sends: 2.2 s\n"
    Progress(said).say("taken from \x1b[31m")
    assert said.getvalue().splitlines()[1:] == ["taken from \\x1b[31m"]


def test_on_a_terminal_a_step_is_shown_while_it_runs_and_its_line_rewritten() -> None:
    said = Terminal()
    with Progress(said).step("reading sends"):
        assert said.getvalue() == f"{CLEAR}  … reading sends"
    Progress(said).say("a note")
    assert said.getvalue() == (
        f"{CLEAR}  … reading sends{CLEAR}  ✓ reading sends (2.2 s)\n{CLEAR}a note\n"
    )  # fmt: skip


def test_a_step_that_fails_is_not_said_to_be_done() -> None:
    for stream, left in ((io.StringIO(), ""), (Terminal(), f"{CLEAR}  … reading sends{CLEAR}")):
        with pytest.raises(KeyboardInterrupt), Progress(stream).step("reading sends"):
            raise KeyboardInterrupt
        assert stream.getvalue() == left


def test_what_ended_a_step_is_what_is_raised_though_the_terminal_is_gone() -> None:
    with pytest.raises(KeyboardInterrupt), Progress(GoneTerminal()).step("reading sends"):
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("length", "shown"),
    [(99, "x" * 99), (100, "x" * 100), (101, f"{'x' * 49}…{'x' * 49}"), (5_000, f"{'x' * 49}…{'x' * 49}")],
)
def test_a_name_is_shown_whole_up_to_a_hundred_characters(length: int, shown: str) -> None:
    assert safe("x" * length) == shown


def test_a_sentence_is_shown_whole_up_to_two_thousand_characters_and_a_word_of_it_to_three_hundred() -> None:
    for whole in ("a " * 1_000, "x" * 300, "/".join(["x" * 300] * 6)):
        assert one_line(whole) == whole
    assert one_line("x" * 301 + " is down") == f"{'x' * 149}…{'x' * 149} is down"
    assert one_line("/lake/" + "x" * 301) == f"/lake/{'x' * 149}…{'x' * 149}"  # the folders of a path are words
    assert one_line("ab " * 1_000) == f"{'ab ' * 333}…{'ab ' * 333}"


def test_control_characters_are_escaped() -> None:
    assert safe("a\x1b\x07\x9b\u202e\u200b\u2028\n\tü") == r"a\x1b\x07\x9b\u202e\u200b\u2028\n\tü"
