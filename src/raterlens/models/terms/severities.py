"""Severity: how much lower than others a rater scores."""

from dataclasses import dataclass

from raterlens.base.arrays import Array
from raterlens.models.contexts import Contexts
from raterlens.models.term import Beginning, Designs, rows_of
from raterlens.models.terms.difficulties import pass_rates, through
from raterlens.models.terms.per_rater import Linear, RaterTerm

SEVERITY = "severity"


@dataclass(frozen=True, slots=True, eq=False)
class Severities(RaterTerm):
    """b_r, which is subtracted from the predictor; each rater's own, or explained by covariates."""

    effect: Linear
    name: str = SEVERITY

    def designs(self, rows: Contexts) -> Designs:
        return {"intercept": rows_of(self.effect.design, rows.rater)}

    def start(self, given: Beginning) -> Array:
        tally = given.ratings.tally("rater")
        rates = pass_rates(tally, given.ratings.n_categories - 1)
        return self.effect.invert(-given.stretch * through(given.link, rates))
