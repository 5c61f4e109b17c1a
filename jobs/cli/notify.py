"""`[notify]`: one POST to a webhook at the end of a night, published or failed."""

from __future__ import annotations

import html
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from jobs.cli.answer_of_a_run import Answer, said_alone
from jobs.cli.days import span_text
from jobs.spark.interruption import Interrupted, what_ended
from jobs.text.redaction import redacted, secrets_of
from jobs.text.terminal import counted, one_line, safe

TOKEN = "FAULTLINE_NOTIFY_TOKEN"  # noqa: S105 - a variable's name
"""Environment variable with the webhook's token."""

MOST_BYTES = 262_144
_TIMEOUT_S = 10.0
_PAUSES_S = (2.0, 8.0)
"""Between three tries."""


class _NoRedirect(HTTPRedirectHandler):
    """Follow no redirect: urllib would send the token to where it leads."""

    def redirect_request(self, *_: Any) -> None:
        """Nothing to follow."""


@contextmanager
def notified(answer: Answer) -> Iterator[None]:
    """Run a command in the block, and tell the webhook how it ended; what fails of that is said and changes nothing."""
    try:
        yield
    finally:
        url, error = answer.settings.notify.url, sys.exception()
        if url and answer.run.command == "nightly":
            host = f"{urlsplit(url).scheme}://{urlsplit(url).netloc}"
            with said_alone(f"the night was not told to {host}, the host of notify.url"):
                ended = None if error is None else what_ended(error)
                _post(url, _body(answer, ended), (() if isinstance(ended, Interrupted) else _PAUSES_S))


def _body(answer: Answer, error: BaseException | None) -> bytes:
    """What `--json-to` writes, and `text`; nights and facts are left out of a body that would be too large."""
    told, text = answer.as_object(), _text(answer, error)
    lesser: list[dict[str, Any]] = [{}, {"nights": None}, {"nights": None, "flows": {}}]
    for left_out in lesser:
        body = json.dumps({**told, **left_out, "text": text}).encode()
        if len(body) <= MOST_BYTES:
            break
    return body


def _text(answer: Answer, error: BaseException | None) -> str:
    """How the run ended, if it failed, and the night that lost most; safe for a chat's markup."""
    from jobs.answers.digest_text import night_line

    run = answer.run
    lines = []
    if error is not None:
        code = getattr(error, "exit_code", None)
        why = f"{error}" if code else f"unexpected {type(error).__name__}, which its log explains"
        lines.append(
            f"faultline {run.command} of {span_text(run.days)}, {safe(answer.settings.cluster)}, ended with exit code"
            f" {code or 1}: {why}"
        )
    if nights := answer.nights:
        more = f" ({counted(len(nights) - 1, 'more night')})" if nights[1:] else ""
        lines.append(f"{night_line(max(nights, key=lambda night: night.counts['lost']))}{more}")
    elif error is None:
        lines.append(f"faultline {run.command} of {span_text(run.days)}: published, but it cannot be read back")
    secrets = secrets_of({**os.environ, **answer.settings.spark})
    text = "\n".join(one_line(redacted(line, secrets)) for line in lines)
    return html.escape(text, quote=False)


def _post(url: str, body: bytes, pauses_s: tuple[float, ...]) -> None:
    """Post the body, once more after each pause.

    Raises:
        OSError: the webhook did not take it.
    """
    for pause_s in (*pauses_s, 0):
        if (why := _within(url, body)) is None:
            return
        time.sleep(pause_s)
    raise OSError(f"{why}; see whether it is up, and correct notify.url or {TOKEN}")


def _within(url: str, body: bytes) -> str | None:
    """As `_try`, given up after the time-out: urllib's is for each read, and a server may send a byte now and then."""
    said: list[str | None] = []
    trying = threading.Thread(target=lambda: said.append(_try(url, body)), daemon=True)
    trying.start()
    trying.join(_TIMEOUT_S + 1)
    return said[0] if said else "timed out"


def _try(url: str, body: bytes) -> str | None:
    """Why the webhook did not take the body; None if it did."""
    headers = {"Content-Type": "application/json", "User-Agent": "faultline"}
    if token := os.environ.get(TOKEN, "").strip():
        headers["Authorization"] = f"Bearer {token}"
    try:
        with build_opener(_NoRedirect).open(Request(url, body, headers), timeout=_TIMEOUT_S):  # noqa: S310 - http
            return None
    except HTTPError as error:
        error.close()
        return f"it answered {error.code}"
    except OSError as error:
        return f"{getattr(error, 'reason', error)}"
    except ValueError:  # whose text would hold it
        return f"no header takes the characters of {TOKEN}"
    except HTTPException as error:
        return f"it did not answer in HTTP ({type(error).__name__})"
    except Exception as error:  # noqa: BLE001 - the thread would print it, with the address
        return f"unexpected {type(error).__name__}"
