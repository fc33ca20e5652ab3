"""The choice among all forms of the likelihood."""

from typing import TYPE_CHECKING, Any

from raterlens.likelihood.density import Cells, Density, Essays
from raterlens.likelihood.marginal import FacetsMarginal, bound
from raterlens.likelihood.priors import Pseudo
from raterlens.likelihood.readings import Readings
from raterlens.likelihood.shared import shared_marginal
from raterlens.models.build import as_modelled
from raterlens.models.facets import FacetsModel
from raterlens.models.responses import Adjacent, Response
from raterlens.models.terms.draws import with_outcomes
from raterlens.ratings.coded import Ratings

if TYPE_CHECKING:
    from distributed import Client


def marginal(
    ratings: Ratings,
    model: FacetsModel,
    response: Response,
    pseudo: Pseudo,
    client: "Client | None" = None,
) -> FacetsMarginal:
    """By the cheapest density that the model and the response allow."""
    if model.enters("loading"):
        return shared_marginal(ratings, model, response, pseudo)
    ratings = as_modelled(ratings, model)
    if model.enters("draw"):
        ratings, model, response = with_outcomes(ratings, model, response)
    density: Density[Any]
    if model.enters("halo"):
        density = Readings(response, model)
    elif isinstance(response, Adjacent):
        density = Essays(response, model)
    else:
        density = Cells(response, model)
    return bound(ratings, model, density, pseudo, client)
