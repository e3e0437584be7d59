"""Continual experience internalization, arXiv 2606.04703: a pool of lessons, one sentence each, from round to round."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, TypeAlias, TypeGuard

from pydantic import Field

from hone.algorithms.method import Metrics, Params, State

Pool: TypeAlias = Mapping[str, str]
"""Id -> text; the ids are G0 .. Gn, in order."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Operation:
    """What a writer proposes for the pool; nothing that it wrote is trusted."""

    kind: Literal["ADD", "UPDATE", "DELETE", "NONE"]
    id: str | None = None  # of the item that is updated or deleted
    text: object = None  # of the item that is added, or its new one


@dataclass(frozen=True)
class PoolInputs:
    """A pool and the reconciled operations on it, in order."""

    pool: Pool
    operations: Sequence[Operation]
    consolidations: Iterable[object] = ()  # a consolidator's answers, lists of texts; read one by one, if at all


class PoolParams(Params):
    """How large a pool may be."""

    pool_max: int = Field(50, ge=1, description="Most items.")
    tries: int = Field(3, ge=0, description="Answers of the consolidator that are looked at.")


def update_pool(inputs: PoolInputs, params: PoolParams, state: State) -> tuple[dict[str, str], State, Metrics]:
    """Survivors in pool order, updated in place, then additions in the order of the operations; numbered anew.

    Of more than pool_max items: the first usable answer of the consolidator, else the first pool_max.
    """
    texts = applied(inputs.pool, inputs.operations)
    final = _consolidated(texts, inputs.consolidations, params) if len(texts) > params.pool_max else texts
    metrics = {"items": float(len(final)), "items_over_limit": float(max(0, len(texts) - params.pool_max))}
    return {f"G{place}": text for place, text in enumerate(final)}, state, metrics


def applied(pool: Pool, operations: Sequence[Operation]) -> list[str]:
    """Return the pool's texts after the operations.

    An UPDATE of an unknown id is an ADD, a DELETE of one nothing; the last UPDATE of an id wins, and a DELETE of it
    beats them all. ADD and UPDATE with an empty text, or none, are dropped.
    """
    deleted = {operation.id for operation in operations if operation.kind == "DELETE"}
    written = [(operation.id if operation.kind == "UPDATE" else None, operation.text) for operation in operations
               if operation.kind in {"ADD", "UPDATE"} and _is_text(operation.text)]
    updated = {id_: text for id_, text in written if id_ in pool}
    added = [text for id_, text in written if id_ not in pool]
    return [updated.get(id_, text) for id_, text in pool.items() if id_ not in deleted] + added


def _consolidated(texts: list[str], answers: Iterable[object], params: PoolParams) -> list[str]:
    for answer in islice(answers, params.tries):
        if isinstance(answer, list) and 0 < len(answer) <= params.pool_max and all(map(_is_text, answer)):
            return answer
    return texts[:params.pool_max]


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value.strip())


class SelectionParams(Params):
    """How much of the pool a turn sees."""

    most: int = Field(8, ge=1, description="Items of a turn; more are cut off.")
    tries: int = Field(5, ge=0, description="Answers of the selector that are looked at.")
    fallback_share: float = Field(0.2, ge=0, le=1, description="Largest share of fallback turns in a trajectory.")


@dataclass(frozen=True)
class Selection:
    """Items given to one turn."""

    items: Pool  # id -> text
    fallback: bool = False  # the selector named none, so these are the fixed general ones


def select(pool: Pool, answers: Iterable[object], fallback: Pool, params: SelectionParams) -> Selection:
    """Return the items of the first answer, a list of ids, that names one of the pool; the fallback if none does.

    Unknown and repeated ids are discarded, and the first `most` kept. Answers are read one by one, up to `tries`.
    """
    for answer in islice(answers, params.tries):
        named = dict.fromkeys(id_ for id_ in answer if isinstance(id_, str)) if isinstance(answer, list) else {}
        known = [id_ for id_ in named if id_ in pool][:params.most]
        if known:
            return Selection({id_: pool[id_] for id_ in known})
    return Selection(fallback, fallback=True)


def usable(selections: Sequence[Selection], params: SelectionParams) -> bool:
    """Return whether at most `fallback_share` of a trajectory's turns fell back."""
    return sum(selection.fallback for selection in selections) <= params.fallback_share * len(selections)


def injected(messages: Sequence[Mapping[str, Any]], items: Pool) -> list[dict[str, Any]]:
    """Return a copy of a dialogue whose last user or tool message ends with the items, for one call.

    Raises ValueError when no such message is there.
    """
    copy = [dict(message) for message in messages]
    last = next((message for message in reversed(copy) if message["role"] in {"user", "tool"}), None)
    if last is None:
        raise ValueError("messages: found no user or tool message, expected one to carry the experience")
    lines = [f"[{id_}] {text}" for id_, text in items.items()]
    last["content"] = "\n".join([last["content"], "", "Experience:", *lines]) if lines else last["content"]
    return copy


@dataclass(frozen=True)
class Reply:
    """A sampled reply, and what stands before it in the dialogue that is trained on."""

    context: Sequence[int]  # token ids added since the reply before, of context B
    completion: Sequence[int]  # token ids, sampled under context A


@dataclass(frozen=True)
class TrainingRow:
    """What the loss reads."""

    tokens: list[int]
    mask: list[bool]  # trained


def build_row(replies: Iterable[Reply]) -> TrainingRow:
    """Sampled under context A, trained under B: B's context with the replies of A; mask = the replies' tokens."""
    parts = [(token, trained) for reply in replies
             for ids, trained in ((reply.context, False), (reply.completion, True)) for token in ids]
    return TrainingRow([token for token, _ in parts], [trained for _, trained in parts])


class LeakParams(Params):
    """How much of an item a row may repeat."""

    overlap: int = Field(8, ge=1, description="Longest run of an item's words that a row may share.")


def leaks(text: str, pool: Pool, params: LeakParams) -> bool:
    """Return whether a row's text names an item as injection does, says one whole, or more than `overlap` of its words.

    Words are compared in lower case, without punctuation.
    """
    words = _spaced(_WORD.findall(text.lower()))
    return any(f"[{id_}]" in text or _quoted(item, words, params.overlap) for id_, item in pool.items())


def _quoted(item: str, words: str, overlap: int) -> bool:
    said = _WORD.findall(item.lower())
    length = min(overlap + 1, len(said))
    return length > 0 and any(_spaced(said[at:at + length]) in words for at in range(len(said) - length + 1))


def _spaced(words: Sequence[str]) -> str:
    return f" {' '.join(words)} "


@dataclass(frozen=True)
class RoundScores:
    """Plain scores, without experience, over the same n tasks; shares in [0, 1]."""

    previous: float
    score: float
    tasks: int


class RoundParams(Params):
    """How much a round may lose."""

    standard_errors: float = Field(1.0, ge=0, description="Largest drop, in standard errors of the previous score.")


def round_gate(inputs: RoundScores, params: RoundParams, state: State) -> tuple[bool, State, Metrics]:
    """accept = (s_prev - s <= standard_errors * se), se = sqrt(s_prev (1 - s_prev) / n)."""
    error = math.sqrt(inputs.previous * (1 - inputs.previous) / inputs.tasks)
    drop = inputs.previous - inputs.score
    return drop <= params.standard_errors * error, state, {"drop": drop, "standard_error": error}
