#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Counts the files of Go that an event runs through, by coverage of that event alone: first from
# the writer to the disk, then in a daemon on a real mail server, from the server's answer until
# nothing is left to do: scripts/passes.sh [-v]. -v lists the files.
set -eu
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/daemon"
go build -cover -covermode=atomic -coverpkg=./bench/passes,./featurize,./ingest,./internal/...,./model,./store/... -o "$dir/passes" ./bench/passes
GOCOVERDIR="$dir" "$dir/passes" "$dir/events"
go build -tags passes -cover -covermode=atomic -coverpkg=./... -o "$dir/hinged" ./cmd/hinged
GOCOVERDIR="$dir/daemon" HINGED_PASSES="$dir/hinged" go test -vet=off -count=1 -tags passes -run 'TestPasses$' ./internal/e2e >"$dir/log" || { cat "$dir/log"; exit 1; }
for event in "$dir"/events/*/ "$dir"/daemon/*/; do
	go tool covdata textfmt -i="$event" -o "$dir/profile"
	files=$(awk 'NR > 1 && $NF > 0 { sub(/^github.com\/hinged\/hinged\//, ""); sub(/:.*/, ""); print }' "$dir/profile" | grep -v -e "^bench/" -e passes.go | sort -u)
	printf '%4d files: %s\n' "$(echo "$files" | wc -l)" "$(basename "$event" | cut -d' ' -f2-)"
	echo "$files" | sed 's,/[^/]*$,,' | uniq -c | awk '{ printf "          %3d %s\n", $1, $2 }'
	if [ "${1:-}" = -v ]; then
		echo "$files" | sed 's/^/              /'
	fi
done
