#!/usr/bin/env bash
# Prints every image that an installation uses, for a mirror; takes the options of helm: k8s/images.sh -f k8s/hone/values/demo.yaml
set -euo pipefail
"${HELM:-helm}" template hone "$(dirname "$0")/hone" "$@" | sed -nE 's/^ *image: ([^ ]+)$/\1/p' | sort -u
