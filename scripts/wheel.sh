#!/usr/bin/env bash
# Builds the wheel without a network, with the hatchling of the environment: scripts/wheel.sh PYTHON DIRECTORY
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
"$1" -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir "$2" "$root"
