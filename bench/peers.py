# SPDX-License-Identifier: Apache-2.0
"""The peers: each is a protocol.Learner, with the settings that are tried. A package is
imported where it is used, since each may be missing."""

import math
import os
import shutil
import subprocess
import tempfile

import numpy as np
import scipy.sparse

from protocol import DAY, Learner


class VowpalWabbit(Learner):
    """Vowpal Wabbit, through its Python package."""

    def __init__(self, features, arguments, yes):
        import vowpalwabbit

        self.features, self.yes = features, yes
        self.vw = vowpalwabbit.Workspace("--quiet --loss_function logistic -b 24 " + arguments)

    def example(self, example, label=""):
        if self.features == "words":
            # A colon and a bar mean something in its format.
            text = " ".join(w.replace(":", "_").replace("|", "_") for w in example.words)
        else:
            text = example.text
        return self.vw.example("%s |f %s" % (label, text))

    def score(self, example):
        e = self.example(example)
        score = self.vw.predict(e)
        self.vw.finish_example(e)
        return score

    def learn(self, example, important):
        e = self.example(example, "1 %g" % self.yes if important else "-1")
        self.vw.learn(e)
        self.vw.finish_example(e)

    def close(self):
        self.vw.finish()


class Bogofilter(Learner):
    """bogofilter, one process for each message scored; what is learnt between two
    scores is learnt by one process for each kind. It can unlearn: a yes after a no
    replaces it."""

    threshold = 0.5

    def __init__(self, positive, *options):
        self.positive = positive  # the class that it calls spam: important, or ordinary
        shared = "/dev/shm" if os.path.isdir("/dev/shm") else None
        self.dir = tempfile.mkdtemp(prefix="bogofilter", dir=shared)
        self.command = ["bogofilter", "-C", "-d", self.dir, "--spamicity-formats=%0.16f,%0.16f,%0.16f", *options]
        self.labels, self.queue = {}, {}
        self.empty = True

    def score(self, example):
        for kind, paths in self.queue.items():
            subprocess.run([*self.command, kind, "-B", *paths], check=True)
            self.empty = False
        self.queue = {}
        if self.empty:
            return self.threshold
        with open(example.raw, "rb") as f:
            p = subprocess.run([*self.command, "-T"], stdin=f, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        if p.returncode > 2:
            raise RuntimeError("bogofilter ended with %d" % p.returncode)
        spamicity = float(p.stdout.split()[1])
        return spamicity if self.positive else 1 - spamicity

    def learn(self, example, important):
        spam = important == self.positive
        before = self.labels.get(example.number)
        if before == spam:
            return
        self.labels[example.number] = spam
        kind = "-s" if spam else "-n"
        if before is not None:
            kind = "-Ns" if spam else "-Sn"
        self.queue.setdefault(kind, []).append(example.raw)

    def close(self):
        shutil.rmtree(self.dir)


class Batch(Learner):
    """Logistic regression over all labels known so far, made anew each week."""

    def __init__(self, stream, **settings):
        lengths = [len(e.indices) for e in stream.examples]
        self.x = scipy.sparse.csr_matrix((
            np.concatenate([e.values for e in stream.examples]).astype(np.float64),
            np.concatenate([e.indices for e in stream.examples]),
            np.concatenate([[0], np.cumsum(lengths)]),
        ))
        self.settings = settings
        self.labels, self.weights, self.bias, self.due = {}, None, 0.0, None

    def now(self, clock):
        if self.due is None:
            self.due = clock + 7 * DAY
        if clock < self.due:
            return
        self.due += 7 * DAY * math.ceil((clock - self.due + 1) / (7 * DAY))
        if len(set(self.labels.values())) < 2:
            return
        import sklearn.linear_model

        rows = sorted(self.labels)
        model = sklearn.linear_model.LogisticRegression(solver="liblinear", dual=True, tol=1e-2, max_iter=200, **self.settings)
        model.fit(self.x[rows], [self.labels[r] for r in rows])
        self.weights, self.bias = model.coef_[0], float(model.intercept_[0])

    def score(self, example):
        if self.weights is None:
            return 0.0
        return float(self.weights[example.indices] @ example.values) + self.bias

    def learn(self, example, important):
        self.labels[example.number] = important


class River(Learner):
    """A learner of the package river."""

    threshold = 0.5

    def __init__(self, model):
        self.model = model

    def score(self, example):
        return self.model.predict_proba_one(example.features())[True]

    def learn(self, example, important):
        self.model.learn_one(example.features(), important)


class PassiveAggressive(Learner):
    """PA-II over rows of a matrix, with a constant coordinate."""

    def __init__(self, rows, c):
        self.rows, self.c = rows, c
        self.weights = np.zeros(rows.shape[1] + 1)

    def row(self, example):
        return np.append(self.rows[example.number], 1.0)

    def score(self, example):
        return float(self.weights @ self.row(example))

    def learn(self, example, important):
        x, y = self.row(example), 1 if important else -1
        loss = max(0.0, 1 - y * float(self.weights @ x))
        self.weights += loss / (x @ x + 1 / (2 * self.c)) * y * x


# The settings of each peer: a name, and what makes a learner of it for a stream. They
# are the defaults and what its documentation names to turn. What is slow and lost
# where it was tried is not kept: the other settings of spam are for spam.


def vowpal_wabbit(features):
    settings = {}
    for name, arguments, yes in [
        ("defaults", "", 1),
        ("yes × 2", "", 2),
        ("-l 0.2", "-l 0.2", 1),
        ("-l 0.1, yes × 2", "-l 0.1", 2),
        ("--ftrl", "--ftrl", 1),
        ("--coin", "--coin", 1),
    ]:
        settings[name] = lambda _, a=arguments, y=yes: VowpalWabbit(features, a, y)
    return settings


def batch(spam):
    settings = {
        "C 1": lambda stream: Batch(stream, C=1),
        "C 1, balanced": lambda stream: Batch(stream, C=1, class_weight="balanced"),
    }
    if spam:
        settings["C 100, balanced"] = lambda stream: Batch(stream, C=100, class_weight="balanced")
    return settings


def river_settings():
    import river.linear_model as linear

    return {
        "Perceptron": {"defaults": lambda _: River(linear.Perceptron())},
        "PA": {
            "PA-I, C 1": lambda _: River(linear.PAClassifier(C=1, mode=1)),
            "PA-I, C 0.1": lambda _: River(linear.PAClassifier(C=0.1, mode=1)),
            "PA-II, C 1": lambda _: River(linear.PAClassifier(C=1, mode=2)),
            "PA-II, C 0.3": lambda _: River(linear.PAClassifier(C=0.3, mode=2)),
            "PA-II, C 0.1": lambda _: River(linear.PAClassifier(C=0.1, mode=2)),
        },
        "ALMA": {"defaults": lambda _: River(linear.ALMAClassifier())},
    }


def bogofilter(spam):
    """For a corpus of spam, or for important mail, which then takes the place of spam."""
    settings = {"min_dev 0.1, robs 0.1": lambda _: Bogofilter(not spam, "--min-dev=0.1", "--robs=0.1")}
    if spam:
        settings["defaults"] = lambda _: Bogofilter(False)
    return settings


def embeddings(rows):
    return {"C %g" % c: lambda _, c=c: PassiveAggressive(rows, c) for c in (10.0, 1.0, 0.1, 0.01)}
