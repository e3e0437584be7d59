#!/usr/bin/env bash
# Runs lint, types and every test, each to its end, and says at last what failed: scripts/check.sh [PYTEST OPTIONS]
set -uo pipefail
cd "$(dirname "$0")/.."
begin=$SECONDS failed=()
part() {  # part NAME COMMAND...: runs it and notes a failure
  local name=$1 start=$SECONDS
  shift
  "$@" || failed+=("$name")
  echo "== $name: $((SECONDS - start)) s"
}
make --no-print-directory types > .cache/types.log 2>&1 & types=$!
part lint make --no-print-directory lint PYTEST_OPTIONS="$*"
part types wait "$types"
cat .cache/types.log
part tests make --no-print-directory every PYTEST_OPTIONS="$*"
if (( ${#failed[@]} )); then
  echo "failed after $((SECONDS - begin)) s: ${failed[*]} (each part's own lines are above)" >&2
  exit 1
fi
echo "lint, types and tests passed in $((SECONDS - begin)) s"
