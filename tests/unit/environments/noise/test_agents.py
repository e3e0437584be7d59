"""An agent that trusts its tools loses by noise; one that asks again, or has them repaired, pays with steps."""

from collections.abc import Callable
from statistics import fmean

import pytest

from hone.environments.contract import Task
from hone.environments.tasks import episode, make
from hone.environments.tools import ToolCall
from hone.spec.noise import TaskNoise

EPISODES = 300
ROWS = [(1100, "ann"), (2200, "bob"), (3300, "cyd")]
ROW = {"prompt": "Read three numbers and write their sum.", "answer": "6600", "database":
       "CREATE TABLE t (n, who); INSERT INTO t VALUES " + ", ".join(map(str, ROWS))}
Read = Callable[[str], str]


def naive(read: Read) -> int:
    return sum(_number(read(who)) for _, who in ROWS)


def robust(read: Read) -> int:
    return sum(_agreed(read, who) for _, who in ROWS)


def _agreed(read: Read, who: str) -> int:
    """Ask until an answer has the expected form and came twice."""
    seen = dict[int, int]()
    for _ in range(6):
        answer = read(who)
        number = _number(answer) if answer.strip().isdigit() else 0
        seen[number] = seen.get(number, 0) + bool(number)
        if seen[number] == 2:
            return number
    return 0


def _number(answer: str) -> int:
    return int(answer) if answer.strip().isdigit() else 0


def played(agent: Callable[[Read], int], kind: str | None, seed: int) -> tuple[float, int]:
    """Return the score of an episode, and its calls."""
    made = make("sqlite", {"turns": 30}, 0, ROW)
    noise = TaskNoise(type=kind, seed=seed, most=2).model_dump() if kind else None  # type: ignore[arg-type]
    one, calls = episode(Task(**{**made.__dict__, "noise": noise})), 0
    one.reset()

    def read(who: str) -> str:
        nonlocal calls
        calls += 1
        sql = f"SELECT n FROM t WHERE who = '{who}'"
        return str(one.step(ToolCall("query", {"sql": sql}).action()).observation.messages[-1]["content"])

    one.step(str(agent(read)))
    return one.verify() or 0.0, calls


@pytest.mark.parametrize("kind", ["failure", "incomplete", "error"])
def test_trust_costs_success_and_care_costs_steps(kind: str) -> None:
    assert played(naive, None, 0) == (1.0, 3)
    trusting = [played(naive, kind, seed) for seed in range(EPISODES)]
    careful = [played(robust, kind, seed) for seed in range(EPISODES)]
    assert fmean(score for score, _ in trusting) == pytest.approx(0.3**3, abs=0.03), "three clean draws"
    assert fmean(score for score, _ in careful) == 1.0
    assert 6 < fmean(calls for _, calls in careful) <= 8
