"""Generated tasks: agents rank by the state that they leave, gates find planted defects, variants keep scores."""

import itertools
from collections.abc import Callable
from dataclasses import replace

import pytest

from hone.environments.desk import benchmark, times
from hone.environments.desk.agents import AGENTS, CLAIM, actions, believed, graded, worked
from hone.environments.desk.conditions import Count
from hone.environments.desk.gates import DeskDraft, gates
from hone.environments.desk.generation import FAMILIES, Family, task
from hone.environments.desk.grading import DeskGrade, Transcript, grade
from hone.environments.desk.permissions import Permission
from hone.environments.desk.scenery import Variant, call
from hone.environments.desk.snapshots import Snapshot
from hone.environments.desk.task import DeskTask
from hone.environments.desk.validation import Aspect, Opinion, ScriptedValidator, total, validated

ALWAYS = Count(tool="notes", least=0)
every_family = pytest.mark.parametrize("family", FAMILIES)


@every_family
def test_agents_rank_by_what_they_left_and_not_by_what_they_say(family: Family) -> None:
    for seed in range(3):
        one = task(family, seed)
        perfect, over_eager, partial, wrong, liar = (graded(agent, one).score for agent in AGENTS)
        assert perfect == 100
        assert perfect > over_eager > partial > wrong >= liar
        said = {believed(worked(one, actions(agent, one)).transcript()) for agent in AGENTS}
        assert said == {100.0}


@every_family
def test_variants_are_recomputed_and_leave_every_score_as_it_was(family: Family) -> None:
    variants = [Variant(), Variant(shift_days=7), Variant(rename=3), Variant(distractors=9)]
    for seed in range(2):
        tasks = [task(family, seed, variant) for variant in variants]
        assert len({str(one.state) for one in tasks}) == len(variants)
        for agent in AGENTS:
            assert len({graded(agent, one).score for one in tasks}) == 1
    plain = task(family, 1, Variant(conflict=False))
    assert "cross-source conflict" not in plain.difficulties
    assert graded("perfect", plain).score == 100


@every_family
def test_tasks_pass_the_gates_and_the_scripted_validator(family: Family) -> None:
    for conflict in (True, False):
        draft = DeskDraft(lambda: task(family, 0, Variant(conflict=conflict)))  # noqa: B023
        found = validated(draft, ScriptedValidator())
        assert found.accepted, found.repair


def test_a_file_without_permission_stays_and_costs_nothing() -> None:
    one = task("clean", 1, Variant(locked=True))
    done = worked(one, [call("delete_file", path="/downloads/session.tmp"), *one.scripts.perfect, "Done."])
    assert (done.grade().score, done.transcript().errors) == (100, 1)
    assert [graded(agent, one).score for agent in AGENTS] == [graded(agent, task("clean", 1)).score for agent in AGENTS]


@pytest.mark.parametrize(("denied", "families"), [
    (("send_mail",), ("reschedule", "answer", "book", "expenses")), (("change_calendar",), ("reschedule", "book")),
    (("change_notes",), ("answer",)), (("merge_contacts",), ("merge",)),
    (("change_calendar", "change_notes", "send_mail"), ("book",))])
def test_without_a_permission_another_way_is_right_and_agents_rank_alike(
    denied: tuple[Permission, ...], families: tuple[Family, ...]
) -> None:
    for family in families:
        usual, one = task(family, 1), task(family, 1, Variant(denied=denied))
        assert (one.prompt, one.state) == (usual.prompt, usual.state), "nothing but the permission is another"
        perfect, over_eager, partial, wrong, liar = (graded(agent, one).score for agent in AGENTS)
        assert perfect == 100
        assert perfect > over_eager > partial > wrong >= liar
        assert _refused(DeskDraft(lambda: task(family, 1, Variant(denied=denied)))) == []  # noqa: B023
        usually = [action for action in usual.scripts.perfect if action not in one.scripts.perfect]
        given_up = worked(one, [*usual.scripts.perfect, CLAIM])
        assert given_up.transcript().faults["refused"] == len(usually) > 0
        assert given_up.grade().score < 100
        assert worked(one, [*usually, *one.scripts.perfect, CLAIM]).grade().score == 100, "who was refused goes on"


