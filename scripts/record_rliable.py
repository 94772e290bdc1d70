#!/usr/bin/env python3
"""Records what `rliable` makes of two pairs of score matrices, as a fixture for the parity test of axiomrl-report.

Needs the real thing: `pip install rliable "pandas<3"` (what it stands on does not know newer ones). Run from anywhere:

    python scripts/record_rliable.py

A matrix has a row for each run and a column for each task. For each pair there are the interquartile means and the probability
that a run of `y` is better than one of `x`, with 95 % stratified bootstrap intervals, that probability for each task, and the
performance profiles at even thresholds. Scores are multiples of 1/4, so that ties are ties in any arithmetic.
"""

import json
from pathlib import Path

import numpy as np
from rliable import library, metrics

FIXTURE = Path(__file__).parent.parent / "crates" / "axiomrl-report" / "tests" / "fixtures" / "rliable.json"
RESAMPLES = 50_000
# The range of every pair is 16, so that thresholds are exact too.
THRESHOLDS = 9

PAIRS = {
    "one task": (
        [[0.0], [3.25], [4.0], [4.5], [5.0], [7.75], [9.0]],
        [[2.0], [4.0], [6.5], [7.75], [8.0], [10.25], [12.0], [12.5], [15.0], [16.0]],
    ),
    "three tasks": (
        [[1.5, 0.25, 9.0], [2.0, 3.5, 8.25], [2.5, 3.5, 12.0], [6.0, 4.0, 15.5], [0.0, 5.25, 16.0]],
        [[2.0, 0.0, 9.5], [2.75, 1.25, 7.0], [4.0, 3.5, 8.25], [5.5, 2.0, 13.0], [3.0, 6.0, 14.0]],
    ),
}


def interval(scores, function):
    """The lower and the upper end."""
    _, ends = library.get_interval_estimates({"all": scores}, function, reps=RESAMPLES, random_state=np.random.RandomState(1))
    return np.asarray(ends["all"]).flatten().tolist()


def record(x, y):
    x, y = np.array(x), np.array(y)
    low, high = min(x.min(), y.min()), max(x.max(), y.max())
    thresholds = np.linspace(low, high, THRESHOLDS)
    better = lambda y, x: np.array([metrics.probability_of_improvement(y, x)])
    iqm = lambda scores: np.array([metrics.aggregate_iqm(scores)])
    tasks = range(x.shape[1])
    return {
        "x": x.tolist(),
        "y": y.tolist(),
        "iqm": [metrics.aggregate_iqm(x), metrics.aggregate_iqm(y)],
        "iqm_intervals": [interval(x, iqm), interval(y, iqm)],
        "improvement": metrics.probability_of_improvement(y, x),
        "improvement_by_task": [metrics.probability_of_improvement(y[:, [task]], x[:, [task]]) for task in tasks],
        "improvement_interval": interval((y, x), better),
        "thresholds": thresholds.tolist(),
        "profiles": [library.score_distributions(matrix, thresholds).tolist() for matrix in (x, y)],
    }


FIXTURE.parent.mkdir(parents=True, exist_ok=True)
FIXTURE.write_text(json.dumps({name: record(*pair) for name, pair in PAIRS.items()}, indent=1) + "\n")
