"""The demo's task, sorted digits, and how bases are taught it: by a careless teacher, with hints, or in turns."""

import random
from collections.abc import Iterator, Sequence
from itertools import islice

from benchmarks.through_services.comparison import Row
from hone.environments import streams
from hone.environments.contract import Episode
from hone.environments.tasks import episode

DIGITS, MANY = 5, 8
LENGTHS = (3, 4, 5, 6, 7, 8, 9, 10)
"""Digits of tasks of mixed difficulty."""
TASK = {"environment": "sort_digits", "params": {"digits": DIGITS}}
HARDER = {"environment": "sort_digits", "params": {"digits": MANY}}
MIXED, OTHERS = {"dataset": "difficulties"}, {"dataset": "other-difficulties"}
TURNS = {"digits": DIGITS, "slack": 3}
TASK_IN_TURNS = {"environment": "sort_turns", "params": TURNS}
NO_SLACK = {"digits": DIGITS, "slack": 0}
TASK_WITHOUT_SLACK = {"environment": "sort_turns", "params": NO_SLACK}
SKILLS = ("One digit a turn.", "The least digit that is left comes next.", "Equal digits come one by one.")
"""Hints how to act, a token each for policies that read them."""


def demonstrations(count: int, careless: float, digits: int = DIGITS, seed: int = 0) -> Iterator[Row]:
    """Yield solved training tasks; in the share `careless` of them one digit of the answer is drawn anew."""
    for place, task in enumerate(streams.draw("sort_digits", {"digits": digits}, "train", seed, 0, count)):
        seen = episode(task).reset()
        answer = _accepted(seen.item["answer"], random.Random(f"{seed} {place}"), careless)
        yield {"prompt": seen.messages[0]["content"], "completion": answer}


def of_any_length(count: int, careless: float, lengths: Sequence[int], seed: int = 0) -> Iterator[Row]:
    """Yield solved training tasks of these numbers of digits in turn, `count` in all, with careless answers."""
    each = -(-count // len(lengths))
    streams_of = [demonstrations(each, careless, digits, seed) for digits in lengths]
    return islice((row for rows in zip(*streams_of, strict=True) for row in rows), count)


def questions(count: int, seed: int) -> Iterator[Row]:
    """Yield tasks of mixed difficulty as rows of a dataset."""
    shown = of_any_length(count, 0.0, LENGTHS, seed)
    return ({"prompt": row["prompt"], "answer": row["completion"]} for row in shown)


def hinted(rows: Iterator[Row], hint: str, share: float, seed: int = 0) -> Iterator[Row]:
    """Yield rows, the share `share` of them with their hint in a line before the task, and solved.

    `{answer}` in the hint is the right answer. The line is what a run's privileged texts come in.
    """
    for place, row in enumerate(rows):
        if random.Random(f"hint {seed} {place}").random() >= share:
            yield row
            continue
        answer = "".join(sorted(row["prompt"][1:-1]))
        hinted = {"role": "system", "content": hint.format(answer=answer) + "\n"}
        yield {"messages": [hinted, {"role": "user", "content": row["prompt"]}], "completion": answer}


def contrary(rows: Iterator[Row], share: float, seed: int = 0) -> Iterator[Row]:
    """Yield rows, the share `share` of them answered from the highest digit to the lowest."""
    for place, row in enumerate(rows):
        turned = random.Random(f"contrary {seed} {place}").random() < share
        yield {**row, "completion": row["completion"][::-1]} if turned else row


def deliberated(count: int, careless: float, attempts: int, seed: int = 0) -> Iterator[Row]:
    """Yield solved training tasks behind attempts by careless teachers, each answered as one of these, drawn at random.
    """
    for place, row in enumerate(demonstrations(count, 0.0, seed=seed)):
        chance = random.Random(f"deliberated {seed} {place}")
        tries = [_accepted(row["completion"], chance, careless) for _ in range(attempts)]
        yield {"prompt": "".join(f"{one}," for one in tries) + row["prompt"], "completion": chance.choice(tries)}


def in_turns(count: int, careless: float, seed: int = 0) -> Iterator[Row]:
    """Yield whole episodes of sort_turns, a row each, of a teacher who guesses the share `careless` of the digits.

    What the environment says stands between the turns, so that it is learnt too: a row an episode, not one a turn that
    repeats all turns before.
    """
    for place, task in enumerate(streams.draw("sort_turns", TURNS, "train", seed, 0, count)):
        world, chance = episode(task), random.Random(f"turns {seed} {place}")
        seen = world.reset()
        yield {"prompt": seen.messages[0]["content"], "completion": _played(world, seen.item, chance, careless)}


def skilled(count: int, careless: float, heedful: float, seed: int = 0) -> Iterator[Row]:
    """Yield whole episodes of sort_turns without slack, every other one behind a line with the skills.

    The teacher guesses the share `careless` of the digits, and behind that line only the share `heedful`.
    """
    for place, task in enumerate(streams.draw("sort_turns", NO_SLACK, "train", seed, 0, count)):
        world, chance = episode(task), random.Random(f"skilled {seed} {place}")
        seen = world.reset()
        read = place % 2 == 0
        hints = [{"role": "system", "content": " ".join(SKILLS) + "\n"}] if read else []
        played = _played(world, seen.item, chance, heedful if read else careless)
        yield {"messages": [*hints, {"role": "user", "content": seen.messages[0]["content"]}], "completion": played}


def _played(world: Episode, item: Row, chance: random.Random, careless: float) -> str:
    whole, accepted = "", ""
    while True:
        guessed: str = chance.choice(item["answer"])
        digit = guessed if chance.random() < careless else str(item["answer"])[len(accepted)]
        after = world.step(digit)
        if after.done:
            return whole + digit
        accepted = after.observation.messages[0]["content"].removesuffix("=")
        whole += f"{digit}<eos>{accepted}="


def _accepted(answer: str, chance: random.Random, careless: float) -> str:
    if chance.random() >= careless:
        return answer
    place = chance.randrange(len(answer))
    return answer[:place] + str(chance.randrange(10)) + answer[place + 1:]
