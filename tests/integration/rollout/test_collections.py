"""A worker on a real Postgres: a group reads a collection as of the version that its order pins."""

import json
from typing import Any

import psycopg
import pytest

from hone.harnesses.catalogue import HARNESSES
from hone.harnesses.contract import HarnessParams
from hone.harnesses.seat import Seat
from hone.spec.settings import Settings
from hone.store import objects
from hone.trajectory import parts
from tests.integration.rollout.conftest import Open
from tests.integration.rollout.rows import Run


class Reading:
    """It answers once, and offers what it read."""

    summary, params, collections = "For tests.", HarnessParams, frozenset({"tips", "none"})

    async def play(self, seat: Seat, params: HarnessParams) -> None:  # noqa: ARG002
        await seat.act((await seat.ask(seat.opening)).text)
        seat.offer("tips", {"read": [[one.id, one.body] for one in seat.read("tips")], "none": len(seat.read("none"))})


def collect(run: Run, version: int, items: list[Any]) -> None:
    row = (run.run_id, run.tenant_id, "tips", version)
    with psycopg.connect(run.url) as connection:
        connection.execute(
            "INSERT INTO collections (run_id, tenant_id, name, version) VALUES (%s, %s, %s, %s)", row)
        for place, item in enumerate(items):
            connection.execute("INSERT INTO collection_items (run_id, tenant_id, name, version, place, body) "
                               "VALUES (%s, %s, %s, %s, %s, %s)", (*row, place, json.dumps(item)))


async def test_a_group_reads_the_items_of_the_version_that_its_order_pins(
        run: Run, settings: Settings, open_worker: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HARNESSES, "reading", Reading())
    monkeypatch.setattr("services.rollout.groups.MOST_READ", 3)
    items: dict[int, list[Any]] = {1: ["a"], 3: ["b", {"c": [1]}], 4: ["d"]}
    for version, bodies in items.items():
        collect(run, version, bodies)
    for first, pinned in enumerate((0, 1, 3, 4)):
        run.request(1, n=2, first=first, harness="reading", collections={"none": 0, "tips": pinned})
    await (await open_worker()).work()
    store = objects.connect(settings.objects_url)
    ids = [["1.0", "a"], ["3.0", "b"], ["3.1", {"c": [1]}], ["4.0", "d"]]
    for group, expected in zip(run.groups(), ([], ids[:1], ids[:3], ids[1:]), strict=True):
        notes = parts.notes(store.get(group["parts"][0]))
        offered = [[{"offers": [{"collection": "tips", "item": {"read": expected, "none": 0}}]}]] * 2
        assert [notes[group["id"], index] for index in range(2)] == offered


async def test_a_group_reads_what_its_run_began_with_before_any_step(
        run: Run, settings: Settings, open_worker: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HARNESSES, "reading", Reading())
    collect(run, 0, ["begun", "with"])
    run.request(1, n=1, harness="reading", collections={"none": 0, "tips": 0})
    await (await open_worker()).work()
    [group] = run.groups()
    notes = parts.notes(objects.connect(settings.objects_url).get(group["parts"][0]))
    [[offered]] = [call["offers"] for call in notes[group["id"], 0]]
    assert offered["item"]["read"] == [["0.0", "begun"], ["0.1", "with"]]
