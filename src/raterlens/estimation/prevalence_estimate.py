"""Prevalences and error rates at the maximum, with their covariance."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from raterlens.base.arrays import Array
from raterlens.estimation.prevalence import PrevalenceProblem

NORMAL = float(special.ndtri(0.975))
"""Half the width of a 95 % interval, in standard errors."""


@dataclass(frozen=True, slots=True, eq=False)
class PrevalenceEstimate:
    """The model at its maximum."""

    problem: PrevalenceProblem
    parameters: Array
    covariance: Array | None
    """None where the likelihood does not bend down in every direction."""
    objective: float
    converged: bool

    @staticmethod
    def of(problem: PrevalenceProblem) -> "PrevalenceEstimate":
        best = problem.maximise()
        information = problem.information(best.parameters)
        bends = np.linalg.eigvalsh(information)[0] > 0
        return PrevalenceEstimate(
            problem,
            best.parameters,
            np.asarray(np.linalg.inv(information), np.float64) if bends else None,
            best.value.objective,
            best.record.converged,
        )

    @property
    def shared(self) -> bool:
        return bool(self.problem.sharing.any())

    @property
    def determined(self) -> bool:
        """Whether the ratings tell prevalences from error rates."""
        return self.covariance is not None and self.converged and self.problem.identified(self.parameters)

    def rates(self) -> tuple[Array, Array]:
        """Of the groups, with their covariance."""
        assert self.covariance is not None
        part = self.problem.blocks["prevalence"]
        rate = special.expit(self.parameters[part])
        by = rate * (1 - rate)
        return rate, self.covariance[part, part] * np.outer(by, by)

    def interval(self, part: slice) -> tuple[Array, Array, Array]:
        """Rates with the ends of their 95 % intervals, symmetric in logits."""
        assert self.covariance is not None
        centre, half = self.parameters[part], NORMAL * np.sqrt(np.diag(self.covariance)[part])
        return special.expit(centre), special.expit(centre - half), special.expit(centre + half)

    def pass_rates(self) -> tuple[Array, Array, Array]:
        """(raters, classes) three times: shares that a rater passes, on average over what is shared, with the ends of
        their 95 % intervals, by the delta method in logits."""
        assert self.covariance is not None
        problem, blocks = self.problem, self.problem.blocks
        z, log_weights = problem.nodes
        weights = np.exp(log_weights)
        predictor = (
            problem.lines(self.parameters)[:, :, None] + problem.loading(self.parameters)[:, None, None] * z
        )
        rate = special.expit(predictor) @ weights
        rises = special.expit(predictor) * special.expit(-predictor)
        gradient = np.zeros((*rate.shape, blocks.size))
        for rater in range(problem.n_raters):
            for cls in (0, 1):
                gradient[rater, cls, blocks["line"].start + 2 * rater + cls] = rises[rater, cls] @ weights
                gradient[rater, cls, blocks["shared"]] = (
                    (rises[rater, cls] * z) @ weights * problem.taken[rater]
                )
        variance = np.einsum("rci,ij,rcj->rc", gradient, self.covariance, gradient)
        half = NORMAL * np.sqrt(np.maximum(variance, 0.0)) / (rate * (1 - rate))
        centre = special.logit(rate)
        return rate, special.expit(centre - half), special.expit(centre + half)
