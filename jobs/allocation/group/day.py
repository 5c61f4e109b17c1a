"""A consumer group's day, step by step: its facts → expected owners, actual owners, findings, rebalances."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from jobs.allocation.group.before_midnight import allocated_before, inputs_before
from jobs.allocation.group.causes import causes
from jobs.allocation.group.changes import changes
from jobs.allocation.group.comparison import Compared, comparison
from jobs.allocation.group.differences import differences
from jobs.allocation.group.events import GroupEvent, joined_changes, with_events
from jobs.allocation.group.expected import Expected, expected
from jobs.allocation.group.explained import explained
from jobs.allocation.group.finding import Finding
from jobs.allocation.group.findings import of_allocation, of_group, of_members, of_topics
from jobs.allocation.group.flapping import flaps
from jobs.allocation.group.inputs import inputs
from jobs.allocation.group.known import GroupFacts, Holding
from jobs.allocation.group.listed import while_listed
from jobs.allocation.group.observed_clients import observed_clients
from jobs.allocation.group.ownership import holdings, sights
from jobs.allocation.group.rebalances import Rebalance, of_one_view, rebalances
from jobs.allocation.group.sentence import event_sentence, sentence
from jobs.allocation.group.shares import allocated, shares_at_midnight
from jobs.allocation.group.strategy import group_strategy, is_named_before
from jobs.intervals.of_lists import joined
from jobs.settings.consumer_groups import GroupSettings
from jobs.tables.day import Day
from udfs.shares import shares_of_group


@dataclass(frozen=True)
class GroupDay:
    """Rows by table."""

    queue_allocation: list[Expected]
    queue_ownership: list[Holding]
    allocation_findings: list[Finding]
    group_events: list[GroupEvent]
    rebalances: list[Rebalance]
    strategy_comparison: list[Compared]


def group_day(
    consumer_group: str, facts: GroupFacts, configured: GroupSettings | None, day: Day, max_staleness_ms: int
) -> GroupDay:
    """Derive the rows of one group for every table.

    Args:
        consumer_group: name of the group.
        facts: facts of the group.
        configured: settings of the group, if any.
        day: the day.
        max_staleness_ms: maximum age of an answer.
    """
    observed = observed_clients(facts.connected, facts.logged, facts.running)
    is_known = bool(observed) or configured is not None or is_named_before(facts.owners_before)
    of_clients = configured or GroupSettings(), observed, facts.owners_before, facts.listed
    strategy = group_strategy(*of_clients) if is_known else None
    member_lists = [member_list for member_list in facts.member_lists if member_list.end_ms > member_list.start_ms]
    all_inputs = inputs(facts.topics, member_lists, strategy)
    shares_of, previous = cache(shares_of_group), shares_at_midnight(facts.owners_before)
    shared = allocated((interval for interval in all_inputs if interval.undetermined is None), previous, shares_of)
    should_own = expected(shared)
    inputs_at_midnight = inputs_before(facts.topics, facts.members_before, facts.owners_before, strategy, day)
    at_midnight = allocated_before(inputs_at_midnight, previous)
    is_awaited = configured is not None or any(member_list.client_ids for member_list in facts.members_before)
    answered = while_listed(facts.answered, member_lists)
    owned = holdings(answered, facts.logged_holdings)
    in_sight = sights(answered, facts.lifetimes, member_lists)
    flapping = flaps(facts.member_lists)
    acting = causes(facts, all_inputs, in_sight, flapping, day, max_staleness_ms)
    today, before = of_one_view(shared), of_one_view(at_midnight)
    moves = rebalances([*before, *today], [*facts.members_before, *member_lists])
    events, findings = with_events(
        joined_changes(changes(facts, day)),
        [
            *explained(differences(should_own, owned, in_sight, day), acting),
            *of_allocation(should_own, shared),
            *of_members(member_lists, facts.unheard, is_awaited=is_awaited),
            *of_group(member_lists, all_inputs, strategy, flapping, facts.languages, day, max_staleness_ms),
            *of_topics(facts.topics, day, max_staleness_ms),
        ],
        moves,
        owners_known=joined(
            [*((row.start_ms, row.end_ms) for row in owned), *((row.start_ms, row.end_ms) for row in in_sight)]
        ),
        consumer_group=consumer_group,
        day=day,
    )
    return GroupDay(
        queue_allocation=should_own,
        queue_ownership=owned,
        allocation_findings=[replace(finding, sentence=sentence(consumer_group, finding)) for finding in findings],
        group_events=[replace(event, sentence=event_sentence(consumer_group, event)) for event in events],
        rebalances=moves,
        strategy_comparison=comparison(
            [row.input for row in today], [row.input for row in before], configured, shares_of, previous
        ),
    )
