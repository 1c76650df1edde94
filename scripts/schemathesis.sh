#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Installs Schemathesis, which tests the HTTP API by its OpenAPI document, into the
# directory given, once: packages from PyPI, in a directory of their own. It takes
# python3 and pip.
#   scripts/schemathesis.sh DIR
set -eu

VERSION=4.32.5

dir=$1/schemathesis-$VERSION
if [ ! -d "$dir" ]; then
	mkdir -p "$1"
	work=$(mktemp -d "$1/fetch.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	echo "fetching Schemathesis from PyPI" >&2
	if ! python3 -m pip install -q --no-cache-dir --disable-pip-version-check --target "$work/whole" "schemathesis==$VERSION" >"$work/log" 2>&1 </dev/null; then
		tail -n 20 "$work/log" >&2
		exit 1
	fi
	# In one step, so that half of it is never taken for the whole.
	mv -T "$work/whole" "$dir" 2>/dev/null || [ -d "$dir" ]
fi
echo "$dir"
