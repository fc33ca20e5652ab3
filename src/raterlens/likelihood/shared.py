"""The marginal likelihood with a second ability that raters share (models/terms/shared_bias.py): nodes of both
abilities are just more nodes, and how much a context loads on the second one is an intercept that counts z times at the
node (t, z)."""

import numpy as np

from raterlens.base.arrays import Array
from raterlens.likelihood.cells import rating_cells
from raterlens.likelihood.density import Cells
from raterlens.likelihood.engines.numpy import NumpyEngine
from raterlens.likelihood.latent import Crossed, Fallible
from raterlens.likelihood.marginal import FacetsMarginal
from raterlens.likelihood.nodes import Moments, ProductNodes, nodes_for
from raterlens.likelihood.priors import Pseudo, Ridge
from raterlens.models.build import as_modelled
from raterlens.models.facets import FacetsModel
from raterlens.models.responses import Response
from raterlens.ratings.coded import Ratings

# The first grid; narrower where known answers make curves steep.
_ROUGH, _ROUGH_REACH, _STEEP = 0.6, 4.5, 2.0
# The log-likelihood is then off by less than this, relative.
ACCURACY = 1e-6
_REACH, MOST_ROUNDS = 6.0, 5
# A posterior's width does not tell how steep its flanks are.
_WIDEST = 0.5


def shared_marginal(
    ratings: Ratings, model: FacetsModel, response: Response, pseudo: Pseudo, ridge: Ridge | None = None
) -> "SharedMarginal":
    """A facets model with a shared dimension on data."""
    ratings, wide = as_modelled(ratings, model), model.widened("loading")
    both = Crossed(Fallible(response, model.contexts.n_rated), np.empty(0), np.empty(0))
    counts = rating_cells(ratings, wide.contexts, both.n_categories)
    engine = NumpyEngine(counts, finite=True)
    return SharedMarginal(ratings, wide, pseudo, Cells(both, wide), engine, ridge=ridge)


class SharedMarginal(FacetsMarginal):
    """A facets model with a shared dimension."""

    @property
    def nests(self) -> bool:
        return False

    def rough_nodes(self) -> ProductNodes:
        known = self.model.known_slope
        step = _ROUGH if known is None else min(_ROUGH, _STEEP / known)
        return ProductNodes.of((step, _ROUGH), _ROUGH_REACH)

    def nodes_at(self, parameters: Array, nodes: ProductNodes) -> ProductNodes:
        """A grid that follows the posteriors as they are seen on another one."""
        wanted = ACCURACY * max(1.0, float(self.n_students))
        steps = []
        for moments, step in (
            (self.moments(parameters, nodes), nodes.steps[0]),
            (self.shared_moments(parameters, nodes), nodes.steps[1]),
        ):
            seen = Moments(moments.mean, np.maximum(moments.sd, step / 4))
            steps.append(min(nodes_for(seen, wanted).step, _WIDEST))
        known = self.model.known_slope
        steep = np.inf if known is None else _STEEP / known
        return ProductNodes.of((min(steps[0], steep), steps[1]), _REACH)

    def own_nodes(self, parameters: Array) -> ProductNodes:
        """A grid that a finer one changes nothing of."""
        nodes = self.nodes_at(parameters, self.rough_nodes())
        loglik = self.engine.evaluate(self.tables(parameters, nodes), nodes).loglik
        for _ in range(MOST_ROUNDS):
            finer = nodes.finer()
            before, loglik = loglik, self.engine.evaluate(self.tables(parameters, finer), finer).loglik
            if abs(loglik - before) <= ACCURACY * abs(loglik):
                break
            nodes = finer
        return nodes
