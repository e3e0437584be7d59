"""New weights between two steps: no sequence is dropped, every token names its version, caches are kept or not."""

from dataclasses import replace

import numpy as np
import torch

from services.inference.native.engine import NativeEngine
from services.inference.requests import Completion, KvOnUpdate
from tests.support.inference.generation import reference
from tests.unit.inference.engines import drain, engine, request, run, stock, version

PROMPT = [5, 9, 11, 30, 8]


def swapped(kv_on_update: KvOnUpdate, n: int = 3) -> tuple[NativeEngine, list[Completion]]:
    """Generate 20 tokens of which the first ones come from seed 0's weights and the rest from seed 1's."""
    served = engine()
    served.submit(replace(request("s", PROMPT, n, max_tokens=20), kv_on_update=kv_on_update))
    for _ in range(5):
        served.step()
    served.offer(version("v1", stock("qwen3", 1)))
    return served, drain(served)["s"]


def logp(seed: int, completion: Completion) -> torch.Tensor:
    logits = torch.log_softmax(reference(stock("qwen3", seed), PROMPT, completion.ids), -1)
    return logits.gather(1, torch.tensor(completion.ids)[:, None]).squeeze(1)


def differences(completion: Completion, seed: int) -> torch.Tensor:
    return (logp(seed, completion) - torch.tensor(completion.logp)).abs()


def test_every_token_names_its_version_and_none_is_lost() -> None:
    served, completions = swapped(KvOnUpdate.KEEP)
    assert served.version_id == "v1"
    assert [completion.versions for completion in completions] == [[("v0", 6), ("v1", 14)]] * 3
    assert all(len(completion.ids) == 20 for completion in completions)


def test_kept_caches_mix_versions() -> None:
    _, completions = swapped(KvOnUpdate.KEEP)
    for completion in completions:
        assert differences(completion, 0)[:6].max() < 2e-5
        assert differences(completion, 0)[6:].max() > 1e-2
        assert differences(completion, 1)[6:].max() > 1e-2


def test_remade_caches_give_exactly_the_new_policy() -> None:
    _, completions = swapped(KvOnUpdate.RECOMPUTE)
    for completion in completions:
        assert completion.versions == [("v0", 6), ("v1", 14)]
        assert differences(completion, 0)[:6].max() < 2e-5
        assert differences(completion, 1)[6:].max() < 2e-5


def test_remade_caches_equal_a_fresh_request_to_the_bit() -> None:
    served = engine()
    served.submit(replace(request("s", PROMPT, 1, max_tokens=20, temperature=0), kv_on_update=KvOnUpdate.RECOMPUTE))
    for _ in range(5):
        served.step()
    served.offer(version("v1", stock("qwen3", 1)))
    (switched,) = drain(served)["s"]
    (fresh,) = run(engine(seed=1), request("s", PROMPT + switched.ids[:6], max_tokens=14, temperature=0))["s"]
    assert switched.ids[6:] == fresh.ids
    assert np.array(switched.logp[6:], np.float32).tobytes() == np.array(fresh.logp, np.float32).tobytes()


def test_a_request_for_a_version_is_finished_before_the_next_is_taken_over() -> None:
    served = engine()
    served.submit(replace(request("pinned", PROMPT, 2, max_tokens=9), version_id="v0"))
    served.step()
    served.offer(version("v1", stock("qwen3", 1)))
    served.submit(replace(request("also pinned", PROMPT, 64, max_tokens=2), version_id="v0"))
    served.submit(request("any", PROMPT, 1, max_tokens=40))
    answers = drain(served)
    assert {one.versions[0] for one in answers["pinned"]} == {("v0", 9)}
    assert {one.versions[0] for one in answers["also pinned"]} == {("v0", 2)}
    assert [version for version, _ in answers["any"][0].versions] == ["v0", "v1"]
    assert served.version_id == "v1"


def test_the_newest_of_several_offers_is_taken_over() -> None:
    served = engine()
    served.offer(version("v1", stock("qwen3", 1)))
    served.offer(version("v2", stock("qwen3", 2)))
    assert drain(served) == {}
    assert served.version_id == "v2"
