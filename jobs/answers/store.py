"""Options by which delta-rs opens a lake: how long it waits for a store, and Spark's settings of S3."""

from __future__ import annotations

import os
from collections.abc import Mapping

from jobs.uri import is_elsewhere

WAITS = {"connect_timeout": "5s", "timeout": "30s", "max_retries": "2", "retry_timeout": "40s"}
"""A store that does not answer fails within a minute or two; delta-rs alone would take many."""

_HADOOP = "spark.hadoop."
_CREDENTIALS = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_PROFILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
_ENDPOINT = ("AWS_ENDPOINT", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3")
_REGION = ("AWS_REGION", "AWS_DEFAULT_REGION")


def storage_options(lake: str, spark: Mapping[str, str], environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Options for delta-rs besides the environment, which it reads itself; empty for a local lake.

    Credentials, endpoint and region come from Spark's `fs.s3a` settings, those of the bucket first, each as a whole and
    only if the environment does not set it: never the key of one and the secret of the other.

    >>> conf = {"spark.hadoop.fs.s3a.access.key": "k", "spark.hadoop.fs.s3a.secret.key": "s",
    ...     "spark.hadoop.fs.s3a.endpoint": "minio:9000", "spark.hadoop.fs.s3a.connection.ssl.enabled": "false"}
    >>> sorted(storage_options("s3a://b/lake", conf, {}).items() - WAITS.items())
    [('aws_access_key_id', 'k'), ('aws_allow_http', 'true'), ('aws_endpoint', 'http://minio:9000'), \
('aws_secret_access_key', 's')]
    >>> storage_options("s3a://b/lake", conf, {"AWS_ACCESS_KEY_ID": "x", "AWS_ENDPOINT_URL": "http://y"}) == WAITS
    True

    Args:
        lake: folder or URI.
        spark: settings of the session, or of the `[spark]` table.
        environ: the environment.
    """
    if not is_elsewhere(lake):
        return {}
    scheme, _, rest = lake.partition("://")
    if scheme not in {"s3", "s3a", "s3n"}:
        return dict(WAITS)
    own = f"{_HADOOP}fs.s3a.bucket.{rest.partition('/')[0]}."
    base = {name.removeprefix(f"{_HADOOP}fs.s3a."): value for name, value in spark.items() if name.startswith(_HADOOP)}
    bucket = {name.removeprefix(own): value for name, value in spark.items() if name.startswith(own)}
    conf = {**base, **bucket}
    options = dict(WAITS)
    if not _says(environ, _CREDENTIALS):
        options |= _credentials(bucket) or _credentials(base)
    if conf.get("endpoint") and not _says(environ, _ENDPOINT):
        options |= _endpoint(conf)
    if conf.get("endpoint.region") and not _says(environ, _REGION):
        options["aws_region"] = conf["endpoint.region"]
    return options


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
    """The endpoint with its scheme, plain HTTP allowed if that is its scheme, and path style if set."""
    endpoint = conf["endpoint"]
    if "://" not in endpoint:
        endpoint = f"{'http' if conf.get('connection.ssl.enabled') == 'false' else 'https'}://{endpoint}"
    options = {"aws_endpoint": endpoint}
    if endpoint.startswith("http://"):
        options["aws_allow_http"] = "true"
    if conf.get("path.style.access") == "true":
        options["aws_virtual_hosted_style_request"] = "false"
    return options
