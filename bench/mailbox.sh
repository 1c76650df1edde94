#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# mailbox.sh [FLAG…] plays made-up private mailboxes (bench/mailbox, whose flags these are)
# and prints hinged's figures beside those of other tools: the table of docs/results.md,
# "Private mailboxes". What it fetches is kept where quality.sh keeps it. A tool that is
# missing is left out, which it says: bogofilter is Debian's package, and Vowpal Wabbit comes
# from PyPI.
set -eu

GO=${GO:-go}
cache=${BENCH_CACHE:-.bin/bench}
python=$cache/venv/bin/python
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
if [ ! -x "$python" ]; then
	mkdir -p "$cache"
	"${PYTHON:-python3}" -m venv "$cache/venv"
fi
for package in numpy scipy vowpalwabbit; do
	"$python" -c "import $package" 2>/dev/null ||
		"$python" -m pip install --quiet --disable-pip-version-check "$(grep "^$package==" bench/requirements.txt)" >&2 ||
		echo "LEFT OUT: $package could not be installed" >&2
done
command -v bogofilter >/dev/null || echo 'LEFT OUT: bogofilter is not here (Debian package bogofilter)' >&2
if "$python" -c 'import numpy, scipy' 2>/dev/null; then
	set -- -peers "$python" "$@"
else
	echo 'LEFT OUT: all other tools, for want of numpy and scipy' >&2
fi
exec "$GO" run ./bench/mailbox "$@"
