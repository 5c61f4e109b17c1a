"""The allocation strategies on small inputs: the released classes' own answers, and each quirk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.hash_ring import HashRing, ring_hash
from udfs.pop import pop_allocator
from udfs.shares import Share, shares, shares_of_group
from udfs.strategies import allocator, sorted_clients, sorted_queues
from udfs.strategy import AllocationError, Queue, Strategy

QUEUES = [(broker_name, queue_id) for broker_name in ("broker-a", "broker-b") for queue_id in range(4)]
CLIENTS = ["10.0.0.10@100", "10.0.0.1@100", "10.0.0.2@100"]
ILLEGAL = "java.lang.IllegalArgumentException"


def allocate(
    strategy: Strategy, topic: str, client_id: str, queues: list[Queue] | None, client_ids: list[str] | None
) -> list[Queue] | None:
    return allocator(strategy, topic, queues, client_ids)(client_id)


def held(strategy: Strategy, queues: list[Queue], client_ids: list[str]) -> dict[str, str]:
    """Client id to its queues, as `a0 b1`."""
    return {
        share.client_id: " ".join(f"{broker_name[-1]}{queue_id}" for broker_name, queue_id in share.queues)
        for share in shares(strategy, "T", queues, client_ids)
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("AVG", ["a0 a1 a2", "a3 b0 b1", "b2 b3"]),
        ("AVG_BY_CIRCLE", ["a0 a3 b2", "a1 b0 b3", "a2 b1"]),
        ("CONSISTENT_HASH", ["a0 a1 a2 b1 b2", "b0", "a3 b3"]),
        ("BROADCASTING", ["a0 a1 a2 a3 b0 b1 b2 b3"] * 3),
    ],
)
def test_three_clients_share_eight_queues(name: str, expected: list[str]) -> None:
    assert sorted_clients(CLIENTS[::-1]) == sorted(CLIENTS)
    assert list(held(Strategy(name), QUEUES, sorted(CLIENTS)).values()) == [
        expected[CLIENTS.index(client_id)] for client_id in sorted(CLIENTS)
    ]


def test_a_client_that_joins_the_ring_may_get_nothing() -> None:
    before = held(Strategy("CONSISTENT_HASH"), QUEUES, CLIENTS)
    assert held(Strategy("CONSISTENT_HASH"), QUEUES, [*CLIENTS, "10.0.0.3@100"]) == {**before, "10.0.0.3@100": ""}


@pytest.mark.parametrize("name", ["AVG", "AVG_BY_CIRCLE"])
def test_the_last_of_more_clients_than_queues_get_nothing(name: str) -> None:
    clients = [f"c{number}" for number in range(1, 6)]
    assert list(held(Strategy(name), QUEUES[:3], clients).values()) == ["a0", "a1", "a2", "", ""]


def test_a_duplicate_id_leaves_a_share_to_nobody_except_on_the_ring() -> None:
    twice = ["172.17.0.1@1"] * 2
    assert held(Strategy("AVG"), QUEUES, twice) == {"172.17.0.1@1": "a0 a1 a2 a3"}
    assert held(Strategy("CONSISTENT_HASH"), QUEUES, twice) == {"172.17.0.1@1": "a0 a1 a2 a3 b0 b1 b2 b3"}


def test_an_overwritten_replica_does_not_count_for_a_duplicate(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def collides(key: str, _: str) -> int:
        asked.append(key)
        return {"x-0": 5, "y-0": 5}.get(key, 1_000 + len(asked))

    monkeypatch.setattr("udfs.hash_ring.ring_hash", collides)
    ring = HashRing(["x", "y", "x"], 2, "UTF-8")
    assert asked == ["x-0", "x-1", "y-0", "y-1", "x-1", "x-2"]  # x's one replica left is counted, not its two
    assert ring._owners[5] == "y"  # of equal hashes the later


def test_the_later_of_two_ids_owns_what_both_hash_to(monkeypatch: pytest.MonkeyPatch) -> None:
    places = {"x-0": 5, "x-1": 20, "x-2": 30, "y-0": 5, "y-1": 20}
    monkeypatch.setattr("udfs.hash_ring.ring_hash", lambda key, _: places[key])
    ring = HashRing(["x", "y", "x"], 2, "UTF-8")  # x has no replica left: it begins again, over those of y
    assert ring._owners == {5: "x", 20: "x"}


def test_a_ring_goes_round_and_is_of_its_charset() -> None:
    names = ["订单-a", "订单-b", "订单-c"]
    keys = [f"键-{number}" for number in range(50)]

    def owners(charset: str) -> list[str]:
        places = {ring_hash(f"{name}-{index}", charset): name for name in names for index in range(2)}
        return [
            places[min((place for place in places if place >= ring_hash(key, charset)), default=min(places))]
            for key in keys
        ]

    for charset in ("UTF-8", "GBK"):
        ring = HashRing(names, 2, charset)
        assert [ring.owner(key) for key in keys] == owners(charset)
    assert owners("UTF-8") != owners("GBK")


def test_a_ring_without_nodes_owns_nothing_and_a_negative_number_throws() -> None:
    assert allocate(Strategy("CONSISTENT_HASH", virtual_nodes=0), "T", "x", QUEUES, ["x"]) == []
    with pytest.raises(AllocationError) as thrown:
        allocate(Strategy("CONSISTENT_HASH", virtual_nodes=-1), "T", "x", QUEUES, ["x"])
    assert str(thrown.value) == "java.lang.IllegalArgumentException: illegal virtualNodeCnt :-1"


def test_ring_hashes() -> None:
    assert (ring_hash("a"), ring_hash("192.168.0.1@1-0")) == (214005177, 2325484510)
    assert ring_hash("订单") != ring_hash("订单", "GBK")
    assert ring_hash("订单", "ISO-8859-1") == ring_hash("??")


ROOM_QUEUES = [("IDC1@broker-a", queue_id) for queue_id in range(4)]
OTHER_QUEUES = [("IDC2@broker-b", 0), ("IDC1", 0), ("IDC1@", 0), ("IDC1@a@b", 0)]


def test_machine_room_keeps_names_of_two_parts_in_its_rooms() -> None:
    strategy = Strategy("MACHINE_ROOM", machine_rooms=("IDC1",))
    expected = {"c1": "a0 a3", "c2": "a1", "c3": "a2"}
    assert held(strategy, [*ROOM_QUEUES, *OTHER_QUEUES], ["c1", "c2", "c3"]) == expected


def test_machine_room_of_4_7_1_takes_its_block_from_all_queues() -> None:
    def of(version: int) -> dict[str, str]:
        strategy = Strategy("MACHINE_ROOM", machine_rooms=("IDC2",), version=version)
        return held(strategy, [*ROOM_QUEUES, ("IDC2@broker-b", 0), ("IDC2@broker-b", 1)], ["c1", "c2"])

    assert of(40701) == {"c1": "a0", "c2": "a1"}
    assert of(40800) == of(0) == {"c1": "b0", "c2": "b1"}


def test_machine_room_checks_its_arguments_from_4_9_3_on() -> None:
    def of(version: int, client_id: str) -> list[Queue] | None:
        strategy = Strategy("MACHINE_ROOM", machine_rooms=("IDC1",), version=version)
        return allocate(strategy, "T", client_id, ROOM_QUEUES, [client_id])

    assert of(40902, "") == of(40902, " ") == of(40904, " ") == ROOM_QUEUES
    for version, client_id in ((40903, ""), (40903, " "), (40904, ""), (0, "")):
        with pytest.raises(AllocationError, match="currentCID is empty"):
            of(version, client_id)


def test_machine_room_whose_rooms_were_never_set_throws() -> None:
    (share,) = shares(Strategy("MACHINE_ROOM"), "T", ROOM_QUEUES, ["x"])
    assert (share.outcome, (share.message or "").split(":")[0]) == ("UNCHANGED", "java.lang.NullPointerException")


def test_nearby_starves_the_last_client_of_rooms_without_clients() -> None:
    queues = [(f"{room}@b{room}", queue_id) for room in "AB" for queue_id in range(3)]
    clients = [f"C-{number}" for number in range(1, 5)]
    assert held(Strategy("MACHINE_ROOM_NEARBY-AVG"), queues, clients) == {
        "C-1": "A0 B0",
        "C-2": "A1 B1",
        "C-3": "A2 B2",
        "C-4": "",
    }


def test_nearby_keeps_a_room_for_its_own_clients() -> None:
    queues = [(f"{room}@b{room}", queue_id) for room in "AB" for queue_id in range(2)]
    assert held(Strategy("MACHINE_ROOM_NEARBY-AVG"), queues, ["A-1", "A-2", "A-3"])["A-3"] == ""
    assert held(Strategy("MACHINE_ROOM_NEARBY-AVG"), queues, ["A-1", "B-1"]) == {"A-1": "A0 A1", "B-1": "B0 B1"}


def test_nearby_hands_its_settings_to_the_inner_strategy() -> None:
    strategy = Strategy("MACHINE_ROOM_NEARBY-MACHINE_ROOM", machine_rooms=("IDC1",))
    assert held(strategy, ROOM_QUEUES[:2], ["IDC1-x"]) == {"IDC1-x": "a0 a1"}


@pytest.mark.parametrize(
    ("queues", "client_id", "message"),
    [
        ([("@b", 0)], "A-1", "Machine room is null for mq MessageQueue [topic=T, brokerName=@b, queueId=0]"),
        ([("A@b", 0)], "-1", "Machine room is null for consumer id -1"),
    ],
)
def test_nearby_without_a_room_changes_nothing(queues: list[Queue], client_id: str, message: str) -> None:
    (share,) = shares(Strategy("MACHINE_ROOM_NEARBY-AVG"), "T", queues, [client_id])
    assert share == Share(client_id, "UNCHANGED", f"{ILLEGAL}: {message}", ())


def test_a_pattern_that_does_not_match_gives_no_room() -> None:
    strategy = Strategy("MACHINE_ROOM_NEARBY-AVG", broker_room="^room-(.+)@")
    with pytest.raises(AllocationError, match="Machine room is null for mq"):
        allocate(strategy, "T", "A-1", [("A@b", 0)], ["A-1"])


@pytest.mark.parametrize(
    ("client_id", "queues", "client_ids", "message"),
    [
        ("", [], [], "currentCID is empty"),
        ("x", [], [], "mqAll is null or mqAll empty"),
        ("x", QUEUES, [], "cidAll is null or cidAll empty"),
    ],
)
def test_the_check_refuses_in_this_order(
    client_id: str, queues: list[Queue], client_ids: list[str], message: str
) -> None:
    with pytest.raises(AllocationError) as error:
        allocate(Strategy("AVG"), "T", client_id, queues, client_ids)
    assert (error.value.java_class, error.value.message) == (ILLEGAL, message)


def test_a_stranger_gets_an_empty_list() -> None:
    assert allocate(Strategy("AVG"), "T", "stranger", QUEUES, ["x"]) == []


def test_config_ignores_what_there_is() -> None:
    strategy = Strategy("CONFIG", queues=(("gone", 7),))
    assert held(strategy, [], ["x", "y"]) == {"x": "e7", "y": "e7"}
    assert shares(Strategy("CONFIG"), "T", QUEUES, ["x"]) == [Share("x", "EMPTY", None, ())]


def test_clients_of_one_group_may_differ() -> None:
    given_to = {
        "*": Strategy("AVG"),
        "y": Strategy("AVG_BY_CIRCLE"),
        "z": Strategy("CONSISTENT_HASH", virtual_nodes=-1),
    }
    found = shares(given_to, "T", QUEUES[:4], ["x", "y", "z", "x"])
    assert [share.client_id for share in found] == ["x", "y", "z"]
    assert [share.outcome for share in found] == ["RESULT", "RESULT", "UNCHANGED"]
    assert found[0].queues == (("broker-a", 0),)
    assert found[1].queues == (("broker-a", 1),)


def test_queues_and_clients_sort_as_java_sorts() -> None:
    assert sorted_queues([("b2", 10), ("b2", 9), ("b10", 0)]) == [("b10", 0), ("b2", 9), ("b2", 10)]
    assert sorted_queues([("\uff5e", 0), ("\U0001f680", 1)]) == [("\U0001f680", 1), ("\uff5e", 0)]
    assert sorted_clients(["\uff5e", "\U0001f680", "a", "a"]) == ["a", "a", "\U0001f680", "\uff5e"]


def test_a_client_has_ten_virtual_nodes_by_default() -> None:
    """`AllocateMessageQueueConsistentHash()`."""
    queues = [("broker-a", number) for number in range(100)]
    found = {number: held(Strategy("CONSISTENT_HASH", virtual_nodes=number), queues, CLIENTS) for number in (9, 10, 11)}
    assert held(Strategy("CONSISTENT_HASH"), queues, CLIENTS) == found[10]
    assert found[10] not in (found[9], found[11])


def test_a_room_within_a_room() -> None:
    nested = Strategy("MACHINE_ROOM_NEARBY-MACHINE_ROOM_NEARBY-AVG")
    assert held(nested, ROOM_QUEUES[:2], ["IDC1-x", "IDC1-y"]) == {"IDC1-x": "a0", "IDC1-y": "a1"}


@pytest.mark.parametrize(
    ("share_queue_num", "clients", "expected"),
    [
        (-1, "xyz", [("a", -1), ("a", -1), ("b", -1)]),
        (2, "xyz", [("a", -1), ("a", -1), ("b", -1)]),  # as many as there are others
        (1, "xyz", [("a", 0), ("a", 1)]),  # its own, and the next one's
        (1, "vwxyz", [("b", 0)]),  # more clients than queues: dealt out again
        (1, "uvwxyz", [("a", 0)]),
        (0, "xyz", [("a", -1), ("a", -1), ("b", -1)]),
    ],
)
def test_pop(share_queue_num: int, clients: str, expected: list[Queue]) -> None:
    of = pop_allocator(Strategy("AVG"), "T", [("a", 0), ("a", 1), ("b", 0)], list(clients), share_queue_num)
    assert of("x") == expected
    if share_queue_num < 0:
        assert of("stranger") == expected


@pytest.mark.parametrize("clients", ["wxyz", "wxy"])
def test_pop_gives_a_stranger_nothing_of_its_own(clients: str) -> None:
    of = pop_allocator(Strategy("AVG"), "T", [("a", 0), ("a", 1), ("b", 0)], list(clients), 1)
    assert of("stranger") == []


def test_pop_refuses_what_the_broker_refuses() -> None:
    dealt = pop_allocator(Strategy("AVG"), "T", [("a", 0)], ["x", "y", "z"], 1)
    assert refused(lambda: dealt(" ")) == "IllegalArgumentException: currentCID is empty"
    assert refused(lambda: dealt("")) == "IllegalArgumentException: currentCID is empty"
    of_nothing = pop_allocator(Strategy("AVG"), "T", [], ["x", "y", "z"], 1)
    assert refused(lambda: of_nothing("x")) == "IllegalArgumentException: mqAll is null or mqAll empty"
    without_clients = refused(lambda: pop_allocator(Strategy("AVG"), "T", [("a", 0)], None, 1))
    assert without_clients == "NullPointerException: cidAll is null"
    for number in (-1, 0):
        assert pop_allocator(Strategy("AVG"), "T", [("a", 0)], None, number)("x") == [("a", -1)]
    without_queues = refused(lambda: pop_allocator(Strategy("AVG"), "T", None, ["x"], -1))
    assert without_queues == "NullPointerException: mqAll is null"


def refused(call: Callable[[], object]) -> str:
    """What the call throws, as the tables have it, less Java's package."""
    with pytest.raises(AllocationError) as thrown:
        call()
    return str(thrown.value).removeprefix("java.lang.")


