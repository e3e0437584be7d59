"""What another policy says of a step's trained tokens: a teacher's stored word, or the prompts of another context.

numpy only. Both are in the flat order of a packed step's trained tokens.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hone.trajectory.packing import Batch, Flags, Floats, Ints, Unpackable, rows
from hone.trajectory.records import Call, Scored, Trajectory


@dataclass(frozen=True)
class TeacherLogprobs:
    """A teacher's word on each of M trained tokens; where it has none, `known` is False and the numbers mean nothing.
    """

    logp: Floats  # [M], nats; -inf where the teacher cannot say the token
    known: Flags  # [M]
    top_ids: Ints  # [M, K], different ids at each token
    top_logp: Floats  # [M, K], theirs


def stored_teacher(batch: Batch, trajectories: Sequence[Trajectory], name: str) -> TeacherLogprobs:
    """Return what the model of this role said of the batch's trained tokens when they were stored.

    Raises Unpackable when a word is not as long as its completion, or there are not equally many ids at each token.
    """
    calls = list(_calls(batch, trajectories))
    spoken = [_spoken(call, name) for call in calls]
    most = max((_width(call, word) for call, word in zip(calls, spoken, strict=True) if word), default=0)
    words = [_word(call, word, most) for call, word in zip(calls, spoken, strict=True)]
    return TeacherLogprobs(*(np.concatenate([word[place] for word in words]) for place in range(4)))


def under_context(batch: Batch, trajectories: Sequence[Trajectory], name: str) -> tuple[Batch, Flags]:
    """Return the batch as it is under the context of this name, and which trained tokens [M] have one.

    Tokens without it stand behind their own prompt. Trained tokens and their order are the batch's.
    """
    chosen = _chosen(batch, trajectories)
    moved = [replace(one, calls=[_moved(call, name) for call in one.calls]) for one in chosen]
    known = [np.full(sum(call.train_mask), _context(call, name) is not None) for call in _calls(batch, trajectories)]
    return replace(batch, rows=[rows(one) for one in moved]), np.concatenate(known)


def _chosen(batch: Batch, trajectories: Sequence[Trajectory]) -> list[Trajectory]:
    by_key = {(one.request_no, one.index): one for one in trajectories}
    return [by_key[key] for key in batch.keys]


def _calls(batch: Batch, trajectories: Sequence[Trajectory]) -> Iterator[Call]:
    """Yield the policy's calls in the order of their tokens."""
    for one in _chosen(batch, trajectories):
        yield from (call for call in one.calls if call.role == "policy")


def _spoken(call: Call, name: str) -> Scored | None:
    found = next((word for word in call.scored if word.name == name), None)
    if found is not None and len(found.logp) != len(call.completion_ids):
        raise Unpackable(f"call {call.index}: found {len(found.logp)} log-probabilities of role {name}, expected "
                         f"{len(call.completion_ids)}")
    return found


def _width(call: Call, word: Scored) -> int:
    return len(word.top_ids) // max(1, len(call.completion_ids))


def _word(call: Call, word: Scored | None, most: int) -> tuple[Floats, Flags, Ints, Floats]:
    """Return logp [T], known [T], top ids and their log-probabilities [T, K] of a call's T trained tokens."""
    trained = np.array(call.train_mask, np.bool_)
    count = int(trained.sum())
    if word is None:
        return (np.zeros(count), np.zeros(count, np.bool_), np.tile(np.arange(most), (count, 1)),
                np.full((count, most), -np.log(max(1, most))))
    shape = (len(trained), most)
    if len(word.top_ids) != shape[0] * shape[1] or len(word.top_logp) != len(word.top_ids):
        raise Unpackable(f"call {call.index}: found {len(word.top_ids)} likeliest ids with {len(word.top_logp)} "
                         f"log-probabilities, expected {most} at each of {len(trained)} tokens")
    return (np.array(word.logp)[trained], np.ones(count, np.bool_),
            np.array(word.top_ids, np.int64).reshape(shape)[trained],
            np.array(word.top_logp, np.float64).reshape(shape)[trained])


def _context(call: Call, name: str) -> list[int] | None:
    return next((context.prompt_ids for context in call.contexts if context.name == name), None)


def _moved(call: Call, name: str) -> Call:
    prompt = _context(call, name)
    return call if prompt is None else replace(call, prompt_ids=prompt)
