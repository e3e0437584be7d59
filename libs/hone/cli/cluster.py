"""`hone plan cluster`: sizes of a cluster for a number of GPUs, as a table or as values for the chart in k8s/hone."""

import math
from typing import Annotated

import typer
import yaml

from hone.cli.output import say, table
from hone.sizing import costs
from hone.sizing.cluster import BUSY, ENGINE_SHARE_IN_TURNS, Plan, Split, TooFew, Workload, plan
from hone.spec.problems import Invalid, Problem


def cluster(
    gpus: Annotated[int, typer.Option(min=1, help="GPUs of the cluster.")],
    parameters: Annotated[float, typer.Option(help="Weights of the model, in billions.")] = 1.7,
    tokens: Annotated[int, typer.Option(min=1, help="Tokens of an answer, on average.")] = 512,
    prompt_length: Annotated[int, typer.Option(min=1, help="Tokens of a prompt, on average.")] = 256,
    samples: Annotated[int, typer.Option(min=1, help="Samples of a step.")] = 512,
    snapshot_every: Annotated[int, typer.Option(min=1, help="Steps between snapshots, as in the run's spec.")] = 1,
    group: Annotated[int, typer.Option(min=1, help="Samples of a prompt.")] = 8,
    gpu_memory: Annotated[float, typer.Option(help="Memory of a GPU, GB.")] = 80.0,
    generate_rate: Annotated[float, typer.Option(min=0, help="Tokens a second that one GPU generates.")] = 0.0,
    train_rate: Annotated[float, typer.Option(min=0, help="Tokens a second that one GPU trains on.")] = 0.0,
    values: Annotated[bool, typer.Option("--values", help="Print values for the chart instead of the table.")] = False,
) -> None:
    """Compute sizes of a cluster from what samples and steps cost in our benchmarks."""
    _refuse(parameters, gpu_memory)
    workload = Workload(gpus, parameters * 1e9, tokens, prompt_length, samples, snapshot_every, group, gpu_memory * 1e9,
                        generate_rate, train_rate)
    try:
        found = plan(workload)
    except TooFew as error:
        raise Invalid([Problem("--gpus", str(gpus), str(error))]) from None
    if values:
        say(chart_values(found))
        return
    table(("part", "size", "why"), lines(found))
    say("\n" + "\n".join(sources(found)))


def _refuse(parameters: float, gpu_memory: float) -> None:
    problems = [Problem(name, str(value), "more than 0")
                for name, value in (("--parameters", parameters), ("--gpu-memory", gpu_memory)) if value <= 0]
    if problems:
        raise Invalid(problems)


def lines(found: Plan) -> list[tuple[str, str, str]]:
    """Return the table: each part, its size, and why."""
    workload, split, servers = found.workload, found.split, found.servers
    turns = ", which take turns on the same GPUs" if split.turns else ""
    step_s = workload.samples / split.rate
    each_node = f" on each of {split.trainer_nodes} nodes" if split.trainer_nodes > 1 else ""
    replicas = ((kind, f"{count}", f"{found.cores[kind]:.2f} cores busy")
                for kind, count in found.replicas.items())
    return [
        ("samples", f"{split.rate:.3g}/s", f"a step of {workload.samples} in {step_s:.0f} s"),
        ("engines", f"{split.engines} x {split.engine_gpus} GPUs", f"{workload.generates:.0f} tokens/s a GPU{turns}"),
        ("trainer", f"{split.trainer_gpus // split.trainer_nodes} GPUs{each_node}",
         f"{workload.trains:.0f} tokens/s a GPU"),
        *replicas,
        ("postgres", f"{math.ceil(servers.postgres_cores / BUSY)} cores", f"{servers.postgres_cores:.2f} busy; "
         f"{servers.groups_share:.2%} of the groups that one was seen to store"),
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
    assumed = [option for option, given in (("--generate-rate", workload.generate_rate),
                                            ("--train-rate", workload.train_rate)) if not given]
    longest = f"{costs.OVERHEAD_TOKENS[1]:.0f}"
    return [
        f"measured      processor time of a sample: {costs.OVERHEAD}",
        f"measured      bytes of a sample, a version, a snapshot: {costs.FOOTPRINT}",
        f"measured      groups stored a second: {costs.INGEST}",
        f"planned       at most {BUSY:.0%} of a core of each process, and of the database's cores",
        f"extrapolated  to answers of {workload.tokens} tokens, along a line through those of 6 and {longest}",
        f"extrapolated  to {found.split.rate:.3g} samples/s: no such rate was run, nor any cluster",
        *(f"assumed       {option}: nothing of ours was timed on a GPU; measure yours" for option in assumed),
    ]


def chart_values(found: Plan) -> str:
    """Return values for the chart, with the command that computed them."""
    workload, split = found.workload, found.split
    nodes = split.trainer_nodes
    gigabytes = workload.parameters / 1e9
    values = {
        **{kind: {"replicas": count} for kind, count in found.replicas.items()},
        "inference": {"engine": "vllm", "replicas": split.engines, "gpus": split.engine_gpus,
                      "shm": f"{math.ceil(4.4 * gigabytes) + 2}Gi", **_shared(split)},
        "trainer": {"gpus": split.trainer_gpus // nodes, "nodes": nodes, "shm": f"{math.ceil(gigabytes) + 8}Gi"},
    }
    notes = [f"# hone plan cluster --gpus {workload.gpus} --parameters {gigabytes:g} --tokens {workload.tokens} …",
             *(f"# {line}" for line in sources(found))]
    if split.turns:
        notes.append("# Engines and trainer take turns: let the nodes offer each GPU twice (time slicing).")
    return "\n".join([*notes, yaml.safe_dump(values, sort_keys=False).rstrip()])


def _shared(split: Split) -> dict[str, object]:
    """Return the settings with which an engine leaves its GPU to a trainer for a while."""
    settings = {"HONE_VLLM_MEMORY_SHARE": ENGINE_SHARE_IN_TURNS, "HONE_VLLM_SLEEP_S": 5}
    return {"settings": settings} if split.turns else {}
