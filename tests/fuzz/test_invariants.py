"""The fuzzer's own judgement: each invariant passes what is right and names what is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jobs.sources.send_fields import FIELDS
from tests.fuzz import invariants
from tests.fuzz.hostile import CANARY, CANARY_NAME
from tests.fuzz.invariants import Lake
from tests.fuzz.program import Ended
from tests.fuzz.written import (
    Entry,
    Written,
    WrittenFile,
    is_log_entry,
    is_no_blank,
    is_surely_no_json,
    of_entries,
    physical_lines,
)

DAY = {
    "cluster": "main",
    "rows_read": 5,
    "rows_published": 2,
    "rows_quarantined": 1,
    "rows_duplicate": 1,
    "rows_other_day": 1,
}
OTHERS = {"2026-11-22": 1}
SEND = {"msg_id": "fuzz-0-1", "ended_at_ms": 50, "topic": "T", "mode": None}
ROW = {
    **dict.fromkeys(FIELDS),
    "msg_id": "fuzz-0-1",
    "ended_at_ms": 50,
    "topic": "T",
    "mode": "SYNC",
    "producer_group": "",
}


def _ended(code: int, err: str = "", out: str = "") -> Ended:
    return Ended((), code, out, err)


def _written(*entries: Entry) -> Written:
    lines = physical_lines(entries, is_no_blank)
    return Written([of_entries("sends", Path("/a.jsonl"), entries, lines, is_json=True)])


def _bad(line: int, file: str = "/a.jsonl") -> dict[str, Any]:
    return {"source": "sends", "file": file, "line": line, "reason": "not_json", "detail": None, "cluster": "main"}


@pytest.mark.parametrize(
    ("ended", "breach"),
    [
        (_ended(0, "opening the lake: 0.1 s\n", "text\n"), None),
        (_ended(3, "reading: 0.1 s\nfaultline: input x does not exist; give one\n"), None),
        (_ended(1, "Traceback (most recent call last):\nfaultline: a\n"), "a trace"),
        (_ended(1, "\tat org.apache.spark.Any.any(Any.scala:1)\nfaultline: a\n"), "a trace"),
        (_ended(1, "faultline: unexpected Py4JJavaError: x; run it with -v and report it\n"), "a trace"),
        (_ended(3, "reading: 0.1 s\n"), "0 sentences"),
        (_ended(3, "faultline: a\nfaultline: b\n"), "2 sentences"),
        (_ended(3, "faultline: a\nand more\n"), "the last word"),
        (_ended(0, "faultline: a\n"), "1 sentences"),
        (_ended(0, "faultline: no send log was given\n"), None),
        (_ended(0, "faultline: the last run of 2026-11-21 has not succeeded: run it again\n"), None),
        (_ended(3, "faultline: no send log was given\n"), "0 sentences"),
        (_ended(-1), "it hung"),
        (_ended(137, "faultline: a\n"), "exit code 137"),
        (_ended(0, "", "a\x1b[31mb"), "unprintable"),
        (_ended(0, "", "a\udcffb"), "unprintable"),
    ],
)
def test_a_command_ends_with_words(ended: Ended, breach: str | None) -> None:
    found = invariants.no_trace(ended)
    assert found == [] if breach is None else any(each.startswith(breach) for each in found)


def test_the_exit_code_fits() -> None:
    assert invariants.expected_code(_ended(3), {3}) == []
    assert invariants.expected_code(_ended(0), {3, 4}) == ["exit 0, not one of [3, 4]: ''"]


def test_the_environment_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/quite/a/long/path:/bin")
    assert invariants.nothing_of_the_environment("", f"${{env:{CANARY_NAME}}} /bin") == []
    assert invariants.nothing_of_the_environment("a", f"a {CANARY} b") == [f"the value of ${CANARY_NAME} is shown"]
    assert invariants.nothing_of_the_environment("/quite/a/long/path:/bin") == ["the value of $PATH is shown"]


def test_tables_stay_and_come_again() -> None:
    assert invariants.as_before({"sends": 3}, {"sends": 3}) == []
    assert invariants.as_before({"sends": 3}, {"sends": 3, "findings": 0}) == []  # a flow's first run makes its tables
    assert invariants.as_before({"sends": 3}, {"sends": 4, "findings": 1}) == [
        "sends was 3, is 4",
        "findings was 0, is 1",
    ]
    assert invariants.as_before({"sends": 3}, {}) == ["sends was 3, is None"]
    assert invariants.the_same_again({"sends": ["a"]}, {"sends": ["a"]}) == []
    assert invariants.the_same_again({"sends": ["a"]}, {"sends": ["b"]}) == ["sends differs after a rerun"]


@pytest.mark.parametrize(
    ("day", "others", "written", "breaches"),
    [
        (DAY, OTHERS, 5, 0),
        (DAY, OTHERS, 6, 2),  # a line is lost: neither read nor counted
        (DAY, {}, 5, 1),
        ({**DAY, "rows_published": 1}, OTHERS, 5, 2),
        ({**DAY, "rows_published": 4, "rows_quarantined": -1}, OTHERS, 5, 1),
        ({**DAY, "rows_other_day": 0, "rows_other_cluster": 1}, OTHERS, 5, 0),
    ],
)
def test_every_line_is_accounted_for(day: dict[str, Any], others: dict[str, int], written: int, breaches: int) -> None:
    assert len(invariants.sum_holds([day], others, written)) == breaches


def test_the_tables_have_the_numbers_of_the_summary() -> None:
    logged = {**DAY, "status": "SUCCEEDED"}
    sends, bad = [{"cluster": "main"}] * 2, [_bad(1), {**_bad(1), "source": "routes"}]

    def breaches(lake: Lake) -> int:
        return len(invariants.tables_say_the_same([DAY], lake, counts_sends=True, sources={"sends"}))

    assert breaches(Lake(sends, bad, [logged])) == 0
    assert breaches(Lake(sends[:1], bad, [logged])) == 1
    assert breaches(Lake(sends, bad[1:], [logged])) == 1
    assert breaches(Lake(sends, bad, [{**logged, "rows_read": 4}])) == 1
    assert breaches(Lake(sends, bad, [])) == 1
    assert breaches(Lake(sends, bad, [logged], leftovers=["run-1"])) == 1


def test_only_spoilt_lines_are_quarantined_and_once() -> None:
    written = _written(Entry(b"{}", is_clean=True), Entry(b"{\n{", is_clean=False))
    assert invariants.bad_lines_are_ours(written, [_bad(2), _bad(3)]) == []
    assert invariants.bad_lines_are_ours(written, [_bad(1)]) == [
        "/a.jsonl:1 was left as it was, but is bad: not_json None"
    ]
    assert invariants.bad_lines_are_ours(written, [_bad(2, "/b")]) == ["sends has no file '/b'"]
    assert len(invariants.bad_lines_are_ours(written, [_bad(2), _bad(2)])) == 1


def test_clean_lines_are_published_unaltered() -> None:
    written = _written(Entry(b"{}", is_clean=True, fields=SEND), Entry(b"{}", is_clean=True, fields=SEND, is_copy=True))
    day = (0, 100)
    assert invariants.clean_lines_are_published(written, [ROW], day) == []
    assert invariants.clean_lines_are_published(written, [], (60, 100)) == []
    assert invariants.clean_lines_are_published(written, [], day) == ["fuzz-0-1 is not published"]
    assert invariants.clean_lines_are_published(written, [{**ROW, "topic": "U"}], day) == [
        "fuzz-0-1 is altered: {'topic': ('T', 'U')}"
    ]


@pytest.mark.parametrize(
    ("content", "breaches"),
    [
        (b'{"msg_id": "fuzz-0-1", "topic": "T"}', 0),
        (b'{"msg_id": "fuzz-0-1", "topic": "U", "topic": "T", "seq": null}', 0),
        (b'{"msg_id": "fuzz-0-1", "topic": "U"}', 1),
        (b'{"msg_id": "fuzz-0-1", "seq": 7}', 1),
        (b'{"msg_id": "fuzz-0-1", "topic": 7}', 0),  # a text may stand for what is none
        (b"{'msg_id': 'fuzz-0-1'}", 1),
        (b'{"msg_id": "fuzz-0-2"}', 0),
    ],
)
def test_a_spoilt_line_is_published_as_it_says_or_not_at_all(content: bytes, breaches: int) -> None:
    found = invariants.published_lines_are_as_written(_written(Entry(content, is_clean=False)), [ROW])
    assert len(found) == breaches


@pytest.mark.parametrize(
    ("line", "is_none"),
    [
        (b'{"a": 1}', False),
        (b'\xef\xbb\xbf{"a": "\\ud800"}\r', False),
        (b"[1]", True),
        (b"{'a': 1}", True),
        (b'{"a": NaN}', True),
        (b'{"a": 007}', True),
        (b'{"a": "\x00"}', True),
        (b'{"a": "\xff"}', True),
        (b'{"a": 1} x', True),
        (b'{"a": %b}' % (b"9" * 5_000), False),
        (b'{"a":' * 5_000 + b"1" + b"}" * 5_000, False),
    ],
)
def test_what_is_surely_no_json(line: bytes, is_none: bool) -> None:  # noqa: FBT001
    assert is_surely_no_json(line) == is_none


def test_lines_are_counted_as_an_editor_counts_them() -> None:
    entries = [
        Entry(b"a\n \nb", is_clean=False),
        Entry(b"", is_clean=True),
        Entry(b"\xef\xbb\xbf\r", is_clean=True),
        Entry(b"c\r", is_clean=True),
    ]
    assert [(line.number, line.content, line.is_clean) for line in physical_lines(entries, is_no_blank)] == [
        (1, b"a", False),
        (3, b"b", False),
        (6, b"c\r", True),
    ]
    assert is_log_entry(b"2026-11-21 00:43:37,370 INFO RocketmqClient - a")
    assert not is_log_entry(b"\tat a.b(C.java:1)")


def test_unclean_lines_are_known_by_number() -> None:
    file = WrittenFile(
        "sends", Path("/a"), physical_lines([Entry(b"a", is_clean=True), Entry(b"b", is_clean=False)], is_no_blank)
    )
    assert file.unclean == {2}
