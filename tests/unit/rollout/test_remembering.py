"""Episodes of remembering as workers play them: kinds of calls, histories without probes, and what writes are paid."""

import json
from itertools import pairwise
from typing import Any

import pytest

from benchmarks.methods.local_play import Asked
from hone.remembering.phrases import pairs
from hone.trajectory.records import Call, Step
from services.rollout.branches import Episode
from services.rollout.calls import CallRequest
from tests.support.harnesses.reading import SIZES, reader
from tests.support.rollout.episodes import TOKENIZER, Local, Script, answer, every_played
from tests.support.rollout.groups import claim

SHORT = {"known_text": "{known}\n", "write_text": "Known:{known}\nMessages:{messages}\n", "flush": 2, "keep": 0}


class Reader(Script):
    """A policy that reads its prompts."""

    def __init__(self, local: Local | None = None) -> None:
        super().__init__("", [])
        self.prompts, self._restart = list[tuple[str, str]](), local

    def _answer(self, question: CallRequest) -> Call:
        kind, text = question.ask.kind, TOKENIZER.decode(question.prompt_ids)
        self.prompts.append((kind, text))
        said = reader(Asked(kind, [{"role": "user", "content": text}]))
        return answer(question, " ".join(f"{name}={value}" for name, value in json.loads(said).items())
                      if kind == "write" else said)

    async def first_calls(self, question: CallRequest, samples: Any) -> list[Call]:
        return [self._answer(question) for _ in samples]

    async def next_call(self, question: CallRequest, index: int, steps: list[Step]) -> Call:  # noqa: ARG002
        if self._restart is not None and question.ask.kind == "write":
            self._restart.restart()
        return self._answer(question)


async def played(script: Reader, local: Local | None = None, **params: Any) -> Episode:
    group = claim(sampling={"max_tokens": 128}, harness="remembering", harness_params={**SHORT, **params})
    [one] = await every_played(local or user(), script, group, positions=8192)
    return one


def user() -> Local:
    return Local("changing_user", 3, {"life": SIZES, "words": "plain"})


@pytest.mark.parametrize("memory", ["native", "awi"])
async def test_probes_are_conversations_of_their_own_and_the_talk_goes_on_without_them(memory: str) -> None:
    script = Reader()
    one = await played(script, memory=memory)
    assert (one.ended, one.masked, json.loads(one.item_json)["verified"]) == ("done", "", 1.0)
    assert {call.kind for call in one.calls} == {"reply", "probe", "diagnose"} | ({"write"} - {
        "write" if memory == "native" else ""})
    replies = [text for kind, text in script.prompts if kind == "reply"]
    assert all("1:" not in text for text in replies)
    if memory == "native":
        assert all(later.startswith(earlier) for earlier, later in pairwise(replies))
    else:
        assert pairs(replies[-1]).keys() == pairs(" ".join(text for _, text in script.prompts)).keys()


async def test_writes_and_answers_are_paid_in_calls_of_their_own_also_after_a_change_of_session() -> None:
    local = user()
    one = await played(Reader(local), local, written=1.0, lost=1.0, answered=0.5)
    writes = [call for call in one.calls if call.kind == "write"]
    assert sum(call.rules.get("written", 0) for call in writes) > 4
    assert all(call.notes["write"]["changed"] for call in writes if call.rules.get("written"))
    assert {call.kind for call in one.calls if call.rules} == {"write", "probe"}
    assert {call.rules["answered"] for call in one.calls if call.kind == "probe"} == {0.5}
    assert len({call.notes["probe"]["memory"] for call in one.calls if "probe" in call.notes}) == 4
    assert one.calls == (await played(Reader(), written=1.0, lost=1.0, answered=0.5)).calls
