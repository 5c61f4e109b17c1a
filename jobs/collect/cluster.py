"""What to query in a cluster: brokers, topics, consumer groups and their members."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

# RequestCode of RocketMQ, the same from 4.3.0 to 5.5.0.
TOPIC_ROUTE = 105
CLUSTER_INFO = 106
SUBSCRIPTION_GROUPS = 201
CONSUMER_CONNECTIONS = 203
ALL_TOPICS = 206
RUNNING_INFO = 307
RETRY = "%RETRY%"

OWN_GROUPS = {
    # MixAll.PREDEFINE_GROUP_SET, 5.3.2 on: groups that every broker creates (SubscriptionGroupManager), reserved names.
    *("DEFAULT_CONSUMER", "DEFAULT_PRODUCER", "TOOLS_CONSUMER", "SCHEDULE_CONSUMER", "FILTERSRV_CONSUMER"),
    *("__MONITOR_CONSUMER", "CLIENT_INNER_PRODUCER", "SELF_TEST_P_GROUP", "SELF_TEST_C_GROUP", "CID_ONS-HTTP-PROXY"),
    *("CID_ONSAPI_PERMISSION", "CID_ONSAPI_OWNER", "CID_ONSAPI_PULL", "CID_RMQ_SYS_TRANS"),
    "CID_DefaultHeartBeatSyncerTopic",  # AbstractSystemMessageSyncer of the proxy, 5.1.0 on
}
_OWN_GROUP = "CID_RMQ_SYS_"  # MixAll.isSysConsumerGroup, 4.0.0 on
OWN_TOPICS = {
    # TopicValidator.SYSTEM_TOPIC_SET, 4.7.1 on; the same in MixAll before, where they were there.
    *("TBW102", "SCHEDULE_TOPIC_XXXX", "BenchmarkTest", "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRACE_TOPIC"),
    *("RMQ_SYS_TRANS_OP_HALF_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC", "SELF_TEST_TOPIC", "OFFSET_MOVED_EVENT"),
    "CHECKPOINT_TOPIC",  # 5.2.0 on
    "AUTO_CREATE_TOPIC_KEY",  # TBW102 in 4.3.0
    "DefaultHeartBeatSyncerTopic",  # ProxyConfig, 5.1.0 on
}
_OWN_TOPIC = ("rmq_sys_", "%DLQ%")  # TopicValidator.isSystemTopic; MixAll.DLQ_GROUP_TOPIC_PREFIX
REQUESTS = {
    TOPIC_ROUTE: "topic routes",
    CLUSTER_INFO: "the list of brokers",
    SUBSCRIPTION_GROUPS: "the list of groups",
    CONSUMER_CONNECTIONS: "members of groups",
    ALL_TOPICS: "the list of topics",
    RUNNING_INFO: "running info",
}
"""What a request asks for."""
_ORDINARY = {(TOPIC_ROUTE, 17), (CONSUMER_CONNECTIONS, 206)}  # no such topic; nobody in the group
_NOT_ONLINE = "not online"  # remark when the client of a running info has just left; code 1, as for any refusal
_PART = re.compile(r'"(?:[^"\\]|\\.)*"|([{,]\s*)(\d+)(?=\s*:)')


def parsed(body: str) -> dict[str, Any]:
    """The JSON object of a body; servers before 4.9.4 do not quote numeric keys.

    >>> parsed('{"brokerAddrs":{0:"10.0.0.1:10911"}, "a": "{0:1}"}')
    {'brokerAddrs': {'0': '10.0.0.1:10911'}, 'a': '{0:1}'}

    Raises:
        ValueError: it is invalid.
    """
    quoted = _PART.sub(lambda part: f'{part[1]}"{part[2]}"' if part[2] else part[0], body)
    return dict(json.loads(quoted))


def is_refusal(request: int, code: int, remark: str | None) -> bool:
    """Whether an answer is a refusal or an error, not an expected code such as an empty group.

    >>> is_refusal(CONSUMER_CONNECTIONS, 206, None), is_refusal(CONSUMER_CONNECTIONS, 1, "Check signature failed")
    (False, True)
    """
    is_gone = request == RUNNING_INFO and _NOT_ONLINE in (remark or "")
    return code != 0 and (request, code) not in _ORDINARY and not is_gone


def addresses(info: str) -> dict[str, list[str]]:
    """Broker name → addresses: the master first, if there is one, then the slaves.

    Args:
        info: the name server's answer to CLUSTER_INFO.

    Raises:
        ValueError: it is invalid.
    """
    brokers = parsed(info).get("brokerAddrTable") or {}
    return {
        name: [address for _, address in sorted(broker["brokerAddrs"].items(), key=lambda of: int(of[0]))]
        for name, broker in sorted(brokers.items())
        if broker.get("brokerAddrs")
    }


def topics_in(body: str, info: str) -> list[str]:
    """Users' topics from the name server's topic list, sorted; without retry topics of RocketMQ's own groups.

    Names of clusters and brokers exist as topics too.

    Raises:
        ValueError: it is invalid.
    """
    table = parsed(info)
    clusters = table.get("clusterAddrTable") or {}
    replies = {f"{name}_REPLY_TOPIC" for name in clusters}
    own = {*OWN_TOPICS, *clusters, *(table.get("brokerAddrTable") or {}), *replies}
    return sorted(
        topic
        for topic in parsed(body).get("topicList") or []
        if topic not in own
        and not topic.startswith(_OWN_TOPIC)
        and not (topic.startswith(RETRY) and _is_own_group(topic.removeprefix(RETRY)))
    )


def routes_differ(one: str, other: str) -> bool:
    """Whether two answers about a route differ, ignoring order.

    >>> routes_differ('{"queueDatas":[{"a":1},{"b":2}]}', '{"queueDatas":[{"b":2},{"a":1}]}')
    False
    """
    return _in_order(one) != _in_order(other)


def _in_order(body: str) -> object:
    try:
        route = parsed(body)
    except ValueError:
        return body
    return {
        name: sorted(value, key=lambda of: json.dumps(of, sort_keys=True)) if isinstance(value, list) else value
        for name, value in route.items()
    }


def _is_own_group(group: str) -> bool:
    return group in OWN_GROUPS or group.startswith(_OWN_GROUP)


def groups_in(body: str) -> set[str]:
    """Users' consumer groups that are configured on a broker.

    Raises:
        ValueError: the answer is invalid.
    """
    return {group for group in parsed(body).get("subscriptionGroupTable") or {} if not _is_own_group(group)}


def members_in(body: str) -> list[str]:
    """Distinct client ids in a broker's answer about a group's connections, sorted.

    Raises:
        ValueError: it is invalid.
    """
    return sorted({connection["clientId"] for connection in parsed(body).get("connectionSet") or []})


def topics_read(bodies: Iterable[str]) -> set[str]:
    """Topics that groups subscribe to, from brokers' answers about connections; without retry topics.

    Raises:
        ValueError: one is invalid.
    """
    topics = {topic for body in bodies for topic in parsed(body).get("subscriptionTable") or {}}
    return {topic for topic in topics if not topic.startswith(RETRY)}
