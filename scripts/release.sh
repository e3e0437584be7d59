#!/usr/bin/env bash
# Makes the files of a release: scripts/release.sh PYTHON-DIRECTORY VERSION. It commits nothing and sets no tag.
# It compares REST and gRPC with the last release, writes docs/changes/VERSION.md, keeps today's contracts, builds dist/*.whl.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$1 version=${2:-}
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || { echo "VERSION: found '$version', expected three numbers: make release VERSION=0.1.0" >&2; exit 2; }
for file in pyproject.toml k8s/hone/Chart.yaml; do
  grep -Eq "^(version = \"$version\"|version: $version)$" "$file" || { echo "$file: expected version $version; set it and commit" >&2; exit 1; }
done
[[ -z $(git status --porcelain) ]] || { echo "the working tree has changes that are not committed" >&2; exit 1; }
scripts/lint.sh "$bin"
"$bin/python" -m scripts.changes "$version"
"$bin/python" -m checks.openapi --write
"$bin/python" -m grpc_tools.protoc -Iproto --include_imports --descriptor_set_out=docs/contracts/proto.binpb proto/hone/v1/*.proto
rm -rf dist
scripts/wheel.sh "$bin/python" dist
tables=$("$bin/python" -c 'from hone.store.schema import VERSION; print(VERSION)')
ls -l dist docs/contracts
echo "Next: commit, tag v$version. Keep a state of this release for the upgrade test of later ones:"
echo "  git worktree add /tmp/release v$version && cd /tmp/release"
echo "  PYTHONPATH=\$PWD/libs:\$PWD $(realpath "$bin")/python scripts/kept_state.py $PWD/tests/acceptance/kept/$tables.tar.xz"
