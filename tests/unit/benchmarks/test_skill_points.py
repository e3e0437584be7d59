"""The teacher of points: its episodes are what the harness plays, and it calls the skill by its relevance alone."""

from typing import Any

from benchmarks.through_services import skill_points
from hone.environments import streams
from hone.environments.tasks import episode
from hone.harnesses.skills import SkillsParams, called
from hone.models import toy
from hone.text.tokenizer import Tokenizer

TOKENIZER = Tokenizer({name: data for name, data in toy.files(**skill_points.POLICY).items() if name.endswith(".json")})


def test_turns_of_the_teacher_are_what_the_environment_says_to_its_answers() -> None:
    rows, params = skill_points.demonstrations(600), SkillsParams.model_validate(skill_points.HARNESS["params"])
    asked: dict[str, list[bool]] = {}
    for task in streams.draw("skill_points", skill_points.PARAMS, "train", 0, 0, 60):
        world = episode(task)
        first, seen = world.reset().messages
        ids, done = TOKENIZER.encode(first["content"] + seen["content"]), False
        while not done:
            row = next(rows)
            assert TOKENIZER.encode(row["prompt"]) == ids
            skill = called(row["completion"], params)
            asked.setdefault(seen["content"], []).append(skill is not None)
            taken = world.step(skill or row["completion"])
            done, seen = taken.done, next(iter(taken.observation.messages), {"content": ""})
            ids += [*TOKENIZER.encode(row["completion"]), TOKENIZER.eos_id, *TOKENIZER.encode(seen["content"])]
    assert {said for said in asked if not any(asked[said])} == {f"aid{a}{b}?" for a in "+-" for b in "+-"}
    for useful in "+-":
        assert _share(asked[f"+{useful}?"]) > 0.7
        assert 0.2 < _share(asked[f"-{useful}?"]) < 0.7


def _share(calls: list[Any]) -> float:
    return sum(calls) / len(calls)


def test_an_answer_has_one_or_two_tokens() -> None:
    lengths = {len(TOKENIZER.encode(row["completion"])) for row in skill_points.demonstrations(50)}
    assert lengths == {1, 2}
    assert max(lengths) < skill_points.MAX_TOKENS
