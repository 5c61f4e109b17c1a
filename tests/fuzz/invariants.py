"""What must hold after every run, whatever its input: each function returns the breaches that it finds, in words."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.sources.send_fields import FIELDS
from tests.fuzz.hostile import environment_in
from tests.fuzz.program import Ended
from tests.fuzz.written import Written, is_surely_no_json

CODES = {0, 1, 2, 3, 4, 5, 6, 7}
_TRACE = re.compile(
    r"^.*(?:Traceback \(most|^\s+at [\w.$]+\(|^\s*File \"|Exception in thread|^faultline: unexpected ).*$", re.MULTILINE
)
_NOTE = re.compile(
    r"faultline: (?:no send log was given|no consumer snapshots were given|the last run of [\d, -]+ has not succeeded"
    r"|(?:fault-latency|allocation) published )"
)
"""What an answer says beside itself, about the days that it rests on: whether it then fails or not."""
_MARK = re.compile(rb"fuzz-[\w.]+-\d+")

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Lake:
    """What stands in the lake after a run.

    Attributes:
        sends: rows of `sends` of the day, in the clusters of the summary.
        quarantine: rows of `quarantine` that the run wrote.
        run_log: rows of `run_log` of the run.
        leftovers: what is left of the run's staging.
    """

    sends: Sequence[Row]
    quarantine: Sequence[Row]
    run_log: Sequence[Row]
    leftovers: Sequence[str] = ()


def no_trace(ended: Ended) -> list[str]:
    """No trace of Python or Java, and one sentence where it failed: notes of an answer do not count."""
    breaches = [f"a trace on stderr: {found[0].strip()!r:.300}" for found in _TRACE.finditer(ended.err)][:1]
    if ended.code not in CODES:
        breaches.append(f"exit code {ended.code} is none of ours" if ended.code >= 0 else "it hung")
    said = [line for line in ended.err.splitlines() if line.startswith("faultline: ")]
    sentences = [line for line in said if not _NOTE.match(line)]
    wanted = int(ended.code != 0)
    if ended.code in CODES and len(sentences) != wanted:
        breaches.append(f"{len(sentences)} sentences for exit code {ended.code}: {sentences[:3]}")
    if wanted and not ended.said.startswith("faultline: "):
        breaches.append(f"the last word is not a sentence of ours: {ended.said!r}")
    shown = [char for char in ended.out + ended.err if not char.isprintable() and char != "\n"]
    return breaches + ([f"unprintable on the terminal: {set(shown)!r}"] if shown else [])


def expected_code(ended: Ended, codes: Iterable[int]) -> list[str]:
    """The exit code is one of those that fit the input."""
    wanted = set(codes)
    return [] if ended.code in wanted else [f"exit {ended.code}, not one of {sorted(wanted)}: {ended.said!r}"]


def nothing_of_the_environment(*texts: str) -> list[str]:
    """No value of a variable stands in an output or a table."""
    return [f"the value of ${name} is shown" for text in texts for name in environment_in(text)][:1]


def as_before(before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    """A run that failed left every table as it was, or made an empty one; `run_log` is not among them."""
    created = dict.fromkeys(after, 0)
    all_before = created | dict(before)
    return [
        f"{name} was {state}, is {after.get(name)}" for name, state in all_before.items() if after.get(name) != state
    ]


def the_same_again(first: Mapping[str, Sequence[str]], again: Mapping[str, Sequence[str]]) -> list[str]:
    """A rerun ended in the same tables."""
    return [f"{name} differs after a rerun" for name in first if list(first[name]) != list(again.get(name, []))]


def sum_holds(days: Sequence[Row], other_days: Mapping[str, int], written: int) -> list[str]:
    """Each day says that as many lines were read as were written, and where each went; so do all days together.

    Args:
        days: the summary's.
        other_days: lines of days that were not asked for.
        written: how many lines there are.
    """
    breaches = []
    for day in days:
        parts = {name: count for name, count in day.items() if name.startswith("rows_") and name != "rows_read"}
        if day["rows_read"] != written:
            breaches.append(f"{day['cluster']!r}: {day['rows_read']} lines read, {written} were written")
        if sum(parts.values()) != day["rows_read"] or min(parts.values()) < 0:
            breaches.append(f"{day['cluster']!r}: {day['rows_read']} lines are not {parts}")
    gone = sum(day[f"rows_{fate}"] for day in days for fate in ("published", "quarantined", "duplicate"))
    if gone + sum(other_days.values()) != written:
        breaches.append(f"{gone} lines of the day and {other_days} of others are not the {written} written")
    return breaches


def tables_say_the_same(days: Sequence[Row], lake: Lake, *, counts_sends: bool, sources: set[str]) -> list[str]:
    """`sends`, `quarantine` and `run_log` have the numbers of the summary.

    Args:
        days: the summary's.
        lake: the tables.
        counts_sends: whether the flow publishes send attempts.
        sources: whose bad lines the flow counts.
    """
    breaches = []
    sends = Counter(row["cluster"] for row in lake.sends)
    bad = Counter(row["cluster"] for row in lake.quarantine if row["source"] in sources)
    for day in days:
        cluster = day["cluster"]
        if counts_sends and sends[cluster] != day["rows_published"]:
            breaches.append(f"{cluster!r}: {sends[cluster]} rows of sends, {day['rows_published']} published")
        if bad[cluster] != day["rows_quarantined"]:
            breaches.append(f"{cluster!r}: {bad[cluster]} rows of quarantine, {day['rows_quarantined']} quarantined")
        logged = [row for row in lake.run_log if row["status"] == "SUCCEEDED" and row["cluster"] == cluster]
        names = [name for name in day if name.startswith("rows_")]
        if len(logged) != 1 or [logged[0][name] for name in names] != [day[name] for name in names]:
            breaches.append(f"{cluster!r}: run_log does not say what the summary says")
    return breaches + [f"left in staging: {lake.leftovers}"] * bool(lake.leftovers)


def bad_lines_are_ours(written: Written, quarantine: Sequence[Row]) -> list[str]:
    """Every quarantined line is one that was spoilt, and stands there once."""
    files = {(file.source, str(file.path)): file for file in written.files}
    breaches = []
    for row in quarantine:
        file = files.get((row["source"], row["file"]))
        if file is None:
            breaches.append(f"{row['source']} has no file {row['file']!r}")
        elif row["line"] not in file.unclean:
            breaches.append(
                f"{row['file']}:{row['line']} was left as it was, but is bad: {row['reason']} {row['detail']}"
            )
    twice = Counter((row["source"], row["file"], row["line"]) for row in quarantine)
    breaches.extend(f"{place} is quarantined {count} times" for place, count in twice.items() if count > 1)
    return breaches[:5]


def clean_lines_are_published(written: Written, sends: Sequence[Row], day_ms: tuple[int, int]) -> list[str]:
    """Every attempt of the day that was left as it was stands in `sends`, with every field as it was written."""
    published: dict[str | None, list[Row]] = {}
    for row in sends:
        published.setdefault(row["msg_id"], []).append(row)
    breaches = []
    for line in (fields for file in written.of("sends") for fields in file.sends):
        if not day_ms[0] <= line["ended_at_ms"] < day_ms[1]:
            continue
        found = published.get(line["msg_id"], [])
        expected = {name: line.get(name) for name in FIELDS if name != "cluster"}
        expected |= {"mode": expected["mode"] or "SYNC", "producer_group": expected["producer_group"] or ""}
        if not any(all(row[name] == value for name, value in expected.items()) for row in found):
            differs = {
                name: (value, found[0][name]) for name, value in expected.items() if found and found[0][name] != value
            }
            breaches.append(f"{line['msg_id']} is " + (f"altered: {differs}" if found else "not published"))
    return breaches[:5]


def published_lines_are_as_written(written: Written, sends: Sequence[Row]) -> list[str]:
    """What is surely no JSON is not published; a spoilt line that is published has the values that it says."""
    published = {row["msg_id"]: row for row in sends}
    breaches: list[str] = []
    for file in written.of("sends"):
        for line in file.lines if file.is_json else ():
            ids = {mark.decode() for mark in _MARK.findall(line.content)} if not line.is_clean else set()
            if is_surely_no_json(line.content):
                breaches.extend(
                    f"{file.path}:{line.number} is not JSON, but published" for each in ids if each in published
                )
            elif len(ids) == 1 and (row := published.get(ids.pop())) is not None:
                breaches.extend(f"{file.path}:{line.number}: {wrong}" for wrong in _altered(line.content, row))
    return breaches[:5]


def _altered(content: bytes, row: Row) -> list[str]:
    """Fields of a published line that are not what its JSON says; a text may stand for what is none."""
    try:
        said = json.loads(content.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError):
        return []
    wrong = []
    for name, value in said.items() if said.get("msg_id") == row["msg_id"] else ():
        is_text = name in FIELDS and FIELDS[name].typeName() == "string"
        is_comparable = isinstance(value, str) if is_text else value is not None
        surrogates = isinstance(value, str) and any(0xD800 <= ord(char) < 0xE000 for char in value)
        if (
            name in FIELDS
            and name not in {"cluster", "broker_name"}
            and is_comparable
            and not surrogates
            and row[name] != value
        ):
            wrong.append(f"{name} is {value!r:.80}, published as {row[name]!r:.80}")
    return wrong


def counted(told: Mapping[str, Any], flow: str) -> tuple[list[Row], dict[str, int]]:
    """Days and lines of other days of a flow, as `--json` prints them."""
    facts = told["flows"][flow]
    return list(facts["days"]), dict(facts["other_days"])
