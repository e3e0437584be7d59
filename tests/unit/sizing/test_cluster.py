"""Sizes of a cluster: who gets the GPUs, how many processes, what the servers take."""

import re
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

import pytest

from hone.sizing import cluster
from hone.sizing.cluster import TooFew, TooLarge, Workload, best_split, plan
from hone.sizing.costs import GROUPS_A_SECOND, PROCESSOR_MS, SNAPSHOT_BYTES, VERSION_BYTES

SMALL = Workload(8, parameters=1e9, tokens=100, prompt_tokens=100, generate_rate=1000, train_rate=1000)


def test_the_split_gives_the_most_samples() -> None:
    """A sample takes 0.1 s of an engine's GPU and 0.2 s of a trainer's: one of three GPUs generates."""
    split = best_split(SMALL)
    assert (split.engines, split.engine_gpus, split.trainer_gpus, split.turns) == (3, 1, 5, False)
    assert split.rate == pytest.approx(min(3 * 10, 5 * 5))
    assert best_split(replace(SMALL, gpus=9, train_rate=2000)).rate == pytest.approx(40)


def test_one_gpu_computes_in_turns() -> None:
    split = best_split(replace(SMALL, gpus=1))
    assert (split.engines, split.trainer_gpus, split.turns) == (1, 1, True)
    assert split.rate == pytest.approx(1 / 0.3)


def test_a_large_model_is_divided_and_a_larger_one_is_refused() -> None:
    large = Workload(64, parameters=70e9)
    split = best_split(large)
    assert split.engine_gpus == 4, "140 GB in at most 48 GB each"
    assert split.trainer_gpus >= 20, "1120 GB in at most 56 GB each"
    with pytest.raises(TooFew, match="70 billion parameters needs 28 GPUs"):
        best_split(replace(large, gpus=27))


def test_a_trainer_of_several_nodes_fills_them() -> None:
    split = best_split(Workload(64))
    assert split.trainer_gpus % cluster.GPUS_A_NODE == 0
    assert split.trainer_nodes == split.trainer_gpus / cluster.GPUS_A_NODE
    assert split.engines * split.engine_gpus + split.trainer_gpus <= 64


def test_workers_follow_the_rate_and_the_samples_in_flight() -> None:
    found = plan(SMALL)
    rate = found.split.rate
    assert found.cores["rollout"] == pytest.approx(rate * PROCESSOR_MS["rollout"].at(100) / 1000)
    assert found.replicas["driver"] == found.replicas["gateway"] == 2
    busy = plan(replace(SMALL, generate_rate=1e6, train_rate=1e6))
    assert busy.replicas["rollout"] == -(-busy.cores["rollout"] // cluster.BUSY)
    single = plan(replace(SMALL, gpus=64, group=1))
    assert single.replicas["rollout"] == single.split.engines * cluster.ENGINE_SLOTS / cluster.CLAIM_GROUPS


@pytest.mark.parametrize("billions", [1, 3, 8, 14, 32, 70, 120])
def test_as_many_gpus_as_are_said_to_be_needed_are_enough(billions: float) -> None:
    with suppress(TooFew):
        plan(Workload(1, billions * 1e9))
        return
    with pytest.raises(TooFew) as refused:
        plan(Workload(1, billions * 1e9))
    needed = int(re.findall(r"needs (\d+) GPUs", str(refused.value))[0])
    assert plan(Workload(needed, billions * 1e9)).split.rate > 0
    with pytest.raises(TooFew):
        plan(Workload(needed - 1, billions * 1e9))


@pytest.mark.parametrize("parameters", [1e6, 1.7e9, 32e9, 70e9])
@pytest.mark.parametrize("tokens", [16, 8192])
def test_more_gpus_never_give_fewer_samples_or_workers(parameters: float, tokens: int) -> None:
    plans = [plan(Workload(gpus, parameters, tokens)) for gpus in (*range(28, 90), 512, 1000)]
    for fewer, more in pairwise(plans):
        assert more.split.rate >= fewer.split.rate
        assert all(more.replicas[kind] >= count for kind, count in fewer.replicas.items())
        used = more.split.engines * more.split.engine_gpus + more.split.trainer_gpus
        assert used <= more.workload.gpus * (2 if more.split.turns else 1)
        assert more.split.trainer_gpus % more.split.trainer_nodes == 0


def test_a_tiny_model_is_limited_by_what_postgres_was_seen_to_store() -> None:
    found = plan(Workload(1, parameters=1.0))
    assert (found.split.limit, found.servers.groups_share) == ("PostgreSQL", 1.0)
    assert found.split.rate == GROUPS_A_SECOND * 8


def test_a_model_that_fits_no_node_is_refused_with_the_memory_that_it_needs() -> None:
    with pytest.raises(TooLarge, match="needs GPUs of 169 GB or more"):
        plan(Workload(1000, parameters=405e9))


@pytest.mark.parametrize("gpus", [1, 8, 64])
def test_servers_take_what_the_samples_leave(gpus: int) -> None:
    found = plan(replace(SMALL, gpus=gpus, snapshot_every=2))
    servers, rate = found.servers, found.split.rate
    assert servers.postgres_gb_a_day == pytest.approx(servers.postgres_rows * 86400 / 1e9)
    assert servers.groups_share == pytest.approx(rate / 8 / 2421)
    steps = rate / SMALL.samples
    assert servers.bucket_writes - servers.bucket_gb_a_day * 1e9 / 86400 == pytest.approx(
        steps * SMALL.parameters * (VERSION_BYTES + SNAPSHOT_BYTES / 2))
