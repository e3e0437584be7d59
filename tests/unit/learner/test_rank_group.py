"""Ranks without processes: calls on the wire, outlines, launching, and a group of one rank."""

import json
import os
import sys
from functools import partial

import pytest
import torch

from hone.models import toy
from hone.models.adapter import Lora
from hone.models.distributed_ranks import is_exchange_error
from hone.models.ranks import ALONE, Ranks, RanksLost
from hone.process import scratch
from hone.spec.problems import Invalid
from hone.spec.settings import Settings, TrainerSettings, read
from hone.trajectory import parts
from hone.trajectory.microbatches import nothing
from services.learner.trainer import launch
from services.learner.trainer.learner import Learner
from services.learner.trainer.metric_sums import MetricSums
from services.learner.trainer.rank_group import RankCall, RankGroup
from services.learner.trainer.snapshot import Start
from services.learner.trainer.training_step import RejectedPlan
from tests.unit.trajectory.samples import plan, random_step

FILES = toy.files(0, hidden=32, heads=2, head_dim=16, ffn=64)
OPTIMIZER = {"lr": 1e-3}


class Two(Ranks):
    """Rank 0 of two ranks. The other reports the error that a test gives it."""

    size = 2

    def __init__(self, other=b""):
        self.other, self.calls = other, []

    def all_gather(self, message):
        return [message, self.other]

    def broadcast(self, message):
        self.calls.append(RankCall.decode(message))
        return message


def test_a_call_reads_as_it_was_written():
    made = plan({0: [1.0, 0.0]}, gap_alarm_nats=0.1 + 0.2)
    blobs = [b"one\n", b"", b"\x00\xff"]
    call = RankCall("forward_backward_stored", 7, [made, blobs, None], {"update": 1, "more": [b"last"]}, [3])
    assert RankCall.decode(call.encode()) == call


def test_a_group_of_one_does_what_its_learner_does():
    made, samples = stored_step(seed=1)
    stored = [parts.encode(samples)]
    led = RankGroup(ALONE).learner(Start.first(FILES), OPTIMIZER, 100)
    alone = Learner.create(FILES, OPTIMIZER, token_budget=100)
    read = parts.planned(made, stored)
    assert len(read) == len(samples)
    metrics = led.forward_backward_stored(made, stored)
    assert metrics.pop("storage/read_s") > 0
    assert metrics == alone.forward_backward(made, read)
    assert led.optim_step(1e-3, 1.0) == alone.optim_step(1e-3, 1.0)
    assert led.weights() == alone.weights()
    assert led.snapshot() == alone.snapshot()


def test_log_probabilities_are_those_of_stock_sequences():
    sequences = [[1, 2, 3, 4], [5, 6], [7, 8, 9]]
    learner = Learner.create(FILES, OPTIMIZER, token_budget=4)
    found = learner.logprobs(sequences)
    assert [len(each) for each in found] == [3, 1, 2]
    whole = Learner.create(FILES, OPTIMIZER, token_budget=100).logprobs(sequences)
    for some, all_at_once in zip(found, whole, strict=True):
        assert some == pytest.approx(all_at_once, abs=1e-5)
    assert learner.snapshot() == Learner.create(FILES, OPTIMIZER, token_budget=4).snapshot()


def test_the_others_hear_of_learners_that_are_gone():
    ranks = Two()
    group = RankGroup(ranks)
    first = group.learner(Start.first(FILES), OPTIMIZER, 100)
    second = group.learner(Start.first(FILES), OPTIMIZER, 100)
    del first
    group.beat()
    group.beat()
    assert [(call.name, call.gone) for call in ranks.calls] == [
        ("make", []), ("make", []), ("beat", [1]), ("beat", [])]
    assert second.rank_count == 2


def test_what_every_rank_refuses_alike_is_the_plans_fault():
    made, samples = stored_step()
    ranks = Two()
    led = RankGroup(ranks).learner(Start.first(FILES), OPTIMIZER, 100)
    with pytest.raises(RanksLost, match=r"rank 0: RejectedPlan.*; rank 1: done"):
        led.forward_backward_stored(made, [parts.encode(samples[1:])])
    with pytest.raises(RejectedPlan) as refused:
        Learner.create(FILES, OPTIMIZER, token_budget=100).forward_backward(made, samples[1:])
    ranks.other = f"RejectedPlan: {refused.value}".encode()
    with pytest.raises(RejectedPlan):
        led.forward_backward_stored(made, [parts.encode(samples[1:])])


def test_what_no_rank_could_do_fails_once_even_if_each_says_why_in_its_own_words():
    made, samples = stored_step()
    ranks = Two()
    led = RankGroup(ranks).learner(Start.first(FILES), OPTIMIZER, 100)
    ranks.other = b"MemoryError: tried to allocate 3 bytes"
    with pytest.raises(RejectedPlan):
        led.forward_backward_stored(made, [parts.encode(samples[1:])])


def test_a_rank_that_could_not_ends_all():
    ranks = Two()
    led = RankGroup(ranks).learner(Start.first(FILES), OPTIMIZER, 100)
    ranks.other = b"OSError: no memory"
    with pytest.raises(RanksLost, match="rank 0: done; rank 1: OSError: no memory"):
        led.optim_step(1e-3, 1.0)