@pytest.mark.parametrize("name", ["CONFIG", "MACHINE_ROOM_NEARBY-CONFIG"])
def test_a_configured_queue_is_none_of_a_retry_topic(name: str) -> None:
    given = [("*", Strategy(name, queues=(("a", 0),)))]
    assert shares_of_group(given, "T", [("a", 0)], ["x"]) == (Share("x", "RESULT", None, (("a", 0),)),)
    assert shares_of_group(given, "%RETRY%G", [("a", 0)], ["x"]) == (Share("x", "RESULT", None, ()),)


def test_a_retry_topic_is_pulled_from() -> None:
    given = [("*", Strategy("POP:AVG", pop_share_queue_num=-1))]
    assert shares_of_group(given, "%RETRY%G", [("a", 0)], ["x"]) == (Share("x", "RESULT", None, (("a", 0),)),)


def test_what_a_broker_hands_out_by_its_share_number_and_what_it_lacks() -> None:
    queues: list[Queue] = [("a", 0), ("a", 1), ("b", 0)]
    popped = shares(Strategy("POP:AVG", pop_share_queue_num=1), "T", queues, ["x", "y", "z"])
    assert [share.queues for share in popped] == [
        (queues[0], queues[1]),
        (queues[1], queues[2]),
        (queues[2], queues[0]),
    ]
    (lacking,) = shares(Strategy("BROKER:CONFIG", queues=(("a", 0),)), "T", queues, ["x"])
    assert lacking == Share("x", "UNCHANGED", "QueryAssignmentProcessor: unsupported strategy", ())


