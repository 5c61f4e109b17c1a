"""`faultline plan`: what a run would read and write, and where each setting comes from. Writes nothing."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import click

from jobs.check.before import not_named
from jobs.check.elsewhere import NotSeenError, can_see, is_lake_elsewhere, list_elsewhere, store_of
from jobs.cli import options
from jobs.cli.call import Call
from jobs.cli.command import Command
from jobs.cli.days import DayOptions, run_days
from jobs.cli.fail_on import check_asked_of
from jobs.cli.parameters import Word
from jobs.cli.publish import FLOWS, RunOptions, check_recompute, flows_of, run_options
from jobs.runs.flow_tables import FLOW_TABLES, inputs_of, needed_of
from jobs.settings.load import origin_of, setting_name
from jobs.settings.model import Settings
from jobs.sources.lake_apart import check_apart
from jobs.sources.local_files import DEFAULT_STORE, Listing, is_local, list_local
from jobs.text.redaction import HIDDEN, is_secret, redacted, secrets_of
from jobs.text.terminal import escaped, one_line
from jobs.uri import is_there, local_folder

_MOST_SAID = 20


@click.command(
    cls=Command, does="what a command would read and write, and where each setting comes from; writes nothing"
)
@click.argument("planned", type=Word(FLOWS), metavar="COMMAND", help=", ".join(FLOWS))
@run_options
@click.pass_obj
def plan(
    call: Call, /, planned: str, days: DayOptions, lake: options.LakeOptions, how: RunOptions, **paths: tuple[str, ...]
) -> None:
    """Print the plan of the command."""
    check_recompute(planned, how, paths)
    settings = call.settings(lake, paths)
    dates, why = run_days(days, settings, call.clock().date())
    print(describe_plan(planned, how, settings, dates, why))


def describe_plan(planned: str, how: RunOptions, settings: Settings, days: tuple[dt.date, ...], why: str) -> str:
    """The plan of the command `planned` as text.

    Raises:
        UsageError: the command would refuse its `--fail-on`.
        SettingValueError: it would refuse the location of the lake.
    """
    flows = flows_of(planned, settings)
    if not how.recompute:
        check_apart(settings)
    check_asked_of(flows, how.fail_on)
    read = [] if how.recompute else flows
    does, of = (
        ("recompute ", "each cluster of the lake") if how.recompute else ("publish", f"cluster {settings.cluster}")
    )
    unseen: set[str] = set()
    values = asdict(settings) | {"origins": {}}
    lines = [
        f"faultline {planned} would",
        f"  run      {', '.join(flows)}",
        f"  {does:<9}{', '.join(map(str, days[:7]))}{' …' if days[7:] else ''} ({why}), {of}",
        *(line for kind in inputs_of(read) for line in _read(settings, kind, unseen)),
        *(f"  WRONG    {sentence}" for sentence in not_named(settings, needed_of(read))),
        f"  write    {settings.lake} ({_state(settings, unseen)})",
        *(f"           {_written(flow, how)}" for flow in flows),
        "",
        "Settings",
        *(f"  {name} = {value!r}  ({origin_of(name, settings.origins)})" for name, value in sorted(_values(values))),
    ]
    plan = redacted("\n".join(map(escaped, lines)), secrets_of(settings.spark), named=False)
    return "\n".join(map(one_line, plan.split("\n")))


def _read(settings: Settings, kind: str, unseen: set[str]) -> Iterator[str]:
    """A line for each path of an input, then for each file that is not read and each problem that stops the run.

    Args:
        settings: all settings.
        kind: of the input.
        unseen: stores that could not be looked at; no look at them is tried again.
    """
    paths = getattr(settings.inputs, kind).path
    local = [path for path in paths if is_local(path, settings.spark.get(DEFAULT_STORE))]
    listings = [list_local(local, settings.lake)]
    for path in paths:
        if path in local:
            found = _counted(list_local([path], settings.lake))
        elif not can_see(path):
            found = "not looked at"
        elif store_of(path) not in unseen:
            try:
                listings.append(list_elsewhere(path, settings.spark))
                found = _counted(listings[-1])
            except NotSeenError as error:
                found = f"not looked at: {error}"
                unseen.add(store_of(path))
        else:
            found = "not looked at either"
        yield f"  read     {kind}: {path} ({found})"
    said = [
        *(f"left out: {path} is hidden or half-copied" for listing in listings for path in listing.hidden),
        *(f"WRONG: {problem}" for listing in listings for problem in listing.problems),
    ]
    yield from (f"           {line}" for line in said[:_MOST_SAID])
    if said[_MOST_SAID:]:
        yield f"           … and {len(said) - _MOST_SAID} more"


def _written(flow: str, how: RunOptions) -> str:
    published = () if how.recompute else (*FLOW_TABLES[flow].published, "quarantine")
    which = " whose sends the lake has" if how.recompute else ""
    names = ", ".join((*published, *FLOW_TABLES[flow].derived))
    tables = f"{flow}: the days above{which} of {names} and run_log"
    cascade = flow == "fault-latency" and not how.no_cascade
    return f"{tables}; later days that start from them" if cascade else tables


def _counted(listing: Listing) -> str:
    return f"{len(listing.files)} files, {listing.size / 1e6:.1f} MB" if listing.files else "MISSING"


def _state(settings: Settings, unseen: set[str]) -> str:
    """Whether the lake exists; on another store, whether it has a run log."""
    folder = local_folder(settings.lake)
    if folder is None and store_of(settings.lake) in unseen:
        return "not looked at either"
    try:
        is_made = is_lake_elsewhere(settings.lake, settings.spark) if folder is None else is_there(folder)
    except NotSeenError as error:
        return f"not looked at: {error}"
    return "exists" if is_made else "would be made"


def _values(table: Mapping[str, Any], at: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted name and value of every setting that is not a table, without secrets; `at` is the table's own name."""
    for key, value in table.items():
        name = setting_name(at, key)
        if isinstance(value, Mapping):
            yield from _values(value, f"{name}.")
        elif value is not None:
            yield name, _shown(name, value)


def _shown(name: str, value: Any) -> Any:
    """A setting's value with secrets redacted; producers and groups are not secrets, even if named like one."""
    if name == "notify.url":  # its path is often the secret
        return HIDDEN
    if not name.startswith("spark."):
        return value
    return HIDDEN if is_secret(name) else redacted(value)
