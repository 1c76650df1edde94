#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the average precision of each tool at one setting for all streams.

usage: one_setting.py FILE

FILE is what `quality.py --plays` wrote, of two streams or more. Each tool has the setting
with the best mean over the streams. hinged has its defaults, and its lead over each tool
is printed for each stream.
"""

import json
import pathlib
import sys


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    streams, tools = [], {}
    for line in pathlib.Path(sys.argv[1]).read_text().splitlines():
        play = json.loads(line)
        if play["stream"] not in streams:
            streams.append(play["stream"])
        tools.setdefault(play["tool"], {}).setdefault(play["setting"], {})[play["stream"]] = play["ap"]
    print("| tool | " + " | ".join("%s | lead" % s for s in streams) + " | setting |")
    print("|---" * (2 + 2 * len(streams)) + "|")
    ours = next(iter(tools["**hinged**"].values()))
    for tool, settings in tools.items():
        # A tool that was left out of a stream has no mean.
        whole = {name: ap for name, ap in settings.items() if len(ap) == len(streams)}
        if not whole:
            continue
        name, ap = max(whole.items(), key=lambda kept: sum(kept[1].values()))
        cells = []
        for s in streams:
            cells += ["%.3f" % ap[s], "" if ap is ours else "%.1f %%" % (100 * (ours[s] / ap[s] - 1))]
        print("| " + " | ".join([tool, *cells, name]) + " |")


if __name__ == "__main__":
    main()
