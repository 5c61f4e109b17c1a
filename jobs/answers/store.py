"""How delta-rs opens a store: how long it waits, Spark's settings of S3 and HDFS; and what a store said, in short."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from jobs.text.redaction import redacted, secrets_of
from jobs.uri import is_elsewhere, is_there

WAITS = {"connect_timeout": "5s", "timeout": "30s", "max_retries": "2", "retry_timeout": "40s"}
"""A store that does not answer fails within a minute or two; delta-rs alone would take many."""

_HADOOP = "spark.hadoop."
CREDENTIALS = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_PROFILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
ENDPOINT = ("AWS_ENDPOINT", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3")
REGION = ("AWS_REGION", "AWS_DEFAULT_REGION")
_KEYS = (
    "correct the key, for S3 in the environment (AWS_ACCESS_KEY_ID and its secret) or in [spark]"
    " (spark.hadoop.fs.s3a.access.key and secret.key)"
)
_ANSWERS = {
    r"169\.254\.169\.254|IMDS": f"there is no key to open it with; {_KEYS}",
    r"(\w+://[^/ ]+)\S* in .*error sending request.*↳ (.*)": r"\1 does not answer: \2; correct the endpoint, or wait",
    r"communicating with HDFS ↳ (.*)": r"the name node does not answer: \1; correct its address, or wait",
    r"<Code>(NoSuchBucket)</Code>": r"the store answers \1; correct the bucket's name or the endpoint",
    r"40[134] .*?<Code>(\w+)</Code>": rf"the store answers \1; {_KEYS}",
}
"""What delta-rs says of a store in many words, to what it means and what to do."""


def storage_options(lake: str, spark: Mapping[str, str], environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Options for delta-rs besides the environment, which it reads itself; empty for a local lake.

    HDFS gets Spark's settings of Hadoop, which go before the files in `HADOOP_CONF_DIR`. For S3, credentials, endpoint
    and region come from Spark's `fs.s3a` settings, those of the bucket first, each as a whole and only if the
    environment does not set it: never the key of one and the secret of the other.

    >>> conf = {"spark.hadoop.fs.s3a.access.key": "k", "spark.hadoop.fs.s3a.secret.key": "s",
    ...     "spark.hadoop.fs.s3a.endpoint": "minio:9000", "spark.hadoop.fs.s3a.connection.ssl.enabled": "false"}
    >>> sorted(storage_options("s3a://b/lake", conf, {}).items() - WAITS.items())
    [('aws_access_key_id', 'k'), ('aws_allow_http', 'true'), ('aws_endpoint', 'http://minio:9000'), \
('aws_region', 'us-east-1'), ('aws_secret_access_key', 's')]
    >>> storage_options("s3a://b/lake", conf, {"AWS_ACCESS_KEY_ID": "x", "AWS_ENDPOINT_URL": "https://y"}) == WAITS
    True

    Args:
        lake: folder or URI.
        spark: settings of the session, or of the `[spark]` table.
        environ: the environment.
    """
    if not is_elsewhere(lake):
        return {}
    scheme, _, rest = lake.partition("://")
    if scheme == "hdfs":
        return WAITS | {name.removeprefix(_HADOOP): value for name, value in spark.items() if name.startswith(_HADOOP)}
    if scheme not in {"s3", "s3a", "s3n"}:
        return dict(WAITS)
    own = f"{_HADOOP}fs.s3a.bucket.{rest.partition('/')[0]}."
    base = {name.removeprefix(f"{_HADOOP}fs.s3a."): value for name, value in spark.items() if name.startswith(_HADOOP)}
    bucket = {name.removeprefix(own): value for name, value in spark.items() if name.startswith(own)}
    conf = {**base, **bucket}
    options = dict(WAITS)
    if not _says(environ, CREDENTIALS):
        options |= _credentials(bucket) or _credentials(base)
    if conf.get("endpoint") and not _says(environ, ENDPOINT):
        options |= _endpoint(conf)
    endpoints = (options.get("aws_endpoint", ""), *(environ.get(name, "") for name in ENDPOINT))
    if any(endpoint.startswith("http://") for endpoint in endpoints):
        options["aws_allow_http"] = "true"  # who names such an endpoint means it
    # A store of one's own takes any region; delta-rs would ask AWS.
    region = conf.get("endpoint.region") or ("us-east-1" if "aws_endpoint" in options else None)
    if region and not _says(environ, REGION):
        options["aws_region"] = region
    return options


def has_key(options: Mapping[str, str], environ: Mapping[str, str] = os.environ) -> bool:
    """Whether options, environment or AWS's own files name a key for S3; delta-rs would ask the machine's cloud."""
    return "aws_access_key_id" in options or _says(environ, CREDENTIALS) or is_there(Path.home() / ".aws")


def reason_of(error: BaseException, options: Mapping[str, str]) -> str:
    """What a store said and what to do about it, in one line without secrets.

    >>> reason_of(OSError("Generic S3 error ↳ 404 ↳ <Error><Code>NoSuchBucket</Code><Message>None.</Message>"), {})
    "the store answers NoSuchBucket; correct the bucket's name or the endpoint"
    """
    said = " ".join(re.sub(r"\x1b\[[0-9;]*m", "", str(error)).split())
    secrets = secrets_of(options)
    for sign, meaning in _ANSWERS.items():
        if answer := re.search(sign, said):
            return redacted(answer.expand(meaning), secrets)
    return redacted(said, secrets)[:300] or type(error).__name__


def _says(environ: Mapping[str, str], names: tuple[str, ...]) -> bool:
    return any(environ.get(name) for name in names)


def _credentials(conf: Mapping[str, str]) -> dict[str, str]:
    """Key, secret and token of one source; nothing unless it has both key and secret."""
    key, secret, token = (conf.get(name, "") for name in ("access.key", "secret.key", "session.token"))
    if not key or not secret:
        return {}
    pair = {"aws_access_key_id": key, "aws_secret_access_key": secret}
    return {**pair, "aws_session_token": token} if token else pair


def _endpoint(conf: Mapping[str, str]) -> dict[str, str]:
    """The endpoint with its scheme, and path style if set."""
    endpoint = conf["endpoint"]
    if "://" not in endpoint:
        endpoint = f"{'http' if conf.get('connection.ssl.enabled') == 'false' else 'https'}://{endpoint}"
    options = {"aws_endpoint": endpoint}
    if conf.get("path.style.access") == "true":
        options["aws_virtual_hosted_style_request"] = "false"
    return options
