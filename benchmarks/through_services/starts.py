"""Where runs start: a policy for each task, taught by a managed supervised run on demonstrations."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import islice
from typing import Any

from benchmarks.through_services import (
    desk_notes,
    doors,
    judging,
    kinds,
    lessons,
    noisy_results,
    noisy_tools,
    noisy_users,
    remembering,
    sales,
    schemas,
    shelves,
    skill_points,
    sorting,
)
from benchmarks.through_services.comparison import Row, Start
from hone.models import toy

HINT = "({answer})"
"""What a hinted policy reads in a line before the question."""

ATTEMPTS = 4
"""Attempts that a deliberating policy reads."""

_ROWS = 64


def _careless(steps: int, careless: float = 0.5) -> Iterable[Row]:
    return sorting.demonstrations(_ROWS * steps, careless)


def _hinted(steps: int) -> Iterable[Row]:
    shown = sorting.demonstrations(_ROWS * steps, careless=0.5, digits=sorting.MANY)
    return sorting.hinted(shown, HINT, share=0.8)


def _contrary(steps: int) -> Iterable[Row]:
    return sorting.contrary(sorting.demonstrations(_ROWS * steps, careless=0.0), share=0.9)


def _rare(steps: int) -> Iterable[Row]:
    shown = sorting.contrary(sorting.demonstrations(_ROWS * steps, careless=0.0), share=0.95)
    return sorting.hinted(shown, "+", share=0.5)


def _skilled(steps: int) -> Iterable[Row]:
    return sorting.skilled(_ROWS * steps, careless=0.6, heedful=0.05)


def _judging(steps: int) -> Iterable[Row]:
    return judging.judged(sorting.demonstrations(_ROWS * steps // 2, careless=0.5), wrong=0.25)


def _deliberating(steps: int) -> Iterable[Row]:
    half = _ROWS * steps // 2
    pairs = zip(sorting.demonstrations(half, careless=0.5), sorting.deliberated(half, 0.5, ATTEMPTS), strict=True)
    return (row for pair in pairs for row in pair)


def _in_turns(steps: int) -> Iterable[Row]:
    return sorting.in_turns(_ROWS * steps, careless=0.6)


def _failing(steps: int) -> Iterable[Row]:
    return noisy_tools.demonstrations(_ROWS * steps, careless=0.4, forgetful=0.7)


def _asking(steps: int) -> Iterable[Row]:
    return islice(noisy_users.demonstrations(_ROWS * steps, careless=0.4, forgetful=0.6), _ROWS * steps)


def _querying(steps: int) -> Iterable[Row]:
    return islice(noisy_results.demonstrations(_ROWS * steps, careless=0.4, forgetful=0.6), _ROWS * steps)


def _deleting(steps: int) -> Iterable[Row]:
    return desk_notes.demonstrations(_ROWS * steps, careless=0.3, eager=0.25)


def _at_doors(steps: int) -> Iterable[Row]:
    return doors.demonstrations(_ROWS * steps, careless=0.3)


def _exploring(steps: int) -> Iterable[Row]:
    return schemas.demonstrations(_ROWS * steps, where=0.4, exact=0.4, wider=0.35)


def _advised(steps: int) -> Iterable[Row]:
    return lessons.demonstrations(_ROWS * steps, careless=0.2, share=0.4)


def _calling(steps: int) -> Iterable[Row]:
    return skill_points.demonstrations(_ROWS * steps)


def _selling(steps: int) -> Iterable[Row]:
    return sales.demonstrations(_ROWS * steps)


def _remembering(steps: int) -> Iterable[Row]:
    return remembering.demonstrations(_ROWS * steps // 2, new=0.5, update=0.1)


def _three_kinds(steps: int) -> Iterable[Row]:
    return kinds.demonstrations(_ROWS * steps // 3)


def _any_length(steps: int) -> Iterable[Row]:
    return sorting.of_any_length(_ROWS * steps, 0.3, sorting.LENGTHS)


DATASETS: Mapping[str, Callable[[], Iterable[Row]]] = {
    "codes": noisy_users.rows, "tables": noisy_results.rows,
    "notes": partial(desk_notes.rows, desk_notes.TRAINED, 1),
    "other-notes": partial(desk_notes.rows, desk_notes.HELD_OUT, 2),
    "schemas": partial(schemas.rows, 1024, 1), "other-schemas": partial(schemas.rows, 256, 2),
    "difficulties": partial(sorting.questions, 48, 1), "other-difficulties": partial(sorting.questions, 128, 2),
    **{f"shelves-{budget}": partial(shelves.demonstrations, budget) for budget in shelves.BUDGETS}}
"""Datasets that specs name as sources of tasks, or of rows to imitate."""

UNTAUGHT: Mapping[str, Mapping[str, Any]] = {"shelves": shelves.POLICY}
"""Sizes and symbols of policies with random weights, by the name that specs give to their base."""

STARTS: Mapping[str, Start] = {
    "careless": Start(
        "sorts five digits; every other answer that it was shown has one digit drawn anew",
        partial(_careless, 120), 120, sorting.TASK),
    "contrary": Start(
        "sorts five digits downwards; one answer in ten that it was shown goes upwards, as it is asked to",
        partial(_contrary, 200), 200, sorting.TASK),
    "rare": Start(
        "sorts five digits downwards, and upwards in every twentieth answer that it was shown, and behind a line with "
        "`+`, before every other task: so it can, and says the right first digit once in a hundred times",
        partial(_rare, 280), 280, sorting.TASK),
    "skilled": Start(
        "sorts five digits one a turn; three in five of the digits that it was shown were guessed, and one in twenty "
        "where three hints how to act stood in a line before the task, in every other episode",
        partial(_skilled, 240), 240, sorting.TASK_WITHOUT_SLACK, policy={"symbols": [*toy.SYMBOLS, *sorting.SKILLS]},
        fields={"chat": {"control_tokens": True}}),
    "hinted": Start(
        "as careless with eight digits, four tasks in five behind a line with the answer, which it then says",
        partial(_hinted, 240), 240, sorting.HARDER),
    "judging": Start(
        "as careless, and shown to judge an answer to each task with `+` or `-`, wrongly in a quarter of cases",
        partial(_judging, 240), 240, sorting.TASK),
    "deliberating": Start(
        "as careless, and shown to answer behind four such answers by repeating one of them, whichever it is",
        partial(_deliberating, 240), 240, sorting.TASK),
    "weak": Start(
        "as careless, stopped early", partial(_careless, 40), 40, sorting.TASK),
    "teacher": Start(
        "weak, shown right answers alone from there", partial(_careless, 300, 0.0), 300, sorting.TASK, of="weak",
        lr=1e-3),
    "in_turns": Start(
        "sorts five digits one a turn; three in five of the digits that it was shown were guessed",
        partial(_in_turns, 150), 150, sorting.TASK_IN_TURNS,
        fields={"chat": {"control_tokens": True}}),  # the ends of turns
    "failing": Start(
        "sorts five digits one a turn; two in five of the digits that it was shown were guessed, and so were seven in "
        "ten behind a turn that failed, as some did in every other episode",
        partial(_failing, 200), 200, sorting.TASK_IN_TURNS, fields={"chat": {"control_tokens": True}}),
    "asking": Start(
        "asks for a code and says it back, two in five times with one digit drawn anew; in half of the dialogues that "
        "it was shown the user's words had noise, and it guessed behind three in five vague answers, and said the "
        "first code of three in five that were corrected",
        partial(_asking, 250), 250, noisy_users.TASK, policy=noisy_users.POLICY,
        fields={"sampling": {"max_tokens": noisy_users.MAX_TOKENS}, "chat": {"control_tokens": True},  # ends of turns
                "eval": {"prompts": 64, "every": 250, "source": noisy_users.TASK}}),
    "querying": Start(
        "queries a table for a code and says it, two in five times with one digit drawn anew; in half of the episodes "
        "that it was shown results had noise, and it guessed behind three in five that failed, were hidden, or "
        "disagreed, and said another code that stood around three in five",
        partial(_querying, 300), 300, noisy_results.TASK, policy=noisy_results.POLICY,
        fields={"sampling": {"max_tokens": noisy_results.MAX_TOKENS}, "harness": noisy_results.HARNESS,
                "chat": {"control_tokens": True},  # the ends of turns
                "eval": {"prompts": 64, "every": 300, "source": noisy_results.TASK}}),
    "deleting": Start(
        "lists the notes on a desk and deletes the two drafts; in place of three drafts in ten it was shown to delete "
        "another note, and a third one in a quarter of the episodes",
        partial(_deleting, 300), 300, desk_notes.OTHERS, policy=desk_notes.POLICY,
        fields={"sampling": {"max_tokens": desk_notes.MAX_TOKENS}, "harness": desk_notes.HARNESS,
                "eval": {"prompts": desk_notes.HELD_OUT, "every": 300, "source": desk_notes.OTHERS}}),
    "at_doors": Start(
        "names each of four doors as its subgoal, and opens it; three actions in ten that it was shown were drawn "
        "at random; half of the episodes were shown folded, half with their whole history",
        partial(_at_doors, 200), 200, doors.TASK, policy=doors.POLICY,
        fields={"sampling": {"max_tokens": 16}, "harness": doors.harness(fold=True, penalties=True),
                "eval": {"prompts": 128, "every": 200, "source": doors.TASK}}),
    "exploring": Start(
        "asks a database which table has a column, or in three cases of five only for names; proposes the table that "
        "it saw first, or a table too many, or another one, and queries a table that it proposed",
        partial(_exploring, 150), 150, schemas.HELD_OUT, policy=schemas.POLICY,
        fields={"sampling": {"max_tokens": schemas.MAX_TOKENS}, "harness": schemas.HARNESS}),
    "advised": Start(
        "opens four doors; a fifth of the actions that it was shown were drawn at random; two steps of five had their "
        "lesson in a line before them, and were done as it says",
        partial(_advised, 200), 200, lessons.TASK, policy=lessons.POLICY,
        fields={"sampling": {"max_tokens": lessons.MAX_TOKENS}, "harness": {"name": "chat"},
                "chat": {"control_tokens": True},  # the ends of earlier actions
                "eval": {"prompts": 128, "every": 200, "source": lessons.TASK}}),
    "calling": Start(
        "passes four points; calls the skill in 85 of 100 cases where it looks relevant, and in 45 where it does not, "
        "whether or not it is useful",
        partial(_calling, 60), 60, skill_points.TASK, policy=skill_points.POLICY,
        fields={"sampling": {"max_tokens": skill_points.MAX_TOKENS}, "harness": skill_points.HARNESS,
                "chat": {"control_tokens": True},  # the ends of earlier answers
                "eval": {"prompts": 192, "every": 60, "source": skill_points.TASK}}),
    "selling": Start(
        "calls customers; says again what it said of a topic in three cases of four, and asks for the order early",
        partial(_selling, 60), 60, sales.TASK, policy=sales.POLICY,
        fields={"sampling": {"max_tokens": sales.MAX_TOKENS}, "chat": {"control_tokens": True},  # the ends of turns
                "eval": {"prompts": 128, "every": 60, "source": sales.TASK}}),
    "remembering": Start(
        "answers from what its memory of a user holds; of what it hears it writes down half of what is new, and a "
        "tenth of what has changed",
        partial(_remembering, 500), 500, remembering.TASK, policy=remembering.POLICY, epochs=2,
        fields={"sampling": {"max_tokens": remembering.MAX_TOKENS}, "harness": remembering.harness(),
                "eval": {"prompts": 32, "every": 500, "sources": remembering.HELD_OUT}}),
    "three_kinds": Start(
        "as careless with four digits; a second task answered with four random digits, a third one with one to six",
        partial(_three_kinds, 150), 150, sorting.TASK,
        fields={"eval": {"prompts": 64, "every": 150, "sources": [
            one if len(one) > 1 else {**one, **kinds.SOURCES[one["name"]]} for one in kinds.HELD_OUT]}}),
    "any_length": Start(
        "sorts three to ten digits; three answers in ten that it was shown have one digit drawn anew",
        partial(_any_length, 120), 120, sorting.OTHERS, fields={"sampling": {"max_tokens": sorting.LENGTHS[-1] + 2},
                "eval": {"prompts": 128, "every": 120, "source": sorting.OTHERS}}),
}
"""Every start by name."""
