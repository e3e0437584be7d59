"""A teacher's word on what the policy wrote: asked of an engine for a whole group, once its episodes have ended."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hone.api import inference_pb2
from hone.trajectory.order import Role
from hone.trajectory.records import Call, Scored
from services.rollout.claims import Claim
from services.rollout.engines import Engines
from services.rollout.patience import Patience, Unavailable

NAME = "teacher"
Places = tuple[int, int]
"""Of a call: its sample's and its own."""


@dataclass(frozen=True)
class Text:
    """Calls of which each begins with all that was there before, as one sequence: `ids` follow the first prompt."""

    prompt_ids: list[int]
    ids: list[int]
    completions: list[tuple[Places, int, int]]  # whose they are, and where in `ids` they begin and end

    def goes_on(self, call: Call) -> bool:
        """Whether a call's prompt begins with the whole text."""
        text = [*self.prompt_ids, *self.ids]
        return call.prompt_ids[:len(text)] == text

    def and_then(self, call: Call, place: Places) -> "Text":
        """Return the text with a call that goes on with it."""
        begin = len(call.prompt_ids) - len(self.prompt_ids)
        ids = [*call.prompt_ids[len(self.prompt_ids):], *call.completion_ids]
        return Text(self.prompt_ids, ids, [*self.completions, (place, begin, len(ids))])


class Scorer:
    """Asks engines what a group's teacher thinks."""

    def __init__(self, engines: Engines, patience: Patience) -> None:
        self._engines, self._patience = engines, patience

    async def scored(self, claim: Claim, samples: Sequence[list[Call]]) -> list[list[Call]]:
        """Return each sample's calls, those of the policy with the teacher's word where the claim names a teacher.

        Scores are a function of weights and ids: they are not journaled, and are the same whoever asks again.
        Raises ClaimLost when the group is no longer ours.
        """
        texts = [text for place, calls in enumerate(samples) for text in _texts(place, calls)]
        teacher = claim.order.teacher
        if teacher is None or not texts:
            return list(samples)
        words = await self._patience.keep(claim, "the teacher", lambda: self._asked(claim, teacher, texts))
        return [[replace(call, scored=[words[place, number]]) if (place, number) in words else call
                 for number, call in enumerate(calls)] for place, calls in enumerate(samples)]

    async def _asked(self, claim: Claim, teacher: Role, texts: list[Text]) -> dict[Places, Scored]:
        version_id = claim.role_versions.get(NAME)
        if version_id is None:
            raise Unavailable(f"model {teacher.model_id} has no version that is live")
        engine = await self._engines.choose(teacher.model_id)
        response = await engine.score(inference_pb2.ScoreRequest(
            model_id=teacher.model_id, version_id=version_id, temperature=1.0, top_k=teacher.top_k,
            items=[inference_pb2.ScoreItem(context_ids=text.prompt_ids, ids=text.ids) for text in texts]))
        problem = wrong(response, texts, version_id, teacher.top_k)
        if problem:
            engine.failures += 1
            raise Unavailable(f"engine {engine.id} answers {problem}")
        return {place: word for text, item in zip(texts, response.items, strict=True)
                for place, word in _words(text, item, response.version_id, teacher.top_k)}


def wrong(response: inference_pb2.ScoreResponse, texts: list[Text], version_id: str, top_k: int) -> str:
    """Say in what an answer does not fit what was asked; "" if it does."""
    if response.version_id != version_id:
        return f"for version {response.version_id}, expected {version_id}"
    if len(response.items) != len(texts):
        return f"{len(response.items)} items, expected {len(texts)}"
    for text, item in zip(texts, response.items, strict=True):
        found, wanted = (len(item.logp), len(item.top_ids), len(item.top_logp)), len(text.ids)
        if found != (wanted, wanted * top_k, wanted * top_k):
            return f"{found} scores and likeliest ids, expected {wanted} and {top_k} at each"
        if any(map(math.isnan, item.logp)):
            return "scores that are no numbers"
    return ""


def _texts(place: int, calls: Sequence[Call]) -> Iterator[Text]:
    """Yield the sequences that a sample's policy calls make up: few, where each goes on with the one before."""
    text: Text | None = None
    for number, call in enumerate(calls):
        if call.role != "policy":
            continue
        if text is not None and not text.goes_on(call):
            yield text
            text = None
        text = (text or Text(call.prompt_ids, [], [])).and_then(call, (place, number))
    if text is not None:
        yield text


def _words(
    text: Text, item: inference_pb2.ScoredItem, version_id: str, top_k: int
) -> Iterator[tuple[Places, Scored]]:
    for place, begin, end in text.completions:
        top = slice(begin * top_k, end * top_k)
        yield place, Scored(
            NAME, version_id, list(item.logp[begin:end]), list(item.top_ids[top]), list(item.top_logp[top]))
