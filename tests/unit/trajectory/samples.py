"""Small trajectories and plans for packing and training tests."""

import random

from hone.algorithms.presets import resolve
from hone.spec.run import AlgorithmSpec
from hone.trajectory.plan import GroupPlan, StepPlan
from hone.trajectory.records import Call, Trajectory, VersionSpan


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
    fields = {"n": 1, "builder": slots["builder"]["name"], "parts": [], "lr": 1e-3, "clip_norm": 1.0,
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
