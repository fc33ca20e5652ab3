"""Partial credit, items of different highest scores, against R's TAM 4.3-25.

With the table as ratings.csv, and one virtual item per rater and item whose thresholds are the item's steps plus the
rater's severity (the last is minus the sum of the others):

    d <- read.csv("ratings.csv"); highest <- c(i0 = 2, i1 = 3, i2 = 2); first <- c(i0 = 0, i1 = 2, i2 = 5)
    d$v <- paste0("r", d$rater, d$item)
    w <- reshape(d[, c("student", "v", "score")], idvar = "student", timevar = "v", direction = "wide")[, -1]
    names(w) <- sub("score.", "", names(w))
    A <- array(0, c(9, 4, 9), dimnames = list(names(w), NULL, NULL))
    for (v in names(w)) { r <- as.integer(substr(v, 2, 2)); i <- substr(v, 3, 4); for (k in 1:3)
      if (k > highest[i]) A[v, k + 1, ] <- NA else {
        A[v, k + 1, first[i] + 1:k] <- -1
        A[v, k + 1, 8:9] <- if (r < 2) -k * (0:1 == r) else k } }
    f <- TAM::tam.mml(w, A = A, verbose = FALSE, control = list(nodes = seq(-9, 9, len = 181), conv = 1e-9,
                      convD = 1e-10, convM = 1e-9, maxiter = 5000))
    logLik(f); f$variance; f$xsi
"""

import numpy as np
import polars as pl
import pytest
from scipy import special

import raterlens as rl


def drawn() -> pl.DataFrame:
    random, rows = np.random.default_rng(11), []
    for student, ability in enumerate(random.standard_normal(300) * 1.4):
        for rater, severity in enumerate((-0.5, 0.0, 0.5)):
            for item, highest in enumerate((2, 3, 2)):
                steps = np.linspace(-0.8, 0.8, highest) + 0.2 * item
                p = special.softmax(np.append(0.0, np.cumsum(ability - severity - steps)))
                rows.append((student, rater, f"i{item}", int(random.choice(highest + 1, p=p))))
    return pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row")


def test_items_of_different_highest_scores() -> None:
    fit = rl.fit(drawn(), model="tfm", scale="partial credit", halo="none", ability="normal")
    assert fit.loglik == pytest.approx(-2656.28318, abs=1e-4)
    assert fit.sigma**2 == pytest.approx(2.01388, abs=2e-4)
    assert fit.raters["eta"].to_numpy()[:2] == pytest.approx([-0.57666, 0.01522], abs=1e-4)
