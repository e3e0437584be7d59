"""Generation against a plain forward of stock transformers in float32."""


import pytest
import torch

from services.inference.requests import Completion, FinishReason
from tests.support.inference.generation import reference
from tests.unit.inference.engines import VOCABULARY, engine, request, run, stock
from tests.unit.models.scalings import SCALINGS

FAMILIES = ["qwen3", "qwen2", "llama"]
PROMPTS = [[5, 9, 11], list(range(3, 40)), [7] * 8, list(range(2, 40)) * 2 + [4] * 5]


def assert_greedy(logits: torch.Tensor, completion: Completion) -> None:
    best, gap = logits.argmax(-1), logits.topk(2).values.diff(dim=-1).abs().squeeze(-1)
    clear = gap > 1e-3
    assert clear.float().mean() > 0.9
    assert torch.equal(best[clear], torch.tensor(completion.ids)[clear])


def assert_logp(logits: torch.Tensor, completion: Completion, temperature: float = 1.0) -> None:
    logp = torch.log_softmax(logits / temperature, -1)
    expected = logp.gather(1, torch.tensor(completion.ids)[:, None]).squeeze(1)
    assert (expected - torch.tensor(completion.logp)).abs().max() < 2e-5


@pytest.mark.parametrize("family", [*FAMILIES, *(f"llama, {scaling}" for scaling in SCALINGS)])
def test_greedy_ids_and_logp_equal_stock_transformers(family: str) -> None:
    requests = [request(f"g{number}", prompt, temperature=0) for number, prompt in enumerate(PROMPTS)]
    answers = run(engine(family), *requests)
    for number, prompt in enumerate(PROMPTS):
        (completion,) = answers[f"g{number}"]
        logits = reference(stock(family), prompt, completion.ids)
        assert_greedy(logits, completion)
        assert_logp(logits, completion)
        assert (len(completion.ids), completion.finish_reason) == (12, FinishReason.LENGTH)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_sampled_logp_is_of_the_distribution_drawn_from(family: str, temperature: float) -> None:
    requests = [request(f"s{number}", prompt, 4, temperature=temperature) for number, prompt in enumerate(PROMPTS)]
    answers = run(engine(family), *requests)
    for number, prompt in enumerate(PROMPTS):
        assert [completion.index for completion in answers[f"s{number}"]] == [0, 1, 2, 3]
        assert len({tuple(completion.ids) for completion in answers[f"s{number}"]}) == 4
        for completion in answers[f"s{number}"]:
            assert_logp(reference(stock(family), prompt, completion.ids), completion, temperature)
            assert max(completion.ids) < VOCABULARY


def test_stop_ids_end_a_completion_and_stay_in_it() -> None:
    free = run(engine(), request("a", [5, 9, 11], max_tokens=30))["a"][0]
    stop = free.ids[10]
    stopped = run(engine(), request("a", [5, 9, 11], max_tokens=30, stop_ids=(40, stop)))["a"][0]
    first = min(free.ids.index(end) for end in (40, stop) if end in free.ids)
    assert stopped.ids == free.ids[:first + 1]
    assert stopped.logp == free.logp[:first + 1]
    assert stopped.finish_reason is FinishReason.STOP


def test_more_samples_than_slots_are_all_made() -> None:
    served = engine(slots=16)
    answers = run(served, *(request(f"r{number}", [5, number], 30, max_tokens=3 + number % 5) for number in range(9)))
    assert {name: len(completions) for name, completions in answers.items()} == {f"r{n}": 30 for n in range(9)}
    assert (served.generated_samples, served.running, served.waiting) == (270, 0, 0)
    assert served.generated_tokens == sum(30 * (3 + number % 5) for number in range(9))
