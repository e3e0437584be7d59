"""Remembering: four memories play the changing user; probes leave no trace, writes are paid for what they kept."""

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from benchmarks.methods.local_play import Asked, LocalPlay
from hone.environments.changing_user import ChangingUserEpisode
from hone.environments.tasks import episode, make
from hone.harnesses.remembering import Remembering, RememberingParams
from hone.harnesses.seat import HarnessFailed
from tests.support.harnesses.reading import SIZES, reader

PAID: dict[str, Any] = {"written": 1.0, "lost": 1.0, "answered": 0.5}
Policy = Callable[[Asked], str]


def lazy(asked: Asked) -> str:
    return "{}" if asked.kind == "write" else reader(asked)


def played(policy: Policy, seed: int = 0, item: dict[str, Any] | None = None, env: dict[str, Any] | None = None,
           **params: Any) -> LocalPlay:
    task = make("changing_user", {"life": SIZES, "words": "plain", **(env or {})}, seed, item)
    one = LocalPlay(episode(task), "remembering", params)
    play, text = one.playing(), None
    try:
        while True:
            text = policy(next(play) if text is None else play.send(text))
    except StopIteration:
        return one


def rules(one: LocalPlay, name: str) -> list[float]:
    return [given[name] for seat in one.seats for given in seat.rules.values() if name in given]


@pytest.mark.parametrize("params", [{"memory": "native"}, {"memory": "rag"}, {"memory": "awe"}, {"memory": "awi"},
                                    {"memory": "awi", "flush": 2, "keep": 0}, {"memory": "awi-evolve"}])
def test_memories_that_keep_everything_score_1(params: dict[str, Any]) -> None:
    assert played(reader, **params).episode.verify() == 1.0


def test_a_window_of_two_messages_forgets() -> None:
    window = sum(played(reader, seed, memory="window", most=2).episode.verify() or 0 for seed in range(4)) / 4
    assert window < 0.8


def test_probes_stay_out_of_the_history() -> None:
    one = played(reader, memory="native")
    replies = [call for call in one.calls if call.kind == "reply"]
    shown = "\n".join(message["content"] for message in replies[-1].said)
    assert "?" not in shown.replace("and?", "")
    assert "right" not in shown
    for earlier, later in pairwise(replies):
        whole = [*earlier.said, {"role": "assistant", "content": earlier.answer}]
        assert later.said[:len(whole)] == whole
    assert {call.kind for call in one.calls} == {"reply", "probe", "diagnose"}


def test_a_probe_notes_the_hash_of_the_memory_that_it_saw() -> None:
    one = played(reader, memory="awi", flush=2, keep=0)
    probes = [noted["memory"] for noted in one.notes("probe")]
    periods = [noted["memory"] for noted in one.notes("period")]
    assert len(probes) == 4 * (3 + 4)
    assert {*probes} == {*periods}
    writes = one.notes("write")
    assert all((noted["before"] != noted["after"]) for noted in writes)
    assert any(old is not None for noted in writes for old, _ in noted["changed"].values())


def test_upper_bounds_are_asked_without_the_memory() -> None:
    one = played(reader, env={"measure_upper": True})
    uppers = [call for call in one.calls if call.kind == "upper"]
    assert uppers
    assert all(len(call.said) == 1 for call in uppers)


def test_writes_are_paid_for_what_is_known_and_lose_what_is_lost() -> None:
    good = played(reader, memory="awi", flush=2, keep=0, **PAID)
    assert isinstance(good.episode, ChangingUserEpisode)
    exposed = sum(len(period.changes) for period in good.episode.world.life.periods)
    assert sum(rules(good, "written")) == exposed
    assert sum(rules(good, "lost")) == 0
    assert rules(good, "answered") == [0.5] * 12
    bad = played(lazy, memory="awi", flush=2, keep=0, **PAID)
    assert sum(rules(bad, "written")) == 0
    full = played(reader, memory="awi", flush=2, keep=0, most=2, **PAID)
    assert sum(rules(full, "lost")) < 0
    assert sum(rules(full, "written")) < exposed


def test_a_memory_that_evolves_hears_of_each_period_before_the_next_one_and_of_no_answer_unless_it_may() -> None:
    one = played(reader, memory="awi-evolve", flush=2, keep=0, written=1.0)
    evolved = [call for call in one.calls if call.kind == "evolve"]
    assert [noted["remember"] for noted in one.notes("evolve")] == ["names"] * 3, "of four periods"
    heard = [json.loads(call.said[0]["content"].partition("Feedback:\n")[2].rpartition("\n\nAnswer")[0])
             for call in evolved]
    assert all({*one} == {"question", "options", "answer", "memories"} for each in heard for one in each["questions"])
    assert "states" not in heard[0]
    writes = [call.said[0]["content"] for call in one.calls if call.kind == "write"]
    assert "Personal details" in writes[0]
    assert writes[-1].startswith("What to remember:\nnames\n")
    assert sum(rules(one, "written")) > 4, "writes are paid as those of awi"
    whole = played(reader, memory="awi-evolve", feedback="questions", further=["answers", "states"])
    [first, *_] = [call.said[0]["content"] for call in whole.calls if call.kind == "evolve"]
    assert '"right": 1' in first
    assert '"states": {' in first


def test_a_memory_that_evolves_needs_results() -> None:
    with pytest.raises(HarnessFailed, match="expected the environment's"):
        played(reader, env={"results": False}, memory="awi-evolve")


@pytest.mark.parametrize(("params", "wrong"), [
    ({"memory": "awe", "flush": 0, "keep": 1}, "flush: found 0"),
    ({"memory": "awi-evolve", "write_text": "{known}{messages}"}, "write_text: found no {remember}")])
def test_a_memory_that_could_never_be_written_is_refused(params: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        RememberingParams.model_validate(params)


def test_nothing_is_paid_by_default() -> None:
    assert all(not seat.rules for seat in played(reader).seats)


def test_a_recorded_talk_is_written_down_and_answered_without_a_reply() -> None:
    first = played(reader)
    replies = [call.answer for call in first.calls if call.kind == "reply"]
    again = played(reader, 9, {"prompt": "-", "replies": replies, "user_seed": 0})
    assert {call.kind for call in again.calls} == {"write", "probe", "diagnose"}
    assert again.episode.verify() == first.episode.verify() == 1.0
    native = played(reader, 9, {"prompt": "-", "replies": replies, "user_seed": 0}, memory="native")
    assert native.episode.verify() == 1.0


def test_the_texts_can_be_short() -> None:
    one = played(reader, known_text="{known}\n", write_text="Messages:{messages}", flush=2, keep=0)
    assert one.episode.verify() == 1.0
    writes = [call for call in one.calls if call.kind == "write"]
    assert writes[0].said[0]["content"].startswith("Messages:user: ")


def test_it_names_its_kinds() -> None:
    assert Remembering.kinds == {"reply", "write", "probe", "diagnose", "upper", "evolve"}
    assert RememberingParams().memory == "awi"
