"""Samples that follow a grammar on vLLM, which has no tokenizer here."""

import asyncio
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from hone.models import probe
from services.inference.grammars import UNFOLLOWED, Grammar, Grammars
from services.inference.requests import Completion, FinishReason, Guide, KvOnUpdate, Request
from services.inference.takeover import Action
from services.inference.vllm.engine import VllmEngine
from tests.vllm.engines import checkpoint, drain, offered, policy, request, serving, version

PROMPT = [23, 9, 6, 13]
SUM = 'start: /[0-9]{1,3}/ "+" /[0-9]{1,2}/ "="'
_SUM = re.compile(r"[0-9]{1,3}\+[0-9]{1,2}=")


@pytest.fixture
def engine() -> Iterator[VllmEngine]:
    with closing(serving(version("v0", 0))) as made:
        yield made


def compiled(engine: VllmEngine, grammar: str) -> Grammar:
    return asyncio.run(Grammars().of("grammar", grammar, engine.tokenizer, engine.architecture.vocab_size))


def guided(engine: VllmEngine, one: Request, grammar: str = SUM) -> Request:
    made = Guide(grammar)
    made.grammar = compiled(engine, grammar)
    return replace(one, guide=made)


def text(engine: VllmEngine, made: Completion) -> str:
    return engine.tokenizer.decode(made.ids)


def test_samples_follow_a_grammar_beside_others_and_end_where_nothing_can_follow(engine: VllmEngine) -> None:
    plain = request("p", PROMPT, 2)
    alone = next(iter(_run(engine, plain).values()))
    made = _run(engine, plain, guided(engine, request("g", PROMPT, 6, stop_ids=(2,))))
    assert [one.ids for one in made["p"]] == [one.ids for one in alone]
    assert all(_SUM.fullmatch(text(engine, one)) for one in made["g"])
    assert {one.finish_reason for one in made["g"]} == {FinishReason.STOP}
    ((cut,), (stopped,)) = _run(engine, guided(engine, request("c", PROMPT, max_tokens=1)),
                                guided(engine, request("s", PROMPT, stop=("+",)))).values()
    assert (len(cut.ids), cut.finish_reason) == (1, FinishReason.LENGTH)
    assert re.fullmatch("[0-9]{1,3}", text(engine, stopped))


def _run(engine: VllmEngine, *requests: Request) -> dict[str, list[Completion]]:
    for one in requests:
        assert engine.submit(one)
    return drain(engine)


@pytest.mark.parametrize("temperature", [1.0, 0.6, 0.0])
def test_log_probs_are_those_of_the_allowed_tokens(engine: VllmEngine, temperature: float) -> None:
    (made,) = _run(engine, guided(engine, request("l", PROMPT, temperature=temperature, top_logprobs=4)))["l"]
    walk = compiled(engine, SUM).walk(())
    vocabulary = engine.architecture.vocab_size
    for place, id in enumerate(made.ids):
        rows = [[*PROMPT, *made.ids[:place], other] for other in range(vocabulary)]
        logp = np.array([row[-1] for row in probe.logp(policy(checkpoint(0)), rows, temperature or 1.0)])
        allowed = logp[walk.allowed[:vocabulary]]
        assert made.logp[place] == pytest.approx(logp[id] - np.logaddexp.reduce(allowed), abs=1e-4)
        assert all(walk.allowed[other] for other, _ in made.likeliest[place])
        walk.take(id)


@pytest.mark.parametrize("kv_on_update", list(KvOnUpdate))
def test_a_sample_follows_its_grammar_through_new_weights(engine: VllmEngine, kv_on_update: KvOnUpdate) -> None:
    long = guided(engine, replace(request("u", PROMPT, 4, max_tokens=60), kv_on_update=kv_on_update),
                  "start: (/[0-9]/ \"+\"){20} \"=\"")
    assert engine.submit(long)
    for _ in range(5):
        engine.step()
    assert offered(engine, version("v1", 1)).action is Action.UPDATED
    for one in drain(engine)["u"]:
        assert re.fullmatch(r"([0-9]\+){20}=", text(engine, one))
        assert len(one.versions) == 2


def test_a_request_that_cannot_go_on_is_refused_alone(engine: VllmEngine) -> None:
    stuck, plain = guided(engine, request("u", PROMPT, 2), 'start: "1" ("é" | "€")'), request("p", PROMPT, 2)
    for one in (stuck, plain):
        assert engine.submit(one)
    answers = []
    while engine.has_work:
        answers += engine.step()
    found = {answer.request.request_id: answer for answer in answers}
    assert found["u"].refused.startswith(UNFOLLOWED)
    assert len(found["p"].completions) == 2
