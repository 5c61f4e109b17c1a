"""The commands that publish days: `nightly`, `fault-latency` and `allocation`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from jobs.cli import options
from jobs.cli.answer_of_a_run import Answer, check_json_to
from jobs.cli.call import Call
from jobs.cli.command import Command
from jobs.cli.days import DayOptions, run_days, span_text
from jobs.cli.export import export_night
from jobs.cli.fail_on import WORDS, Condition, check_asked_of, check_conditions
from jobs.cli.notify import notified
from jobs.cli.parameters import CONDITION, FILE
from jobs.errors import UsageError
from jobs.settings.model import Settings
from jobs.sources.lake_apart import check_apart
from jobs.text.progress import Progress
from jobs.text.terminal import one_line, safe

if TYPE_CHECKING:  # it imports Spark
    from jobs.runs.run import Run

FLOWS = {
    "nightly": "every flow for one or more UTC days, then the run's record",
    "fault-latency": "send attempts to isolation timeline, broker windows and events",
    "allocation": "consumer snapshots to who should own which queue",
}
"""Command to what it does."""


@dataclass(frozen=True)
class RunOptions:
    """How days are published and reported.

    Attributes:
        json_to: file or URI to which the answer is written as JSON, besides printing it.
        fail_on: conditions that end the command with an exit code of their own.
        recompute: derive the days from the lake's own sends instead of the input.
    """

    allow_empty: bool = False
    recompute: bool = False
    no_cascade: bool = False
    break_lock: bool = False
    wait_minutes: int = 0
    as_json: bool = False
    json_to: str | None = None
    fail_on: tuple[Condition, ...] = ()
    verbose: bool = False


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`days`, `**paths`, `lake` and `how`: all options of a run."""
    how = options.gathered(
        "how",
        RunOptions,
        options.option(
            "--recompute",
            is_flag=True,
            help="fault-latency: read no input, recompute the days from the lake's own sends, by the settings of now",
        ),
        options.option("--allow-empty", is_flag=True, help="publish a day without a line as an empty day"),
        options.option(
            "--no-cascade", is_flag=True, help="report later days that should be recomputed, but leave them"
        ),
        options.break_lock,
        options.wait,
        options.as_json("print the answer as JSON"),
        options.option(
            "--json-to", type=FILE, metavar="FILE", help="also write it as JSON to a file or URI, as under spark-submit"
        ),
        options.option(
            "--fail-on",
            type=CONDITION,
            multiple=True,
            metavar="CONDITION",
            help=f"exit 7 when there is one, or with >N more than N: {', '.join(WORDS)}; repeatable",
        ),
        options.verbose,
    )
    return options.days("the samples' own day, else yesterday")(options.inputs(how(command)))


def _publishing(name: str, does: str) -> click.Command:
    """The click command `name`."""

    @click.command(name, cls=Command, does=does)
    @run_options
    @click.pass_obj
    def command(
        call: Call, /, days: DayOptions, lake: options.LakeOptions, how: RunOptions, **paths: tuple[str, ...]
    ) -> None:
        check_recompute(name, how, paths)
        settings = call.settings_for_spark(lake, paths)
        dates, why = run_days(days, settings, call.clock().date())
        run = call.run(
            name,
            dates,
            allow_empty=how.allow_empty,
            cascade=not how.no_cascade,
            break_lock=how.break_lock,
            wait_minutes=how.wait_minutes,
        )
        run_flows(how, settings, run, f"{span_text(dates)} ({why})", print, cluster=lake.cluster)

    return command


COMMANDS = {name: _publishing(name, does) for name, does in FLOWS.items()}


def check_recompute(command: str, how: RunOptions, paths: options.Paths) -> None:
    """Refuse `--recompute` of a flow that needs its input, or together with input options.

    Raises:
        UsageError: it does not go with the command or its options.
    """
    if not how.recompute:
        return
    if command != "fault-latency":
        raise UsageError(
            f"--recompute is of fault-latency, whose sends the lake has; {command} needs its input again, leave it out"
        )
    given = [f"--{name.replace('_', '-')}" for name, named in paths.items() if named]
    if refused := [*given, *(["--allow-empty"] if how.allow_empty else [])]:
        raise UsageError(f"--recompute reads no input; leave out {', '.join(refused)}")


def flows_of(command: str, settings: Settings) -> list[str]:
    """Flows that the command runs; `nightly` runs every flow that has input, or the first one if none has."""
    if command != "nightly":
        return [command]
    has_input = {"fault-latency": settings.inputs.sends.path, "allocation": settings.inputs.consumers.path}
    return [flow for flow, paths in has_input.items() if paths] or ["fault-latency"]


def run_flows(
    how: RunOptions,
    settings: Settings,
    run: Run,
    days: str,
    say: Callable[[str], None],
    *,
    cluster: str | None = None,
) -> None:
    """Publish the run's days and print their answer.

    Args:
        how: the command's own options.
        settings: all settings.
        run: what runs.
        days: the days, and why these days, in words.
        say: prints the answer.
        cluster: the only one whose days are recomputed, if an option names one.

    Raises:
        FaultlineError: one of its subclasses; `ConditionMetError` after everything was published and said.
    """
    answer = Answer(settings, run, Progress())
    with notified(answer):
        _run_flows(how, answer, days, say, cluster)


def _run_flows(how: RunOptions, answer: Answer, days: str, say: Callable[[str], None], cluster: str | None) -> None:
    """Publish the run's days and print their answer, without telling anybody else."""
    from jobs.allocation.run import run_allocation
    from jobs.check.before import check_before
    from jobs.fault_latency.run import recompute_fault_latency, run_fault_latency
    from jobs.runs.facts import facts_of
    from jobs.runs.flow_tables import inputs_of, needed_of
    from jobs.spark.session import running
    from jobs.spark.store_jars import check_stores

    settings, run, progress = answer.settings, answer.run, answer.progress
    flows = flows_of(run.command, settings)
    check_asked_of(flows, how.fail_on)
    check_json_to(how.json_to)
    command, of, warnings = run.command, f"cluster {safe(settings.cluster)}", []
    if how.recompute:
        command, of = f"{command} --recompute", f"cluster {safe(cluster)}" if cluster else "each cluster"
    else:
        check_apart(settings)
        warnings = check_before(settings, inputs_of(flows), needed_of(flows))
    progress.say(f"faultline {command}: {days}, {of}, lake {one_line(settings.lake)}")
    for warning in warnings:
        progress.say(f"warning: {warning}")
    try:
        with running(settings, progress, verbose=how.verbose) as spark, answer.written(spark, how.json_to):
            if not how.recompute:
                check_stores(spark, [path for kind in inputs_of(flows) for path in getattr(settings.inputs, kind).path])
            answer.spark_settings = dict(spark.sparkContext.getConf().getAll())
            if "fault-latency" in flows:
                if how.recompute:
                    result = recompute_fault_latency(spark, settings, run, progress, cluster=cluster)
                else:
                    result = run_fault_latency(spark, settings, run, progress)
                answer.facts.append(facts_of("fault-latency", settings, result))
            if "allocation" in flows:
                # after the first flow the lock is broken already; its holder is a newer run
                second = replace(run, break_lock=run.break_lock and flows[0] == "allocation")
                result = run_allocation(spark, settings, second, progress)
                answer.facts.append(facts_of("allocation", settings, result))
    finally:
        if answer.facts:  # also print what the first flow published if the second fails
            say(answer.as_json() if how.as_json else answer.as_text())
    if run.command == "nightly":
        export_night(answer)
    check_conditions(how.fail_on, answer.nights)
