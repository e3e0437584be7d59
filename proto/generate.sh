#!/usr/bin/env bash
# Writes libs/hone/api (or the directory given) from proto/: modules of one flat package instead of protoc's own layout.
set -euo pipefail
api=$(realpath -m "${1:-$(dirname "$0")/../libs/hone/api}")
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
PATH="$(dirname "$(realpath -s "$python")"):$PATH" "$python" -m grpc_tools.protoc -Iproto --python_out="$out" \
  --pyi_out="$out" --grpc_python_out="$out" --mypy_grpc_out="$out" proto/hone/v1/*.proto
sed -i -e 's/^from hone\.v1 import/from hone.api import/' -e 's/\bhone\.v1\.\([a-z]*_pb2\)\b/hone.api.\1/g' "$out"/hone/v1/*
mkdir -p "$api"
find "$api" -name '*_pb2*' -delete
cp "$out"/hone/v1/* "$api"
