#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Builds maddy, a mail server in Go that a test runs against, into the directory given,
# once: from the Go module proxy, with the replacements of its own go.mod, which Go does not
# heed for a dependency.
#   scripts/maddy.sh DIR
set -eu

MADDY=0.8.1
GO=${GO:-go}

maddy=$1/maddy-$MADDY
if [ ! -f "$maddy" ]; then
	mkdir -p "$1"
	work=$(mktemp -d "$1/fetch.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	echo "building maddy $MADDY" >&2
	cat >"$work/go.mod" <<-'EOF'
		module maddy

		go 1.24

		replace (
			github.com/emersion/go-imap => github.com/foxcpp/go-imap v1.0.0-beta.1.0.20220623182312-df940c324887
			github.com/emersion/go-smtp => github.com/foxcpp/go-smtp v1.21.4-0.20250124171104-c8519ae4fb23
			github.com/libdns/gandi => github.com/foxcpp/libdns-gandi v1.0.4-0.20240127130558-4782f9d5ce3e
		)
	EOF
	# The same for every caller, so that what one built the next one finds in the cache.
	export GOFLAGS=-trimpath CGO_ENABLED=1
	if ! (cd "$work" && $GO get -tool "github.com/foxcpp/maddy/cmd/maddy@v$MADDY" &&
		$GO build -ldflags '-s -w' -o maddy github.com/foxcpp/maddy/cmd/maddy) >"$work/log" 2>&1 </dev/null; then
		tail -n 20 "$work/log" >&2
		exit 1
	fi
	mv "$work/maddy" "$maddy"
fi
echo "$maddy"
