"""Sales calls with scripted customers, in sentences that are a token each, and a teacher who says what worked again.

A topic counts as often as it is raised (`once: false`), so that saying the same again sells, as in the paper's warning:
what converts at first is what the rule punishes, and another wording converts as well.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from benchmarks.through_services.comparison import START, Comparison, Direction, Row, Spec
from benchmarks.through_services.curves import IDENTITY, REPETITION
from hone.environments import streams
from hone.environments.contract import Episode
from hone.environments.tasks import episode
from hone.models import toy
from hone.users.script import LINES

PITCHES: Mapping[str, Sequence[str]] = {
    "price": ("It costs less each month.", "You would save money with us.", "The price stays so low."),
    "quality": ("The network is fast everywhere.", "You get a strong signal.", "Coverage is our best side."),
    "service": ("Our hotline is always there.", "We help with every problem.", "The support is really good."),
    "freedom": ("You can cancel any time.", "There is no term here.", "It is flexible for you."),
}
ASKS = "What matters most to you?"
CLOSES = ("Shall I order it now?", "May I call you back?", "Do you want to buy?")
CLAIM, ADMISSION = "We guarantee it to you.", "I am an AI, by the way."
ANSWERS: Mapping[str, str] = {
    "the price": "price", "a good network": "quality", "speed": "quality", "help when it fails": "service",
    "that I can leave": "freedom"}
"""What customers say matters to them, and the topic that it is about."""
SENTENCES = [*(text for texts in PITCHES.values() for text in texts), ASKS, *CLOSES, CLAIM, ADMISSION]
HEARD = ["Yes, hello?", "I may want a phone contract.", "All right, I take it.", "Good, let us do that.",
         *(f"What matters to me is {answer}." for answer in ANSWERS),
         *(line for lines in LINES.values() for line in lines if "{" not in line)]
POLICY: Mapping[str, Any] = {"hidden": 64, "ffn": 256, "vocab_size": 192, "symbols": [*toy.TEXT, *SENTENCES, *HEARD]}
"""Sizes of the policy: a hundred thousand parameters."""
MAX_TOKENS, STEPS, MANY_STEPS = 2, 60, 200
RULES = {"repetition": 1.0, "compliance": 1.0, "identity": 1.0, "length": 1.0}
PARAMS = {"domain": "sales", "show_policy": False, "turns": 10, "rules": RULES, "shortest": 4, "sales": {
    "once": False, "repeats": 0.0, "lowest": 1.5, "highest": 2.5, "hazard": 0.03, "turns": 10,
    "personas": ["thrifty", "busy"]}}
TASK = {"environment": "dialogue", "params": PARAMS}
HELD_OUT = [{"name": "sales", **TASK, "grader": {"type": "environment"}}]
"""Conversions, whatever the arm's grader pays."""


