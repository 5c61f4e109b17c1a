"""How each client of a group allocates: what settings, running info, connections and logs say, put together."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.allocation.group.known import OwnerBefore
from jobs.allocation.group.observed_clients import ObservedClient, observed_clients
from jobs.allocation.group.strategy import MembersStrategy, group_strategy, is_named_before
from jobs.settings.consumer_groups import GroupSettings, StrategySettings
from udfs.shares import shares_of_group
from udfs.strategy import Strategy

AVG, CIRCLE, RING = Strategy("AVG"), Strategy("AVG_BY_CIRCLE"), "CONSISTENT_HASH"
QUEUES = [("a", 0), ("a", 1), ("b", 0)]


def _of(said: GroupSettings, *seen: ObservedClient) -> tuple[dict[str, Strategy], str, str, str | None]:
    """All of a group whose members are those that were observed."""
    found = group_strategy(said, list(seen))
    return dict(found.strategies), *found.of_members(each.client_id for each in seen)


def _told(client_id: str, strategy: str | None = None, **what: Any) -> ObservedClient:
    return ObservedClient(client_id, strategy, "RUNNING_INFO" if strategy else None, **what)


def _answer(client_id: str, **what: Any) -> ObservedClient:
    """A client's own answer, of which only this is known."""
    return ObservedClient(client_id, **what)


def _shares(specs: dict[str, Strategy], topic: str) -> dict[str, tuple[str, list[str]]]:
    found = shares_of_group(specs.items(), topic, QUEUES, ["x", "y"])
    return {
        each.client_id: (each.outcome, [f"{broker_name}{queue_id}" for broker_name, queue_id in each.queues])
        for each in found
    }


def test_nobody_shows_the_strategy() -> None:
    assert _of(GroupSettings()) == ({"*": AVG}, "AVG", "ASSUMED", None)
    assert _of(GroupSettings(), ObservedClient("x", client_version="4.9.8")) == ({"*": AVG}, "AVG", "ASSUMED", None)


def test_a_client_of_unknown_strategy_is_like_the_others() -> None:
    assert _of(GroupSettings(), _told("x", "AVG_BY_CIRCLE"), ObservedClient("y")) == (
        {"*": CIRCLE},
        "AVG_BY_CIRCLE",
        "RUNNING_INFO",
        None,
    )


def test_members_that_differ_are_mixed() -> None:
    specs, strategy, source, undetermined = _of(GroupSettings(), _told("x", "AVG_BY_CIRCLE"), _told("y", "AVG"))
    assert (specs, strategy, source, undetermined) == ({"*": AVG, "x": CIRCLE}, "MIXED", "RUNNING_INFO", None)


def test_a_strategy_that_only_logs_name() -> None:
    logged = ObservedClient("x", RING, "CLIENT_LOG")
    assert _of(GroupSettings(), logged) == ({"*": Strategy(RING)}, RING, "CLIENT_LOG", None)


@pytest.mark.parametrize(
    "name", ["Stickily", "CONFIG", "MACHINE_ROOM", "MACHINE_ROOM_NEARBY", "MACHINE_ROOM_NEARBY-AVG"]
)
def test_what_only_the_clients_code_sets_up_is_not_guessed(name: str) -> None:
    assert _of(GroupSettings(), _told("x", name))[3] == "STRATEGY_UNKNOWN"


def test_settings_configure_the_reported_class() -> None:
    specs, _, source, undetermined = _of(GroupSettings(machine_rooms=("A",)), _told("x", "MACHINE_ROOM"))
    assert (specs, source, undetermined) == (
        {"*": Strategy("MACHINE_ROOM", machine_rooms=("A",))},
        "RUNNING_INFO",
        None,
    )
    rooms = GroupSettings(broker_room="^(.)", client_room="^(.)")
    assert _of(rooms, ObservedClient("x", "MACHINE_ROOM_NEARBY-AVG", "CLIENT_LOG"))[1:] == (
        "MACHINE_ROOM_NEARBY-AVG",
        "CLIENT_LOG",
        None,
    )


def test_each_client_has_the_rules_of_its_own_version() -> None:
    rooms = GroupSettings(strategy="MACHINE_ROOM", machine_rooms=("A",), client_version="4.7.1")
    old, new = ObservedClient("x", client_version="4.7.1"), ObservedClient("y", client_version="5.3.3")
    specs = _of(rooms, old, new)[0]
    assert {client_id: spec.version for client_id, spec in specs.items()} == {"*": 40701, "y": 50303}


