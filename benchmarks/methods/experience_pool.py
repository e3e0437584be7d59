"""Experience internalization, arXiv 2606.04703: a pool of lessons, one sentence each, that grows over rounds."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, TypeAlias, TypeGuard

from pydantic import Field

from hone.algorithms.method import Metrics, Params, State

Pool: TypeAlias = Mapping[str, str]
"""Lessons: id -> text. The ids are G0 ... Gn, in order."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Operation:
    """A change of the pool that a writing model proposes. Its fields may hold anything."""

    kind: Literal["ADD", "UPDATE", "DELETE", "NONE"]
    id: str | None = None  # id of the item to update or delete
    text: object = None  # text of the new or updated item


@dataclass(frozen=True)
class PoolInputs:
    """A pool, and the reconciled operations on it in order."""

    pool: Pool
    operations: Sequence[Operation]
    consolidations: Iterable[object] = ()  # a consolidating model's answers: lists of texts, read one by one


class PoolParams(Params):
    """The size of a pool."""

    pool_max: int = Field(50, ge=1, description="Most items.")
    tries: int = Field(3, ge=0, description="Most answers of the consolidating model that are read.")


def update_pool(inputs: PoolInputs, params: PoolParams, state: State) -> tuple[dict[str, str], State, Metrics]:
    """Return the pool after the operations: kept items in pool order, then additions, with new numbers.

    More than pool_max items are replaced by the first usable answer of the consolidator, else cut to pool_max items.
    """
    texts = applied(inputs.pool, inputs.operations)
    final = _consolidated(texts, inputs.consolidations, params) if len(texts) > params.pool_max else texts
    metrics = {"items": float(len(final)), "items_over_limit": float(max(0, len(texts) - params.pool_max))}
    return {f"G{place}": text for place, text in enumerate(final)}, state, metrics


def applied(pool: Pool, operations: Sequence[Operation]) -> list[str]:
    """Return the pool's texts after the operations.

    An UPDATE of an unknown id is an ADD; a DELETE of an unknown id does nothing. The last UPDATE of an id counts, and a
    DELETE of the id overrides it. ADD and UPDATE without text are dropped.
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
    """The items of a turn."""

    most: int = Field(8, ge=1, description="Most items of a turn.")
    tries: int = Field(5, ge=0, description="Most answers of the selecting model that are read.")
    fallback_share: float = Field(
        0.2, ge=0, le=1, description="Largest share of a trajectory's turns with fallback items.")


@dataclass(frozen=True)
class Selection:
    """The items of one turn."""

    items: Pool  # id -> text
    fallback: bool = False  # whether these are the general items, because the selector named none


def select(pool: Pool, answers: Iterable[object], fallback: Pool, params: SelectionParams) -> Selection:
    """Return the items of the first answer (a list of ids) with an id of the pool; without such an answer the fallback.

    Unknown and repeated ids are dropped, and the first `most` ids kept. At most `tries` answers are read, one by one.
    """
    for answer in islice(answers, params.tries):
        named = dict.fromkeys(id_ for id_ in answer if isinstance(id_, str)) if isinstance(answer, list) else {}
        known = [id_ for id_ in named if id_ in pool][:params.most]
        if known:
            return Selection({id_: pool[id_] for id_ in known})
    return Selection(fallback, fallback=True)


def usable(selections: Sequence[Selection], params: SelectionParams) -> bool:
    """Return whether at most `fallback_share` of a trajectory's turns have fallback items."""
    return sum(selection.fallback for selection in selections) <= params.fallback_share * len(selections)


def injected(messages: Sequence[Mapping[str, Any]], items: Pool) -> list[dict[str, Any]]:
    """Return a copy of a dialogue whose last user or tool message ends with the items, for one call.

    Raises ValueError for a dialogue without such a message.
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
    """A sampled reply, and the tokens before it in the dialogue for training."""

    context: Sequence[int]  # token ids added since the reply before, of context B
    completion: Sequence[int]  # token ids, sampled under context A


@dataclass(frozen=True)
class TrainingRow:
    """A row of tokens for the loss."""

    tokens: list[int]
    mask: list[bool]  # whether the token is trained


def build_row(replies: Iterable[Reply]) -> TrainingRow:
    """Return the row that trains replies, sampled under context A, under context B. Only replies are trained."""
    parts = [(token, trained) for reply in replies
             for ids, trained in ((reply.context, False), (reply.completion, True)) for token in ids]
    return TrainingRow([token for token, _ in parts], [trained for _, trained in parts])


class LeakParams(Params):
    """The part of an item that a row may repeat."""

    overlap: int = Field(8, ge=1, description="Longest run of an item's words that a row may share.")


def leaks(text: str, pool: Pool, params: LeakParams) -> bool:
    """Return whether a row's text names an item like an injection, or repeats it (whole, or more than `overlap` words).

    Words are compared in lower case without punctuation.
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
    """Scores without experience over the same n tasks, in [0, 1]."""

    previous: float
    score: float
    tasks: int


class RoundParams(Params):
    """The drop that a round may have."""

    standard_errors: float = Field(1.0, ge=0, description="Largest drop, in standard errors of the previous score.")


def round_gate(inputs: RoundScores, params: RoundParams, state: State) -> tuple[bool, State, Metrics]:
    """accept = (s_prev - s <= standard_errors * se), se = sqrt(s_prev (1 - s_prev) / n)."""
    error = math.sqrt(inputs.previous * (1 - inputs.previous) / inputs.tasks)
    drop = inputs.previous - inputs.score
    return drop <= params.standard_errors * error, state, {"drop": drop, "standard_error": error}
