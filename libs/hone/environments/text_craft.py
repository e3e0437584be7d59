"""TextCraft: get and craft things in text until the goal is made. After TextCraft (ADaPT, arXiv 2311.05772).

MAP (arXiv 2605.13037) plays it. Recipes are drawn from a seed in place of the game's files, which is a reconstruction:
things of depth 0 can be got, and a thing of depth d has a recipe of one to three things below it, one of them of depth
d - 1. Other recipes distract. The commands:

    get 3 oak log          craft 4 oak plank using 1 oak log          inventory

With `tags` a recipe may name a kind of thing, such as planks: every thing of the kind is accepted, and so is the word
itself, which takes what is held. Then a recipe does not say which plank can be had.
"""

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import Field

from hone.environments.contract import (
    Entities,
    EnvironmentParams,
    EpisodeOver,
    Observation,
    Row,
    Transition,
)
from hone.environments.hashing import digest
from hone.environments.seeded import Seeded
from hone.spec.snapshots import fields_of

_MADE_OF = ("oak", "birch", "iron", "gold", "stone", "clay", "copper", "quartz")
_FORMS = ("log", "plank", "stick", "ingot", "block", "slab", "rod", "gear", "plate", "frame")
NAMES = tuple(f"{kind} {form}" for kind in _MADE_OF for form in _FORMS)
_GET = re.compile(r"get (\d{1,4}) (.+)")
_CRAFT = re.compile(r"craft (\d{1,4}) (.+?) using (.+)")
_PART = re.compile(r"(\d{1,4}) (.+)")
_WIDEST = 3
"""Different ingredients of a recipe; at most four of each are needed, and four are made."""


class TextCraftParams(EnvironmentParams):
    """How deep the goal's recipe is, what distracts from it, and how long an episode is."""

    depth: int = Field(2, ge=1, le=4, description="Depth of the goal's recipe: 1 needs only things that can be got.")
    distractors: int = Field(10, ge=0, le=20, description="Recipes that the goal does not need.")
    tags: float = Field(0.0, ge=0, le=1, description="Share of the ingredients that recipes write as a kind, such as "
                        "planks: any thing of the kind is accepted.")
    turns: int = Field(30, ge=1, le=500, description="Most commands of an episode. About a tenth of the goals of depth "
                       "4 need more than 30.")


class TextCraft(Seeded):
    """The policy reads recipes and a goal. The goal in its hands scores 1."""

    summary = "Crafting from seeds, after TextCraft: get and craft things by recipes until the goal is made."
    params = TextCraftParams
    harness = "map_then_act"

    def content(self, params: TextCraftParams, seed: int, item: Row | None) -> dict[str, Any]:
        return _content(book(params, seed))

    def episode(self, params: TextCraftParams, seed: int, item: Row | None) -> "TextCraftEpisode":
        return TextCraftEpisode(book(params, seed), params)


@dataclass(frozen=True)
class Recipe:
    """Result and ingredients of a crafting."""

    target: str
    count: int
    parts: tuple[tuple[str, int], ...]

    @property
    def command(self) -> str:
        """The command that carries it out once."""
        return self.written(frozenset())

    def written(self, tagged: frozenset[tuple[str, str]]) -> str:
        """Return the command as it is shown, where these ingredients of targets are written as their kind."""
        parts = (f"{n} {tag_of(part) if (self.target, part) in tagged else part}" for part, n in self.parts)
        return f"craft {self.count} {self.target} using {', '.join(parts)}"


@dataclass(frozen=True)
class Book:
    """The recipes in the order in which they are shown, and the goal."""

    recipes: tuple[Recipe, ...]
    goal: str
    tagged: tuple[tuple[str, str], ...] = ()  # targets, each with an ingredient that is written as its kind


def tag_of(item: str) -> str:
    """Return the word for the kind of a thing: planks for oak plank."""
    return f"{item.rpartition(' ')[2]}s"


def _content(one: Book) -> dict[str, Any]:
    """Return a book as JSON; without tags it is that of earlier releases."""
    return {name: value for name, value in asdict(one).items() if name != "tagged" or value}


