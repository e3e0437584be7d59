"""All ways in which the CPU build was seen to lose new weights silently: the probe finds them, the engine recovers.

Each test disables the precaution against a defect. One test shows that vLLM's own check does not help.
"""

import gc
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM
from vllm.distributed.parallel_state import cleanup_dist_env_and_memory

from hone.models import probe as probes
from hone.models.checkpoint import read_weights
from hone.models.probe import Gap, Probe
from services.inference.takeover import EXACT, Action, take_over
from services.inference.vllm import scoring
from services.inference.vllm.core import Core
from services.inference.vllm.engine import VllmEngine
from services.inference.vllm.transfer import host_memory
from tests.vllm.engines import SETTINGS, checkpoint, drain, offered, policy, request, serving, version

Patch = pytest.MonkeyPatch


def nothing(*_: object) -> None:
    """Replace a precaution."""


@pytest.fixture
def engine() -> Iterator[VllmEngine]:
    with closing(serving(version("v0", 0))) as made:
        yield made


def answers_as(engine: VllmEngine, seed: int) -> float:
    """Return the largest difference between sampled log-probs and those of a seed's weights."""
    engine.submit(request("after", n=4))
    policy_ = policy(checkpoint(seed))
    worst = 0.0
    for made in drain(engine)["after"]:
        logp = probes.logp(policy_, [[23, 9, 6, 13, *made.ids]])[0][3:]
        worst = max(worst, *(abs(one - other) for one, other in zip(logp, made.logp, strict=True)))
    return worst


def test_weights_that_arrive_need_nothing_else(engine: VllmEngine) -> None:
    for number in (1, 2, 0):
        verdict = offered(engine, version(f"v{number}", number))
        assert verdict.action is Action.UPDATED
        assert verdict.gap is not None
        assert verdict.gap.largest < 1e-4
        assert answers_as(engine, number) < 1e-4


