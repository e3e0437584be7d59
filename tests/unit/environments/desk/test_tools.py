"""The desk's tools: what they change, what they refuse, and how an episode goes."""

import json
from typing import Any

import pytest

from hone.environments.contract import EpisodeOver, WrongParams
from hone.environments.desk.environment import Desk, DeskParams
from hone.environments.desk.episode import DECIDE, DeskEpisode
from hone.environments.desk.generation import FAMILIES, Family, task
from hone.environments.desk.people_tools import tools
from hone.environments.desk.permissions import REFUSALS
from hone.environments.desk.scenery import DeskScene, Person, Variant, call
from hone.environments.desk.store import DeskStore
from hone.environments.tasks import checked_params
from hone.environments.tools import ToolCall, ToolError, use
from hone.graders.contract import Status
from hone.graders.judgement import judged
from hone.graders.specs import checked
from tests.unit.environments.desk import fitting

ANNA = Person("Anna Abbott", "anna@x.example", "", "X", "Asia/Tokyo")


@pytest.fixture
def store() -> DeskStore:
    scene = DeskScene("test", 0, Variant(distractors=0))
    scene.file("/inbox/a.txt", "Invoice 7")
    scene.file("/inbox/b.txt", "Offer", locked=True)
    scene.mail(ANNA, "Hello", "How are you")
    scene.event("Standup", "2026-01-12T08:00:00Z", "2026-01-12T08:15:00Z", [ANNA], repeats="weekly")
    scene.known(ANNA)
    scene.contact("Abbott, Anna", phone="5")
    return DeskStore(scene.finished(), "2026-01-12T07:00:00Z", "Europe/Berlin", "me@x.example")


def _use(store: DeskStore, tool: str, /, **arguments: Any) -> Any:
    said = use(tools(store), ToolCall(tool, arguments))
    return json.loads(said) if said[0] in "[{" else said


def test_a_refusal_names_the_permission_and_what_is_allowed_instead() -> None:
    scene = DeskScene("test", 0, Variant())
    store = DeskStore(scene.finished(), "2026-01-12T07:00:00Z", "UTC", "me@x.example", tuple(REFUSALS))
    before, time = store.state, "2026-01-12T09:00"
    refused: list[tuple[str, dict[str, Any], str]] = [
        ("send_mail", {"to": ["a@x"], "subject": "", "body": ""}, "drafts"),
        ("create_event", {"title": "a", "start": time, "end": time}, "read-only"),
        ("update_event", {"event": "E1"}, "read-only"), ("delete_event", {"event": "E1"}, "read-only"),
        ("write_note", {"title": "a", "text": ""}, "file"), ("delete_note", {"note": "N1"}, "file"),
        ("merge_contacts", {"keep": "C1", "remove": "C2"}, "one by one"),
    ]
    for name, arguments, way in refused:
        with pytest.raises(ToolError, match=f"no permission to .*{way}"):
            use(tools(store), ToolCall(name, arguments))
    assert store.state is before
    asked, allowed = (Desk().content(DeskParams.model_validate({"families": ["merge"], "denied": denied}), 1, None)
                      for denied in (["merge_contacts"], []))
    assert asked != allowed, "a permission makes another task"


def test_files_are_listed_found_moved_and_written(store: DeskStore) -> None:
    assert _use(store, "list_files", directory="inbox/") == ["/inbox/a.txt", "/inbox/b.txt"]
    assert _use(store, "search_files", words="INVOICE") == ["/inbox/a.txt"]
    _use(store, "move_file", path="/inbox/a.txt", to="/paid/../paid/a.txt")
    assert _use(store, "read_file", path="paid/a.txt") == "Invoice 7"
    _use(store, "write_file", path="/paid/a.txt", text="Invoice 8")
    _use(store, "delete_file", path="/paid/a.txt")
    assert [*store.objects("files")] == ["/inbox/b.txt"]


@pytest.mark.parametrize(("name", "arguments", "reason"), [
    ("read_file", {"path": "/x"}, "there is no /x"), ("delete_file", {"path": "/inbox/b.txt"}, "no permission"),
    ("write_file", {"path": "/inbox", "text": ""}, "is a directory"),
    ("list_files", {"directory": "/x"}, "no directory"),
    ("move_file", {"path": "/inbox/a.txt", "to": "/inbox/b.txt"}, "already"),
    ("move_file", {"path": "/inbox/a.txt", "to": "/inbox/b.txt/c"}, "is a file"),
    ("send_mail", {"to": ["anna"], "subject": "", "body": ""}, "expected an e-mail address"),
    ("send_mail", {"to": ["a@x"], "subject": "", "body": "", "attachments": ["/x"]}, "there is no file /x"),
    ("create_event", {"title": "a", "start": "soon", "end": "later"}, "start: found 'soon', expected a time"),
    ("create_event", {"title": "a", "start": "2026-01-12T09:00", "end": "2026-01-12T09:00"}, "after the start"),
    ("create_event", {"title": "a", "start": "0001-01-12T09:00", "end": "2026-01-12T09:00"}, "of the years"),
    ("update_event", {"event": "E1", "start": "2026-01-12T09:00", "zone": "Mars"}, "zone: found 'Mars'"),
    ("merge_contacts", {"keep": "C1", "remove": "C1"}, "expected another one"),
    ("write_note", {"title": "a", "text": "", "note": "N9"}, "there is no N9"),
])
def test_what_cannot_be_done_changes_nothing(
    store: DeskStore, name: str, arguments: dict[str, Any], reason: str,
) -> None:
    before = store.state
    with pytest.raises(ToolError, match=reason):
        _use(store, name, **arguments)
    assert store.state == before


