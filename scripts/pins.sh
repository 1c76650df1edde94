#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Compares what the code decides, and the digests that runs end with, with what
# scripts/pins.txt says (make pins). Tests log it (testkit.Pin). Lines are:
#
#   decided GROUP what value   changes only when a decision, a score or a weight does
#   format GROUP what value    changes with the format of rows, too
#   requirement Rn test PASS
#
# A group of which nothing is logged was left out: its mail is not given (MTD=, MIPS=,
# GPSD=), its server is not there, or only the quick half is asked for (QUICK=1). UPDATE=1
# writes the file.
set -eu
cd "$(dirname "$0")/.."
file=scripts/pins.txt
mkdir -p dist
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# run tests and keeps what they log: run PACKAGES -flags…
run() {
	"${GO:-go}" test -vet=off -count=1 -v -timeout 1h "$@" >"$work/log" 2>&1 || {
		cp "$work/log" dist/pins.log
		grep -E '^ *--- FAIL|^panic|^FAIL' "$work/log" || true
		echo "pins: go test $* failed; see dist/pins.log" >&2
		failed=1
	}
	sed -n 's/^ *[a-z_]*_test\.go:[0-9]*: pin //p' "$work/log" >>"$work/now"
	sed -n 's/^--- \([A-Z]*\): \(Test\(R[0-9]*\)[A-Z][A-Za-z0-9]*\) .*/requirement \3 \2 \1/p' "$work/log" >>"$work/now"
}

# The runs of streams that differ in what they are given.
streams='AStreamComes|KilledAtAny|ThreeProcessesKilled|WhenItIsCommitted|UndoAndForget|GivesTheDigests'

failed=0
export HINGED_PINS=1
run ./internal/project ./bench/mailbox -run 'TestPins$'
if [ -z "${QUICK:-}" ]; then
	run -p 1 ./internal/run/stream ./internal/run/replay -run "$streams"
	run -parallel 8 ./internal/e2e -run 'TestR[0-9]|TestAReload|ARollingUpgrade|BootstrapKilled'
	run ./cmd/hinged ./ingest/imap ./store/boltfile ./internal/measure/evaluate ./internal/account/filter -run 'TestR[0-9]'
fi
LC_ALL=C sort -u "$work/now" >"$work/sorted"

# What is not of a group that was run is as it was.
awk 'NR == FNR { ran[$1 == "requirement" ? $1 : $2] = 1; next }
	!(($1 == "requirement" ? $1 : $2) in ran)' "$work/sorted" "$file" >"$work/left"
awk '{ print $1 == "requirement" ? $1 "s" : $2 }' "$work/left" | sort -u | sed 's/^/pins: left out: /'
LC_ALL=C sort "$work/left" "$work/sorted" >"$work/all"
if [ -n "${UPDATE:-}" ]; then
	cp "$work/all" "$file"
elif ! diff -U0 "$file" "$work/all" >"$work/diff"; then
	grep '^[-+][a-z]' "$work/diff" | LC_ALL=C sort -s -k1.2,4
	if grep -q '^[-+]d' "$work/diff"; then
		echo 'pins: DECISIONS differ (-: as pinned, +: now)' >&2
	elif grep -q '^[-+]r' "$work/diff"; then
		echo 'pins: no decision differs, but a test of a requirement fails or is gone' >&2
	else
		echo 'pins: only formats differ (-: as pinned, +: now); if that is meant: make pins UPDATE=1' >&2
	fi
	failed=1
fi
[ $failed = 0 ] && echo "pins: $(wc -l <"$work/sorted") lines are as in $file"
