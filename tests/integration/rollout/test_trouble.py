"""Services that are away, refuse or fall silent: their groups wait with a reason, and other groups go on."""

import asyncio
import json
import logging
from typing import Any

import psycopg
import pytest

from hone.spec.settings import Settings
from hone.store import objects
from hone.telemetry import logs
from services.rollout.groups import Groups
from tests.integration.rollout.conftest import Open
from tests.integration.rollout.peers import AWAY, Peers
from tests.integration.rollout.rows import Run, add_run, every, register_engine
from tests.support.rollout.trouble import until_reason


async def test_without_an_engine_groups_wait_and_say_so(run: Run, peers: Peers, open_worker: Open) -> None:
    with psycopg.connect(run.url) as connection:
        connection.execute("DELETE FROM engines")
    run.request(2)
    work = asyncio.create_task((await open_worker()).work())
    await until_reason(run, "waiting for inference: Unavailable: no engine has reported in the last 2.6 s")
    register_engine(run.url, "engine-0", peers.address, age_s=-3600)
    await work
    assert [(group["state"], group["reason"]) for group in run.groups()] == [("ready", None)] * 2


@pytest.mark.parametrize("service", ["simulation", "inference", "reward"])
async def test_a_service_that_is_away_is_named(run: Run, peers: Peers, open_worker: Open, service: str) -> None:
    peer: Any = getattr(peers, service)
    peer.error = AWAY
    run.request(2)
    work = asyncio.create_task((await open_worker()).work())
    await until_reason(run, f"waiting for {service}: UNAVAILABLE: not here yet")
    peer.error = None
    await work
    assert run.states() == ["ready", "ready"]


@pytest.mark.parametrize("service", ["inference", "reward"])
async def test_a_service_that_hangs_is_named_after_a_lease(
        run: Run, peers: Peers, open_worker: Open, service: str) -> None:
    gate: Any = getattr(peers, service)
    gate.open.clear()
    run.request(1)
    work = asyncio.create_task((await open_worker(lease_s=0.5)).work())
    await until_reason(run, f"waiting for {service}: no answer yet")
    gate.open.set()
    await work
    assert [(group["state"], group["reason"]) for group in run.groups()] == [("ready", None)]


async def test_the_reason_of_a_waiting_group_is_recorded_before_its_deadline(
        run: Run, peers: Peers, open_worker: Open) -> None:
    peers.reward.open.clear()
    (group_id,) = run.request(1)
    with psycopg.connect(run.url) as connection:
        connection.execute("UPDATE groups SET deadline = now() + interval '3 s' WHERE id = %s", (group_id,))
    await (await open_worker(lease_s=60)).work()
    assert [(group["state"], group["reason"]) for group in run.groups()] == [
        ("requested", "waiting for reward: no answer yet")]
    peers.reward.open.set()


async def test_calls_to_a_silent_engine_are_made_on_another(run: Run, peers: Peers, open_worker: Open) -> None:
    other = Peers()
    await other.start()
    peers.inference.open.clear()
    run.request(3)
    work = asyncio.create_task((await open_worker(sweep_s=0.1)).work())
    await peers.inference.started.wait()
    register_engine(run.url, "engine-1", other.address, age_s=-3600)
    register_engine(run.url, "engine-0", peers.address, age_s=60)
    await asyncio.wait_for(work, 120)
    assert run.states() == ["ready"] * 3
    assert len(other.inference.requests) == 3
    await other.stop()


async def test_two_engines_share_the_work(run: Run, peers: Peers, open_worker: Open) -> None:
    other = Peers()
    await other.start()
    register_engine(run.url, "engine-1", other.address, age_s=-3600)
    run.request(6, n=2)
    await (await open_worker()).work()
    assert (len(peers.inference.requests), len(other.inference.requests)) == (3, 3)
    await other.stop()


async def test_a_group_that_is_refused_does_not_hold_up_its_neighbours(run: Run, open_worker: Open) -> None:
    empty = {"environment": "sorting", "seed": 1, "item": None, "params": {"prompt": "", "answer": ""}}
    run.request(1, task=empty)
    run.request(3, first=1)
    await (await open_worker()).work()
    assert run.states() == ["requested", "ready", "ready", "ready"]
    refused = run.groups()[0]["refused"]
    assert refused.startswith("inference refuses: INVALID_ARGUMENT: requests.prompt_ids")


