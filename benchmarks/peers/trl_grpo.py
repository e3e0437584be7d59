"""TRL's GRPOTrainer on a workload, in a process of its own: `python -m benchmarks.peers.trl_grpo`.

Writes one JSON record to --out. Loss, advantage and optimizer are those of the Hone run it is compared with: token
mean over the batch (TRL's "dapo"), clipping 0.2 / 0.28, (r - mean) / (std + 1e-4) within a group, no KL term, float32.
Logging and saving are off; the numbers are read from the trainer's own metrics after each step.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from benchmarks.records import Record
from benchmarks.rewards import SCORES
from benchmarks.workloads import WORKLOADS, Layout, Workload, shortened
from hone.environments import tasks


class TimedTrainer(GRPOTrainer):  # type: ignore[misc]  # TRL is not annotated
    """GRPOTrainer that says how long each generation took."""

    generation_s = 0.0

    def _generate_single_turn(self, *args: Any, **kwargs: Any) -> Any:
        began = time.perf_counter()
        generated = super()._generate_single_turn(*args, **kwargs)
        self.generation_s = time.perf_counter() - began
        return generated


class StepClock(TrainerCallback):
    """Writes the seconds and the metrics of each step into a record."""

    def __init__(self, record: Record, prompts: int) -> None:
        self.record, self._prompts, self._ended = record, prompts, 0.0
        self.trainer: Any = None

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        """Start the clock of the first step."""
        self._ended = time.perf_counter()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        """Record the step that just ended."""
        now = time.perf_counter()
        metrics = self.trainer._metrics["train"]
        self.record.step_s.append(now - self._ended)
        self.record.rewards.append(metrics["reward"][-1])
        self.record.mean_tokens.append(metrics["completions/mean_length"][-1])
        self.record.max_tokens.append(metrics["completions/max_length"][-1])
        self.record.phases.setdefault("generation", []).append(self.trainer.generation_s)
        self.record.idle_groups.append(metrics["frac_reward_zero_std"][-1] * self._prompts)
        self._ended = now


def train(workload: Workload, checkpoint: Path, layout: Layout, seed: int, vllm: bool) -> Record:
    """Train on this process's share of the layout and return what was measured; `vllm`: sample in its vLLM mode."""
    began = time.perf_counter()
    torch.set_num_threads(layout.threads)
    record = Record("TRL with vLLM" if vllm else "TRL", str(layout), seed)
    clock = StepClock(record, workload.prompts)
    with tempfile.TemporaryDirectory() as scratch:
        clock.trainer = trainer = TimedTrainer(
            model=str(checkpoint), reward_funcs=_reward(workload), args=_config(workload, layout, seed, vllm, scratch),
            train_dataset=_prompts(workload, seed), callbacks=[clock])
        record.setup_s = time.perf_counter() - began
        trainer.train()
    return record


def _config(workload: Workload, layout: Layout, seed: int, vllm: bool, scratch: str) -> GRPOConfig:
    micro_batches = workload.rows // (layout.rows * layout.processes)
    return GRPOConfig(
        output_dir=scratch, seed=seed, max_steps=workload.steps, report_to="none", disable_tqdm=True,
        logging_strategy="no", save_strategy="no", use_cpu=True, bf16=False, gradient_checkpointing=False,
        dataloader_pin_memory=False, shuffle_dataset=False,
        per_device_train_batch_size=layout.rows, gradient_accumulation_steps=micro_batches,
        num_generations=workload.samples, max_completion_length=workload.max_tokens, temperature=1.0,
        beta=0.0, loss_type="dapo", epsilon=0.2, epsilon_high=0.28, scale_rewards="group", num_iterations=1,
        learning_rate=workload.lr, lr_scheduler_type="constant", adam_beta1=0.9, adam_beta2=0.95, weight_decay=0.0,
        max_grad_norm=1.0, use_vllm=vllm, vllm_mode="colocate")  # its server mode asks for a CUDA device


def _prompts(workload: Workload, seed: int) -> Dataset:
    asked = (tasks.episode(task).reset() for task in workload.tasks(seed, workload.steps))
    return Dataset.from_list([{"prompt": seen.messages[0]["content"], "item": json.dumps(seen.item)} for seen in asked])


def _reward(workload: Workload) -> Callable[..., list[float]]:
    score = SCORES[workload.environment]

    def reward(completions: list[str], item: list[str], **_: Any) -> list[float]:
        return [score(answer, json.loads(row)) for answer, row in zip(completions, item, strict=True)]

    return reward


def main() -> None:
    """Train as the arguments say and write the record; of several processes only the first one writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--setting", choices=sorted(WORKLOADS), required=True)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rows", type=int, default=256, help="rows of a micro-batch, in each process")
    parser.add_argument("--vllm", action="store_true", help="sample with vLLM in this process; needs it installed")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    layout = Layout(int(os.environ.get("WORLD_SIZE", "1")), args.threads, args.rows)
    record = train(shortened(WORKLOADS[args.setting], args.steps), args.checkpoint, layout, args.seed,
                   args.vllm)
    if os.environ.get("RANK", "0") == "0":
        args.out.write_text(json.dumps(record.as_json()))


if __name__ == "__main__":
    main()
