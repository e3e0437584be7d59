"""Harnesses that fork, play in phases, give scores, and break their contract; each is cut at every call."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from hone.environments.contract import Message
from hone.harnesses.catalogue import HARNESSES
from hone.harnesses.seat import HarnessFailed, Heard, Over, Seat
from tests.support.rollout.episodes import TOKENIZER, Local, every_played
from tests.support.rollout.forks import Cut, Harness, Texts, ends
from tests.support.rollout.groups import claim

COUNT = '{"tool": "query", "arguments": {"sql": "SELECT count(*) FROM items"}}'
PROMPT: list[Message] = [{"role": "user", "content": "Which is best?"}]


async def tree(seat: Seat) -> None:
    """Count, fork in two, let both act on, then choose in a conversation of its own and finish."""
    await seat.ask(seat.opening, tools=[])
    heard = await seat.act(COUNT)

    async def draft(fork: Seat) -> str:
        said: Heard | list[Message] = heard
        for _ in range(2):
            await fork.ask(said, "draft", tools=[], group_key="drafts")
            said = await fork.act(COUNT)
        fork.note("place", fork.path)
        return str(said)

    drafts = await seat.together(*(draft(fork) for fork in await seat.fork(2)))
    order = seat.random.sample(range(2), 2)
    chosen = await seat.ask(
        [{"role": "user", "content": str(order)}, *PROMPT], "choice", tools=[], max_tokens=8, stop=["!"])
    seat.penalty("length", -0.1 * len(drafts))
    await seat.act(chosen.text)


async def back(seat: Seat) -> None:
    """Count three times, then go back to before the second call: there an answer is given in one seat, not in another.
    """
    said: Heard | list[Message] = seat.opening
    asked = list[tuple[str, Heard | list[Message]]]()
    for _ in range(3):
        answer = await seat.ask(said, tools=[], entropy=True)
        asked.append((answer.number, said))
        seat.note("seen", answer.entropy)
        said = await seat.act(COUNT)
    number, said = asked[1]

    async def again(fork: Seat, given: str | None) -> None:
        assert (fork.turns, fork.last, fork.facts.messages) == (1, "0", [{"role": "tool", "content": "12\n"}])
        answer = await fork.ask(said, "again", tools=[], given=given)
        fork.note("text", answer.text)
        await fork.act(COUNT)

    one, other = await seat.fork(2, before=number)
    await seat.together(again(one, "count!"), again(other, None))
    await seat.act("12")


CALLS = [(play, call) for play, calls in ((tree, 5), (back, 4)) for call in range(1, calls + 1)]
"""Each call after the first one."""


GROUP = claim(sampling={"max_tokens": 64}, harness="own")


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Seat], Any]], None]:
    """Return how to set the harness named own."""
    def put(play: Callable[[Seat], Any]) -> None:
        monkeypatch.setitem(HARNESSES, "own", Harness(play))

    put(tree)
    return put


async def test_a_tree_of_calls_keeps_its_numbers_parents_kinds_and_states() -> None:
    local, script = Local(), Texts()
    [episode] = await every_played(local, script, GROUP)
    assert [(one.number, one.parent, one.kind, one.group_key, one.turn) for one in episode.calls] == [
        ("0", "", "answer", None, 0),
        ("1.0.0", "0", "draft", "drafts", 1), ("1.0.1", "1.0.0", "draft", "drafts", 2),
        ("1.1.0", "0", "draft", "drafts", 1), ("1.1.1", "1.1.0", "draft", "drafts", 2), ("2", "0", "choice", None, 1)]
    assert [one.index for one in episode.calls] == list(range(6))
    assert [(step.call, step.index) for step in episode.steps] == [
        (0, 0), (5, 1), (1, 1), (2, 2), (3, 1), (4, 2)]
    assert len(set(local.forked)) == 1, "both forks are made from the first session"
    assert [one.notes for one in episode.calls if one.notes] == [{"place": "1.0"}, {"place": "1.1"}]
    assert (episode.calls[-1].rules, episode.calls[-1].sampling) == ({"length": -0.2}, {})
    assert script.asked[-1][0].sampling == {"max_tokens": 8, "stop": ["!"]}
    first, second = episode.calls[1], episode.calls[3]
    assert first.prompt_ids == second.prompt_ids
    assert episode.calls[2].prompt_ids[:len(first.prompt_ids)] == first.prompt_ids
    assert TOKENIZER.decode(episode.calls[-1].prompt_ids).endswith("Which is best?")


@pytest.mark.parametrize(("play", "cut"), CALLS)
async def test_a_tree_that_is_cut_at_any_call_ends_in_the_same_bits(
        own: Callable[[Callable[[Seat], Any]], None], play: Callable[[Seat], Any], cut: int) -> None:
    own(play)
    [whole] = await every_played(Local(), Texts(), GROUP)
    script = Texts()

    def die() -> None:
        if len(script.asked) == cut:
            raise Cut

    script.before = die
    with pytest.raises(Cut):
        await every_played(Local(), script, GROUP)
    again = Texts()
    [episode] = await every_played(Local(), again, replace(GROUP, attempt=2, journaled=script.kept))
    assert ends(episode) == ends(whole)
    assert len(again.asked) == len(whole.calls) - 1 - len(script.kept)


@pytest.mark.parametrize(("play", "call"), CALLS)
async def test_a_tree_whose_sessions_are_lost_at_any_call_ends_in_the_same_bits(
        own: Callable[[Callable[[Seat], Any]], None], play: Callable[[Seat], Any], call: int) -> None:
    own(play)
    [whole] = await every_played(Local(), Texts(), GROUP)
    local, script = Local(), Texts()
    script.before = lambda: local.restart() if len(script.asked) == call else None
    [episode] = await every_played(local, script, GROUP)
    assert ends(episode) == ends(whole)


async def test_seats_can_be_forked_before_an_earlier_call_and_an_answer_can_be_given(
        own: Callable[[Callable[[Seat], Any]], None]) -> None:
    own(back)
    local = Local()
    [episode] = await every_played(local, Texts(), GROUP)
    assert [(one.number, one.parent, one.kind, one.turn, one.text) for one in episode.calls] == [
        ("0", "", "answer", 0, "begin"), ("1", "0", "answer", 1, "say 1"), ("2", "1", "answer", 2, "say 2"),
        ("3.0.0", "0", "again", 1, "count!"), ("3.1.0", "0", "again", 1, "say 3.1.0")]
    assert episode.calls[3].prompt_ids == episode.calls[4].prompt_ids == episode.calls[1].prompt_ids
    assert episode.calls[3].completion_ids == [*TOKENIZER.encode("count!"), TOKENIZER.eos_id]
    assert [(step.call, step.index) for step in episode.steps] == [(0, 0), (1, 1), (2, 2), (2, 3), (3, 1), (4, 1)]
    assert {step.state_hash for step in episode.steps[4:]} == {episode.steps[1].state_hash}
    assert [one.entropy for one in episode.calls] == [6 / 8] * 3 + [None] * 2
    assert [one.notes for one in episode.calls] == [{"seen": 0.75}] * 3 + [{"text": "count!"}, {"text": "say 3.1.0"}]
    assert (local.forked, episode.ended) == ([], "done"), "the seat has gone on: its actions are repeated"


async def test_a_fork_whose_environment_does_not_come_to_its_state_again_is_over(
        own: Callable[[Callable[[Seat], Any]], None]) -> None:
    heard = list[str]()

    async def elsewhere(seat: Seat) -> None:
        answer = await seat.ask(seat.opening, tools=[])
        await seat.act(COUNT)
        local.seed += 1
        [fork] = await seat.fork(1, before=answer.number)
        with pytest.raises(Over):
            await fork.act(COUNT)
        heard.append(fork.reason)

    own(elsewhere)
    local = Local()
    [episode] = await every_played(local, Texts(), GROUP)
    assert (heard, episode.ended, episode.masked, len(episode.steps)) == (["diverged"], "left", "", 1)


async def test_an_answer_that_is_given_otherwise_at_replay_masks_its_sample(
        own: Callable[[Callable[[Seat], Any]], None]) -> None:
    words, script = iter(["one", "another"]), Texts()

    async def given(seat: Seat) -> None:
        await seat.ask(seat.opening, tools=[], given=next(words))

    own(given)
    [before] = await every_played(Local(), script, GROUP)
    assert (before.calls[0].text, before.masked) == ("one", "")
    [again] = await every_played(Local(), Texts(), replace(GROUP, journaled=script.kept))
    assert again.ended == "diverged"


async def test_a_fork_made_before_its_seat_goes_on_stays_in_the_old_state(
        own: Callable[[Callable[[Seat], Any]], None]) -> None:
    async def late(seat: Seat) -> None:
        await seat.ask(seat.opening, tools=[])
        [fork] = await seat.fork(1)
        await seat.act(COUNT)
        await fork.act(COUNT)

    own(late)
    local = Local()
    [episode] = await every_played(local, Texts(), GROUP)
    one, other = episode.steps
    assert (one.index, other.index, one.state_hash, local.forked) == (0, 0, other.state_hash, [])


async def test_a_harness_that_asks_something_else_at_replay_masks_its_sample(
        own: Callable[[Callable[[Seat], Any]], None]) -> None:
    script, words = Texts(), iter(["one", "another"])

    async def changing(seat: Seat) -> None:
        await seat.ask(seat.opening, tools=[])
        await seat.ask([{"role": "user", "content": next(words)}], tools=[])

    own(changing)
    [before] = await every_played(Local(), script, GROUP)
    assert (before.ended, before.masked) == ("left", "")
    [again] = await every_played(Local(), Texts(), replace(GROUP, journaled=script.kept))
    assert (again.ended, again.masked) == ("diverged", "what it asked in a journaled call differs from the original")


async def test_a_harness_hears_of_a_limit_and_may_end_in_its_own_way(
        own: Callable[[Callable[[Seat], Any]], None]) -> None:
    async def full(seat: Seat) -> None:
        await seat.ask(seat.opening, tools=[])
        with pytest.raises(Over, match="max_context"):
            await seat.ask([{"role": "user", "content": "x" * 1000}], tools=[])
        assert seat.over
        await seat.act("12")

    own(full)
    [episode] = await every_played(Local(), Texts(), GROUP)
    assert (len(episode.calls), len(episode.steps)) == (1, 1)


async def warm(seat: Seat) -> None:
    first = await seat.ask(seat.opening, tools=[])
    await seat.ask([*PROMPT, {"role": "assistant", "content": first.text}], tools=[], temperature=0.7)


@pytest.mark.parametrize(("purpose", "ours", "used"), [("eval", 1.0, 0.7), ("eval", 0.0, 0.0), ("train", 0.7, 0.7)])
async def test_a_call_may_have_a_temperature_of_its_own_and_greedy_stays_greedy(
        own: Callable[[Callable[[Seat], Any]], None], purpose: str, ours: float, used: float) -> None:
    own(warm)
    script = Texts()
    await every_played(Local(), script, claim(
        sampling={"max_tokens": 64, "temperature": ours}, harness="own", purpose=purpose))
    assert script.asked[-1][0].sampling == {"max_tokens": 64, "temperature": used}


async def test_a_trained_call_at_another_temperature_is_refused(
        own: Callable[[Callable[[Seat], Any]], None]) -> None:
    own(warm)
    with pytest.raises(HarnessFailed, match=r"temperature 0\.7, expected 1: a step is trained at one temperature"):
        await every_played(Local(), Texts(), GROUP)


async def test_max_turns_bounds_each_chain_of_calls_and_not_the_forks_beside_each_other(
        own: Callable[[Callable[[Seat], Any]], None]) -> None:
    async def wide(seat: Seat) -> None:
        await seat.ask(seat.opening, tools=[])

        async def on(fork: Seat) -> None:
            while not fork.over:
                await fork.ask(PROMPT, tools=[])

        await seat.together(*(on(fork) for fork in await seat.fork(4)))
        assert (seat.turns, seat.over) == (1, False)
        await seat.ask(PROMPT, tools=[])
        await seat.ask(PROMPT, tools=[])

    own(wide)
    [episode] = await every_played(Local(), Texts(), claim(
        sampling={"max_tokens": 64}, harness="own", harness_params={"max_turns": 2}))
    assert [one.number for one in episode.calls] == ["0", "1.0.0", "1.1.0", "1.2.0", "1.3.0", "2"]
    assert episode.ended == "max_turns"


async def raising(_: Seat) -> None:
    raise KeyError("lost")


async def waiting(_: Seat) -> None:
    import asyncio
    await asyncio.sleep(0)


async def endless(seat: Seat) -> None:
    await seat.ask(seat.opening, tools=[])
    while True:
        await seat.fork(1)


async def crowded(seat: Seat) -> None:
    await seat.together(seat.ask(seat.opening, tools=[]), seat.ask(seat.opening, tools=[]))


async def early(seat: Seat) -> None:
    seat.penalty("early", 1.0)


async def future(seat: Seat) -> None:
    await seat.fork(1, before="0")


@pytest.mark.parametrize(("play", "words"), [
    (raising, "it raised KeyError: 'lost'"), (waiting, "it awaited NoneType, expected a method of its seat"),
    (endless, "it asked, acted and forked more than 10000 times in one sample"),
    (crowded, "a seat was used by two plays at once; each needs a fork of its own"),
    (future, "it forked before call 0, expected a call of the policy at the same seat"),
    (early, "it gave a score, a note or a mark before its first call")])
async def test_a_harness_that_breaks_its_contract_fails_in_its_own_words(
        own: Callable[[Callable[[Seat], Any]], None], play: Callable[[Seat], Any], words: str) -> None:
    own(play)
    with pytest.raises(HarnessFailed, match=f"^{words}$"):
        await every_played(Local(), Texts(), GROUP)


async def test_samples_whose_first_calls_differ_are_asked_each_on_its_own(
        own: Callable[[Callable[[Seat], Any]], None]) -> None:
    async def shuffled(seat: Seat) -> None:
        await seat.ask([{"role": "user", "content": str(seat.random.random())}], tools=[])

    own(shuffled)
    script = Texts()
    episodes = await every_played(Local(), script, replace(GROUP, order=GROUP.order.model_copy(update={"n": 3})))
    assert (len(script.began), len(script.asked)) == (0, 3)
    assert len({tuple(one.calls[0].prompt_ids) for one in episodes}) == 3
    assert len({one[0].noise("train/17/0").request for one in script.asked}) == 1