def test_the_queues_are_sorted_before_the_block_is_taken_from_all_of_them() -> None:
    rooms = [("*", Strategy("MACHINE_ROOM", machine_rooms=("IDC2",), version=40701))]
    found = shares_of_group(rooms, "T", [("IDC2@b", 0), ("IDC1@a", 0)], ["x"])
    assert found[0].queues == (("IDC1@a", 0),)


INPUTS = (
    st.lists(st.tuples(st.sampled_from(["a", "b", "机"]), st.integers(0, 40)), min_size=1, max_size=40, unique=True),
    st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=12, unique=True),
)


@given(*INPUTS, st.sampled_from(["AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"]))
def test_every_queue_has_one_owner(queues: list[Queue], client_ids: list[str], name: str) -> None:
    found = shares(Strategy(name), "T", queues, client_ids)
    assert Counter(queue for share in found for queue in share.queues) == Counter(queues)
    assert [share.client_id for share in found] == client_ids
    if name != "CONSISTENT_HASH":
        sizes = [len(share.queues) for share in found]
        assert max(sizes) - min(sizes) <= 1


RING = ["a0 a1 a2 b1 b2", "b0", "a3 b3"]


def test_the_ring_hashes_the_topic_too() -> None:
    of = [allocate(Strategy("CONSISTENT_HASH"), "T", client_id, QUEUES, CLIENTS) for client_id in CLIENTS]
    assert [" ".join(f"{name[-1]}{queue_id}" for name, queue_id in queues or ()) for queues in of] == RING
    of_group = shares_of_group([("*", Strategy("CONSISTENT_HASH"))], "T", QUEUES[::-1], CLIENTS[::-1])
    assert [list(share.queues) for share in of_group] == of


