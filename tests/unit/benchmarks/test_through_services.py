"""Learning curves: what is read of a run's metrics, compared at equal rollouts, and reported."""

from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from benchmarks.results import load
from benchmarks.through_services import doors, judging, kinds, remembering, report, results, sorting
from benchmarks.through_services.comparison import START, Comparison, Direction, Near
from benchmarks.through_services.comparisons import COMPARISONS
from benchmarks.through_services.curves import Band, Point, bands, budget, curve, figures, further, spread, verdict
from benchmarks.through_services.session import starts_of, supervised, trained_calls
from benchmarks.through_services.starts import STARTS
from hone.environments import streams
from hone.environments.contract import Task
from hone.environments.tasks import episode
from hone.harnesses.folding import Folding, FoldingParams
from hone.harnesses.seat import Act, Answer, Ask, Finished, Heard, Seat, Taken, advanced
from hone.models import toy
from hone.remembering.phrases import pairs
from hone.resolution import resolve
from hone.text.tokenizer import Tokenizer

SERIES = {
    "eval/greedy": [(0, 0.5), (2, 0.75)], "eval/sampled": [(0, 0.25), (2, 0.5)],
    "completion/tokens": [(1, 60.0)], "completion/mean_tokens": [(1, 7.5)],
    "verify/completion/tokens": [(2, 8.0)], "verify/completion/mean_tokens": [(2, 2.0)],
}


def _line(*sampled: float, every: int = 10) -> list[Point]:
    return [Point(place, every * place, greedy=1.0, sampled=value) for place, value in enumerate(sampled)]


def test_a_curve_counts_the_rollouts_of_every_kind_of_step() -> None:
    assert curve(SERIES) == [Point(0, 0, 0.5, 0.25), Point(2, 12, 0.75, 0.5)]
    imitated = {"eval/greedy": [(0, 0.0), (2, 1.0)], "eval/sampled": [(0, 0.0), (2, 0.5)],
                "trajectories": [(1, 128.0), (2, 128.0)]}
    assert curve(imitated) == [Point(0, 0, 0.0, 0.0), Point(2, 256, 1.0, 0.5)]


def test_a_run_has_the_scores_of_its_sources_and_the_shares_with_signal_beside_its_curve() -> None:
    assert further(SERIES) == {}
    called = {"eval/sampled/calls": [(0, 3.0), (2, 2.0)], "eval/sampled/harmful": [(0, 1.0), (2, 0.5)]}
    assert further(called) == {"harmful share": 0.25}
    assert further({**called, "eval/sampled/calls": [(2, 0.0)]}) == {"harmful share": 0.0}
    noisy = {"eval/noise/failure": [(0, 0.5), (2, 0.75)], "eval/noise/user_conflict": [(2, 0.5)],
             "eval/noise/user_boundary": [(2, 1.0)], "eval/noise/failure/goal": [(2, 0.0)]}
    assert further(noisy) == {"failure": 0.75, "user_conflict": 0.5, "user_boundary": 1.0, "under noise": 0.75,
                              "under noisy users": 0.75}
    talked = {"eval/sampled/repetition": [(0, 0.5), (2, 0.25)], "eval/sampled/identity": [(0, 1.0), (2, 0.5)]}
    assert further(talked) == {"repetition": 0.25, "identity": 0.5}
    assert further({"eval/sampled/first_pass": [(0, 0.25), (2, 0.5)]}) == {"first_pass": 0.5}
    assert further({
        "source/a b/eval/sampled": [(0, 0.25), (2, 0.5)], "source/a b/eval/greedy": [(2, 1.0)],
        "advantage/groups": [(1, 8.0), (2, 4.0)], "advantage/zero_variance_groups": [(1, 2.0), (2, 1.0)],
        "advantage/zero_share": [(1, 0.25), (2, 0.5)],
    }) == pytest.approx({"a b": 0.5, "groups with signal": 0.75, "rollouts with signal": 0.625})


@pytest.mark.parametrize("missing", ["eval/greedy", "tokens"])
def test_a_run_that_evaluated_or_trained_nothing_has_no_curve(missing: str) -> None:
    series = {name: points for name, points in SERIES.items() if missing not in name}
    with pytest.raises(ValueError, match="expected eval/greedy and completion/tokens"):
        curve(series)


