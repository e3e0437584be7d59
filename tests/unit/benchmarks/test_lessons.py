"""The careless teacher with lessons: its episodes are the environment's, its advice is what a run's contexts read."""

from benchmarks.through_services import lessons
from hone.environments import streams
from hone.environments.tasks import episode
from hone.harnesses.contexts import PrivilegedContexts
from hone.models import toy
from hone.text.tokenizer import Tokenizer
from hone.trajectory.order import PrivilegedText
from hone.trajectory.records import Call

TOKENIZER = Tokenizer({name: data for name, data in toy.files(**lessons.POLICY).items() if name.endswith(".json")})


def test_steps_of_the_teacher_are_what_the_environment_says_to_its_actions_and_a_run_puts_its_lessons_there() -> None:
    rows = lessons.demonstrations(400, careless=0.2, share=0.4)
    contexts = PrivilegedContexts(
        [PrivilegedText(**one) for one in lessons.contexts("step")["privileged"]], TOKENIZER, 512)
    advised, opened = 0, list[float]()
    for task in streams.draw("phase_lock", lessons.PARAMS, "train", 0, 0, 40):
        world = episode(task)
        first, seen = world.reset().messages
        ids, done = TOKENIZER.encode(first["content"] + seen["content"]), False
        while not done:
            row = next(rows)
            if TOKENIZER.encode(row["prompt"]) != ids:
                call = Call(0, ids, [1], [-1.0], "stop", [], "", [True])
                [context] = contexts.of(None, [first, seen], call)
                assert TOKENIZER.encode(row["prompt"]) == context.prompt_ids
                assert f": {row['completion']}\n" in row["prompt"]
                advised += 1
            taken = world.step(row["completion"])
            done, seen = taken.done, taken.observation.messages[0]
            ids += [*TOKENIZER.encode(row["completion"]), TOKENIZER.eos_id, *TOKENIZER.encode(seen["content"])]
        opened.append(float(world.verify() or 0))
    assert 80 < advised < 160
    assert 0 < sum(opened) < len(opened)


def test_an_episode_has_few_tokens() -> None:
    *_, row = lessons.demonstrations(8, careless=0.0, share=0.0)
    assert len(TOKENIZER.encode(row["prompt"])) < 70
    assert sum(len(TOKENIZER.encode(one["text"])) for one in lessons.contexts("task")["privileged"]) < 60
