#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Counts the files of Go that an event runs through on its way from the writer to the disk, by
# coverage of that event alone: scripts/passes.sh [-v]. -v lists the files.
set -eu
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -cover -covermode=atomic -coverpkg=./bench/passes,./featurize,./ingest,./internal/...,./model,./store/... -o "$dir/passes" ./bench/passes
GOCOVERDIR="$dir" "$dir/passes" "$dir/events"
for event in "$dir"/events/*/; do
	go tool covdata textfmt -i="$event" -o "$dir/profile"
	files=$(awk 'NR > 1 && $NF > 0 { sub(/^github.com\/hinged\/hinged\//, ""); sub(/:.*/, ""); print }' "$dir/profile" | grep -v "^bench/" | sort -u)
	printf '%4d files: %s\n' "$(echo "$files" | wc -l)" "$(basename "$event" | cut -d' ' -f2-)"
	echo "$files" | sed 's,/[^/]*$,,' | uniq -c | awk '{ printf "          %3d %s\n", $1, $2 }'
	if [ "${1:-}" = -v ]; then
		echo "$files" | sed 's/^/              /'
	fi
done
