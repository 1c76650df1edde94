# SPDX-License-Identifier: Apache-2.0
"""Vowpal Wabbit behind a pipe: a line "s EXAMPLE" is answered with a score, a line
"l EXAMPLE" is learnt. The arguments are its own."""

import sys

import vowpalwabbit

vw = vowpalwabbit.Workspace("--quiet --loss_function logistic -b 24 " + " ".join(sys.argv[1:]))
for line in sys.stdin:
    what, _, text = line.partition(" ")
    example = vw.example(text.rstrip("\n"))
    if what == "s":
        print(vw.predict(example), flush=True)
    else:
        vw.learn(example)
    vw.finish_example(example)
