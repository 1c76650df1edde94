#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fuzz.sh TIME PACKAGE… runs every fuzz target of the packages for TIME each.
# It goes on after a failure, and fails at the end; Go keeps the input that
# failed below the package's testdata/fuzz, from where go test replays it.
#
# Go before 1.27 now and then calls the end of TIME itself a failure
# (https://go.dev/issue/75804). Such a target runs once more.
set -eu

GO=${GO:-go}
time=$1
shift
log=$(mktemp)
trap 'rm -f "$log"' EXIT
trap 'exit 1' INT TERM HUP

# fuzz PACKAGE TARGET runs one target. Go says ok of it only if nothing failed.
fuzz() {
	$GO test -run '^$' -fuzz "^$2\$" -fuzzminimizetime 5s -fuzztime "$time" "$1" 2>&1 | tee "$log"
	grep -q '^ok' "$log"
}

# timed_out: the last run failed for nothing but the end of its time.
timed_out() {
	grep -q '^ *context deadline exceeded$' "$log" && ! grep -q -e 'Failing input' -e 'panic:' "$log"
}

failed=''
for package in $($GO list "$@"); do
	for target in $($GO test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		echo "== $package $target for $time"
		fuzz "$package" "$target" || { timed_out && fuzz "$package" "$target"; } || failed="$failed $package.$target"
	done
done
if [ -n "$failed" ]; then
	echo "failed:$failed" >&2
	exit 1
fi
