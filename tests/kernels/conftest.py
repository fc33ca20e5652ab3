"""Fits to diagnose, and a switch to compiled code."""

import numpy as np
import pytest

import raterlens as rl
from raterlens.diagnostics import residuals
from raterlens.kernels import library

OPTIONS = {
    "logit": {},
    "probit": {"link": "probit"},
    "ordered": {"model": "tfm"},
    "latent": {"model": "hrm"},
    "marks": {"scale": "continuous"},
}


@pytest.fixture(scope="module", params=OPTIONS)
def fitted(request):
    thresholds = (-1.0, 0.5) if request.param == "ordered" else None
    ratings = rl.simulate(
        students=300,
        raters=6,
        items=3,
        raters_per_student=3,
        thresholds=thresholds,
        seed=3,
        scale=OPTIONS[request.param].get("scale", "rating scale"),
    ).ratings
    mixed = np.random.default_rng(1).permutation(ratings.n_ratings)
    parts = {name: getattr(ratings, name)[mixed] for name in ("student", "rater", "item", "score")}
    ratings = rl.Ratings(**parts, students=ratings.students, raters=ratings.raters, items=ratings.items)
    return rl.fit(ratings, standard_errors=False, **{"model": "gmf"} | OPTIONS[request.param]), ratings


@pytest.fixture
def compiled(monkeypatch):
    """From here on all data are large, in several blocks, the last one smaller."""

    def begin():
        monkeypatch.setattr(library, "NUMBERS", 0)
        monkeypatch.setattr(residuals, "_BLOCK", 2**12)

    return begin
