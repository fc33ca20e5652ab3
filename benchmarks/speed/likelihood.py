"""The GMF's likelihood on given ratings, ready to be evaluated over and over."""

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.capability.links import get_link
from raterlens.estimation.facets_estimate import starting_values
from raterlens.likelihood.marginal import FacetsMarginal, marginal
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.priors import pseudo_ratings
from raterlens.models.build import build
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options
from raterlens.ratings.coded import Ratings
from raterlens.ratings.packed import StoredRatings, open_packed


@dataclass(frozen=True, slots=True)
class Likelihood:
    problem: FacetsMarginal
    parameters: NDArray[np.float64]
    nodes: Nodes

    @staticmethod
    def of(ratings: Ratings, n_nodes: int, client: Any = None) -> "Likelihood":
        """On the workers of a Dask client, where there is one."""
        link = get_link("logit")
        model, response = build(ratings, Options(MODELS["gmf"], link, "rating scale", False), 2)
        problem = marginal(ratings, model, response, pseudo_ratings(model, 2), client)
        nodes = Nodes.equally_spaced(-6, 6, 12 / (n_nodes - 2))
        return Likelihood(problem, starting_values(ratings, model, link), nodes)

    def evaluate(self) -> None:
        """Log-likelihood and gradient, as in a step of a fit. On the same grid, what was found last would be taken."""
        self.problem.value(self.parameters, replace(self.nodes))


def warm_up(client: Any = None) -> None:
    """Fit a few packed ratings, so that everything is loaded and compiled that a large fit needs. Students differ, as
    in large data with several raters per student."""
    import raterlens as rl

    random = np.random.default_rng(0)
    rows = [(s, r, i, int(random.integers(2))) for s in range(60) for r in range(4) for i in range(6)]
    table = pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row")
    with TemporaryDirectory() as folder:
        packed = rl.pack(table, Path(folder) / "few.rlpack")
        rl.fit(StoredRatings(open_packed(packed)), model="gmf", client=client)
