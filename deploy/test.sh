#!/usr/bin/env bash
# `make compose-test`: start the whole Compose file with stand-in images and train the toy run on it.
#   test.sh PYTHON CACHE
# It has a project, images, ports and volumes of its own, so a deployment on the same engine is not touched.
# It uses the engine that `docker` reaches. As root on a machine without one it starts an engine and stops it at the end.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1
mkdir -p "$2" && cache=$(cd "$2" && pwd)
export HONE_LISTEN=127.0.0.1:${HONE_TEST_PORT:-18470} HONE_CONSOLE_LISTEN=127.0.0.1:${HONE_TEST_CONSOLE_PORT:-18476}
export HONE_PROMETHEUS_LISTEN=127.0.0.1:${HONE_TEST_PROMETHEUS_PORT:-19090} HONE_DOOR_LISTEN=127.0.0.1:${HONE_TEST_DOOR_PORT:-18477}
export HONE_SERVICES_IMAGE=hone-test/services HONE_TRAINER_IMAGE=hone-test/native HONE_INFERENCE_IMAGE=hone-test/native
export POSTGRES_IMAGE=hone-standin/postgres RABBITMQ_IMAGE=hone-standin/rabbitmq COLLECTOR_IMAGE=hone-standin/collector
export MINIO_IMAGE=hone-standin/minio SEAWEEDFS_IMAGE=hone-standin/seaweedfs PROMETHEUS_IMAGE=hone-standin/prometheus
export PYTHON_IMAGE=hone-standin/python PYTHON_TORCH_IMAGE=hone-standin/python-torch
export COMPOSE_PROJECT_NAME=hone-test COMPOSE_FILE=docker-compose.yml:deploy/standin/compose.yml
export COMPOSE_PROFILES=sinks,prometheus HONE_SINKS=tensorboard:///var/lib/hone/tensorboard

report() { echo "== $* ($SECONDS s)"; }

# As a fresh clone has them: the files that git knows or would.
clone=$cache/clone
fresh() {
  rm -rf "$clone" && mkdir "$clone"
  git ls-files --cached --others --exclude-standard | while read -r file; do if test -e "$file"; then echo "$file"; fi; done \
    | tar -cf - -T - | tar -C "$clone" -xf -
}

compose() { (cd "$clone" && docker compose --ansi never "$@"); }
up() { compose up -d --quiet-pull --wait --wait-timeout 300 "$@" 2> "$cache/up.log" || { tail -30 "$cache/up.log" >&2; exit 1; }; }

clean() {
  local code=$?
  (( code == 0 )) || { compose ps -a || true; compose logs --no-color --tail 40 > "$cache/compose.log" 2>&1 || true; }
  compose down -v --remove-orphans > /dev/null 2>&1 || true
  test -z "${own_engine:-}" || deploy/standin/engine.sh stop "$cache/engine"
  (( code == 0 )) || echo "== failed; the containers' last log lines are in $cache/compose.log" >&2
  exit "$code"
}

trap clean EXIT
if ! docker info > /dev/null 2>&1; then
  own_engine=yes
  exports=$(deploy/standin/engine.sh start "$cache/engine")
  eval "$exports"
fi
report "engine $(docker version --format '{{.Server.Version}}'), $(docker compose version)"

deploy/standin/images.sh "$cache" "$python"
report "stand-in images"

fresh
compose down -v --remove-orphans > /dev/null 2>&1  # volumes of a killed test have other passwords
rebuilt() { compose build -q "$@" > "$cache/build.log" 2>&1 || { tail -30 "$cache/build.log" >&2; exit 1; }; }
rebuilt secrets trainer inference  # up builds images that are not there; those of an earlier test may be
report "images"
up --scale rollout=2
compose ps
report "up"
test "$(compose ps --format '{{.Health}}' rollout | sort | uniq -c | tr -s ' ')" = " 2 healthy"

# What a person reads after the first start.
introduced() { compose logs --no-color --no-log-prefix --tail 3 prepare | sed 's/^\x1b\[2K//'; }  # Compose clears each line
introduced
test "$(introduced | sed -n 's/^console *//p')" = "http://$HONE_CONSOLE_LISTEN"
key=$(introduced | sed -nE 's/^API key +(tml-[^ ]+) .*/\1/p')
"$python" -m tests.compose.toy_run "http://$HONE_LISTEN" "$key" native
report "toy run"
"$python" -m tests.compose.scraped "http://$HONE_PROMETHEUS_LISTEN"
report "Prometheus"

# Every container: its first process does not run as root, has no capabilities and cannot gain any, and can write only to
# the directories that are mounted for it.
confined() {
  local name status writable
  name=$(docker inspect -f '{{.Name}}' "$1")
  status=$(docker exec "$1" sed -nE 's/^(Uid|CapEff|CapBnd|NoNewPrivs):\s+(\S+).*/\2/p' /proc/1/status | xargs)
  writable=$(docker exec "$1" find / -xdev -type d -writable ! -exec mountpoint -q {} \; -print 2> /dev/null || true)
  [[ $status =~ ^[1-9][0-9]*\ 0{16}\ 0{16}\ 1$ && -z $writable ]] \
    || { echo "$name: uid, capabilities, bar to new ones: $status; can write to: $writable" >&2; exit 1; }
}
containers=$(compose ps -q)
for container in $containers; do confined "$container"; done
test "$(compose exec -T objects sh -c 'touch /data/written && stat -c %u /data/written')" = 10001
compose exec -T sinks sh -c 'ls /var/lib/hone/tensorboard/*/events.out.tfevents.*'
report "none of $(wc -w <<< "$containers") containers runs as root or can write, the sink has event files"

# A second start changes nothing: the same secrets, no other key.
secrets() { compose run --rm -T --no-deps secrets sh -c 'cd /var/lib/hone/secrets && sha256sum */*'; }
before=$(secrets 2> /dev/null)
up --no-build --scale rollout=2
test "$before" = "$(secrets 2> /dev/null)"
introduced | grep -q "API key  made at the first start"
test "$(compose exec -T gateway ls /run/secrets | xargs)" = "gateway stack"
report "a second start"

# A backup moves the deployment to another object store, and another engine serves it: one variable each.
rm -rf "$cache/backup" && mkdir "$cache/backup" && chmod 777 "$cache/backup"
compose run --rm -T -v "$cache/backup:/backup" prepare hone backup /backup 2> /dev/null
compose down -v > /dev/null 2>&1
export HONE_ENGINE=vllm HONE_OBJECTS=seaweedfs HONE_INFERENCE_IMAGE=hone-test/vllm
compose run --rm -T -v "$cache/backup:/backup" prepare hone restore /backup 2> "$cache/up.log" \
  || { tail -30 "$cache/up.log" >&2; exit 1; }
rebuilt inference
up --scale rollout=2
containers=$(compose ps -q inference objects)
for container in $containers; do confined "$container"; done
"$python" -m tests.compose.toy_run "http://$HONE_LISTEN" "$key" vllm
report "a backup restored into SeaweedFS, with a toy run on vLLM under the same key"
