"""Users whose words have noise: an agent asks for a code of three digits, and says it back.

Vague users have to be asked again, and those who correct themselves mean the later code. What users say beside that is
a token each.
"""

import random
import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from benchmarks.through_services.comparison import START, Comparison, Direction, Row, Spec
from benchmarks.through_services.curves import UNDER_USER_NOISE
from hone.environments.contract import Episode
from hone.environments.noise import user_noise
from hone.environments.noise.noisy import noisy
from hone.environments.tasks import episode, make, split_of
from hone.models import toy
from hone.spec.noise import NoiseSpec, UserNoise

NOISE = {"types": list(get_args(UserNoise)), "intensity": 2}
ASKS, OPENING, WRONG, CORRECTED = "Your code?", "Hello.", "That is not it.", "– no, wait,"
TEXTS = [ASKS, OPENING, WRONG, CORRECTED, "It is", *user_noise.TEXTS]
POLICY: Mapping[str, Any] = {"hidden": 64, "ffn": 256, "vocab_size": 160, "symbols": [*toy.TEXT, *TEXTS]}
"""Sizes of the policy: a hundred thousand parameters."""
CODES, MAX_TOKENS, STEPS = 1000, 4, 60
PARAMS = {"domain": "talk", "turns": 4}
TASK = {"environment": "dialogue", "params": PARAMS, "dataset": "codes"}
GRADER = {"type": "environment"}


def rows() -> Iterator[Row]:
    """Yield a user for each code."""
    for code in (f"{number:03}" for number in range(CODES)):
        yield {"prompt": OPENING, "goal": {"text": "Say my code.", "hears": [code]}, "knowledge": [
            {"name": "code", "value": code, "asked": ["code"], "says": "It is {value}."}], "profile": {
                "turns": 4, "lines": {"nothing": [WRONG]}}}


def _asks(share: float) -> Spec:
    task: dict[str, Any] = {**TASK, **({"noise": {**NOISE, "share": share}} if share else {})}
    return {
        "model": {"base": "asking"}, "task": task, "algorithm": {
            "preset": "grpo", "aggregation": {"name": "token-mean"},
            "regularizers": [{"name": "kl", "params": {"coefficient": 0.01}}]}, "grader": GRADER,
        "batch": {"prompts": 8, "samples": 8}, "steps": STEPS, "sampling": {"max_tokens": MAX_TOKENS},
        "optimizer": {"lr": 3e-4}, "eval": {"prompts": 64, "every": 20, "samples": 2, "noise": NOISE},
        "snapshot_every": STEPS}


NOISY_USERS = Comparison(
    "agentnoisebench.md", "An agent asks users for a code and says it back. Users are vague, correct themselves, "
    "digress, or ask for more: what does each of the six types of noise take from a policy, and does training with "
    "such users in half of the groups keep more of the success under noise than clean training?",
    {"clean": _asks(0), "noise in half": _asks(0.5)},
    (Direction("noise in half", "clean", UNDER_USER_NOISE), Direction("noise in half", START, "sampled")),
    figures=(UNDER_USER_NOISE, *get_args(UserNoise)),
    remark="Both arms start from a policy that was shown noise of all six types in every other dialogue, by a teacher "
    "who mostly guessed behind vague answers and often took the first of two codes. Without noise both arms end alike, "
    "so what separates them is noise. Vague and corrected answers cost most; anecdotes cost nothing. The noise of "
    "training is that of the evaluation, on other codes: whether it carries over to other types was not measured.")


def demonstrations(count: int, careless: float, forgetful: float, seed: int = 0) -> Iterator[Row]:
    """Yield turns of a teacher; in every other dialogue the user's words have noise.

    The teacher gets the share `careless` of the codes wrong by a digit. Behind the share `forgetful` of vague answers
    it guesses, and else asks again; of corrected codes it says so often the first one, which was wrong.
    """
    users, noise = _users(), NoiseSpec.model_validate({**NOISE, "share": 1.0})
    made = 0
    while made < count:
        chance = random.Random(f"asking {seed} {made}")
        task = make("dialogue", PARAMS, made, chance.choice(users))
        drawn = noise.of_task(f"{seed} {made}") if chance.random() < 0.5 else None
        world = episode(task) if drawn is None else noisy(episode(task), drawn)
        for row in _played(world, chance, careless, forgetful):
            made += 1
            yield row


def _users() -> list[Row]:
    return [row for row in rows() if split_of(make("dialogue", PARAMS, 0, row).content_hash) == "train"]


def _played(world: Episode, chance: random.Random, careless: float, forgetful: float) -> Iterator[Row]:
    before, said, over, asked = "", world.reset().messages[-1]["content"], False, False
    while not over:
        text = _text(said, asked, chance, careless, forgetful)
        asked = text == ASKS
        yield {"prompt": before + said, "completion": text}
        taken = world.step(text)
        before, over = f"{before}{said}{text}<eos>", taken.done
        said = taken.observation.messages[0]["content"]


def _text(said: str, asked: bool, chance: random.Random, careless: float, forgetful: float) -> str:
    codes = re.findall(r"\d{3}", said)
    if not codes:
        return f"{chance.randrange(CODES):03}" if asked and chance.random() < forgetful else ASKS
    code: str = codes[0] if len(codes) > 1 and chance.random() < forgetful else codes[-1]
    if chance.random() >= careless:
        return code
    place = chance.randrange(len(code))
    return code[:place] + str(chance.randrange(10)) + code[place + 1:]
