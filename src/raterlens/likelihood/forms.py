"""Which form the marginal likelihood of a facets model takes."""

from typing import TYPE_CHECKING

from raterlens.likelihood.marginal import CellMarginal, EssayMarginal, FacetsMarginal
from raterlens.likelihood.pseudo_ratings import Pseudo
from raterlens.likelihood.readings import HaloMarginal
from raterlens.likelihood.shared import SharedMarginal
from raterlens.models.facets import FacetsModel
from raterlens.models.known_rows import as_modelled
from raterlens.models.responses import Adjacent, Response
from raterlens.models.shared_dimension import SharedModel
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
    """The cheapest form that the model and the response allow."""
    if isinstance(model, SharedModel):
        return SharedMarginal(ratings, model, response, pseudo)
    ratings = as_modelled(ratings, model)
    if model.halo is not None:
        return HaloMarginal(ratings, model, response, pseudo, client)
    if isinstance(response, Adjacent):
        return EssayMarginal(ratings, model, response, pseudo, client)
    return CellMarginal(ratings, model, response, pseudo, client)
