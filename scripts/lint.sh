#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# lint.sh FILE VERSION runs golangci-lint from FILE over everything, go vet's checks
# included; builds it from source first if it is not there, which takes a minute or two.
# Where it can't be built, go vet runs alone.
set -eu

GO=${GO:-go}
lint=$1 version=$2

if [ ! -x "$lint" ]; then
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	echo "building golangci-lint $version, once"
	if ! GOBIN=$dir $GO install -ldflags '-s -w' "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$version" >"$dir/log" 2>&1; then
		tail -n 20 "$dir/log" >&2
		if [ "${CI:-}" = true ]; then
			exit 1
		fi
		echo "skipped: golangci-lint (it could not be built); go vet in its place"
		exec $GO vet -tags manual ./...
	fi
	mkdir -p "$(dirname "$lint")"
	mv "$dir/golangci-lint" "$lint"
fi
# It holds all packages in memory, and collecting garbage as often as usual costs it time.
GOGC=400 GOMEMLIMIT=3GiB "$lint" run ./...
