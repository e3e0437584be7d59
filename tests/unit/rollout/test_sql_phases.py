"""The four actions against the real simulation servicer: spans and notes are stored, and every cut ends in equal bits.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from hone.environments.sql_exploration import SqlExploration, SqlExplorationParams
from hone.trajectory import journal
from hone.trajectory.records import Call, Span, Step, Turn
from services.rollout.branches import Episode
from services.rollout.calls import CallRequest
from tests.support.rollout.episodes import Local, Script, answer, every_played
from tests.support.rollout.groups import claim

PARAMS: dict[str, Any] = {"rows": 2, "shown_rows": 3}
GROUP = claim(sampling={"max_tokens": 64}, harness="sql_phases", harness_params={"syntax": "line", "describe": False})
GOLD = SqlExploration().episode(SqlExplorationParams(**PARAMS), 3, None).reset().item["gold"]
TURNS = ["what?", "explore_schema: SELECT name FROM sqlite_master", 'propose_schema: {"tables": [], "columns": {}}',
         f"generate_sql: {GOLD}", f"confirm_answer: {GOLD}"]


class Cut(Exception):
    """The worker dies here."""


class Turns(Script):
    """Says the turns in order, and dies at one of them. It keeps what the journal would."""

    def __init__(self, cut: int | None = None) -> None:
        super().__init__(TURNS[0], [])
        self.cut = cut
        self.kept: dict[tuple[int, str], Turn] = {}

    async def next_call(self, question: CallRequest, index: int, steps: list[Step]) -> Call:
        self.asked.append((question, steps))
        if question.index == self.cut:
            raise Cut
        call = answer(question, TURNS[question.index])
        self.kept[index, call.number] = journal.decode(journal.encode({index: Turn(call, steps)}))[index]
        return call

    async def first_calls(self, question: CallRequest, samples: Sequence[int]) -> list[Call]:
        calls = await super().first_calls(question, samples)
        self.kept |= {(index, call.number): journal.decode(journal.encode({index: Turn(call, [])}))[index]
                      for index, call in enumerate(calls)}
        return calls


def local() -> Local:
    return Local("sql_exploration", params=PARAMS)


async def played(script: Turns, kept: dict[tuple[int, str], Turn] | None = None) -> Episode:
    group = replace(GROUP, attempt=2, journaled=kept) if kept else GROUP
    [episode] = await every_played(local(), script, group, positions=2048)
    return episode


async def test_turns_that_explored_and_proposed_are_spans_and_what_cannot_be_read_is_no_step() -> None:
    episode = await played(Turns())
    assert episode.ended == "done"
    assert [[span.name for span in call.spans] for call in episode.calls] == [[], ["explore"], ["schema"], [], []]
    assert episode.calls[2].spans == [Span("schema", 0, len(episode.calls[2].completion_ids))]
    assert [list(call.notes) for call in episode.calls] == [["malformed"], [], [], [], []]
    assert [step.call for step in episode.steps] == [1, 2, 3, 4]
    assert '"executed": 1.0' in episode.item_json or '"executed":1.0' in episode.item_json


@pytest.mark.parametrize("cut", range(1, len(TURNS)))
async def test_an_episode_that_is_cut_at_any_call_ends_in_the_same_bits(cut: int) -> None:
    whole, first = await played(Turns()), Turns(cut)
    with pytest.raises(Cut):
        await played(first)
    again = Turns()
    episode = await played(again, first.kept)
    assert (episode.calls, episode.steps, episode.ended, episode.item_json) == (
        whole.calls, whole.steps, whole.ended, whole.item_json)
    assert len(again.asked) == len(TURNS) - cut
