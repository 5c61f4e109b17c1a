"""Contents page of a consumer group's day: its facts → who should own which queue, who did, at what cost."""

from __future__ import annotations

from dataclasses import dataclass

from jobs.allocation.group.before_midnight import allocated_before, inputs_before
from jobs.allocation.group.causes import causes
from jobs.allocation.group.comparison import Compared, comparison
from jobs.allocation.group.differences import differences
from jobs.allocation.group.expected import Expected, expected
from jobs.allocation.group.explained import explained
from jobs.allocation.group.finding import Finding
from jobs.allocation.group.findings import of_allocation, of_group, of_topics
from jobs.allocation.group.flapping import flaps
from jobs.allocation.group.inputs import inputs
from jobs.allocation.group.known import Known
from jobs.allocation.group.observed_clients import observed_clients
from jobs.allocation.group.ownership import Holding, holdings, sights
from jobs.allocation.group.rebalances import Rebalance, of_one_view, rebalances
from jobs.allocation.group.sentence import in_words
from jobs.allocation.group.shares import Strategies, had_at_midnight
from jobs.allocation.group.strategy import group_strategy, is_named_before
from jobs.settings.consumer_groups import GroupSettings
from jobs.tables.day import Day


@dataclass(frozen=True)
class GroupDay:
    """Rows by table."""

    queue_allocation: list[Expected]
    queue_ownership: list[Holding]
    allocation_findings: list[Finding]
    rebalances: list[Rebalance]
    strategy_comparison: list[Compared]


def group_day(
    consumer_group: str, known: Known, configured: GroupSettings | None, day: Day, max_staleness_ms: int
) -> GroupDay:
    """Derive every table's rows of one group.

    Args:
        consumer_group: its name.
        known: its facts.
        configured: its settings; None = none.
        day: the day.
        max_staleness_ms: how long an answer holds at most.
    """
    observed = observed_clients(known.connected, known.logged, known.running)
    is_known = bool(observed) or configured is not None or is_named_before(known.owners_before)
    strategy = group_strategy(configured or GroupSettings(), observed, known.owners_before) if is_known else None
    member_lists = [each for each in known.member_lists if each.end_ms > each.start_ms]
    all_inputs = inputs(known.topics, member_lists, strategy)
    strategies, had = Strategies(), had_at_midnight(known.owners_before)
    allocated = strategies.allocated((each for each in all_inputs if each.undetermined is None), had)
    should_own = expected(allocated)
    at_midnight = allocated_before(
        inputs_before(known.topics, known.members_before, known.owners_before, strategy, day), had
    )
    owned, in_sight = holdings(known.answered, known.logged_holdings), sights(known.answered, known.lifetimes)
    flapping = flaps(known.member_lists)
    acting = causes(known, all_inputs, in_sight, flapping, day, max_staleness_ms)
    today, before = of_one_view(allocated), of_one_view(at_midnight)
    return GroupDay(
        queue_allocation=should_own,
        queue_ownership=owned,
        allocation_findings=[
            in_words(consumer_group, each)
            for each in (
                *explained(differences(should_own, owned, in_sight, day), acting),
                *of_allocation(should_own, allocated),
                *of_group(member_lists, all_inputs, strategy, flapping, known.languages, day, max_staleness_ms),
                *of_topics(known.topics, day),
            )
        ],
        rebalances=rebalances([*before, *today]),
        strategy_comparison=comparison(
            [row.input for row in today], [row.input for row in before], configured, strategies, had
        ),
    )
