"""The vLLM engine: versions of tokens, caches under new weights, pauses, stops, adapters."""

import math
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from vllm.lora.request import LoRARequest
from vllm.outputs import RequestOutput

from hone.models import probe, toy
from hone.models.checkpoint import Checkpoint
from hone.models.checkpoint_header import BadCheckpoint
from hone.rpc.errors import Refused
from hone.spec.settings import Settings
from hone.text.tokenizer import Tokenizer
from services.inference.engines import Version
from services.inference.requests import Completion, FinishReason, KvOnUpdate
from services.inference.scoring import ScoreItem
from services.inference.takeover import Action
from services.inference.vllm import worker
from services.inference.vllm.core import Core
from services.inference.vllm.engine import VllmEngine
from services.inference.vllm.kind import VllmKind
from tests.vllm.engines import (
    SETTINGS,
    adapted,
    adapter_files,
    checkpoint,
    drain,
    merged,
    offered,
    policy,
    request,
    serving,
    version,
)


def changed(**vllm: Any) -> Settings:
    return SETTINGS.model_copy(update={"vllm": SETTINGS.vllm.model_copy(update=vllm)})

PROMPT = [23, 9, 6, 13]


@pytest.fixture
def engine() -> Iterator[VllmEngine]:
    with closing(serving(version("v0", 0))) as made:
        yield made


def differences(made: Completion, of: Checkpoint, temperature: float = 1.0) -> list[float]:
    """Return how far each sampled log-prob is from the trainer's under a model's weights."""
    logp = probe.logp(policy(of), [[*PROMPT, *made.ids]], temperature)[0][len(PROMPT) - 1:]
    return [abs(one - other) for one, other in zip(logp, made.logp, strict=True)]


def swapped(engine: VllmEngine, kv_on_update: KvOnUpdate) -> list[Completion]:
    """Generate 20 tokens of which the first ones come from seed 0's weights and the rest from seed 1's."""
    engine.submit(replace(request("s", PROMPT, 3, max_tokens=20), kv_on_update=kv_on_update))
    for _ in range(6):
        engine.step()
    assert offered(engine, version("v1", 1)).action is Action.UPDATED
    return drain(engine)["s"]


def test_log_probs_are_those_of_the_distribution_drawn_from(engine: VllmEngine) -> None:
    engine.submit(request("warm", PROMPT, 4, temperature=0.7))
    engine.submit(request("greedy", PROMPT, 1, temperature=0.0))
    engine.submit(request("one", PROMPT, 1, top_k=1))
    answers = drain(engine)
    for made in answers["warm"]:
        assert max(differences(made, checkpoint(0), 0.7)) < 1e-4
    assert max(differences(answers["greedy"][0], checkpoint(0))) < 1e-4
    assert answers["one"][0].ids == answers["greedy"][0].ids
    assert answers["one"][0].logp == pytest.approx([0.0] * 12, abs=1e-6)


def test_every_token_names_its_version_and_kept_caches_mix_them(engine: VllmEngine) -> None:
    for made in swapped(engine, KvOnUpdate.KEEP):
        assert [version for version, _ in made.versions] == ["v0", "v1"]
        first = made.versions[0][1]
        assert max(differences(made, checkpoint(0))[:first]) < 1e-4
        assert max(differences(made, checkpoint(1))[first:]) > 1e-2


def test_remade_caches_give_exactly_the_new_policy(engine: VllmEngine) -> None:
    for made in swapped(engine, KvOnUpdate.RECOMPUTE):
        assert made.versions == [("v0", 6), ("v1", 14)]
        assert max(differences(made, checkpoint(0))[:6]) < 1e-4
        assert max(differences(made, checkpoint(1))[6:]) < 1e-4


def test_a_long_prompt_seen_before_is_read_under_the_new_weights(engine: VllmEngine) -> None:
    prompt = PROMPT * 40
    for number in (0, 1, 2):
        if number:
            offered(engine, version(f"v{number}", number))
        engine.submit(request("long", prompt, 2, max_tokens=4))
        for made in drain(engine)["long"]:
            logp = probe.logp(policy(checkpoint(number)), [[*prompt, *made.ids]])[0][len(prompt) - 1:]
            assert made.logp == pytest.approx(logp, abs=1e-4)


