#!/usr/bin/env bash
# Installs the system packages that tests use: RabbitMQ, Ceph's object gateway, promtool, Chromium, Node, a compiler, bubblewrap.
# Needs root, or a sudo that asks for no password. Elsewhere it prints which tests will be skipped.
set -euo pipefail
missing=()
require() {  # require PACKAGES PROGRAM...: notes the packages unless every program is installed
  local packages=$1 program
  shift
  for program in "$@"; do
    command -v "$program" > /dev/null || { read -ra packages <<< "$packages"; missing+=("${packages[@]}"); return; }
  done
}
require rabbitmq-server /usr/lib/rabbitmq/bin/rabbitmq-server
require "radosgw ceph-mon ceph-osd" radosgw ceph-mon ceph-osd
require prometheus promtool
require "chromium chromium-driver" chromium chromedriver
require "nodejs npm" node npm
require g++ g++
require bubblewrap bwrap
if (( ${#missing[@]} == 0 )); then
  echo "RabbitMQ, Ceph, promtool, Chromium, Node, g++ and bubblewrap are installed"
  exit
fi

as_root=()
if (( $(id -u) != 0 )); then as_root=(sudo -n); fi
if ! command -v apt-get > /dev/null || ! "${as_root[@]}" true 2> /dev/null; then
  echo "not installed: ${missing[*]} (no apt-get, or not root). make test skips the tests of RabbitMQ, alert rules,"
  echo "the console, a client in Node and the style of the contracts. Without Ceph, tests use moto, which stores"
  echo "nothing on disk: they cannot show that objects survive a restart. The sandbox builds its own walls then."
  exit
fi
echo "installing ${missing[*]} ..."
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -qq -y --no-install-recommends "${missing[@]}" > /dev/null
