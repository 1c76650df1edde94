#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times scikit-learn's SVC on what `hinged-lab vectors` wrote.

usage: svc.py FILE (needs the package scikit-learn from PyPI)

The first 5,000 vectors become supports, all of them, as C is tiny; the last 200 are
asked for one after the other. Prints milliseconds a vector for predict and for
decision_function, one at a time and all at once.
"""
import sys
import time

from sklearn.datasets import load_svmlight_file
from sklearn.svm import SVC

SUPPORTS, ASKED = 5000, 200

x, y = load_svmlight_file(sys.argv[1])
x.sort_indices()
svc = SVC(kernel="poly", degree=2, coef0=1, gamma=1, C=1e-9, class_weight="balanced", cache_size=500)
svc.fit(x[:SUPPORTS], y[:SUPPORTS])
print("supports", svc.support_vectors_.shape[0])
asked = x[-ASKED:]
for name, ask in ("predict", svc.predict), ("decision_function", svc.decision_function):
    begun = time.perf_counter()
    for i in range(ASKED):
        ask(asked[i])
    single = time.perf_counter() - begun
    begun = time.perf_counter()
    ask(asked)
    together = time.perf_counter() - begun
    print(f"{name}: {1000 * single / ASKED:.3f} ms a vector, {1000 * together / ASKED:.3f} ms when asked for all at once")
