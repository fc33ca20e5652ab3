"""Verdicts of simulated judges on answers whose truth is known."""

import numpy as np

from raterlens.judging.truth import Verdicts


def panel(
    n=300, sensitivity=(0.9, 0.8, 0.7, 0.85, 0.6), specificity=(0.8, 0.9, 0.7, 0.6, 0.9), n_known=60, seed=1
):
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.4
    answer, judge = (part.ravel() for part in np.indices((n, len(sensitivity))))
    passing = np.where(truth[answer], np.array(sensitivity)[judge], 1 - np.array(specificity)[judge])
    verdict = (rng.random(len(answer)) < passing).astype(int)
    known = np.full(n, -1)
    chosen = rng.choice(n, n_known, replace=False)
    known[chosen] = truth[chosen]
    return Verdicts.of(answer, judge, verdict, known), truth.astype(int)