def test_a_charset_is_of_clients_before_5_0() -> None:
    said = GroupSettings(strategy=RING, client_charset="GBK")
    specs = _of(said, ObservedClient("x", client_version="4.9.8"), ObservedClient("y", client_version="5.0.0"))[0]
    assert specs == {"*": Strategy(RING, charset="GBK"), "y": Strategy(RING)}


def test_pop_is_of_the_groups_own_topics() -> None:
    said = GroupSettings(client_rebalance=False, request_mode="POP", pop_share_queue_num=-1)
    specs, strategy, _, undetermined = _of(said, _told("x", "AVG", client_version="5.3.3"))
    assert (strategy, undetermined) == ("POP:AVG", None)
    assert _shares(specs, "T") == {"x": ("RESULT", ["a-1", "a-1", "b-1"]), "y": ("RESULT", ["a-1", "a-1", "b-1"])}
    assert _shares(specs, "%RETRY%G") == {"x": ("RESULT", ["a0", "a1"]), "y": ("RESULT", ["b0"])}


@pytest.mark.parametrize(
    ("seen", "asks"),
    [
        (ObservedClient("x", client_version="5.0.0"), True),
        (ObservedClient("x"), True),
        (ObservedClient("x", client_version="4.9.8"), False),
        (ObservedClient("x", client_version="5.3.3", consume_orderly=True), False),
        (ObservedClient("x", client_version="5.3.3", consume_orderly=False), True),
    ],
)
def test_who_asks_the_broker(seen: ObservedClient, *, asks: bool) -> None:
    assert _of(GroupSettings(client_rebalance=False), seen)[3] == ("REQUEST_MODE_UNKNOWN" if asks else None)


@pytest.mark.parametrize(
    ("said", "own", "other", "asks"),
    [
        ({}, {"client_rebalance": False}, {}, True),
        ({}, {"client_rebalance": True}, {}, False),
        ({}, {}, {}, False),
        ({}, {}, {"client_rebalance": False}, True),
        ({"client_rebalance": True}, {"client_rebalance": False}, {}, False),
        ({}, {"client_rebalance": False}, {"consume_orderly": True}, False),
        ({}, {"client_rebalance": False, "consume_orderly": False}, {"consume_orderly": True}, True),
        ({}, {"client_rebalance": False, "consume_orderly": True}, {"consume_orderly": False}, False),
        ({}, {"client_rebalance": False}, {"client_rebalance": True}, True),
        ({}, {"client_rebalance": False}, {"client_version": "4.9.8"}, False),
        ({"client_version": "4.9.8"}, {"client_rebalance": False}, {}, False),
        ({"client_version": "4.9.8"}, {"client_rebalance": False, "client_version": "5.0.0"}, {}, True),
    ],
)
def test_its_own_answer_counts_then_that_of_the_others_then_settings(
    said: dict[str, Any], own: dict[str, Any], other: dict[str, Any], *, asks: bool
) -> None:
    """But that settings come first in whether it asks."""
    specs = _of(GroupSettings(**said), _told("x", RING, **own), _told("y", RING, **other))[0]
    assert specs.get("x", specs["*"]).name == (f"BROKER:{RING}" if asks else RING)


def test_what_is_known_of_a_client_is_put_together() -> None:
    connected = [ObservedClient("x", client_version="4.9.8", message_model="CLUSTERING"), ObservedClient("w")]
    logged = [ObservedClient("x", "AVG"), ObservedClient("n", "MACHINE_ROOM_NEARBY-AVG"), ObservedClient("z", "CONFIG")]
    running = [
        _answer("x", strategy="AVG_BY_CIRCLE", client_rebalance=False, consume_orderly=True),
        _answer("y", client_version="5.3.3", message_model="BROADCASTING"),
        _answer("n", strategy="MACHINE_ROOM_NEARBY"),
    ]
    assert observed_clients(connected, logged, running) == [
        ObservedClient("n", "MACHINE_ROOM_NEARBY-AVG", "CLIENT_LOG"),
        ObservedClient("w"),
        ObservedClient("x", "AVG_BY_CIRCLE", "RUNNING_INFO", "4.9.8", False, True, "CLUSTERING"),
        ObservedClient("y", client_version="5.3.3", message_model="BROADCASTING"),
        ObservedClient("z", "CONFIG", "CLIENT_LOG"),
    ]


