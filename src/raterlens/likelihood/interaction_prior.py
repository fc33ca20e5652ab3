"""Interactions as a sample: each term's from a normal distribution around 0, whose spread is estimated."""

import numpy as np
from scipy import sparse, special

from raterlens.base.records import dataclass
from raterlens.base.types import Array, Indices
from raterlens.engine.protocol import Matrix
from raterlens.models.facets import FacetsModel


@dataclass(frozen=True, slots=True, eq=False)
class InteractionPrior:
    """The prior of all terms that have a spread; interactions of the others are 0."""

    at: Indices
    """(interactions,): where they stand among the parameters."""
    spread: Array
    """(interactions,): of the distribution that each is from."""

    @staticmethod
    def of(model: FacetsModel, spreads: Array) -> "InteractionPrior":
        """`spreads`: (terms,), 0 where a term has none."""
        places = [np.arange(model.blocks.size)[model.blocks[term.block]] for term in model.interactions]
        some = [(at, spread) for at, spread in zip(places, spreads, strict=True) if spread > 0]
        return InteractionPrior(
            np.concatenate([np.empty(0, dtype=np.int64), *(at for at, _ in some)]),
            np.concatenate([np.empty(0), *(np.full(len(at), spread) for at, spread in some)]),
        )

    def value(self, parameters: Array) -> tuple[float, Array]:
        """Log density and its gradient. The constant is left out that Laplace's approximation would add again."""
        own = parameters[self.at]
        gradient = np.zeros_like(parameters)
        gradient[self.at] = -own / self.spread**2
        return float(own @ gradient[self.at]) / 2 - float(np.log(self.spread).sum()), gradient

    def added(self, information: Matrix, parameters: Array) -> Matrix:
        """The information of the ratings, and the prior's."""
        own = np.zeros(len(parameters))
        own[self.at] = 1 / self.spread**2
        if isinstance(information, np.ndarray):
            return np.asarray(information + np.diag(own))
        return sparse.csr_array(information + sparse.diags_array(own))


@dataclass(frozen=True, slots=True)
class InteractionTerm:
    """What was found of one term."""

    facet: str
    spread: float
    """0 where the ratings show none."""
    low: float
    high: float
    statistic: float
    """Twice the rise of the log-likelihood over that of the fit without the term."""

    @property
    def p(self) -> float:
        return 1.0 if self.statistic <= 0 else float(special.chdtrc(1, self.statistic)) / 2
