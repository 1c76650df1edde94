#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Fetches GreenMail, a mail server in Java that some tests run against, into the
# directory given, once: one jar from Maven Central, 10 MB, with Maven.
#   scripts/greenmail.sh DIR
set -eu

GREENMAIL=2.1.3
PLUGIN=org.apache.maven.plugins:maven-dependency-plugin:3.8.1

jar=$1/greenmail-standalone-$GREENMAIL.jar
if [ ! -f "$jar" ]; then
	mkdir -p "$1"
	work=$(mktemp -d "$1/fetch.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	echo "fetching GreenMail $GREENMAIL from Maven Central" >&2
	# Java's own idea of a home directory is not $HOME.
	if ! mvn -B -q ${HOME:+"-Dmaven.repo.local=$HOME/.m2/repository"} $PLUGIN:copy \
		-Dartifact=com.icegreen:greenmail-standalone:$GREENMAIL -DoutputDirectory="$work" >"$work/log" 2>&1 </dev/null; then
		tail -n 20 "$work/log" >&2
		exit 1
	fi
	mv "$work/${jar##*/}" "$jar"
fi
echo "$jar"