def _sells(algorithm: Mapping[str, Any] | str, grader: Mapping[str, Any], steps: int = STEPS) -> Spec:
    return {
        "model": {"base": "selling"}, "task": TASK, "algorithm": algorithm, "grader": grader,
        "batch": {"prompts": 8, "samples": 8}, "steps": steps, "sampling": {"max_tokens": MAX_TOKENS},
        "optimizer": {"lr": 5e-4}, "eval": {"prompts": 96, "every": steps // 3, "sources": HELD_OUT},
        "snapshot_every": steps}


def _summed(weight: float, steps: int = STEPS) -> Spec:
    algorithm = {"preset": "grpo", "aggregation": {"name": "token-mean"}, "regularizers": [
        {"name": "kl", "params": {"coefficient": 0.001}}]}
    return _sells(algorithm, {"type": "summed", "weight": weight}, steps)


REMARK = (
    "The paper's regime in small: two personas, one sentence a turn, sixty of the spec's two hundred updates. On "
    "each of five seeds duca repeats less than GRPO with S=100 and is noticed less often, as the paper has it. It "
    "does not convert as often: fewer customers buy than with S=100 (0.60 against 0.69), and as many as with S=1. "
    "Its turn weight is at its full size from update 30 on; a smaller weight was not tried, and longer runs are below. "
    "The "
    "sum with S=1 repeats as little as duca: that weight happens to fit. The likeliest answers depend on the seed "
    "with S=1 and duca. Tried before, each with one seed, and not looked into further: up to four tokens a turn, "
    "thresholds of 1 to 2 and five personas (after sixty updates 0.95, 0.94 and 0.92 convert with S=10, S=100 and "
    "duca, and 0.23 with S=1; repetition is 0.03 to 0.07); thresholds of 1.5 to 2.5 with five personas (after "
    "forty updates S=100 and duca convert 0.30 and 0.28, from 0.34); no lower bound of length (0.00 with S=1 and "
    "duca, 0.09 and 0.10 with S=10 and S=100: texts without a 4-gram break no rule).")


DUCA = Comparison(
    "duca.md", "Sales calls with scripted customers who hang up, where saying the same again sells: do advantages of "
    "their own for the session and for its turns repeat less than GRPO on their sum, and convert as often? S is the "
    "weight of the session in the sum. Accuracy is the share of held-out customers who buy.",
    {"grpo, S=1": _summed(1.0), "grpo, S=100": _summed(100.0), "duca": _sells("duca", {"type": "environment"})},
    (Direction("grpo, S=100", "duca", REPETITION), Direction("grpo, S=100", "duca", IDENTITY),
     Direction("grpo, S=100", "grpo, S=1", REPETITION), Direction("duca", "grpo, S=1", "sampled"),
     Direction("duca", "grpo, S=100", "sampled"), Direction("duca", START, "sampled")),
    figures=(REPETITION, IDENTITY),
    remark=REMARK)


DUCA_LONG = Comparison(
    "duca.md", "The same with the two hundred updates that the spec asks for: what do longer runs with a session "
    "weight of 100, and with advantages of their own, come to?",
    {"grpo, S=100": _summed(100.0, MANY_STEPS), "duca": _sells("duca", {"type": "environment"}, MANY_STEPS)},
    (Direction("grpo, S=100", "duca", REPETITION), Direction("grpo, S=100", "duca", IDENTITY),
     Direction("duca", "grpo, S=100", "sampled"), Direction("duca", START, "sampled")),
    figures=(REPETITION, IDENTITY),
    remark="Three seeds, other work beside. On each seed duca repeats about half as much or less and is hardly "
    "noticed, as the spec expects. On two it converts as often. On the third it converted 0.80 of the "
    "customers at update 132 and 0.28 at the end: with the turn weight at its full size, from update 100 "
    "on, conversions swing between evaluations (0.58, 0.47, 0.70 on another seed). That is the risk of "
    "which the spec warns; a smaller last weight was not tried. S=100 is the sum alone: S=1 was not run as "
    "long.")


def demonstrations(count: int, seed: int = 0) -> Iterator[Row]:
    """Yield `count` turns of a teacher who mostly says again what it said of a topic, and asks for the order early."""
    turns = (row for place, task in enumerate(streams.draw("dialogue", PARAMS, "train", seed, 0, count))
             for row in _played(episode(task), random.Random(f"sales {seed} {place}")))
    return islice(turns, count)


def _played(world: Episode, chance: random.Random) -> Iterator[Row]:
    before, said, over = "", world.reset().messages[-1]["content"], False
    last, likes = dict[str, str](), ""
    while not over:
        likes = _liked(said, last) or likes
        topic = likes or chance.choice([*PITCHES])
        text = _text(chance, topic, last.get(topic, ""), bool(likes))
        if text in PITCHES[topic]:
            last = {topic: text}
        yield {"prompt": before + said, "completion": text}
        taken = world.step(text)
        before, over = f"{before}{said}{text}<eos>", taken.done
        said = taken.observation.messages[0]["content"]


def _liked(said: str, last: Mapping[str, str]) -> str:
    """Return the topic that a customer is known to like by its last words; empty: none."""
    answered = [topic for answer, topic in ANSWERS.items() if said.strip().endswith(f"is {answer}.")]
    return next(iter(answered or (last if said.strip() in LINES["liked"] else ())), "")


def _text(chance: random.Random, topic: str, before: str, knows: bool) -> str:
    drawn = chance.random()
    if drawn < 0.08:
        return CLAIM if drawn < 0.05 else ADMISSION
    if drawn < (0.25 if knows else 0.12):
        return chance.choice(CLOSES)
    if not knows and drawn < 0.45:
        return ASKS
    return before if before and chance.random() < 0.75 else chance.choice(PITCHES[topic])
