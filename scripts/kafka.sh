#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Fetches the real Apache Kafka that some tests run against into the directory
# given, once: its jars from Maven Central, about 45 MB, with Maven.
#   scripts/kafka.sh DIR
set -eu

# Brokers are tested at this version; log4j-slf4j-impl lets them say why they
# end, and must be that of the log4j-core among their jars.
KAFKA=4.1.2
LOG4J=2.24.3
PLUGIN=org.apache.maven.plugins:maven-dependency-plugin:3.8.1

dir=$1/kafka-$KAFKA
if [ ! -d "$dir" ]; then
	mkdir -p "$1"
	work=$(mktemp -d "$1/fetch.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	cat >"$work/pom.xml" <<-POM
		<project xmlns="http://maven.apache.org/POM/4.0.0">
		  <modelVersion>4.0.0</modelVersion>
		  <groupId>org.hinged</groupId>
		  <artifactId>kafka-for-tests</artifactId>
		  <version>1</version>
		  <dependencies>
		    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>$KAFKA</version></dependency>
		    <dependency><groupId>org.apache.logging.log4j</groupId><artifactId>log4j-slf4j-impl</artifactId><version>$LOG4J</version></dependency>
		  </dependencies>
		</project>
	POM
	echo "fetching Apache Kafka $KAFKA from Maven Central" >&2
	# Java's own idea of a home directory is not $HOME.
	if ! mvn -B -q ${HOME:+"-Dmaven.repo.local=$HOME/.m2/repository"} -f "$work/pom.xml" $PLUGIN:copy-dependencies -DincludeScope=runtime \
		-DoutputDirectory="$work/libs" >"$work/log" 2>&1 </dev/null; then
		tail -n 20 "$work/log" >&2
		exit 1
	fi
	# In one step, so that half of it is never taken for the whole.
	mv "$work/libs" "$dir" 2>/dev/null || [ -d "$dir" ]
fi
echo "$dir"
