"""The choice of the model that answers one chat completion of a route, and its row."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from psycopg.types.json import Jsonb

from hone import ids
from hone.algorithms.routing import decision
from hone.algorithms.routing.decision import Objective
from hone.api import value_pb2
from hone.client.routing_resources import Considered, Route
from hone.text.conversation import prompt_text
from services.gateway.middleware.errors import NotFound, Refusal
from services.gateway.middleware.tenancy import TenantSession
from services.gateway.openai import chat, prompts
from services.gateway.openai.asking import Asking
from services.gateway.openai.chat import Chat
from services.gateway.openai.refusals import ModelNotFound, TooLong, WrongRequest, unknown_model
from services.gateway.openai.requests import ChatRequest
from services.gateway.routing import stored
from services.gateway.routing.stored import Candidate

_TOO_LITTLE = 0.5
"""The chance of success of every candidate while the value service does not answer."""


@dataclass(frozen=True)
class Chosen:
    """Choice among candidates, with the predictions for all of them."""

    candidate: Candidate
    considered: Sequence[Considered]
    reason: str
    explored: bool
    propensity: float


@dataclass(frozen=True)
class Request:
    """A chat completion of a route."""

    id: str  # of its answer
    session: TenantSession
    route: Route
    body: ChatRequest
    prompt: str

    @property
    def objective(self) -> dict[str, float]:
        """Objective of the choice: the route's, or the request's own."""
        given = self.body.route.model_dump(exclude_none=True, exclude={"exploration"}) if self.body.route else {}
        return given or self.route.objective

    @property
    def exploration(self) -> float:
        """The share of the decisions that is drawn."""
        own = self.body.route.exploration if self.body.route else None
        return self.route.exploration if own is None else own


async def prepared(
    stack: AsyncExitStack, models: Asking, session: TenantSession, body: ChatRequest, name: str,
) -> Chat:
    """Return the chat of the candidate that a route chooses; the decision is stored. `stack` holds its place.

    A candidate that is gone, or cannot take this request, is left out and another one chosen. Raises NotFound for an
    unknown route or one whose candidates are all gone, else the refusal of the candidate that was tried last.
    """
    asked = await _request(session, body, name)
    present = await stored.present(session, asked.route)
    left, left_out = list(present.candidates), dict(present.gone)
    last: Refusal = _nobody(body.model, asked.route, left_out)
    while left:
        chosen = await _choose(models, asked, left)
        try:
            async with AsyncExitStack() as attempt:
                own = body.model_copy(update={"model": chosen.candidate.model})
                model = await attempt.enter_async_context(models.one(session, own.model, body.reasoning_effort))
                ready = await chat.prepared(model, own, asked.id, _Ending(session, asked.id, _shown(asked, chosen)))
                await _store(asked, chosen, left_out)
                stack.push_async_exit(attempt.pop_all())
                return ready
        except (ModelNotFound, TooLong, WrongRequest) as refusal:
            left_out[chosen.candidate.model] = str(refusal.detail)
            left.remove(chosen.candidate)
            last = refusal
    raise last


async def _request(session: TenantSession, body: ChatRequest, name: str) -> Request:
    try:
        route = await stored.one(session, name)
    except NotFound as error:
        raise unknown_model(body.model, "no route has this name") from error
    return Request(ids.new("chatcmpl"), session, route, body, prompt_text(prompts.conversation(body)))


def _nobody(model: str, route: Route, gone: dict[str, str]) -> Refusal:
    if not route.candidates:
        return unknown_model(model, "there is no model and no run yet")
    return unknown_model(model, f"all candidates of the route are gone: {', '.join(gone)}")


async def _choose(models: Asking, asked: Request, candidates: Sequence[Candidate]) -> Chosen:
    """Return the candidate that the value service chooses; while that is away, every chance of success is 0.5."""
    request = value_pb2.RouteRequest(
        tenant_id=asked.session.tenant_id, prompt=asked.prompt, exploration=asked.exploration, decision_id=asked.id,
        candidates=[value_pb2.RouteCandidate(model=one.model, subject_id=one.subject_id, cost=one.cost)
                    for one in candidates], **asked.objective)
    made, trouble = await models.calls.route(asked.session, request)
    if made is None:
        return _unpredicted(asked, candidates, trouble)
    considered = [_considered(one, p=score.p, score=score.score, rows=score.rows, doubt=score.doubt)
                  for one, score in zip(candidates, made.scores, strict=True)]
    return Chosen(candidates[made.chosen], considered, made.reason, made.explored, made.propensity)


def _unpredicted(asked: Request, candidates: Sequence[Candidate], trouble: str) -> Chosen:
    made = decision.decide(
        decision.unknown(len(candidates), _TOO_LITTLE), [one.cost for one in candidates], Objective(**asked.objective),
        asked.exploration, decision.draw(asked.id))
    considered = [_considered(one, p=_TOO_LITTLE, score=score, doubt=trouble)
                  for one, score in zip(candidates, made.scores, strict=True)]
    return Chosen(candidates[made.place], considered, f"{made.reason}; nothing is predicted: {trouble}", made.explored,
                  made.propensity)


def _considered(one: Candidate, **found: Any) -> Considered:
    return Considered(model=one.model, cost=one.cost, subject_id=one.subject_id, **found)


def _shown(asked: Request, chosen: Chosen) -> dict[str, Any]:
    """Return the answer's fields about its route."""
    return {"name": asked.route.name, "model": chosen.candidate.model, "reason": chosen.reason,
            "explored": chosen.explored,
            "considered": [one.model_dump(include={"model", "cost", "p"}) for one in chosen.considered]}


async def _store(asked: Request, chosen: Chosen, left_out: dict[str, str]) -> None:
    considered = [*chosen.considered, *(Considered(model=model, left_out=why) for model, why in left_out.items())]
    async with asked.session.transaction() as transaction:
        await transaction.run(
            "routing.decide", id=asked.id, tenant_id=asked.session.tenant_id, key_id=asked.session.key_id,
            route=asked.route.name, prompt=asked.prompt, model=chosen.candidate.model,
            subject_id=chosen.candidate.subject_id, objective=Jsonb(asked.objective),
            considered=Jsonb([one.model_dump(exclude_defaults=True) for one in considered]), reason=chosen.reason,
            explored=chosen.explored, propensity=chosen.propensity)


@dataclass(frozen=True)
class _Ending:
    """Stores what an answer used."""

    session: TenantSession
    id: str
    shown: dict[str, Any]

    async def ended(self, prompt_tokens: int, completion_tokens: int) -> None:
        async with self.session.transaction() as transaction:
            await transaction.run("routing.ended", id=self.id, prompt_tokens=prompt_tokens,
                                  completion_tokens=completion_tokens)


