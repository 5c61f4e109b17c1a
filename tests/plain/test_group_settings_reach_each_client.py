"""Each setting of a consumer group, and of one of its members, in what that member's allocation is computed from."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.allocation.group.observed_clients import ObservedClient
from jobs.allocation.group.strategy import group_strategy
from jobs.settings.consumer_groups import GroupSettings, StrategySettings
from udfs.strategy import Strategy

OF_GROUP: dict[str, Any] = {
    "machine_rooms": ("A",), "broker_room": "^(a)", "client_room": "^(b)", "virtual_nodes": 3, "queues": (("a", 1),),
}  # fmt: skip
OF_ONE: dict[str, Any] = {
    "machine_rooms": ("Z",), "broker_room": "^(y)", "client_room": "^(z)", "virtual_nodes": 9, "queues": (("z", 0),),
}  # fmt: skip


def _specs(said: GroupSettings, *seen: ObservedClient) -> dict[str, Strategy]:
    return dict(group_strategy(said, list(seen)).strategies)


@pytest.mark.parametrize("key", OF_GROUP)
def test_a_parameter_of_the_group_applies_to_clients_without_their_own(key: str) -> None:
    own = StrategySettings(**{key: OF_ONE[key]})
    said = GroupSettings(strategy="AVG", clients={"y": own}, **{key: OF_GROUP[key]})
    assert _specs(said, ObservedClient("x"), ObservedClient("y")) == {
        "*": Strategy("AVG", **{key: OF_GROUP[key]}),
        "y": Strategy("AVG", **{key: OF_ONE[key]}),
    }


def test_a_strategy_of_the_settings_wins_over_what_a_consumer_names() -> None:
    named = ObservedClient("x", "AVG", "RUNNING_INFO")
    said = GroupSettings(strategy="AVG_BY_CIRCLE")
    assert _specs(said, named) == {"*": Strategy("AVG_BY_CIRCLE")}
    assert group_strategy(said, [named]).of_members("x")[:2] == ("AVG_BY_CIRCLE", "SETTINGS")


def test_the_version_of_a_member_wins_over_the_snapshots_and_these_over_the_groups() -> None:
    rooms: dict[str, Any] = {"strategy": "MACHINE_ROOM", "machine_rooms": ("A",), "client_version": "4.7.1"}
    said = GroupSettings(clients={"y": StrategySettings(client_version="5.1.0")}, **rooms)
    specs = _specs(said, ObservedClient("x", client_version="4.9.8"), ObservedClient("y", client_version="4.9.8"))
    assert {client_id: spec.version for client_id, spec in specs.items()} == {"*": 40701, "x": 40908, "y": 50100}
    spec = Strategy("MACHINE_ROOM", machine_rooms=("A",), version=40701)
    assert _specs(GroupSettings(**rooms), ObservedClient("x")) == {"*": spec}


def test_the_charset_of_a_member_wins_over_the_groups() -> None:
    own = StrategySettings(client_charset="Big5")
    said = GroupSettings(strategy="CONSISTENT_HASH", client_charset="GBK", clients={"y": own})
    specs = _specs(said, ObservedClient("x"), ObservedClient("y"))
    assert {client_id: spec.charset for client_id, spec in specs.items()} == {"*": "GBK", "y": "Big5"}


def test_broadcasting_by_settings() -> None:
    said = GroupSettings(message_model="BROADCASTING")
    found = group_strategy(said, [ObservedClient("x", message_model="CLUSTERING")])
    assert found.of_members("x") == ("BROADCASTING", "SETTINGS", None)


def test_client_rebalance_of_the_settings_wins_over_what_a_consumer_says() -> None:
    asks = ObservedClient("x", client_version="5.3.3", client_rebalance=False)
    assert group_strategy(GroupSettings(), [asks]).of_members("x").undetermined == "REQUEST_MODE_UNKNOWN"
    assert group_strategy(GroupSettings(client_rebalance=True), [asks]).of_members("x").undetermined is None


@pytest.mark.parametrize(("mode", "name"), [("POP", "POP:AVG"), ("PULL", "AVG")])
def test_the_request_mode_and_the_share_of_a_queue(mode: Any, name: str) -> None:
    said = GroupSettings(client_rebalance=False, request_mode=mode, pop_share_queue_num=7)
    share: dict[str, Any] = {"pop_share_queue_num": 7} if mode == "POP" else {}
    assert _specs(said, ObservedClient("x", client_version="5.3.3")) == {"*": Strategy(name, **share)}
    assert group_strategy(said, [ObservedClient("x", client_version="5.3.3")]).of_members("x").undetermined is None
