#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Draws docs/demo.svg from a real run of the demo: usage demo-picture.sh OUTPUT.
# Set GO to use another go command than the one in PATH. What draws is
# charmbracelet/freeze, pinned in scripts/picture/go.mod.
set -eu

GO=${GO:-go}
case $1 in /*) out=$1 ;; *) out=$PWD/$1 ;; esac

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM HUP

"$GO" build -o "$dir/hinged" ./cmd/hinged
echo '$ hinged demo --fast' > "$dir/shown"
CLICOLOR_FORCE=1 "$dir/hinged" demo --fast > "$dir/all"

# The beginning, how the rate falls, the end, the summary and the explanation. What
# is left out shows as an ellipsis. Left out too are lines in scripts that the
# picture's font lacks (bytes from 0xE3 on). Faint and bold, which freeze does not
# draw, become grey and white.
escape=$(printf '\033')
LC_ALL=C awk '
	/[\343-\357]/ { next }
	{ line[++n] = $0; if (/--------/) rate[++rates] = n }
	END {
		for (i = 1; i <= n && i <= 20; i++) if (i != rate[1]) print line[i]
		print "     …"
		for (r = 1; r < rates; r++) print line[rate[r]]
		print "     …"
		for (i = rate[rates] - 3; i <= n; i++) print line[i]
	}' "$dir/all" |
	sed -e 's|/[^ ]*/hinged-demo[0-9]*/|/tmp/hinged-demo/|' -e "s/$escape\[2m/$escape[38;5;246m/g" -e "s/$escape\[1m/$escape[97m/g" >> "$dir/shown"

"$GO" -C scripts/picture tool freeze "$dir/shown" --language ansi --output "$out" \
	--window --padding 24 --margin 0 --border.radius 8 --background '#14161b' \
	--font.family 'ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace' --font.size 13 --line-height 1.3 > /dev/null
