#!/usr/bin/env bash
# Runs the experiments of the methods and writes docs/measured/experiments.md: scripts/bench-methods.sh PYTHON
set -euo pipefail
cd "$(dirname "$0")/.."
"$1" -m benchmarks.methods
"$1" -m benchmarks.methods.report
