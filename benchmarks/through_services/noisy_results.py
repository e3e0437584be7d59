"""Results of tools that have noise: an agent queries a table for a code, which stands there twice, and says it.

A wrong value shows as a disagreement of the two. A result that is hidden, cut or wrong has to be asked for again, and
what stands around the truth has to be left.
"""

import random
import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from benchmarks.through_services.comparison import START, Comparison, Direction, Row, Spec
from benchmarks.through_services.curves import UNDER_NOISE
from hone.environments.contract import Episode
from hone.environments.noise import tool_noise
from hone.environments.noise.noisy import noisy
from hone.environments.tasks import episode, make, split_of
from hone.environments.tools import ToolCall
from hone.models import toy
from hone.spec.noise import NoiseSpec, ToolNoise

NOISE = {"types": list(get_args(ToolNoise)), "intensity": 2}
ASKED, QUERY = "Code?", "query: SELECT * FROM codes"
NAMES = ("amy", "bob", "eve", "sam")
TEXTS = [f"{ASKED}\n", QUERY, "…", *(f"{name}|" for name in NAMES), *tool_noise.TEXTS]
POLICY: Mapping[str, Any] = {"hidden": 64, "ffn": 256, "vocab_size": 160, "symbols": [*toy.TEXT, *TEXTS]}
"""Sizes of the policy: a hundred thousand parameters."""
CODES, MAX_TOKENS, STEPS = range(100, 1000), 5, 60
PARAMS = {"turns": 4}
TASK = {"environment": "sqlite", "params": PARAMS, "dataset": "tables"}
HARNESS: Mapping[str, Any] = {"name": "tool_loop", "params": {"syntax": "line", "describe": False}}
_OPENINGS = 0.125
"""Share of the episodes whose first turn is shown: it is the same in all of them."""
_CALL = ToolCall("query", {"sql": QUERY.partition(": ")[2]}).action()
_ROW = re.compile(r"^\w+\|(\d+)\|(\d+)$", re.MULTILINE)


def rows() -> Iterator[Row]:
    """Yield a table for each code, which stands in it twice, behind a name."""
    for code in CODES:
        name = NAMES[code % len(NAMES)]
        script = ("CREATE TABLE codes (name TEXT, code INTEGER, again INTEGER); "
                  f"INSERT INTO codes VALUES ('{name}', {code}, {code});")
        yield {"prompt": ASKED, "database": script, "answer": str(code)}


def _queries(share: float) -> Spec:
    task: dict[str, Any] = {**TASK, **({"noise": {**NOISE, "share": share}} if share else {})}
    return {
        "model": {"base": "querying"}, "task": task, "harness": HARNESS, "algorithm": {
            "preset": "grpo", "aggregation": {"name": "token-mean"},
            "regularizers": [{"name": "kl", "params": {"coefficient": 0.01}}]},
        "batch": {"prompts": 8, "samples": 8}, "steps": STEPS, "sampling": {"max_tokens": MAX_TOKENS},
        "optimizer": {"lr": 3e-4}, "eval": {"prompts": 64, "every": 20, "samples": 2, "noise": NOISE},
        "snapshot_every": STEPS}


NOISY_RESULTS = Comparison(
    "agentnoisebench.md", "An agent queries a table for a code, which stands there twice, and says it. Calls fail, "
    "results are hidden, cut or wrong, or have advertisements and other codes around them: what does each of the five "
    "types of noise take from a policy, and does training with such results in half of the groups keep more of the "
    "success under noise than clean training?",
    {"clean": _queries(0), "noise in half": _queries(0.5)},
    (Direction("noise in half", "clean", UNDER_NOISE), Direction("noise in half", START, "sampled")),
    figures=(UNDER_NOISE, *get_args(ToolNoise)),
    remark="Both arms start from a policy that was shown noise of all five types in every other episode, by a teacher "
    "who mostly guessed behind results that failed, were hidden or disagreed, and often said another code that stood "
    "around. Failing and hidden results, which have to be asked for again, are what training under noise mends, and "
    "other codes around the truth in part. Missed: wrong values, which show as two codes that disagree, still take "
    "more than half of the success in both arms. Looked into on seed 0, which came out the same again: after noise in "
    "four samples of five, samples have 2.06 turns at the start and 2.00 and 2.03 in the arms, where asking again each "
    "time would make 2.8, as it does behind hidden results (2.77). So the start hardly asks again there, though its "
    "teacher did, and rewards did not change it. The start scores 0.617 without noise and 0.17 to 0.42 under it. Of "
    "samples among other codes under one in fifty said one of those; what the other wrong ones said was not looked "
    "into. Missed, too: without noise the arm that trained under it ends 0.013 lower, on each of the seeds. The noise "
    "of training is that of the evaluation, on other codes. Steps and sizes were set before seed 0 was run, and not "
    "changed after it.")


def demonstrations(count: int, careless: float, forgetful: float, seed: int = 0) -> Iterator[Row]:
    """Yield turns of a teacher; in every other episode the results have noise.

    The teacher gets the share `careless` of the codes wrong by a digit. Behind the share `forgetful` of the results
    that fail, are hidden or disagree it guesses, and else asks again; of other codes around the truth it says so often
    one of those.
    """
    tables, noise = _tables(), NoiseSpec.model_validate({**NOISE, "share": 1.0})
    made = 0
    while made < count:
        chance = random.Random(f"querying {seed} {made}")
        task = make("sqlite", PARAMS, made, chance.choice(tables))
        drawn = noise.of_task(f"{seed} {made}") if chance.random() < 0.5 else None
        world = episode(task) if drawn is None else noisy(episode(task), drawn)
        opening, *turns = _played(world, chance, careless, forgetful)
        shown = [opening, *turns] if chance.random() < _OPENINGS else turns
        made += len(shown)
        yield from shown


def _tables() -> list[Row]:
    return [row for row in rows() if split_of(make("sqlite", PARAMS, 0, row).content_hash) == "train"]


def _played(world: Episode, chance: random.Random, careless: float, forgetful: float) -> Iterator[Row]:
    seen = world.reset()
    before, said, text, over = "", seen.messages[-1]["content"], QUERY, False
    while not over:
        yield {"prompt": before + said, "completion": text}
        taken = world.step(_CALL if text == QUERY else text)
        before, over = f"{before}{said}{text}<eos>", taken.done
        if not over:
            said, left = taken.observation.messages[0]["content"], taken.observation.turns_left
            text = _text(said, left < 2, chance, careless, forgetful)


def _text(said: str, last: bool, chance: random.Random, careless: float, forgetful: float) -> str:
    row = _ROW.search(said)
    forgets = chance.random() < forgetful
    if row is None or row[1] != row[2]:
        if not last and not forgets:
            return QUERY
        return str(chance.choice(row.groups() if row else CODES))
    others = re.findall(r"\b\d{2,4}\b", said[:row.start()] + said[row.end():])
    code: str = chance.choice(others) if others and forgets else row[1]
    if chance.random() >= careless:
        return code
    place = chance.randrange(len(code))
    return code[:place] + str(chance.randrange(10)) + code[place + 1:]
