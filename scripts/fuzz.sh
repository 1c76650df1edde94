#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fuzz.sh TIME PACKAGE… runs every fuzz target of the packages for TIME each.
# It goes on after a failure, and fails at the end; Go keeps the input that
# failed below the package's testdata/fuzz, from where go test replays it.
set -eu

GO=${GO:-go}
time=$1
shift

failed=''
for package in $($GO list "$@"); do
	for target in $($GO test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		echo "== $package $target for $time"
		$GO test -run '^$' -fuzz "^$target\$" -fuzzminimizetime 5s -fuzztime "$time" "$package" || failed="$failed $package.$target"
	done
done
if [ -n "$failed" ]; then
	echo "failed:$failed" >&2
	exit 1
fi
