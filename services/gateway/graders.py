"""Graders in a spec: the reward service, which will run them, says whether they are right."""

import json
import re
from collections.abc import Iterator
from typing import Any

import grpc

from hone.api import reward_pb2, reward_pb2_grpc
from hone.environments.dataset import DatasetParams
from hone.rpc.client import channel
from hone.spec.problems import Problem
from hone.spec.run import RunSpec
from services.gateway.errors import Away

_SENTENCE = re.compile(r"(?P<field>.*?): found (?P<found>.*), expected (?P<expected>.*)", re.DOTALL)
_ITEM = re.compile(r"\{\{\s*item\.(\w+)")
_TIMEOUT_S = 10.0
_USUAL = DatasetParams.model_fields["grader"].default

Grader = dict[str, Any]


def named(spec: RunSpec) -> Iterator[tuple[str, Grader]]:
    """Yield each grader of a spec with its place; the one that datasets have anyway needs no look."""
    if spec.grader is not None:
        yield "grader", spec.grader
    sources = {"task": spec.task, "eval.source": spec.eval.source if spec.eval is not None else None}
    for at, source in sources.items():
        if source is not None and source.dataset is not None and source.params["grader"] != _USUAL:
            yield f"{at}.params.grader", source.params["grader"]


def columns(grader: Grader) -> set[str]:
    """Return the keys of a row that a grader reads: those in its templates, and answer where it names none."""
    read = set(_ITEM.findall(json.dumps(grader)))
    return read if "reference" in grader else read | {"answer"}


async def check(address: str, spec: RunSpec) -> list[Problem]:
    """Return what is wrong with a spec's graders. Raises Away while the reward service does not answer."""
    return [problem for at, grader in named(spec) for problem in await _problems(address, at, grader)]


async def _problems(address: str, at: str, grader: Grader) -> list[Problem]:
    request = reward_pb2.ValidateGraderRequest(grader_json=json.dumps(grader))
    async with channel(address) as connection:
        try:
            answer = await reward_pb2_grpc.RewardServiceStub(connection).ValidateGrader(request, timeout=_TIMEOUT_S)
        except grpc.aio.AioRpcError as error:
            raise Away(f"The reward service, which checks graders, is {error.code().name}.") from None
    return [_problem(at, sentence) for sentence in answer.problems]


def _problem(at: str, sentence: str) -> Problem:
    parts = _SENTENCE.fullmatch(sentence)
    if parts is None:
        return Problem(at, "a grader that cannot run", sentence)
    return Problem(f"{at}.{parts['field']}", parts["found"], parts["expected"])
