"""A policy learns what to write into an assistant's dictionary: should writes be paid by themselves? AMemGym.

The environment `changing_user` and the harness `remembering`, played in this process: 8 variables of 3 values, 5
periods of 3 changes, 6 questions of 2 variables, a dictionary that is written after each round. A bandit stands for the
model: it writes each fact that it hears with a probability, one for names that the dictionary lacks and one for names
that it has; answers to probes are those of an exact reader. It begins with 0.5 and 0.1: it rarely updates.
Groups of 8 samples of one user; a write's advantage is its reward, standardised over the group's same write.
`writes`: +1 for each variable that its session exposed and the probes found known, -1 for each that was lost.
`outcome`: every write of a sample gets the share of right answers of the whole life. All of it is Hone's extension:
the paper trains nothing. No language model is trained here. A test is on 20 other users.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from statistics import fmean, pstdev

from benchmarks.methods.experiment import Expectation, Experiment, Outcome
from benchmarks.methods.local_play import Asked, LocalPlay
from hone.environments.tasks import episode, make
from hone.remembering.phrases import pairs, plain_options

LIFE = {"variables": 8, "values": 3, "questions": 6, "required": 2, "periods": 5, "changes": 3, "rounds": 1}
MEMORY = {"memory": "awi", "flush": 2, "keep": 0, "written": 1.0, "lost": 1.0,
          "write_text": "{known}\nMessages:\n{messages}", "known_text": "{known}"}
GROUP, STEPS, RATE, TESTS, START = 8, 30, 0.3, 20, (0.0, math.log(0.1 / 0.9))
VARIANTS = ("untrained", "outcome", "writes")


@dataclass
class Writer:
    """A bandit of two logits: whether to write a name that the dictionary lacks, and one that it has."""

    logits: list[float]
    chance: random.Random
    taken: list[list[tuple[int, bool]]] = field(default_factory=list)  # by write: the logit asked, and the choice

    def answer(self, asked: Asked) -> str:
        """Answer a call of the harness."""
        if asked.kind == "reply":
            return "ok"
        text = "\n".join(one["content"] for one in asked.said)
        return self._written(text) if asked.kind == "write" else exact(text, asked.said[-1]["content"])

    def _written(self, text: str) -> str:
        known, _, heard = text.partition("Messages:")
        held, facts = pairs(known), pairs(heard)
        choices = [(int(name in held), self.chance.random() < probability(self.logits[int(name in held)]))
                   for name in facts]
        self.taken.append(choices)
        return " ".join(f"{name}={value}" for (name, value), (_, write) in zip(facts.items(), choices, strict=True)
                        if write)


def probability(logit: float) -> float:
    """Return the chance of a write."""
    return 1 / (1 + math.exp(-logit))


def exact(text: str, question: str) -> str:
    """Return the answer of a reader that uses what it is shown, and says 0 where that is not enough."""
    names, options = plain_options(question)
    values = tuple(pairs(text).get(name, "") for name in names)
    return str(options.index(values) + 1) if values in options else "0"


def sample(writer: Writer, seed: int) -> LocalPlay:
    """Play a user's whole life."""
    one = LocalPlay(episode(make("changing_user", {"life": LIFE, "words": "plain"}, seed)), "remembering", dict(MEMORY))
    play, text = one.playing(), None
    try:
        while True:
            text = writer.answer(next(play) if text is None else play.send(text))
    except StopIteration:
        return one


@cache
def run(variant: str, seed: int) -> Outcome:
    """Train a bandit; the curve is the memory score of a step's samples."""
    logits, curve = [*START], list[float]()
    for step in range(STEPS):
        writers = [Writer(logits, random.Random(f"{seed} {step} {place}")) for place in range(GROUP)]
        played = [sample(writer, 100_000 * seed + step) for writer in writers]
        curve.append(fmean(map(_score, played)))
        if variant != "untrained":
            logits = _ascended(logits, writers, [_rewards(one, variant) for one in played])
    tests = [sample(Writer(logits, random.Random(f"{seed} tests {place}")), 100_000 * seed + 50_000 + place)
             for place in range(TESTS)]
    return Outcome({
        "memory score": fmean(map(_score, tests)), "write failures": fmean(map(_unwritten, tests)),
        "writes new": probability(logits[0]), "updates": probability(logits[1])}, curve)


def _rewards(one: LocalPlay, variant: str) -> list[float]:
    """Return the reward of each write: its own, or the score of the whole life."""
    [seat, *_] = one.seats
    writes = [number for number, noted in seat.notes.items() if "write" in noted]
    if variant == "outcome":
        return [one.episode.verify() or 0.0] * len(writes)
    return [sum(seat.rules.get(number, {}).values()) for number in writes]


def _ascended(logits: Sequence[float], writers: Sequence[Writer], rewards: Sequence[Sequence[float]]) -> list[float]:
    """Return the logits after a step of policy gradient; advantages are within a write's group."""
    new = [*logits]
    for place in range(len(rewards[0])):
        mean, spread = fmean(given[place] for given in rewards), pstdev(given[place] for given in rewards)
        for writer, given in zip(writers, rewards, strict=True):
            for which, wrote in writer.taken[place]:
                advantage = (given[place] - mean) / (spread + 1e-6)
                new[which] += RATE / len(writers) * advantage * (wrote - probability(logits[which]))
    return new


def _score(one: LocalPlay) -> float:
    return fmean(noted["memory_score"] for noted in one.notes("period"))


def _unwritten(one: LocalPlay) -> float:
    return fmean(cause == "write" for noted in one.notes("period") for cause in noted["causes"])


MEMORY_WRITES = Experiment(
    "amemgym.md (in this platform)", "Does paying an assistant's writes by themselves teach it what to remember?",
    "memory score", VARIANTS, run,
    (Expectation("writes raise the memory score by more than 0.3 over no training",
                 lambda m: m["writes"]["memory score"] > m["untrained"]["memory score"] + 0.3),
     Expectation("writes that are paid by themselves reach more than the whole life's score",
                 lambda m: m["writes"]["memory score"] > m["outcome"]["memory score"]),
     Expectation("updates are learnt: more than 0.8", lambda m: m["writes"]["updates"] > 0.8)),
    seeds=3, across="step")
