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
export HONE_PROMETHEUS_LISTEN=127.0.0.1:${HONE_TEST_PROMETHEUS_PORT:-19090}
export HONE_SERVICES_IMAGE=hone-test/services HONE_TRAINER_IMAGE=hone-test/native HONE_INFERENCE_IMAGE=hone-test/native
export POSTGRES_IMAGE=hone-standin/postgres RABBITMQ_IMAGE=hone-standin/rabbitmq MINIO_IMAGE=hone-standin/minio
export COLLECTOR_IMAGE=hone-standin/collector PROMETHEUS_IMAGE=hone-standin/prometheus
export PYTHON_IMAGE=hone-standin/python PYTHON_TORCH_IMAGE=hone-standin/python-torch

report() { echo "== $* ($SECONDS s)"; }

compose() {
  docker compose --ansi never --project-name hone-test --env-file "$cache/secrets.env" \
    --profile sinks --profile prometheus -f deploy/docker-compose.yml \
    -f deploy/standin/compose.yml "$@"
}

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

sed -n 's/^\([A-Z_]*\)=$/\1/p' deploy/env.example | while read -r name; do
  echo "$name=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')"
done > "$cache/secrets.env"
echo "HONE_SINKS=tensorboard:///var/lib/hone/tensorboard" >> "$cache/secrets.env"

compilers="g++ libc6-dev python3-dev"  # the public Python image has its own headers
build() {
  docker build -q -f "deploy/Dockerfile.$1" --build-arg PYTHON_IMAGE="$2" --build-arg BUILD_PACKAGES="$compilers" \
    -t "hone-test/$1" . > /dev/null
  report "image $1"
}
build services "$PYTHON_IMAGE"
build native "$PYTHON_TORCH_IMAGE"
build vllm "$PYTHON_TORCH_IMAGE"

compose down -v --remove-orphans > /dev/null 2>&1  # volumes of a killed test have other passwords
# docs/compose.md, Upgrading: a volume that belongs to root is refused until its owner is changed.
as_root() { compose run --rm -T --no-deps --user 0 --cap-add CHOWN objects "$@" 2> /dev/null; }
as_root sh -c 'cd /var/lib/hone/objects && chown 0:0 . && touch file'
if compose run --rm -T --no-deps objects > /dev/null 2>&1; then echo "a volume that belongs to root was accepted" >&2; exit 1; fi
as_root chown -R 10001:10001 /var/lib/hone/objects

compose up -d --quiet-pull --no-build --wait --wait-timeout 300 --scale rollout=2 2> "$cache/up.log" \
  || { tail -30 "$cache/up.log" >&2; exit 1; }
compose ps
report "up"
test "$(compose ps --format '{{.Health}}' rollout | sort | uniq -c | tr -s ' ')" = " 2 healthy"

key=$(compose run --rm -T prepare hone keys first compose-test 2> /dev/null | tail -1)
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
test "$(compose exec -T minio sh -c 'touch /data/written && stat -c %u /data/written')" = 10001
compose exec -T sinks sh -c 'ls /var/lib/hone/tensorboard/*/events.out.tfevents.*'
report "none of $(wc -w <<< "$containers") containers runs as root or can write, the sink has event files"

echo "HONE_ENGINE=vllm" >> "$cache/secrets.env"
export HONE_INFERENCE_IMAGE=hone-test/vllm
compose up -d --no-build --wait --wait-timeout 300 inference 2> "$cache/up.log" || { tail -30 "$cache/up.log" >&2; exit 1; }
confined "$(compose ps -q inference)"
"$python" -m tests.compose.toy_run "http://$HONE_LISTEN" "$key" vllm
report "toy run on vLLM"