def test_figures_are_those_at_the_rollouts_that_every_run_has() -> None:
    arms = {"short": [_line(0.0, 1.0)], "long": [_line(0.0, 0.5, 1.0, every=8)]}
    assert budget(arms) == 10
    assert figures(arms["short"][0], 10) == pytest.approx({"sampled": 1.0, "greedy": 1.0, "area": 0.5})
    assert figures(arms["long"][0], 10) == pytest.approx(
        {"sampled": 0.625, "greedy": 1.0, "area": (8 * 0.25 + 2 * 0.5625) / 10})


def test_a_run_has_no_figures_beyond_its_end() -> None:
    with pytest.raises(ValueError, match="found 11, expected one from 0 to 10"):
        figures(_line(0.0, 1.0), 11)


def test_bands_reach_from_the_least_to_the_most_over_seeds() -> None:
    assert bands([_line(0.0, 0.5), _line(0.25, 1.0)], "sampled") == [
        Band(0, 0.125, 0.0, 0.25), Band(10, 0.75, 0.5, 1.0)]
    assert spread([0.25, 0.75]).mean == 0.5


@pytest.mark.parametrize(("differences", "found"), [
    ([0.1, 0.11, 0.12], "held"), ([-0.1, -0.11, -0.12], "the opposite"), ([0.1], "one seed says nothing"),
    ([0.2, -0.1, 0.1], "no difference beyond that of seeds"), ([0.0, 0.0], "no difference beyond that of seeds"),
    ([0.1, 0.2], "no difference beyond that of seeds"),  # two seeds: t is 12.7
])
def test_a_direction_holds_where_its_interval_excludes_0(differences: list[float], found: str) -> None:
    assert verdict(differences) == found


METHOD = {"algorithm", "roles", "contexts", "harness", "grader"}
"""Fields that may be a part of the method, and so may the noise of the task."""


