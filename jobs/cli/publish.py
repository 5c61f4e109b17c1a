"""The commands that publish days, from parsed options to the last word: `nightly`, `fault-latency`, `allocation`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict, replace

from jobs.allocation.run import run_allocation
from jobs.allocation.summary import summarize_allocation
from jobs.allocation.summary_text import allocation_text
from jobs.cli.fail_on import asked_conditions, check_conditions
from jobs.cli.plan import flows_of
from jobs.fault_latency.run import run_fault_latency
from jobs.fault_latency.summary import summarize
from jobs.fault_latency.summary_text import as_text
from jobs.runs.run import Run
from jobs.settings.model import Settings
from jobs.sources.lake_apart import check_apart
from jobs.spark.session import running
from jobs.text.progress import Progress
from jobs.text.terminal import one_line, safe


def run_flows(options: argparse.Namespace, settings: Settings, run: Run, days: str, say: Callable[[str], None]) -> None:
    """Publish the run's days and say what they show.

    Args:
        options: as the command line parsed them.
        settings: all settings.
        run: what runs.
        days: the days, and why these, in words.
        say: takes the answer.

    Raises:
        FaultlineError: one of its subclasses; `ConditionMetError` after everything was published and said.
    """
    flows = flows_of(run.command, settings)
    conditions = asked_conditions(options.fail_on, flows)
    check_apart(settings)
    progress = Progress()
    progress.say(f"faultline {run.command}: {days}, cluster {safe(settings.cluster)}, lake {one_line(settings.lake)}")
    with running(settings, progress, verbose=options.verbose) as spark:
        texts, tables = [], {}
        try:
            if "fault-latency" in flows:
                result = run_fault_latency(spark, settings, run, progress)
                with progress.step("reading the answers"):
                    summary = summarize(spark, settings, result)
                texts.append(as_text(summary))
                tables.update(asdict(summary))
            if "allocation" in flows:
                is_first = flows[0] == "allocation"  # else who holds the lake now came after the lock was broken
                second = replace(run, break_lock=run.break_lock and is_first)
                result = run_allocation(spark, settings, second, progress)
                with progress.step("reading the answers"):
                    allocated = summarize_allocation(spark, settings, result)
                texts.append(allocation_text(allocated))
                tables["allocation"] = asdict(allocated)
        finally:
            if texts:  # what the first flow found is said too when the second fails
                say(json.dumps(tables, indent=1) if options.json else "\n\n".join(texts))
        if "fault-latency" in flows:
            check_conditions(conditions, summary)
