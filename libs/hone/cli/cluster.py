"""`hone plan cluster`: sizes of a cluster for a number of GPUs, as a table or as values for the chart in k8s/hone."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

import typer
import yaml

from hone.cli.output import say, table
from hone.sizing import costs
from hone.sizing.cluster import BUSY, ENGINE_SHARE_IN_TURNS, Plan, Split, TooFew, TooLarge, Workload, plan
from hone.sizing.gpus import GENERATED, GPUS, TRAINED, Gpu
from hone.spec.problems import Invalid, Problem


def cluster(
    gpus: Annotated[int, typer.Option(min=1, help="GPUs of the cluster.")],
    parameters: Annotated[float, typer.Option(help="Weights of the model, in billions.")] = 1.7,
    tokens: Annotated[int, typer.Option(min=1, help="Tokens of an answer, on average.")] = 512,
    prompt_length: Annotated[int, typer.Option(min=1, help="Tokens of a prompt, on average.")] = 256,
    samples: Annotated[int, typer.Option(min=1, help="Samples of a step.")] = 512,
    snapshot_every: Annotated[int, typer.Option(min=1, help="Steps between snapshots, as in the run's spec.")] = 1,
    group: Annotated[int, typer.Option(min=1, help="Samples of a prompt.")] = 8,
    gpu: Annotated[str, typer.Option(help=f"The GPU: {', '.join(GPUS)}.")] = "h100",
    gpu_memory: Annotated[float | None, typer.Option(help="Memory of a GPU, GB, if it is not in the list.")] = None,
    generate_rate: Annotated[float, typer.Option(min=0, help="Tokens a second that a GPU generates.")] = 0.0,
    train_rate: Annotated[float, typer.Option(min=0, help="Tokens a second that a GPU trains on.")] = 0.0,
    values: Annotated[bool, typer.Option("--values", help="Print values for the chart instead of the table.")] = False,
) -> None:
    """Compute sizes of a cluster from the costs of samples and steps in our benchmarks."""
    _refuse({"--parameters": parameters, "--gpu-memory": gpu_memory},
            {"--generate-rate": generate_rate, "--train-rate": train_rate})
    workload = Workload(gpus, parameters * 1e9, tokens, prompt_length, samples, snapshot_every, group,
                        _gpu(gpu, gpu_memory), generate_rate, train_rate)
    try:
        found = plan(workload)
    except TooFew as error:
        raise Invalid([Problem("--gpus", str(gpus), str(error))]) from None
    except TooLarge as error:
        raise Invalid([Problem("--parameters", f"{parameters:g}", str(error))]) from None
    if values:
        say(chart_values(found))
        return
    table(("part", "size", "why"), lines(found))
    say("\n" + "\n".join(sources(found)))


def _refuse(positive: Mapping[str, float | None], not_negative: Mapping[str, float]) -> None:
    problems = [Problem(name, str(value), "a number above 0") for name, value in positive.items()
                if value is not None and not 0 < value < math.inf]
    problems += [Problem(name, str(value), "a number, 0 or more") for name, value in not_negative.items()
                 if not 0 <= value < math.inf]
    if problems:
        raise Invalid(problems)


def _gpu(name: str, memory: float | None) -> Gpu:
    known = GPUS.get(name.lower())
    if known is None:
        raise Invalid(
            [
                Problem(
                    "--gpu",
                    name,
                    f"one of {', '.join(GPUS)}; for another GPU give --gpu-memory, --generate-rate and --train-rate",
                )
            ]
        )
    return known if memory is None else replace(known, memory=memory * 1e9)


def lines(found: Plan) -> list[tuple[str, str, str]]:
    """Return the table: each part, its size, and why."""
    workload, split, servers = found.workload, found.split, found.servers
    turns = ", which take turns on the same GPUs" if split.turns else ""
    step_s = workload.samples / split.rate
    each_node = f" on each of {split.trainer_nodes} nodes" if split.trainer_nodes > 1 else ""
    replicas = ((kind, f"{count}", f"{found.cores[kind]:.2f} cores busy")
                for kind, count in found.replicas.items())
    return [
        ("samples", f"{split.rate:.3g}/s", f"a step of {workload.samples} in {step_s:.3g} s; limited by {split.limit}"),
        ("engines", f"{split.engines} x {split.engine_gpus} GPUs", f"{workload.generates:.0f} tokens/s a GPU{turns}"),
        ("trainer", f"{split.trainer_gpus // split.trainer_nodes} GPUs{each_node}",
         f"{workload.trains:.0f} tokens/s a GPU"),
        *replicas,
        ("postgres", f"{math.ceil(servers.postgres_cores / BUSY)} cores", f"{servers.postgres_cores:.2f} busy; "
         f"{servers.groups_share:.2%} of the groups that a server was seen to store"),
        ("postgres rows", f"{servers.postgres_gb_a_day:.2f} GB/day", f"{_rate(servers.postgres_rows)}, with indexes"),
        ("postgres log", _rate(servers.postgres_log), "WAL, for replication and backup"),
        ("bucket, written", _rate(servers.bucket_writes), "trajectories; each step's weights; "
         f"a snapshot every {workload.snapshot_every}"),
        ("bucket, read", _rate(servers.bucket_reads), "trajectories by the trainer, weights by each engine"),
        ("bucket, kept", f"{servers.bucket_gb_a_day:.2f} GB/day", "trajectories; weights by the run's retention"),
    ]


def _rate(bytes_a_second: float) -> str:
    unit, size = ("GB", 1e9) if bytes_a_second >= 1e9 else ("MB", 1e6)
    return f"{bytes_a_second / size:.3g} {unit}/s"


def sources(found: Plan) -> list[str]:
    """Return where the figures come from, and what was never measured."""
    workload = found.workload
    rates = (("--generate-rate", workload.generate_rate, GENERATED), ("--train-rate", workload.train_rate, TRAINED))
    assumed = {option: share for option, given, share in rates if not given}
    longest = f"{costs.OVERHEAD_TOKENS[1]:.0f}"
    return [
        f"measured      processor time of a sample: {costs.OVERHEAD}",
        f"measured      bytes of a sample, a version, a snapshot: {costs.FOOTPRINT}",
        f"measured      groups stored a second: {costs.INGEST}",
        f"planned       at most {BUSY:.0%} of a core of each process, and of the database's cores",
        f"extrapolated  to answers of {workload.tokens} tokens, along a line through answers of 6 and {longest}",
        f"extrapolated  to {found.split.rate:.3g} samples/s: no such rate was run, nor any cluster",
        *(
            f"assumed       {option}: {share:.0%} of the GPU's peak; nothing of ours was timed on a GPU, measure yours"
            for option, share in assumed.items()
        ),
    ]


def chart_values(found: Plan) -> str:
    """Return values for the chart, with the command that computed them."""
    workload, split = found.workload, found.split
    nodes = split.trainer_nodes
    gigabytes = workload.parameters / 1e9
    positions = 1 << math.ceil(math.log2(2 * (workload.prompt_tokens + workload.tokens)))
    values = {
        "settings": {"HONE_ENGINE_MAX_TOKENS": positions},
        **{kind: {"replicas": count} for kind, count in found.replicas.items()},
        "inference": {"engine": "vllm", "replicas": split.engines, "gpus": split.engine_gpus,
                      **_memory(4.4 * gigabytes + 2, 2.2 * gigabytes + 8), **_shared(split)},
        "trainer": {"gpus": split.trainer_gpus // nodes, "nodes": nodes, **_memory(gigabytes + 8, 16 * gigabytes + 16)},
    }
    notes = [f"# hone plan cluster --gpus {workload.gpus} --parameters {gigabytes:g} --tokens {workload.tokens} …",
             *(f"# {line}" for line in sources(found))]
    if split.turns:
        notes.append("# Engines and trainer take turns: let the nodes offer each GPU twice (time slicing).")
    return "\n".join([*notes, yaml.safe_dump(values, sort_keys=False).rstrip()])


def _memory(shm_gb: float, process_gb: float) -> dict[str, object]:
    """Return shared memory and memory of a pod. What is in shared memory counts as the pod's."""
    shm, whole = math.ceil(shm_gb), math.ceil(shm_gb + process_gb)
    return {
        "shm": f"{shm}Gi",
        "resources": {"requests": {"memory": f"{whole}Gi"}, "limits": {"memory": f"{2 * whole}Gi"}},
    }


def _shared(split: Split) -> dict[str, object]:
    """Return the settings with which an engine leaves its GPU to a trainer for a while."""
    settings = {"HONE_VLLM_MEMORY_SHARE": ENGINE_SHARE_IN_TURNS, "HONE_VLLM_SLEEP_S": 5}
    return {"settings": settings} if split.turns else {}