@pytest.mark.parametrize("clients", [["A-1", "A-2", "A-3"], ["B-1", "B-2", "B-3"]])
def test_in_one_room_and_in_one_without_clients_a_ring_is_a_ring(clients: list[str]) -> None:
    queues = [("A@b", queue_id) for queue_id in range(12)]
    of_room = held(Strategy("MACHINE_ROOM_NEARBY-CONSISTENT_HASH"), queues, clients)
    assert of_room == held(Strategy("CONSISTENT_HASH"), queues, clients)
    assert len(set(of_room.values())) == 3


def test_rooms_without_clients_come_in_the_order_of_java() -> None:
    """Of their UTF-16 units: what takes two of them comes before U+FF5E."""
    queues = [("\uff5e@b", 0), ("\U0001f600@b", 0)]
    assert allocate(Strategy("MACHINE_ROOM_NEARBY-AVG"), "T", "C-1", queues, ["C-1"]) == queues[::-1]


@pytest.mark.parametrize(
    ("strategy", "queues", "client_ids", "message"),
    [
        (Strategy("MACHINE_ROOM", machine_rooms=("IDC1",), version=40902), ROOM_QUEUES, None, "cidAll is null"),
        (Strategy("MACHINE_ROOM", machine_rooms=("IDC1",), version=40902), None, ["x"], "mqAll is null"),
        (Strategy("MACHINE_ROOM"), ROOM_QUEUES, ["x"], "consumeridcs is null"),
        (Strategy("MACHINE_ROOM_NEARBY-CONFIG"), [("x@b", 0)], ["x"], "addAll of null"),
    ],
)
def test_what_is_null_is_named(
    strategy: Strategy, queues: list[Queue] | None, client_ids: list[str] | None, message: str
) -> None:
    with pytest.raises(AllocationError) as thrown:
        allocate(strategy, "T", "x", queues, client_ids)
    assert (thrown.value.java_class, thrown.value.message) == ("java.lang.NullPointerException", message)
