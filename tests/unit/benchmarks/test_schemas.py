"""The teacher of hidden schemas: its episodes are what the environment would say to its turns."""

import random

from benchmarks.through_services import schemas
from hone.environments.sql_exploration import SqlExploration, SqlExplorationParams
from hone.harnesses.sql_phases import SqlPhasesParams, read
from hone.models import toy
from hone.text.tokenizer import Tokenizer

LINE = SqlPhasesParams(**schemas.HARNESS["params"])


def test_a_demonstration_is_what_the_environment_says_to_its_turns() -> None:
    right = list[float]()
    for place, row in enumerate(schemas.demonstrations(60, where=0.5, exact=0.4, wider=0.3)):
        question = schemas._question(random.Random(f"shown schemas 0 {place}"))
        world = SqlExploration().episode(SqlExplorationParams(**schemas.PARAMS), 0, question.row)
        messages = world.reset().messages
        for turn in [message for message in row["messages"] if message["role"] == "assistant"]:
            taken = world.step(read(LINE, turn["content"]).call.action())
            messages = [*messages, turn, *taken.observation.messages]
        assert messages == row["messages"]
        assert taken.observation.item["done"] == [
            "explore_schema", "propose_schema", "generate_sql", "confirm_answer"]
        right.append(float(world.verify() or 0))
    assert 0 < sum(right) < len(right)


def test_an_episode_is_a_hundred_tokens() -> None:
    files = toy.files(**schemas.POLICY)
    tokenizer = Tokenizer({name: data for name, data in files.items() if name.endswith(".json")})
    [row] = schemas.demonstrations(1, where=1.0, exact=1.0, wider=0.0)
    assert sum(len(tokenizer.encode(message["content"])) for message in row["messages"]) < 100
