"""Alert rules that sites copy ask for what is written, and fire when they should."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from jobs.answers.metrics import GAUGES

ROOT = Path(__file__).parents[2]
FILE = ROOT / "deploy/prometheus/faultline.rules.yml"
OWN_TESTS = ROOT / "tests/given/faultline.rules.test.yml"


def _rules(text: str) -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(text)["groups"]
    rules: list[dict[str, Any]] = group["rules"]
    return rules


RULES = _rules(FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_a_rule_asks_for_metrics_and_labels_that_are_written(rule: dict[str, Any]) -> None:
    named = re.findall(r"\bfaultline_(\w+)", rule["expr"])
    assert named
    assert set(named) <= set(GAUGES)
    of_all = set.intersection(*({"cluster", *GAUGES[name][1]} for name in named))
    matched = re.findall(r"(\w+)=~?\"", rule["expr"])
    grouped = [
        label for labels in re.findall(r"(?:without|ignoring) \((.*?)\)", rule["expr"]) for label in labels.split()
    ]
    shown = re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values()))
    assert {*matched, *grouped, *shown} <= of_all
    assert set(rule["annotations"]) == {"summary", "description"}


def test_each_alert_fires_in_a_test_of_promtool() -> None:
    cases = [
        case
        for test in yaml.safe_load(OWN_TESTS.read_text(encoding="utf-8"))["tests"]
        for case in test["alert_rule_test"]
    ]
    fires = {case["alertname"] for case in cases if "exp_alerts" in case}
    assert fires == {rule["alert"] for rule in RULES}


def test_the_page_lists_each_alert_and_each_metric() -> None:
    page = (ROOT / "docs/alerts.md").read_text(encoding="utf-8")
    assert {*re.findall(r"^\| `faultline_(\w+)` ", page, re.MULTILINE)} == set(GAUGES)
    assert {*re.findall(r"^\| `(Faultline\w+)` ", page, re.MULTILINE)} == {rule["alert"] for rule in RULES}


@pytest.mark.slow
def test_promtool_takes_the_rules_and_they_fire_when_they_should() -> None:
    """With promtool on the path, such as of Debian's package prometheus."""
    for command in (["check", "rules", str(FILE)], ["test", "rules", str(OWN_TESTS)]):
        done = subprocess.run(["promtool", *command], capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
