"""The alert rules work, as Prometheus' own tool finds, and use metrics that exist."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from hone.telemetry import gauges, metrics

DEPLOY = Path(__file__).parents[3] / "deploy"
RULES = yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"][0]["rules"]
TESTS = yaml.safe_load((DEPLOY / "alerts.test.yml").read_text())["tests"]


@pytest.fixture
def promtool(need: Callable[[str | None], None]) -> str:
    found = shutil.which("promtool")
    need(None if found else "promtool is not installed (Debian: apt-get install prometheus)")
    return str(found)


ENDS = {"histogram": ("_bucket", "_count", "_sum"), "counter": ("_total",), "gauge": ("",)}


def exported() -> set[str]:
    """Return the name of every series that is exported."""
    named = {family.name + ("_total" if family.counts else "") for family in gauges.FAMILIES}
    for metric in metrics.PROCESS_METRICS:
        for family in metric.describe():
            named |= {family.name + end for end in ENDS[family.type]}
    return named


def asked(rule: dict[str, str]) -> set[str]:
    return set(re.findall(r"\bhone_\w+", rule["expr"]))


def test_rules_fire_when_they_should(promtool: str) -> None:
    done = subprocess.run([promtool, "test", "rules", "alerts.test.yml"], cwd=DEPLOY, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_deployments_prometheus_reads_its_configuration(promtool: str) -> None:
    done = subprocess.run([promtool, "check", "config", "prometheus.yml"], cwd=DEPLOY, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(RULES)} rules found" in done.stdout


def test_every_rule_is_tested_firing() -> None:
    fired = {case["alertname"] for test in TESTS for case in test["alert_rule_test"] if case["exp_alerts"]}
    assert fired == {rule["alert"] for rule in RULES}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_a_rule_uses_exported_series(rule: dict[str, str]) -> None:
    assert asked(rule)
    assert asked(rule) <= exported()


def test_every_rule_is_explained() -> None:
    explained = (DEPLOY.parent / "docs" / "observability.md").read_text()
    assert [rule["alert"] for rule in RULES if f"`{rule['alert']}`" not in explained] == []


def test_every_metric_is_explained() -> None:
    explained = (DEPLOY.parent / "docs" / "observability.md").read_text()
    names = {re.sub("_(bucket|count|sum)$", "", name) for name in exported()}
    assert [name for name in sorted(names) if f"`{name}" not in explained] == []
