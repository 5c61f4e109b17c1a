"""`faultline check`: its output for each input."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence

from jobs.check.before import files_elsewhere, local_files, read_heads
from jobs.check.elsewhere import NotSeenError, can_see
from jobs.check.fields import FieldFound, Found, find_fields
from jobs.check.heads import Head, some_of
from jobs.errors import FaultlineError
from jobs.settings.inputs import SEND_TIMEOUT_MS
from jobs.settings.model import Settings
from jobs.sources.doubtful_times import times_to_come, zone_missing
from jobs.sources.lake_apart import named_inputs
from jobs.sources.local_files import DEFAULT_STORE, is_local
from jobs.text.terminal import counted

_MOST_SAID = 5
_REPLAYED_BY = {
    "client_version": ("its rules are unknown and no producer is replayed", '"5.3.3"'),
    "fault_latency_enabled": ("the switch is assumed off: isolations are those that would have been", "true"),
}
"""Field to what its absence costs, and an example value."""


def check_inputs(settings: Settings, most_lines: int, now: dt.datetime) -> tuple[list[str], int]:
    """The answer from the heads of the input: sends field by field, other inputs only by the existence of their files.

    Args:
        settings: all settings.
        most_lines: lines of a file to read.
        now: the current time; no line can be later.

    Returns:
        Lines to print, and the exit code.
    """
    named = named_inputs(settings.inputs)
    if not named:
        return ["no input given; pass --sends PATH or set inputs.sends.path"], 2
    lines: list[str] = []
    exit_code = 0
    for kind in dict.fromkeys(kind for kind, _ in named):
        unseen = [
            path
            for other, path in named
            if other == kind and not is_local(path, settings.spark.get(DEFAULT_STORE)) and not can_see(path)
        ]
        lines += [f"{kind}: {path} lies on another store, unchecked" for path in unseen]
        try:
            files = [*local_files(settings, kind), *files_elsewhere(settings, kind)]
            if kind == "sends" and files:
                heads = read_heads(some_of(files), settings, most_lines)
                of_sends, code = _sends(heads, len(files), settings, now)
                lines += of_sends
                exit_code = max(exit_code, code)
            elif files:
                megabytes = sum(file.size for file in files) / 1e6
                lines.append(f"{kind}: {counted(len(files), 'file')}, {megabytes:.1f} MB; not looked into")
        except NotSeenError as error:
            lines.append(f"{kind}: unchecked, as its store cannot be looked at from here: {error}")
        except FaultlineError as error:
            lines.append(f"{kind}: WRONG: {error}")
            exit_code = max(exit_code, error.exit_code)
    return lines, exit_code


def _sends(heads: Sequence[Head], files: int, settings: Settings, now: dt.datetime) -> tuple[list[str], int]:
    rows = sum(len(head.records) for head in heads)
    bad = sum(len(head.bad) for head in heads)
    found = find_fields(heads, settings.inputs.sends)
    problems = (
        *_wrong(found, heads, has_routes=bool(settings.inputs.routes.path)),
        *_doubtful_times(found, now),
        *_not_replayed(found, settings),
        *_calls(found, settings),
    )
    said = problems if rows or bad else ()
    lines = [
        f"sends: {counted(files, 'file')}, the first lines of {len(heads)} of them: {counted(rows + bad, 'line')}",
        "",
        *((*_table(found.fields), "") if found.fields else ()),
        *(f"  {problem}" for problem in said),
        *([f"  no field comes from {', '.join(found.unmapped[:20])}"] if found.unmapped else []),
        *_counts("days", sorted(found.days.items())),
        *_counts("versions", found.versions.most_common()),
        *_counts("producers", found.producers.most_common()),
        *_counts("failures", found.failures.most_common()),
        *_counts("a run would publish", list(found.publishable.items())),
    ]
    return lines, 2 if any(problem.startswith("WRONG") for problem in said) else 0


def _table(fields: Sequence[FieldFound]) -> Iterator[str]:
    """A line per field: its source, the shares of missing and unusable values, examples."""
    rows = [
        ("field", "from", "missing", "unusable", "such as"),
        *(
            (
                field.name,
                field.source[:40],
                _share(field.missing, field.rows),
                _share(field.unusable, field.rows),
                ", ".join(field.examples),
            )
            for field in fields
        ),
    ]
    widths = [max(len(row[place]) for row in rows) for place in range(4)]
    for name, source, missing, unusable, examples in rows:
        cells = (f"{name:{widths[0]}}", f"{source:{widths[1]}}", f"{missing:>{widths[2]}}", f"{unusable:>{widths[3]}}")
        yield f"  {'  '.join(cells)}  {examples}".rstrip()


def _wrong(found: Found, heads: Sequence[Head], *, has_routes: bool) -> Iterator[str]:
    """WRONG for what costs every line, WARNING for the rest."""
    for sentence, is_needed in found.missing_columns.values():
        yield f"{'WRONG' if is_needed else 'WARNING'}: {sentence}"
    for names in found.lacking if any(head.columns for head in heads) else ():
        if not any(name in found.missing_columns for name in names):
            yield f"WRONG: no column for {' or '.join(names)}, which each line needs; map it in [inputs.sends.fields]"
    for field in found.fields:
        yield from _problems(field)
    rows = sum(len(head.records) for head in heads)
    for names, count in found.lines_lacking.items():
        verdict = "WRONG" if count == rows else "WARNING"
        yield (
            f"{verdict}: no {' or '.join(names)} in {count} of {rows} lines, which a run quarantines; map another"
            f' column, or define what an empty value means: [inputs.sends.values.{names[0]}] "" = …'
        )
    yield from _in_some_lines(found, rows, has_routes=has_routes)
    yield from _bad_lines(heads)


def _bad_lines(heads: Sequence[Head]) -> Iterator[str]:
    for head in heads:
        if head.bad and not head.records:
            hint = "name it .csv or .parquet, or set inputs.sends.format, or a pattern for text"
            if head.looks_like_csv:
                hint = "it looks like CSV: name it .csv, or set inputs.sends.format = 'csv'"
            yield f"WRONG: {head.file}: none of its first lines can be parsed; {hint}"
        yield from (f"WARNING: {head.file} line {number} {problem}" for number, problem in head.bad[:_MOST_SAID])
        if head.bad[_MOST_SAID:]:
            yield f"WARNING: {head.file} has {len(head.bad) - _MOST_SAID} more of such lines at its start"


def _in_some_lines(found: Found, rows: int, *, has_routes: bool) -> Iterator[str]:
    if found.by_address and not has_routes:
        yield (
            f"{'WRONG' if found.by_address == rows else 'WARNING'}: a broker's address and no name in"
            f" {found.by_address} of {rows} lines, and no routes to look it up in; give --routes PATH"
        )
    if found.contradicting:
        yield f"WARNING: start, end and latency contradict each other in {found.contradicting} of {rows} lines"
    for column in found.lists:
        yield (
            f"WARNING: {column} is a list: no field can come from inside it; write a line for each send, with its"
            " values in objects"
        )


def _doubtful_times(found: Found, now: dt.datetime) -> Iterator[str]:
    """A WARNING for times without a zone, in the text or the settings, and for times in the future."""
    for field in found.fields:
        doubts = (*zone_missing(field.name, field.without_zone), *times_to_come(field.name, field.last_ms, now))
        yield from (f"WARNING: {doubt}" for doubt in doubts)


def _not_replayed(found: Found, settings: Settings) -> Iterator[str]:
    """A WARNING for values that neither lines nor settings have, without which nothing is replayed."""
    own_settings = [vars(producer) for producer in settings.producers.values()]
    for name, (costs, example) in _REPLAYED_BY.items():
        has_none = all(field.missing == field.rows for field in found.fields if field.name == name)
        if found.producers and has_none and all(own[name] is None for own in own_settings):
            yield (
                f"WARNING: no line has {name}, so {costs}; give it in [inputs.sends.fields], such as {name} ="
                f' {{ value = {example} }}, or by producer group in [producers."GROUP"]'
            )


def _calls(found: Found, settings: Settings) -> Iterator[str]:
    """A WARNING for lines that look like calls where no setting says what a line is."""
    said = (
        settings.inputs.sends.one_line_per == "call",
        *(producer.one_line_per for producer in settings.producers.values()),
    )
    if found.looks_like_calls and not any(said):
        yield (
            "WARNING: a line looks like a call of send(), not like an attempt: no failure has a broker, and"
            f' {counted(found.long_calls, "line")} took {SEND_TIMEOUT_MS} ms or more; set one_line_per = "call" in'
            " [inputs.sends], or the broker that answered is isolated for the wait for another"
        )


def _problems(found: FieldFound) -> Iterator[str]:
    verdict = "WRONG" if found.rows and found.unusable == found.rows else "WARNING"
    for problem, texts in sorted(found.problems.items(), key=lambda of: max(of[1].values()), reverse=True):
        shown = ", ".join(repr(text) for text, _ in texts.most_common(3)) + (", …" if len(texts) > 3 else "")
        yield f"{verdict}: {found.name} {shown} {problem} ({texts.total()} of {found.rows} lines)"


def _counts(what: str, counts: Sequence[tuple[str, int]]) -> Iterator[str]:
    if counts:
        shown = ", ".join(f"{name} ({count})" for name, count in counts[:10])
        more = f", … {len(counts) - 10} more" if len(counts) > 10 else ""
        yield f"  {what}: {shown}{more}"


def _share(count: int, rows: int) -> str:
    """A share that is 0% or 100% only where it is exact."""
    if not count or count == rows:
        return "0%" if not count else "100%"
    return f"{min(max(100 * count / rows, 0.1), 99.9):.1f}%"
