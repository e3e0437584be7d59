"""Heavy thinking: what a deliberation reads, and the tree of calls that a sample becomes."""

import re

import pytest
from pydantic import ValidationError

from hone.environments.contract import Message
from hone.harnesses.contract import first_prompt
from hone.harnesses.heavy import Heavy, HeavyParams, deliberation
from hone.harnesses.seat import Act, Ask, Finished, Fork, Heard, Seat, Taken, Together, advanced
from hone.harnesses.seat import Answer as Answered

QUESTION: list[Message] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2 + 2?"}]
SHORT = HeavyParams(attempts=3, deliberations=2, prompt="{question}\n{attempts}", block="{text}{times};")


def seat(key: str = "0/train/7/0") -> Seat:
    return Seat(QUESTION, [], Heard(QUESTION), key)


def asked(texts: list[str], params: HeavyParams = SHORT, key: str = "0/train/7/0") -> str:
    system, user = deliberation(QUESTION, texts, params, seat(key))
    assert system == QUESTION[0]
    return str(user["content"])


def test_a_deliberation_reads_the_question_and_every_attempt_in_an_order_of_its_own() -> None:
    texts = ["4", "5", "22"]
    orders = {asked(texts, key=f"0/train/{number}/0") for number in range(20)}
    assert len(orders) > 3, "shuffled"
    assert all(sorted(re.findall(r"\d+", order)) == ["2", "2", "22", "4", "5"] for order in orders)
    assert asked(texts) == asked(texts), "the same sample reads the same order"


def test_equal_attempts_stand_once_with_their_number() -> None:
    assert "4 (given 3 times);" in asked(["4", "4", "4"])
    assert "4;4;4;" in asked(["4", "4", "4"], SHORT.model_copy(update={"merge": False}))


def test_the_largest_cluster_of_answers_is_read_first_and_ends_are_kept() -> None:
    params = SHORT.model_copy(update={"attempts": 2, "answer_after": "so "})
    assert sorted(asked(["it is so 5", "well so 4", "so 4"], params).splitlines()[1].split(";")) == [
        "", "so 4", "well so 4"]
    cut = SHORT.model_copy(update={"characters": 6})
    assert sorted(asked(["1234", "56", "7890"], cut).splitlines()[1].split(";")) == ["", "56", "…34", "…90"]


def test_what_is_filled_in_is_not_filled_again() -> None:
    assert "{question}{place}" in asked(["{question}{place}"])


def test_its_calls_are_two_forks_beside_each_other_and_the_last_deliberation_is_the_action() -> None:
    own = seat()
    play = Heavy().play(own, SHORT.model_copy(update={"temperature": 0.7}))
    effect, calls = advanced(play), list[tuple[str, str, str | None, float | None]]()
    while not isinstance(effect, Finished):
        match effect:
            case Fork():
                effect = advanced(play)
            case Together():
                results = []
                for one in effect.plays:
                    ask = advanced(one)
                    assert isinstance(ask, Ask)
                    calls.append((ask.number, ask.kind, ask.group_key, ask.temperature))
                    done = advanced(one, Answered(ask.number, f"<think>x</think>{ask.number}"))
                    assert isinstance(done, Finished)
                    results.append(done.result)
                effect = advanced(play, results)
            case Act():
                assert effect.action == "1.1.0"
                effect = advanced(play, Taken(Heard([]), done=True))
    assert calls == [*((f"0.{place}.0", "attempt", "attempt", None) for place in range(3)),
                     *((f"1.{place}.0", "deliberate", f"{own.key}/0", 0.7) for place in range(2))]
    assert own.reason == "done"


def test_its_first_prompt_is_that_of_an_attempt() -> None:
    assert first_prompt(Heavy(), SHORT, QUESTION, []) == (QUESTION, [])


def test_a_prompt_shows_question_and_attempts() -> None:
    with pytest.raises(ValidationError, match=r"expected a text with .question. and .attempts."):
        HeavyParams(prompt="{attempts}")
