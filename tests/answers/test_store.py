"""A lake on S3: read with what Spark's settings say, within bounded time, and no secret in what is said."""

from __future__ import annotations

import datetime as dt
import socket
from collections.abc import Mapping
from pathlib import Path

import pytest

from jobs.answers import store
from jobs.answers.digest import digests
from jobs.answers.published import Published, open_published
from jobs.answers.store import WAITS, storage_options
from jobs.cli import main as cli
from jobs.errors import LakeError
from tests.given.bucket import CREDENTIALS, KEY, S3A, SECRET, served
from tests.given.lakes import publish
from tests.given.site import D1

pytestmark = pytest.mark.usefixtures("no_cloud")

LAKE = "s3a://bucket/the/lake"
OWN = {"aws_region": "us-east-1"}
TOKEN = "t0ken-0123456789"
OF_SPARK = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET}


def _options(spark: Mapping[str, str], environ: Mapping[str, str] | None = None, lake: str = LAKE) -> dict[str, str]:
    found = storage_options(lake, spark, environ or {})
    return {name: value for name, value in found.items() if name not in WAITS}


@pytest.mark.parametrize("lake", ["/the/lake", "lake", "file:///the/lake"])
def test_a_local_lake_needs_nothing(lake: str) -> None:
    assert storage_options(lake, CREDENTIALS, {}) == {}


def test_another_store_waits_as_long_and_gets_no_credentials_of_s3() -> None:
    assert storage_options("abfss://c@account/lake", CREDENTIALS, {}) == WAITS


@pytest.mark.parametrize(
    "own",
    [
        {"AWS_ACCESS_KEY_ID": "x"},
        {"AWS_SECRET_ACCESS_KEY": "x"},
        {"AWS_PROFILE": "p"},
        {"AWS_WEB_IDENTITY_TOKEN_FILE": "/f"},
    ],
)
def test_credentials_are_one_unit(own: dict[str, str]) -> None:
    """A secret of the environment never meets a key of Spark's."""
    assert _options(CREDENTIALS, {}) == OF_SPARK
    assert _options(CREDENTIALS, own) == {}
    for half in CREDENTIALS.items():
        assert _options(dict([half, (f"{S3A}session.token", TOKEN)])) == {}
    assert _options(CREDENTIALS | {f"{S3A}session.token": TOKEN}) == OF_SPARK | {"aws_session_token": TOKEN}


def test_credentials_of_the_bucket_come_first_and_whole() -> None:
    of_bucket = {f"{S3A}bucket.bucket.access.key": "k2", f"{S3A}bucket.bucket.secret.key": "s2"}
    both = CREDENTIALS | {f"{S3A}session.token": TOKEN} | of_bucket
    assert _options(both) == {"aws_access_key_id": "k2", "aws_secret_access_key": "s2"}
    assert _options(both, lake="s3a://another/lake") == OF_SPARK | {"aws_session_token": TOKEN}
    del both[f"{S3A}bucket.bucket.secret.key"]
    assert _options(both) == OF_SPARK | {"aws_session_token": TOKEN}


@pytest.mark.parametrize(
    ("spark", "environ", "options"),
    [
        ({"endpoint": "minio:9000"}, {}, {"aws_endpoint": "https://minio:9000", **OWN}),
        (
            {"endpoint": "minio:9000", "connection.ssl.enabled": "false", "path.style.access": "true"},
            {},
            {
                "aws_endpoint": "http://minio:9000",
                "aws_allow_http": "true",
                "aws_virtual_hosted_style_request": "false",
                **OWN,
            },
        ),
        ({"endpoint": "http://minio"}, {}, {"aws_endpoint": "http://minio", "aws_allow_http": "true", **OWN}),
        ({"endpoint": "http://minio"}, {"AWS_ENDPOINT_URL": "https://other"}, {}),
        ({"endpoint": "https://minio"}, {"AWS_ENDPOINT_URL": "http://other"}, {"aws_allow_http": "true"}),
        ({"endpoint.region": "eu-1"}, {}, {"aws_region": "eu-1"}),
        ({"endpoint.region": "eu-1"}, {"AWS_DEFAULT_REGION": "eu-2"}, {}),
        ({"bucket.bucket.endpoint": "https://a", "endpoint": "https://b"}, {}, {"aws_endpoint": "https://a", **OWN}),
        ({"endpoint": "https://a"}, {"AWS_REGION": "eu-2"}, {"aws_endpoint": "https://a"}),
    ],
)
def test_endpoint_and_region(spark: dict[str, str], environ: dict[str, str], options: dict[str, str]) -> None:
    assert _options({f"{S3A}{name}": value for name, value in spark.items()}, environ) == options