def test_a_tied_output_projection_that_keeps_its_old_copy_is_found_and_the_engine_built_anew(
    engine: VllmEngine, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(host_memory, "repack_tied_head", nothing)
    verdict = offered(engine, version("v1", 1))
    assert verdict.action is Action.REBUILT
    assert answers_as(engine, 1) < 1e-4


def test_an_untied_one_needs_no_repacking(monkeypatch: Patch) -> None:
    monkeypatch.setattr(host_memory, "repack_tied_head", nothing)
    with closing(serving(version("v0", 0, tied=False))) as engine:
        assert offered(engine, version("v1", 1, tied=False)).action is Action.UPDATED


def test_a_prefix_cache_that_outlives_its_weights_is_found(engine: VllmEngine, monkeypatch: Patch) -> None:
    monkeypatch.setattr(Core, "forget_prefixes", nothing)
    monkeypatch.setattr(VllmEngine, "salt", lambda _: "the same for every version")
    assert offered(engine, version("v1", 1)).action is Action.UPDATED, "under another salt than the first version"
    verdict = offered(engine, version("v2", 2))
    assert verdict.action is Action.REBUILT
    assert answers_as(engine, 2) < 1e-4


def test_a_prefix_cache_under_the_names_of_versions_needs_no_reset(engine: VllmEngine, monkeypatch: Patch) -> None:
    monkeypatch.setattr(Core, "forget_prefixes", nothing)
    for number in (1, 2):
        assert offered(engine, version(f"v{number}", number)).action is Action.UPDATED


def test_an_update_that_raises_in_the_middle_ends_in_an_engine_built_anew(
    engine: VllmEngine, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(host_memory, "initialize_layerwise_reload", nothing)  # as most recipes do
    assert offered(engine, version("v1", 1)).action is Action.REBUILT
    assert answers_as(engine, 1) < 1e-4


def test_wrong_weights_are_refused_and_the_version_before_goes_on(engine: VllmEngine) -> None:
    engine.submit(request("running", n=3, max_tokens=30))
    for _ in range(5):
        engine.step()
    wrong = version("v1", 1)
    mismatched = type(wrong)(wrong.id, wrong.model_id, wrong.checkpoint, None, "", wrong.tokenizer,
                             version("v2", 2).probe)
    verdict = offered(engine, mismatched)
    assert verdict.action is Action.REFUSED
    assert "nats from the trainer's log-probs" in verdict.reason
    assert engine.version_id == "v0"
    assert [made.versions for made in drain(engine)["running"]] == [[("v0", 30)]] * 3
    assert answers_as(engine, 0) < 1e-4


def test_checksums_of_packed_layers_do_not_change_and_are_not_used(engine: VllmEngine, monkeypatch: Patch) -> None:
    monkeypatch.setattr(host_memory, "repack_tied_head", nothing)
    before = checksums(engine)
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert empty in before.values(), "a packed layer hashes as nothing at all"
    verdict = offered(engine, version("v1", 1))
    assert verdict.action is Action.REBUILT, "the probe saw what is still wrong"
    packed = {name for name, digest in before.items() if digest == empty}
    assert {checksums(engine)[name] for name in packed} == {empty}, "though every one of those weights is another now"


def checksums(engine: VllmEngine) -> dict[str, str]:
    found: dict[str, str] = engine._core.llm.collective_rpc("compute_weight_checksums")[0]
    return found


class Experts:
    """A mixture of experts on a core. The service itself does not support this architecture."""

    tolerance = EXACT

    def __init__(self, core: Core) -> None:
        self._core = core
        self._made = 0

    def install(self, version: Any) -> None:
        self._core.update(version.tensors) if self._core.built else self.rebuild(version)
        self._made += 1

    def rebuild(self, version: Any) -> None:
        self._core.build(version)
        self._made += 1

    def gap(self, probe: Probe) -> Gap:
        return scoring.gap(probe, self._core.outputs(scoring.probe_prompts(probe), str(self._made), None))

    def requests_lost(self) -> None:
        """There are no other requests here."""


class ExpertsVersion:
    """Weights of stock transformers, with the probe of its forward."""

    def __init__(self, id: str, directory: Path, seed: int) -> None:
        torch.manual_seed(seed)
        sizes: dict[str, Any] = {
            "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2,
            "head_dim": 32, "intermediate_size": 96, "moe_intermediate_size": 48, "num_experts": 4,
            "num_experts_per_tok": 2, "vocab_size": 64, "max_position_embeddings": 512, "tie_word_embeddings": False,
            "norm_topk_prob": True}
        model: Any = Qwen3MoeForCausalLM(Qwen3MoeConfig(**sizes)).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(6 if parameter.dim() > 1 else 1)
        model.save_pretrained(directory / id)
        self.id, self._directory = id, directory / id
        self.tensors = read_weights((directory / id / "model.safetensors").read_bytes())
        self.probe = _stock_probe(model)

    def write(self, directory: Path) -> None:
        """Copy the files to the directory that the core reads."""
        directory.mkdir()
        for path in self._directory.iterdir():
            (directory / path.name).write_bytes(path.read_bytes())


def _stock_probe(model: Any) -> Probe:
    ids = torch.randint(0, 64, (3, 136), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        logp = model(ids).logits[:, :-1].log_softmax(-1).gather(2, ids[:, 1:, None]).squeeze(2)
    return Probe(ids.tolist(), logp.tolist())


@pytest.fixture
def fresh_groups() -> Iterator[None]:
    """Let vLLM make new process groups: experts need other groups than dense models."""
    cleanup_dist_env_and_memory()
    yield
    cleanup_dist_env_and_memory()
    gc.freeze()  # it thawed what `thrift` had frozen


@pytest.mark.usefixtures("fresh_groups")
def test_experts_that_come_out_shuffled_are_found_and_the_engine_built_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.inference.vllm.core._with_rope_written_out", lambda made: made)  # stock files
    core = Core(SETTINGS, False)
    holder = Experts(core)
    core.users.append(holder)
    first, second = (ExpertsVersion(f"v{seed}", tmp_path, seed) for seed in (0, 1))
    assert take_over(holder, first, None).action is Action.UPDATED
    verdict = take_over(holder, second, first)
    assert verdict.action is Action.REBUILT
    assert verdict.gap is not None
    assert verdict.gap.largest < 1e-3
    core.leave(holder, "m")
