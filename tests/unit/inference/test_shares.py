"""Callers from outside get a share of an engine while runs sample, and everything otherwise; and what they may ask."""

import math
from dataclasses import replace

import pytest

from services.inference.requests import Request
from services.inference.shares import ABOUT_S, TimeShare, most_guests
from tests.unit.inference.engines import drain, engine, request

PROMPT = [5, 9, 11]


def guest(name: str, n: int = 1) -> Request:
    return replace(request(name, PROMPT, n, max_tokens=40), tenant_id="tenant_1")


def test_guests_beside_a_run_have_a_share_of_its_sequences() -> None:
    served = engine(slots=16)
    served.submit(guest("early", 2))
    served.step()
    served.submit(request("run", PROMPT, 9, max_tokens=40))
    served.submit(guest("late", 8))
    served.step()
    assert (served._table.guests, served.running) == (3, 12), "a quarter is from outside"
    assert served.waiting == 7
    answers = drain(served)
    assert {name: len(made) for name, made in answers.items()} == {"early": 2, "run": 9, "late": 8}


def test_guests_alone_have_every_slot() -> None:
    served = engine(slots=16)
    served.submit(guest("many", 16))
    served.step()
    assert served.running == 16
    assert [most_guests(1, 0.25), most_guests(9, 0.25), most_guests(9, 0.5)] == [1, 3, 9]


def test_while_a_run_is_about_guests_have_a_share_of_the_time() -> None:
    now = [100.0]
    share = TimeShare(0.25, lambda: now[0])
    share.spend(5)
    assert share.wait_s == 0, "no run is about"
    share.note_run()
    assert share.wait_s == 0, "what was spent before costs nothing now"
    share.spend(5)
    assert share.wait_s == pytest.approx((5 - 0.05) / 0.25)
    now[0] += ABOUT_S
    assert share.wait_s == 0, "the run is gone"
    now[0] += 1000
    share.note_run()
    share.spend(0.15)
    assert share.wait_s == pytest.approx(0.4), "0.05 s were left, however long nobody asked"
    now[0] += 0.41
    assert share.wait_s == 0


def test_likeliest_ids_come_with_the_log_probs_of_the_draw() -> None:
    served = engine()
    served.submit(request("plain", PROMPT, 2, max_tokens=6, top_logprobs=3))
    served.submit(request("cut", PROMPT, 1, max_tokens=6, top_logprobs=50, top_k=2, temperature=0.7))
    answers = drain(served)
    for made in (*answers["plain"], *answers["cut"]):
        assert len(made.likeliest) == len(made.ids)
        for id, logp, likeliest in zip(made.ids, made.logp, made.likeliest, strict=True):
            values = [value for _, value in likeliest]
            assert values == sorted(values, reverse=True)
            assert dict(likeliest).get(id, logp) == pytest.approx(logp, abs=1e-5)
    (cut,) = answers["cut"]
    assert {len(likeliest) for likeliest in cut.likeliest} == {2}
    assert [sum(math.exp(value) for _, value in one) for one in cut.likeliest] == pytest.approx([1] * 6, abs=1e-5)


def test_biases_and_penalties_change_what_is_drawn_and_nobody_else() -> None:
    served = engine()
    plain, alone = request("plain", PROMPT, max_tokens=12), engine()
    forced = request("forced", PROMPT, 2, max_tokens=4, logit_bias=((7, 100.0),))
    varied = request("varied", PROMPT, max_tokens=12, temperature=0, presence_penalty=2.0, frequency_penalty=2.0)
    for one in (plain, forced, varied):
        served.submit(one)
    alone.submit(plain)
    answers = drain(served)
    assert [made.ids for made in answers["forced"]] == [[7] * 4] * 2
    assert answers["forced"][0].logp == pytest.approx([0] * 4, abs=1e-5)
    assert len(set(answers["varied"][0].ids)) == 12
    assert answers["plain"][0].ids == drain(alone)["plain"][0].ids