def test_the_strategy_of_a_group_has_the_first_reason() -> None:
    said = GroupSettings(client_rebalance=False, clients={"y": StrategySettings(strategy="CONFIG", queues=(("a", 0),))})
    found = group_strategy(said, [_told("x", "AVG"), _told("z", "Stickily"), ObservedClient("y")])
    assert found.of_members("xyz").undetermined == "STRATEGY_UNKNOWN"


def test_an_answer_wins_over_a_log_but_for_what_only_the_log_has() -> None:
    nearby = "MACHINE_ROOM_NEARBY"
    logged = [ObservedClient("x", f"{nearby}-AVG")]
    answers = {"AVG": ("AVG", "RUNNING_INFO"), nearby: (f"{nearby}-AVG", "CLIENT_LOG")}
    for answered, expected in answers.items():
        (found,) = observed_clients([], logged, [_answer("x", strategy=answered)])
        assert (found.strategy, found.strategy_source) == expected
    running = [_answer("x", strategy=nearby)]
    assert observed_clients([], [], running) == [ObservedClient("x", nearby, "RUNNING_INFO")]
    assert observed_clients([ObservedClient("x")], [], running) == [ObservedClient("x", nearby, "RUNNING_INFO")]


def test_a_list_of_queues_is_set_up_by_settings() -> None:
    assert _of(GroupSettings(queues=(("a", 0),)), _told("x", "CONFIG"))[3] is None
    assert _of(GroupSettings(strategy="CONFIG"), ObservedClient("x"))[2:] == ("SETTINGS", None)


def test_a_strategy_that_answers_and_logs_agree_on_is_as_if_answered() -> None:
    logged = ObservedClient("y", "AVG_BY_CIRCLE", "CLIENT_LOG")
    specs, strategy, source, _ = _of(GroupSettings(), _told("x", "AVG_BY_CIRCLE"), logged, ObservedClient("z"))
    assert (specs, strategy, source) == ({"*": CIRCLE}, "AVG_BY_CIRCLE", "RUNNING_INFO")


def test_one_that_asks_does_not_speak_for_those_that_cannot() -> None:
    new = _told("x", "AVG", client_version="5.3.3", client_rebalance=False)
    old = _told("y", "AVG", client_version="4.9.8")
    said = GroupSettings(request_mode="POP", pop_share_queue_num=-1)
    specs, strategy, _, undetermined = _of(said, new, old)
    assert (strategy, undetermined) == ("MIXED", None)
    assert {client_id: spec.name for client_id, spec in specs.items()} == {"*": "POP:AVG", "y": "AVG"}


@pytest.mark.parametrize("mode", [None, "PULL", "POP"])
def test_a_broker_asked_for_a_strategy_that_it_lacks_answers_with_nothing(mode: Any) -> None:
    said = GroupSettings(client_rebalance=False, request_mode=mode, pop_share_queue_num=-1)
    specs, strategy, _, undetermined = _of(said, _told("x", RING, client_version="5.3.3"))
    assert (strategy, undetermined) == ("BROKER:CONSISTENT_HASH", None)
    assert _shares(specs, "T") == _shares(specs, "%RETRY%G") == {"x": ("UNCHANGED", []), "y": ("UNCHANGED", [])}


def test_settings_of_one_client() -> None:
    own = GroupSettings(clients={"y": StrategySettings(strategy="AVG_BY_CIRCLE")})
    assert _of(own, ObservedClient("x"), ObservedClient("y"))[:3] == ({"*": AVG, "y": CIRCLE}, "MIXED", "SETTINGS")
    assert _of(own)[:3] == ({"*": AVG, "y": CIRCLE}, "MIXED", "SETTINGS")


