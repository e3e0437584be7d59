"""PhaseLock: what each command says and changes, how an episode ends, and that seeds give different doors."""

import pytest

from hone.environments.contract import EpisodeOver
from hone.environments.phase_lock import PhaseLock, PhaseLockEpisode, PhaseLockParams, doors
from hone.environments.tasks import episode, make


def said(one: PhaseLockEpisode, action: str) -> tuple[str, bool, bool | None]:
    taken = one.step(action)
    return taken.observation.messages[0]["content"], taken.valid, taken.effect


def test_a_door_opens_with_the_key_of_its_colour_alone() -> None:
    one = PhaseLockEpisode(["red", "blue"], PhaseLockParams(doors=2))
    task, first = one.reset().messages
    assert task["content"] == "Open 2 doors. Commands: take red, take blue, take green, take yellow, open, look.\n"
    assert first == {"role": "user", "content": "The door is red."}
    assert said(one, "open") == ("Nothing happens.", True, False)
    assert said(one, "take blue") == ("Nothing happens.", True, False)
    assert said(one, "take black") == ("Nothing happens.", False, False)
    assert said(one, " take red ") == ("You hold the red key.", True, True)
    assert said(one, "take red") == ("Nothing happens.", True, False)
    assert said(one, "look") == ("The door is red.", True, False)
    assert said(one, "open") == ("The door opens. The door is blue.", True, True)
    assert (one.verify(), said(one, "take blue")[0]) == (0.0, "You hold the blue key.")
    assert said(one, "open") == ("The door opens.", True, True)
    assert one.verify() == 1.0
    with pytest.raises(EpisodeOver):
        one.step("look")


@pytest.mark.parametrize(("number", "slack", "turns"), [(4, 2.5, 20), (2, 1, 4), (3, 1.5, 9)])
def test_an_episode_ends_with_its_turns(number: int, slack: float, turns: int) -> None:
    one = episode(make("phase_lock", {"doors": number, "slack": slack}, 3))
    assert one.reset().turns_left == turns
    ended = [one.step("look").done for _ in range(turns)]
    assert ended == [False] * (turns - 1) + [True]
    assert one.verify() == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_an_expert_needs_two_commands_a_door(seed: int) -> None:
    params = PhaseLockParams(doors=6, colours=8, slack=1)
    one = PhaseLock().episode(params, seed, None)
    one.reset()
    ended = [one.step(command).done for colour in doors(params, seed) for command in (f"take {colour}", "open")]
    assert (ended[-1], sum(ended), one.verify()) == (True, 1, 1.0)


def test_seeds_have_doors_of_their_own_and_name_what_is_there() -> None:
    params = PhaseLockParams(colours=3)
    drawn = [doors(params, seed) for seed in range(200)]
    assert drawn == [doors(params, seed) for seed in range(200)]
    assert {tuple(one) for one in drawn} > {("red", "red", "red", "red")}
    assert len({tuple(one) for one in drawn}) > 60, "of 81"
    names = PhaseLockEpisode(["blue", "blue"], params).reset().entities
    assert names is not None
    assert (names.present, names.lexicon) == (["blue"], ["red", "blue", "green"])
