"""Samples that follow a grammar, and grammars that are refused."""

import asyncio
import json
import re
from dataclasses import replace
from typing import Any

import pytest
import torch

from hone.rpc.errors import InvalidField
from services.inference.grammars import MOST_CHARACTERS, Grammars
from services.inference.native.engine import NativeEngine
from services.inference.requests import Completion, FinishReason, Guide, Request
from tests.support.inference.generation import reference
from tests.unit.inference.engines import VOCABULARY, engine, request, run, stock, tokenizer

PROMPT = [5, 9, 11]
DATE = "start: /[0-9]{1,3}/ \"/\" /[0-9]/"
_DATE = re.compile(r"[0-9]{1,3}/[0-9]")
_HOSTILE = {"allOf": [{"type": "string", "pattern": f".*{chr(97 + place)}.*"} for place in range(26)]}


def guided(one: Request, grammar: str = DATE) -> Request:
    """Return a request whose samples follow a grammar."""
    made = Guide(grammar)
    made.grammar = compiled(grammar)
    return replace(one, guide=made)


def compiled(grammar: str) -> Any:
    return asyncio.run(Grammars().of("grammar", grammar, tokenizer(), VOCABULARY))


def text(made: Completion) -> str:
    return tokenizer().decode(made.ids)


def test_samples_follow_a_grammar_and_end_where_nothing_can_follow() -> None:
    whole = run(engine(), guided(request("g", PROMPT, 8, stop_ids=(2,))))["g"]
    assert all(_DATE.fullmatch(text(one)) for one in whole)
    assert len({text(one) for one in whole}) > 1
    assert {one.finish_reason for one in whole} == {FinishReason.STOP}
    (cut,) = run(engine(), guided(request("c", PROMPT, max_tokens=2)))["c"]
    assert (len(cut.ids), cut.finish_reason) == (2, FinishReason.LENGTH)
    (stopped,) = run(engine(), guided(request("s", PROMPT, stop=("/",))))["s"]
    assert re.fullmatch(r"[0-9]{1,3}", text(stopped))


def test_a_grammar_that_may_end_or_go_on_ends_at_a_stop_id() -> None:
    open_end = run(engine(), guided(request("o", PROMPT, 8, stop_ids=(2,), max_tokens=40), "start: /[0-9]+/"))["o"]
    assert {one.ids[-1] for one in open_end if one.finish_reason is FinishReason.STOP} == {2}
    assert all(re.fullmatch("[0-9]+", text(one)) for one in open_end)


@pytest.mark.parametrize("sampling", [{}, {"temperature": 0.5}, {"temperature": 0}, {"top_p": 0.5}])
def test_log_probs_are_those_of_the_allowed_tokens(sampling: dict[str, Any]) -> None:
    (made,) = run(engine(), guided(request("l", PROMPT, **sampling, top_logprobs=3)))["l"]
    walk = compiled(DATE).walk((2,))
    for place, (id, logits) in enumerate(zip(made.ids, reference(stock("qwen3"), PROMPT, made.ids), strict=True)):
        allowed = torch.from_numpy(walk.allowed)
        masked = torch.where(allowed, logits / (sampling.get("temperature") or 1), -torch.inf)
        if "top_p" not in sampling:
            assert made.logp[place] == pytest.approx(float(torch.log_softmax(masked, -1)[id]), abs=2e-5)
        assert all(walk.allowed[other] for other, _ in made.likeliest[place])
        walk.take(id)


def test_samples_without_a_grammar_are_the_same_beside_guided_ones() -> None:
    plain = request("p", PROMPT, 4)
    alone, beside = run(engine(), plain)["p"], run(engine(), guided(request("g", PROMPT, 4)), plain)["p"]
    assert [(one.ids, one.logp) for one in alone] == [(one.ids, one.logp) for one in beside]


def test_a_request_that_cannot_go_on_is_refused_alone() -> None:
    served, plain = engine(), request("p", PROMPT, 2)
    stuck = guided(request("u", PROMPT, 2), 'start: "1" ("é" | "€")')
    answers = _answers(served, stuck, plain)
    assert "no token continues" in answers["u"].refused
    assert len(answers["p"].completions) == 2


def _answers(served: NativeEngine, *requests: Request) -> dict[str, Any]:
    for one in requests:
        assert served.submit(one)
    found = dict[str, Any]()
    while served.has_work:
        found |= {answer.request.request_id: answer for answer in served.step()}
    return found


@pytest.mark.parametrize(("grammar", "reason"), [
    ("start: %json " + json.dumps({"type": "blah"}), "Invalid type: blah"),
    ("start: %json " + json.dumps({"not": {"type": "string"}}), "Unimplemented keys"),
    ("start: %json " + json.dumps({"$ref": "file:///etc/passwd"}), "does not fetch"),
    ("start: %json " + json.dumps(_HOSTILE), "more than 2 s to compile"),
    ("start: " + "(" * 10_000 + '"1"' + ")" * 10_000, "nested"), ("start: nowhere", "nowhere"),
    ('start: "é"', "no token continues"), ("x" * (MOST_CHARACTERS + 1), "at most"),
])
def test_a_grammar_that_cannot_be_followed_is_refused(grammar: str, reason: str) -> None:
    with pytest.raises(InvalidField, match=f"^grammar: found .*{reason}"):
        compiled(grammar)
