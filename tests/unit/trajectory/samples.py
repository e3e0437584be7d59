"""Small trajectories and plans for packing and training tests."""

import math
import random
from dataclasses import replace

from hone.algorithms.presets import resolve
from hone.algorithms.slots import BUILDERS, method
from hone.spec.run import AlgorithmSpec
from hone.trajectory.plan import GroupPlan, StepPlan
from hone.trajectory.records import Call, Context, Scored, Span, Step, Trajectory, VersionSpan


def call(prompt, completion, index=0, **changes):
    count = len(completion)
    fields = {"logp_sample": [-1.0] * count, "finish_reason": "stop", "versions": [VersionSpan("ver_0", count)],
              "text": "", "train_mask": [True] * count, **changes}
    return Call(index=index, prompt_ids=list(prompt), completion_ids=list(completion), **fields)


def trajectory(group, index, *calls, request_no=None):
    return Trajectory(
        group_id=group, index=index, request_no=group if request_no is None else request_no, task={}, task_hash="",
        item={}, calls=list(calls), steps=[], status="ok", score=1.0, grade_id=1)


def plan(rewards, algorithm=None, **changes):
    """A plan over groups {group_id: rewards}, whose request numbers are their ids."""
    groups = [GroupPlan(group_id=group, request_no=group, task_hash="", grade_ids=[1] * len(values), rewards=values)
              for group, values in rewards.items()]
    slots = resolve(AlgorithmSpec.model_validate(algorithm or {}))
    name = slots["builder"]["name"]
    given = BUILDERS[name].from_rows or BUILDERS[name].makes_pairs
    builder = name if given else "rollouts"  # as the driver plans a step of samples
    fields = {"n": 1, "builder": builder, "parts": [], "lr": 1e-3, "clip_norm": 1.0,
              "temperature": 1.0, "max_tokens": 16, **changes}
    return StepPlan(groups=groups, slots=slots, **fields)


def random_step(groups=6, samples=4, vocabulary=32, seed=0, longest_prompt=9, longest_completion=11, algorithm=None):
    """A plan and trajectories with random prompts, lengths, rewards of 0 or 1, and plausible logp_sample."""
    draw = random.Random(seed)
    trajectories, rewards = [], {}
    for group in range(groups):
        prompt = [draw.randrange(vocabulary) for _ in range(draw.randint(1, longest_prompt))]
        rewards[group] = [float(draw.random() < 0.5) for _ in range(samples)]
        for index in range(samples):
            completion = [draw.randrange(vocabulary) for _ in range(draw.randint(1, longest_completion))]
            logp = [-3.0 - draw.random() for _ in completion]
            trajectories.append(trajectory(group, index, call(prompt, completion, logp_sample=logp)))
    return plan(rewards, algorithm), trajectories


def step_of(index, taken_by, said, reward=0.0, effect=True, rules=None):
    """An environment's transition: `taken_by` is the call that took it."""
    return Step(index=index, call=taken_by, action="act", said=[{"role": "user", "content": said}],
                observation_hash=said, state_hash=said, valid=True, effect=effect, reward=reward,
                rules=rules or {})


def random_episodes(groups=4, samples=4, vocabulary=32, seed=0, algorithm=None, components=("exec", "fmt")):
    """A plan and trajectories of one to three turns, with rewards of turns, spans, and parts of the outcome by name."""
    draw = random.Random(seed)
    trajectories, rewards, parts = [], {}, {}
    for group in range(groups):
        rewards[group] = [float(draw.random() < 0.5) for _ in range(samples)]
        parts[group] = [{name: draw.random() for name in components} for _ in range(samples)]
        opening = [draw.randrange(vocabulary) for _ in range(draw.randint(1, 5))]
        trajectories += [_random_episode(draw, group, index, opening, vocabulary) for index in range(samples)]
    step = plan(rewards, algorithm, steps=10)
    own = method(step.slots, "advantage").components
    named = {group: [{**each, **dict(zip(own, each.values(), strict=False))} for each in made]
             for group, made in parts.items()}
    groups_with_parts = [one.model_copy(update={"components": named[one.group_id]}) for one in step.groups]
    return step.model_copy(update={"groups": groups_with_parts}), trajectories


def _random_episode(draw, group, index, opening, vocabulary):
    calls, steps, text = [], [], list(opening)
    for turn in range(draw.randint(1, 3)):
        completion = [draw.randrange(vocabulary) for _ in range(draw.randint(1, 6))]
        logp = [-3.0 - draw.random() for _ in completion]
        spans = [Span("schema", 0, (len(completion) + 1) // 2)] if turn else []
        calls.append(call(text, completion, turn, logp_sample=logp, spans=spans))
        said, paid = draw.choice("ab"), -float(draw.random() < 0.3)
        steps.append(step_of(turn, turn, said, paid, rules={"format": paid, "loop": 0.0}))
        text = [*text, *completion, *(draw.randrange(vocabulary) for _ in range(2))]
    made = trajectory(group, index, *calls)
    return replace(made, steps=steps, task_hash=f"task {group}")


def with_proposals(step):
    """The same plan with rewards whose part `exec` is 0 or 1, and with a part `schema`."""
    def scored(parts):
        return {**parts, "exec": float(round(parts["exec"])), "schema": parts["fmt"] ** 2}

    return step.model_copy(update={"groups": [one.model_copy(update={"components": list(map(scored, one.components))})
                                              for one in step.groups]})


def with_teacher(trajectories, vocabulary=32, top_k=3, seed=0):
    """The same trajectories with a teacher's word on each of the policy's calls but every seventh."""
    draw = random.Random(seed)

    def word(one):
        count = len(one.completion_ids)
        ids = [identity for _ in range(count) for identity in draw.sample(range(vocabulary), top_k)]
        logp = [math.log(share / 10) for _ in range(count) for share in range(top_k, 0, -1)]
        return Scored("teacher", "ver_t", [-4 * draw.random() for _ in range(count)], ids, logp)

    return [replace(one, calls=[
        each if draw.random() < 1 / 7 else replace(each, scored=[word(each)]) for each in one.calls])
        for one in trajectories]


def with_context(trajectories, text=(7, 8), left_out=()):
    """The same trajectories with `text` before each prompt as a privileged context, but for these (group, index)."""
    return [one if (one.group_id, one.index) in left_out else replace(one, calls=[
        replace(each, contexts=[Context("privileged", [*text, *each.prompt_ids], "hash")]) for each in one.calls])
        for one in trajectories]


def of_kinds(step, trajectories):
    """Return trajectories whose calls are of a kind that the step's advantage tells apart, if it tells kinds apart."""
    kinds = method(step.slots, "advantage").kinds
    return [replace(one, calls=[replace(call, kind=kinds[-1]) for call in one.calls])
            for one in trajectories] if kinds else trajectories