def book(params: TextCraftParams, seed: int) -> Book:
    """Return the recipes and the goal of a seed's episode: a graph without cycles."""
    chance = random.Random(f"text_craft {seed}")
    names = list(NAMES)
    chance.shuffle(names)
    levels = [[names.pop() for _ in range(4)]]
    recipes = list[Recipe]()
    for depth in range(params.depth):
        count = 1 if depth == params.depth - 1 else 2
        levels.append([names.pop() for _ in range(count)])
        recipes += [_recipe(chance, target, levels[:-1]) for target in levels[-1]]
    goal = levels[-1][0]
    recipes += [_recipe(chance, names.pop(), levels[:-1]) for _ in range(params.distractors)]
    chance.shuffle(recipes)
    drawn = random.Random(f"text_craft tags {seed}")
    return Book(tuple(recipes), goal, tuple((recipe.target, part) for recipe in recipes for part, _ in recipe.parts
                                            if params.tags and drawn.random() < params.tags))


def _recipe(chance: random.Random, target: str, levels: Sequence[Sequence[str]]) -> Recipe:
    """Return a recipe of one thing of the highest level, and up to two of any."""
    first = chance.choice(levels[-1])
    others = [name for level in levels for name in level if name != first]
    parts = [first, *chance.sample(others, chance.randint(0, min(_WIDEST - 1, len(others))))]
    return Recipe(target, chance.randint(1, 4), tuple((part, chance.randint(1, 4)) for part in parts))


