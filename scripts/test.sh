#!/usr/bin/env bash
# Runs a part of the tests, two at a time: scripts/test.sh PYTHON unit|integration|acceptance|loop|soak [PYTEST OPTIONS]
# loop is one acceptance test: a run trains through all services. soak runs the long versions of those acceptance tests that have one.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1 part=$2
case $part in
  loop) tests=(tests/acceptance/test_backends.py -k "bit_for_bit and embedded") ;;
  soak) tests=(tests/acceptance -m soak --soak -n 2) ;;
  *) tests=("tests/$part" -n 2) ;;
esac
"$python" -m pytest "${tests[@]}" --dist loadscope --no-loadscope-reorder --durations=10 "${@:3}"
