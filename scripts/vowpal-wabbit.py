#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Teaches Vowpal Wabbit what `hinged-lab vectors --format vw` wrote, and judges it as
hinged judges itself: every example is scored, then learnt.

usage: vowpal-wabbit.py FILE (needs the package vowpalwabbit from PyPI)

Prints a Markdown table: mistakes (label times score is 0 or less), average precision,
100 times the area above the ROC curve, and the seconds that scoring and learning took.
"""
import itertools
import sys
import time

import vowpalwabbit

SETTINGS = [
    "--loss_function logistic",
    "--loss_function hinge",
    "--loss_function logistic --ftrl",
    "--loss_function logistic --sgd -l 10 --power_t 0",
    "--loss_function logistic --coin",
]


def average_precision(judged):
    """Mean precision at the places of the important, by falling score."""
    total = important = 0
    for place, (_, label) in enumerate(sorted(judged, key=lambda j: -j[0]), 1):
        if label > 0:
            important += 1
            total += important / place
    return total / important


def above_roc(judged):
    """100 times the share of pairs in the wrong order, equal scores counting half."""
    wrong = ordinary = important = 0
    for _, same in itertools.groupby(sorted(judged, key=lambda j: -j[0]), key=lambda j: j[0]):
        labels = [label for _, label in same]
        yes = sum(label > 0 for label in labels)
        no = len(labels) - yes
        wrong += ordinary * yes + no * yes / 2
        ordinary, important = ordinary + no, important + yes
    return 100 * wrong / (ordinary * important)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="ascii") as f:
        lines = [line.rstrip("\n") for line in f]
    print("| Vowpal Wabbit %s | mistakes | average precision | 1-ROCA%% | seconds |" % vowpalwabbit.__version__)
    print("|---|---|---|---|---|")
    for setting in SETTINGS:
        vw = vowpalwabbit.Workspace("--quiet --noconstant -b 22 " + setting)
        judged, start = [], time.monotonic()
        for line in lines:
            example = vw.example(line)
            score = vw.predict(example)
            vw.learn(example)
            vw.finish_example(example)
            judged.append((score, 1 if line[0] == "+" else -1))
        seconds = time.monotonic() - start
        vw.finish()
        mistakes = sum(score * label <= 0 for score, label in judged)
        print("| %s | %d | %.3f | %.2f | %.1f |" % (setting, mistakes, average_precision(judged), above_roc(judged), seconds))


if __name__ == "__main__":
    main()
