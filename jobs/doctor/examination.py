"""`faultline doctor`, from its options to what it says."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict

from jobs.doctor.check import Check, Verdict, checked
from jobs.doctor.folders import temporary
from jobs.doctor.inputs import inputs
from jobs.doctor.lake import lake
from jobs.doctor.machine import machine
from jobs.doctor.software import jars, software
from jobs.errors import SettingsError, UsageError
from jobs.settings.model import Settings
from jobs.spark.delta_jars import jar_folder, locked_jars
from jobs.spark.interruption import give_back
from jobs.text.redaction import redacted
from jobs.text.terminal import one_line

_COLOURS: dict[Verdict, str] = {"ok": "32", "warning": "33", "wrong": "31"}


def examine(load: Callable[[], Settings], *, with_session: bool) -> list[Check]:
    """Every check of this machine and lake, in the order in which a run would meet them.

    Args:
        load: the settings; what is wrong with them is a check like the others.
        with_session: start Spark too.
    """
    checks = [*software(), *jars(locked_jars(), jar_folder())]
    try:
        settings = load()
    except (SettingsError, UsageError) as error:
        found, _, fix = str(error).partition("; ")
        return [*checks, Check("settings", "wrong", found, fix)]
    checks.append(Check("settings", "ok", f"cluster {settings.cluster}, lake {settings.lake}"))
    checks += _surroundings(settings)
    checks += lake(settings.lake)
    if with_session:
        checks.append(_session(settings))
    return checks


def _surroundings(settings: Settings) -> Iterator[Check]:
    try:
        from jobs.spark.session import ONE_MACHINE  # noqa: PLC0415 - it imports Spark, which may not fit
    except ImportError as error:
        yield Check("machine", "warning", f"not looked into, as Spark cannot be imported: {error}", "see above")
    else:
        spark = {**ONE_MACHINE, **settings.spark}
        yield from machine(spark, os.environ)
        yield from temporary(spark, os.environ)
    yield from inputs(settings)


def _session(settings: Settings) -> Check:
    def look() -> str:
        from jobs.spark.session import open_session  # noqa: PLC0415 - likewise

        spark = open_session(settings.spark)
        try:
            return f"Spark {spark.version} counts to {spark.range(2).count()}, Delta is loaded"
        finally:
            give_back()
            spark.stop()

    return checked("session", look)


def as_text(checks: Sequence[Check], secrets: Collection[str] = (), *, colour: bool) -> str:
    """A line per check, its fix below it, without `secrets`."""
    width = max(len(check.name) for check in checks)
    lines = []
    for check in checks:
        verdict = f"{check.verdict:7}"
        shown = f"\x1b[{_COLOURS[check.verdict]}m{verdict}\x1b[0m" if colour else verdict
        lines.append(f"{shown}  {check.name:{width}}  {one_line(redacted(check.found, secrets))}")
        if check.fix:
            lines.append(f"{'':{width + 11}}→ {one_line(redacted(check.fix, secrets))}")
    counts = {verdict: sum(check.verdict == verdict for check in checks) for verdict in _COLOURS}
    lines.append(", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count))
    return "\n".join(lines)


def as_json(checks: Sequence[Check], secrets: Collection[str] = ()) -> str:
    """The checks as one JSON object, without `secrets`."""
    shown = [{name: redacted(text, secrets) for name, text in asdict(check).items()} for check in checks]
    return json.dumps({"fit": is_fit(checks), "checks": shown}, indent=1)


def is_fit(checks: Sequence[Check]) -> bool:
    """Whether nothing is wrong."""
    return all(check.verdict != "wrong" for check in checks)
