"""Stop texts, streams, pause, abort, scores, and shapes that are not safe."""

from dataclasses import replace

import pytest
import torch

from hone.models import toy
from hone.text.tokenizer import Tokenizer
from services.inference.native.engine import NativeEngine
from services.inference.native.safe_shapes import SafeShapes, candidates
from services.inference.requests import FinishReason
from services.inference.scoring import ScoreItem
from tests.support.inference.generation import reference
from tests.support.inference.half import NEEDED
from tests.unit.inference.engines import (
    SLOTS,
    checkpoint,
    drain,
    engine,
    measured,
    request,
    run,
    stock,
    tokenizer,
    version,
)

PROMPT = [5, 9, 11]


def text(ids: list[int]) -> str:
    return tokenizer().decode(ids)


def test_a_stop_text_ends_a_completion_before_it() -> None:
    (free,) = run(engine(), request("a", PROMPT, max_tokens=60))["a"]
    ids = free.ids
    stop = text(ids[20:22])
    start = text(ids).find(stop)
    kept = next(count for count in range(len(ids), -1, -1) if len(text(ids[:count])) <= start)
    (stopped,) = run(engine(), request("a", PROMPT, max_tokens=60, stop=("absent text", stop)))["a"]
    assert (stopped.ids, stopped.finish_reason) == (ids[:kept], FinishReason.STOP)
    assert stopped.logp == free.logp[:kept]
    assert sum(tokens for _, tokens in stopped.versions) == kept


def test_a_stop_text_that_is_included_ends_with_the_id_that_completes_it() -> None:
    (free,) = run(engine(), request("a", PROMPT, max_tokens=60))["a"]
    ids, stop = free.ids, text(free.ids[20:22])
    kept = next(count for count in range(len(ids)) if stop in text(ids[:count]))
    stopped = request("a", PROMPT, max_tokens=60, stop=("absent text", stop), include_stop=True)
    (made,) = run(engine(), stopped)["a"]
    assert (made.ids, made.finish_reason) == (ids[:kept], FinishReason.STOP)
    assert made.logp == free.logp[:kept]
    assert sum(tokens for _, tokens in made.versions) == kept


@pytest.mark.parametrize("include_stop", [False, True])
@pytest.mark.parametrize("stop", [(), ("0",)])
def test_streamed_tokens_are_those_of_the_whole_answer(stop: tuple[str, ...], include_stop: bool) -> None:
    sampling = {"max_tokens": 25, "stop": stop, "include_stop": include_stop}
    whole = run(engine(), request("a", PROMPT, 3, **sampling))["a"]
    served = engine()
    served.submit(replace(request("a", PROMPT, 3, **sampling), streamed=True))
    answers = []
    while served.has_work:
        answers += served.step()
    assert [answer.done for answer in answers] == [False] * (len(answers) - 1) + [True]
    for index, wanted in enumerate(whole):
        deltas = [delta for answer in answers for delta in answer.completions if delta.index == index]
        assert [id for delta in deltas for id in delta.ids] == wanted.ids
        assert [logp for delta in deltas for logp in delta.logp] == wanted.logp
        assert [delta.finish_reason for delta in deltas] == [None] * (len(deltas) - 1) + [wanted.finish_reason]
        assert stop or len(deltas) > 20


def test_paused_sequences_stay_where_they_are() -> None:
    whole = run(engine(), request("a", PROMPT, 2))["a"]
    served = engine()
    served.submit(request("a", PROMPT, 2))
    served.step()
    served.paused = True
    made = served.generated_tokens
    assert served.step() == []
    assert not served.has_work
    assert (served.generated_tokens, served.running) == (made, 2)
    served.paused = False
    assert drain(served)["a"] == whole


def test_weights_may_change_while_paused() -> None:
    served = engine()
    served.submit(request("a", PROMPT, 2))
    served.step()
    served.paused = True
    served.offer(version("v1", stock("qwen3", 1)))
    assert drain(served) == {}
    assert served.version_id == "v1"
    served.paused = False
    assert {tuple(one.versions) for one in drain(served)["a"]} == {(("v0", 2), ("v1", 10))}


def test_abort_returns_what_was_made_and_leaves_others_alone() -> None:
    whole = run(engine(slots=16), request("kept", PROMPT, 4))["kept"]
    served = engine(slots=16)
    gone = request("gone", PROMPT, 20, max_tokens=100)
    served.submit(gone)
    served.submit(request("kept", PROMPT, 4))
    for _ in range(4):
        served.step()
    assert served.abort(gone) == 20
    answers = drain(served)
    assert [one.index for one in answers["gone"]] == list(range(20))
    assert {one.finish_reason for one in answers["gone"]} == {FinishReason.ABORT}
    assert [len(one.ids) for one in answers["gone"]] == [5] * 16 + [0] * 4
    assert answers["kept"] == whole
    assert served.abort(gone) == 0


