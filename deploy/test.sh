#!/usr/bin/env bash
# `make compose-test`: bring the whole Compose file up with stand-in images and train the toy run through it.
#   test.sh PYTHON CACHE
# Uses the engine that `docker` reaches; as root on a machine without one it starts its own and stops it at the end.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1
mkdir -p "$2" && cache=$(cd "$2" && pwd)
export HONE_LISTEN=127.0.0.1:${HONE_TEST_PORT:-18470}
export POSTGRES_IMAGE=hone-standin/postgres RABBITMQ_IMAGE=hone-standin/rabbitmq MINIO_IMAGE=hone-standin/minio
export COLLECTOR_IMAGE=hone-standin/collector PYTHON_IMAGE=hone-standin/python PYTHON_TORCH_IMAGE=hone-standin/python-torch

said() { echo "== $* ($SECONDS s)"; }

compose() {
  docker compose --ansi never --project-name hone-test --env-file "$cache/secrets.env" --profile sinks \
    -f deploy/docker-compose.yml -f deploy/standin/compose.yml "$@"
}

clean() {
  local code=$?
  (( code == 0 )) || { compose ps -a || true; compose logs --no-color --tail 40 > "$cache/compose.log" 2>&1 || true; }
  compose down -v --remove-orphans > /dev/null 2>&1 || true
  test -z "${own_engine:-}" || deploy/standin/engine.sh stop "$cache/engine"
  (( code == 0 )) || echo "== failed; the containers' last words are in $cache/compose.log" >&2
  exit "$code"
}

if ! docker info > /dev/null 2>&1; then
  own_engine=yes
  exports=$(deploy/standin/engine.sh start "$cache/engine")
  eval "$exports"
fi
trap clean EXIT
said "engine $(docker version --format '{{.Server.Version}}'), $(docker compose version)"

deploy/standin/images.sh "$cache" "$python"
said "stand-in images"

sed -n 's/^\([A-Z_]*\)=$/\1/p' deploy/env.example | while read -r name; do
  echo "$name=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')"
done > "$cache/secrets.env"
echo "HONE_SINKS=tensorboard:///var/lib/hone/tensorboard" >> "$cache/secrets.env"

compilers="gcc libc6-dev python3-dev"  # the public Python image has its own headers
docker build -q -f deploy/Dockerfile.services --build-arg PYTHON_IMAGE="$PYTHON_IMAGE" \
  --build-arg BUILD_PACKAGES="$compilers" -t hone-services:latest . > /dev/null
said "image of the services"
docker build -q -f deploy/Dockerfile.torch --build-arg PYTHON_IMAGE="$PYTHON_TORCH_IMAGE" \
  --build-arg BUILD_PACKAGES="$compilers" -t hone-torch:latest . > /dev/null
said "image with torch"

compose down -v --remove-orphans > /dev/null 2>&1  # what a killed test left has other passwords
compose up -d --quiet-pull --no-build --wait --wait-timeout 300 --scale rollout=2 2> "$cache/up.log" \
  || { tail -30 "$cache/up.log" >&2; exit 1; }
compose ps
said "up"
test "$(compose ps --format '{{.Health}}' rollout | sort | uniq -c | tr -s ' ')" = " 2 healthy"

key=$(compose run --rm -T prepare hone keys create compose-test 2> /dev/null | tail -1)
"$python" -m tests.compose.toy_run "http://$HONE_LISTEN" "$key"
said "toy run"

test "$(compose exec -T reward id -u)" = 10001
if compose exec -T reward touch /opt/written 2> /dev/null; then echo "reward could write" >&2; exit 1; fi
compose exec -T sinks sh -c 'ls /var/lib/hone/tensorboard/*/events.out.tfevents.*'
said "nobody is root, nothing can be written, the sink has event files"
