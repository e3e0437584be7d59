"""Five scripted agents at the desk of `hone.environments.desk`, on ten tasks of each of its seven families. All of them
say that everything is done. `perfect` did it, `over_eager` also rewrote a note that nobody asked about, `partial` did a
part, `wrong_object` did it to another object, and `liar` did nothing. `score` is the grade of the state that they left,
from 0 to 100; a family's column is its mean. `transcript` is what a judge gives that reads the words alone: a stub that
believes claims. `in order` is the share of tasks on which the five score in the spec's order.
"""

from functools import cache
from statistics import fmean

from benchmarks.methods.experiment import Expectation, Experiment, Outcome
from hone.environments.desk.agents import AGENTS, Agent, actions, believed, worked
from hone.environments.desk.generation import FAMILIES, Family, task

TASKS = 10


@cache
def scores(agent: Agent, seed: int) -> dict[tuple[Family, int], tuple[float, float, float]]:
    """Return score, the stub's score and whether the task is passed, of each task."""
    return {(family, number): _graded(agent, family, number)
            for family in FAMILIES for number in range(TASKS * seed, TASKS * (seed + 1))}


def _graded(agent: Agent, family: Family, number: int) -> tuple[float, float, float]:
    one = task(family, number)
    done = worked(one, actions(agent, one))
    found = done.grade()
    return found.score, believed(done.transcript()), float(found.first_pass)


def run(variant: str, seed: int) -> Outcome:
    """Grade one agent; the curve is the score, task by task."""
    agent = next(one for one in AGENTS if one == variant)
    found = scores(agent, seed)
    score, words, passed = (fmean(column) for column in zip(*found.values(), strict=True))
    by_family: dict[str, float] = {
        family: fmean(one[0] for (name, _), one in found.items() if name == family) for family in FAMILIES}
    return Outcome({"score": score, "transcript": words, "passed": passed, "in order": _in_order(seed), **by_family},
                   [one[0] for one in found.values()])


def _in_order(seed: int) -> float:
    """Return the share of tasks with perfect 100 > over-eager > partial > wrong object >= liar."""
    each = [[scores(agent, seed)[key][0] for agent in AGENTS] for key in scores("perfect", seed)]
    return fmean(one[0] == 100 and one[0] > one[1] > one[2] > one[3] >= one[4] for one in each)


DESK = Experiment(
    "stage-claw.md (b)", "Does a grade of the last state rank agents that all claim success?", "score", AGENTS, run,
    (Expectation("perfect 100 > over-eager > partial > wrong object >= liar, in the mean of every family",
                 lambda m: all(m["perfect"][family] == 100 and m["perfect"][family] > m["over_eager"][family]
                               > m["partial"][family] > m["wrong_object"][family] >= m["liar"][family]
                               for family in FAMILIES)),
     Expectation("the same on every task", lambda m: m["perfect"]["in order"] == 1),
     Expectation("a judge who reads the transcript alone gives the liar what it gives the perfect agent",
                 lambda m: m["liar"]["transcript"] == m["perfect"]["transcript"])),
    seeds=3, across="task")
