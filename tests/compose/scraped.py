"""Ask a deployment's Prometheus what it scrapes: `python -m tests.compose.scraped URL`."""

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import yaml

from hone.stack.processes import KINDS
from tests.acceptance.scene import wait_for

RULES = yaml.safe_load((Path(__file__).parents[2] / "deploy" / "alerts.yml").read_text())["groups"][0]["rules"]
EXPECTED = Counter({**dict.fromkeys(KINDS, 1), "rollout": 2})


def main(url: str) -> None:
    """Raise AssertionError unless every process is scraped, with what it counted, and every rule evaluated."""
    with httpx.Client(base_url=url, timeout=10) as client:
        def asked(query: str) -> list[dict[str, Any]]:
            answer = client.get("/api/v1/query", params={"query": query}).raise_for_status()
            return list(answer.json()["data"]["result"])

        wait_for("every process to be scraped", lambda: Counter(
            one["metric"]["job"] for one in asked("up == 1")) == EXPECTED, 60)
        assert asked("up == 0") == []
        for query in ("hone_units_committed_total > 0", "sum(hone_groups_ready_total) > 0", 'hone_runs{job="driver"}'):
            assert asked(query), query
        groups = client.get("/api/v1/rules").raise_for_status().json()["data"]["groups"]
        assert [rule["name"] for rule in groups[0]["rules"]] == [rule["alert"] for rule in RULES]
        wait_for("every rule to be evaluated", lambda: {rule["health"] for rule in client.get(
            "/api/v1/rules").json()["data"]["groups"][0]["rules"]} == {"ok"}, 60)
    print(f"Prometheus scrapes {EXPECTED.total()} processes and evaluates {len(RULES)} rules")


if __name__ == "__main__":
    main(*sys.argv[1:])
