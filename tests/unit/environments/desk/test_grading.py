"""Grades: the score, what counts against it, alternatives, and why a check failed."""

import json

import pytest

from hone.environments.contract import EpisodeFailed
from hone.environments.desk import episode
from hone.environments.desk.agents import AGENTS, actions, worked
from hone.environments.desk.benchmark import standard_error
from hone.environments.desk.conditions import Allowed, Count, Every, OnlyAllowed, Value, forbidden, holds
from hone.environments.desk.generation import FAMILIES, Family, task
from hone.environments.desk.grading import Transcript, grade, regraded, score
from hone.environments.desk.scenery import call
from hone.environments.desk.snapshots import described, normal
from hone.environments.desk.task import DeskTask


def test_the_first_example_of_the_spec() -> None:
    weights, passed = [30, 20, 20, 20, 10], [True, True, False, True, False]
    assert score(weights, passed, 0) == 70
    assert score(weights, passed, 2) == 50
    assert score(weights, passed, 8) == 0


def test_the_third_example_of_the_spec() -> None:
    assert standard_error(32, 40) == pytest.approx(6.3, abs=0.05)


@pytest.mark.parametrize("family", FAMILIES)
def test_equal_snapshots_have_equal_grades_and_weights_sum_to_a_hundred(family: Family) -> None:
    one = task(family, 3)
    assert sum(check.weight for check in one.checks) == pytest.approx(100)
    for agent in AGENTS:
        done = worked(one, actions(agent, one))
        before, after = done.snapshots()
        assert repr(grade(one, before, after, done.transcript())) == repr(done.grade())


def test_words_alone_score_what_the_state_before_scores() -> None:
    for family in FAMILIES:
        one, before = task(family, 5), normal(task(family, 5).state)
        assert worked(one, ["Done!"]).grade().score == grade(one, before, before, Transcript()).score == 0


def _reschedule() -> DeskTask:
    return task("reschedule", 2)


def _failures(one: DeskTask, *given: str) -> dict[str, str | None]:
    found = worked(one, [*given]).grade()
    return {check.id: check.failure for check in found.checks if check.status == "fail"}


def test_failed_checks_have_a_class() -> None:
    one = _reschedule()
    assert set(_failures(one, "I give up.").values()) == {"not attempted"}
    assert set(_failures(one, "I have moved it.").values()) == {"reported but not done"}
    longer = one.scripts.near_misses[2].actions
    assert _failures(one, *longer) == {"end": "wrong time"}
    assert _failures(one, *one.scripts.perfect, call("delete_note", note="N1")) == {"nothing_else": "side effect"}
    wrong = _failures(one, *one.scripts.wrong_object)
    assert {wrong["start"], wrong["confirmation"]} == {"wrong object"}
    assert wrong["nothing_else"] == "side effect"
    asked = task("answer", 2)
    assert _failures(asked, *asked.scripts.near_misses[0].actions) == {"price": "wrong value"}
    kept = task("clean", 2)
    assert _failures(kept, *kept.scripts.near_misses[0].actions)["kept"] == "side effect"
    booked = task("book", 2)
    assert _failures(booked, *booked.scripts.near_misses[0].actions) == {"time": "wrong time"}


def test_each_of_two_right_end_states_scores_a_hundred() -> None:
    one = task("book", 4)
    second = one.scripts.perfect[0]
    first = one.scripts.near_misses[1].actions[0]
    found = [worked(one, [made, one.scripts.perfect[1], "Done."]).grade() for made in (first, second)]
    assert first != second
    assert [each.score for each in found] == [100, 100]
    assert [each.alternative for each in found] == [0, 1]


def test_what_cannot_be_decided_is_left_out_and_too_much_of_it_says_nothing() -> None:
    one = _reschedule()
    before, after = worked(one, [*one.scripts.perfect, "Done."]).snapshots()
    no_mail = [{tool: of for tool, of in part.items() if tool != "mail"} for part in (before, after)]
    found = grade(one, no_mail[0], no_mail[1], Transcript())
    assert {check.id for check in found.checks if check.status == "cannot_decide"} == {"confirmation"}
    assert found.score < 100  # no mail is new
    nothing = grade(one, {}, {}, Transcript())
    assert nothing.quarantined
    assert not found.quarantined


def test_a_quarantined_task_masks_its_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    one = worked(_reschedule(), ["Done."])
    monkeypatch.setattr(episode, "normal", lambda _state: {})
    with pytest.raises(EpisodeFailed, match="cannot be decided"):
        one.verify()


def test_changes_count_once_for_each_object_and_fields_may_be_allowed_alone() -> None:
    before = {"notes": {"N1": {"title": "a", "text": "b"}}, "files": {}}
    after = {"notes": {"N1": {"title": "c", "text": "d"}}, "files": {"/a": {"text": ""}}}
    assert forbidden(before, after, ()) == [("files", "/a"), ("notes", "N1")]
    assert forbidden(before, after, (Allowed(tool="files", object="/*"), Allowed(
        tool="notes", object="N1", fields=("text",)))) == [("notes", "N1")]
    assert holds(OnlyAllowed(), before, after, (Allowed(tool="*", object="*"), Allowed(
        tool="notes", object="N*"), Allowed(tool="files", object="/a")))


def test_texts_are_found_as_whole_words_and_values_in_their_normal_form() -> None:
    after = {"notes": {"N1": {"title": "Bill", "text": "It costs 123 EUR."}},
             "calendar": {"E1": {"start": "2026-01-31T08:00:00Z"}}}
    for part, found in (("123 eur", True), ("23 EUR", False), ("12", False)):
        assert holds(Count(tool="notes", contains={"text": (part,)}), {}, after) == found
    moved = Value(tool="calendar", object="E1", field="start", equals="2026-01-31T09:00:00+01:00")
    assert holds(Every(of=(moved, Count(tool="notes", most=1))), {}, after)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_stored_item_is_graded_again_without_its_sample(family: Family) -> None:
    one = task(family, 6)
    for given in ([*one.scripts.perfect, "Done."], [*one.scripts.wrong_object, "Done."], ["Done."]):
        done = episode.DeskEpisode(one, 20)
        done.reset()
        item = json.loads(json.dumps([done.step(action) for action in given][-1].observation.item))
        assert regraded(one, item) == done.grade()
        assert item["difference"] == json.loads(json.dumps(described(*done.snapshots())))
        with pytest.raises(ValueError, match="before: found"):
            regraded(task(family, 7), item)
        item["difference"]["added"].append(["notes", "N99", {"title": "x"}])
        with pytest.raises(ValueError, match="after: found"):
            regraded(one, item)


def test_what_held_before_is_earned_by_all_core_checks_together() -> None:
    one = _reschedule()
    found = worked(one, [one.scripts.perfect[1], "Done."]).grade()
    assert found.score == 32.5, "the confirmation, and that there is exactly one mail"
    assert {check.id for check in found.checks if check.status == "pass" and not check.earned} == {
        "same_meeting", "nothing_else"}
