"""A run answers OpenAI's client while it trains and afterwards, by each of its names, and is no worse for it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openai
import pytest
from typer.testing import CliRunner

from hone.cli.main import app
from tests.acceptance import toy
from tests.acceptance.scene import Scene, wait_for

STEPS = 12
ASK: dict[str, Any] = {"messages": [{"role": "user", "content": "sort 3 1 2"}], "max_tokens": 60, "seed": 3}


@pytest.fixture
def client(plain: Scene) -> Any:
    record = plain.stack.record()
    return openai.OpenAI(base_url=f"{record.gateway_url}/v1", api_key=record.api_key, max_retries=0, timeout=60)


def test_a_run_answers_while_it_trains_and_by_its_steps_afterwards(
    plain: Scene, client: Any, bases: Callable[..., Path]
) -> None:
    plain.client.upload_model("asked", bases(steps=90, careless=0.5))
    run = plain.client.create_run(toy.spec("asked-run", "asked", STEPS))
    wait_for("a step", lambda: plain.committed(run.id), 120)
    seen = set[int]()
    while plain.client.run(run.id).state == "running":
        chunks = list(client.chat.completions.create(model="asked-run@latest", stream=True, **ASK))
        assert chunks[-1].choices[0].finish_reason in ("stop", "length")
        seen.add(chunks[-1].choices[0].policy_version)
        before = client.chat.completions.create(model=f"{run.id}@0", **ASK)
        assert before.choices[0].policy_version == 0
    plain.finished(run.id)
    assert len(seen) > 1, "later answers are those of later versions"
    newest = client.chat.completions.create(model=run.id, **ASK)
    assert newest.choices[0].policy_version == STEPS
    assert newest.system_fingerprint == plain.client.run(run.id).version_id
    named = [client.chat.completions.create(model=name, **ASK).choices[0].message.content for name in (
        f"asked-run@{STEPS}", str(newest.system_fingerprint))]
    assert named == [newest.choices[0].message.content] * 2
    base = client.chat.completions.create(model="asked", **ASK).choices[0].message.content
    assert base == client.chat.completions.create(model=f"{run.id}@0", **ASK).choices[0].message.content
    for wrong in (f"asked-run@{STEPS + 1}", "asked-run@soon", "nothing@latest", "ver_nothing"):
        with pytest.raises(openai.NotFoundError):
            client.chat.completions.create(model=wrong, **ASK)
    _expect_models(plain, client, run.id, str(newest.system_fingerprint))
    used = plain.client.usage(by="key").data
    assert any(one.amounts.get("prompt_tokens") for one in used if one.id), "tokens of answers are counted to the key"


def _expect_models(plain: Scene, client: Any, run_id: str, version_id: str) -> None:
    """Expect the run among the models, in each page of one, and under each of its names."""
    listed = {model.id: model for model in client.models.list()}
    assert (listed[run_id].name, listed[run_id].number, listed[run_id].version_id) == ("asked-run", STEPS, version_id)
    found, more = list[str](), True
    while more:
        page = client.models.list(extra_query={"limit": 1, **({"after": found[-1]} if found else {})})
        found, more = found + [model.id for model in page.data], page.model_extra["has_more"]
    assert found == list(listed)
    assert run_id not in {model.id for model in plain.client.models().data}, "runs start from registered models"
    for name in (run_id, "asked-run", "asked-run@latest"):
        assert client.models.retrieve(name).id == run_id
    assert client.models.retrieve("asked-run@0").number == 0
    assert client.models.retrieve(f"ft:asked:me:first:{run_id}").id == run_id
    assert client.models.retrieve(f"ft:asked:::{run_id}:ckpt-step-{STEPS}").number == STEPS
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve(f"ft:other:me:first:{run_id}")
    assert client.models.retrieve(version_id).id == version_id
    with pytest.raises(openai.NotFoundError) as refused:
        client.models.retrieve(f"asked-run@{STEPS + 1}")
    assert refused.value.code == "model_not_found"


def test_a_model_that_was_asked_can_be_deleted_with_its_run(
    plain: Scene, client: Any, bases: Callable[..., Path]
) -> None:
    plain.client.upload_model("asked-once", bases(steps=90, careless=0.5))
    client.chat.completions.create(model="asked-once", **ASK)
    plain.client.delete_model("asked-once")
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(model="asked-once", **ASK)
    wait_for("the end of the deletion", lambda: plain.client.deletion("asked-once").state == "deleted", 60)


def test_a_route_is_judged_by_runs_that_grade_its_candidates(
    plain: Scene, client: Any, bases: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plain.client.upload_model("good", bases())
    plain.client.upload_model("poor", bases(steps=90, careless=0.5))
    plain.client.put_route("sorters", [{"model": "poor", "cost": 1}, {"model": "good", "cost": 4}], weight=0.9)
    digits = [f"{7 * number % 1000:03d}" for number in range(60)]
    rows = [{"prompt": f"s{one}=", "answer": "".join(sorted(one))} for one in digits]
    plain.client.upload_dataset("held-out", "\n".join(map(json.dumps, rows)).encode())
    record = plain.stack.record()
    monkeypatch.setenv("HONE_URL", record.gateway_url)
    monkeypatch.setenv("HONE_API_KEY", record.api_key)
    (tmp_path / "grader.json").write_text('{"type": "exact"}')
    shown = CliRunner().invoke(app, [
        "route", "evaluate", "sorters", "--dataset", "held-out", "--grader", str(tmp_path / "grader.json"),
        "--prompts", "60", "--samples", "2", "--max-tokens", "6", "--out", str(tmp_path / "curve.svg")])
    assert shown.exit_code == 0, shown.output
    assert "hone/sorters over 60 prompts" in shown.output
    assert (tmp_path / "curve.svg").read_text().count("<path") > 10
    found = plain.client.route_evaluation("sorters")
    poor, good = found.candidates
    assert (poor.rows, good.rows) == (60, 60)
    assert poor.quality < good.quality == found.largest
    assert [one.setting for one in found.curves["random"]] == ["poor", "good"]
    half, by_chance = found.half["router"], found.half["random"]
    assert half is not None
    assert by_chance is not None
    assert poor.quality < by_chance < good.quality
    answer = client.chat.completions.create(model="hone/sorters", **ASK)
    considered = {one.model: one for one in plain.client.decisions("sorters").data[0].considered}
    assert considered["good"].rows == 60, "graded answers are outcomes of the model"
    assert answer.model in considered
