# SPDX-License-Identifier: Apache-2.0
"""speed.py OWNER HINGED LAB DIR ROUNDS MESSAGES runs every program in turn, so that all of
them share what else the machine does, and prints the table of docs/results.md, "What a
message costs": medians over the rounds. Ratios are medians of the ratios within each round."""

import os
import shutil
import statistics
import subprocess
import sys
import time

owner, hinged, lab, where, rounds, messages = sys.argv[1:]
mail = os.path.join(where, "mail.mbox")


def run(command, env=None, stdin=None, most=0):
    """The processor time and the wall time of a run; most is the greatest exit code that is no error."""
    begun = time.monotonic()
    with open(stdin or os.devnull, "rb") as f:
        p = subprocess.Popen(command, stdin=f, stdout=subprocess.DEVNULL, env={**os.environ, **(env or {})})
        _, status, used = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    if not 0 <= p.returncode <= most:
        sys.exit("%s ended with %d" % (command, p.returncode))
    return used.ru_utime + used.ru_stime, time.monotonic() - begun


bound = [lab, "eval", "--set", "prior=none", "--owner", owner, mail]
one, two = {"GOMAXPROCS": "1"}, {"GOMAXPROCS": "2"}  # the collector of garbage included
programs = {
    "hinged classify: deciding alone": ([hinged, "classify", "--config", os.path.join(where, "hinged.toml"), mail], one),
    "hinged eval: deciding and learning": ([*bound, "--ceiling=false"], one),
    "the same on two cores": ([*bound, "--ceiling=false"], two),
    "hinged eval, and the search for a ceiling": (bound, one),
    "wc -w": (["wc", "-w", mail], {"LC_ALL": "C.UTF-8"}),
}
if shutil.which("bogofilter"):
    tokens = os.path.join(where, "bogofilter")
    os.mkdir(tokens)
    for kind, flag in ("important", "-s"), ("ordinary", "-n"):
        run(["bogofilter", "-d", tokens, flag, "-M"], stdin=os.path.join(where, kind), most=2)
    programs["bogofilter -t -M"] = (["bogofilter", "-d", tokens, "-t", "-M"], {}, mail, 2)
else:
    print("LEFT OUT: bogofilter is not here (Debian package bogofilter)", file=sys.stderr)

took = {name: [] for name in programs}
for _ in range(int(rounds)):
    for name, how in programs.items():
        took[name].append(run(*how))


def ratio(a, b):
    if a not in took:
        return ""
    return "%.1f" % statistics.median(y[0] / x[0] for x, y in zip(took[b], took[a]))


print("%s messages, %s rounds; medians\n" % (messages, rounds))
print("| program | processor time | messages a processor second | as many times as bogofilter | as many times the time of `wc -w` | wall time |")
print("|---|---|---|---|---|---|")
for name, costs in took.items():
    busy, wall = (statistics.median(c[i] for c in costs) for i in (0, 1))
    print("| %s | %.2f s | %.0f | %s | %s | %.2f s |" % (name, busy, int(messages) / busy, ratio("bogofilter -t -M", name), ratio(name, "wc -w"), wall))
