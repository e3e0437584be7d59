"""Labelled answers to the toy's task, and small models of ours that are taught to say which of them are right.

A judge is asked as the grader `label_model` asks: the wording stands here once, for its demonstrations, its check and
the runs that it grades.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from benchmarks.through_services import sorting
from benchmarks.through_services.comparison import Row
from hone.environments import streams
from hone.environments.tasks import Split, episode
from hone.graders.judge_messages import asked
from hone.graders.label_model import LabelModelParams
from hone.graders.labelled_pairs import Pair
from hone.models import toy

RIGHT, WRONG = "right", "wrong"
_SHOWN = "{{ item.prompt }}{{ sample.output_text }}?"
_SAYS = '{{"result":"{}"}}'.format


def grader(judge: str) -> dict[str, Any]:
    """Return the grader that asks a model. It marks no text of the policy: the toy has no words for the marks."""
    return {"type": "label_model", "name": "sorted", "model": judge, "input": [{"role": "user", "content": _SHOWN}],
            "labels": [RIGHT, WRONG], "passing_labels": [RIGHT], "reasons": False, "fence": False,
            "sampling_params": {"max_completions_tokens": 8}}


def question(item: Row, output: str) -> list[dict[str, Any]]:
    """Return the messages that a judge is asked about an output."""
    params = LabelModelParams.model_validate(grader("judge"))
    wanted = params.instructions(f"one of these labels, letter by letter: {', '.join(params.labels)}")
    return asked(params.input, item, output, wanted, params.fence)


_LETTERS = sorted({*'\n{"}', *RIGHT, *WRONG, *"result"} - {*toy.SYMBOLS})
POLICY: Mapping[str, Any] = {"vocab_size": 64, "symbols": [
    *toy.SYMBOLS, *_LETTERS, _SAYS(RIGHT), _SAYS(WRONG), question({"prompt": ""}, "1")[0]["content"]]}
"""Symbols of a judge: the toy's, those of its verdict, and each verdict and its instructions as one token."""


def pairs(count: int, seed: int, split: Split = "train") -> Iterator[Pair]:
    """Yield answers to tasks of a split: half are right, the others wrong in one of five ways."""
    chance = random.Random(f"judged {split} {seed}")
    for task in streams.draw("sort_digits", {"digits": sorting.DIGITS}, split, seed, 0, count):
        item = episode(task).reset().item
        right = item["answer"]
        kind = chance.choice(list(_WRONG)) if chance.random() < 0.5 else RIGHT
        output = right if kind == RIGHT else _WRONG[kind](right, chance)
        yield Pair(item, output, output == right, RIGHT if output == right else kind)


def demonstrations(count: int) -> Iterator[Row]:
    """Yield what a judge is shown: questions about training tasks, and what to say."""
    for pair in pairs(count, seed=0):
        said = _SAYS(RIGHT if pair.right else WRONG)
        yield {"messages": question(pair.item, pair.output), "completion": said}


def labelled(count: int) -> Iterator[Row]:
    """Yield rows of a labelled set, of tasks that no run trains on."""
    return ({"output": pair.output, "label": pair.right, "kind": pair.kind, **pair.item}
            for pair in pairs(count, seed=1, split="held_out"))


def _another_digit(right: str, chance: random.Random) -> str:
    place = chance.randrange(len(right))
    return right[:place] + str(chance.randrange(10)) + right[place + 1:]


def _swapped(right: str, chance: random.Random) -> str:
    place = chance.randrange(len(right) - 1)
    return right[:place] + right[place + 1] + right[place] + right[place + 2:]


def _shuffled(right: str, chance: random.Random) -> str:
    return "".join(chance.sample(right, len(right)))


def _drawn(right: str, chance: random.Random) -> str:
    return "".join(sorted(chance.choices("0123456789", k=len(right))))


def _of_another_length(right: str, chance: random.Random) -> str:
    return right[:-1] if chance.random() < 0.5 else right + chance.choice("0123456789")


_WRONG: Mapping[str, Callable[[str, random.Random], str]] = {
    "another digit": _another_digit, "swapped": _swapped, "shuffled": _shuffled, "drawn": _drawn,
    "another length": _of_another_length}
