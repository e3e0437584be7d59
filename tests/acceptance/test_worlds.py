"""A run that plays with the tools of an MCP server, which dies once and stalls once: none of that is a reward."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hone.models import toy
from hone.stack import ports
from hone.text.tokenizer import Tokenizer
from hone.trajectory.records import Call, Trajectory
from services.learner.trainer.learner import Learner
from tests.acceptance.scene import Scene, wait_for
from tests.acceptance.toy import supervised_plan
from tests.servers.children import Children

TAUGHT, STEPS, SHOWN = 60, 2, 16
CALL = "look: a"
SERVER = str(Path(__file__).parents[1] / "servers" / "mcp_shelf.py")


@pytest.fixture
def children(tmp_path: Path) -> Iterator[Children]:
    with Children(tmp_path) as children:
        yield children


def test_tools_of_an_mcp_server_are_played_and_its_death_and_silence_are_no_rewards(
    plain: Scene, children: Children, tmp_path: Path,
) -> None:
    """The server runs in a process of its own, with the real package, and is named by its address."""
    client, [port] = plain.client, ports.pick(1)
    client.upload_model("shelf-base", taught(tmp_path / "base"))
    rows = [{"prompt": f"{n}, what is at a?", "answer": "7"} for n in range(8)]
    client.upload_dataset("shelf-rows", "".join(json.dumps(row) + "\n" for row in rows).encode())
    client.put_judge("shelf", f"http://127.0.0.1:{port}/mcp", protocol="mcp", timeout_s=5)
    begin(children, port)
    (tmp_path / "die").touch()
    run = client.create_run(spec())
    wait_for("the server's end", lambda: not (tmp_path / "die").exists(), 60)
    (tmp_path / "stall").touch()
    children.restart("shelf")
    plain.finished(run.id)
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


def begin(children: Children, port: int) -> None:
    """Start the server, and wait until it answers."""
    children.start("shelf", [sys.executable, SERVER, str(port), str(children.directory)])
    children.wait("shelf", lambda: ports.answers(f"127.0.0.1:{port}"), timeout_s=60)


def spec() -> dict[str, Any]:
    return {
        "name": "shelf", "seed": 0, "model": {"base": "shelf-base"}, "steps": STEPS, "eval": None,
        "task": {"environment": "mcp", "dataset": "shelf-rows", "params": {"world": "shelf", "turns": 3}},
        "harness": {"name": "tool_loop", "params": {"syntax": "line", "describe": False}}, "algorithm": "grpo",
        "batch": {"prompts": 4, "samples": 4}, "sampling": {"max_tokens": 12}, "snapshot_every": STEPS}


def taught(directory: Path) -> Path:
    """Write a model that looks, and then says what it read or the wrong thing."""
    files = toy.files(0, hidden=64, ffn=256, heads=2, head_dim=32, vocab_size=128, symbols=toy.TEXT)
    tokenizer = Tokenizer({name: data for name, data in files.items() if name.endswith(".json")})
    learner = Learner.create(files, {"lr": 3e-3}, token_budget=65536)
    shown = [demonstration(tokenizer, place) for place in range(SHOWN)]
    for n in range(1, TAUGHT + 1):
        learner.forward_backward(supervised_plan(n), shown)
        learner.optim_step(3e-3, 1.0)
    directory.mkdir()
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


def call(tokenizer: Tokenizer, number: int, prompt_ids: list[int], text: str) -> Call:
    ids = [*tokenizer.encode(text), tokenizer.eos_id]
    return Call(number, prompt_ids, ids, [], "stop", [], text, [True] * len(ids), turn=number)
