"""The collector before real servers that let in only whom they know, or who speaks TLS.

No consumer is there: a broker that answers a request says so with a code of its own, one that refuses it with another.
"""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from jobs.collect.remoting import Security
from tests.given.certificates import self_signed
from tests.given.collector_files import PROGRAM, collected
from tests.given.driven_client import ROOT
from tests.given.real_cluster import RealCluster, Secured, server_jars

pytestmark = pytest.mark.slow
BROKERS = ("broker-a",)
NOT_ONLINE = 206
NO_PERMISSION = 16
SYSTEM_ERROR = 1
KEY, SECRET = "faultline", "12345678"
"""What nobody but these tests' own servers knows."""
ACL_OF_4 = Secured(
    {"aclEnable": "true"},
    {"plain_acl.yml": f"accounts:\n- accessKey: {KEY}\n  secretKey: {SECRET}\n  admin: false\n"},
)
ACL_OF_5 = Secured(
    {
        "authenticationEnabled": "true",
        "authenticationProvider": "org.apache.rocketmq.auth.authentication.provider.DefaultAuthenticationProvider",
        "authenticationMetadataProvider": (
            "org.apache.rocketmq.auth.authentication.provider.LocalAuthenticationMetadataProvider"
        ),
        "initAuthenticationUser": json.dumps({"username": KEY, "password": SECRET}),
        "innerClientAuthenticationCredentials": json.dumps({"accessKey": KEY, "secretKey": SECRET}),
    }
)


def codes(cluster: RealCluster, out: Path, keys: Mapping[str, str], *options: str) -> set[int | None]:
    """What the broker answered in one round that asks for a group's members."""
    words = [
        "collect",
        "--namesrv",
        cluster.address(),
        "--out",
        str(out),
        "--group",
        "CG_orders",
        "--rounds",
        "1",
        *options,
    ]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ROCKETMQ_")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        capture_output=True,
        text=True,
        check=False,
        env={**environment, **keys},
    )
    print(done.stderr)
    return {row["code"] for row in collected(out).get("consumers", [])}


def keys_of(access_key: str, secret_key: str) -> dict[str, str]:
    return {"ROCKETMQ_ACCESS_KEY": access_key, "ROCKETMQ_SECRET_KEY": secret_key}


@pytest.mark.parametrize(
    ("release", "secured", "refusal"), [("4.9.7", ACL_OF_4, SYSTEM_ERROR), ("5.3.3", ACL_OF_5, NO_PERMISSION)]
)
def test_a_broker_with_acl_answers_who_signs_with_its_keys(
    release: str, secured: Secured, refusal: int, tmp_path: Path
) -> None:
    with RealCluster(server_jars(release, ROOT), tmp_path / "servers", BROKERS, secured) as cluster:
        assert codes(cluster, tmp_path / "known", keys_of(KEY, SECRET)) == {NOT_ONLINE}
        assert codes(cluster, tmp_path / "unknown", {}) == {refusal}
        assert codes(cluster, tmp_path / "wrong", keys_of(KEY, "87654321")) == {refusal}


@pytest.mark.parametrize("release", ["4.9.7", "5.3.3"])
def test_servers_that_speak_tls_alone(release: str, tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path, "server")
    other, _ = self_signed(tmp_path, "other")
    file_of_settings = tmp_path / "tls.properties"
    settings = {
        "tls.test.mode.enable": "false", "tls.server.need.client.auth": "none", "tls.server.authClient": "false",
        "tls.server.keyPath": str(key), "tls.server.certPath": str(certificate), "tls.client.authServer": "false",
    }  # fmt: skip
    file_of_settings.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    anyone = ssl.create_default_context()
    anyone.check_hostname, anyone.verify_mode = False, ssl.CERT_NONE
    options = ("-Dtls.server.mode=enforcing", "-Dtls.enable=true", f"-Dtls.config.file={file_of_settings}")
    secured = Secured(java_options=options, asked_with=Security(anyone))
    with RealCluster(server_jars(release, ROOT), tmp_path / "servers", BROKERS, secured) as cluster:
        assert codes(cluster, tmp_path / "any", {}, "--tls") == {NOT_ONLINE}
        assert codes(cluster, tmp_path / "checked", {}, "--tls-ca", str(certificate)) == {NOT_ONLINE}
        assert codes(cluster, tmp_path / "refused", {}, "--tls-ca", str(other)) == set()
        assert codes(cluster, tmp_path / "plain", {}) == set()