def test_scores_equal_stock_transformers() -> None:
    items = [ScoreItem((5, 9, 11), tuple(range(3, 20))), ScoreItem(tuple(range(2, 40)) * 2, (7, 8, 9)),
             ScoreItem((4,), (6,) * 70),
             ScoreItem((5, 9), ())]
    for item, scored in zip(items, engine("llama").score(items, 0.7), strict=True):
        logits = reference(stock("llama"), list(item.context_ids), list(item.ids)) / 0.7
        logp = torch.log_softmax(logits, -1)
        assert len(scored.logp) == len(scored.entropy) == len(item.ids)
        if item.ids:
            wanted = logp.gather(1, torch.tensor(item.ids)[:, None]).squeeze(1)
            assert (wanted - torch.tensor(scored.logp)).abs().max() < 2e-5
            assert (-(logp.exp() * logp).sum(-1) - torch.tensor(scored.entropy)).abs().max() < 2e-5


def test_scores_of_generated_tokens_are_their_logp() -> None:
    served = engine()
    (completion,) = run(served, request("a", PROMPT, max_tokens=50))["a"]
    (scored,) = served.score([ScoreItem(tuple(PROMPT), tuple(completion.ids))], 1.0)
    assert (torch.tensor(scored.logp) - torch.tensor(completion.logp)).abs().max() < 2e-5


def test_an_engine_without_safe_shapes_runs_the_largest_always() -> None:
    tried = candidates(16, 128)
    largest = SafeShapes(tried.rows[-1:], tried.positions)
    model = stock("qwen3")
    served = NativeEngine(checkpoint(model).architecture, largest, 16, version("v0", model))
    requests = [request(f"q{length}", range(3, 3 + length), 9, temperature=0.9) for length in (1, 8, 30)]
    wanted = run(engine(), *requests)
    found = run(served, *requests)
    for name, completions in wanted.items():
        for one, other in zip(completions, found[name], strict=True):
            assert one.ids == other.ids
            assert (torch.tensor(one.logp) - torch.tensor(other.logp)).abs().max() < 2e-5


def test_the_shapes_cover_every_size_asked_for() -> None:
    found = measured("qwen3")
    assert [found.rows_for(count) for count in (1, 32)] <= [found.rows[-1]] * 2
    assert found.positions == 128
    assert candidates(100, 100).rows[-1] == 112
    assert candidates(1, 16).rows[-1] == 64
    assert candidates(256, 4000).positions == 4032


def test_a_request_for_another_version_is_not_taken() -> None:
    served = engine()
    assert not served.submit(replace(request("a", PROMPT), version_id="v1"))
    assert not served.has_work
    assert served.submit(replace(request("a", PROMPT), version_id="v0"))


def test_a_held_version_stays() -> None:
    served = engine()
    served.holds += 1
    served.offer(version("v1", stock("qwen3", 1)))
    assert not served.has_work
    assert served.version_id == "v0"
    served.holds -= 1
    assert drain(served) == {}
    assert served.version_id == "v1"


@pytest.mark.parametrize("dtype", [torch.float32, pytest.param(torch.bfloat16, marks=NEEDED)])
def test_ids_that_no_token_has_are_never_made(dtype: torch.dtype) -> None:
    """27 of the 41 ids have a token; the others are as likely, as in a model whose rows are padded."""
    padded = replace(version("v0", stock("qwen2"), dtype), tokenizer=Tokenizer(toy.files()))
    served = NativeEngine(checkpoint(stock("qwen2")).architecture, measured("qwen2", dtype=dtype), SLOTS, padded)
    answers = run(
        served, request("a", PROMPT, 40, max_tokens=40), request("b", PROMPT, 3, temperature=0.0, max_tokens=40),
        request("c", PROMPT, 3, top_p=0.9, max_tokens=40), request("d", [7], 1, temperature=2.0, max_tokens=40))
    made = [one for completions in answers.values() for one in completions]
    assert max(id for one in made for id in one.ids) < len(toy.SYMBOLS)
    if dtype == torch.float32:  # unchanged policy, ratio 1
        for one in (*answers["a"][:3], *answers["b"]):
            logp = torch.log_softmax(reference(stock("qwen2"), PROMPT, one.ids), -1)
            assert one.logp == pytest.approx(logp[range(40), one.ids].tolist(), abs=1e-4)


def test_each_of_several_stop_ids_ends_a_completion() -> None:
    free = run(engine(), request("a", PROMPT, 8, max_tokens=60))["a"]
    ends = (9, 14)
    stopped = run(engine(), request("a", PROMPT, 8, max_tokens=60, stop_ids=ends))["a"]
    reached = [next((place + 1 for place, id in enumerate(one.ids) if id in ends), 60) for one in free]
    assert [one.ids for one in stopped] == [one.ids[:count] for one, count in zip(free, reached, strict=True)]
    assert {one.ids[-1] for one in stopped if one.finish_reason is FinishReason.STOP} == set(ends)
    assert [one.finish_reason for one in stopped] == [
        FinishReason.STOP if one.ids[-1] in ends else FinishReason.LENGTH for one in stopped]
