"""Every task of reasoning-gym: the right answer scores 1, nonsense nothing, and generous verifiers are listed."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from reasoning_gym.dataset import ProceduralDataset
from reasoning_gym.factory import DATASETS

from hone.environments import reasoning_gym
from hone.environments.gym_verifiers import GENEROUS, PASS, Unreadable
from hone.environments.reasoning_gym import ReasoningGymParams, entry

EXAMPLES = ("possible_answer", "example_answer", "example_correct_answer")
"""Where the metadata of a task without one answer hold an example of a right one."""
NO_EXAMPLE = {"boxnet", "rush_hour"}
SEEDS = (1, 2, 3)


@pytest.fixture(autouse=True)
def _any_hash_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hone.environments.reasoning_gym.HASH_ORDERED", frozenset())


def params(task: str) -> ReasoningGymParams:
    mixture: dict[str, Any] = {"datasets": [{"name": "chain_sum", "weight": 1.0, "config": {}}]}
    return ReasoningGymParams(task=task, **(mixture if task == "composite" else {}))


def score(task: str, seed: int, answer: str) -> float:
    try:
        return reasoning_gym.score(params(task), seed, answer)
    except Unreadable:
        return 0.0


def right(task: str, seed: int) -> str | None:
    made = entry(params(task), seed)
    answers = [made["answer"], *(made["metadata"].get(key) for key in EXAMPLES)]
    found = next((answer for answer in answers if answer is not None), None)
    return found if found is None or isinstance(found, str) else json.dumps(found)


def paid(task: str, seed: int) -> dict[str, float]:
    """Return the scores of answers that are not the right one."""
    answer = right(task, seed) or ""
    mixed = list(answer)
    random.Random(0).shuffle(mixed)
    probes = {"half": answer[:len(answer) // 2], "mixed": "".join(mixed), "more": f"{answer} or not", "zero": "0",
              "question": entry(params(task), seed)["question"][:-1]}
    return {name: score(task, seed, probe) for name, probe in probes.items() if probe.strip() != answer.strip()}


@pytest.mark.parametrize("task", sorted(DATASETS))
def test_the_right_answer_scores_one_and_what_is_none_nothing(task: str) -> None:
    answer, question = right(task, 1), entry(params(task), 1)["question"]
    assert (answer is None) == (task in NO_EXAMPLE)
    assert answer is None or score(task, 1, answer) == 1.0
    assert [score(task, 1, nothing) for nothing in ("", "  ", question)] == [0.0, 0.0, 0.0]
    generous = {name: found for name, found in paid(task, 1).items() if found >= PASS}
    common = DATASETS[task][0].score_answer is ProceduralDataset.score_answer
    if common and answer:
        assert generous.pop("more", 0.0) <= len(answer) / len(f"{answer} or not")
    assert not generous or task in GENEROUS


@pytest.mark.parametrize("task", GENEROUS)
def test_the_list_of_generous_verifiers_is_true(task: str) -> None:
    assert any(found >= PASS for seed in SEEDS for found in paid(task, seed).values())


@pytest.mark.parametrize(("task", "answer"), [
    ("game_of_life_halting", "I do not know"), ("game_of_life_halting", "True or False"), ("coin_flip", "0"),
    ("coin_flip", "0.1"), ("coin_flip", "1e400"), ("complex_arithmetic", "nan"), ("complex_arithmetic", "inf + nani")])
def test_verifiers_that_paid_nonsense_are_strict(task: str, answer: str) -> None:
    assert [score(task, seed, answer) for seed in SEEDS] == [0.0] * len(SEEDS)


@pytest.mark.parametrize(("task", "answer"), [
    ("prime_factorization", "I do not know"), ("boxnet", "0"), ("boxnet", '{"a": 1}'), ("game_of_life", "{}")])
def test_an_answer_that_a_verifier_cannot_read_is_the_policys(task: str, answer: str) -> None:
    with pytest.raises(Unreadable, match=f"the verifier of {task} cannot read the answer"):
        reasoning_gym.score(params(task), 1, answer)


def test_the_page_lists_them() -> None:
    page = (Path(__file__).parents[3] / "docs" / "graders.md").read_text()
    for task, pays in GENEROUS.items():
        assert f"| `{task}` | {pays} |" in page
    assert f"the package's {len(DATASETS)} tasks" in page
