#!/usr/bin/env bash
# Runs a command with a PATH that has none of the optional programs, as a machine before `make deps`: scripts/bare.sh COMMAND...
set -euo pipefail
optional='^(rabbitmq.*|erl|epmd|escript|radosgw|ceph.*|promtool|prometheus|chromium.*|chromedriver|node|npm|npx|g\+\+|c\+\+|bwrap|helm|buf)$'
bare=$(mktemp -d)
trap 'rm -rf "$bare"' EXIT
IFS=: read -ra folders <<< "$PATH"
for folder in "${folders[@]}"; do
  [[ -d $folder ]] || continue
  while read -r program; do
    if ! [[ ${program##*/} =~ $optional || -e $bare/${program##*/} ]]; then ln -s "$program" "$bare/"; fi
  done < <(find "$folder/" -maxdepth 1 ! -type d -executable)
done
PATH=$bare "$@"
