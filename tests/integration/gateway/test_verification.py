"""A stored grader as a resources server of NeMo Gym, on a gateway with a reward service; and a verify server asked."""

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from hone import keys
from hone.client import Client
from hone.client.errors import Away, HoneError, Refused
from hone.graders.responses import submission
from hone.stack import ports
from hone.store.database import Database
from tests.integration.gateway.conftest import Gateway, serve
from tests.servers.children import Children
from tests.servers.postgres import TestDatabase
from tests.servers.verifier import KEY, ScriptedVerifier, listening

pytestmark = pytest.mark.alone

NUMERIC: dict[str, Any] = {"type": "numeric"}
PARTS: dict[str, Any] = {"type": "weighted", "parts": {
    "right": {"grader": NUMERIC, "weight": 0.75}, "brief": {"grader": {"type": "exact"}, "weight": 0.25}}}
ROW = {"prompt": "two and two?", "answer": "4"}


@pytest.fixture(scope="module")
def gateway(postgres: TestDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    [port] = ports.pick(1)
    shared, home = {"HONE_REWARD_ADDRESS": f"127.0.0.1:{port}"}, tmp_path_factory.mktemp("verified")
    with Children(home) as children:
        children.start("reward", [sys.executable, "-m", "services.reward"], env={
            **os.environ, **shared, "HONE_DATABASE_URL": postgres.worker_url,
            "HONE_OBJECTS_URL": f"file://{home / 'objects'}"})
        gateway = serve(children, postgres, f"file://{home / 'objects'}", shared)
        children.wait("reward", lambda: ports.answers(f"127.0.0.1:{port}"), timeout_s=60)
        yield gateway


@pytest.fixture(scope="module")
def key(database: Database) -> str:
    return keys.create(database, "verified").secret


@pytest.fixture(scope="module")
def hone(gateway: Gateway, key: str) -> Client:
    client = gateway.client(key)
    for name, grader in (("sum", NUMERIC), ("parts", PARTS), ("whole", {"type": "each_call", "grader": NUMERIC})):
        client.add_grader(name, grader)
    return client


def test_a_submission_comes_back_with_its_reward_and_components(gateway: Gateway, hone: Client, key: str) -> None:
    sent = submission({**ROW, "id": 7}, "<think>5?</think>It is 4")
    with gateway.http(key) as http:
        found = http.post("/v1/graders/stored/parts/verify", json=sent).json()
        assert found == {**sent, "reward": 0.75, "reward_components": {"right": 1.0, "brief": 0.0}, "right": 1.0,
                         "brief": 0.0}
        assert http.post("/v1/graders/stored/sum/seed_session").json() == {}
        assert http.post("/v1/graders/stored/sum/seed_session", json={
            "resources_session_id": "s1", "task_data": {}}).json() == {"resources_session_id": "s1"}
        modes = [http.get(f"/v1/graders/stored/{name}/reverify_mode").json() for name in ("sum", "parts", "whole")]
    assert modes == ["stateless", "stateless", "unsupported"]
    assert hone.verify("sum", submission(ROW, "5")).reward == 0.0, "a wrong answer has a reward"


@pytest.mark.parametrize(("change", "field"), [
    ({"response": None}, "response"), ({"response": {}}, "response.output"), ({"response": {"output": ["4"]}},
                                                                             "response.output[0]"),
    ({"response": {"output": [{"type": "message", "content": [{"type": "output_text"}]}]}},
     "response.output[0].content[0].text"), ({"responses_create_params": []}, "responses_create_params"),
    ({"note": "a\0"}, "note"), ({"answer": None}, "answer")])
def test_what_is_no_submission_is_refused_with_the_field(hone: Client, change: dict[str, Any], field: str) -> None:
    with pytest.raises(Refused) as refused:
        hone.verify("sum", {**submission(ROW, "4"), **change})
    assert [one.field for one in refused.value.problems] == [field]


def test_there_is_no_reward_for_what_cannot_be_graded(hone: Client) -> None:
    """Nor one of a grader that reads what no submission holds, or of another tenant's."""
    with pytest.raises(Refused, match="a row that the grader can read"):
        hone.verify("sum", submission({"prompt": "two and two?"}, "4"))
    with pytest.raises(Refused, match="reads a whole conversation"):
        hone.verify("whole", submission(ROW, "4"))
    with pytest.raises(HoneError, match="no grader 'none'"):
        hone.verify("none", submission(ROW, "4"))


def test_a_verify_server_grades_and_its_failure_is_an_error(hone: Client) -> None:
    """The reward goes through two servers; where the second one fails, the first has no reward either."""
    with listening() as verifier:
        hone.put_secret("gym-key", KEY)
        made = hone.put_judge("gym", verifier.url, secret="gym-key", protocol="verify", attempts=1)
        assert (made.model, made.terms.protocol) == ("", "verify")
        hone.add_grader("gym", {"type": "verify_server", "server": "gym"})
        found = hone.verify("gym", submission(ROW, "4 VERIFY: reward 0.5"))
        assert (found.reward, found.reward_components) == (0.5, {"exact": 0.5, "format": 1.0})
        with pytest.raises(Away) as failed:
            hone.verify("gym", submission(ROW, "4 VERIFY: judge"))
        assert failed.value.document["grade"]["error"] == "model_grader_server_error"
        assert "reward" not in failed.value.document
        _expect_named_by_protocol(hone, verifier)


def _expect_named_by_protocol(hone: Client, verifier: ScriptedVerifier) -> None:
    """A run's grader names a server of the right protocol, before anything is sampled."""
    hone.put_judge("model", verifier.url, "m")
    with pytest.raises(Refused) as refused:
        hone.put_judge("bad", verifier.url)
    assert [one.field for one in refused.value.problems] == ["model"]
    for server, words in (("model", "a judge with the protocol verify"), ("nobody", "the name of a verify server")):
        with pytest.raises(Refused) as refused:
            hone.create_run({"name": "r", "model": {"base": "b"}, "task": {"environment": "sort_digits"}, "steps": 1,
                             "eval": None, "grader": {"type": "verify_server", "server": server}})
        assert words in str(refused.value)
    hone.put_judge("maze", verifier.url, protocol="openenv", secret="never-set")
    for world, words in (("model", "a judge with the protocol openenv"), ("maze", "hone secrets set never-set")):
        with pytest.raises(Refused) as refused:
            hone.create_run({"name": "r", "model": {"base": "b"}, "steps": 1, "eval": None,
                             "task": {"environment": "openenv", "params": {"world": world}}})
        assert words in {one.field: one.expected for one in refused.value.problems}["task.params.world"]
