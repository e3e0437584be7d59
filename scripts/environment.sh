#!/usr/bin/env bash
# Makes a virtual environment with Hone: scripts/environment.sh DIRECTORY train|bench|test|vllm [PYTHON]
# vLLM pins torch and transformers, so its environment is one of its own. pyproject.toml names the versions.
set -euo pipefail
cd "$(dirname "$0")/.."
directory=$1 purpose=$2 python=${3:-$(command -v python3.11 || command -v python3)}
case $purpose in
  train) extras=train ;;
  bench) extras=train,bench ;;
  test) extras=train,dev,moto,textworld,tensorboard,mlflow,wandb ;;
  vllm) extras=vllm,test ;;
  *) echo "purpose: found $purpose, expected train, bench, test or vllm" >&2; exit 2 ;;
esac
begin=$SECONDS

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
  echo "Hone needs Python 3.11 or newer; found $("$python" --version). Set PYTHON=..." >&2
  exit 1
}
"$python" -m venv "$directory"
pip() {  # --quiet twice: pip prints errors only, and no warning about a package index that does not answer
  "$directory/bin/python" -m pip --quiet --quiet --disable-pip-version-check "$@"
}
torch=$(sed -n 's/.*"\(torch==[^"]*\)".*/\1/p' pyproject.toml)
echo "installing $torch in $directory ..."
pip install "$torch"
echo "installing Hone and its libraries ($extras) in $directory ..."
pip install -e ".[$extras]"

if [[ $purpose == test ]]; then  # the household's planner is compiled; its build calls `python`
  if ! PATH="$(cd "$directory/bin" && pwd):$PATH" pip install -e ".[household]" > "$directory/household.log" 2>&1; then
    echo "the planner of the household was not compiled (see $directory/household.log): make test skips its tests"
  fi
fi

if [[ $purpose == vllm ]]; then
  # vLLM's CPU build requires three libraries that exist only for CUDA. They break every import; text models need none.
  pip uninstall --yes torchvision torchaudio torchcodec
  log=$directory/import.log
  "$directory/bin/python" -c 'import services.inference.vllm.kind' > "$log" 2>&1 || {
    cat "$log"
    echo "vLLM is installed but cannot be imported" >&2
    exit 1
  }
fi
echo "installed in $((SECONDS - begin)) s"
