"""Short packages of domains: their tasks can be done, say which id, and their figures are read as they were stored."""

import re

import pytest

from benchmarks import domain_scores
from benchmarks.through_services import domain_counts, domains
from hone.environments.packages.episode import PackageEpisode
from hone.environments.packages.local_runner import LocalRunner
from hone.harnesses.tool_loop import ToolLoopParams, actions, explained

LINE = ToolLoopParams(syntax="line")


def test_a_teacher_solves_the_tasks_of_a_short_package_unless_it_is_careless() -> None:
    package = domains.short_package("hotel", 12)
    for careless in (0.0, 1.0):
        for task, row in zip(package.tasks, domains.shown(package, careless), strict=True):
            world = PackageEpisode(package, task, LocalRunner(), 1, show_policy=False)
            seen = world.reset()
            assert row["prompt"] == explained(LINE, seen.tools or [], "is final") + seen.messages[0]["content"]
            world.step(actions(LINE, row["completion"], seen.tools or [])[0])
            assert world.verify() == 1 - careless
            assert re.fullmatch(r"[a-z ]+ [a-z]{3}_\d\d", task.instruction)
    held_out = domains.short_package("hotel", 12, held_out=True)
    assert not {task.instruction[-2:] for task in held_out.tasks} & {task.instruction[-2:] for task in package.tasks}
    assert {"ho", "bo", "ok", "in"} - set(domains.pairs([package])) == {"ho"}


def test_runs_have_equal_tasks_and_steps_and_train_no_unseen_domain() -> None:
    one, three, ten = (domain_counts.spec(count, 1) for count in domain_counts.COUNTS)
    assert one["task"] == {"environment": "package", "params": {"package": "airline-of-1", "turns": 1}}
    assert one["stages"][0]["task"] == {"dataset": "shown-airline-of-1"}
    assert [source["name"] for source in three["task"]["mixture"]] == ["airline", "school", "gym"]
    assert {source["name"] for source in ten["task"]["mixture"]} == {*domains.TRAINED}
    assert one["steps"] == three["steps"] == ten["steps"]
    assert {domains.TASKS % count for count in domain_counts.COUNTS} == {0}
    tools = {name: {tool.name for tool in domains.short_package(name, 1).manifest.tools}
             for name in (*domains.TRAINED, *domains.UNSEEN)}
    assert not any(tools[name] & tools[other] for name in domains.TRAINED for other in domains.UNSEEN)


def test_scores_are_means_over_sources_and_seeds_with_paired_gains() -> None:
    def run(count: int, seed: int, unseen: float) -> dict[str, object]:
        scores = {f"source/{name}/eval/{figure}": {"0": 0.1, "9": 0.5, "12": value}
                  for name, value in (("library", 0.9), ("bank", unseen), ("gym", unseen + 0.2))
                  for figure in ("sampled", "greedy")}
        return {"domains": count, "trained": ["library", "clinic"][:count], "seed": seed, "scores": scores,
                "reward": [[10, 0.5], [11, 0.6], [12, 0.7]]}
    result = {"unseen": ["bank", "gym"], "runs": [
        run(count, seed, 0.1 * count + 0.1 * seed) for seed in (0, 1) for count in (1, 3)]}
    first, second = domain_scores.rows(result)
    assert first == ("1", "0.50 ± 0.00", "0.90 ± 0.00", "0.50 ± 0.00", "0.25 ± 0.64", "0.25 ± 0.64", "0.60 → 0.60")
    assert second[4] == "0.45 ± 0.64"
    assert domain_scores.base(result) == ("none: the base", "0.10", "", "0.10", "", "0.10", "")
    assert domain_scores.gains(result, 0) == "3 domains against 1: +0.00 ± 0.00"
    assert domain_scores.gains(result, -1) == "3 domains against 1: +0.20 ± 0.00"
    assert domain_scores.interval([0.5]) == "0.50"
    assert float(domain_scores.interval([1.0, 2.0, 3.0]).split("±")[1]) == pytest.approx(2.48, abs=0.01)
