"""Stations of every request to a model: a place, the tenant's limits, the model, its tokenizer, the engine."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass

from hone.api import trajectory_pb2
from hone.spec.settings import Settings
from hone.store.database import AsyncDatabase
from hone.store.objects import Objects
from hone.text.model_text import ModelText
from hone.text.stops import cut
from services.gateway.middleware.tenancy import TenantSession
from services.gateway.openai.answers import ABORTED, Sample
from services.gateway.openai.calls import ChatShare, EngineCalls
from services.gateway.openai.names import AskedModel, find
from services.gateway.openai.refusals import OverQuota
from services.gateway.openai.texts import AskedText, AskedTexts

_MOST_NUMBERS = 10_000


@dataclass(frozen=True)
class Asked:
    """A request's model with everything that answers for it."""

    session: TenantSession
    model: AskedModel
    text: AskedText
    positions: int  # of prompt and answer together
    asking: "Asking"

    @property
    def reader(self) -> ModelText:
        """Turns ids into text."""
        return self.text.tokenizer

    async def sample(
        self, made: trajectory_pb2.Completion, prompt_ids: Sequence[int], stops: Sequence[str], index: int
    ) -> Sample:
        """Return an answer that an engine gave as a whole. Raises Away for one that it broke off."""
        text = cut(self.reader.decode(made.ids, after=prompt_ids), stops)
        return await self.part(made, text, index)

    async def part(self, made: trajectory_pb2.Completion, text: str, index: int) -> Sample:
        """Return new tokens of an answer, with the text that they add."""
        versions = await self.asking.shown(self, made.versions)
        top = [list(zip(one.ids, one.logp, strict=True)) for one in made.likeliest]
        return Sample(index, made.ids, made.logp_sample, text, made.finish_reason, versions, top)


def broken(made: trajectory_pb2.Completion) -> bool:
    """Return whether an engine broke an answer off."""
    return made.finish_reason == ABORTED


class Asking:
    """State of a gateway for requests to models."""

    def __init__(self, settings: Settings, database: AsyncDatabase, objects: Objects) -> None:
        self._most_tokens = settings.engine.max_tokens
        self.calls, self._texts = EngineCalls(settings, database), AskedTexts(objects)
        self._share = ChatShare(settings.chat.requests, settings.chat.tenant_requests)
        self._numbers = dict[str, int]()  # of versions, by id

    def place(self, session: TenantSession) -> AbstractContextManager[None]:
        """Hold a place among the requests in progress. Raises Busy."""
        return self._share.one(session.tenant_id)

    @asynccontextmanager
    async def one(self, session: TenantSession, name: str, effort: str | None = None) -> AsyncIterator[Asked]:
        """Give the model that a request names, and hold a place until the context ends. Its template reads the effort.

        Raises Busy, OverQuota, ModelNotFound, and WrongRequest for a tokenizer that cannot be used.
        """
        with self.place(session):
            await _expect_some_left(session)
            model = await find(session, name)
            model = model if effort is None else model.with_effort(effort)
            text = await self._texts.of(model, session.tenant_id)
            positions = min(self._most_tokens, model.positions or self._most_tokens)
            yield Asked(session, model, text, positions, self)

    async def shown(
        self, asked: Asked, spans: Iterable[trajectory_pb2.VersionSpan]
    ) -> list[tuple[str, int, int]]:
        """Return the spans of versions with the ids and numbers that clients see."""
        named = [(*asked.model.shown.get(span.version_id, (span.version_id, None)), span.tokens) for span in spans]
        if missing := [id for id, number, _ in named if number is None and id not in self._numbers]:
            await self._look_up(asked.session, missing)
        return [(id, self._numbers.get(id, 0) if number is None else number, tokens) for id, number, tokens in named]

    async def _look_up(self, session: TenantSession, version_ids: Sequence[str]) -> None:
        async with session.transaction() as transaction:
            rows = await transaction.all("asked.numbers", ids=list(version_ids))
        if len(self._numbers) > _MOST_NUMBERS:
            self._numbers.clear()
        self._numbers |= {row["id"]: row["number"] for row in rows}


async def _expect_some_left(session: TenantSession) -> None:
    limit = await session.reached_limit()
    if limit is not None:
        raise OverQuota(f"You exceeded your current quota: {limit.reason}. Wait for {limit.until}.")
