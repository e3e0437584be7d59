"""Teachers of a step: a model's stored log-probabilities, or the policy's own prompts in another context.

numpy only. Both are in the flat order of a packed step's trained tokens.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hone.trajectory.packing import Batch, Flags, Floats, Ints, Unpackable, rows
from hone.trajectory.records import Call, Scored, Trajectory


@dataclass(frozen=True)
class TeacherLogprobs:
    """A teacher's log-probabilities of M trained tokens. Where `known` is False, the numbers have no meaning."""

    logp: Floats  # [M], nats; -inf: the teacher cannot produce the token
    known: Flags  # [M]
    top_ids: Ints  # [M, K], different ids at each token
    top_logp: Floats  # [M, K], of top_ids


def stored_teacher(batch: Batch, trajectories: Sequence[Trajectory], name: str) -> TeacherLogprobs:
    """Return the log-probabilities of the batch's trained tokens that the model of this role gave and that are stored.

    Raises Unpackable when there are not as many as the completion has tokens, or not equally many ids at each token.
    """
    calls = list(_calls(batch, trajectories))
    scores = [_scored(call, name) for call in calls]
    most = max((_width(call, score) for call, score in zip(calls, scores, strict=True) if score), default=0)
    trained = [_of_trained(call, score, most) for call, score in zip(calls, scores, strict=True)]
    return TeacherLogprobs(*(np.concatenate([each[place] for each in trained]) for place in range(4)))


def under_context(batch: Batch, trajectories: Sequence[Trajectory], name: str) -> tuple[Batch, Flags]:
    """Return the batch with the prompts of the context of this name, and which trained tokens [M] have that context.

    Tokens without it keep their own prompt. Trained tokens and their order stay.
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


def _scored(call: Call, name: str) -> Scored | None:
    found = next((score for score in call.scored if score.name == name), None)
    if found is not None and len(found.logp) != len(call.completion_ids):
        raise Unpackable(f"call {call.index}: found {len(found.logp)} log-probabilities of role {name}, expected "
                         f"{len(call.completion_ids)}")
    return found


def _width(call: Call, score: Scored) -> int:
    return len(score.top_ids) // max(1, len(call.completion_ids))


def _of_trained(call: Call, score: Scored | None, most: int) -> tuple[Floats, Flags, Ints, Floats]:
    """Return logp [T], known [T], top ids and their log-probabilities [T, K] of a call's T trained tokens."""
    trained = np.array(call.train_mask, np.bool_)
    count = int(trained.sum())
    if score is None:
        return (np.zeros(count), np.zeros(count, np.bool_), np.tile(np.arange(most), (count, 1)),
                np.full((count, most), -np.log(max(1, most))))
    shape = (len(trained), most)
    if len(score.top_ids) != shape[0] * shape[1] or len(score.top_logp) != len(score.top_ids):
        raise Unpackable(f"call {call.index}: found {len(score.top_ids)} likeliest ids with {len(score.top_logp)} "
                         f"log-probabilities, expected {most} at each of {len(trained)} tokens")
    return (np.array(score.logp)[trained], np.ones(count, np.bool_),
            np.array(score.top_ids, np.int64).reshape(shape)[trained],
            np.array(score.top_logp, np.float64).reshape(shape)[trained])


def _context(call: Call, name: str) -> list[int] | None:
    return next((context.prompt_ids for context in call.contexts if context.name == name), None)


def _moved(call: Call, name: str) -> Call:
    prompt = _context(call, name)
    return call if prompt is None else replace(call, prompt_ids=prompt)
