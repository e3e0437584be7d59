#!/usr/bin/env bash
# Trains with each method on a stack and writes docs/measured/through-the-services.md: scripts/bench-through-services.sh PYTHON
set -euo pipefail
cd "$(dirname "$0")/.."
"$1" -m benchmarks.through_services
"$1" -m benchmarks.through_services.report
