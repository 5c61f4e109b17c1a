"""The command line: arguments to settings, one call, an exit code.

Exit codes: 0 done · 2 wrong usage, settings or machine · 3 input missing or unreadable · 4 too many bad lines ·
5 the lake is busy · 6 counts do not add up, or a day is not what its sends say ·
7 a `--fail-on` condition held · 1 anything else · 128 + its number when a signal ended it.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import sys
import traceback
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from jobs.cli.answers_options import COMMANDS, EXTRA, add_answer_commands
from jobs.cli.days import run_days, span_text
from jobs.cli.doctor_options import add_doctor_command
from jobs.cli.serving_options import add_serving_commands
from jobs.cli.upkeep_options import UPKEEP, add_break_lock, add_upkeep_commands
from jobs.cli.what_if_options import WHAT_IF, WHAT_IF_IN_FULL, add_what_if_options
from jobs.errors import FaultlineError, UsageError
from jobs.settings.load import load_settings
from jobs.settings.model import Settings
from jobs.spark.interruption import Interrupted, heeding_signals
from jobs.text.redaction import redacted, secrets_of
from jobs.text.terminal import escaped, one_line

if TYPE_CHECKING:  # it imports Spark
    from jobs.runs.run import Run

_COMMANDS = {
    "nightly": "every flow for one or more UTC days, then the run's record",
    "fault-latency": "send attempts to isolation timeline, broker windows and incidents",
    "allocation": "consumer snapshots to who should own which queue",
}


class _Parser(argparse.ArgumentParser):
    """Wrong usage is an error like any other: one sentence and exit code 2."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see {self.prog} --help")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    verbose = "-v" in words or "--verbose" in words
    secrets = secrets_of(os.environ)
    try:
        with heeding_signals(to_the_end=arguments is None):
            return _run(_parser().parse_args(words), secrets)
    except (FaultlineError, Interrupted) as error:
        with suppress(OSError):  # the terminal may be gone
            _complain(str(error), secrets, verbose=verbose)
        return error.exit_code
    except BrokenPipeError:
        return 1
    except Exception as error:  # noqa: BLE001 - the last resort: a sentence instead of a JVM trace
        unexpected = f"unexpected {type(error).__name__}: {_first_line(error)}; run it with -v and report it"
        _complain(unexpected, secrets, verbose=verbose)
        return 1


def _complain(sentence: str, secrets: set[str], *, verbose: bool) -> None:
    """The sentence on stderr, below the trace if that is wished for; without secrets."""
    if verbose:
        print(redacted(traceback.format_exc(), secrets), file=sys.stderr)
    print(f"faultline: {one_line(redacted(sentence, secrets))}", file=sys.stderr)


def _run(options: argparse.Namespace, secrets: set[str]) -> int:
    """Run the command; `secrets` learns those of the settings, for what is said when it fails."""
    if options.command == "doctor":
        return _doctor(options, secrets)
    settings = _settings(options)
    secrets |= secrets_of(settings.spark)
    if options.command in COMMANDS:
        print(_answer(options, settings))
    elif options.command == "plan":
        print(_plan(options, settings))
    else:
        from jobs.spark.environment import check_environment

        check_environment()
        others = {"what-if": _run_what_if, "register": _run_serving, "serve": _run_serving}
        others |= dict.fromkeys(UPKEEP, _run_upkeep)
        others.get(options.command, _run_flows)(options, settings)
    return 0


def _doctor(options: argparse.Namespace, secrets: set[str]) -> int:
    from jobs.doctor.examination import as_json, as_text, examine, is_fit

    def load() -> Settings:
        settings = _settings(options)
        secrets.update(secrets_of(settings.spark))
        return settings

    checks = examine(load, with_session=options.session)
    print(as_json(checks, secrets) if options.json else as_text(checks, secrets, colour=sys.stdout.isatty()))
    return 0 if is_fit(checks) else 2


def _answer(options: argparse.Namespace, settings: Settings) -> str:
    """The part without Spark: reads what is published."""
    from jobs.spark.environment import check_extra

    check_extra(f"faultline {options.command}", "report", EXTRA[options.command])
    from jobs.cli import answers as command

    cluster = options.cluster or (settings.cluster if "cluster" in settings.origins else None)
    return getattr(command, options.command)(options, settings.lake, cluster)  # type: ignore[no-any-return]


def _plan(options: argparse.Namespace, settings: Settings) -> str:
    from jobs.cli.plan import describe_plan

    return describe_plan(options, settings, *run_days(options, settings, _today()))


def _run_what_if(options: argparse.Namespace, settings: Settings) -> None:
    from jobs.cli.what_if import asked_by, what_if_answer

    days, why = run_days(options, settings, _today())
    asked = asked_by(options)
    lake = one_line(redacted(settings.lake))
    print(f"faultline what-if: {span_text(days)} ({why}), {len(asked.names)} policies, lake {lake}", file=sys.stderr)
    print(what_if_answer(options, settings, _new_run(options, days), asked))


def _run_serving(options: argparse.Namespace, settings: Settings) -> None:
    from jobs.cli.serving import run_register, run_serve

    run = run_register if options.command == "register" else run_serve
    run(options, settings, lambda line: print(line, flush=True))


def _run_upkeep(options: argparse.Namespace, settings: Settings) -> None:
    from jobs.cli.maintain import run_upkeep

    days = (options.date,) if getattr(options, "date", None) else ()
    run_upkeep(options, settings, _new_run(options, days), f"{_today()}", print)


