"""Assistants of known memories, examined over eleven periods: does the diagnosis name what each lacks? AMemGym.

60 users a run, 16 variables of 3 values, 4 changes a period, 10 questions of 2 variables; a question whose values are
all known is answered right with 0.9. `dictionary` keeps all, `window` the last 12 facts, `forgetful` writes each fact
with 0.7, `stubborn` never updates. The table is the spec's; how a rule guesses is ours. Pure Python, no model.
"""

from functools import cache

from benchmarks.methods.experiment import Expectation, Experiment, Means, Outcome
from benchmarks.methods.rule_memories import RULES, RuleAssistant
from hone.remembering.examination import examined
from hone.remembering.generator import life
from hone.remembering.lives import Sizes
from hone.remembering.phrases import PHRASES
from hone.remembering.scores import PeriodResult, report

USERS, SIZES, READER = 60, Sizes(), 0.9
TABLE = {
    "dictionary": (0.901, 0.0, 0.0, 0.099, 1.00), "window": (0.664, 0.090, 0.211, 0.035, 0.65),
    "forgetful": (0.617, 0.333, 0.0, 0.050, 0.58), "stubborn": (0.246, 0.722, 0.0, 0.032, 0.04)}
"""Accuracy, write, read, utilization and memory score of the spec's reference run."""
FIGURES = ("accuracy", "write", "read", "utilization", "memory score")


@cache
def run(variant: str, seed: int) -> Outcome:
    """Examine a rule on users of its own; the curve is the memory score after each period."""
    rule = next(one for one in RULES if one == variant)
    plain, results = PHRASES["plain"], list[PeriodResult]()
    for number in range(USERS * seed, USERS * (seed + 1)):
        one = life(SIZES, number, plain)
        results += examined(
            RuleAssistant(rule, number), one, plain, number, SIZES.first_rounds, SIZES.rounds, READER).results
    found = report(results)
    assert found.memory_score is not None
    values = (found.accuracy, found.write, found.read, found.utilization, found.memory_score)
    return Outcome(dict(zip(FIGURES, values, strict=True)), [*found.curve.values()])


def _near(means: Means) -> bool:
    return all(abs(means[rule][name] - expected) <= 0.03
               for rule, row in TABLE.items() for name, expected in zip(FIGURES, row, strict=True))


MEMORY_RULES = Experiment(
    "amemgym.md (b)", "Do memory score and diagnosis tell assistants of known memories apart?", "memory score",
    RULES, run,
    (Expectation("every figure of the spec's table within 0.03", _near),
     Expectation("memory score: dictionary > window > forgetful > stubborn",
                 lambda m: m["dictionary"]["memory score"] > m["window"]["memory score"]
                 > m["forgetful"]["memory score"] > m["stubborn"]["memory score"]),
     Expectation("the window fails by reading, who forgets to write and who never updates by writing",
                 lambda m: m["window"]["read"] > m["window"]["write"]
                 and all(m[rule]["write"] > 5 * m[rule]["read"] for rule in ("forgetful", "stubborn")))),
    seeds=3, across="period")