def test_an_exchange_that_broke_is_nobodys_plan_even_if_every_rank_says_the_same(monkeypatch):
    text = "[/torch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Timed out waiting 2000ms for send operation"
    ranks = Two(other=b"")
    led = RankGroup(ranks).learner(Start.first(FILES), OPTIMIZER, 100)
    ranks.other = f"RuntimeError: {text}".encode()
    monkeypatch.setattr(ranks, "is_lost", is_exchange_error)
    monkeypatch.setattr(Learner, "weights", partial(fail, RuntimeError(text)))
    with pytest.raises(RanksLost, match="Timed out"):
        led.weights()
    assert is_exchange_error(torch.distributed.DistBackendError("NCCL communicator was aborted"))
    assert not is_exchange_error(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))


def fail(problem):
    raise problem


def stored_step(seed=0):
    """A step whose samples are in one part."""
    made, samples = random_step(seed=seed)
    groups = [group.model_copy(update={"parts": ["a"]}) for group in made.groups]
    return made.model_copy(update={"groups": groups, "parts": ["a"]}), samples


@pytest.mark.parametrize("lora", [None, Lora(2, 4.0, ("q_proj",))])
@pytest.mark.parametrize("algorithm", [None, {"regularizers": [{"name": "kl", "params": {"coefficient": 0.1}}]}])
def test_an_outline_says_all_but_the_values(lora, algorithm):
    learner = Learner.create(FILES, OPTIMIZER, token_budget=100, lora=lora)
    learner.forward_backward(*random_step(seed=0, algorithm=algorithm))
    learner.optim_step(1e-3, 1.0)
    learner.forward_backward(*random_step(seed=1, algorithm=algorithm))
    start = Start.again(learner.snapshot(), None if lora is None else FILES)
    there = Start.elsewhere(json.loads(json.dumps(start.snapshot.outline())))
    ours, theirs = there.snapshot, start.snapshot
    assert (ours.config, ours.lora, ours.policy.updates, ours.states) == (
        theirs.config, theirs.lora, theirs.policy.updates, theirs.states)
    for left, right in ((ours.policy.weights, theirs.policy.weights), (ours.policy.gradients, theirs.policy.gradients),
                        (ours.reference, theirs.reference), (there.base, start.base),
                        *((ours.policy.moments[kind], theirs.policy.moments[kind]) for kind in theirs.policy.moments)):
        assert shapes(left) == shapes(right)


def shapes(tensors):
    return tensors and {name: tensor.shape for name, tensor in tensors.items()}


def test_metric_sums_of_ranks_are_one_sum():
    whole, first, second = MetricSums(), MetricSums(), MetricSums()
    for sums, value, tokens in ((first, 1.0, 2), (second, 4.0, 3), (second, 2.5, 1)):
        for each in (sums, whole):
            each.add({"mean": value, "some/max": value}, tokens)
            each.loss += value
            each.forward_tokens += tokens
    second.add({"only here": 7.0}, 2)
    whole.add({"only here": 7.0}, 2)
    assert MetricSums.joined([first.as_bytes(), second.as_bytes()]).metrics() == whole.metrics()


def trained_by(**given):
    return Settings(trainer=TrainerSettings(**given))


def test_ranks_and_threads_side_by_side_are_refused_by_name():
    for variable, value in (("HONE_TRAINER_RANKS", "2"), ("HONE_TRAINER_DEVICE", "cuda")):
        with pytest.raises(Invalid, match=f"{variable}: .*each rank computes one micro-batch at a time"):
            read({variable: value, "HONE_TRAINER_THREADS": "2"})
    assert trained_by(ranks=2).trainer.threads == 1


def test_a_trainer_of_several_ranks_becomes_torchrun_once(monkeypatch):
    assert not launch.needs_torchrun(Settings(), {})
    assert launch.needs_torchrun(trained_by(ranks=2), {})
    assert launch.needs_torchrun(trained_by(device="cuda"), {})
    assert not launch.needs_torchrun(trained_by(ranks=2), {"RANK": "1"})
    became = []
    monkeypatch.setattr(os, "execv", lambda program, command: became.append((program, command)))
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    monkeypatch.setattr(scratch, "begin_before_exec", lambda _: None)  # it is for the whole process
    launch.become_torchrun(trained_by(ranks=3))
    [(program, command)] = became
    assert program == sys.executable
    assert command[command.index("--nproc-per-node") + 1] == "3"
    assert command[-2:] == ["-m", "services.learner.trainer"]


def test_a_micro_batch_that_trains_nothing_reaches_every_parameter():
    trained = Learner.create(FILES, OPTIMIZER, token_budget=100).models.policy
    logp, entropy = trained(nothing())
    assert len(logp) == len(entropy) == 0
    logp.sum().backward()
    for name, parameter in trained.trained.items():
        assert parameter.grad is not None, name
        assert torch.equal(parameter.grad, torch.zeros_like(parameter)), name
