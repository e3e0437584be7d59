"""Two adapters of different form on one base: one trainer trains both and one engine serves both at the same time."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import safetensors.numpy

from hone.client.errors import Refused
from tests.acceptance import toy
from tests.acceptance.scene import Scene, wait_for

STEPS = 24
FORMS: dict[str, dict[str, Any]] = {
    "wide": {"rank": 16, "alpha": 32.0},
    "narrow": {"rank": 4, "alpha": 16.0, "targets": ["q_proj", "v_proj", "down_proj", "up_proj"]},
}


@pytest.fixture(scope="module")
def base(bases: Callable[..., Path]) -> Path:
    return bases(steps=90, careless=0.5)


@pytest.fixture(scope="module")
def scene(plain: Scene, base: Path) -> Scene:
    plain.client.upload_model("adapters-base", base)
    return plain


@pytest.fixture(scope="module")
def runs(scene: Scene) -> dict[str, str]:
    """Ids of two finished runs that trained at the same time, by form."""
    ids = {name: scene.client.create_run(spec(name, form)).id for name, form in FORMS.items()}
    wait_for("steps of both", lambda: min(scene.committed(run_id) for run_id in ids.values()) >= 5, 60)
    assert max(scene.committed(run_id) for run_id in ids.values()) < STEPS, "they are trained at the same time"
    for run_id in ids.values():
        scene.finished(run_id)
    return ids


def spec(name: str, form: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return toy.spec(name, "adapters-base", changes.pop("steps", STEPS), **{
        "model": {"base": "adapters-base", "kind": "lora", "lora": form}, "batch": {"prompts": 32, "samples": 8},
        "optimizer": {"lr": 4e-3}, "eval": {"prompts": 64, "every": STEPS}, **changes})


def test_both_learn_from_the_same_engine_and_trainer(scene: Scene, runs: dict[str, str]) -> None:
    for name, run_id in runs.items():
        series = {key: [value for _, value in found] for key, found in scene.client.metrics(run_id).series.items()}
        first, last = fmean(series["reward/mean"][:4]), fmean(series["reward/mean"][-4:])
        print(f"{name}: {first:.3f} -> {last:.3f}")
        assert last >= first + 0.1, name
        assert max(series["gap/mean"]) < 1e-4, "the engine samples from the adapter in training"
    rows = scene.rows("SELECT engine_id, loads FROM engine_models WHERE model_id IN (SELECT policy_model_id FROM runs "
                      "WHERE id = ANY (%s))", list(runs.values()))
    assert [row["engine_id"] for row in rows] == ["inference-0"] * 2
    assert min(row["loads"] for row in rows) > STEPS // 2


def test_a_version_stores_its_adapter_and_shares_its_base(scene: Scene, runs: dict[str, str]) -> None:
    keys = set()
    for run_id in runs.values():
        manifests = [row["manifest"]["files"] for row in scene.rows(
            "SELECT v.manifest FROM versions v JOIN runs r ON r.policy_model_id = v.model_id "
            "WHERE r.id = %s AND v.number > 0", run_id)]
        keys |= {files["model.safetensors"]["key"] for files in manifests}
        assert len({files["adapter_model.safetensors"]["sha256"] for files in manifests}) == STEPS
        assert len({files["adapter_config.json"]["key"] for files in manifests}) == 1
    assert len(keys) == 1, "one object holds the base of both"


def test_exports_load_in_stock_peft(scene: Scene, runs: dict[str, str], base: Path, tmp_path: Path) -> None:
    import peft
    import transformers
    for name, run_id in runs.items():
        export = scene.client.create_export(run_id)
        done: Any = wait_for("the export", partial(_ended, scene, export.id), 120)
        assert done.state == "done", done.reason
        assert (done.max_abs_diff < 1e-4, done.compared_with) == (True, "probe")
        directory = tmp_path / name
        directory.mkdir()
        for file in done.files:
            (directory / file).write_bytes(scene.client.export_file(export.id, file))
        model = transformers.AutoModelForCausalLM.from_pretrained(base)
        loaded: Any = peft.PeftModel.from_pretrained(model, str(directory))
        assert loaded.peft_config["default"].r == FORMS[name]["rank"]
        tensors = safetensors.numpy.load_file(directory / "adapter_model.safetensors")
        assert any(tensor.any() for key, tensor in tensors.items() if "lora_B" in key)


def test_an_adapter_is_merged_where_a_whole_model_goes_on_from_it(scene: Scene, runs: dict[str, str]) -> None:
    run = scene.client.create_run(toy.spec(
        "whole", runs["wide"], 3, batch={"prompts": 32, "samples": 8}, eval={"prompts": 64, "every": 3}))
    scene.finished(run.id)
    before = scene.client.metrics(runs["wide"]).series["eval/greedy"][-1][1]
    series = scene.client.metrics(run.id).series
    assert series["eval/greedy"][0][1] == pytest.approx(before, abs=0.05)
    assert max(value for _, value in series["gap/mean"]) < 1e-4
    with pytest.raises(Refused, match=r"model\.base.*an adapter \(LoRA\)"):
        scene.client.create_run(spec("twice", FORMS["wide"], model={"base": runs["wide"], "kind": "lora"}))


def test_a_killed_trainer_goes_on_with_the_same_adapter_bit_for_bit(scene: Scene) -> None:
    steps = 16
    form = spec("undisturbed", FORMS["narrow"], steps=steps, eval=None, batch={"prompts": 8, "samples": 4})
    undisturbed = scene.client.create_run(form)
    scene.finished(undisturbed.id)
    disturbed = scene.client.create_run({**form, "name": "disturbed"})
    for step in (3, 9):
        wait_for(f"step {step}", partial(_has_committed, scene, disturbed.id, step), 60)
        scene.stack.kill("trainer-0")
        time.sleep(0.5)
        scene.stack.kill("inference-0")
    scene.finished(disturbed.id)
    assert scene.weights(disturbed.id) == scene.weights(undisturbed.id)
    assert len(set(scene.weights(disturbed.id))) == steps + 1


def _has_committed(scene: Scene, run_id: str, step: int) -> bool:
    return scene.committed(run_id) >= step


def _ended(scene: Scene, export_id: str) -> Any:
    export = scene.client.export(export_id)
    return export if export.state != "queued" else None