def test_an_equal_request_is_drawn_alike_and_another_key_otherwise(engine: VllmEngine) -> None:
    answers = []
    for name in ("a", "a", "b"):
        engine.submit(request(name, PROMPT, 2, max_tokens=20))
        answers.append([made.ids for made in drain(engine)[name]])
    assert answers[0] == answers[1] != answers[2]
    assert answers[0][0] != answers[0][1]


def test_a_pause_holds_and_what_goes_on_loses_nothing(engine: VllmEngine) -> None:
    engine.submit(request("p", PROMPT, 3, max_tokens=20))
    for _ in range(5):
        engine.step()
    engine.paused = True
    assert not engine.has_work
    assert engine.step() == []
    engine.paused = False
    for made in drain(engine)["p"]:
        assert len(made.ids) == 20
        assert max(differences(made, checkpoint(0))) < 1e-4


def test_an_engine_that_rests_is_woken_by_the_next_request_and_by_new_weights(engine: VllmEngine) -> None:
    core = engine._core
    core.sleeps = True  # as with HONE_VLLM_SLEEP_S
    engine.rest()
    assert core._llm is not None
    assert core._llm.is_sleeping()
    engine.submit(request("r", PROMPT, 2))
    for made in drain(engine)["r"]:
        assert max(differences(made, checkpoint(0))) < 1e-4
    engine.rest()
    assert offered(engine, version("v1", 1)).action is Action.UPDATED
    engine.submit(request("r", PROMPT, 2))
    for made in drain(engine)["r"]:
        assert max(differences(made, checkpoint(1))) < 1e-4


def test_stops_by_id_and_by_text(engine: VllmEngine) -> None:
    engine.submit(request("free", PROMPT, 1, max_tokens=40))
    (free,) = drain(engine)["free"]
    engine.submit(request("free", PROMPT, 1, max_tokens=40, stop_ids=(free.ids[5],)))
    (stopped,) = drain(engine)["free"]
    assert stopped.finish_reason is FinishReason.STOP
    assert stopped.ids == free.ids[:free.ids.index(free.ids[5]) + 1]
    engine.submit(request("text", PROMPT, 4, max_tokens=60, stop=("1", "7", "s", "=")))
    for made in drain(engine)["text"]:
        assert made.finish_reason is FinishReason.STOP or len(made.ids) == 60
        assert len(made.ids) == len(made.logp) == sum(tokens for _, tokens in made.versions)
    engine.submit(request("text", PROMPT, 4, max_tokens=60, stop=("1", "7", "s", "="), include_stop=True))
    kept = drain(engine)["text"]
    assert any(made.finish_reason is FinishReason.STOP for made in kept)
    assert all(made.ids for made in kept)


def test_a_request_that_vllm_refuses_is_refused_alone(engine: VllmEngine) -> None:
    engine.submit(request("fine", PROMPT, 2))
    engine.step()
    engine.submit(request("wrong", PROMPT, 3, stop_ids=(32,)))
    [answer] = [answer for answer in engine.step() if answer.request.request_id == "wrong"]
    assert answer.done
    assert "stop_token_ids" in answer.refused
    assert [len(made.ids) for made in drain(engine)["fine"]] == [12, 12]


def test_scores_that_vllm_refuses_leave_no_requests(engine: VllmEngine) -> None:
    with pytest.raises(Refused, match="vLLM refuses it"):
        engine.score([ScoreItem((5,), (6,)), ScoreItem((5,), (6,) * SETTINGS.engine.max_tokens)], 1.0)
    assert not engine._core._on_output


def test_an_abort_returns_what_was_made(engine: VllmEngine) -> None:
    asked = request("gone", PROMPT, 3, max_tokens=100)
    engine.submit(asked)
    for _ in range(4):
        engine.step()
    assert engine.abort(asked) == 3
    for made in drain(engine)["gone"]:
        assert made.finish_reason is FinishReason.ABORT
        assert len(made.ids) == 4


