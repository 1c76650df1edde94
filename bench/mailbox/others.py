# SPDX-License-Identifier: Apache-2.0
"""Other tools on one play of a made-up mailbox. Each line of the input is a step in JSON: a
message, "learn" with who is taught by it, or "score"; the output is a JSON object with what
each tool marks of what was to be scored. A tool that is not here is left out."""

import base64
import collections
import importlib.util
import json
import math
import pathlib
import shutil
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
import peers  # noqa: E402
import protocol  # noqa: E402


class NaiveBayes(protocol.Learner):
    """Over which features of hinged's a message has."""

    def __init__(self):
        self.counts = {False: collections.Counter(), True: collections.Counter()}
        self.total = {False: 0, True: 0}

    def learn(self, example, important):
        self.total[important] += 1
        self.counts[important].update(example.indices.tolist())

    def score(self, example):
        def p(important, feature):
            return (self.counts[important][feature] + 0.5) / (self.total[important] + 1)

        return math.log(self.total[True] / self.total[False]) + sum(
            math.log(p(True, f) / p(False, f)) for f in example.indices.tolist())


def tools():
    """By name: the learner, and which lessons teach it."""
    found = {"naive Bayes, read and kept": (NaiveBayes(), "kept")}
    if shutil.which("bogofilter"):
        (make,) = peers.bogofilter(False).values()
        found["bogofilter"] = (make(None), "answered")
    if importlib.util.find_spec("vowpalwabbit"):
        found["Vowpal Wabbit, our vectors"] = (peers.vowpal_wabbit("vector")["-l 0.1, yes × 2"](None), "answered")
    return found


def main():
    examples, marks, taught = {}, collections.defaultdict(list), collections.defaultdict(set)
    found = tools()
    with tempfile.TemporaryDirectory() as folder:
        for line in sys.stdin:
            step = json.loads(line)
            n = step["mail"]
            if n not in examples:
                raw = "%s/%d" % (folder, n)
                pathlib.Path(raw).write_bytes(base64.b64decode(step["raw"]))
                examples[n] = protocol.Example(n, False, False, [], step["vector"], raw)
            for name, (tool, teacher) in found.items():
                if step["do"] == "score":
                    # A tool that knows one kind alone marks nothing.
                    marks[name].append(len(taught[name]) == 2 and bool(tool.score(examples[n]) > tool.threshold))
                elif step["by"] == teacher:
                    taught[name].add(step["important"])
                    tool.learn(examples[n], step["important"])
    for tool, _ in found.values():
        tool.close()
    json.dump(marks, sys.stdout)


if __name__ == "__main__":
    main()