def test_a_lake_on_s3_is_read_with_the_credentials_of_spark(tmp_path: Path) -> None:
    publish(tmp_path / "the/lake", D1)
    with served(tmp_path) as (spark, asked):
        (night,) = digests(LAKE, ["main"], [D1], storage_options(LAKE, spark, {}))
    assert night.date == f"{D1}"
    assert {f"Credential={KEY}/" in each for each in asked.read_text(encoding="utf-8").splitlines()} == {True}


def test_show_reads_it_with_the_settings_of_spark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    publish(tmp_path / "the/lake", D1)
    with served(tmp_path) as (spark, _):
        text = "".join(f'"{name}" = "{value}"\n' for name, value in spark.items())
        (tmp_path / "site.toml").write_text(f"[spark]\n{text}", encoding="utf-8")
        assert cli.main(["show", "night", "--lake", LAKE, "--settings", str(tmp_path / "site.toml")]) == 0
    assert capsys.readouterr().out.startswith(f"{D1}, cluster main\n")


def test_a_store_that_refuses_names_no_secret(tmp_path: Path) -> None:
    body = f"<Error><Code>InvalidAccessKeyId</Code><AWSAccessKeyId>{KEY}</AWSAccessKeyId>{SECRET}</Error>"
    with served(tmp_path, body) as (spark, _), pytest.raises(LakeError) as caught:
        open_published(LAKE, None, None, None, storage_options(LAKE, spark, {}))
    assert "InvalidAccessKeyId" in str(caught.value)
    assert KEY not in str(caught.value)
    assert SECRET not in str(caught.value)


def test_a_store_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = {"connect_timeout": "1s", "timeout": "1s", "max_retries": "0", "retry_timeout": "1s"}
    assert quick.keys() == WAITS.keys()
    monkeypatch.setattr(store, "WAITS", quick)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        spark = CREDENTIALS | {f"{S3A}endpoint": f"http://127.0.0.1:{silent.getsockname()[1]}"}
        with pytest.raises(LakeError, match=r"^cannot open lake s3a://bucket/the/lake: "):
            open_published(LAKE, None, None, None, storage_options(LAKE, spark, {}))


def test_hdfs_gets_the_settings_of_hadoop() -> None:
    """Under its own names: a name service is known without the files of a cluster."""
    nodes = {"spark.hadoop.dfs.ha.namenodes.ns1": "a", "spark.hadoop.dfs.namenode.rpc-address.ns1.a": "127.0.0.1:9"}
    options = storage_options("hdfs://ns1/lake", {**nodes, "spark.app.name": "x"}, {})
    own = {"dfs.ha.namenodes.ns1": "a", "dfs.namenode.rpc-address.ns1.a": "127.0.0.1:9"}
    assert options == {**WAITS, **own}
    with pytest.raises(LakeError, match="the name node does not answer: Connection refused"):
        open_published("hdfs://ns1/lake", None, None, None, options)


@pytest.mark.parametrize(
    ("bucket", "refuses", "sentence"),
    [
        ("none", "", "the store answers NoSuchBucket; correct the bucket's name or the endpoint"),
        (
            "bucket",
            "<Error><Code>AccessDenied</Code></Error>",
            "the store answers AccessDenied; correct the key, for S3",
        ),
    ],
)
def test_what_a_store_answers_is_a_short_sentence_with_what_to_do(
    tmp_path: Path, bucket: str, refuses: str, sentence: str
) -> None:
    lake = f"s3a://{bucket}/lake"
    with served(tmp_path, refuses) as (spark, _), pytest.raises(LakeError) as caught:
        open_published(lake, None, None, None, storage_options(lake, spark, {}))
    assert str(caught.value).startswith(f"cannot open lake {lake}: {sentence}")


def test_options_are_not_shown() -> None:
    published = Published(LAKE, "main", (dt.date(2026, 3, 1),), (), options=OF_SPARK)
    assert SECRET not in repr(published)
    assert KEY not in repr(published)
