"""A GRPO step of Hone, all services between, against TRL's GRPOTrainer: same weights, prompts, batch and loss.

    python -m benchmarks.grpo_step --setting short|variable [--steps N] [--seed S] [--out FILE]

TRL runs once in each of its layouts, and the fastest counts. Hone has two engines with one thread each and a trainer
with two; in synchronous training engines and trainer never compute at the same time, so that no more than two threads
do. Then it runs ahead: one engine and one trainer compute at the same time, on rollouts up to two versions old. Both
have one thread at short; at variable the trainer has two, for what the engine leaves of the two cores. Either way once
with groups of zero advantage left out of the update (the default: the update is the same) and once with all of them in
it, as TRL has them. TRL's vLLM mode is tried in vLLM's environment: its figures are another layout's, or else the
command and its error are kept (`scripts/bench.sh` installs TRL there).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import checkpoints, figures, stack_run
from benchmarks.machine import provenance
from benchmarks.records import Record, summary
from benchmarks.results import RESULTS, store
from benchmarks.workloads import WORKLOADS, Layout, Workload, running_ahead, shortened

VLLM_PYTHON = Path(".venv-vllm/bin/python")


def run_trl(workload: Workload, checkpoint: Path, layout: Layout, seed: int) -> Record:
    """Train with TRL in processes of its own and return what it wrote. Raises CalledProcessError."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch, "record.json")
        subprocess.run(
            [*_launcher(layout), *_training(workload, checkpoint, layout, seed), "--out", str(out)],
            check=True, env=_environment(layout), stdout=sys.stderr)
        return Record(**json.loads(out.read_text()))


def try_trl_with_vllm(workload: Workload, checkpoint: Path, seed: int) -> Record | dict[str, str]:
    """Train with TRL on vLLM in the latter's environment; return what it wrote, or the command and its last words."""
    layout = workload.layouts[0]
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch, "record.json")
        command = [str(VLLM_PYTHON), *_training(workload, checkpoint, layout, seed), "--vllm"]
        ended = subprocess.run([*command, "--out", str(out)], env=_environment(layout), stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, check=False)
        if ended.returncode == 0:
            return Record(**json.loads(out.read_text()))
        return {"command": " ".join(command), "error": ended.stdout.strip().splitlines()[-1].removeprefix("[rank0]: ")}


def run_hone(workload: Workload, checkpoint: Path, seed: int) -> list[Record]:
    """Train on a fresh stack with and without skipping, one after the other."""
    with stack_run.scratch() as scratch, stack_run.stack(scratch / "state", workload) as (_, client):
        client.register_model("start", checkpoint)
        return [stack_run.train(client, workload, "start", seed, skip) for skip in (True, False)]


def compare(workload: Workload, trl: list[Record], hone: list[Record]) -> dict[str, Any]:
    """Return every summary, the fastest TRL layout, and how many times as long as Hone it takes."""
    summaries = {"trl": [summary(one, workload) for one in trl], "hone": [summary(one, workload) for one in hone]}
    best = min(range(len(trl)), key=lambda place: summaries["trl"][place]["step_s"])
    return {
        "setting": workload.name, "best_trl": best, **summaries,
        "ratios": {one["trainer"]: figures.ratio(summaries["trl"][best]["step_s"], one["step_s"])
                   for one in summaries["hone"]},
        "largest_curve_gap": figures.largest_gap(hone[0].rewards, trl[best].rewards, workload.window),
    }


def _training(workload: Workload, checkpoint: Path, layout: Layout, seed: int) -> list[str]:
    return ["-m", "benchmarks.peers.trl_grpo", "--setting", workload.name, "--checkpoint", str(checkpoint),
            "--threads", str(layout.threads), "--rows", str(layout.rows), "--steps", str(workload.steps),
            "--seed", str(seed)]


def _launcher(layout: Layout) -> list[str]:
    if layout.processes == 1:
        return [sys.executable]
    return [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={layout.processes}"]


def _environment(layout: Layout) -> dict[str, str]:
    # One machine: over the loopback, gloo has no host name to resolve.
    return {**os.environ, "OMP_NUM_THREADS": str(layout.threads), "GLOO_SOCKET_IFNAME": "lo",
            "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}


def main() -> None:
    """Measure one setting and write its JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--setting", choices=sorted(WORKLOADS), required=True)
    parser.add_argument("--steps", type=int, help="fewer steps, for a smoke run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    began, workload = provenance(), shortened(WORKLOADS[args.setting], args.steps)
    checkpoint = checkpoints.prepare(workload.start)
    layouts = (workload, running_ahead(workload))
    hone = [record for layout in layouts for record in run_hone(layout, checkpoint, args.seed)]
    trl = [run_trl(workload, checkpoint, layout, args.seed) for layout in workload.layouts]
    with_vllm = try_trl_with_vllm(workload, checkpoint, args.seed)
    failed = {} if isinstance(with_vllm, Record) else {"trl_with_vllm": with_vllm}
    trl += [with_vllm] if isinstance(with_vllm, Record) else []
    result = {**began, **compare(workload, trl, hone), **failed, "raw": [one.as_json() for one in (*trl, *hone)]}
    store(args.out or RESULTS / f"grpo_step_{workload.name}.json", result)


if __name__ == "__main__":
    main()
