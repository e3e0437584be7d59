"""Runs in worlds: with the tools of an MCP server, which dies once and stalls once; with what another run learned."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hone.cli.main import app
from hone.client.resources import Run
from hone.models import toy
from hone.stack import ports
from hone.text.tokenizer import Tokenizer
from hone.trajectory.records import Call, Trajectory
from services.learner.trainer.learner import Learner
from tests.acceptance.scene import Scene, wait_for
from tests.acceptance.toy import supervised_plan
from tests.servers.children import Children

TAUGHT, STEPS, SHOWN = 60, 2, 16
CALL, ASKED, LEARNED = "look: a", "what holds?", "rule: look first"
SERVER = str(Path(__file__).parents[1] / "servers" / "mcp_shelf.py")


@pytest.fixture(scope="module")
def scene(plain: Scene, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    plain.client.upload_model("worlds-base", taught(tmp_path_factory.mktemp("base")))
    return plain


@pytest.fixture
def children(tmp_path: Path) -> Iterator[Children]:
    with Children(tmp_path) as children:
        yield children


def test_tools_of_an_mcp_server_are_played_and_its_death_and_silence_are_no_rewards(
    scene: Scene, children: Children, tmp_path: Path,
) -> None:
    """The server runs in a process of its own, with the real package, and is named by its address."""
    client, [port] = scene.client, ports.pick(1)
    rows = [{"prompt": f"{n}, what is at a?", "answer": "7"} for n in range(8)]
    client.upload_dataset("shelf-rows", "".join(json.dumps(row) + "\n" for row in rows).encode())
    client.put_judge("shelf", f"http://127.0.0.1:{port}/mcp", protocol="mcp", timeout_s=5)
    begin(children, port)
    (tmp_path / "die").touch()
    run = client.create_run(spec())
    wait_for("the server's end", lambda: not (tmp_path / "die").exists(), 60)
    (tmp_path / "stall").touch()
    children.restart("shelf")
    scene.finished(run.id)
    assert not (tmp_path / "stall").exists()
    samples = client.trajectories(run.id, limit=100).data
    masked = [one for one in samples if one.status != "ok"]
    assert [one.status for one in masked] == ["infra_error"], "the call that stalled; those of the dead were repeated"
    [said] = [event.message for event in client.events(run.id, limit=500).data if event.kind == "rollout.masked"]
    assert "the tool look of the MCP server shelf gave no answer within 5 s" in said
    whole = [client.trajectory(run.id, one.group_id, one.index) for one in samples if one.status == "ok"]
    looked = [one for one in whole if one.calls[0]["text"] == CALL]
    assert looked
    for one in looked:
        assert json.loads(one.steps[0]["action"]) == {"tool": "look", "arguments": {"at": "a"}}
        assert one.steps[0]["said"] == [{"role": "tool", "content": "7\n"}]
        assert one.score == float(one.calls[-1]["text"] == "7")


def test_what_a_run_learned_of_a_world_is_saved_and_read_by_another_run(
    scene: Scene, monkeypatch: pytest.MonkeyPatch,
) -> None:
    learner = scene.client.create_run(mapping("learner", knowledge="build", rounds=1, **dict.fromkeys(
        ("analyse", "attempt", "reflect", "distill"), ASKED)))
    scene.finished(learner.id)
    record = scene.stack.record()
    monkeypatch.setenv("HONE_URL", record.gateway_url)
    monkeypatch.setenv("HONE_API_KEY", record.api_key)
    saved = CliRunner().invoke(app, ["knowledge", "save", "shelves", learner.id])
    assert saved.exit_code == 0, saved.output
    stored = scene.client.knowledge("shelves")
    assert (stored.environment, stored.run_id, stored.step) == ("hidden_shelf", learner.id, 1)
    assert "look first" in {item.text for item in scene.client.knowledge_items("shelves").data}
    reader = scene.client.create_run(mapping("reader", store="shelves@1", budget=0))
    scene.finished(reader.id)
    found = list(first_calls(scene, reader))
    assert len(found) == 8
    for prompt, note in found:
        assert note["texts"] >= 1
        assert "What is known of this environment:\nRules:\n- look first" in prompt


def mapping(name: str, **params: Any) -> dict[str, Any]:
    return {
        "name": name, "seed": 0, "model": {"base": "worlds-base"}, "steps": 1, "eval": None,
        "task": {"environment": "hidden_shelf", "params": {"places": 2, "turns": 2}},
        "harness": {"name": "map_then_act", "params": params}, "algorithm": "grpo",
        "batch": {"prompts": 4, "samples": 2}, "sampling": {"max_tokens": 20}, "snapshot_every": 1}


def first_calls(scene: Scene, run: Run) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the prompt of each sample's first call, and what it noted of the knowledge that it had."""
    for row in scene.client.trajectories(run.id).data:
        one = scene.client.trajectory(run.id, row.group_id, row.index)
        tokens = scene.client.trajectory_tokens(run.id, row.group_id, row.index)
        yield "".join(tokens.calls[0].prompt), one.calls[0]["notes"]["knowledge"]


