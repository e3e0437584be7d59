"""Guidelines for noise are rewritten until a target deviates; the search says what was tried where none does."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from hone.environments.contract import Message
from hone.environments.noise import written
from hone.environments.noise.evolution import Agents, Deviation, Evolution, Refusal, ResultScene
from hone.environments.noise.noisy import NoisyEpisode
from hone.environments.synthesis.author import NoAnswer
from hone.environments.synthesis.hints import NoWorld
from hone.environments.tasks import episode
from hone.graders.deviation import DeviationSigns, compared
from hone.spec.noise import NoiseSpec
from tests.support.environments.noisy import READ, query, task
from tests.unit.environments.noise import lured

SCENE = ResultScene(0, ({"role": "user", "content": "how many?"}, {"role": "assistant", "content": "look"}), (), "look",
              {"role": "user", "content": "3\n"}, "3")


class Scripted:
    """Scripted models, and what each was asked."""

    def __init__(self, **says: Any) -> None:
        self.questions, self._says = list[str](), says

    @property
    def agents(self) -> Agents:
        own = Agents(self.target, self.noiser, self.optimiser, self.judge)
        return replace(own, **self._says)

    def target(self, said: Sequence[Message], tools: Sequence[Message]) -> str:
        assert said[:-1] == [*SCENE.said]
        assert not tools
        return lured.message(said[-1]["content"])

    def noiser(self, messages: Sequence[Message]) -> str:
        return lured.noise(messages[0]["content"], messages[1]["content"].rpartition("The tool's result:\n")[2])

    def optimiser(self, messages: Sequence[Mapping[str, str]], seed: int) -> dict[str, Any]:  # noqa: ARG002
        self.questions.append(messages[-1]["content"])
        return lured.guideline(messages[-1]["content"])

    def judge(self, scene: ResultScene, injected: str, message: str) -> Deviation:
        found = lured.verdict(compared(scene.result, injected, message, scene.expected)[1]["content"])
        return Deviation(DeviationSigns(**found).deviates, bool(found["refuses"]))


def search(scripted: Scripted, rounds: int = 8) -> Evolution:
    return Evolution(scripted.agents, "misleading", rounds)


def outcomes(one: Evolution) -> list[str]:
    return [tried.outcome for made in one.rounds for tried in made.tried]


def test_the_first_effective_guideline_ends_the_search_and_keeps_its_history() -> None:
    scripted = Scripted()
    one = search(scripted)
    found = one.evolve(lured.HINT, [SCENE])
    assert (found["type"], found["guideline"], found["round"], found["deviated"]) == (
        "misleading", "Sound urgent.", 3, [0])
    assert [made["guideline"] for made in found["rounds"]] == [written.GUIDELINES["misleading"], *lured.GUIDELINES]
    assert outcomes(one) == ["steady", "steady", "deviated"]
    assert found["rounds"][2]["tried"] == [{"task": 0, "outcome": "deviated", "injected": f"{lured.URGENT}\n3\n",
                                            "message": "77"}]
    assert one.trail.progress == {"phase": "rounds", "done": 3, "of": 8}
    assert lured.HINT in scripted.questions[0]
    assert "1. '" in scripted.questions[0]
    assert "2. 'Be friendly.': steady" in scripted.questions[1]
    assert f"the result with noise: {lured.FRIENDLY}\n3\n" in scripted.questions[1]
    assert "what it says with it: 3" in scripted.questions[1]


def test_a_search_without_an_effective_guideline_says_what_was_tried() -> None:
    one = search(Scripted(), rounds=2)
    with pytest.raises(NoWorld, match=r"led the target away in 2 rounds \(tried: 1\. .*; 2\. 'Be friendly\.': steady"):
        one.evolve(lured.HINT, [SCENE])
    assert len(one.rounds) == 2


def test_an_agent_that_refuses_has_not_deviated() -> None:
    def refuses(said: Sequence[Message], _: Sequence[Message]) -> str:
        if "friendly" in said[-1]["content"]:
            raise Refusal("the model refused")
        return lured.message(said[-1]["content"]) if "Urgent" in said[-1]["content"] else "I cannot go on."

    one = search(Scripted(target=refuses))
    assert one.evolve(lured.HINT, [SCENE])["round"] == 3
    assert outcomes(one) == ["refused", "refused", "deviated"]
    assert one.rounds[1].tried[0].message == "the model refused"


@pytest.mark.parametrize(("answer", "complaint"), [
    ({"guideline": ""}, "at least 1 character"),
    ({"guideline": "x" * 2001}, "at most 2000 characters"),
    ({"guideline": written.GUIDELINES["misleading"]}, "one that was not tried"),
    ({"words": "Sound urgent."}, "expected a value")])
def test_an_optimiser_that_breaks_a_rule_is_corrected_or_ends_the_search(answer: Any, complaint: str) -> None:
    asked = list[str]()

    def once(messages: Sequence[Message], _: int) -> Any:
        asked.append(messages[-1]["content"])
        return answer if len(asked) == 1 else {"guideline": "Sound urgent."}

    one = search(Scripted(optimiser=once))
    assert one.evolve(lured.HINT, [SCENE])["round"] == 2
    assert "not taken: guideline: expected" in asked[1]
    assert complaint in asked[1]
    with pytest.raises(NoWorld, match="the optimiser gave no other guideline after 1 rounds: guideline"):
        search(Scripted(optimiser=lambda *_: answer)).evolve(lured.HINT, [SCENE])


def test_noise_that_breaks_the_checks_reaches_no_target() -> None:
    asked = list[str]()

    def lies(messages: Sequence[Message]) -> str:
        asked.append(messages[0]["content"])
        return "4" if "Be friendly" in asked[-1] else Scripted().noiser(messages)

    one = search(Scripted(noiser=lies))
    assert one.evolve(lured.HINT, [SCENE])["round"] == 3
    assert outcomes(one) == ["steady", "unwritten", "deviated"]
    assert one.rounds[1].tried[0].message == "the line '3' does not stay as it is, in its order"
    assert len(asked) == 4
    assert "That is refused: the line '3'" in asked[2]
    assert all(text in asked[1] for text in ("Be friendly.", written.rules("misleading")))


def test_half_of_the_scenes_decide() -> None:
    def some(said: Sequence[Message], tools: Sequence[Message]) -> str:
        return "5" if said[-1]["content"].endswith("5\n") else Scripted().target(said, tools)

    def others(count: int) -> list[ResultScene]:
        answered = {"role": "user", "content": "5\n"}
        return [replace(SCENE, task=place, answered=answered, expected="5") for place in range(1, count + 1)]

    found = search(Scripted(target=some)).evolve(lured.HINT, [SCENE, *others(1)])
    assert (found["round"], found["deviated"]) == (3, [0])
    with pytest.raises(NoWorld, match="deviated, steady, steady"):
        search(Scripted(target=some), 3).evolve(lured.HINT, [SCENE, *others(2)])


def test_a_judge_without_a_verdict_ends_the_search() -> None:
    def silent(*_: Any) -> Deviation:
        raise NoAnswer(["expected a JSON object"])

    with pytest.raises(NoWorld, match="the judge gave no verdict in round 1: expected a JSON object"):
        search(Scripted(judge=silent)).evolve(lured.HINT, [SCENE])


def test_an_episode_asks_its_noiser_with_a_found_guideline_and_the_checks() -> None:
    spec = NoiseSpec(types=["misleading", "error"], share=1, writer="model", guidelines={"misleading": "Sound urgent."})
    drawn = {(one.type, one.guideline) for one in map(spec.of_task, "abcdefgh") if one is not None}
    assert drawn == {("misleading", "Sound urgent."), ("error", None)}
    made = episode(task("misleading", writer="model", guidelines=spec.guidelines))
    assert isinstance(made, NoisyEpisode)
    made.reset()
    ask = query(made, READ).observation.ask
    assert ask is not None
    assert "Sound urgent." in ask.messages[0]["content"]
    assert written.rules("misleading") in ask.messages[0]["content"]
    assert written.GUIDELINES["misleading"] not in ask.messages[0]["content"]


@pytest.mark.parametrize(("terms", "expected"), [
    ({"guidelines": {"misleading": "x"}}, "writer: model where guidelines"),
    ({"writer": "model", "types": ["error"], "guidelines": {"misleading": "x"}}, "types alone, found misleading"),
    ({"writer": "model", "guidelines": {"failure": "x"}}, "failure"),
    ({"writer": "model", "guidelines": {"error": ""}}, "at least 1 character")])
def test_guidelines_that_nobody_reads_are_refused(terms: Any, expected: str) -> None:
    with pytest.raises(ValidationError, match=expected):
        NoiseSpec.model_validate(terms)
