"""A vote over answers is played twice to the same bits, and when it is cut at any call."""

from dataclasses import replace

import pytest

from hone.trajectory import journal
from hone.trajectory.records import Call, Step, Turn
from services.rollout.calls import CallRequest
from tests.support.rollout.episodes import Local, answer, every_played
from tests.support.rollout.forks import Cut, Texts, ends
from tests.support.rollout.groups import claim

N, M = 3, 2
GROUP = claim(sampling={"max_tokens": 64}, harness="verified_vote", purpose="eval", harness_params={
    "n": N, "m": M, "template": "{question}{judged}", "verdict": "word", "yes_text": "y", "no_text": "n"})
CALLS = N + 2 * M


class Votes(Texts):
    """Two answers of three are 12; every verdict on the other one is y."""

    async def next_call(self, question: CallRequest, index: int, steps: list[Step]) -> Call:
        self.asked.append((question, steps))
        self.before()
        kind, place = question.ask.kind, int(question.ask.number.split(".")[1]) if "." in question.ask.number else 0
        said = ["12", "21", "12"][place] if kind == "answer" else "n" if place < M else "y"
        call = answer(question, said)
        self.kept[index, call.number] = journal.decode(journal.encode({index: Turn(call, steps)}))[index]
        return call


async def test_the_answer_that_is_believed_is_the_output() -> None:
    [episode] = await every_played(Local("sort_digits"), Votes(), GROUP)
    assert [call.kind for call in episode.calls] == ["answer"] * N + ["verdict"] * 2 * M + ["chosen"]
    assert (episode.calls[-1].number, episode.calls[-1].text, episode.ended) == ("2", "21", "done")
    assert episode.calls[-1].notes["vote"] == {"scores": {"12": 0.0, "21": 1.0}, "majority": "12", "winner": "21"}


@pytest.mark.parametrize("cut", range(1, CALLS + 2))
async def test_a_vote_that_is_cut_at_any_call_ends_in_the_same_bits(cut: int) -> None:
    [whole] = await every_played(Local("sort_digits"), Votes(), GROUP)
    script = Votes()

    def die() -> None:
        if len(script.asked) == cut:
            raise Cut

    script.before = die
    with pytest.raises(Cut):
        await every_played(Local("sort_digits"), script, GROUP)
    [episode] = await every_played(Local("sort_digits"), Votes(), replace(GROUP, attempt=2, journaled=script.kept))
    assert ends(episode) == ends(whole)
