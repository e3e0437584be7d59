#!/usr/bin/env bash
# Runs a part of the tests, two at a time: scripts/test.sh PYTHON every|unit|integration|acceptance|loop|soak|bare [PYTEST OPTIONS]
# every is all three parts in one run. loop is one acceptance test: a run trains through all services. soak runs the long
# versions of those tests that have one. bare runs the tests that choose between optional programs, without these.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1 part=$2
run=("$python" -m pytest)
case $part in
  every) tests=(tests/unit tests/integration tests/acceptance -n 2) ;;
  loop) tests=(tests/acceptance/test_backends.py -k "bit_for_bit and embedded") ;;
  soak) tests=(tests/acceptance tests/unit/learner -m soak --soak -n 2) ;;
  bare)
    run=(scripts/bare.sh "${run[@]}")
    tests=(tests/integration/{store,queues} tests/integration/learner/test_orphans.py tests/integration/gateway/test_uploads.py
      tests/integration/doctor/test_servers.py tests/unit/{deploy,k8s,store} -n 2) ;;
  *) tests=("tests/$part" -n 2) ;;
esac
"${run[@]}" "${tests[@]}" --dist loadscope --no-loadscope-reorder --durations=10 "${@:3}"
