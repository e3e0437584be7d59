"""Snapshots: the normal form, natural keys, and differences."""

from hone.environments.desk.generation import FAMILIES, task
from hone.environments.desk.snapshots import Changed, Difference, difference, normal


def test_nothing_differs_from_itself_and_differences_turn_round() -> None:
    for seed, family in enumerate(FAMILIES):
        first, second = (normal(task(family, one).state) for one in (seed, seed + 1))
        assert difference(first, first) == Difference()
        there, back = difference(first, second), difference(second, first)
        assert there
        assert (there.added, there.removed) == (back.removed, back.added)
        assert [(one.object, one.field, one.before, one.after) for one in there.changed] == [
            (one.object, one.field, one.after, one.before) for one in back.changed]


def test_texts_times_and_volatile_fields_have_a_normal_form() -> None:
    found = normal({"notes": {"N1": {"title": "  Cafe\u0301 \n bill ", "text": "", "modified": "x"}},
                    "calendar": {"E1": {"title": "a", "start": "2026-01-31T09:00:00+01:00", "until": "",
                                        "attendees": ["b@x", "a@x"], "modified": "x"}}})
    assert found == {"calendar": {"E1": {"attendees": ["a@x", "b@x"], "start": "2026-01-31T08:00:00Z", "title": "a",
                                         "until": ""}},
                     "notes": {"N1": {"text": "", "title": "Caf\u00e9 bill"}}}
    assert list(found) == ["calendar", "notes"]
    assert normal({"notes": {"N1": {"modified": "x"}}}, volatile={}) == {"notes": {"N1": {"modified": "x"}}}


def test_created_objects_are_known_by_their_natural_key_whatever_their_id() -> None:
    fields = {"title": "Call", "text": "a"}
    one, other = (normal({"notes": {key: fields}}) for key in ("new-1", "new-7"))
    assert one == other == {"notes": {"Call": fields}}
    twins = normal({"notes": {"new-2": {"title": "Call", "text": "b"}, "new-1": fields}})
    assert [*twins["notes"]] == ["Call", "Call #2"]
    mail = normal({"mail": {"new-3": {"to": ["b@x", "a@x"], "subject": "Hi"}}})
    assert [*mail["mail"]] == ["a@x, b@x | Hi"]


def test_a_field_that_changed_is_named_with_both_values() -> None:
    found = difference({"notes": {"N1": {"text": "a"}}}, {"notes": {"N1": {"text": "b"}}})
    assert found == Difference(changed=(Changed("notes", "N1", "text", "a", "b"),))
    assert found.touched() == {("notes", "N1")}
