"""The last published night of each cluster as gauges, in Prometheus' text format 0.0.4.

Node exporter's textfile collector reads that one, not OpenMetrics.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow.compute as pc
from prometheus_client import CollectorRegistry, Gauge, generate_latest

from jobs.answers.delta_table import NO_OPTIONS, Options
from jobs.answers.digest import Digest, digests_of
from jobs.answers.digest_text import night_line
from jobs.answers.published import DISPOSITIONS, Published, check_tables, open_published, published_days
from jobs.answers.runs import NOT_GIVEN
from jobs.errors import UsageError
from jobs.kinds import Severity
from jobs.tables import PRODUCER_DAYS
from jobs.text.whole_file import write_whole

GAUGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "day_timestamp_seconds": ("Start of the last published UTC day, which the other gauges are about.", ()),
    "last_success_timestamp_seconds": ("When a run of the flow last published a day, any day.", ("flow",)),
    "flow_duration_seconds": (
        "From its input read to its tables published; without waiting for the lake, starting Spark and reading.",
        ("flow",),
    ),
    "rows": ("Input lines that the flow read, by where they went.", ("flow", "disposition")),
    "sends_lost": ("Sends that failed for their callers.", ()),
    "events": ("Troubles of a broker, or of several at once.", ("severity",)),
    "findings": ("Findings about producers and brokers.", ("severity",)),
    "isolation_seconds": ("Isolation of all brokers, summed over the producers whose switch is known.", ()),
    "brokers": ("Brokers with sends or isolation.", ()),
    "broker_isolation_seconds": (
        "Isolation of one of the fifty brokers isolated longest, summed over the producers whose switch is known.",
        ("broker",),
    ),
    "broker_isolating_producers": ("Producers that isolated the broker.", ("broker",)),
    "group_events": ("Changes of consumer groups.", ()),
    "group_findings": ("Findings about consumer groups.", ()),
}
"""Name after `faultline_` to its help, and its labels after `cluster`.

At most 126 series for a cluster, however many brokers it has: 100 of them are of brokers.
"""

_Sample = tuple[str, tuple[str, ...], float]


def export_metrics(root: str, file: Path, options: Options = NO_OPTIONS) -> str:
    """Write the file, readable for all, and return a sentence that names the nights.

    Args:
        root: folder or URI of the lake.
        file: what node exporter reads; replaced as a whole.
        options: for delta-rs.

    Raises:
        LakeError: there is no lake, or it cannot be read.
        InputMissingError: no day is published.
        UsageError: the file cannot be written, or its name is not one of node exporter's.
    """
    if file.suffix != ".prom" and (file.is_file() or not file.exists()):
        raise UsageError(f"{file} would not be read by node exporter; end its name in .prom")
    check_tables(root, options)
    nights = [open_published(root, cluster, None, None, options) for cluster in published_days(root, options)]
    told = [(night, digests_of(night)[0]) for night in nights]
    try:
        write_whole(file, _text(told), mode=0o644)
    except OSError as error:
        raise UsageError(
            f"{file} cannot be written: {error.strerror}; name a file in a folder that takes it"
        ) from error
    return f"wrote {file}: {'; '.join(night_line(digest) for _, digest in told)}"


def _text(nights: Iterable[tuple[Published, Digest]]) -> str:
    samples = [(night.cluster, *sample) for night, digest in nights for sample in _samples(night, digest)]
    registry = CollectorRegistry()
    for name in dict.fromkeys(name for _, name, _, _ in samples):
        gauge = Gauge(f"faultline_{name}", GAUGES[name][0], ("cluster", *GAUGES[name][1]), registry=registry)
        for cluster, of, labels, value in samples:
            if of == name:
                gauge.labels(cluster, *labels).set(value)
    return generate_latest(registry).decode()


def _samples(night: Published, digest: Digest) -> Iterator[_Sample]:
    """What is known of the night: a flow that did not run has no sample, not 0."""
    (day,), counts = night.days, digest.counts
    yield "day_timestamp_seconds", (), dt.datetime.combine(day, dt.time(), dt.UTC).timestamp()
    yield from _of_runs(night, day)
    if counts["has_groups"]:
        yield "group_events", (), counts["group_events"]
        yield "group_findings", (), counts["group_findings"]
    if not counts["has_sends"]:
        return
    yield "sends_lost", (), counts["lost"]
    events = Counter(event["severity"] for event in digest.events)
    for severity in Severity:
        yield "events", (severity,), events[severity]
        yield "findings", (severity,), digest.severities.get(severity, 0) - events[severity]
    yield "brokers", (), digest.broker_count
    is_known = ~pc.field("switch_assumed") & pc.field("not_replayed").is_null()
    if not night.rows(PRODUCER_DAYS, ["client_id"], is_known).num_rows:
        return  # no producer was replayed whose switch is not merely assumed to be off
    yield "isolation_seconds", (), counts["isolated_ms"] / 1_000
    for broker in digest.brokers:
        name = (broker["broker_name"],)
        yield "broker_isolation_seconds", name, broker["isolated_ms"] / 1_000
        yield "broker_isolating_producers", name, broker["isolating_producers"]


def _of_runs(night: Published, day: dt.date) -> Iterator[_Sample]:
    """What the run log has of each flow; a recompute reads no line, so the rows are those of the run before."""
    for flow in NOT_GIVEN:
        events = [event for event in night.run_events if event["flow"] == flow]
        done = [event for event in events if event["status"] == "SUCCEEDED"]
        if done:
            yield "last_success_timestamp_seconds", (flow,), done[-1]["logged_at"].timestamp()
        of_day = [event for event in done if event["event_date"] == day]
        for name in DISPOSITIONS:
            for rows in [rows for event in of_day if (rows := event[f"rows_{name}"]) is not None][-1:]:
                yield "rows", (flow, name), rows
        for last in of_day[-1:]:
            begun = [
                event["logged_at"]
                for event in events
                if (event["run_id"], event["event_date"], event["status"]) == (last["run_id"], day, "STARTED")
            ]
            if begun and begun[-1] <= last["logged_at"]:  # the clock may have been set back
                yield "flow_duration_seconds", (flow,), (last["logged_at"] - begun[-1]).total_seconds()
