"""Who reasons for a fit: a formula, or a judge or model of the tenant's, asked as graders ask theirs."""

import asyncio
from collections.abc import Sequence

from hone.audiences.reasoning import FormulaReasoner, Prompt, Question, Reasoner, ReasonerSpec
from hone.graders import questions
from hone.graders.questions import Reply
from hone.judges.asking import AskedJudges
from hone.process.line import Turn
from services.simulation.audiences.rows import AudienceRows


class OutOfTokens(Exception):
    """A fit has used the tokens that it may use of its judge."""


class JudgeReasoner:
    """Asks a judge by its name. Raises JudgeFailed, StillWaiting and NotReady where it gives no words, OutOfTokens."""

    def __init__(self, judges: AskedJudges, spec: ReasonerSpec, turn: Turn, rows: AudienceRows) -> None:
        self._judges, self._spec, self._turn, self._rows, self._times = judges, spec, turn, rows, 0

    async def answer(self, asked: Sequence[Question]) -> list[str]:
        """Return one text for each question. A later call draws anew, since an equal question has a known answer."""
        self._times += 1
        return await self._said([one.prompt(self._spec.max_tokens) for one in asked], self._times)

    async def write(self, prompts: Sequence[Prompt]) -> list[str]:
        """Return one text for each prompt."""
        return await self._said(prompts, 0)

    async def _said(self, prompts: Sequence[Prompt], seed: int) -> list[str]:
        await self._expect_some_left()
        replies = await asyncio.gather(
            *(self._judges.ask(self._question(one, seed), self._turn) for one in prompts), return_exceptions=True)
        for reply in replies:
            if isinstance(reply, BaseException):
                raise reply
        return [reply.text for reply in replies if isinstance(reply, Reply)]

    async def _expect_some_left(self) -> None:
        """Raise OutOfTokens where the fit has used its tokens. What is asked at a time may go beyond them."""
        if not self._spec.tokens:
            return
        used = await self._rows.used(self._turn.run)
        if used >= self._spec.tokens:
            raise OutOfTokens(f"reasoner.tokens: found {used} used tokens, expected less than {self._spec.tokens}")

    def _question(self, asked: Prompt, seed: int) -> questions.Question:
        return questions.Question(self._spec.judge or "", asked.messages, asked.max_tokens, self._spec.temperature,
                                  seed=seed, schema=asked.schema)


def reasoner(judges: AskedJudges, spec: ReasonerSpec, turn: Turn, rows: AudienceRows) -> Reasoner:
    """Return who reasons."""
    return FormulaReasoner(spec.formulas) if spec.formulas is not None else JudgeReasoner(judges, spec, turn, rows)


def turn_of(fit_id: str, tenant_id: str, key_id: str | None) -> Turn:
    """Return whose time a fit's questions use: its limits are those of a run."""
    return Turn(run=fit_id, tenant=tenant_id, key=key_id or "")
