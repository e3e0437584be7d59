"""Promise 5 on the native engine: the probe finds wrong weights, which are never served."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from hone.models import probe
from hone.models.policy import Policy
from hone.models.probe import Gap, Probe
from services.inference.native.engine import FusedVersion, NativeEngine
from services.inference.native.weights import Weights, fuse
from services.inference.takeover import Action, ProbeRefused, Tolerance, Verdict, take_over
from tests.unit.inference.engines import checkpoint, drain, engine, measured, request, stock, tokenizer

PROMPT = [5, 9, 11, 30, 8]


def version(id: str, seed: int) -> FusedVersion:
    """Return a version with the probe that its trainer stores."""
    made = checkpoint(stock("qwen3", seed))
    expected = probe.expected(Policy(made.architecture, made.tensors))
    return FusedVersion(id, fuse(made), tokenizer(), Probe.from_json(expected.to_json()), made)


def offered(served: NativeEngine, next_one: FusedVersion) -> Verdict:
    """Offer a version, step, and return the verdict."""
    verdicts = list[Verdict]()
    served.offer(next_one, verdicts.append)
    served.step()
    (verdict,) = verdicts
    return verdict


def difference(served: NativeEngine, seed: int) -> float:
    """Return the largest difference between sampled log-probs and those of a seed's weights."""
    served.submit(request("now", PROMPT))
    (made,) = drain(served)["now"]
    right = checkpoint(stock("qwen3", seed))
    logp = probe.logp(Policy(right.architecture, right.tensors), [[*PROMPT, *made.ids]])[0][len(PROMPT) - 1:]
    return max(abs(one - other) for one, other in zip(logp, made.logp, strict=True))


def with_layer(weights: Weights, number: int, other: Weights) -> Weights:
    """Return weights with one layer of another version."""
    layers = [other.layers[number] if place == number else layer for place, layer in enumerate(weights.layers)]
    return replace(weights, layers=layers)


def installing(monkeypatch: pytest.MonkeyPatch, wrong: Callable[[Weights], Weights], times: int = 99) -> None:
    """Install wrong weights the first `times` times."""
    right, left = NativeEngine.install, [times]

    def install(self: NativeEngine, version: FusedVersion) -> None:
        left[0] -= 1
        right(self, version if left[0] < 0 else replace(version, weights=wrong(version.weights)))

    monkeypatch.setattr(NativeEngine, "install", install)


def corrupted(weights: Weights) -> Weights:
    """Return weights with every seventh number of the embedding set to 0."""
    embedding = weights.embedding.clone()
    embedding.view(-1)[::7] = 0
    return replace(weights, embedding=embedding)


def test_a_version_that_agrees_is_served_at_once() -> None:
    served = engine()
    verdict = offered(served, version("v1", 1))
    assert verdict.action is Action.UPDATED
    assert verdict.gap is not None
    assert 0 < verdict.gap.largest < 1e-4
    assert difference(served, 1) < 1e-4


def test_a_tensor_that_arrives_corrupted_once_is_loaded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    installing(monkeypatch, corrupted, 1)
    served = engine()
    assert offered(served, version("v1", 1)).action is Action.RELOADED
    assert difference(served, 1) < 1e-4


def test_a_layer_that_is_always_skipped_is_mended_by_building_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    old = version("v0", 0)
    installing(monkeypatch, lambda weights: with_layer(weights, 1, old.weights))
    served = engine()
    assert offered(served, version("v1", 1)).action is Action.REBUILT
    assert difference(served, 1) < 1e-4


def test_wrong_weights_are_refused_and_running_requests_go_on_under_the_version_before() -> None:
    served = engine()
    served.submit(request("running", PROMPT, 3, max_tokens=20))
    served.step()
    other = replace(version("v1", 1), probe=version("v2", 2).probe)
    verdict = offered(served, other)
    assert verdict.action is Action.REFUSED
    assert "nats from the trainer's log-probs, expected at most 0.001" in verdict.reason
    assert served.version_id == "v0"
    assert [made.versions for made in drain(served)["running"]] == [[("v0", 20)]] * 3
    assert difference(served, 0) < 1e-4


def test_a_newer_offer_supersedes_one_that_is_not_settled_yet() -> None:
    served, verdicts = engine(), list[Verdict]()
    for number in (1, 2):
        served.offer(version(f"v{number}", number), verdicts.append)
    served.step()
    assert [(verdict.version_id, verdict.action, verdict.served) for verdict in verdicts] == [
        ("v1", Action.SUPERSEDED, False), ("v2", Action.UPDATED, True)]
    assert served.version_id == "v2"


def test_an_engine_without_a_version_serves_the_first_one_that_passes_its_probe() -> None:
    shapes = measured("qwen3")
    served = NativeEngine(checkpoint(stock("qwen3")).architecture, shapes, 16)
    assert served.version_id == ""
    wrong = replace(version("v0", 0), probe=version("v2", 2).probe)
    assert offered(served, wrong).action is Action.REFUSED
    assert served.version_id == ""
    assert offered(served, version("v1", 1)).action is Action.UPDATED
    assert difference(served, 1) < 1e-4


def test_weights_that_overflow_are_refused() -> None:
    made = checkpoint(stock("qwen3", 1))
    huge = replace(made, tensors={**made.tensors, "model.norm.weight": made.tensors["model.norm.weight"] * 1e38})
    served = engine()
    verdict = offered(served, FusedVersion("v1", fuse(huge), tokenizer(), version("v1", 1).probe, huge))
    assert verdict.action is Action.REFUSED
    assert verdict.gap == Gap(float("inf"), float("inf"))


def test_an_engine_that_cannot_serve_the_version_before_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    installing(monkeypatch, corrupted)
    served, first = engine(), version("v0", 0)
    monkeypatch.setattr(NativeEngine, "rebuild", lambda self, version: self.install(version))
    with pytest.raises(ProbeRefused, match="v0 cannot be served again"):
        take_over(served, version("v1", 1), first)


def test_a_mean_gap_is_compared_with_a_tolerance_of_means() -> None:
    gap = Gap(largest=0.5, mean=0.02)
    assert Tolerance(0.15, "mean").holds(gap)
    assert not Tolerance(0.15).holds(gap)
    assert not Tolerance(0.15, "mean").holds(Gap(float("nan"), float("nan")))


def test_the_probe_is_the_same_for_every_version_of_a_model_and_survives_its_manifest() -> None:
    first, second = version("v0", 0).probe, version("v1", 1).probe
    assert first is not None
    assert second is not None
    assert first.ids == second.ids
    assert max(len(row) for row in first.ids) > 32, "longer than a block of the prefix cache"
    exact = probe.expected(Policy(checkpoint(stock("qwen3")).architecture, checkpoint(stock("qwen3")).tensors))
    assert first.gap(exact.logp).largest < 1e-6
    short = first.cut(16)
    assert [len(row) for row in short.ids] == [16] * len(first.ids)
    assert [len(row) for row in short.logp] == [15] * len(first.ids)
    with pytest.raises(ValueError, match="shorter"):
        first.gap([[0.0]] * len(first.ids))
