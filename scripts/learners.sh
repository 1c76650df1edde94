#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# learners.sh MTD MIPS prints tables that compare every
# learner on the two development streams: MTD and MIPS are the archives of linux-mtd
# and linux-mips that docs/results.md describes. Where PYTHON (default python3) has
# the package vowpalwabbit, Vowpal Wabbit is taught the same vectors.
# Set GO to use another go command than the one in PATH.
set -eu

GO=${GO:-go}
PYTHON=${PYTHON:-python3}
if [ $# -ne 2 ]; then
	echo 'usage: learners.sh MTD MIPS (two archives; see docs/results.md)' >&2
	exit 2
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM HUP
"$GO" build -o "$dir/lab" ./cmd/hinged-lab

compare() { # name, owner, archive
	printf '\n%s\n\n' "$1"
	"$dir/lab" mail --owner "$2" --markdown "$3"
	if "$PYTHON" -c 'import vowpalwabbit' 2>/dev/null; then
		"$dir/lab" vectors --owner "$2" --format vw "$3" > "$dir/mail.vw"
		echo
		"$PYTHON" scripts/vowpal-wabbit.py "$dir/mail.vw"
	else
		echo 'Vowpal Wabbit: left out, there is no package vowpalwabbit here' >&2
	fi
}

compare linux-mtd miquel.raynal@bootlin.com "$1"
compare linux-mips ralf@linux-mips.org "$2"
