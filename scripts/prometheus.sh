#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Fetches Prometheus and promtool, with which tests look at metrics, alerts and the
# dashboard, into the directory given, once: about 20 MB (see unpack.sh).
#   scripts/prometheus.sh DIR
set -eu
exec sh "$(dirname "$0")/unpack.sh" "$1" prometheus-1 Prometheus prometheus "usr/bin/prometheus usr/bin/promtool"
