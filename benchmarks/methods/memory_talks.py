"""Three assistants, judged by talks of their own and by recorded ones: is the order the same? AMemGym.

All answer exactly from the messages that they see: the last 6, or the last 16 (`terse, 16`). The terse ones say "ok";
`restating` says in each reply all pairs that it sees, so that its own words keep old facts in its window. 12 users a
run, 8 variables of 3 values, 6 periods of 3 changes, two rounds a session. On-policy each of them talks; off-policy
all hear the talk of one of them. Ours, after the paper's point that what an assistant remembers depends on its own
replies; no model.
"""

from collections.abc import Sequence
from functools import cache
from typing import Literal

from benchmarks.methods.experiment import Expectation, Experiment, Outcome
from benchmarks.methods.memory_writes import exact
from hone.remembering.examination import Examined, examined
from hone.remembering.generator import life
from hone.remembering.lives import Life, Sizes
from hone.remembering.memories import RememberingModel, Window
from hone.remembering.phrases import PHRASES, pairs
from hone.remembering.scores import report
from hone.remembering.talks import Message, Talk

USERS, PLAIN = 12, PHRASES["plain"]
SIZES = Sizes(variables=8, questions=6, periods=6, changes=3, first_rounds=2)
WINDOWS = {"terse, 6": 6, "terse, 16": 16, "restating": 6}


@cache
def run(style: str, seed: int) -> Outcome:
    """Examine an assistant on- and off-policy; the curve is its memory score on-policy after each period."""
    lives = [(number, life(SIZES, number, PLAIN)) for number in range(USERS * seed, USERS * (seed + 1))]
    talked = {other: [_lived(other, *one) for one in lives] for other in WINDOWS}
    heard = {other: [_lived(style, *one, recorded=own.talk) for one, own in zip(lives, talked[other], strict=True)]
             for other in WINDOWS}
    own = report([result for one in talked[style] for result in one.results])
    figures = {"on-policy": _score(talked[style]), "off-policy, terse talk": _score(heard["terse, 6"]),
               "off-policy, restating talk": _score(heard["restating"])}
    return Outcome(figures, [*own.curve.values()])


def _lived(style: str, seed: int, user: Life, recorded: Talk | None = None) -> Examined:
    def speak(kind: Literal["reply", "write", "probe", "evolve"], said: list[Message]) -> str:
        text = "\n".join(str(one["content"]) for one in said)
        if kind == "probe":
            return exact(text, str(said[-1]["content"]))
        return " ".join(f"{name}={value}" for name, value in pairs(text).items()) if style == "restating" else "ok"

    assistant = RememberingModel(Window(WINDOWS[style]), speak)
    return examined(assistant, user, PLAIN, seed, SIZES.first_rounds, SIZES.rounds, recorded=recorded)


def _score(lived: Sequence[Examined]) -> float:
    found = report([result for one in lived for result in one.results]).memory_score
    assert found is not None
    return found


MEMORY_TALKS = Experiment(
    "amemgym.md (c)", "Does a recorded talk rank assistants as their own do?", "memory score", tuple(WINDOWS), run,
    (Expectation("on-policy, restating remembers more than the longer window",
                 lambda m: m["restating"]["on-policy"] > m["terse, 16"]["on-policy"] + 0.1),
     Expectation("off-policy, by a terse talk, the order of the two is the other one",
                 lambda m: m["restating"]["off-policy, terse talk"] < m["terse, 16"]["off-policy, terse talk"] - 0.1),
     Expectation("off-policy, by the restating talk, the short window looks as good as the one that restates",
                 lambda m: m["terse, 6"]["off-policy, restating talk"] == m["restating"]["on-policy"])),
    seeds=3, across="period")
