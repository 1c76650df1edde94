#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Fetches Cyrus and Courier, the mail servers that some tests run against, into
# the directory given, once: Debian's packages and the libraries that they need,
# about 45 MB. They conflict with Dovecot's packages, so they are not installed
# but unpacked into a root of their own; internal/testkit runs them there.
#   scripts/mailservers.sh DIR
set -eu

# Raised whenever the packages below change.
ROOT=mailservers-1
PACKAGES="cyrus-imapd cyrus-common libsasl2-modules tzdata
	courier-imap courier-base courier-authlib courier-authlib-userdb gamin"

# closure prints packages and all libraries that they depend on. What else they
# depend on, such as a mail transfer agent, does not run here.
closure() {
	seen=' '
	queue=$*
	while [ -n "$queue" ]; do
		seen="$seen$(echo $queue) "
		next=$(apt-cache depends -i $queue 2>/dev/null |
			sed -n 's/^ *|\{0,1\}\(Pre\)\{0,1\}Depends: \(\(lib\|zlib\)[^<:]*\).*$/\2/p' | sort -u)
		queue=
		for package in $next; do
			case $seen in *" $package "*) ;; *) queue="$queue $package" ;; esac
		done
	done
	echo $seen
}

dir=$1/$ROOT
if [ ! -d "$dir" ]; then
	for program in apt-get apt-cache dpkg-deb; do
		command -v $program >/dev/null || {
			echo "no $program program is on this machine; the packages are Debian's" >&2
			exit 1
		}
	done
	mkdir -p "$1"
	work=$(mktemp -d "$1/fetch.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	mkdir "$work/debs" "$work/root"
	echo "fetching Cyrus and Courier from Debian" >&2
	# A new machine has no lists of packages, an old one has old lists.
	fetch() (
		cd "$work/debs" && list=$(closure $PACKAGES) &&
			apt-get -o APT::Sandbox::User="$(id -un)" download $list >"$work/log" 2>&1 </dev/null
	)
	if ! fetch; then
		apt-get update >"$work/log" 2>&1 </dev/null || true
		if ! fetch; then
			tail -n 20 "$work/log" >&2
			exit 1
		fi
	fi
	for deb in "$work"/debs/*.deb; do
		dpkg-deb -x "$deb" "$work/root"
	done
	rm -rf "$work"/root/usr/share/doc "$work"/root/usr/share/man "$work"/root/usr/share/locale
	for mount in dev etc run tmp var; do
		mkdir -p "$work/root/$mount"
	done
	# Its servers' own users pass through.
	chmod 755 "$work/root"
	# In one step, so that half of it is never taken for the whole.
	mv -T "$work/root" "$dir" 2>/dev/null || [ -d "$dir" ]
fi
echo "$dir"
