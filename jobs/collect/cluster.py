"""What to ask a cluster about: its brokers, topics and consumer groups, and their members."""

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

_MASTER = "0"
_SYSTEM_GROUPS = {"TOOLS_CONSUMER", "FILTERSRV_CONSUMER", "SELF_TEST_C_GROUP", "__MONITOR_CONSUMER"}
_SYSTEM_GROUP = ("CID_SYS_RMQ_", "CID_RMQ_SYS_", "CID_ONS")
_SYSTEM_TOPICS = {"SCHEDULE_TOPIC_XXXX", "SELF_TEST_TOPIC", "TBW102", "OFFSET_MOVED_EVENT", "BenchmarkTest"}
_SYSTEM_TOPIC = ("RMQ_SYS_", "rmq_sys_", "%DLQ%", "%SYS%")
_PART = re.compile(r'"(?:[^"\\]|\\.)*"|([{,]\s*)(\d+)(?=\s*:)')


def parsed(body: str) -> dict[str, Any]:
    """The object of a body; servers before 4.9.4 do not quote numeric keys.

    >>> parsed('{"brokerAddrs":{0:"10.0.0.1:10911"}, "a": "{0:1}"}')
    {'brokerAddrs': {'0': '10.0.0.1:10911'}, 'a': '{0:1}'}

    Raises:
        ValueError: it is invalid.
    """
    quoted = _PART.sub(lambda part: f'{part[1]}"{part[2]}"' if part[2] else part[0], body)
    content = json.loads(quoted)
    return dict(content)


def masters(info: str) -> dict[str, str]:
    """Broker name to the address of its master, of the brokers that have one.

    Args:
        info: the name server's answer to CLUSTER_INFO.

    Raises:
        ValueError: it is invalid.
    """
    brokers = parsed(info).get("brokerAddrTable") or {}
    return {
        name: broker["brokerAddrs"][_MASTER]
        for name, broker in sorted(brokers.items())
        if _MASTER in broker.get("brokerAddrs", {})
    }


def own_names(info: str) -> set[str]:
    """Names of clusters and brokers, which are topics too."""
    table = parsed(info)
    clusters = set(table.get("clusterAddrTable") or {})
    return clusters | set(table.get("brokerAddrTable") or {}) | {f"{name}_REPLY_TOPIC" for name in clusters}


def topics_in(body: str, info: str) -> list[str]:
    """The users' topics in the name server's list of all, in order.

    Raises:
        ValueError: it is invalid.
    """
    own = _SYSTEM_TOPICS | own_names(info)
    topics = parsed(body).get("topicList") or []
    return sorted(topic for topic in topics if topic not in own and not topic.startswith(_SYSTEM_TOPIC))


def groups_in(body: str) -> set[str]:
    """The users' consumer groups that a broker has a configuration of.

    Raises:
        ValueError: the answer is invalid.
    """
    table = parsed(body).get("subscriptionGroupTable") or {}
    return {group for group in table if group not in _SYSTEM_GROUPS and not group.startswith(_SYSTEM_GROUP)}


def members_in(body: str) -> list[str]:
    """Distinct client ids of a broker's answer about a group's connections, in order.

    Raises:
        ValueError: it is invalid.
    """
    return sorted({each["clientId"] for each in parsed(body).get("connectionSet") or []})


def topics_read(bodies: Iterable[str]) -> set[str]:
    """The topics that groups subscribe to, by brokers' answers about their connections; without retry topics.

    Raises:
        ValueError: one is invalid.
    """
    topics = {topic for body in bodies for topic in parsed(body).get("subscriptionTable") or {}}
    return {topic for topic in topics if not topic.startswith(RETRY)}
