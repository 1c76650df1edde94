# SPDX-License-Identifier: Apache-2.0
"""The stream of mail that all tools judge, the two protocols, and the figures."""

import collections
import dataclasses
import json

import numpy as np

HOUR = 3_600_000
DAY = 24 * HOUR


@dataclasses.dataclass
class Example:
    """One message that is decided."""

    number: int
    important: bool
    correspondent: bool
    words: list
    text: str  # its vector, as number:value pairs
    raw: str  # the path of the message
    indices: np.ndarray = None
    values: np.ndarray = None

    def __post_init__(self):
        pairs = self.text.replace(":", " ").split()
        self.indices = np.array(pairs[0::2], dtype=np.int32)
        self.values = np.array(pairs[1::2], dtype=np.float32)

    def features(self):
        """The vector as a dictionary."""
        return dict(zip(self.indices.tolist(), self.values.tolist()))


class Stream:
    """What bench/stream wrote."""

    def __init__(self, path, raw):
        self.events = []  # (arrival in ms, example or None, numbers of the examples answered)
        self.examples = []
        with open(path, encoding="utf-8") as f:
            for line in f:
                d = json.loads(line)
                example = None
                if "example" in d:
                    n = d["example"]
                    example = Example(n, d.get("important", False), d.get("correspondent", False),
                                      d.get("words", []), d["vector"], "%s/%06d" % (raw, n))
                    self.examples.append(example)
                self.events.append((d["at"], example, d.get("answers", [])))
        self.labels = np.array([e.important for e in self.examples])


class Learner:
    """A tool under test. A score above `threshold` calls a message important."""

    threshold = 0.0

    def now(self, clock):
        """Is told the time of the stream, before each score."""

    def score(self, example):
        raise NotImplementedError

    def learn(self, example, important):
        raise NotImplementedError

    def close(self):
        """Frees what the tool holds."""


def immediate(stream, learner):
    """Decide, then learn the label, then the next message. Returns the scores."""
    scores = []
    clock = 0
    for at, example, _ in stream.events:
        clock = max(clock, at)
        if example is None:
            continue
        learner.now(clock)
        scores.append(learner.score(example))
        learner.learn(example, example.important)
    return np.array(scores)


def delayed(stream, learner, patience):
    """Learn the yes when the owner's answer arrives, and the no after so many
    milliseconds without one. A yes that comes later still is learnt on top of the no."""
    scores = []
    clock = 0
    waiting = collections.deque()
    answered = set()
    for at, example, answers in stream.events:
        clock = max(clock, at)
        while waiting and waiting[0][0] + patience <= clock:
            silent = waiting.popleft()[1]
            if silent.number not in answered:
                learner.learn(silent, False)
        if example is not None:
            learner.now(clock)
            scores.append(learner.score(example))
            waiting.append((clock, example))
        for n in answers:
            if n not in answered:
                answered.add(n)
                learner.learn(stream.examples[n], True)
    return np.array(scores)


def figures(scores, labels, threshold=0.0):
    """The figures of a play, defined as `hinged eval` defines them (internal/measure/evaluate/metrics.go)."""
    order = np.argsort(-scores, kind="stable")
    sorted_scores, hits = scores[order], np.cumsum(labels[order])
    places = np.arange(1, len(scores) + 1)
    yes, no = int(labels.sum()), int((~labels).sum())
    # Equal scores fall on the same side of a threshold.
    ends = np.append(sorted_scores[1:] != sorted_scores[:-1], True)
    tp, called = hits[ends], places[ends]
    f1 = 2 * tp / (called + yes)
    fp = called - tp
    tp0, fp0 = np.concatenate([[0], tp[:-1]]), np.concatenate([[0], fp[:-1]])
    wrong = np.sum((fp - fp0) * (yes - (tp + tp0) / 2))
    return {
        "average_precision": float(np.mean((hits / places)[labels[order]])),
        "one_minus_roca_percent": float(100 * wrong / (yes * no)),
        "best_f1": float(f1.max()),
        # As a perceptron counts: a score on the threshold itself is wrong, too.
        "mistakes": int(np.sum(np.where(labels, scores <= threshold, scores >= threshold))),
    }
