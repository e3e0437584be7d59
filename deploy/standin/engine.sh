#!/usr/bin/env bash
# Starts a container engine on a Debian machine that runs none. It needs root, and undoes its changes
# to addresses, routes and filters when it stops; the packages and DIRECTORY stay.
#   engine.sh start DIRECTORY   prints what to export
#   engine.sh stop DIRECTORY
set -euo pipefail

directory=$2
export DEBIAN_FRONTEND=noninteractive

start() {
  mkdir -p "$directory"
  local missing=()
  command -v dockerd > /dev/null || missing+=(docker.io)
  command -v iptables > /dev/null || missing+=(iptables)
  if (( ${#missing[@]} )); then
    apt-get update -qq && apt-get install -qq -y --no-install-recommends "${missing[@]}" > /dev/null
  fi
  cat /proc/sys/net/ipv4/ip_forward > "$directory/ip_forward"
  filters > "$directory/iptables"
  dockerd --data-root "$directory/data" --exec-root "$directory/exec" --pidfile "$directory/dockerd.pid" \
    --host "unix://$directory/docker.sock" --bip 172.28.0.1/16 > "$directory/dockerd.log" 2>&1 &
  for _ in $(seq 150); do
    docker -H "unix://$directory/docker.sock" info > /dev/null 2>&1 && break
    sleep 0.2
  done
  docker -H "unix://$directory/docker.sock" info > /dev/null 2> "$directory/info.err" \
    || { tail -20 "$directory/dockerd.log" >&2; exit 1; }
  plugins
  echo "export DOCKER_HOST=unix://$directory/docker.sock DOCKER_CONFIG=$directory/config"
}

# The input of iptables-restore. A table that does not exist yet is written as an empty one; otherwise its rules stay.
filters() {
  local saved
  saved=$(iptables-save)
  printf '%s\n' "$saved"
  grep -qx '\*filter' <<< "$saved" || printf '%s\n' '*filter' ':INPUT ACCEPT' ':FORWARD ACCEPT' ':OUTPUT ACCEPT' COMMIT
  grep -qx '\*nat' <<< "$saved" \
    || printf '%s\n' '*nat' ':PREROUTING ACCEPT' ':INPUT ACCEPT' ':OUTPUT ACCEPT' ':POSTROUTING ACCEPT' COMMIT
}

# Compose and BuildKit of Debian 13: single programs, taken from their packages without installing these.
plugins() {
  local config=$directory/config apt=$directory/apt
  test ! -x "$config/cli-plugins/docker-compose" || return 0
  mkdir -p "$config/cli-plugins" "$apt/parts" "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/x"
  sed -n '1,/^$/p' /etc/apt/sources.list.d/debian.sources | sed 's/^Suites:.*/Suites: trixie/' > "$apt/parts/trixie.sources"
  local options=(-o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$apt/parts" -o "Dir::State::lists=$apt/lists"
    -o "Dir::Cache=$apt/cache")
  apt-get "${options[@]}" update -qq
  (cd "$apt" && apt-get "${options[@]}" download docker-compose docker-buildx > /dev/null)
  for package in "$apt"/*.deb; do dpkg-deb -x "$package" "$apt/x"; done
  cp "$apt"/x/usr/libexec/docker/cli-plugins/* "$config/cli-plugins/"
}

stop() {
  local pid
  if test -f "$directory/dockerd.pid"; then
    pid=$(cat "$directory/dockerd.pid")
    kill "$pid" 2> /dev/null || true
    for _ in $(seq 300); do kill -0 "$pid" 2> /dev/null || break; sleep 0.2; done
  fi
  test -f "$directory/iptables" || return 0
  iptables-restore < "$directory/iptables"
  cat "$directory/ip_forward" > /proc/sys/net/ipv4/ip_forward
  rm "$directory/iptables" "$directory/ip_forward"
  ip link delete docker0 2> /dev/null || true
}

"$1"
