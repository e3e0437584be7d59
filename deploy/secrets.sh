#!/bin/sh
# Write deploy/.env with a random password for each secret of env.example; an existing file stays as it is.
set -eu
cd "$(dirname "$0")"
test ! -e .env || { echo "deploy/.env exists already"; exit 0; }
umask 077
sed -n 's/^\([A-Z_]*\)=$/\1/p' env.example | while read -r name; do
  echo "$name=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')"
done > .env.new
mv .env.new .env
echo "wrote deploy/.env"
