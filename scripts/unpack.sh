#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Fetches programs from Debian's packages into a directory of their own below the one given,
# once. They are not installed but unpacked, so that they leave no service behind. Prints
# the directory; the programs are in its bin.
#   scripts/unpack.sh DIR ROOT WHAT "PACKAGES" "PROGRAMS"
# ROOT names the directory: it changes whenever what is fetched does. PROGRAMS are paths in
# the packages.
set -eu

dir=$1/$2
what=$3 packages=$4 programs=$5
if [ ! -d "$dir" ]; then
	for program in apt-get dpkg-deb; do
		command -v $program >/dev/null || {
			echo "no $program program is on this machine; the packages are Debian's" >&2
			exit 1
		}
	done
	mkdir -p "$1"
	work=$(mktemp -d "$1/fetch.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	mkdir -p "$work/deb" "$work/root" "$work/whole/bin"
	echo "fetching $what from Debian" >&2
	# A new machine has no lists of packages, an old one has old lists.
	fetch() (
		cd "$work/deb" && apt-get -o APT::Sandbox::User="$(id -un)" download $packages >"$work/log" 2>&1 </dev/null
	)
	if ! fetch; then
		apt-get update >"$work/log" 2>&1 </dev/null || true
		if ! fetch; then
			tail -n 20 "$work/log" >&2
			exit 1
		fi
	fi
	for deb in "$work"/deb/*.deb; do
		dpkg-deb -x "$deb" "$work/root"
	done
	for program in $programs; do
		mv "$work/root/$program" "$work/whole/bin"
	done
	# In one step, so that half of it is never taken for the whole.
	mv -T "$work/whole" "$dir" 2>/dev/null || [ -d "$dir" ]
fi
echo "$dir"
