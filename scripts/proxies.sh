#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Fetches Caddy and nginx, behind which tests look at the dashboard, into the directory
# given, once: about 10 MB (see unpack.sh).
#   scripts/proxies.sh DIR
set -eu
exec sh "$(dirname "$0")/unpack.sh" "$1" proxies-1 "Caddy and nginx" "caddy nginx" "usr/bin/caddy usr/sbin/nginx"
