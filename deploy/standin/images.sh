#!/usr/bin/env bash
# Stand-ins for the public images, built from Debian and pip on a machine that reaches no image registry.
#   images.sh CACHE PYTHON     CACHE keeps the root file system; PYTHON's pip finds torch's wheel
# They cannot test the entrypoints of the public images. MinIO is moto, which keeps nothing on disk.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=$1 python=$2
mkdir -p "$cache"
export DEBIAN_FRONTEND=noninteractive

has() { docker image inspect "$1" > /dev/null 2>&1; }

base() {
  local root=$cache/rootfs
  if ! test -f "$cache/rootfs.tar"; then
    command -v debootstrap > /dev/null || { apt-get update -qq; apt-get install -qq -y --no-install-recommends debootstrap > /dev/null; }
    rm -rf "$root"
    debootstrap --variant=minbase --include=python3,python3-venv,python3-pip,ca-certificates bookworm "$root" > "$cache/debootstrap.log"
    certificates "$root"
    ln -sf /usr/bin/python3 "$root/usr/local/bin/python"
    rm -rf "$root"/usr/lib/python3.*/EXTERNALLY-MANAGED "$root"/var/cache/apt/archives/*.deb
    tar -C "$root" -cf "$cache/rootfs.tar.new" . && mv "$cache/rootfs.tar.new" "$cache/rootfs.tar"
    rm -rf "$root"
  fi
  docker import -c 'ENV PIP_CERT=/etc/ssl/certs/ca-certificates.crt SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt' \
    -c 'CMD ["python3"]' "$cache/rootfs.tar" hone-standin/python > /dev/null
}

# Copies the machine's own certificate authorities, so that pip and apt work in containers as they do outside.
certificates() {
  if compgen -G "/usr/local/share/ca-certificates/*.crt" > /dev/null; then
    cp /usr/local/share/ca-certificates/*.crt "$1/usr/local/share/ca-certificates/"
    chroot "$1" update-ca-certificates > /dev/null
  fi
}

torch() {
  local context=$cache/torch requirement
  requirement=$(sed -n 's/.*"\(torch==[^"]*\)".*/\1/p' "$here/../../pyproject.toml")
  mkdir -p "$context"
  compgen -G "$context/torch-*.whl" > /dev/null \
    || "$python" -m pip download --quiet --no-deps --dest "$context" "$requirement"
  cp "$here/torch/Dockerfile" "$context/Dockerfile"
  docker build --quiet -t hone-standin/python-torch "$context" > /dev/null
}

has hone-standin/python || base
for name in postgres rabbitmq minio seaweedfs collector prometheus; do
  docker build --quiet -t "hone-standin/$name" "$here/$name" > /dev/null
  echo "hone-standin/$name"
done
torch
echo hone-standin/python-torch
