"""Collections at a seat: what is read and offered, the bounds of it, and that a cut changes nothing."""

from dataclasses import replace
from typing import Any

import pytest

from hone.harnesses.catalogue import HARNESSES
from hone.harnesses.offers import MOST_BYTES, MOST_OF_CALL
from hone.harnesses.seat import HarnessFailed, Kept, Seat
from hone.trajectory import parts
from services.learner.driver.offers import MOST_OF_STEP, versions
from services.rollout.branches import Episode
from services.rollout.groups import trajectory
from tests.support.rollout.episodes import Local, every_played
from tests.support.rollout.forks import Cut, Harness, Texts
from tests.support.rollout.groups import claim

GROUP = claim(sampling={"max_tokens": 64}, harness="own", n=2, collections={"tips": 3})
TIPS = [Kept("1.0", {"tip": "look"}), Kept("3.0", {"tip": "count"})]


async def offering(seat: Seat) -> None:
    """Ask for each item that is read, at the seat or at a fork, and offer each answer with what it was about."""
    [fork] = await seat.fork(1)
    await seat.ask(seat.opening, tools=[])
    for place, one in enumerate((*seat.read("tips"), *fork.read("tips"))):
        at = fork if place % 2 else seat
        answer = await at.ask([{"role": "user", "content": one.body["tip"]}], tools=[])
        at.offer("tips", {"tip": answer.text, "of": one.id})


def put(monkeypatch: pytest.MonkeyPatch, play: Any) -> None:
    monkeypatch.setitem(HARNESSES, "own", Harness(play))


async def played(script: Texts, group: Any = GROUP) -> list[Episode]:
    return await every_played(Local(), script, group, tips=TIPS)


def offered(episodes: list[Episode]) -> list[Any]:
    """Return what the samples add, after it was stored as a part."""
    stored = parts.notes(parts.encode([trajectory(one, {}, one.calls, None) for one in episodes]))
    return [version.items for version in versions(4, ["other", "tips"], [stored[1, one.index] for one in episodes])]


async def test_offers_are_read_from_a_part_in_the_order_of_samples_and_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    put(monkeypatch, offering)
    episodes = await played(Texts())
    assert [call.number for call in episodes[0].calls] == ["0.0.0", "0.0.1", "1", "2", "3"]
    one = [{"tip": f"say {number}", "of": of} for number, of in
           (("0.0.0", "3.0"), ("0.0.1", "3.0"), ("2", "1.0"), ("3", "1.0"))]
    assert offered(episodes) == [[*one, *one]]


@pytest.mark.parametrize("cut", range(1, 9))
async def test_an_episode_that_is_cut_at_any_call_offers_the_same(monkeypatch: pytest.MonkeyPatch, cut: int) -> None:
    put(monkeypatch, offering)
    whole, script = await played(Texts()), Texts()

    def die() -> None:
        if len(script.asked) == cut:
            raise Cut

    script.before = die
    with pytest.raises(Cut):
        await played(script)
    again = await played(Texts(), replace(GROUP, attempt=2, journaled=script.kept))
    assert [one.calls for one in again] == [one.calls for one in whole]
    assert offered(again) == offered(whole)


@pytest.mark.parametrize(("collection", "items", "words"), [
    ("others", [1], "found collection 'others', expected a collection that the harness names: tips"),
    ("tips", ["x" * MOST_BYTES], f"an item of {MOST_BYTES + 2} bytes to 'tips', expected at most {MOST_BYTES}"),
    ("tips", [float("nan")], "offered to 'tips' a value that is not JSON"),
    ("tips", [{1, 2}], "offered to 'tips' a value that is not"),
    ("tips", list(range(MOST_OF_CALL + 1)), f"more than {MOST_OF_CALL} items after one call")])
async def test_what_cannot_be_kept_is_refused_in_words(
        monkeypatch: pytest.MonkeyPatch, collection: str, items: list[Any], words: str) -> None:
    async def play(seat: Seat) -> None:
        await seat.ask(seat.opening, tools=[])
        for item in items:
            seat.offer(collection, item)

    put(monkeypatch, play)
    with pytest.raises(HarnessFailed, match=words):
        await played(Texts())


async def test_characters_that_no_database_stores_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(seat: Seat) -> None:
        await seat.ask(seat.opening, tools=[])
        seat.offer("tips", {"a\0b": ["c\0\ud800d", 1, None]})

    put(monkeypatch, play)
    assert offered((await played(Texts()))[:1]) == [[{"ab": ["cd", 1, None]}]]


def test_a_step_adds_a_bounded_number_of_items_and_says_how_many_it_left_out() -> None:
    calls = [[{"offers": [{"collection": "tips", "item": {"n": n}}]}] for n in range(MOST_OF_STEP + 2)]
    [version] = versions(7, ["tips"], calls)
    assert (version.name, version.number, version.items[-1]) == ("tips", 7, {"n": MOST_OF_STEP - 1})
    assert version.metrics == {"collection/tips/items": MOST_OF_STEP}
    assert version.warning is not None
    assert version.warning.message.endswith("the last 2 are left out")
    assert versions(7, ["other"], calls) == versions(7, ["tips"], [[{}]]) == []