class TextCraftEpisode:
    """One goal. Its state is what was got and crafted."""

    def __init__(self, one: Book, params: TextCraftParams) -> None:
        self._book, self._params = one, params
        self._recipes = {recipe.target: recipe for recipe in one.recipes}
        self._tagged = frozenset(one.tagged)
        self._known = {*self._recipes, *(part for recipe in one.recipes for part, _ in recipe.parts)}
        self._held, self._turns = Counter[str](), 0

    def reset(self) -> Observation:
        self._held, self._turns = Counter(), 0
        listed = "\n".join(recipe.written(self._tagged) for recipe in self._book.recipes)
        return self._seen(f"Crafting commands:\n{listed}\n\nOther commands: get COUNT ITEM, inventory.\n"
                          f"Your goal is to: craft {self._book.goal}.\n")

    def step(self, action: str) -> Transition:
        if self._over():
            raise EpisodeOver("the goal is made, or the turns are used up")
        before, self._turns = Counter(self._held), self._turns + 1
        valid, said = self._after(" ".join(action.split()))
        return Transition(self._seen(f"{said}\n"), self._over(), valid, effect=self._held != before)

    def snapshot(self) -> dict[str, Any]:
        return {"held": dict(sorted(self._held.items())), "turns": self._turns}

    def restore(self, snapshot: dict[str, Any]) -> None:
        given = fields_of(snapshot, {"held": dict[str, int], "turns": int})
        self._held, self._turns = Counter(given["held"]), given["turns"]

    def fork(self) -> "TextCraftEpisode":
        other = TextCraftEpisode(self._book, self._params)
        other.restore(self.snapshot())
        return other

    def state_hash(self) -> str:
        return digest({**_content(self._book), **self.snapshot()})

    def verify(self) -> float | None:
        """Return 1 when the goal is held, else 0."""
        return float(self._held[self._book.goal] > 0)

    def solution(self) -> list[str]:
        """Return commands that make the goal from the start, for demonstrations."""
        held, commands = Counter[str](), list[str]()
        self._made(self._book.goal, 1, held, commands)
        return commands

    def _made(self, item: str, count: int, held: Counter[str], commands: list[str]) -> None:
        """Add the commands after which at least `count` of an item are held."""
        recipe = self._recipes.get(item)
        missing = count - held[item]
        if missing <= 0:
            return
        if recipe is None:
            commands.append(f"get {missing} {item}")
            held[item] += missing
            return
        for _ in range(-(-missing // recipe.count)):
            while any(held[part] < needed for part, needed in recipe.parts):  # one part may be made of another
                for part, needed in recipe.parts:
                    self._made(part, needed, held, commands)
            held.subtract(dict(recipe.parts))
            held[item] += recipe.count
            commands.append(recipe.command)

    def _after(self, command: str) -> tuple[bool, str]:
        """Carry a command out; return whether it was possible, and what is said."""
        if command == "inventory":
            held = [f"{count} {item}" for item, count in sorted(self._held.items()) if count]
            return True, f"You carry {', '.join(held) or 'nothing'}."
        if found := _GET.fullmatch(command):
            return self._got(int(found[1]), found[2])
        if found := _CRAFT.fullmatch(command):
            return self._crafted(int(found[1]), found[2], found[3])
        return False, f"Could not execute {command[:100]}."

    def _got(self, count: int, item: str) -> tuple[bool, str]:
        if count < 1 or item in self._recipes or item not in self._known:
            return False, f"Could not find {item[:100]}."
        self._held[item] += count
        return True, f"Got {count} {item}."

    def _crafted(self, count: int, target: str, using: str) -> tuple[bool, str]:
        recipe, given = self._recipes.get(target), _parts(using)
        spent = None if recipe is None or count != recipe.count else self._spent(recipe, Counter(given))
        if spent is None:
            return False, f"Could not find a valid recipe for {target[:100]}."
        missing = [item for item, needed in spent.items() if self._held[item] < needed]
        if missing:
            return False, f"Could not find enough items to craft {target}: {', '.join(missing)}."
        self._held.subtract(spent)
        self._held[target] += count
        return True, f"Crafted {count} {target}."

    def _spent(self, recipe: Recipe, given: Counter[str]) -> Counter[str] | None:
        """Return the ingredients that a recipe takes of the given ingredients; None where they do not fit the recipe.

        A kind's own word stands for what is held of it; what lacks then is named by the word.
        """
        if min(given.values(), default=0) < 1:
            return None
        exact = Counter({part: n for part, n in recipe.parts if (recipe.target, part) not in self._tagged})
        kinds = Counter[str]()
        for part, needed in recipe.parts:
            if part not in exact:
                kinds[tag_of(part)] += needed
        left = given - exact
        found = Counter[str]()
        for item, n in left.items():
            found[item if item in kinds else tag_of(item)] += n
        if exact - given or found != kinds:
            return None
        named = Counter({item: n for item, n in left.items() if item not in kinds})
        spent = exact + named
        for tag in kinds & left:
            spent += self._of_kind(tag, left[tag], spent)
        return spent

    def _of_kind(self, tag: str, needed: int, spent: Counter[str]) -> Counter[str]:
        taken = Counter[str]()
        for item in sorted(item for item in self._held if tag_of(item) == tag):
            taken[item] = min(needed - taken.total(), max(0, self._held[item] - spent[item]))
        return +taken if taken.total() == needed else Counter({tag: needed})

    def _over(self) -> bool:
        return self._held[self._book.goal] > 0 or self._turns >= self._params.turns

    def _admissible(self) -> list[str]:
        """Return the possible commands; of getting, the command for one of each thing."""
        getting = [f"get 1 {item}" for item in sorted(self._known - self._recipes.keys())]
        crafting = [recipe.command for recipe in self._book.recipes
                    if all(self._held[part] >= needed for part, needed in recipe.parts)]
        return [*crafting, *getting, "inventory"]

    def _seen(self, said: str) -> Observation:
        item = {"goal": self._book.goal, "verified": self.verify()}
        return Observation(
            [{"role": "user", "content": said}], item, {"type": "environment"}, self._params.turns - self._turns,
            self.state_hash(), admissible=self._admissible(), entities=Entities(sorted(self._known), list(NAMES)))


def _parts(using: str) -> Mapping[str, int]:
    """Return the ingredients of a command; {} where they cannot be read, or one stands twice."""
    found = [_PART.fullmatch(part.strip()) for part in using.split(",")]
    named = {one[2]: int(one[1]) for one in found if one}
    return named if len(named) == len(found) else {}
