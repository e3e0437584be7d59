#!/usr/bin/env bash
# Checks with buf the style of proto/, and that it does not break clients of the last release: scripts/lint-proto.sh [--require-servers]
# buf comes from npm. Without npm this check is skipped, or fails with --require-servers.
set -euo pipefail
cd "$(dirname "$0")/.."
buf=$PWD/.cache/buf
skip() {
  echo "skipped: buf lint ($1)"
  [[ ${required:-} ]] && exit 1
  exit 0
}
[[ " $* " == *" --require-servers "* ]] && required=yes
command -v npm > /dev/null || skip "npm is not installed"
[[ -x $buf/node_modules/.bin/buf ]] ||
  npm install --loglevel error --no-audit --no-fund --fetch-retries 1 --fetch-timeout 30000 --prefix "$buf" @bufbuild/buf@1.75.0 ||
  skip "npm cannot install it"
cd proto
"$buf/node_modules/.bin/buf" lint
"$buf/node_modules/.bin/buf" format --diff --exit-code
"$buf/node_modules/.bin/buf" breaking --against ../docs/contracts/proto.binpb
