#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Times kernel scoring on the vectors of an archive: by the index, by the loop of
# sparse dot products, and by scikit-learn's SVC, on the same 5,000 supports, one
# thread, one after the other.
#
# usage: kernel-speed.sh OWNER ARCHIVE [PYTHON]
#
# PYTHON is one that has scikit-learn (python3 -m venv v; v/bin/pip install
# scikit-learn); python3 if it is left out.
set -eu
owner=$1 archive=$2 python=${3:-python3}
vectors=$(mktemp)
trap 'rm -f "$vectors"' EXIT
export GOMAXPROCS=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 HINGED_BENCH_VECTORS="$vectors"
go run ./cmd/hinged-lab vectors --owner "$owner" "$archive" > "$vectors"
bench() { go test ./internal/lab -run XXX -bench KernelOnVectors -benchtime 400x | grep ns/op; }
bench
"$python" "$(dirname "$0")/svc.py" "$vectors"
bench
