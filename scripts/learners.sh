#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# learners.sh MTD MIPS prints tables that compare every
# learner on the lessons of the two development streams: MTD and MIPS are the archives of linux-mtd
# and linux-mips that docs/results.md describes.
# Set GO to use another go command than the one in PATH.
set -eu

GO=${GO:-go}
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
	"$dir/lab" vectors --owner "$2" "$3" > "$dir/vectors"
	"$dir/lab" teach --passes 1 --budget 1000 "$dir/vectors" \
		--compare perceptron,margin,pa-1,pa-2,dual,averaged,averaged-pa-2,descent,polynomial-2,polynomial-3,polynomial-2-budget
}

compare linux-mtd miquel.raynal@bootlin.com "$1"
compare linux-mips ralf@linux-mips.org "$2"