def test_mail_is_read_found_sent_drafted_and_moved(store: DeskStore) -> None:
    assert _use(store, "list_mail")[0]["subject"] == "Hello"
    assert _use(store, "search_mail", words="how are")[0]["mail"] == "M1"
    assert _use(store, "read_mail", mail="M1")["sender"] == ANNA.email
    _use(store, "send_mail", to=[" Anna@X.example"], subject="Re: Hello", body="Fine", attachments=["/inbox/a.txt"])
    _use(store, "draft_mail", to=["b@x"], subject="Later", body="")
    _use(store, "move_mail", mail="M1", folder="archive")
    assert [mail["folder"] for mail in store.objects("mail").values()] == ["archive", "sent", "drafts"]
    assert store.object("mail", "new-1")["to"] == [ANNA.email]
    _use(store, "delete_mail", mail="M1")
    assert _use(store, "list_mail", folder="archive") == []


def test_events_repeat_and_times_are_local(store: DeskStore) -> None:
    days = _use(store, "list_events", start="2026-01-19T00:00", end="2026-02-01T00:00")
    assert [one["start"] for one in days] == ["2026-01-19T09:00", "2026-01-26T09:00"]
    _use(store, "create_event", title="Call", start="2026-01-20T18:00", end="2026-01-20T19:00", zone="Asia/Tokyo")
    assert store.object("calendar", "new-1")["start"] == "2026-01-20T09:00:00Z"
    _use(store, "update_event", event="E1", place="Hall", attendees=["B@x"])
    assert _use(store, "search_events", words="hall")[0]["attendees"] == ["b@x"]
    _use(store, "delete_event", event="E1")
    assert [*store.objects("calendar")] == ["new-1"]


def test_contacts_are_merged_and_notes_replaced(store: DeskStore) -> None:
    _use(store, "merge_contacts", keep="C1", remove="C2")
    assert _use(store, "find_contact", words="anna") == [
        {"contact": "C1", "name": ANNA.name, "email": ANNA.email, "phone": "5", "company": "X", "remark": ""}]
    _use(store, "create_contact", name="Bo")
    _use(store, "update_contact", contact="new-1", phone="6")
    _use(store, "delete_contact", contact="C1")
    assert [one["phone"] for one in store.objects("contacts").values()] == ["6"]
    _use(store, "write_note", title="Shopping", text="Tea", note="N1")
    _use(store, "write_note", title="Other", text="")
    assert _use(store, "read_note", note="N1")["text"] == "Tea"
    assert [one["title"] for one in _use(store, "list_notes")] == ["Shopping", "Other"]
    _use(store, "delete_note", note="N1")
    assert [*store.objects("notes")] == ["new-2"]


def test_an_episode_has_what_is_needed_to_grade_it_again() -> None:
    one = DeskEpisode(task("merge", 1), 9)
    seen = one.reset()
    assert (seen.item["verified"], seen.item["transcript"]["answer"]) == (0.0, None)
    assert seen.item["components"]["tool_error_rate"] == 0.0
    one.step(call("read_note", note="N99"))
    for action in one.solution()[:-1]:
        taken = one.step(action)
    assert taken.observation.item["components"]["tool_error_rate"] == pytest.approx(1 / 3)
    end = one.step("Done.")
    item = json.loads(json.dumps(end.observation.item))
    assert (end.done, item["verified"], item["grade"]["score"]) == (True, 1.0, 100.0)
    assert item["transcript"] == {"answer": "Done.", "calls": 3, "errors": 1, "faults": {"refused": 1}}
    assert item["components"]["first_pass"] == item["components"]["check.phone"] == item["components"]["core"] == 1.0
    assert item["difference"]["removed"] == [["contacts", "C2"]]
    with pytest.raises(EpisodeOver):
        one.step("Done.")


def test_a_question_is_answered_once_and_work_that_is_cut_short_counts() -> None:
    one = DeskEpisode(task("clean", 1), 3)
    one.reset()
    asked = one.step("Which files?")
    assert (asked.done, asked.observation.messages[0]["content"]) == (False, DECIDE + "\n")
    one.step(one.solution()[0])
    last = one.step(one.solution()[1])
    assert last.done
    assert one.verify() == pytest.approx(0.3), "two of four files"
    again = one.fork()
    again.reset()
    again.step("Really?")
    assert again.step("Sure?").done