def _refused(draft: DeskDraft, clock: Callable[[], float] = lambda: 0.0) -> list[str]:
    return [one.gate for one in gates(draft, clock) if not one.passed]


def test_gates_refuse_a_set_up_that_reads_the_present_time() -> None:
    minute = itertools.count()
    assert _refused(DeskDraft(lambda: replace(
        task("merge", 0), now=times.later("2026-01-12T08:00:00Z", minutes=next(minute))))) == ["reproducible"]


def test_gates_refuse_a_verification_that_always_passes() -> None:
    def passes(one: DeskTask, before: Snapshot, after: Snapshot, said: Transcript) -> DeskGrade:
        found = grade(one, before, after, said)
        return replace(found, score=100.0, checks=tuple(replace(each, status="pass") for each in found.checks))

    assert _refused(DeskDraft(lambda: task("merge", 0), passes)) == ["idle", "near misses"]


@every_family
def test_gates_refuse_a_verification_that_ignores_a_check(family: Family) -> None:
    whole = task(family, 0)
    for ignored in {miss.check for miss in whole.scripts.near_misses}:
        lax = replace(whole, checks=tuple(
            replace(one, conditions=(ALWAYS,)) if one.id == ignored else one for one in whole.checks))
        assert "near misses" in _refused(DeskDraft(lambda: lax)), ignored  # noqa: B023


def test_gates_refuse_what_writes_takes_long_or_cannot_be_solved() -> None:
    def writes(one: DeskTask, before: Snapshot, after: Snapshot, said: Transcript) -> DeskGrade:
        after["notes"].clear()
        return grade(one, before, after, said)

    assert "bounded" in _refused(DeskDraft(lambda: task("merge", 0), writes))
    assert _refused(DeskDraft(lambda: task("merge", 0)), itertools.count(0, 61).__next__) == ["bounded"]
    one = task("merge", 0)
    unsolved = replace(one, scripts=replace(one.scripts, perfect=one.scripts.partial, near_misses=()))
    assert _refused(DeskDraft(lambda: unsolved)) == ["reference", "near misses"]


class _Says:
    def __init__(self, *scores: float) -> None:
        aspects: tuple[Aspect, ...] = ("structure", "reproducibility", "verifiability", "difficulty")
        self._opinion = Opinion(dict(zip(aspects, scores, strict=True)), ("harder",))

    def opinion(self, task: DeskTask) -> Opinion:  # noqa: ARG002
        return self._opinion


def test_the_second_example_of_the_spec() -> None:
    draft = DeskDraft(lambda: task("merge", 0))
    accepted, refused = (validated(draft, _Says(*scores)) for scores in ((90, 85, 80, 70), (90, 80, 75, 70)))
    assert (accepted.score, accepted.accepted, accepted.repair) == (81.25, True, ())
    assert (refused.score, refused.accepted, refused.repair) == (78.75, False, ("harder",))
    assert total({"structure": 100, "reproducibility": 0, "verifiability": 0, "difficulty": 0}) == 25


def test_nobody_is_asked_about_a_draft_that_fails_a_gate() -> None:
    one = task("merge", 0)
    draft = DeskDraft(lambda: replace(one, scripts=replace(one.scripts, near_misses=())))
    found = validated(draft, _Says(100, 100, 100, 100))
    assert (found.score, found.accepted) == (None, False)
    assert found.repair == ("near misses: found 0 near misses, expected at least 3",)


def test_the_benchmark_is_the_one_that_was_frozen() -> None:
    assert benchmark.fingerprint() == benchmark.HASH
    assert len(benchmark.rows()) == len({row["prompt"] for row in benchmark.rows()}) == 42