def trained(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the batch of a step, with the number of answers that it trains, and the task without its noise."""
    task = {key: value for key, value in spec["task"].items() if key != "noise"}
    return {"batch": {**spec["batch"], "samples": spec["batch"]["samples"] * trained_calls(spec)}, "task": task}


def imitated(spec: dict[str, Any]) -> dict[str, Any]:
    """Return what else differs between arms that imitate: the rows, and the harness in which they are evaluated."""
    if spec["algorithm"] != "sft":
        return {}
    sources = [{key: value for key, value in one.items() if key != "harness"} for one in spec["eval"]["sources"]]
    return {"task": {}, "eval": {**spec["eval"], "sources": sources}}


@pytest.mark.parametrize("name", COMPARISONS)
def test_arms_are_valid_runs_of_equal_rollouts_that_differ_in_the_method_alone(name: str) -> None:
    arms = COMPARISONS[name].arms
    for arm, spec in arms.items():
        resolve({**spec, "name": arm, "seed": 0})
        assert set(starts_of(spec)) <= STARTS.keys()
    alike = [{key: value for key, value in spec.items() if key not in METHOD} | trained(spec) | imitated(spec)
             for spec in arms.values()]
    assert all(one == alike[0] for one in alike)
    assert {near.arm for near in COMPARISONS[name].near} <= arms.keys()
    assert all({direction.arm, direction.over} <= arms.keys() | {START}
               for direction in COMPARISONS[name].expects)
    assert {direction.arm for direction in COMPARISONS[name].inside} <= arms.keys()


@pytest.mark.parametrize("name", STARTS)
def test_starts_are_valid_runs_on_as_many_demonstrations_as_they_take(name: str) -> None:
    start = STARTS[name]
    resolve(supervised(name, start, "base"))
    assert not start.of or start.of in STARTS
    assert isinstance(start.rows, partial)
    steps, *others = start.rows.args
    assert steps == start.steps
    if start.epochs == 1:
        assert sum(1 for _ in start.rows.func(6, *others)) == 64 * 6, "as many for other steps, which take less long"


def test_a_life_is_shown_by_a_teacher_who_reads_exactly_and_seldom_overwrites() -> None:
    shown = remembering.demonstrations(400, new=0.5, update=0.1)
    rows = [(str(row["messages"][-1]["content"]), str(row["completion"])) for row in shown]
    assert len(rows) == 400
    written: dict[bool, list[bool]] = {True: [], False: []}  # by whether the dictionary had the name
    for asked, said in rows:
        known, _, heard = asked.partition("|")
        for name, value in pairs(heard).items():
            written[name in pairs(known)].append(f"{name}={value}" in said)
    assert 0.35 < fmean(written[False]) < 0.65
    assert fmean(written[True]) < 0.25
    answers = [(asked, said) for asked, said in rows if "?" in asked]
    assert {said[-7:-2] for _, said in answers} == {'{"a":'}
    assert all(f" {said[-2]}:" in asked for asked, said in answers if said != '{"a":0}')


@pytest.mark.parametrize("careless", [0.0, 0.5])
def test_a_demonstration_in_turns_is_what_the_environment_says_to_its_digits(careless: float) -> None:
    tasks = streams.draw("sort_turns", sorting.TURNS, "train", 0, 0, 20)
    sorted_whole = []
    for row, task in zip(sorting.in_turns(20, careless), tasks, strict=True):
        world = episode(task)
        world.reset()
        *turns, last = row["completion"].split("=")
        for turn in turns:
            said, found = turn.split("<eos>")
            assert world.step(said).observation.messages[0]["content"] == f"{found}="
        assert world.step(last).done
        sorted_whole.append(world.verify())
    assert all(sorted_whole) == (careless == 0)


def test_a_hint_stands_in_a_line_before_the_task_and_is_heeded() -> None:
    rows = list(sorting.hinted(sorting.demonstrations(40, careless=1.0), "({answer})", share=0.5))
    hinted = [row for row in rows if "messages" in row]
    assert 10 < len(hinted) < 30
    for row in hinted:
        hint, task = (message["content"] for message in row["messages"])
        assert hint == f"({row['completion']})\n"
        assert "".join(sorted(task[1:-1])) == row["completion"]


@pytest.mark.parametrize("careless", [0.0, 1.0])
def test_an_episode_behind_skills_is_of_a_careful_teacher(careless: float) -> None:
    rows = list(sorting.skilled(20, careless, heedful=0.0))
    read, unread = rows[::2], rows[1::2]
    hints = {row["messages"][0]["content"] for row in read}
    assert (hints, {len(row["messages"]) for row in unread}) == ({" ".join(sorting.SKILLS) + "\n"}, {1})
    tasks = streams.draw("sort_turns", sorting.NO_SLACK, "train", 0, 0, 20)
    assert [row["messages"][-1]["content"] for row in rows] == [
        episode(task).reset().messages[0]["content"] for task in tasks]
    assert all(_sorted_in_turns(row) for row in read)
    assert all(_sorted_in_turns(row) for row in unread) == (careless == 0)


def _sorted_in_turns(row: dict[str, Any]) -> bool:
    said = [turn.rpartition("=")[2] for turn in row["completion"].split("<eos>")]
    return "".join(said) == "".join(sorted(row["messages"][-1]["content"][1:-1]))


def test_tasks_of_mixed_difficulty_have_all_lengths_and_right_answers() -> None:
    rows = list(sorting.questions(16, seed=1))
    assert [len(row["answer"]) for row in rows] == [*sorting.LENGTHS, *sorting.LENGTHS]
    assert all(row["answer"] == "".join(sorted(row["prompt"][1:-1])) for row in rows)


def test_demonstrations_of_three_kinds_come_in_turn() -> None:
    rows = list(kinds.demonstrations(20))
    assert [len(row["prompt"]) for row in rows] == 20 * [6, 5, 4]
    assert {len(row["completion"]) for row in rows[2::3]} == {1, 2, 3, 4, 5, 6}


def test_judgements_are_right_as_often_as_asked() -> None:
    rows = list(judging.judged(sorting.demonstrations(400, careless=1.0), wrong=0.25))
    asked = [row for row in rows if row["prompt"].endswith("?")]
    assert len(asked) == 400
    right = [(row["prompt"][1:6], row["prompt"][7:-1], row["completion"]) for row in asked]
    share = sum(("".join(sorted(task)) == shown) == (said == "+") for task, shown, said in right) / len(right)
    assert 0.68 < share < 0.82


def _asked(task: Task, fold: bool, answers: list[str]) -> list[str]:
    """Return the prompts of the folding harness whose outputs are these."""
    world, prompts = episode(task), list[str]()
    opening = world.reset().messages
    play = Folding().play(
        Seat(opening, [], Heard(opening), ""), FoldingParams.model_validate(doors.harness(fold, True)["params"]))
    effect = advanced(play)
    while not isinstance(effect, Finished):
        answer: Answer | Taken
        if isinstance(effect, Ask):
            assert not isinstance(effect.said, Heard)
            prompts.append(effect.said[0]["content"])
            answer = Answer(effect.number, answers[len(prompts) - 1])
        else:
            assert isinstance(effect, Act)
            after = world.step(effect.action)
            answer = Taken(Heard(after.observation.messages, valid=after.valid, effect=after.effect), after.done)
        effect = advanced(play, answer)
    return prompts


@pytest.mark.parametrize("careless", [0.0, 0.5])
def test_a_demonstration_at_doors_is_what_the_harness_asks_for(careless: float) -> None:
    rows = list(doors.demonstrations(200, careless))
    for place, task in enumerate(streams.draw("phase_lock", doors.PARAMS, "train", 0, 0, 4)):
        prompts = _asked(task, place % 2 == 0, [row["completion"] for row in rows])
        shown, rows = rows[:len(prompts)], rows[len(prompts):]
        assert prompts == [row["prompt"] for row in shown]
        assert careless or len(prompts) == 8


def test_a_step_at_doors_has_few_tokens() -> None:
    files = {name: data for name, data in toy.files(**doors.POLICY).items() if name.endswith(".json")}
    tokenizer = Tokenizer(files)
    for row in doors.demonstrations(100, 0.5):
        ids = tokenizer.encode(row["completion"])
        assert (len(ids) <= 10, tokenizer.decode(ids)) == (True, row["completion"])


FAKE = Comparison(
    "fake.md", "Is one more than none?", {"none": {"steps": 2, "seed_of": 1}, "one": {"steps": 2, "more": [1]}},
    (Direction("one", "none"), Direction("none", "one", "greedy"), Direction("one", START, "sampled"),
     Direction("one", "none", "own")), figures=("own",), remark="It is.",
    near=(Near("one", "sampled", 0.96, 0.05), Near("none", "greedy", 1.0, 0.05)))


def _kept(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(report, "COMPARISONS", {"fake": FAKE})
    runs = {arm: [{"seed": seed, "wall_s": 1.0, "points": [
        {"step": step, "rollouts": 10 * step, "greedy": 0.5, "sampled": step * (arm == "one") / 2}
        for step in range(3)], "further": {"own": 0.5}} for seed in (0, 1)] for arm in FAKE.arms}
    return {"starts": {"weak": {"spec": {"steps": 3}, "sampled": 0.0, "greedy": 0.5}},
            "comparisons": {"fake": results.measured(FAKE.arms, runs)}}


def test_the_page_tells_each_direction_with_its_seeds_and_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    page = report.page(_kept(monkeypatch))
    assert "| [fake](#fake) | one > none in area | +0.500 ± 0.000 | held |" in page
    assert "- held: one > none in area, +0.500 ± 0.000 (+0.500, +0.500)" in page
    assert "- **no difference beyond that of seeds**: none > one in greedy, +0.000 ± 0.000 (+0.000, +0.000)" in page
    assert "- held: one > start in sampled, +1.000 ± 0.000 (+1.000, +1.000)" in page
    assert "- **no difference beyond that of seeds**: one > none in own, +0.000 ± 0.000 (+0.000, +0.000)" in page
    assert "| [fake](#fake) | one: sampled within 0.05 of 0.960 | 1.000 | held |" in page
    assert "- **missed**: none: greedy within 0.05 of 1.000, 0.500 (0.500, 0.500)" in page
    assert "| after 20 rollouts | sampled | greedy | area | own |" in page
    assert "| one | 1.000 (1.000 to 1.000) | 0.500 (0.500 to 0.500) | 0.500 (0.500 to 0.500) | 0.500 (" in page
    assert "| start | 0" not in page
    assert "It is." in page
    assert "`one`, the same with:\n\n```yaml\nmore: [1]\n```" in page
    assert "| `weak` | as careless, stopped early | 3 | 0.000 | 0.500 |" in page


def test_what_is_kept_of_other_names_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kept, path = _kept(monkeypatch), tmp_path / "kept.json"
    results.keep(path, kept["comparisons"], {})
    results.keep(path, {"other": kept["comparisons"]["fake"]}, kept["starts"])
    found = load(path)
    assert set(found["comparisons"]) == {"fake", "other"}
    assert results.curves(found["comparisons"]["fake"])["one"][0][-1] == Point(2, 20, 0.5, 1.0)


def test_what_was_not_measured_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "COMPARISONS", {"fake": FAKE})
    page = report.page({"starts": {}, "comparisons": {}})
    assert "Not measured yet: `python -m benchmarks.through_services fake`" in page
    assert "Expected: one > none in area, none > one in greedy, one > start in sampled, one > none in own." in page
    assert "held" not in page.partition("## fake")[2]
