#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# raced.sh prints the directories of the packages that have something to race: they, or
# their tests, start goroutines or share memory among them, or use a package that does.
# make test runs the tests of these under the race detector. Those of the others mostly
# compute, and would take ten times as long.
set -eu
cd "$(dirname "$0")/.."
concurrent='(^|[{;:])[[:space:]]*go [a-zA-Z_(]|errgroup|AfterFunc|sync\.(Cond|Map|Mutex|RWMutex|WaitGroup)|"sync/atomic"|\.Parallel\(|httptest|\.Serve\('
directories() { xargs -n 1 dirname | LC_ALL=C sort -u; }

# What tests use of internal/testkit is a generator of mail more often than a server. An import
# with a comment behind it, which says that what is used of it starts nothing, is not counted.
used=$(grep -rlE --include='*.go' --exclude='*_test.go' --exclude-dir=testkit --exclude-dir=scripts "$concurrent" . | directories | sed 's|^\.|'"$(sed -n 's/^module //p' go.mod)"'|' | paste -sd '|')
grep -rlE --include='*.go' "$concurrent|\"($used)\"\$" . | directories
