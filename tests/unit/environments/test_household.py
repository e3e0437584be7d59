"""The household: games of every kind can be won, depend on their seed alone, and worlds do not disturb each other."""

import json
import os
import subprocess
import sys
from itertools import zip_longest

import pytest

from hone.environments.contract import EpisodeOver
from hone.environments.household import Household, HouseholdEpisode, HouseholdParams
from hone.environments.household_games import KINDS, Kind, game, lexicon
from hone.environments.tasks import make
from hone.harnesses.penalties import ungrounded

pytest.importorskip("fast_downward", reason="the household's planner is not installed (no C++ compiler)")


def played(kind: Kind, seed: int, **params: object) -> HouseholdEpisode:
    return Household().episode(HouseholdParams.model_validate({"tasks": [kind], **params}), seed, None)


@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_wins_with_its_last_command(kind: Kind) -> None:
    for seed in range(3):
        one = played(kind, seed)
        opening = one.reset()
        assert opening.messages[0]["content"].endswith(f"Your task is to: {opening.item['task']}\n")
        plan = one.solution()
        taken = [one.step(command) for command in plan]
        assert 3 <= len(plan) <= 12
        assert [one.done for one in taken] == [False] * (len(plan) - 1) + [True]
        assert all(step.valid and step.effect for step in taken)
        assert (one.verify(), taken[-1].observation.item["verified"]) == (1.0, 1.0)
        with pytest.raises(EpisodeOver):
            one.step("look")


def test_commands_are_understood_or_nothing_happens() -> None:
    one = played("clean", 0)
    seen = one.reset()
    assert seen.admissible is not None
    assert {"go to sinkbasin 1", "look", "inventory"} <= set(seen.admissible)
    assert "help" not in seen.admissible
    wrong, look, going = one.step("take mug"), one.step("look"), one.step("go to  sinkbasin 1")
    assert (wrong.valid, wrong.effect, wrong.observation.messages[0]["content"]) == (False, False, "Nothing happens.\n")
    assert (look.valid, look.effect) == (True, False)
    assert (going.valid, going.effect) == (True, True)
    assert going.observation.messages[0]["content"].startswith("You arrive at sinkbasin 1.")
    assert one.step("go to sinkbasin 1").effect is False
    shown = played("clean", 0, show_commands=True).reset().messages[0]["content"]
    assert shown.endswith(f"You can: {', '.join(seen.admissible)}.\n")


def test_an_episode_ends_with_its_turns() -> None:
    one = played("heat", 1, turns=2)
    one.reset()
    assert [one.step("look").done, one.step("dance").done, one.verify()] == [False, True, 0.0]


def test_worlds_that_take_turns_do_not_disturb_each_other() -> None:
    pair = [played("heat", 2), played("two", 3)]
    alone = [[step.observation.state_hash for step in map(one.step, one.solution())] for one in pair]
    for one in pair:
        one.reset()
    together = [one.step(command).observation.state_hash for commands in zip_longest(*(one.solution() for one in pair))
                for one, command in zip(pair, commands, strict=True) if command]
    assert sorted(together) == sorted([*alone[0], *alone[1]])


def test_a_fork_of_a_won_game_had_its_own_way() -> None:
    one = played("cool", 0)
    *before, last = one.solution()
    for command in before:
        one.step(command)
    other = one.fork()
    other.step("look")
    assert one.step(last).done
    assert (one.verify(), other.verify(), other.step(last).done) == (1.0, 0.0, True)


def test_a_subgoal_is_grounded_in_what_the_game_has() -> None:
    names = played("clean", 0).reset().entities
    assert names is not None
    assert names.lexicon is not None
    absent = next(one for one in lexicon() if one not in {name.rpartition(" ")[0] for name in names.present})
    assert not ungrounded(f"put the {names.present[0]} away", names.lexicon, names.present)
    assert ungrounded(f"find a {absent}", names.lexicon, names.present)


def test_games_are_many_and_their_number_can_be_limited() -> None:
    problems = {game(KINDS, 8, seed).problem for seed in range(100)}
    assert len(problems) == 100
    assert {game(KINDS, 8, seed).kind for seed in range(100)} == set(KINDS)
    assert make("household", {"games": 5}, 7).content_hash == make("household", {"games": 5}, 2).content_hash
    assert len(game(("place",), 0, 4).names) < len(game(("place",), 20, 4).names)


_PLAY = """
import json
from hone.environments.household import Household, HouseholdParams
one = Household().episode(HouseholdParams(), 11, None)
seen = [one.reset()] + [one.step(command).observation for command in one.solution()]
print(json.dumps([(each.messages, each.state_hash, each.admissible) for each in seen]))
"""


def test_processes_with_other_hash_seeds_play_the_same() -> None:
    said = [subprocess.run([sys.executable, "-c", _PLAY], env={**os.environ, "PYTHONHASHSEED": seed}, check=True,
                           capture_output=True, text=True).stdout for seed in ("1", "2")]
    assert len(json.loads(said[0])) > 3
    assert said[0] == said[1]