def _run_flows(options: argparse.Namespace, settings: Settings) -> None:
    from jobs.cli.publish import run_flows

    days, why = run_days(options, settings, _today())
    run_flows(options, settings, _new_run(options, days), f"{span_text(days)} ({why})", print)


def _new_run(options: argparse.Namespace, days: tuple[dt.date, ...]) -> Run:
    from jobs.runs.run import Run

    return Run(
        run_id=uuid.uuid4().hex[:12],
        command=options.command,
        days=days,
        allow_empty=getattr(options, "allow_empty", False),
        cascade=not getattr(options, "no_cascade", False),
        clock=lambda: dt.datetime.now(dt.UTC),
        break_lock=getattr(options, "break_lock", False),
    )


def _settings(options: argparse.Namespace) -> Settings:
    inputs = ("sends", "routes", "consumers", "running_info", "client_logs")
    given = {f"inputs.{name}.path": getattr(options, name, None) for name in inputs} | {"lake": options.lake}
    named = {key: value for key, value in given.items() if value is not None}
    settings = load_settings(
        [Path(name) for name in options.settings] if options.settings or named else _samples(),
        options.assignments,
        named,
    )
    if not settings.lake:
        raise UsageError("no lake is named; give --lake DIR or the setting lake")
    return settings


def _samples() -> list[Path]:
    """The settings of the shipped samples, for who names neither settings nor a lake nor input."""
    local = Path("conf/local.toml")
    homes = [Path.cwd(), *([Path(os.environ["FAULTLINE_HOME"])] if "FAULTLINE_HOME" in os.environ else [])]
    return next(([home / local] for home in homes if (home / local).is_file()), [])


def _today() -> dt.date:
    return dt.datetime.now(dt.UTC).date()


def _first_line(error: BaseException) -> str:
    return escaped((str(error).strip() or "no message").splitlines()[0][:300])


def _day(text: str) -> dt.date:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{text!r} is no day; write it like 2026-11-21") from None


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="faultline",
        description="Which producers avoided which broker, and who should own which queue: rebuilt from logs.",
        epilog="Exit codes: 0 done, 2 usage or settings, 3 input, 4 too many bad lines, 5 lake busy,"
        " 6 counts do not add up, 7 a --fail-on condition held, 1 anything else, 128 + its number after a signal.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, does in _COMMANDS.items():
        _add_run_options(commands.add_parser(name, help=does, description=f"{does[0].upper()}{does[1:]}."))
    what_if = commands.add_parser("what-if", help=WHAT_IF, description=WHAT_IF_IN_FULL)
    _add_days(what_if)
    _add_settings(what_if.add_argument_group("lake"))
    add_what_if_options(what_if)
    does = "what a command would read and write, and where each setting comes from; writes nothing"
    plan = commands.add_parser("plan", help=does, description=f"{does[0].upper()}{does[1:]}.")
    plan.add_argument("planned", choices=sorted(_COMMANDS), metavar="COMMAND", help=", ".join(_COMMANDS))
    _add_run_options(plan)
    add_answer_commands(commands, _day)
    add_serving_commands(commands, _add_settings)
    add_doctor_command(commands, _add_inputs)
    add_upkeep_commands(commands, _add_settings, _day)
    return parser


def _add_days(parser: argparse.ArgumentParser) -> None:
    days = parser.add_argument_group("days (UTC)")
    days.add_argument("--date", type=_day, metavar="D", help="one day; default: the samples' own day, else yesterday")
    days.add_argument("--from", dest="first", type=_day, metavar="D", help="first day, inclusive")
    days.add_argument("--to", dest="last", type=_day, metavar="D", help="last day, inclusive")


def _add_settings(where: argparse._ActionsContainer) -> None:
    where.add_argument("--lake", metavar="DIR", help="folder or URI of the tables")
    where.add_argument(
        "--settings",
        action="append",
        default=[],
        metavar="FILE",
        help="settings, TOML; repeatable, later win; without any, a lake and input: conf/local.toml",
    )
    where.add_argument(
        "--set", dest="assignments", action="append", default=[], metavar="KEY=VALUE", help="one setting; repeatable"
    )


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    _add_days(parser)
    _add_inputs(parser.add_argument_group("input and lake (a PATH is a file, a folder or a glob)"))
    how = parser.add_argument_group("how")
    how.add_argument("--allow-empty", action="store_true", help="publish a day without a line as an empty day")
    how.add_argument(
        "--no-cascade", action="store_true", help="report later days that should be recomputed, but leave them"
    )
    add_break_lock(how)
    how.add_argument("--json", action="store_true", help="print the summary as JSON")
    how.add_argument(
        "--fail-on",
        action="append",
        default=[],
        metavar="CONDITION",
        help="exit 7 when it holds: incident, contradictions>N, missing-producer; repeatable",
    )
    how.add_argument("-v", "--verbose", action="store_true", help="show the trace of an error")


def _add_inputs(where: argparse._ActionsContainer) -> None:
    where.add_argument("--sends", action="append", metavar="PATH", help="send attempts; repeatable")
    where.add_argument("--routes", action="append", metavar="PATH", help="topic routes; repeatable")
    where.add_argument("--consumers", action="append", metavar="PATH", help="members of consumer groups; repeatable")
    where.add_argument("--running-info", action="append", metavar="PATH", help="consumers' running info; repeatable")
    where.add_argument("--client-logs", action="append", metavar="PATH", help="consumers' own logs; repeatable")
    _add_settings(where)


if __name__ == "__main__":
    raise SystemExit(main())