def test_outputs_of_a_sequence_after_its_end_are_dropped(engine: VllmEngine) -> None:
    asked = request("gone", PROMPT, 1, max_tokens=100)
    engine.submit(asked)
    engine.step()
    [sequence] = engine._sequences
    heard: list[RequestOutput] = []
    engine._core._on_output[sequence.key] = heard.append
    engine.step()
    engine.abort(asked)
    engine._add_output(sequence, heard[0])
    [made] = drain(engine)["gone"]
    assert (made.finish_reason, len(made.ids)) == (FinishReason.ABORT, 1)


def test_an_adapter_of_a_larger_rank_than_the_engine_takes_is_refused_by_name() -> None:
    form = adapted("a0", "a", 0)
    source = Version("a0", "a", form.checkpoint, form.adapter, form.base, form.tokenizer, form.probe)
    assert VllmKind(SETTINGS).prepare(source).id == "a0"
    with pytest.raises(BadCheckpoint, match=r"rank.*8.*at most 4, this engine's HONE_VLLM_ADAPTER_RANK"):
        VllmKind(changed(adapter_rank=4)).prepare(source)


def test_scores_of_a_large_vocabulary_are_the_trainers_a_few_positions_at_a_time(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = {"vocab_size": 9000}
    monkeypatch.setattr(worker, "_LOGITS_AT_ONCE", 5 * sizes["vocab_size"])
    made, context, ids = checkpoint(0, **sizes), (5, 8999), tuple(range(3, 9000, 257))
    with closing(serving(version("v0", 0, **sizes))) as engine:
        (found, again) = engine.score([ScoreItem(context, ids), ScoreItem(context + ids[:7], ids[7:])], 0.7, 3)
    packed = [[*context, *ids]]
    logp = probe.logp(policy(made), packed, 0.7)[0][len(context) - 1:]
    assert found.logp == pytest.approx(logp, abs=1e-4)
    assert again.logp == pytest.approx(logp[7:], abs=1e-4)
    assert again.entropy == pytest.approx(found.entropy[7:], abs=1e-4)
    assert (len(found.top_ids), len(found.entropy)) == (3 * len(ids), len(ids))
    assert all(0 < entropy < math.log(9000) for entropy in found.entropy)
    for place, (id, top) in enumerate(zip(found.top_ids[::3], found.top_logp[::3], strict=True)):
        row = [*packed[0][:len(context) + place], id]
        assert probe.logp(policy(made), [row], 0.7)[0][-1] == pytest.approx(top, abs=1e-4)
        assert top >= logp[place] - 1e-4


@pytest.mark.parametrize("ends", [(9, 14), (14, 9, 3)])
def test_each_of_several_stop_ids_ends_a_completion(engine: VllmEngine, ends: tuple[int, ...]) -> None:
    engine.submit(request("ends", PROMPT, 12, max_tokens=60, stop_ids=ends))
    made = drain(engine)["ends"]
    for one in made:
        assert not set(one.ids[:-1]) & set(ends)
        assert one.finish_reason is (FinishReason.STOP if one.ids[-1] in ends else FinishReason.LENGTH)
    assert len({one.ids[-1] for one in made if one.finish_reason is FinishReason.STOP}) > 1


def test_ids_that_no_token_has_are_never_made_and_log_probs_stay_the_trainers() -> None:
    """12 of the 32 rows are padding or holes, and as likely as the others."""
    symbols = [*toy.SPECIALS, *toy.SYMBOLS[len(toy.SPECIALS):20]]
    padded = replace(version("v0", 0), tokenizer=Tokenizer(toy.files(symbols=symbols)))
    with closing(serving(padded)) as engine:
        engine.submit(request("warm", PROMPT, 16, temperature=0.7, max_tokens=40))
        engine.submit(request("plain", PROMPT, 16, max_tokens=40))
        engine.submit(request("greedy", PROMPT, 2, temperature=0.0, max_tokens=40))
        engine.submit(request("cut", PROMPT, 8, top_k=4, top_p=0.9, max_tokens=40))
        answers = drain(engine)
        engine.submit(request("alone", PROMPT, 2, temperature=0.0, max_tokens=40))
        answers |= drain(engine)
    for name, temperature in (("warm", 0.7), ("plain", 1.0), ("greedy", 1.0), ("alone", 1.0), ("cut", None)):
        for made in answers[name]:
            assert max(made.ids) < len(symbols)
            if temperature is not None:
                assert max(differences(made, checkpoint(0), temperature)) < 1e-4
    assert answers["greedy"][0].ids == answers["alone"][0].ids


def test_adapters_of_one_base_share_a_core_and_each_is_served_as_itself() -> None:
    core = Core(SETTINGS, True)
    first = serving(adapted("a0", "a", 0), core)
    second = serving(adapted("b0", "b", 1), core)
    for engine in (first, second):
        engine.submit(request(engine.version_id, PROMPT, 2, max_tokens=20))
    answers = drain(first, second)
    for engine, seed in ((first, 0), (second, 1)):
        for made in answers[engine.version_id]:
            assert max(differences(made, merged(seed))) < 1e-4
    assert max(differences(answers["a0"][0], merged(1))) > 1e-2, "the adapters differ"
    first.close()
    second.close()


def test_an_adapter_is_replaced_under_running_requests_and_the_other_adapter_is_not() -> None:
    core = Core(SETTINGS, True)
    first, second = serving(adapted("a0", "a", 0), core), serving(adapted("b0", "b", 1), core)
    first.submit(replace(request("r", PROMPT, 2, max_tokens=20), kv_on_update=KvOnUpdate.RECOMPUTE))
    second.submit(request("other", PROMPT, 2, max_tokens=40))
    for _ in range(3):
        first.step()
    verdict = offered(first, adapted("a1", "a", 2))
    assert verdict.action is Action.UPDATED
    answers = drain(first, second)
    for made in answers["r"]:
        since = made.versions[0][1]
        assert [version for version, _ in made.versions] == ["a0", "a1"]
        assert max(differences(made, merged(0))[:since]) < 1e-4
        assert max(differences(made, merged(2))[since:]) < 1e-4
    for made in answers["other"]:
        assert made.versions == [("b0", 40)]
        assert max(differences(made, merged(1))) < 1e-4
    first.close()
    second.close()


def test_an_adapter_that_fails_its_probe_costs_a_new_core_and_the_other_adapter_nothing(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    core = Core(SETTINGS, True)
    first, second = serving(adapted("a0", "a", 0), core), serving(adapted("b0", "b", 1), core)
    second.submit(request("other", PROMPT, 2, max_tokens=40))
    second.step()
    monkeypatch.setattr(VllmEngine, "install", lambda *_: None)  # the update is lost
    assert offered(first, adapted("a1", "a", 2)).action is Action.REBUILT
    first.submit(request("r", PROMPT, 2))
    answers = drain(first, second)
    assert max(differences(answers["r"][0], merged(2))) < 1e-4
    for made in answers["other"]:
        assert made.versions == [("b0", 40)]
        assert max(differences(made, merged(1))) < 1e-4
    first.close()
    second.close()


def test_the_other_adapter_of_a_core_built_anew_passes_its_probe_before_it_serves(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    core = Core(SETTINGS, True)
    first, second = serving(adapted("a0", "a", 0), core), serving(adapted("b0", "b", 1), core)
    second.submit(request("other", PROMPT, 1, max_tokens=8))
    first.rebuild(adapted("a0", "a", 0))
    lost, adapt = [True], Core.adapt

    def losing(self: Core, name: str, files: Mapping[str, bytes]) -> LoRARequest:
        return adapt(self, name, adapter_files(2) if lost and lost.pop() else files)  # another adapter, once

    monkeypatch.setattr(Core, "adapt", losing)
    [made] = drain(second)["other"]
    assert not lost
    assert max(differences(made, merged(1))) < 1e-4
    first.close()
    second.close()


def test_the_first_core_of_a_process_sleeps_and_no_other() -> None:
    kind = VllmKind(changed(sleep_s=1.0))
    versions = [version("v0", 0), replace(version("w0", 1), model_id="n")]
    engines = [kind.make_engine(of, of.checkpoint.architecture) for of in versions]
    assert [engine._core.sleeps for engine in engines] == [True, False]
    for engine in engines:
        engine.close()


def test_no_files_of_a_base_stay_on_the_disk(engine: VllmEngine) -> None:
    assert list(engine._core._folder.iterdir()) == []