def test_broadcasting() -> None:
    everything = {"*": Strategy("BROADCASTING")}
    broadcasts = ObservedClient("x", message_model="BROADCASTING")
    assert _of(GroupSettings(), broadcasts) == (everything, "BROADCASTING", "CONNECTION", None)
    assert _of(GroupSettings(message_model="CLUSTERING"), broadcasts)[1] == "AVG"


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ("x", ("AVG", "RUNNING_INFO", None)),
        ("y", ("AVG_BY_CIRCLE", "RUNNING_INFO", None)),
        ("xy", ("MIXED", "RUNNING_INFO", None)),
        ("xx", ("AVG", "RUNNING_INFO", None)),
        ("z", ("Stickily", "RUNNING_INFO", "STRATEGY_UNKNOWN")),
        ("xz", ("MIXED", "RUNNING_INFO", "STRATEGY_UNKNOWN")),
        ("w", ("CONFIG", "SETTINGS", None)),
        ("v", ("AVG", "ASSUMED", None)),  # nobody knows it, and the others do not agree
        ("vw", ("MIXED", "SETTINGS", None)),
        ("", ("MIXED", "SETTINGS", "STRATEGY_UNKNOWN")),
    ],
)
def test_members_allocate_by_their_own_rules_and_by_nobody_elses(
    members: str, expected: tuple[str, str, str | None]
) -> None:
    """Whoever else was a member at some time of the day."""
    said = GroupSettings(clients={"w": StrategySettings(strategy="CONFIG", queues=(("a", 0),))})
    clients = [_told("x", "AVG"), _told("y", "AVG_BY_CIRCLE"), _told("z", "Stickily")]
    assert group_strategy(said, clients).of_members(members) == MembersStrategy(*expected)


@pytest.mark.parametrize(
    ("members", "expected"), [("x", ("BROADCASTING", "CONNECTION", None)), ("y", ("AVG", "ASSUMED", None))]
)
def test_a_client_broadcasts_by_its_own_model(members: str, expected: tuple[str, str, str | None]) -> None:
    clients = [ObservedClient("x", message_model="BROADCASTING"), ObservedClient("y", message_model="CLUSTERING")]
    assert group_strategy(GroupSettings(), clients).of_members(members) == expected
    silent = ObservedClient("z")
    assert group_strategy(GroupSettings(), [clients[0], silent]).of_members("z").strategy == "BROADCASTING"
    assert group_strategy(GroupSettings(), [*clients, silent]).of_members("z").strategy == "AVG"


def _before(strategy: str | None, source: str | None = "CLIENT_LOG") -> OwnerBefore:
    return OwnerBefore("T", None, "a", 0, "x", strategy, source)


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ([_before("AVG_BY_CIRCLE")], ("AVG_BY_CIRCLE", "CLIENT_LOG")),
        ([_before("AVG_BY_CIRCLE"), _before("AVG_BY_CIRCLE", "RUNNING_INFO")], ("AVG_BY_CIRCLE", "RUNNING_INFO")),
        ([_before("BROKER:AVG_BY_CIRCLE")], ("AVG_BY_CIRCLE", "CLIENT_LOG")),
        ([_before("POP:AVG_BY_CIRCLE"), _before("AVG_BY_CIRCLE")], ("AVG_BY_CIRCLE", "CLIENT_LOG")),
        ([_before("AVG_BY_CIRCLE", "SETTINGS")], ("AVG", "ASSUMED")),  # which say otherwise today
        ([_before("AVG_BY_CIRCLE"), _before("MIXED")], ("AVG_BY_CIRCLE", "CLIENT_LOG")),
        ([_before("MIXED")], ("AVG", "ASSUMED")),
        ([_before("AVG_BY_CIRCLE"), _before("CONSISTENT_HASH")], ("AVG", "ASSUMED")),
        ([_before(None, None)], ("AVG", "ASSUMED")),
        ([], ("AVG", "ASSUMED")),
    ],
)
def test_what_clients_named_yesterday_holds_until_one_names_another(
    before: list[OwnerBefore], expected: tuple[str, str]
) -> None:
    """A client writes its result only when that changed (`RebalanceImpl.rebalanceByTopic`): a quiet day names none."""
    silent = [ObservedClient("x", client_version="4.9.8")]
    assert group_strategy(GroupSettings(), silent, before).of_members("x")[:2] == expected
    assert is_named_before(before) is (expected[0] != "AVG")
    named = [ObservedClient("x"), ObservedClient("y", "CONSISTENT_HASH", "CLIENT_LOG")]
    assert group_strategy(GroupSettings(), named, before).of_members("x")[:2] == ("CONSISTENT_HASH", "CLIENT_LOG")
    assert group_strategy(GroupSettings(strategy="CONFIG"), silent, before).of_members("x")[:2] == (
        "CONFIG",
        "SETTINGS",
    )
