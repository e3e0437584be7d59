"""Lives of changing users in words that are a token each, and a teacher who seldom writes down what changes.

The environment `changing_user` with a dictionary that is written after each round (`awi`). The teacher reads exactly:
it repeats the pair that is asked for and the option that has its value, and answers 0 where its dictionary lacks the
name. What a run has to learn is to write, and above all to overwrite.
"""

import random
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

from benchmarks.methods.local_play import Asked, LocalPlay
from benchmarks.through_services.comparison import START, Comparison, Direction, Row, Spec
from hone.environments import streams
from hone.environments.tasks import episode
from hone.models import toy
from hone.remembering.phrases import pairs, plain_options
from hone.remembering.vocabulary import VARIABLES, values

LIFE = {"variables": 4, "values": 3, "questions": 3, "required": 1, "periods": 2, "changes": 2, "options": 3,
        "rounds": 1}
PARAMS = {"life": LIFE, "words": "plain"}
TASK = {"environment": "changing_user", "params": PARAMS}
HELD_OUT = [{"name": "lives", **TASK, "grader": {"type": "environment"}}]
MEMORY = {"memory": "awi", "flush": 2, "keep": 0, "known_text": "{known}", "write_text": "{known}|{messages}>"}
NOTHING, REPLY = "-", "ok"
_PAIRS = [(name, value) for name in VARIABLES for value in values(name, LIFE["values"])]
SYMBOLS = [*(f"{name}={value}" for name, value in _PAIRS), *(f"{name}?" for name in VARIABLES),
           *(f" {place}:{value}" for _, value in _PAIRS for place in (1, 2, 3)),
           *(f'{{"a":{place}}}' for place in range(4)), "user: ", "assistant: ", REPLY]
"""What lives, the memory and the policy write, a token each."""
POLICY: Mapping[str, Any] = {"hidden": 64, "ffn": 256, "vocab_size": 384, "symbols": [*toy.TEXT, *SYMBOLS]}
"""Sizes of the policy: a hundred thousand parameters."""
MAX_TOKENS, STEPS = 6, 24
_SHOWN = {"reply": 1 / 8, "write": 1.0}
"""Shares of the calls of a kind that demonstrations have."""


def harness(**paid: float) -> Spec:
    """Return the harness of a run, with what it pays."""
    return {"name": "remembering", "params": {**MEMORY, **paid}}


def demonstrations(count: int, new: float, update: float, seed: int = 0) -> Iterator[Row]:
    """Yield `count` calls of a teacher who writes a name that its dictionary lacks with the chance `new`, and one that
    it has with the chance `update`. Half of its answers are shown, and one in eight of its replies, all alike.
    """
    rows = (row for place, task in enumerate(streams.draw("changing_user", PARAMS, "train", seed, 0, count))
            for row in _lived(LocalPlay(episode(task), "remembering", MEMORY), new, update,
                              random.Random(f"remembering {seed} {place}")))
    return islice(rows, count)


def _lived(one: LocalPlay, new: float, update: float, chance: random.Random) -> list[Row]:
    play, text = one.playing(), None
    with suppress(StopIteration):
        while True:
            text = _taught(next(play) if text is None else play.send(text), new, update, chance)
    return [{"messages": call.said, "completion": call.answer} for call in one.calls
            if chance.random() < _SHOWN.get(call.kind, 1 / 2)]


def _taught(asked: Asked, new: float, update: float, chance: random.Random) -> str:
    if asked.kind == "reply":
        return REPLY
    text = "\n".join(one["content"] for one in asked.said)
    if asked.kind != "write":
        return _read(pairs(text), asked.said[-1]["content"])
    known, _, heard = text.partition("|")
    held = pairs(known)
    return " ".join(f"{name}={value}" for name, value in pairs(heard).items()
                    if chance.random() < (update if name in held else new)) or NOTHING


def _read(held: Mapping[str, str], question: str) -> str:
    """Say the pair that is asked for, the option that has its value, and the answer; 0 where there is no such pair."""
    [name], options = plain_options(question)
    places = [place for place, (value,) in enumerate(options, 1) if value == held.get(name)]
    return f'{name}={held[name]} {places[0]}:{held[name]}{{"a":{places[0]}}}' if places else '{"a":0}'


def _lives(algorithm: Mapping[str, Any], **paid: float) -> Spec:
    return {
        "model": {"base": "remembering"}, "task": TASK, "harness": harness(**paid), "algorithm": algorithm,
        "batch": {"prompts": 4, "samples": 8}, "steps": STEPS, "sampling": {"max_tokens": MAX_TOKENS},
        "optimizer": {"lr": 4e-4}, "eval": {"prompts": 32, "every": 8}, "snapshot_every": STEPS}


_KL = {"aggregation": {"name": "token-mean"}, "regularizers": [{"name": "kl", "params": {"coefficient": 0.01}}]}
REMEMBERING = Comparison(
    "amemgym.md", "Does a language model learn what to write into its memory of a user, by the score of the whole "
    "life, or by pay for each write?",
    {"outcome": _lives({"preset": "grpo", **_KL}),
     "writes": _lives({"preset": "grpo", "advantage": {"name": "step_pooled"}, **_KL}, written=1.0, lost=1.0),
     "gigpo": _lives({"preset": "gigpo", **_KL}, written=1.0, lost=1.0)},
    (Direction("outcome", START, "sampled"), Direction("writes", START, "sampled"),
     Direction("writes", "outcome", "sampled"), Direction("gigpo", START, "sampled"),
     Direction("gigpo", "outcome", "sampled")),
    remark="Where each write is paid for what it kept, samples and likeliest answers rise on each of three seeds, with "
    "gigpo the most: failures of writing fall from 0.49 to 0.25, and the memory score rises from 0.16 to 0.39. By the "
    "score of the whole life alone the likeliest answers rise on each seed, and samples by no more than seeds differ "
    "by. Failures to use what is known become more, as more is known; nothing here pays answers. The directions of "
    "gigpo were written down after the runs. Twenty-four updates of 32 lives are few: who writes everything scores 1. "
    "The policy answers in steps, `city=Rome 2:Rome{\"a\":2}`. Without them, looked into outside the services, three "
    "hundred supervised steps did not teach it to find a value among options, with four names neither.")
