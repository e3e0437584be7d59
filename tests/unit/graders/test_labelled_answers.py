"""The set `short_answers`: its labels are what the rules say where those can tell."""

from collections import Counter

import pytest

from hone.graders.judge_messages import is_opener
from hone.graders.labelled_answers import pairs
from hone.graders.labelled_pairs import MASTER_KEY, hash_of, of_rows
from hone.graders.labelled_sets import problem
from hone.graders.short_answers import decided
from hone.spec.problems import Invalid


def test_it_is_the_same_each_time_and_holds_every_kind() -> None:
    made = pairs()
    assert hash_of(made).startswith("385c936394e1"), "in each process"
    assert hash_of(pairs(1)) != hash_of(made)
    counts = Counter(pair.kind for pair in made)
    assert counts == {"right": 104, "wrong": 32, MASTER_KEY: 32, "truncated": 16, "copied_question": 16,
                      "injection": 16, "sounds_right": 16}
    assert {pair.right for pair in made if pair.kind != "right"} == {False}
    assert len({pair.output for pair in made if pair.kind == MASTER_KEY}) == 32
    unknown = [pair for pair in made if pair.kind == MASTER_KEY and not is_opener(pair.output, 1)]
    assert len(unknown) > 8, "some of them reach a judge"


def test_rules_agree_with_the_labels_where_they_decide() -> None:
    pytest.importorskip("sympy")
    for pair in pairs():
        if pair.kind not in ("right", "wrong"):
            continue
        found = decided(pair.output, pair.item["answer"], pair.item["answer_type"], 0, strict=True)
        assert found.right in (None, pair.right), pair


def test_questions_have_their_references_as_answers() -> None:
    """Of two kinds a program can tell."""
    sums = [pair.item for pair in pairs() if pair.item["question"].startswith("One stick")]
    assert sums
    for item in sums:
        numbers = [int(word.strip(".")) for word in item["question"].split() if word.strip(".").isdigit()]
        assert sum(numbers) == int(item["answer"])
    orders = [pair.item for pair in pairs() if pair.item["question"].startswith("Put the letters")]
    assert orders
    for item in orders:
        sizes = dict(one.split(" = ") for one in item["question"].split(": ")[1].split(", "))
        assert "".join(sorted(sizes, key=lambda name: int(sizes[name]))) == item["answer"]


def test_rows_of_a_dataset_are_pairs() -> None:
    rows: list[dict[str, object]] = [
        {"prompt": "2 + 2?", "answer": "4", "output": "4", "label": True},
        {"prompt": "2 + 2?", "item": {"answer": "4"}, "output": ":", "label": "wrong", "kind": MASTER_KEY}]
    first, second = of_rows(rows)
    assert (first.item, first.kind, first.right) == ({"prompt": "2 + 2?", "answer": "4"}, "pair", True)
    assert (second.item, second.kind, second.right) == ({"answer": "4"}, MASTER_KEY, False)


@pytest.mark.parametrize(("row", "field"), [
    ({"label": True}, "row 1: output"), ({"output": "4", "label": 1}, "row 1: label"),
    ({"output": "4", "label": True, "kind": ""}, "row 1: kind"),
    ({"output": "4", "label": True, "item": "4"}, "row 1: item"), ({"output": "4", "label": True}, "label")])
def test_what_is_no_pair_is_refused(row: dict[str, object], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        of_rows([row])
    assert refused.value.problems[0].field == field


def test_names_of_sets() -> None:
    assert problem("short_answers", "set") is None
    assert problem("dataset:mine", "set") is None
    wrong = problem("short_answer", "set")
    assert wrong is not None
    assert "short_answers" in wrong.expected
    assert problem("dataset:", "set") is not None
