"""A vote over a policy's own answers: what is asked, how often, and what is done."""

import pytest
from pydantic import ValidationError

from hone.algorithms.self_verify import SelfVerify
from hone.environments.contract import Message
from hone.environments.verdict_form import verification_prompt
from hone.harnesses.contract import first_prompt
from hone.harnesses.seat import Act, Answer, Ask, Finished, Fork, Heard, Seat, Taken, Together, advanced
from hone.harnesses.verified_vote import VerifiedVote, VerifiedVoteParams
from hone.resolution import resolve
from hone.spec.problems import Invalid

OPENING: list[Message] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2 + 2?"}]
PARAMS = VerifiedVoteParams(n=4, m=2, verdict_tokens=9)
NO = r"<think>\boxed{Yes}</think>So \boxed{No}"


def played(texts: list[str], verdicts: dict[str, list[str]], params: VerifiedVoteParams = PARAMS) -> tuple[
        list[Ask], str, Seat]:
    """Play with these answers, and these verdicts on each judged text. Return the calls and the action."""
    seat = Seat(OPENING, [{"type": "function"}], Heard(OPENING), "0/eval/7/0")
    play, asks, action = VerifiedVote().play(seat, params), list[Ask](), ""
    left = {verification_prompt("2 + 2?", judged, params): list(said) for judged, said in verdicts.items()}
    effect = advanced(play)
    while not isinstance(effect, Finished):
        match effect:
            case Fork():
                effect = advanced(play)
            case Together():
                results = []
                for one in effect.plays:
                    ask = advanced(one)
                    assert isinstance(ask, Ask)
                    asks.append(ask)
                    assert not isinstance(ask.said, Heard)
                    said = texts[len(asks) - 1] if ask.kind == "answer" else left[str(ask.said[-1]["content"])].pop(0)
                    done = advanced(one, Answer(ask.number, said))
                    assert isinstance(done, Finished)
                    results.append(done.result)
                effect = advanced(play, results)
            case Ask():
                asks.append(effect)
                effect = advanced(play, Answer(effect.number, effect.given or ""))
            case Act():
                action = effect.action
                effect = advanced(play, Taken(Heard([]), done=True))
    assert not any(left.values())
    return asks, action, seat


def test_each_different_answer_is_judged_and_the_one_that_is_believed_is_given() -> None:
    texts = [r"It is \boxed{5}.", "so <think>4</think>4", r"\boxed{5}", r"\boxed{4}"]
    asks, action, seat = played(texts, {"5": [NO, r"\boxed{Yes}"], "so 4": ["?", "?"], "4": [r"\boxed{Yes}"] * 2})
    assert [(ask.kind, ask.number) for ask in asks] == [
        *(("answer", f"0.{place}.0") for place in range(4)), *(("verdict", f"1.{place}.0") for place in range(6)),
        ("chosen", "2")]
    assert [ask.said for ask in asks[:4]] == [OPENING] * 4
    assert [(ask.tools, ask.max_tokens) for ask in asks[4:10]] == [([], 9)] * 6
    assert (asks[-1].given, asks[-1].said, action) == (texts[0], OPENING, texts[0])
    assert seat.notes == {"2": {"vote": {"scores": {"5": 1.0, "so 4": 0.0, "4": 1.0}, "majority": "5", "winner": "5"}}}


def test_the_whole_response_may_be_judged() -> None:
    params = PARAMS.model_copy(update={"n": 2, "judged": "response", "answer_after": "="})
    _, action, _ = played(["1+1=2", "so =2"], {"1+1=2": ["", r"\boxed{Yes}"]}, params)
    assert action == "1+1=2"


def test_without_any_answer_nothing_is_judged() -> None:
    asks, action, seat = played(["", "", "", ""], {})
    assert ([ask.kind for ask in asks[4:]], action) == (["chosen"], "")
    assert seat.notes["1"]["vote"]["winner"] is None


def test_a_verdict_is_asked_for_as_training_asks() -> None:
    shared = {"template", "suffixes", "judged", "verdict", "yes_text", "no_text"}
    ours, training = VerifiedVoteParams.model_fields, SelfVerify.model_fields
    assert {name: ours[name].default for name in shared} == {name: training[name].default for name in shared}
    with pytest.raises(ValidationError, match=r"\{question\} and \{judged\}"):
        VerifiedVoteParams(template="{question}")


def test_its_first_prompt_is_the_task() -> None:
    assert first_prompt(VerifiedVote(), PARAMS, OPENING, []) == (OPENING, [])


def test_it_is_refused_in_training_and_taken_in_an_evaluation() -> None:
    spec = {"name": "sort", "model": {"base": "toy"}, "steps": 3, "task": {"environment": "sort_digits"}}
    with pytest.raises(Invalid, match=r'harness\.name: found "verified_vote", expected a harness that can be trained'):
        resolve({**spec, "harness": {"name": "verified_vote"}})
    source = {"name": "voted", "environment": "sort_digits", "harness": {"name": "verified_vote"}}
    assert resolve({**spec, "eval": {"sources": [source]}}).eval is not None
