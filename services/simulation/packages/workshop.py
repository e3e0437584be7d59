"""Tools of a thread that makes a package with a model: the model, by its name, and the sandbox, until the job ends."""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from typing import Any

from hone.environments.packages.calling import Runner
from hone.environments.packages.state_form import unfit
from hone.environments.synthesis.author import UnreadAnswer
from hone.graders.error_kinds import ErrorKind
from hone.graders.judge_answers import read_object
from hone.graders.questions import JudgeFailed, Question, Reply
from hone.judges.asking import AskedJudges
from hone.process.line import StillWaiting, Turn
from hone.sandbox.program import Program, Ran
from hone.spec.roles import AuthorSpec

_WAIT_S = 60.0
_LONGEST_ANSWER = 2**19


class Stopped(Exception):
    """The job has ended, and so does the thread that makes its package."""


class ModelAway(Exception):
    """The model gave no answer after all attempts, or may not be asked any more. The message says why."""


class Workshop:
    """Make it on the running loop. Its methods but `stop` are called in another thread."""

    def __init__(self, judges: AskedJudges, sandbox: Runner, spec: AuthorSpec, turn: Turn) -> None:
        self._judges, self._sandbox, self._spec, self._turn = judges, sandbox, spec, turn
        self._loop = asyncio.get_running_loop()
        self._asking: Future[Reply] | None = None
        self._stopped = False
        self.models, self.asked = set[str](), 0

    def stop(self) -> None:
        """Let the thread end at its next question or program, or in the one that it waits for."""
        self._stopped = True
        if self._asking is not None:
            self._asking.cancel()

    def __call__(self, messages: Sequence[Mapping[str, str]], seed: int, /) -> Mapping[str, Any]:
        """Return the JSON object of the model's answer. Raises UnreadAnswer, ModelAway and Stopped."""
        reply = self.reply(messages, seed)
        try:
            found = read_object(reply)
        except JudgeFailed as unread:
            raise UnreadAnswer(str(unread).removeprefix(f"{unread.kind}: ")) from unread
        if wrong := unfit(found):  # escapes of JSON may stand for them
            raise UnreadAnswer(f"{wrong.field or 'answer'}: expected {wrong.expected}, found {wrong.found}")
        return found

    def reply(
        self, messages: Sequence[Mapping[str, Any]], seed: int, tools: Sequence[Mapping[str, Any]] = (),
    ) -> Reply:
        """Return the model's answer. Raises UnreadAnswer where it refuses or says too much, ModelAway and Stopped."""
        reply = self._reply(Question(
            self._spec.named, messages, self._spec.max_tokens, self._spec.temperature, seed=seed, tools=tools))
        self.asked += 1
        self.models.add(reply.model)
        if len(reply.text) > _LONGEST_ANSWER:
            raise UnreadAnswer(f"expected at most {_LONGEST_ANSWER} characters, found {len(reply.text)}")
        return reply

    def run(self, program: Program) -> Ran:
        """Run a program in the sandbox. Raises Stopped."""
        if self._stopped:
            raise Stopped
        return self._sandbox.run(program)

    def _reply(self, question: Question) -> Reply:
        while True:  # until the job's deadline, which stops it
            try:
                return self._waited(self._judges.ask(question, self._turn))
            except StillWaiting:
                continue
            except JudgeFailed as failed:
                why = str(failed).removeprefix(f"{failed.kind}: ")
                if failed.kind == ErrorKind.MODEL_REFUSAL:
                    raise UnreadAnswer(f"the model refused: {why}") from failed
                raise ModelAway(f"{question.judge} gave no answer: {why}") from failed

    def _waited(self, work: Coroutine[Any, Any, Reply]) -> Reply:
        if self._stopped:
            work.close()
            raise Stopped
        asking = self._asking = asyncio.run_coroutine_threadsafe(work, self._loop)
        if self._stopped:
            asking.cancel()
        try:
            return asking.result()
        except CancelledError as cancelled:
            raise Stopped from cancelled


def turn_of(job_id: str, tenant_id: str, key_id: str | None) -> Turn:
    """Return whose time a job's questions use: a judge's limits of a run are those of the job."""
    return Turn(run=job_id, tenant=tenant_id, key=key_id or "", wait_s=_WAIT_S)
