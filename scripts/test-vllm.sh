#!/usr/bin/env bash
# Tests the vLLM engine: scripts/test-vllm.sh .venv/bin/python .venv-vllm/bin/python [PYTEST OPTIONS]
# The engine's own tests run in vLLM's environment. Tests of the contract and of runs run in ours; they start the
# engine's process in vLLM's.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1 vllm=$2
"$vllm" -m pytest tests/vllm "${@:3}"
HONE_ENGINE=vllm HONE_VLLM_PYTHON=$vllm "$python" -m pytest tests/integration/inference \
  tests/integration/gateway/test_asking.py tests/with_vllm "${@:3}"
