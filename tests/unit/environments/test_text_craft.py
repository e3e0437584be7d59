"""TextCraft: what commands say and change, that goals of every depth can be made, and that recipes have no cycle."""

from typing import Any

import pytest

from hone.environments.contract import EpisodeOver
from hone.environments.tasks import make
from hone.environments.text_craft import Book, Recipe, TextCraft, TextCraftEpisode, TextCraftParams, book

STICK = Recipe("oak stick", 4, (("oak plank", 2),))
PLANK = Recipe("oak plank", 3, (("oak log", 1),))
SMALL = Book((STICK, PLANK), "oak stick")


def said(one: TextCraftEpisode, action: str) -> tuple[str, bool, bool | None]:
    taken = one.step(action)
    return taken.observation.messages[0]["content"].strip(), taken.valid, taken.effect


def test_things_are_got_and_crafted_until_the_goal_is_made() -> None:
    one = TextCraftEpisode(SMALL, TextCraftParams())
    seen = one.reset()
    assert seen.messages[0]["content"] == (
        "Crafting commands:\ncraft 4 oak stick using 2 oak plank\ncraft 3 oak plank using 1 oak log\n\n"
        "Other commands: get COUNT ITEM, inventory.\nYour goal is to: craft oak stick.\n")
    assert seen.admissible == ["get 1 oak log", "inventory"]
    assert said(one, "get 1 oak plank") == ("Could not find oak plank.", False, False)
    assert said(one, "get 1 unicorn") == ("Could not find unicorn.", False, False)
    assert said(one, "get 0 oak log") == ("Could not find oak log.", False, False)
    assert said(one, "dance") == ("Could not execute dance.", False, False)
    assert said(one, PLANK.command) == (
        "Could not find enough items to craft oak plank: oak log.", False, False)
    assert said(one, " get 2  oak log") == ("Got 2 oak log.", True, True)
    for wrong in ("craft 3 oak plank using 2 oak log", "craft 4 oak plank using 1 oak log", "craft 1 gold rod using x"):
        assert said(one, wrong)[1:] == (False, False)
    assert said(one, PLANK.command) == ("Crafted 3 oak plank.", True, True)
    assert said(one, "inventory") == ("You carry 1 oak log, 3 oak plank.", True, False)
    last = one.step(STICK.command)
    assert (last.done, one.verify(), last.observation.item["verified"]) == (True, 1.0, 1.0)
    with pytest.raises(EpisodeOver):
        one.step("inventory")


BOX = Recipe("iron block", 1, (("oak plank", 3), ("birch plank", 1), ("iron rod", 1)))
TAGGED = Book((BOX,), "iron block", (("iron block", "oak plank"), ("iron block", "iron rod")))


def test_a_kind_accepts_each_of_its_things_and_its_own_word() -> None:
    one = TextCraftEpisode(TAGGED, TextCraftParams())
    assert "craft 1 iron block using 3 planks, 1 birch plank, 1 rods\n" in one.reset().messages[0]["content"]
    for command in ("get 2 oak plank", "get 2 birch plank", "get 1 iron rod"):
        assert said(one, command)[1]
    lacking = "Could not find enough items to craft iron block: oak plank."
    assert said(one, "craft 1 iron block using 3 oak plank, 1 birch plank, 1 iron rod")[0] == lacking
    for wrong in ("4 birch plank", "3 planks, 1 iron rod", "3 planks, 1 oak plank, 1 rods", "4 planks, 1 rods",
                  "2 planks, 1 birch plank, 1 rods", "3 rods, 1 birch plank, 1 planks"):
        assert "valid recipe" in said(one, f"craft 1 iron block using {wrong}")[0], wrong
    for right in ("2 oak plank, 2 birch plank, 1 iron rod", "3 planks, 1 birch plank, 1 rods",
                  "2 oak plank, 1 planks, 1 birch plank, 1 rods"):
        assert one.fork().step(f"craft 1 iron block using {right}").done, right
    assert said(one, "get 1 oak log")[1] is False
    one.step("craft 1 iron block using 3 planks, 1 birch plank, 1 rods")
    assert one.snapshot()["held"] == {"birch plank": 0, "iron block": 1, "iron rod": 0, "oak plank": 0}


def test_a_word_whose_things_are_not_held_is_what_lacks() -> None:
    one = TextCraftEpisode(TAGGED, TextCraftParams())
    one.step("get 1 birch plank")
    assert said(one, "craft 1 iron block using 3 planks, 1 birch plank, 1 rods")[0] == (
        "Could not find enough items to craft iron block: planks, rods.")


@pytest.mark.parametrize("seed", range(4))
def test_recipes_with_kinds_can_be_solved_and_differ_in_their_texts_alone(seed: int) -> None:
    params = TextCraftParams(depth=3, tags=0.5)
    one = TextCraft().episode(params, seed, None)
    text = one.reset().messages[0]["content"]
    for command in one.solution():
        assert one.step(command).valid, command
    assert one.verify() == 1.0
    plain = book(TextCraftParams(depth=3), seed)
    assert book(params, seed).recipes == plain.recipes
    assert "s," in text or "s\n" in text
    assert "tagged" not in TextCraft().content(TextCraftParams(), seed, None)


def test_an_episode_ends_with_its_turns() -> None:
    one = TextCraftEpisode(SMALL, TextCraftParams(turns=2))
    one.reset()
    assert [one.step("inventory").done, one.step("get 1 oak log").done, one.verify()] == [False, True, 0.0]


def depth(one: Book, item: str) -> int:
    recipes = {recipe.target: recipe for recipe in one.recipes}
    return 1 + max(depth(one, part) for part, _ in recipes[item].parts) if item in recipes else 0


@pytest.mark.parametrize("levels", range(1, 5))
def test_a_solution_makes_a_goal_of_the_asked_depth_with_its_last_command(levels: int) -> None:
    lengths = list[int]()
    for seed in range(30):
        params = TextCraftParams(depth=levels, turns=500)
        one = TextCraft().episode(params, seed, None)
        one.reset()
        assert depth(book(params, seed), book(params, seed).goal) == levels
        taken = [one.step(command) for command in one.solution()]
        assert [step.done for step in taken] == [False] * (len(taken) - 1) + [True]
        assert all(step.valid for step in taken)
        lengths.append(len(taken))
    assert min(lengths) > levels


def test_recipes_are_drawn_from_the_seed_and_have_a_target_each() -> None:
    one = book(TextCraftParams(depth=4, distractors=20), 3)
    assert one == book(TextCraftParams(depth=4, distractors=20), 3)
    assert len({recipe.target for recipe in one.recipes}) == len(one.recipes) == 27
    assert all(1 <= len(recipe.parts) <= 3 and all(1 <= n <= 4 for _, n in recipe.parts) for recipe in one.recipes)
    assert len({make("text_craft", {}, seed).content_hash for seed in range(100)}) == 100


@pytest.mark.parametrize("using", ["1 oak log, 1 oak log", "oak log", "", "1 oak log,"])
def test_ingredients_that_cannot_be_read_make_nothing(using: str) -> None:
    one = TextCraftEpisode(SMALL, TextCraftParams())
    one.reset()
    one.step("get 9 oak log")
    taken: Any = one.step(f"craft 3 oak plank using {using}")
    assert (taken.valid, taken.effect) == (False, False)
