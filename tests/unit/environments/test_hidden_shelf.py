"""HiddenShelf: what commands say and change, its ends, and map.md's closed form by playing it."""

import random
from typing import Any

import pytest

from hone.environments.contract import EpisodeOver
from hone.environments.hidden_shelf import HiddenShelf, HiddenShelfEpisode, HiddenShelfParams, shelves
from hone.environments.tasks import episode, make

DRAWS = 20_000


def played(seed: int = 0, **params: Any) -> HiddenShelfEpisode:
    one = HiddenShelf().episode(HiddenShelfParams.model_validate(params), seed, None)
    one.reset()
    return one


def said(one: HiddenShelfEpisode, action: str) -> tuple[str, bool, bool | None]:
    taken = one.step(action)
    return taken.observation.messages[0]["content"].strip(), taken.valid, taken.effect


def test_a_thing_is_seen_and_taken_at_its_shelf_alone() -> None:
    params = HiddenShelfParams(places=3, spare=0, attempts=2)
    one = HiddenShelf().episode(params, 1, None)
    place = shelves(params, 1).place
    wrong = next(name for name in shelves(params, 1).names if name != place)
    [opening] = one.reset().messages
    assert opening["content"] == (
        "You see shelf 1, shelf 2, shelf 3, table 1. One shelf holds a mug.\nCommands: go to PLACE, look, take mug, "
        "put mug on table 1.\nYour task is to: put the mug on table 1.\n")
    assert said(one, "look") == ("You see shelf 1, shelf 2, shelf 3, table 1.", True, False)
    assert said(one, f"go to {wrong}") == (f"You arrive at {wrong}. On the {wrong}, you see nothing.", True, True)
    assert said(one, "take mug") == ("You do not see a mug here.", False, False)
    assert said(one, f"go to  {place}") == (f"You arrive at {place}. On the {place}, you see a mug.", True, True)
    assert said(one, "put mug on table 1") == ("Nothing happens.", False, False)
    assert said(one, "take mug") == (f"You pick up the mug from the {place}.", True, True)
    assert said(one, "look") == (f"You are at {place}. On the {place}, you see nothing.", True, False)
    assert said(one, "go to table 1") == ("You arrive at table 1. On the table 1, you see nothing.", True, True)
    assert one.verify() == 0.0
    assert said(one, "put mug on table 1") == ("You put the mug on the table 1.", True, True)
    assert one.verify() == 1.0
    with pytest.raises(EpisodeOver):
        one.step("look")


def test_failed_attempts_and_turns_end_an_episode() -> None:
    assert [played(attempts=1).step("take mug").done, played(attempts=2).step("take mug").done] == [True, False]
    short = played(turns=2)
    assert [short.step("look").done, short.step("look").done] == [False, True]
    free = played(turns=2, free=True)
    assert [free.step("look").done for _ in range(20)] == [False] * 19 + [True]
    assert played(turns=2, free=True).step("look").observation.turns_left == 2


@pytest.mark.parametrize("seed", range(5))
def test_a_solution_delivers_the_thing_with_its_last_command(seed: int) -> None:
    one = played(seed, things=4)
    assert [one.step(command).done for command in one.solution()] == [False, False, False, True]
    assert one.verify() == 1.0


def test_seeds_have_shelves_and_things_of_their_own() -> None:
    made = [make("hidden_shelf", {"things": 3}, seed) for seed in range(200)]
    assert len({task.content_hash for task in made}) > 190
    seen = episode(made[0]).reset()
    assert seen.entities is not None
    assert len(seen.entities.present) == 8
    params = HiddenShelfParams(places=4, spare=0)
    places = [shelves(params, seed).place for seed in range(400)]
    assert {name: places.count(name) > 70 for name in places} == {f"shelf {number}": True for number in range(1, 5)}


def needed(seed: int) -> int:
    """How many shelves one has to see in a fork, in any order, so that the first attempt after them succeeds."""
    one, left = played(seed, spare=0), [f"shelf {number}" for number in range(1, 7)]
    random.Random(seed).shuffle(left)
    scout = one.fork()
    for count, place in enumerate(left[:-1]):
        if scout.step(f"go to {place}").observation.messages[0]["content"].endswith("a mug.\n"):
            return count  # it would have been the next guess
    return len(left) - 1


def test_success_after_exploring_is_the_closed_form() -> None:
    """map.md (a) 2: (B + 1)/N for B < N, and 1 from N - 1 on; 20,000 draws agree within 0.005."""
    counts = [needed(seed) for seed in range(DRAWS)]
    found = [sum(count <= explored for count in counts) / DRAWS for explored in range(6)]
    assert found == pytest.approx([1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 1], abs=0.005)


def tried(seed: int, attempts: int) -> int:
    """How many attempts one needs who goes to any shelf each time and does not look; 0: more than there are."""
    one, chance = played(seed, spare=0, attempts=attempts), random.Random(seed)
    for count in range(1, attempts + 1):
        one.step(f"go to shelf {chance.randint(1, 6)}")
        taken = one.step("take mug")
        if taken.valid:
            return count
    assert taken.done
    return 0


def test_one_who_never_looks_has_the_chance_of_its_attempts() -> None:
    """map.md (a) 2: 1/N, and 1 - (5/6)^4 = 0.5177 with four attempts."""
    draws = DRAWS // 4
    counts = [tried(seed, 4) for seed in range(draws)]
    assert counts.count(1) / draws == pytest.approx(1 / 6, abs=0.015)
    assert 1 - counts.count(0) / draws == pytest.approx(0.5177, abs=0.02)
