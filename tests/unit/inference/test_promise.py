"""Promise 7: a request's ids and log-prob bits do not depend on its slot, its neighbours or when it came."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from services.inference.native import safe_shapes
from services.inference.native.cache import Cache
from services.inference.native.decoder import Pass
from services.inference.native.engine import NativeEngine
from services.inference.native.matrix import Matrix, takes_bfloat16
from services.inference.requests import Completion, Request
from tests.unit.inference.engines import checkpoint, engine, request, run, stock

Exact = list[tuple[list[int], bytes]]


def exact(completions: list[Completion]) -> Exact:
    return [(one.ids, np.array(one.logp, np.float32).tobytes()) for one in completions]


def some_requests() -> list[Request]:
    chance = random.Random(3)
    kinds: list[dict[str, Any]] = [{"temperature": 1.0}, {"temperature": 0.0}, {"temperature": 0.8, "top_p": 0.9},
                                   {"top_k": 5}]
    return [
        request(f"q{number}", chance.choices(range(3, 40), k=chance.choice([2, 7, 8, 20, 70])),
                chance.choice([1, 3, 8]), max_tokens=chance.choice([1, 5, 17, 40]), **kinds[number % 4])
        for number in range(14)
    ]


@pytest.fixture(scope="module")
def alone() -> dict[str, Exact]:
    return {one.request_id: exact(run(engine("qwen2"), one)[one.request_id]) for one in some_requests()}


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_any_order_and_any_neighbours_give_equal_bits(alone: dict[str, Exact], seed: int) -> None:
    requests = some_requests()
    random.Random(seed).shuffle(requests)
    together = run(engine("qwen2"), *requests)
    assert {name: exact(completions) for name, completions in together.items()} == alone


def test_in_bfloat16_too_any_order_and_any_neighbours_give_equal_bits() -> None:
    if not takes_bfloat16():
        pytest.skip("oneDNN has no bfloat16 on this processor")
    requests = some_requests()
    first = {one.request_id: exact(run(engine("qwen2", dtype=torch.bfloat16), one)[one.request_id])
             for one in requests}
    random.Random(4).shuffle(requests)
    together = run(engine("qwen2", dtype=torch.bfloat16), *requests)
    assert {name: exact(completions) for name, completions in together.items()} == first


def test_products_that_are_added_up_in_another_order_are_found_though_rounding_hides_it(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    if not takes_bfloat16():
        pytest.skip("oneDNN has no bfloat16 on this processor")

    class Turned(Matrix):
        def times(self, rows: Tensor) -> Tensor:
            if len(rows) != 2 or self.dtype != torch.bfloat16:
                return super().times(rows)
            left, right = (part.to(self.dtype).float().chunk(2, 1) for part in (rows, self.plain))
            halves = [part @ weight.t() for part, weight in zip(left, right, strict=True)]
            return (halves[0] + halves[1]).to(self.dtype).float()

        def __init__(self, weight: Tensor, bias: Tensor | None = None, dtype: torch.dtype = torch.float32) -> None:
            super().__init__(weight, bias, dtype)
            self.plain = weight

    architecture = checkpoint(stock("llama")).architecture
    plain = safe_shapes.measure(architecture, 32, 64, torch.bfloat16)
    assert 2 in plain.rows
    monkeypatch.setattr(safe_shapes, "Matrix", Turned)
    without_two = tuple(rows for rows in plain.rows if rows != 2)
    assert safe_shapes.measure(architecture, 32, 64, torch.bfloat16).rows == without_two


def test_arriving_in_the_middle_gives_equal_bits(alone: dict[str, Exact]) -> None:
    served, requests, together = engine("qwen2"), some_requests(), {}
    chance = random.Random(5)
    while requests or served.has_work:
        if requests and chance.random() < 0.3:
            served.submit(requests.pop())
        for answer in served.step():
            together[answer.request.request_id] = exact(answer.completions)
    assert together == alone


def test_samples_from_any_index_on_are_those_that_are_made_with_all(alone: dict[str, Exact]) -> None:
    later = [replace(one, first=2, n=one.n - 2) for one in some_requests() if one.n > 2]
    made = run(engine("qwen2"), *later)
    assert {name: [one.index for one in completions] for name, completions in made.items()} == {
        one.request_id: list(one.indexes) for one in later}
    assert {name: exact(completions) for name, completions in made.items()} == {
        one.request_id: alone[one.request_id][2:] for one in later}


def test_other_numbers_of_slots_give_equal_bits(alone: dict[str, Exact]) -> None:
    together = run(engine("qwen2", slots=16), *some_requests())
    assert {name: exact(completions) for name, completions in together.items()} == alone


def test_other_noise_gives_other_tokens() -> None:
    one, other = request("a", [5, 9], max_tokens=30), request("b", [5, 9], max_tokens=30)
    answers = run(engine("qwen2"), one, other)
    assert answers["a"][0].ids != answers["b"][0].ids


def test_requests_with_equal_prompts_share_a_pass_and_keep_their_noise() -> None:
    served = engine("qwen2")
    twins = run(served, request("a", [5, 9, 7], 2), request("b", [5, 9, 7], 2))
    for name in ("a", "b"):
        assert exact(twins[name]) == exact(run(engine("qwen2"), request(name, [5, 9, 7], 2))[name])


def rows_of(served: NativeEngine) -> list[int]:
    """Return a list to which the engine adds the number of rows of each decoding pass."""
    counted, hidden = [], served._decoder.hidden

    def counting(cache: Cache, ids: Tensor, step: Pass, wanted: Tensor | None = None) -> Tensor:
        if step.width == 1:
            counted.append(int((step.slots < cache.scratch).sum()))
        return hidden(cache, ids, step, wanted)

    served._decoder.hidden = counting  # type: ignore[method-assign]
    return counted


def distinct_beginnings(completions: list[Completion]) -> list[int]:
    """Return the number of different beginnings of 1, 2, … ids of the samples that are longer."""
    longest = max(len(one.ids) for one in completions)
    return [len({tuple(one.ids[:made]) for one in completions if len(one.ids) > made}) for made in range(1, longest)]


def test_samples_with_equal_ids_so_far_are_one_row() -> None:
    served = engine("qwen2")
    rows = rows_of(served)
    made = run(served, request("a", [5, 9, 7], 24, max_tokens=9, temperature=0.4))["a"]
    assert rows == distinct_beginnings(made)
    assert rows[0] < rows[3] < 24


@pytest.mark.parametrize("temperature", [0.0, 0.2, 0.5, 1.0])
def test_samples_that_share_rows_equal_those_that_run_one_by_one(temperature: float) -> None:
    asked = request("a", [5, 9, 7], 16, max_tokens=20, temperature=temperature)
    assert exact(run(engine("qwen2"), asked)["a"]) == exact(run(engine("qwen2", slots=1), asked)["a"])
