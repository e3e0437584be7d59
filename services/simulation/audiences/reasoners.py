"""Who reasons for a fit: a formula, or a judge or model of the tenant's, asked as graders ask theirs."""

import asyncio
from collections.abc import Sequence

from hone.audiences.reasoning import FormulaReasoner, Question, Reasoner, ReasonerSpec
from hone.graders import questions
from hone.graders.questions import Reply
from hone.judges.asking import AskedJudges
from hone.process.line import Turn


class JudgeReasoner:
    """Asks a judge by its name. Raises JudgeFailed, StillWaiting and NotReady where it gives no words."""

    def __init__(self, judges: AskedJudges, spec: ReasonerSpec, turn: Turn) -> None:
        self._judges, self._spec, self._turn, self._times = judges, spec, turn, 0

    async def answer(self, asked: Sequence[Question]) -> list[str]:
        """Return one text for each question. A later call draws anew, since an equal question has a known answer."""
        self._times += 1
        replies = await asyncio.gather(
            *(self._judges.ask(self._question(one), self._turn) for one in asked), return_exceptions=True)
        for reply in replies:
            if isinstance(reply, BaseException):
                raise reply
        return [reply.text for reply in replies if isinstance(reply, Reply)]

    def _question(self, asked: Question) -> questions.Question:
        return questions.Question(
            self._spec.judge or "", asked.messages, self._spec.max_tokens, self._spec.temperature, seed=self._times,
            schema={"type": "object", "additionalProperties": False, "required": list(asked.steps),
                    "properties": {step: {"type": "number", "minimum": 0, "maximum": 1} for step in asked.steps}})


def reasoner(judges: AskedJudges, spec: ReasonerSpec, turn: Turn) -> Reasoner:
    """Return who reasons."""
    return FormulaReasoner(spec.formulas) if spec.formulas is not None else JudgeReasoner(judges, spec, turn)


def turn_of(fit_id: str, tenant_id: str, key_id: str | None) -> Turn:
    """Return whose time a fit's questions use: its limits are those of a run."""
    return Turn(run=f"audience/{fit_id}", tenant=tenant_id, key=key_id or "")
