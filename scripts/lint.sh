#!/usr/bin/env bash
# Checks everything that can be read without running it: scripts/lint.sh .venv/bin [--require-servers]
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$1
scripts/lint-proto.sh "${@:2}"
"$bin/ruff" check .
"$bin/lint-imports" --no-logo
"$bin/python" -m checks.structure
"$bin/python" -m checks.reachable
"$bin/python" -m checks.prose
"$bin/python" -m checks.catalogue_record
"$bin/python" -m checks.command_helps
"$bin/python" -m checks.imported
"$bin/python" -m checks.generated
"$bin/python" -m checks.changes
"$bin/python" -m checks.routes_page
"$bin/python" -m checks.migrations
"$bin/python" -m checks.openapi
