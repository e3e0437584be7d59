"""A package's tools run in a real sandbox: a task is solved, and tools that loop or reach out fail."""

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

import grpc
import pytest
from psycopg.types.json import Jsonb

from hone import ids
from hone.api import simulation_pb2 as pb
from hone.api.simulation_pb2_grpc import SimulationServiceStub
from hone.api.trajectory_pb2 import Task
from hone.environments.packages import archive
from hone.environments.packages.package import Package
from hone.environments.synthesis.making import make_package
from hone.environments.tasks import content_hash, split_of
from hone.environments.tau2 import archive as domains
from hone.environments.tools import ToolCall
from hone.stack import ports
from hone.telemetry import logs
from tests.integration.reward.rows import Run, make_run
from tests.servers.service import refused_field, running
from tests.support.simulation.worlds import started, stepped
from tests.unit.environments.packages.shop import MANIFEST, SOURCE, shop
from tests.unit.environments.tau2.kiosk import kiosk

HOSTILE = '''
def open_file(db):
    open("/tmp/hone-was-here", "w").write("x")
    return open("/etc/hostname").read()


def connect(db):
    import socket
    return str(socket.create_connection(("127.0.0.1", 5432), timeout=1))


def half_a_pair(db):
    return chr(0xd800)


def nest(db):
    for _ in range(900):
        db["orders"]["W1"]["email"] = [db["orders"]["W1"]["email"]]


def end(db):
    db["orders"].clear()
    raise KeyboardInterrupt
'''
WRONG = ("slow", "open_file", "connect", "half_a_pair", "nest", "end")
LEAVING = '''
seen = []


def remember(db):
    seen.append(db.now)
    key = db.new_id("seen")
    db["orders"][key] = {"order_id": key, "email": db.new_id("mail"), "status": "paid", "total": len(seen)}
    return seen


def leave(db):
    raise SystemExit(0)
'''


@pytest.fixture(scope="module")
def simulation(postgres_url: str) -> Iterator[Any]:
    address = f"127.0.0.1:{ports.pick(1)[0]}"
    with (running("sandbox", HONE_SANDBOX_ADDRESS=address, HONE_SANDBOX_PLACES="1"),
          running("simulation", HONE_DATABASE_URL=postgres_url, HONE_SANDBOX_ADDRESS=address) as service):
        yield SimulationServiceStub(service.channel)


def with_tools(source: str, names: Sequence[str]) -> Package:
    return shop(source=SOURCE + source, manifest=MANIFEST.model_copy(update={"tools": [*MANIFEST.tools, *(
        MANIFEST.tools[0].model_copy(update={"name": name, "parameters": {}, "required": []}) for name in names)]}))


PACKAGE = with_tools(HOSTILE, WRONG)
SHARED = with_tools(LEAVING, ("remember", "leave", "slow", "broken"))


@pytest.fixture(scope="module")
def tenant(postgres_owner_url: str) -> Run:
    """Return a run, for its tenant, who has the package."""
    made = make_run(postgres_owner_url)
    put(made, "shop", PACKAGE)
    return made


def put(run: Run, name: str, package: Package) -> None:
    run.do("INSERT INTO packages (tenant_id, name, digest, version, facts, content) VALUES (%s, %s, %s, 1, %s, %s)",
           run.tenant_id, name, package.digest, Jsonb({}), archive.packed(package.files))


@pytest.mark.usefixtures("tenant")
def test_a_task_of_a_package_is_drawn_solved_and_scored_by_its_state(simulation: Any) -> None:
    drawn = simulation.DrawTasks(pb.DrawTasksRequest(
        environment="package", params_json=json.dumps({"package": PACKAGE.digest}),
        split=pb.SPLIT_TRAIN if split_of(_content()) == "train" else pb.SPLIT_HELD_OUT, count=1), timeout=60).tasks
    [session] = simulation.Reset(pb.ResetRequest(tasks=drawn), timeout=60).sessions
    for index, use in enumerate(PACKAGE.tasks[0].chain):
        taken = stepped(simulation, session, index, ToolCall(use.tool, use.arguments).action())
        assert taken.valid
    done = stepped(simulation, session, 2, "Your order is cancelled.")
    assert (done.done, json.loads(done.observation.item_json)["verified"]) == (True, 1.0)
    assert simulation.Verify(pb.VerifyRequest(session_id=session.session_id)).score == 1.0


@pytest.mark.usefixtures("tenant")
def test_tools_that_loop_reach_out_or_leave_what_no_state_holds_fail_and_the_episode_goes_on(simulation: Any) -> None:
    session = started(simulation, PACKAGE.digest)
    for index, name in enumerate(WRONG):
        taken = stepped(simulation, session, index, ToolCall(name, {}).action())
        assert taken.observation.messages[0].content.startswith("error: the tool failed: ")
        assert not taken.valid
    assert json.loads(taken.observation.item_json)["tool_failures"] == len(WRONG)
    assert stepped(simulation, session, len(WRONG), ToolCall("cancel_order", {"order_id": "W1"}).action()).effect