def test_the_judge_looks_at_a_copy() -> None:
    one = DeskEpisode(task("clean", 1), 3)
    one.reset()
    before = one.state_hash()
    use(one.examination_tools(), ToolCall("delete_note", {"note": "N1"}))
    assert one.state_hash() == before


def test_rows_name_a_task_and_seeds_draw_among_the_families() -> None:
    desk = Desk()
    row = desk.messages(DeskParams(), 0, {"prompt": "", "family": "merge", "seed": 3})
    assert row == desk.messages(DeskParams(families=["merge"]), 3, None)
    assert len({json.dumps(desk.content(DeskParams(), seed, None)) for seed in range(20)}) == 20
    for item, field in (({"family": "x", "seed": 1}, "item.family"), ({"family": "merge", "seed": "1"}, "item.seed")):
        with pytest.raises(WrongParams) as wrong:
            desk.episode(DeskParams(), 0, item)
        assert wrong.value.field == field


@pytest.mark.parametrize("family", FAMILIES)
def test_an_answer_with_many_calls_and_failures_has_a_grade(family: Family) -> None:
    one = DeskEpisode(task(family, 1), 9)
    one.reset()
    for _ in range(3):
        one.step(call("read_note", note="N99"))
    found = judged(checked({"type": "environment"}), one.step("Done.").observation.item, "Done.")
    assert (found.status, found.score) == (Status.OK, 0.0)
    assert (found.components["tool_calls"], found.components["fault.refused"]) == (3.0, 3.0)


MERGING = ["update_contact", "merge_contacts"]


def _params(**given: Any) -> DeskParams:
    found = checked_params("desk", given)
    assert isinstance(found, DeskParams)
    return found


def test_the_policy_is_offered_the_tools_that_are_named_and_may_call_no_other() -> None:
    one = Desk().episode(_params(families=["merge"], tools=MERGING), 1, None)
    whole, again = DeskEpisode(task("merge", 1), 40), one.fork()
    seen = again.reset()
    assert [tool["function"]["name"] for tool in seen.tools or []] == MERGING
    again.restore(again.snapshot())
    taken = again.step(call("list_notes"))
    assert taken.observation.messages[0]["content"] == f"error: no tool list_notes; there are {', '.join(MERGING)}\n"
    assert taken.observation.item["transcript"]["faults"] == {"unknown_tool": 1}
    assert set(one.examination_tools()) == set(tools(DeskStore({}, "2026-01-12T07:00:00Z", "UTC", "me@x")))
    assert (one.state_hash() == one.fork().state_hash(), one.state_hash() == whole.state_hash()) == (True, False)
    for action in again.solution():
        taken = again.step(action)
    assert taken.observation.item["verified"] == 1.0


@pytest.mark.parametrize(("given", "field", "expected"), [
    ({"tools": ["list_notes", "lst_notes"]}, "params.tools.1", "one of .*list_notes"),
    ({"tools": ["shell"]}, "params.tools.0", "with shell: true it has a shell"),
    ({"tools": "list_notes"}, "params.tools", "a valid list"),
])
def test_a_tool_that_the_desk_lacks_cannot_be_offered(given: Any, field: str, expected: str) -> None:
    with pytest.raises(WrongParams, match=expected) as wrong:
        checked_params("desk", given)
    assert wrong.value.field == field
    assert checked_params("desk", {"tools": ["shell"], "shell": True})


@pytest.mark.parametrize(("given", "item", "missing"), [
    ({"families": ["clean", "merge"]}, None, "delete_file, merge_contacts, which the tasks of clean and the "
                                                "tasks of merge cannot"),
    ({"families": ["merge"], "denied": ["merge_contacts"]}, None, "delete_contact, which the tasks of merge "),
    ({}, {"family": "clean", "seed": 1}, "delete_file, which this row's task "),
    ({}, {"task": fitting.task()}, "send_mail, update_event, which this row's task "),
])
def test_a_task_that_needs_a_tool_that_is_not_offered_is_refused(given: Any, item: Any, missing: str) -> None:
    params = _params(tools=["update_contact"], **given)
    for made in (Desk().content, Desk().messages, Desk().episode):
        with pytest.raises(WrongParams, match=f"params.tools: found .*update_contact.*, expected also {missing}"):
            made(params, 3, item)


def test_rows_need_the_tools_of_their_own_tasks_alone() -> None:
    moving = _params(tools=["update_event", "send_mail"])
    assert Desk().episode(moving, 0, {"task": fitting.task()}).reset().tools
    assert Desk().episode(moving, 0, {"family": "reschedule", "seed": 3}).reset().tools


@pytest.mark.parametrize("family", ["clean", "invoices", "expenses"])
def test_the_shell_stands_for_the_tools_of_files(family: str) -> None:
    params = _params(families=[family], tools=["shell", "send_mail"], shell=True)
    for seed in range(5):
        one = Desk().episode(params, seed, None)
        taken = [one.step(action) for action in one.solution()]
        assert (all(step.valid for step in taken), one.verify()) == (True, 1.0)
