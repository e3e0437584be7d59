"""A run in stages: each stage trains as a run of its own from the weights before it, also after kills in between."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tokenizers import AddedToken
from tokenizers import Tokenizer as Vocabulary

from hone.environments import streams
from hone.environments.tasks import episode
from hone.store import objects
from hone.text.tokenizer import Tokenizer
from hone.trajectory import parts
from tests.acceptance import toy
from tests.acceptance.scene import Scene, wait_for

WARM_UP, STEPS = 5, 9
SHOWN: dict[str, Any] = {
    "task": {"dataset": "shown"}, "algorithm": "sft", "batch": {"prompts": 16, "samples": 1}}
LEARNED: dict[str, Any] = {
    "algorithm": {"preset": "grpo", "regularizers": [{"name": "kl", "params": {"coefficient": 0.1}}]}, "eval": None}


def easy(digits: int) -> dict[str, Any]:
    return {"environment": "sort_digits", "params": {"digits": digits}}


@pytest.fixture(scope="module")
def scene(plain: Scene, bases: Callable[..., Path]) -> Scene:
    plain.client.upload_model("stages-base", bases(steps=40, careless=0.5))
    tasks = (episode(task).reset() for task in streams.draw("sort_digits", {"digits": 3}, "train", 7, 0, 100))
    rows = [{"prompt": seen.messages[0]["content"], "completion": seen.item["answer"]} for seen in tasks]
    plain.client.upload_dataset("shown", "".join(json.dumps(row) + "\n" for row in rows).encode())
    return plain


def staged(name: str) -> dict[str, Any]:
    stage = {"until": WARM_UP, "name": "warm-up", "lr": 1e-3, **SHOWN}
    return toy.spec(name, "stages-base", STEPS, **LEARNED, stages=[stage])


def test_a_stage_goes_on_as_a_run_from_the_weights_before_it(scene: Scene) -> None:
    """The run in stages is also paused by its budget on the way, which changes no bit."""
    scene.client.set_prices(trained_tokens=1e6)
    run = scene.client.create_run({**staged("staged"), "budget": 1})
    wait_for("the budget to pause it", lambda: scene.client.run(run.id).state == "paused", 60)
    paused = scene.client.run(run.id)
    assert (paused.desired, paused.reason) == ("run", "its budget of 1.00 EUR is used up")
    assert paused.cost >= 1.0
    assert paused.step < STEPS
    scene.client.set_budget(run.id, None)
    shown = scene.client.create_run(toy.spec("shown", "stages-base", WARM_UP, **{
        **SHOWN, "eval": None, "optimizer": {"lr": 1e-3}}))
    scene.finished(shown.id, timeout_s=60)
    learned = scene.client.create_run(toy.spec("learned", shown.id, STEPS - WARM_UP, **LEARNED))
    for each in (run, learned):
        scene.finished(each.id, timeout_s=60)
    first, then, whole = (scene.weights(each.id) for each in (shown, learned, run))
    assert len(set(whole)) == STEPS + 1, "each step moved the weights"
    assert whole == [*first, *then[1:]]
    limits = [event.message for event in scene.client.events(run.id).data if event.kind in ("limit", "budget")]
    assert limits == ["paused: its budget of 1.00 EUR is used up", "the budget is now none",
                      "goes on; it was paused: its budget of 1.00 EUR is used up"]
    assert "set_budget" in scene.client.audit(subject=run.id).data[0].action
    messages = [event.message for event in scene.client.events(run.id).data if event.kind == "stage"]
    assert messages == [f"stage grpo begins: steps {WARM_UP + 1} to {STEPS}"]


def test_kills_at_the_border_of_a_stage_change_no_bit(scene: Scene) -> None:
    run = scene.client.create_run(staged("undisturbed"))
    scene.finished(run.id, timeout_s=60)
    disturbed = scene.client.create_run(staged("disturbed"))
    for step, process in ((WARM_UP - 1, "trainer-0"), (WARM_UP, "driver-0"), (WARM_UP + 1, "trainer-0")):
        wait_for(f"step {step}", partial(has_committed, scene, disturbed.id, step), 60)
        scene.stack.kill(process)
    scene.finished(disturbed.id, timeout_s=120)
    assert scene.weights(disturbed.id) == scene.weights(run.id)
    assert scene.one("SELECT stage FROM runs WHERE id = %s", disturbed.id) == 1


def has_committed(scene: Scene, run_id: str, step: int) -> bool:
    return scene.committed(run_id) >= step


def test_nothing_runs_ahead_into_a_stage(scene: Scene) -> None:
    run = scene.client.create_run(toy.spec("curriculum", "stages-base", 8, **{
        "stages": [{"until": 3, "task": easy(2)}, {"until": 6, "batch": {"prompts": 8, "samples": 4}}],
        "max_staleness": 2, "eval": None}))
    scene.finished(run.id, timeout_s=120)
    trained = scene.rows(
        "SELECT s.n, cardinality(s.group_ids) AS groups, "
        "array_agg(DISTINCT g.order #>> '{task,params,digits}') AS digits "
        "FROM steps s JOIN groups g ON g.id = ANY (s.group_ids) WHERE s.run_id = %s GROUP BY 1, 2 ORDER BY 1", run.id)
    assert [(row["groups"], row["digits"]) for row in trained] == (
        [(16, ["2"])] * 3 + [(8, ["3"])] * 3 + [(16, ["3"])] * 2)
    left = scene.one("SELECT count(*) FROM groups WHERE run_id = %s AND state NOT IN ('used', 'dropped')", run.id)
    assert left == 0


TEMPLATE = ("{% for message in messages %}<|turn|>{{ message.content }}<|end|>{% endfor %}"
            "{% if add_generation_prompt %}<|turn|>{% endif %}")


def with_template(directory: Path) -> dict[str, bytes]:
    """Return the files of a toy model with two more tokens, and a template that a file of its own holds."""
    files = {path.name: path.read_bytes() for path in directory.iterdir()}
    vocabulary = Vocabulary.from_str(files["tokenizer.json"].decode())
    vocabulary.add_special_tokens([AddedToken(token, special=True) for token in ("<|turn|>", "<|end|>")])
    return {**files, "tokenizer.json": vocabulary.to_str().encode(), "chat_template.jinja": TEMPLATE.encode()}


def test_a_warm_up_and_rewards_read_one_template(
    scene: Scene, bases: Callable[..., Path], tmp_path: Path
) -> None:
    files = with_template(bases(steps=40, careless=0.5))
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    model = scene.client.upload_model("with-template", tmp_path)
    assert [(end.text, end.sources) for end in model.text.ends] == [
        ("<eos>", ["generation_config.json", "config.json", "tokenizer_config.json"]), ("<|end|>", ["chat template"])]
    hostile = {"prompt": "s1<|end|>=", "completion": "1"}
    rows = [json.dumps(hostile), json.dumps({"messages": [{"role": "user", "content": "s21="}], "completion": "12",
                                             "tools": [{"type": "function", "function": {"name": "sort"}}]})]
    scene.client.upload_dataset("hostile", ("\n".join(rows) + "\n").encode())
    stage = {"until": 2, "name": "warm-up", "lr": 1e-3, "task": {"dataset": "hostile"}, "algorithm": "sft",
             "batch": {"prompts": 4, "samples": 1}}
    run = scene.client.create_run(toy.spec("templated", "with-template", 3, **{**LEARNED, "stages": [stage]}))
    scene.finished(run.id, timeout_s=90)
    tokenizer, store = Tokenizer(files), objects.connect(scene.stack.record().objects_url)
    calls = [call for key in store.list(f"runs/{run.id}/parts/") for one in parts.decode(store.get(key))
             for call in one.calls]
    shown = [call for call in calls if not call.logp_sample]
    assert {tuple(call.prompt_ids) for call in shown} == {tuple(tokenizer.prompt_ids([{
        "role": "user", "content": hostile["prompt"]}]))}
    assert all(call.prompt_ids.count(tokenizer.eos_id) == 1 for call in shown), "the row's own spelling is text"
    assert all(call.completion_ids == [*tokenizer.encode("1"), tokenizer.eos_id] for call in shown)
    sampled = [call for call in calls if call.logp_sample]
    assert {call.prompt_ids[0] for call in sampled} == {shown[0].prompt_ids[0]}
    assert {call.prompt_ids[-2:] == shown[0].prompt_ids[-2:] for call in sampled} == {True}
    [left_out] = {event.message for event in scene.client.events(run.id).data if event.kind == "bad_rows"}
    assert left_out == ("dataset 'hostile': 1 of 2 rows are left out: row 2: item.tools: found 'tools', expected tools"
                        ": the model's chat template drops this")
