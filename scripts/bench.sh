#!/usr/bin/env bash
# Measures every published figure on this machine and renders the tables: scripts/bench.sh PYTHON
# Takes almost two hours on a quiet machine.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1
measure() { "$python" -m "benchmarks.$1" "${@:2}"; }
measure generation
make vllm
measure vllm
.venv-vllm/bin/python -m pip install --quiet -e '.[bench]'  # TRL, for the comparison with its vLLM mode
measure grpo_step --setting short
measure grpo_step --setting variable
for name in asynchronous serving ingest footprint overhead door asking fairness sandbox short_answers math_answers agent_judges grading_queue sessions memory recovery policy_losses step_parts chunked_logprobs; do
  measure "$name"
done
measure render
