"""Recorded calls: the exact ids of a stored sample's answers as a row of a dataset, and back as calls to train on.

A row's `recorded_calls` is a list, one object a call: `kept`, the number of ids that its prompt shares with the prompt
and completion of the call before; `prompt_ids`, the rest of its prompt; `completion_ids`; `text`, the text that the
model read in these; and `trained`, whether each is trained, where not all are.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pydantic import Field, ValidationError

from hone.spec.findings import first
from hone.spec.parameters import Strict
from hone.text.model_text import ModelText
from hone.trajectory.records import Call

COLUMN = "recorded_calls"
"""Key of a row."""


class WrongCalls(ValueError):
    """The recorded calls of a row cannot be trained on. The message is the reason."""


class RecordedCall(Strict):
    """One answer of the policy."""

    kept: int = Field(0, ge=0)
    prompt_ids: list[int]
    completion_ids: list[int] = Field(min_length=1)
    text: str
    trained: list[bool] | None = None


def rows(calls: Sequence[Mapping[str, Any]], forks: Collection[str] = ()) -> list[dict[str, Any]]:
    """Return the policy's calls of a stored sample as a row's `recorded_calls`.

    Calls of forks are left out, but those whose kind is one of `forks`: phases of the sample that were played there.
    """
    made, before = list[dict[str, Any]](), list[int]()
    for call in calls:
        forked = "." in call.get("number", "") and call.get("kind") not in forks
        if call["role"] != "policy" or forked or not call["completion_ids"]:
            continue
        prompt, completion = list(call["prompt_ids"]), list(call["completion_ids"])
        kept = next((place for place, pair in enumerate(zip(before, prompt, strict=False)) if pair[0] != pair[1]),
                    min(len(before), len(prompt)))
        own = {"kept": kept, "prompt_ids": prompt[kept:], "completion_ids": completion, "text": call["text"]}
        made.append(own if all(call["train_mask"]) else {**own, "trained": list(call["train_mask"])})
        before = [*prompt, *completion]
    return made


def calls(value: Any, tokenizer: ModelText) -> list[Call]:
    """Return the calls of a row's `recorded_calls`. Raises WrongCalls, also where another tokenizer wrote the ids."""
    if not isinstance(value, list) or not value:
        raise WrongCalls(f"{COLUMN}: found no list with a call, expected a list as `hone curate --rows` writes it")
    made, before = list[Call](), list[int]()
    for number, item in enumerate(value):
        call = _call(number, item, before, tokenizer)
        before = [*call.prompt_ids, *call.completion_ids]
        made.append(call)
    return made


def _call(number: int, item: Any, before: Sequence[int], tokenizer: ModelText) -> Call:
    at = f"{COLUMN}[{number}]"
    try:
        one = RecordedCall.model_validate(item)
    except ValidationError as error:
        wrong = first(error, at, model=RecordedCall)
        raise WrongCalls(f"{wrong.field}: found {str(wrong.found)[:200]}, expected {wrong.expected}") from error
    if one.kept > len(before):
        raise WrongCalls(f"{at}.kept: found {one.kept}, expected at most the {len(before)} ids before")
    if one.trained is not None and len(one.trained) != len(one.completion_ids):
        raise WrongCalls(f"{at}.trained: found {len(one.trained)}, expected a value for each of the "
                         f"{len(one.completion_ids)} ids of its completion")
    prompt_ids = [*before[:one.kept], *one.prompt_ids]
    _check_text(at, one, prompt_ids, tokenizer)
    return Call(
        index=number, turn=number, prompt_ids=prompt_ids, completion_ids=one.completion_ids, logp_sample=[],
        finish_reason="stop", versions=[], text=one.text,
        train_mask=one.trained or [True] * len(one.completion_ids))


def _check_text(at: str, one: RecordedCall, prompt_ids: Sequence[int], tokenizer: ModelText) -> None:
    for name, ids in (("prompt_ids", one.prompt_ids), ("completion_ids", one.completion_ids)):
        if unknown := [id for id in ids if not tokenizer.written(id)]:
            raise WrongCalls(f"{at}.{name}: found {unknown[0]}, expected ids of the model's tokenizer")
    text = tokenizer.decode(one.completion_ids, after=prompt_ids)
    if not text.startswith(one.text):
        raise WrongCalls(f"{at}.completion_ids: found ids of the text {text[:40]!r}, expected the ids of "
                         f"{one.text[:40]!r}: another tokenizer wrote them")
