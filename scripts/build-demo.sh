#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Builds the program for "make demo" and says meanwhile how far it is: usage
# build-demo.sh OUTPUT. Set GO to use another go command than the one in PATH.
#
# What makes a first build short is in docs/decisions/program.md: without the Kafka
# broker that "hinged demo --kafka" starts (nobroker), without what debuggers need, and
# without inlining, which takes the compiler a third of its time. The code is the same.
# The compiler collects its garbage more rarely.
set -eu

GO=${GO:-go}
export CGO_ENABLED=0 GOGC=400

echo "Compiling hinged and the Go packages that it needs. The first time this takes about"
echo "half a minute on two processors; after that it is done at once."

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM HUP

# shown says how far it is: on a terminal in one line, elsewhere now and then.
if [ -t 1 ]; then
	shown() { printf '\r%s\033[K' "$1"; }
	ended() { printf '\r\033[K'; }
else
	shown() { [ $(($2 % 100)) != 0 ] || printf '%s\n' "$1"; }
	ended() { :; }
fi

# follow reads what the go command says: the names of modules and packages, and errors.
follow() {
	modules=0 packages=0
	while IFS= read -r line; do
		case $line in
		"go: downloading "*)
			modules=$((modules + 1))
			shown "$modules modules downloaded" "$modules"
			;;
		*[!A-Za-z0-9_./~-]*)
			ended
			printf '%s\n' "$line" >&2
			;;
		*)
			packages=$((packages + 1))
			shown "$packages of $all packages compiled" "$packages"
			;;
		esac
	done
	ended
}

all=0
{ "$GO" list -tags nobroker -deps ./cmd/hinged 2>&1 >"$dir/packages" || echo failed >"$dir/failed"; } | follow
[ ! -e "$dir/failed" ]
all=$(grep -c . "$dir/packages")
{ "$GO" build -v -tags nobroker -gcflags 'all=-l -dwarf=false' -ldflags '-s -w' -o "$1" ./cmd/hinged 2>&1 || echo failed >"$dir/failed"; } | follow
[ ! -e "$dir/failed" ]
