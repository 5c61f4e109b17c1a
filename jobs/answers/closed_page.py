"""A page with Plotly inside that loads nothing and sends nothing: only its own scripts run."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from markupsafe import Markup
from plotly.offline import get_plotlyjs

_UNSAFE_IN_SCRIPT = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


@dataclass(frozen=True)
class Closed:
    """Parts that close a page.

    Attributes:
        policy: its Content-Security-Policy.
        scripts: all its scripts, and the data that they draw; the last thing in its body.
    """

    policy: str
    scripts: Markup


def closed(script: str, data: Any) -> Closed:
    """Plotly and our own script of that name in `page`, which finds the data in the element `data`."""
    scripts = (part("closed.js"), get_plotlyjs(), part(script))
    elements = (f"<script>{source}</script>" for source in scripts)
    inert = f'<script type="application/json" id="data">{inert_json(data)}</script>'
    return Closed(_policy(*scripts), Markup("\n".join((inert, *elements))))  # noqa: S704 - our own files and the library's


def part(name: str) -> str:
    """A file of the folder `page`."""
    return files("jobs.answers").joinpath("page", name).read_text(encoding="utf-8")


def inert_json(value: Any) -> str:
    r"""JSON that is safe inside a script element: nothing in it can end the element.

    >>> inert_json({"a": "</script>&\u2028"})
    '{"a":"\\u003c/script\\u003e\\u0026\\u2028"}'
    """
    return json.dumps(value, separators=(",", ":"), allow_nan=False).translate(_UNSAFE_IN_SCRIPT)


def _policy(*scripts: str) -> str:
    """A Content-Security-Policy under which only these scripts run and nothing is loaded or sent."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:;"
        " connect-src 'none'; base-uri 'none'; form-action 'none'"
    )
