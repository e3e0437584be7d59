#!/usr/bin/env bash
# Runs lint, types and the tests that the changes since a commit can reach: scripts/changed.sh .venv/bin BASE [PYTEST OPTIONS]
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$1 base=$2
mapfile -t files < <("$bin/python" -m checks.changed "$base")
make --no-print-directory static
if (( ${#files[@]} )); then
  "$bin/python" -m pytest "${files[@]}" -n 2 --dist loadscope --no-loadscope-reorder "${@:3}"
fi
