"""Hone grades by the rubrics of other packages, and those packages reward by Hone's graders."""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from hone import keys
from hone.client import Client
from hone.graders.responses import submission
from hone.stack import ports
from hone.store.database import Database
from tests.integration.gateway.conftest import Gateway, serve
from tests.integration.verifiers.conftest import Started, script, sent
from tests.servers.children import Children
from tests.servers.foreign_packages import KEY
from tests.servers.postgres import TestDatabase

pytestmark = pytest.mark.timeout(1200)  # the first test installs the packages
ROW = {"prompt": "two and two?", "expected": "4"}


@pytest.fixture(scope="module")
def gateway(postgres: TestDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    [port] = ports.pick(1)
    shared, home = {"HONE_REWARD_ADDRESS": f"127.0.0.1:{port}"}, tmp_path_factory.mktemp("rewarded")
    with Children(home) as children:
        children.start("reward", [sys.executable, "-m", "services.reward"], env={
            **os.environ, **shared, "HONE_DATABASE_URL": postgres.worker_url,
            "HONE_OBJECTS_URL": f"file://{home / 'objects'}"})
        gateway = serve(children, postgres, f"file://{home / 'objects'}", shared)
        children.wait("reward", lambda: ports.answers(f"127.0.0.1:{port}"), timeout_s=60)
        yield gateway


@pytest.fixture(scope="module")
def key(postgres: TestDatabase) -> str:
    database = Database(postgres.owner_url, size=1)
    try:
        return keys.create(database, "verifiers").secret
    finally:
        database.close()


@pytest.fixture(scope="module")
def hone(gateway: Gateway, key: str) -> Client:
    client = gateway.client(key)
    client.put_secret("verifiers", KEY)
    client.put_judge("nowhere", "http://127.0.0.1:9", protocol="verify", attempts=1)
    client.add_grader("sum", {"type": "numeric"})
    client.add_grader("lost", {"type": "verify_server", "server": "nowhere"})
    return client


@pytest.mark.parametrize(("name", "options", "reward", "components"), [
    ("taskset", ["--verifiers", "sums"], 1.5, {"right": 1.0, "brief": 1.0}),
    ("openenv", ["--openenv", "openenv_sums:Tree"], 1.0, {"rubric_0": 1.0, "rubric_1": 1.0})])
def test_a_grader_gives_the_reward_of_another_packages_rubric(
    hone: Client, served: Started, name: str, options: list[str], reward: float, components: Mapping[str, float],
) -> None:
    """Where the rubric fails the grade is masked, with what the rubric said."""
    hone.put_judge(name, served("current", *options), "v1", secret="verifiers", protocol="verify", attempts=1)
    grader = {"type": "verify_server", "server": name, "fields": {"answer": "expected"}, "range": [0.0, 1.5],
              "components": list(components)}
    found = hone.try_grader(grader, "<think>5?</think>It is 4", ROW)
    assert found.reward == reward
    assert found.sub_rewards.items() >= components.items()
    failed = hone.try_grader(grader, "RAISE", ROW)
    assert (failed.reward, failed.status, failed.error) == (None, "judge_error", "model_grader_server_error")
    assert "own defect" in failed.reasons[0]


def test_the_packages_reward_by_a_stored_grader(
    hone: Client, interpreters: Mapping[str, str], gateway: Gateway, key: str,
) -> None:
    """By the client of NeMo Gym that `verifiers` has, by a plugged reward, and by a rubric. A failure is an error."""
    assert hone.stored_grader("sum").name == "sum"
    found: dict[str, Any] = json.loads(script(interpreters["current"], "asks_hone", gateway.url, key))
    assert found["nemo_gym"] == [{"nemo_gym": 1.0}, {"nemo_gym": 0.0}]
    assert found["plugged"] == {"right": 1.0, "brief": 0.5, "hone": 2.0}
    assert found["openenv"] == [1.0, 0.0]
    kinds = [one.split(":")[0] for one in found["failed"]]
    assert kinds == ["TaskError", "TaskError", "Away"], found["failed"]


def test_a_stored_grader_is_served_for_clients_without_a_key(
    hone: Client, served: Started, gateway: Gateway, key: str,
) -> None:
    url = served("current", "--stored", "sum", HONE_VERIFIER_KEY="", HONE_URL=gateway.url, HONE_API_KEY=key)
    assert hone.stored_grader("sum").grader == {"type": "numeric"}
    assert sent(url, submission({**ROW, "answer": "4"}, "It is 4"), key="none").json()["reward"] == 1.0
    assert sent(url, submission(ROW, "It is 4"), key="none").status_code == 422, "the row has no answer"
