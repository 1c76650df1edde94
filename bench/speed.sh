#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# speed.sh MBOX OWNER [ROUNDS] prints the table of docs/results.md, "What a message costs":
# hinged on the mail of an archive, beside bogofilter, which was taught the same mail, and
# `wc -w`. Of each program it takes the processor time of the whole process.
#
# It needs Go, Python and Debian's package bogofilter, which HINGED_INSTALL=1 installs as root;
# without it, bogofilter is left out. Any mail will do, such as your own.
set -eu

GO=${GO:-go}
if [ $# -lt 2 ] || [ -z "$1" ] || [ -z "$2" ]; then
	echo 'usage: speed.sh MBOX OWNER [ROUNDS] (an archive and the address of its owner; see docs/results.md)' >&2
	exit 2
fi
if ! command -v bogofilter >/dev/null && [ "${HINGED_INSTALL:-}" = 1 ] && [ "$(id -u)" = 0 ]; then
	{ apt-get update && apt-get install -y --no-install-recommends bogofilter; } >&2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
mkdir "$work/dir"
CGO_ENABLED=0 "$GO" build -trimpath -tags prod -o "$work/hinged" ./cmd/hinged
CGO_ENABLED=0 "$GO" build -trimpath -o "$work/hinged-lab" ./cmd/hinged-lab
"$GO" build -o "$work/speed" ./bench/speed
messages=$("$work/speed" "$2" "$work/dir" "$1")
"${PYTHON:-python3}" "$(dirname "$0")/speed.py" "$2" "$work/hinged" "$work/hinged-lab" "$work/dir" "${3:-5}" "$messages"
