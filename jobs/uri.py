"""The local folder behind a path or URI."""

from __future__ import annotations

import errno
import re
from pathlib import Path
from urllib.parse import unquote


def is_there(path: Path) -> bool:
    """Whether the path is visible to this user, who may lack permission for a folder above it.

    A name longer than any disk allows does not exist.
    """
    try:
        return path.exists()
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM, errno.ENAMETOOLONG):
            return False
        raise


def is_elsewhere(uri: str) -> bool:
    """Whether a path or URI is on another store than this machine's files.

    >>> [is_elsewhere(uri) for uri in ("s3a://bucket/lake", "hdfs:/lake", "file:/lake", "/lake/a:/b", "lake")]
    [True, True, False, False, False]
    """
    return re.match(r"(?!file:)[A-Za-z][\w+.-]*:/", uri) is not None


def path_on_store(uri: str) -> str:
    """The path of a file without its store.

    >>> [path_on_store(uri) for uri in ("s3a://bucket/logs/a", "hdfs:/logs/a", "/logs/a")]
    ['/logs/a', '/logs/a', '/logs/a']
    """
    return re.sub(r"^[A-Za-z][\w+.-]*:(//[^/]*)?(?=/)", "", uri)


def local_folder(uri: str) -> Path | None:
    """The folder behind a path or `file:` URI; None for any other store.

    >>> local_folder("file:///a%20b"), local_folder("file:/a%20b")  # a URI, and Hadoop's own spelling of a path
    (PosixPath('/a b'), PosixPath('/a%20b'))
    """
    if is_elsewhere(uri):
        return None
    if not uri.startswith("file://"):
        return Path(uri.removeprefix("file:"))
    return Path("/", unquote(uri.removeprefix("file://").partition("/")[2]))
