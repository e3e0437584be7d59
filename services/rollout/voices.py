"""Endpoints that speak for roles of an environment, such as its user. Their words are journaled like a model's."""

import zlib
from collections.abc import Sequence

from hone.environments.contract import Message
from hone.environments.hashing import digest
from hone.environments.noise.written import NOISER
from hone.graders.questions import JudgeFailed, Question, Reply
from hone.harnesses.seat import Ask
from hone.judges.asking import AskedJudges
from hone.judges.endpoint import connections
from hone.process.line import StillWaiting, Turn
from hone.rpc.errors import NotReady
from hone.spec.settings import Settings
from hone.store.database import AsyncDatabase
from hone.trajectory.records import Call, Step
from hone.trajectory.records import Turn as Finished
from services.rollout.calls import Journal
from services.rollout.claims import Claim
from services.rollout.retry import Retry, Unavailable


class Unspoken(RuntimeError):
    """An endpoint gave no words for a role, after all its attempts. The sample is masked."""


class Voices:
    """Asks endpoints. Make it inside the running loop, and close it at the end."""

    def __init__(self, settings: Settings, database: AsyncDatabase, journal: Journal, retry: Retry) -> None:
        self._client, self._journal, self._retry = connections(), journal, retry
        self._judges = AskedJudges(settings, database, self._client)

    async def close(self) -> None:
        await self._client.aclose()

    async def call(
        self, claim: Claim, sample: int, ask: Ask, said: Sequence[Message], place: tuple[int, str], steps: list[Step],
    ) -> Call:
        """Return a role's words as a call, which is journaled. Raises Unspoken.

        `place` is the number of earlier calls at the seat, and the number of the call before. `steps` are those since.
        """
        voice = claim.order.voices[ask.role]
        question = Question(
            voice.endpoint, said, voice.max_tokens, voice.temperature, seed=_seed(claim, sample, ask, said))
        reply = await self._retry.until_answered(
            claim, f"{ask.role} ({voice.endpoint})", lambda: self._reply(claim, ask.role, question))
        index, parent = place
        call = Call(
            index=index, number=ask.number, parent=parent, kind=ask.kind, group_key=ask.group_key,
            turn=ask.seat.turns, role=ask.role, prompt_ids=[], completion_ids=[], logp_sample=[], train_mask=[],
            finish_reason="length" if reply.finish_reason == "length" else "stop", versions=[], text=reply.text,
            sampling={**voice.model_dump(), "asked": asked_digest(said)}, engine=reply.model)
        await self._retry.until_answered(
            claim, "the database", lambda: self._journal.keep(claim, {sample: Finished(call, steps)}))
        return call

    async def _reply(self, claim: Claim, role: str, question: Question) -> Reply:
        try:
            return await self._judges.ask(question, Turn(run=claim.run_id, tenant=claim.tenant_id))
        except (StillWaiting, NotReady) as waits:
            raise Unavailable(str(waits)) from waits
        except JudgeFailed as failed:
            why = str(failed).removeprefix(f"{failed.kind}: ")
            raise Unspoken(f"{question.judge} gave no words for the role {role}: {why}") from failed


def asked_digest(said: Sequence[Message]) -> str:
    """Return the digest of what a role was asked, which a repeated call has to ask again."""
    return digest(list(said))


def _seed(claim: Claim, sample: int, ask: Ask, said: Sequence[Message]) -> int:
    """Return the seed of a role's words. Noise is that of the task: equal results get equal noise in a group."""
    noise = (claim.order.task.get("noise") or {}) if ask.role == NOISER else {}
    drawn = f"{noise['seed']}/{asked_digest(said)}" if noise else (
        f"{claim.order.seed}/{claim.order.request}/{sample}/{ask.number}")
    return zlib.crc32(drawn.encode()) % 2**31