def test_steps_at_one_time_leave_what_they_leave_one_by_one(simulation: Any, tenant: Run) -> None:
    put(tenant, "shared", SHARED)
    tools = ("remember", "slow", "leave", *("remember", "broken", "remember", "cancel_order") * 4)
    actions = [ToolCall(tool, {"order_id": "W1"} if tool == "cancel_order" else {}).action() for tool in tools]
    with logs.about(tenant_id=tenant.tenant_id):
        sessions = [started(simulation, SHARED.digest) for _ in range(2 * len(actions))]
        alone = [stepped(simulation, one, 0, action) for one, action in zip(sessions, actions, strict=False)]
        batch = simulation.StepBatch(pb.StepBatchRequest(steps=[
            pb.StepRequest(session_id=one.session_id, index=0, action=action)
            for one, action in zip(sessions[len(actions):], actions, strict=True)]), timeout=120)
    found = [outcome.taken.SerializeToString(deterministic=True) for outcome in batch.outcomes]
    assert found == [one.SerializeToString(deterministic=True) for one in alone]
    for one in (alone[0], alone[3]):
        assert json.loads(one.observation.messages[0].content) == ["2026-01-01T08:00:00Z"], "it remembers one call"


def test_a_domain_is_played_in_the_sandbox_and_what_reaches_out_of_it_fails(simulation: Any, tenant: Run) -> None:
    tenant.do("INSERT INTO packages (tenant_id, name, digest, version, facts, content) VALUES (%s, %s, %s, 1, %s, %s)",
              tenant.tenant_id, "kiosk", kiosk().digest, Jsonb({"format": "tau2"}),
              domains.packed(kiosk().files, kiosk().found))
    task = Task(environment="tau2", params_json=json.dumps({"domain": kiosk().digest, "tasks": ["renew"]}))
    session = simulation.Reset(pb.ResetRequest(tasks=[task]), timeout=60).sessions[0]
    for index, (tool, message) in enumerate((
            ("leave", "Error: [Errno"), ("wait_for_ever", "Error: the tool failed: time_limit: "))):
        taken = stepped(simulation, session, index, ToolCall(tool, {}).action())
        assert taken.observation.messages[0].content.startswith(message)
    stepped(simulation, session, 2, ToolCall("renew", {"serial": "M200"}).action())
    done = stepped(simulation, session, 3, "It is renewed, for 49.50.")
    assert (done.done, json.loads(done.observation.item_json)["verified"]) == (True, 1.0)
    with pytest.raises(grpc.RpcError) as refused:
        started(simulation, kiosk().digest)
    assert "it is a domain of tau2 (environment: tau2)" in refused_field(refused.value)[1]


def test_a_package_that_is_not_there_is_refused_by_its_field(simulation: Any, tenant: Run) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        started(simulation, "f" * 64)
    field, message = refused_field(refused.value)
    assert (field, "the name or the digest of a package" in message) == ("tasks[0].params.package", True)
    assert tenant.tenant_id


def test_a_package_is_made_from_a_hint_proven_and_played(simulation: Any, tenant: Run) -> None:
    job = ended(tenant, asked(tenant, "a public library", 3, tasks=4))
    assert (job["state"], job["reason"]) == ("done", None)
    assert (job["report"]["dead_ends"], job["report"]["solvable"], job["report"]["tasks_accepted"]) == (0, 1.0, 4)
    session = started(simulation, job["digest"])
    tools = json.loads(session.observation.tools_json)
    assert len(tools) >= 8
    assert job["digest"] == make_package("a public library", 3, tasks=4).package.digest, "equal hints and seeds"


def test_a_hint_without_a_world_ends_with_the_reason_and_what_was_tried(tenant: Run) -> None:
    job = ended(tenant, asked(tenant, "...?!", 0))
    assert job["state"] == "failed"
    assert "the hint names nothing (tried: a known domain:" in job["reason"]


def test_a_job_of_the_seeded_generator_ends_in_its_time_too(tenant: Run) -> None:
    job = ended(tenant, asked(tenant, "a small hotel", 2**31 - 1, tasks=1024, within_s=1))
    assert (job["state"], job["reason"]) == ("failed", "its 1 s are over: the seeded generator was at work")


def asked(run: Run, hint: str, seed: int, tasks: int = 8, within_s: int = 600) -> str:
    made = ids.new("pkg")
    run.do("INSERT INTO package_jobs (id, tenant_id, name, hint, seed, tasks, within_s)"
           " VALUES (%s, %s, 'made', %s, %s, %s, %s)", made, run.tenant_id, hint, seed, tasks, within_s)
    return made


def ended(run: Run, job_id: str) -> dict[str, Any]:
    for _ in range(600):
        [job] = run.all("SELECT * FROM package_jobs WHERE id = %s", job_id)
        if job["state"] in ("done", "failed"):
            return job
        time.sleep(0.1)
    raise AssertionError(f"job {job_id} does not end: {job}")


def _content() -> str:
    return content_hash("package", {"package": PACKAGE.digest, "task": PACKAGE.tasks[0].id})