def begin(children: Children, port: int) -> None:
    """Start the server, and wait until it answers."""
    children.start("shelf", [sys.executable, SERVER, str(port), str(children.directory)])
    children.wait("shelf", lambda: ports.answers(f"127.0.0.1:{port}"), timeout_s=60)


def spec() -> dict[str, Any]:
    return {
        "name": "shelf", "seed": 0, "model": {"base": "worlds-base"}, "steps": STEPS, "eval": None,
        "task": {"environment": "mcp", "dataset": "shelf-rows", "params": {"world": "shelf", "turns": 3}},
        "harness": {"name": "tool_loop", "params": {"syntax": "line", "describe": False}}, "algorithm": "grpo",
        "batch": {"prompts": 4, "samples": 4}, "sampling": {"max_tokens": 12}, "snapshot_every": STEPS}


def taught(directory: Path) -> Path:
    """Write a model that looks, and then says what it read or the wrong thing."""
    files = toy.files(0, hidden=64, ffn=256, heads=2, head_dim=32, vocab_size=128, symbols=toy.TEXT)
    tokenizer = Tokenizer({name: data for name, data in files.items() if name.endswith(".json")})
    learner = Learner.create(files, {"lr": 3e-3}, token_budget=65536)
    shown = [demonstration(tokenizer, place) for place in range(SHOWN)]
    shown += [lesson(tokenizer, SHOWN + place) for place in range(SHOWN // 2)]
    for n in range(1, TAUGHT + 1):
        learner.forward_backward(supervised_plan(n), shown)
        learner.optim_step(3e-3, 1.0)
    for name, data in {**files, "model.safetensors": learner.weights()}.items():
        (directory / name).write_bytes(data)
    return directory


def demonstration(tokenizer: Tokenizer, place: int) -> Trajectory:
    asked = [{"role": "user", "content": f"{place % 8}, what is at a?"}]
    first = call(tokenizer, 0, tokenizer.prompt_ids(asked), CALL)
    read = tokenizer.next_prompt_ids(asked, first.prompt_ids, first.completion_ids, [
        {"role": "tool", "content": "7\n"}])
    second = call(tokenizer, 1, read, "7" if place // 8 % 2 else "3")
    return Trajectory(0, 0, place, {}, "", {}, [first, second], [], "ok", None, None)


def lesson(tokenizer: Tokenizer, place: int) -> Trajectory:
    asked = tokenizer.prompt_ids([{"role": "user", "content": ASKED}])
    return Trajectory(0, 0, place, {}, "", {}, [call(tokenizer, 0, asked, LEARNED)], [], "ok", None, None)


def call(tokenizer: Tokenizer, number: int, prompt_ids: list[int], text: str) -> Call:
    ids = [*tokenizer.encode(text), tokenizer.eos_id]
    return Call(number, prompt_ids, ids, [], "stop", [], text, [True] * len(ids), turn=number)
