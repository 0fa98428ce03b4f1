#!/bin/sh
# Fails where edgefw/v1 is not what protos/edgefw/v1 generates. Usage: protos/check.sh PYTHON
set -eu
cd "$(dirname "$0")"
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
./generate.sh "$1" "$fresh"
cp ../edgefw/v1/__init__.py "$fresh/edgefw/v1/"
diff -r -q -x __pycache__ "$fresh/edgefw/v1" ../edgefw/v1 || { echo "edgefw/v1 is not current: run make generate" >&2; exit 1; }
