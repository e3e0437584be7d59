"""Users that models speak for, an endpoint's and one of the tenant's: first words, refused ones, masked samples."""

import json
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from hone.client.resources import Trajectory
from hone.models import toy
from hone.users.prompts import GREETING, GUIDELINES
from tests.acceptance.scene import Scene
from tests.servers.judge import KEY, ScriptedJudge, listening
from tests.unit.environments.tau2.kiosk import FOLDER

STALL_S = 6.0
ENDPOINT = {"asked": {"user": {"endpoint": "customers", "max_tokens": 64}}}


@pytest.fixture(scope="module")
def customers() -> Iterator[ScriptedJudge]:
    with listening() as server:
        yield server


@pytest.fixture(scope="module")
def scene(plain: Scene, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    for seed, name in enumerate(["talker", "caller"]):
        plain.client.upload_model(name, toy.write(
            tmp_path_factory.mktemp(name), seed, hidden=32, ffn=64, layers=1, vocab_size=128,
            symbols=[*toy.TEXT, *GUIDELINES]))  # a token each: an engine of tests holds 512
    return plain


def user(persona: str, place: int = 0) -> dict[str, Any]:
    return {"prompt": f"It is about order {place}.", "goal": "I want to cancel my order.",
            "profile": {"id": persona, "persona": f"You are {persona}.", "turns": 2}, "knowledge": [
                {"name": "name", "value": "Ada Berg", "reveal": "opening"},
                {"name": "order", "value": "W1234", "form": "W9999", "asked": ["order number"]}]}


def words(system: str) -> str:
    """Say what is asked for, but at first leave the name out of the first words."""
    if "You are stubborn." in system:
        return "I am Ada Berg, and the order is W9999."
    if "You are silent." in system:
        time.sleep(STALL_S)
    if "leave, and end your message" in system:
        return "I have no more time. ###STOP###"
    if "Begin:" not in system:
        return "Can you help me with it?"
    return "Hi, I am Ada Berg, and I have ordered something." if "That is refused" in system else "Hi!"


def spec(name: str, dataset: str, **changes: Any) -> dict[str, Any]:
    return {
        "name": name, "seed": 0, "model": {"base": "talker"}, "algorithm": "grpo", "steps": 1,
        "task": {"environment": "dialogue", "dataset": dataset, "params": {
            "domain": "talk", "words": "model", "opening": "model"}},
        "batch": {"prompts": 9, "samples": 2}, "sampling": {"max_tokens": 4}, "snapshot_every": 1, "eval": None,
        **changes}


def samples(scene: Scene, run_id: str) -> list[Trajectory]:
    return [scene.client.trajectory(run_id, row.group_id, row.index)
            for row in scene.client.trajectories(run_id, limit=50).data]


@pytest.mark.timeout(300)
def test_an_endpoint_speaks_for_users_from_their_first_words_and_who_contradicts_or_stalls_is_masked(
    scene: Scene, customers: ScriptedJudge,
) -> None:
    client, customers.says = scene.client, words
    client.upload_dataset("callers", "".join(
        json.dumps(user(persona, place)) + "\n" for persona in ("hasty", "stubborn", "silent") for place in range(4)
    ).encode())
    client.put_secret("customers-key", KEY)
    client.put_judge("customers", customers.url, "customer-1", secret="customers-key", timeout_s=2, attempts=1)
    run = client.create_run(spec("talked-to", "callers", roles=ENDPOINT))
    assert scene.finished(run.id).state == "succeeded", "what is masked stops no run"
    by_persona: dict[str, list[Trajectory]] = {}
    for one in samples(scene, run.id):
        by_persona.setdefault(one.item["persona"], []).append(one)
    assert {persona: {(one.status, one.ended) for one in found} for persona, found in by_persona.items()} == {
        "hasty": {("ok", "done")}, "stubborn": {("infra_error", "refused")}, "silent": {("infra_error", "refused")}}
    for one in by_persona["hasty"]:
        check_words(one)
    assert all(len(one.calls) == 3 for one in by_persona["stubborn"]), "asked twice again"
    events = client.events(run.id, limit=200).data
    masked = " ".join(event.message for event in events if event.kind == "rollout.masked")
    assert "the user's model contradicted the user 3 times: it says 'W9999' for the order, which is not yours" in masked
    assert "customers gave no words for the role user" in masked


@pytest.mark.timeout(300)
def test_an_endpoint_plays_the_user_of_a_domain_with_tools_of_its_own_in_the_sandbox(
    scene: Scene, customers: ScriptedJudge,
) -> None:
    def script(last: str) -> str:
        if last == GREETING:
            return "My machine makes no coffee."
        if last.startswith("[your tool]"):
            return "It works. ###STOP###"
        return '<tool_call>{"name": "run_descaling", "arguments": {"minutes": 20}}</tool_call>'

    client, customers.script = scene.client, script
    client.put_secret("customers-key", KEY)
    client.put_judge("customers", customers.url, "customer-1", secret="customers-key", timeout_s=2, attempts=1)
    added = client.add_package("kiosk", FOLDER)
    run = client.create_run(spec(
        "served", "", roles=ENDPOINT, batch={"prompts": 1, "samples": 2},
        harness={"name": "dialogue", "params": {"describe": False}}, task={"environment": "tau2", "params": {
            "domain": "kiosk", "tasks": ["descale"], "words": "model", "show_policy": False}}))
    scene.finished(run.id)
    customers.script = None
    found = samples(scene, run.id)
    assert [(one.status, one.score, one.item["reason"], one.item["package"]) for one in found] == [
        ("ok", 1.0, "stop", added.digest)] * 2
    assert [call["role"] for call in found[0].calls] == ["user", "policy", "user", "user"]


def check_words(one: Trajectory) -> None:
    """Check who said what: refused first words, others, the policy's two texts, and the user's answers."""
    assert [call["role"] for call in one.calls] == ["user", "user", "policy", "user", "policy", "user"]
    assert [call["text"] for call in one.calls if call["role"] == "user"] == [
        "Hi!", "Hi, I am Ada Berg, and I have ordered something.", "Can you help me with it?",
        "I have no more time. ###STOP###"]
    assert {call["engine"] for call in one.calls if call["role"] == "user"} == {"customer-1"}
    assert [step["valid"] for step in one.steps][:2] == [False, True]
    assert one.item["refused"] == [{"words": "Hi!", "reason": "it does not say the name, as it has to"}]
    assert (one.item["reason"], one.score) == ("turns", 0.0)


def test_a_model_of_the_tenant_speaks_for_users_and_its_words_are_checked_as_well(scene: Scene) -> None:
    """Its weights are random: it never says a name, as some users have to. Of those who know nothing it says anything.
    """
    client = scene.client
    rows = [row for place in range(4) for row in (user("named", place), {**user("nameless", place), "knowledge": []})]
    client.upload_dataset("other-callers", "".join(json.dumps(row) + "\n" for row in rows).encode())
    run = client.create_run(spec("spoken-for", "other-callers", roles={"asked": {"user": {"model": "caller"}}},
                                 batch={"prompts": 6, "samples": 2}))
    scene.finished(run.id)
    found = samples(scene, run.id)
    named, nameless = ([one for one in found if one.item["persona"] == persona] for persona in ("named", "nameless"))
    assert {(one.status, one.ended, len(one.calls)) for one in named} == {("infra_error", "refused", 3)}
    versions = {span["version_id"] for one in found for call in one.calls if call["role"] == "user"
                for span in call["versions"]}
    policies = {span["version_id"] for one in nameless for call in one.calls if call["role"] == "policy"
                for span in call["versions"]}
    assert len(versions) == 1
    assert not versions & policies
    assert {one.calls[0]["role"] for one in nameless} == {"user"}


def test_an_endpoint_speaks_for_a_user_whose_state_changes(scene: Scene, customers: ScriptedJudge) -> None:
    def says(system: str) -> str:
        exposed = re.search(r"these very words: ([^.]*)", system)
        return f"Well, {exposed[1]}." if exposed else "Go on."

    customers.says = says
    life = {"variables": 2, "values": 2, "questions": 1, "required": 1, "periods": 1, "changes": 1, "rounds": 2}
    run = scene.client.create_run(spec(
        "changing", "", roles=ENDPOINT, batch={"prompts": 2, "samples": 2}, harness={"name": "remembering"},
        task={"environment": "changing_user", "params": {"words": "plain", "speech": "model", "life": life}}))
    scene.finished(run.id)
    for one in samples(scene, run.id):
        assert (one.status, one.ended) == ("ok", "done")
        said = [call["text"] for call in one.calls if call["role"] == "user"]
        heard = [message["content"] for step in one.steps for message in step["said"] if message["role"] == "user"]
        assert all(f"{text}\n" in heard for text in said)
        assert said[-1] == "Go on."
        assert ": " in said[0]
