#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Fetches axe-core, with which tests look at the accessibility of pages, into the
# directory given, once: one script, out of a package on PyPI that carries it. It takes
# python3 and pip.
#   scripts/axe.sh DIR
set -eu

CARRIER=axe-playwright-python==0.1.8 # has axe-core 4.x

script=$1/axe.min.js
if [ ! -f "$script" ]; then
	mkdir -p "$1"
	work=$(mktemp -d "$1/fetch.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	echo "fetching axe-core from PyPI" >&2
	if ! python3 -m pip download -q --no-deps --no-cache-dir --disable-pip-version-check -d "$work" "$CARRIER" >"$work/log" 2>&1 </dev/null; then
		tail -n 20 "$work/log" >&2
		exit 1
	fi
	python3 - "$work" <<'EOF'
import glob, sys, zipfile
work = sys.argv[1]
with zipfile.ZipFile(glob.glob(work + "/*.whl")[0]) as z:
    name = next(n for n in z.namelist() if n.endswith("axe.min.js"))
    open(work + "/axe.min.js", "wb").write(z.read(name))
EOF
	mv "$work/axe.min.js" "$script"
fi
echo "$script"