async def test_a_group_of_a_package_that_the_worker_lacks_is_refused_with_its_name(run: Run, open_worker: Open) -> None:
    run.request(1, packages={"acme-harnesses": "1.2", "pytest": "8"})
    run.request(1, first=1, packages={"pytest": "8"})
    await (await open_worker()).work()
    assert run.states() == ["requested", "ready"]
    assert run.groups()[0]["refused"] == (
        "the rollout worker lacks the package acme-harnesses 1.2: install it where this process runs")


async def test_a_group_whose_order_cannot_be_read_is_refused_and_others_go_on(run: Run, open_worker: Open) -> None:
    (broken, _) = run.request(2)
    with psycopg.connect(run.url) as connection:
        connection.execute("""UPDATE groups SET "order" = '{"n": "many"}' WHERE id = %s""", (broken,))
    await (await open_worker()).work()
    assert run.states() == ["requested", "ready"]
    assert run.groups()[0]["refused"] == "order.purpose: expected a value"


@pytest.mark.parametrize(("template", "reason"), [
    ("{% for a in range(99999) %}{% for b in range(99999) %}{% set c = b %}{% endfor %}{% endfor %}",
     "policy's tokenizer refuses: chat_template: it did not finish within 0.3 s on a conversation of 5 characters"),
    ("{% if %}", "policy's tokenizer refuses: chat_template: Expected an expression, got 'end of statement block'"),
], ids=["loops", "syntax error"])
async def test_a_template_that_cannot_be_used_refuses_its_groups_and_another_run_goes_on(
        run: Run, settings: Settings, open_worker: Open, monkeypatch: pytest.MonkeyPatch, template: str,
        reason: str) -> None:
    monkeypatch.setattr("services.rollout.tokenizers.LIMIT_S", 0.3)
    store = objects.connect(settings.objects_url)
    other = add_run(run.url, store, template=template)
    other.request(2)
    run.request(2)
    await (await open_worker()).work()
    assert run.states() == ["ready"] * 2
    assert [group["refused"] for group in other.groups()] == [reason] * 2


async def test_a_group_that_raises_an_error_is_recorded_and_tried_later(run: Run, open_worker: Open) -> None:
    run.request(1, task={"seed": 1})
    run.request(2, first=1)
    await (await open_worker(sweep_s=5)).work()
    groups = run.groups()
    assert [group["state"] for group in groups] == ["requested", "ready", "ready"]
    assert groups[0]["claim_expires"] is not None
    events = every(run.url, "SELECT kind, message FROM events WHERE run_id = %(id)s", id=run.run_id)
    assert [(event["kind"], event["message"]) for event in events] == [
        ("rollout.failed", "train/0, attempt 1: KeyError: 'environment'")]


async def test_a_group_that_raises_an_error_again_and_again_is_refused_with_it(run: Run, open_worker: Open) -> None:
    (group,) = run.request(1, task={"seed": 1})
    with psycopg.connect(run.url) as connection:
        connection.execute("UPDATE groups SET attempt = 5 WHERE id = %s", (group,))
    await (await open_worker(sweep_s=5)).work()
    assert run.groups()[0]["refused"] == "6 attempts failed, the last one with KeyError: 'environment'"


async def test_the_line_that_tells_of_a_failed_group_says_whose(
        run: Run, open_worker: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[dict[str, Any]] = []
    handler = logging.Handler()
    monkeypatch.setattr(handler, "emit", lambda record: lines.append(json.loads(logs.JsonLines().format(record))))
    monkeypatch.setattr(logging.getLogger("services.rollout.worker"), "handlers", [handler])

    async def broken(*_: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(Groups, "run", broken)
    run.request(1)
    await (await open_worker()).work()
    line = next(line for line in lines if "exception" in line)
    assert line["run_id"] == run.run_id
    assert [line["group_id"]] == line["group_ids"]
