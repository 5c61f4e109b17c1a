"""The parts that close a page, before a browser sees them: which scripts may run, and data that is no script."""

from __future__ import annotations

import base64
import hashlib
import json
import re

import pytest
from plotly.offline import get_plotlyjs

from jobs.answers.closed_page import closed, inert_json, part

HOSTILE = {"</script><!--<b>": ["&lt;", "\u2028", "ü", 1.5, None, True, "\x00"]}


def test_only_the_page_s_three_scripts_may_run_and_nothing_may_be_loaded_or_sent() -> None:
    scripts = [part("closed.js"), get_plotlyjs(), part("report.js")]
    hashes = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in scripts]
    assert closed("report.js", {}).policy.split("; ") == [
        "default-src 'none'",
        f"script-src 'sha256-{hashes[0]}' 'sha256-{hashes[1]}' 'sha256-{hashes[2]}'",
        "style-src 'unsafe-inline'",
        "img-src data: blob:",
        "connect-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
    ]


def test_data_come_first_and_the_scripts_in_the_order_in_which_they_need_each_other() -> None:
    """What closes Plotly has to run before it, and what draws after it."""
    scripts = str(closed("report.js", HOSTILE).scripts)
    data, *rest = scripts.split("\n<script>")
    assert rest == [f"{each}</script>" for each in (part("closed.js"), get_plotlyjs(), part("report.js"))]
    found = re.fullmatch(r'<script type="application/json" id="data">([^<>&]*)</script>', data)
    assert found
    assert json.loads(found[1]) == HOSTILE


def test_data_keep_their_values_and_no_letter_that_html_acts_on() -> None:
    text = inert_json(HOSTILE)
    assert json.loads(text) == HOSTILE
    assert not set(text) & set("<>&\u2028\x00")
    assert inert_json([1, {"a": 2}]) == '[1,{"a":2}]'


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_json_has_not_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="Out of range float values"):
        inert_json([number])
