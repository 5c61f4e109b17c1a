"""`[notify]`: what a webhook is told at the end of a night, and that one that fails changes nothing."""

from __future__ import annotations

import datetime as dt
import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from jobs.answers.digest import Digest
from jobs.cli import notify
from jobs.cli.answer_of_a_run import Answer
from jobs.cli.notify import notified
from jobs.errors import ConditionMetError, InputMissingError
from jobs.runs.run import Run
from jobs.settings.load import load_settings
from jobs.spark.interruption import Interrupted
from jobs.text.progress import Progress
from tests.given.quiet_answers import COUNTS, FACTS, QUIET

RUN = Run("r", "nightly", (dt.date(2026, 11, 21),), allow_empty=False, cascade=True, clock=dt.datetime.now)
TOKEN = "sesame-open-9"


@dataclass
class Hook:
    """A webhook that answers each request by the next status, the last for ever; None hangs, 0 sends byte by byte."""

    statuses: list[int | None]
    to: str = ""
    got: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    port: int = 0
    ends: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/services/T0/s3cr3t-path"

    @property
    def bodies(self) -> list[dict[str, object]]:
        return [json.loads(body) for _, _, body in self.got]


@contextmanager
def hook(*statuses: int | None, to: str = "") -> Iterator[Hook]:
    """The webhook, on loopback."""
    served = Hook([*statuses], to)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            served.got.append((self.command, dict(self.headers), body))
            status = served.statuses.pop(0) if served.statuses[1:] else served.statuses[0]
            if status is None:
                served.ends.wait()
                return
            if status == 0:
                while not served.ends.wait(0.1):
                    self.wfile.write(b"H")
                return
            self.send_response(status)
            if served.to:
                self.send_header("Location", served.to)
            self.end_headers()

        def do_GET(self) -> None:
            served.got.append((self.command, dict(self.headers), b"{}"))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield served
    finally:
        served.ends.set()
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(autouse=True)
def paused(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses, which take no time (other threads' own do); a try ends soon, and no proxy stands between."""
    pauses: list[float] = []
    monkeypatch.setattr(notify, "time", SimpleNamespace(sleep=pauses.append))
    monkeypatch.setattr(notify, "_TIMEOUT_S", 0.5)
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv(notify.TOKEN, raising=False)
    return pauses


def _answer(url: str, *nights: Digest, run: Run = RUN) -> Answer:
    answer = Answer(load_settings([], [], {"lake": "/lake", "notify.url": url}), run, Progress())
    answer.facts = [FACTS] if nights else []
    answer.__dict__["nights"] = [*nights]
    return answer


def _tell(answer: Answer, error: BaseException | None = None) -> None:
    """End the run, with the error if there is one."""
    with notified(answer):
        if error:
            raise error


def test_a_night_is_told_as_json_to_writes_it_with_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(notify.TOKEN, f"{TOKEN}\n")
    with hook(200) as webhook:
        _tell(answer := _answer(webhook.url, QUIET))
    ((method, headers, _),), (body,) = webhook.got, webhook.bodies
    assert (method, headers["Authorization"], headers["Content-Type"]) == (
        "POST",
        f"Bearer {TOKEN}",
        "application/json",
    )
    assert body == json.loads(answer.as_json()) | {"text": "2026-11-21, cluster north: A quiet night."}


def test_without_a_token_none_is_sent() -> None:
    with hook(204) as webhook:
        _tell(_answer(webhook.url, QUIET))
    assert "Authorization" not in webhook.got[0][1]


@pytest.mark.parametrize(
    ("error", "ended"),
    [
        (InputMissingError("no sends.jsonl; give a path"), "exit code 3: no sends.jsonl; give a path"),
        (ConditionMetError("--fail-on held: event 3"), "exit code 7: --fail-on held: event 3"),
        (Interrupted(signal.SIGTERM), "exit code 143: interrupted by SIGTERM; run it again, other days stay whole"),
        (RuntimeError("what nobody should read"), "exit code 1: unexpected RuntimeError, which its log explains"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_a_run_that_fails_is_told_too_and_fails_as_it_did(error: BaseException, ended: str) -> None:
    with hook(200) as webhook:
        with pytest.raises(type(error)) as raised:
            _tell(_answer(webhook.url), error)
        with pytest.raises(type(error)):
            _tell(_answer(webhook.url, QUIET), error)
    assert raised.value is error
    alone, with_night = webhook.bodies
    assert alone == {"run_id": "r", "lake": "/lake", "flows": {}, "nights": [], "text": alone["text"]}
    assert alone["text"] == f"faultline nightly of 2026-11-21, main, ended with {ended}"
    assert with_night["text"] == f"{alone['text']}\n2026-11-21, cluster north: A quiet night."


def test_of_several_nights_the_text_has_the_one_that_lost_most() -> None:
    worst = replace(QUIET, cluster="east", headline="9 sends lost <!channel>.", counts=COUNTS | {"lost": 9})
    with hook(200) as webhook:
        _tell(_answer(webhook.url, QUIET, worst, QUIET))
    assert [body["text"] for body in webhook.bodies] == [
        "2026-11-21, cluster east: 9 sends lost &lt;!channel&gt;. (2 more nights)"
    ]


def test_a_body_that_would_be_too_large_says_so_much_as_fits() -> None:
    """First the nights go, then what the flows did: a hidden file has a name of its own."""
    large = replace(QUIET, rests_on=["x" * notify.MOST_BYTES], headline="y " * 9_000)
    with hook(200) as webhook:
        _tell(_answer(webhook.url, large))
        answer = _answer(webhook.url, large)
        answer.facts = [replace(FACTS, hidden_files=["x" * notify.MOST_BYTES])]
        _tell(answer)
    first, second = webhook.bodies
    assert (first["nights"], list(first["flows"])) == (None, ["fault-latency"])  # type: ignore[call-overload]
    assert (second["nights"], second["flows"]) == (None, {})
    assert all(len(body) <= notify.MOST_BYTES for _, _, body in webhook.got)
    assert len(f"{first['text']}") == 1_999


def test_a_webhook_that_refuses_once_is_asked_again(paused: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with hook(503, 200) as webhook:
        _tell(_answer(webhook.url, QUIET))
    assert ([body["run_id"] for body in webhook.bodies], paused) == (["r", "r"], [2.0])
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("statuses", "why"),
    [([500], "it answered 500"), ([None], "timed out"), ([0], "timed out")],
    ids=["500 for ever", "hangs", "drips"],
)
def test_a_webhook_that_never_takes_it_is_one_sentence_without_secrets(
    paused: list[float],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    statuses: list[int | None],
    why: str,
) -> None:
    monkeypatch.setenv(notify.TOKEN, TOKEN)
    with hook(*statuses) as webhook:
        _tell(_answer(webhook.url, QUIET))
        assert (len(webhook.got), paused) == (3, [2.0, 8.0, 0])
    assert capsys.readouterr().err == (
        f"faultline: the night was not told to http://127.0.0.1:{webhook.port}, the host of notify.url: {why};"
        " see whether it is up, and correct notify.url or FAULTLINE_NOTIFY_TOKEN\n"
    )


def test_a_webhook_that_is_not_there_changes_no_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    with hook(200) as webhook:
        pass
    with pytest.raises(InputMissingError):
        _tell(_answer(webhook.url), InputMissingError("no sends"))
    said = capsys.readouterr().err
    assert "Connection refused" in said
    assert "s3cr3t" not in said


def test_no_redirect_is_followed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv(notify.TOKEN, TOKEN)
    with hook(200) as other:
        for status in (301, 302, 303, 307, 308):
            with hook(status, to=other.url) as webhook:
                _tell(_answer(webhook.url, QUIET))
            assert f"it answered {status};" in capsys.readouterr().err
    assert other.got == []


def test_whatever_fails_of_a_try_is_said_without_the_address(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError(hidden)

    hidden = "http://127.0.0.1:9/s3cr3t-path"
    monkeypatch.setattr("jobs.cli.notify.build_opener", fails)
    _tell(_answer(hidden, QUIET))
    said = capsys.readouterr().err
    assert "the host of notify.url: unexpected RuntimeError; see whether it is up" in said
    assert "s3cr3t" not in said


def test_a_token_that_no_header_takes_is_not_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with hook(200) as webhook:
        for token in ("sesame\nX-Other: open", "sesame-\N{EURO SIGN}"):
            monkeypatch.setenv(notify.TOKEN, token)
            _tell(_answer(webhook.url, QUIET))
            said = capsys.readouterr().err
            assert "no header takes the characters of FAULTLINE_NOTIFY_TOKEN" in said
            assert "sesame" not in said
    assert webhook.got == []


def test_after_a_signal_it_is_tried_once(paused: list[float]) -> None:
    with hook(500) as webhook, pytest.raises(Interrupted):
        _tell(_answer(webhook.url), Interrupted(signal.SIGTERM))
    assert (len(webhook.got), paused) == (1, [0])


def test_secrets_of_an_error_stay_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SITE_PASSWORD", "hunter-22")
    with hook(200) as webhook, pytest.raises(InputMissingError):
        _tell(_answer(webhook.url), InputMissingError("no s3a://user:pa55word@logs with hunter-22"))
    assert f"{webhook.bodies[0]['text']}".endswith("no s3a://user:…@logs with …")


def test_only_a_night_is_told() -> None:
    with hook(200) as webhook:
        _tell(_answer(webhook.url, QUIET, run=replace(RUN, command="fault-latency")))
    assert webhook.got == []
