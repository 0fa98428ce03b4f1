#!/bin/sh
# Writes edgefw/v1 from protos/edgefw/v1. Usage: protos/generate.sh PYTHON OUTPUT_FOLDER
set -eu
cd "$(dirname "$0")"
"$1" -m grpc_tools.protoc -I . --python_out="$2" --pyi_out="$2" --grpc_python_out="$2" edgefw/v1/*.proto
