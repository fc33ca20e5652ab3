"""Small problems with a reading effect, of every kind."""

import numpy as np

import raterlens as rl
from raterlens.capability.links import get_link
from raterlens.likelihood.marginal import FacetsMarginal, marginal
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.priors import Pseudo
from raterlens.models.build import build
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options

NODES = Nodes.equally_spaced(-6, 6, 0.25)
KINDS = [
    ("rating scale", "logit", 2, False, "common", "gmf"),
    ("rating scale", "logit", 4, False, "rater", "gmf"),
    ("partial credit", "logit", 3, True, "rater", "gmf"),
    ("graded", "probit", 4, False, "common", "tfm"),
    ("rating scale", "cauchit", 2, True, "common", "gmf"),
    ("rating scale", "cloglog", 2, False, "rater", "gmf"),
    ("rating scale", "probit", 2, False, "common", "probit"),
]


def problem_of(
    scale, link, categories, item_slopes, halo, model
) -> tuple[rl.Ratings, FacetsMarginal, np.ndarray]:
    """A few students, one of them with an item twice and one with an item missing, and parameters."""
    thresholds = None if categories == 2 else np.linspace(-1, 1, categories - 1)
    drawn = rl.simulate(students=8, raters=3, items=3, raters_per_student=2, thresholds=thresholds, seed=1)
    table = drawn.ratings.table()
    ratings = rl.read(table[1:].vstack(table[-1:]))
    options = Options(MODELS[model], get_link(link), scale, item_slopes, halo=halo)
    built, response = build(ratings, options, categories)
    nobody = Pseudo(np.zeros((len(built.contexts), response.n_categories)))
    random, x = np.random.default_rng(5), np.zeros(built.blocks.size)
    x += random.normal(0, 0.3, len(x))
    x[built.blocks["slope"]] = random.uniform(0.8, 1.6, built.slope.size)
    x[built.blocks["halo"]] = random.uniform(0.3, 1.5, built.blocks.sizes["halo"])
    if scale == "graded":
        x[built.blocks["threshold"]] = np.abs(x[built.blocks["threshold"]]) + 0.3
    return ratings, marginal(ratings, built, response, nobody), x
