"""Judges for graders: known answers first, then the limits of the run and of the judge, then the endpoint."""

import asyncio
import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

import httpx
from psycopg.types.json import Jsonb

from hone.client.judge_resources import JudgeTerms
from hone.graders.error_kinds import ErrorKind
from hone.graders.questions import Asked, JudgeFailed, Question, Rating, Reply
from hone.judges import chat_completions, ratings, verification
from hone.judges.directory import Directory, Named
from hone.judges.endpoint import Exchange, answer
from hone.judges.places import Places
from hone.judges.storable import storable_failure, storable_reply
from hone.process.line import Turn
from hone.rpc import outage
from hone.spec.settings import Settings
from hone.store.database import AsyncDatabase
from hone.telemetry import metrics


class AskedJudges:
    """Asks judges. Equal questions to what is known to be the same judge get one answer, also at the same moment."""

    def __init__(self, settings: Settings, database: AsyncDatabase, client: httpx.AsyncClient) -> None:
        self._database, self._client = database, client
        self._directory = Directory(settings, database, client)
        self._places = dict[tuple[str, str], Places]()
        self._asking = dict[tuple[str, bytes], asyncio.Task[Reply]]()

    async def ask(self, question: Asked, turn: Turn) -> Reply:
        """Return a judge's answer. Raises JudgeFailed, StillWaiting, and NotReady while the database is away."""
        if turn.seed and isinstance(question, Question):
            question = replace(question, seed=(question.seed + turn.seed) % 2**31)
        try:
            reply = await self._known_or_asked(question, turn)
        except JudgeFailed as error:
            failed = storable_failure(error)
            metrics.JUDGE_QUESTIONS.labels("failed").inc()
            await self._report(question.judge, failed, turn)
            raise failed from error
        metrics.JUDGE_QUESTIONS.labels("known" if reply.cached else "answered").inc()
        return reply

    async def answering(self, names: Iterable[str], turn: Turn) -> dict[str, str]:
        """Return the present answerer under each name, as equal answers need; empty: nobody can say.

        Raises JudgeFailed for a judge that cannot be asked, and NotReady while the database is away.
        """
        return {name: (await self._directory.find(name, turn)).pinned or "" for name in names}

    async def _known_or_asked(self, question: Asked, turn: Turn) -> Reply:
        judge = await self._directory.find(question.judge, turn)
        if judge.pinned is None or turn.anew:
            return await self._ask(judge, question, turn)
        digest = _digest(judge.pinned, question)
        with outage.reported():
            known = await self._database.one("judges.answer", tenant_id=turn.tenant, hash=digest)
        if known is not None:
            return replace(Reply(**known["reply"]), cached=True)
        key, first = (turn.tenant, digest), (turn.tenant, digest) not in self._asking
        if first:
            self._asking[key] = asyncio.create_task(self._ask_and_keep(key, judge, question, turn))
            self._asking[key].add_done_callback(lambda task: self._forget(key, task))
        reply = await asyncio.shield(self._asking[key])  # it goes on, and is kept, where its caller goes away
        return reply if first else replace(reply, cached=True)

    async def _ask_and_keep(self, key: tuple[str, bytes], judge: Named, question: Asked, turn: Turn) -> Reply:
        reply = await self._ask(judge, question, turn)
        with outage.reported():
            await self._database.run("judges.keep_answer", tenant_id=key[0], hash=key[1], judge=judge.name,
                                     reply=Jsonb(asdict(reply)))
        return reply

    def _forget(self, key: tuple[str, bytes], task: asyncio.Task[Reply]) -> None:
        del self._asking[key]
        if not task.cancelled():
            task.exception()  # whoever still waits has it

    async def _ask(self, judge: Named, question: Asked, turn: Turn) -> Reply:
        terms = judge.endpoint.terms
        places = self._places.setdefault((turn.tenant, judge.name), Places())
        async with places.one(terms, turn):
            await self._expect_some_left(judge, turn)
            with _timed():
                reply = storable_reply(await answer(self._client, judge.endpoint, _exchange(judge, question)))
            with outage.reported():
                await self._database.run("judges.spend", run_id=turn.run, judge=judge.name, tokens=reply.tokens,
                                         cost=_cost(terms, reply), pinned=judge.pinned or "")
        return reply

    async def _expect_some_left(self, judge: Named, turn: Turn) -> None:
        """Raise JudgeFailed where the run has spent what the judge's terms allow it."""
        terms = judge.endpoint.terms
        if not terms.run_tokens and not terms.run_cost:
            return
        with outage.reported():
            spent = await self._database.one("judges.spent", run_id=turn.run, judge=judge.name)
        if spent and terms.run_tokens and spent["tokens"] >= terms.run_tokens:
            raise JudgeFailed(ErrorKind.MODEL_SERVER, f"the run has used its {terms.run_tokens} tokens of the judge "
                              f"{judge.name} (run_tokens)")
        if spent and terms.run_cost and spent["cost"] >= terms.run_cost:
            raise JudgeFailed(ErrorKind.MODEL_SERVER, f"the run has spent its {terms.run_cost:g} on the judge "
                              f"{judge.name} (run_cost)")

    async def _report(self, name: str, failed: JudgeFailed, turn: Turn) -> None:
        """Tell the run, once, that a judge fails: its samples are masked, and it goes on."""
        message = f"judge {name}: {failed}. Samples without a verdict are masked."
        with outage.reported():
            async with self._database.transaction() as transaction:
                await transaction.one("events.lock_of_judge", run_id=turn.run, judge=name)
                await transaction.run("events.add_of_judge", run_id=turn.run, judge=name, message=message)


def _exchange(judge: Named, question: Asked) -> Exchange:
    """Return a question in the judge's protocol. Raises JudgeFailed for a question of another one."""
    protocol = judge.endpoint.terms.protocol
    if isinstance(question, Rating):
        if protocol == "pooling" or judge.own:
            return ratings.exchange(judge.endpoint, question)
        raise JudgeFailed(ErrorKind.MODEL_SERVER, f"the judge {judge.name} is not a reward model: found protocol "
                          f"{protocol}, "
                          "expected pooling")
    if isinstance(question, Question):
        if protocol == "chat":
            return chat_completions.exchange(judge.endpoint, question)
        raise JudgeFailed(ErrorKind.MODEL_SERVER, f"the judge {judge.name} does not answer questions: found protocol "
                          f"{protocol}, expected chat")
    if protocol == "verify":
        return verification.exchange(judge.endpoint, question)
    raise JudgeFailed(ErrorKind.MODEL_SERVER, f"no verify server {judge.name!r} is set: `hone judges set {judge.name} "
                      "URL --protocol verify` does it")


def _digest(pinned: str, question: Asked) -> bytes:
    return hashlib.sha256(json.dumps([pinned, asdict(question)], sort_keys=True, default=_plain).encode()).digest()


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else list(value)


def _cost(terms: JudgeTerms, reply: Reply) -> float:
    return (terms.prompt_price * reply.prompt_tokens + terms.completion_price * reply.completion_tokens) / 1e6


@contextmanager
def _timed() -> Iterator[None]:
    began = time.perf_counter()
    try:
        yield
    finally:
        metrics.JUDGE_SECONDS.observe(time.perf_counter() - began)
