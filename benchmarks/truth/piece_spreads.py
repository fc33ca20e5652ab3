"""Spreads of pieces and readings by the adjusted profile likelihood: `python -m benchmarks.truth.piece_spreads 400
150`.

So many students, and so many panels of the study `pieces`. For each panel, both variances by maximum likelihood, and
after one of Newton's steps towards the maximum of Cox and Reid's adjusted profile likelihood: -log|I| / 2 added, where
I is the information on everything else, which follows the two variances. Means of the spreads with Monte-Carlo standard
errors, and root mean square errors; the truth is 0.8 for readings and 0.6 for pieces.
"""

import sys

import numpy as np

from benchmarks.say import say
from benchmarks.studies import pieces as study
from raterlens.base.arrays import Array
from raterlens.config import FitConfig
from raterlens.fitting.checks import Run
from raterlens.fitting.line import FacetsTask
from raterlens.inference.covariance import differenced_information, in_full
from raterlens.models.facets import redundancy
from raterlens.models.terms.halo import PIECE

_STEP = 0.5
"""Step of differences in a variance, in standard errors."""


def variances(students: int, seed: list[int]) -> tuple[Array, Array]:
    """Variances of readings and of pieces, by maximum likelihood and adjusted."""
    ratings = study.draw_ratings(students, seed)
    found = FacetsTask.of(ratings, FitConfig(halo="common", ability="normal"), Run()).estimate()
    model, x = found.model, found.parameters
    redundant = redundancy(model, x, found.held | found.at_limit)
    two = np.array([model.blocks["halo"].start, model.blocks[PIECE].start])
    rest = np.setdiff1d(np.arange(len(x)), two)
    of_rest = np.ix_(rest, rest)

    def information(at: Array) -> Array:
        told = in_full(differenced_information(found.problem, at, found.nodes, redundant))
        return told + redundant.constraints.T @ redundant.constraints

    whole = information(x)
    follow = -np.linalg.solve(whole[of_rest], whole[np.ix_(rest, two)])
    profile = whole[np.ix_(two, two)] + whole[np.ix_(two, rest)] @ follow
    error = np.sqrt(np.linalg.inv(profile).diagonal())
    rise = np.zeros(2)
    for k in range(2):
        along = np.zeros(len(x))
        along[two[k]], along[rest] = 1.0, follow[:, k]
        step = min(_STEP * error[k], x[two[k]] / 2)
        if step > 0:
            above, below = (
                np.linalg.slogdet(information(x + side * step * along)[of_rest])[1] for side in (1, -1)
            )
            rise[k] = -(above - below) / (4 * step)
    return x[two], np.maximum(x[two] + np.linalg.solve(profile, rise), 0.0)


def main(students: int, panels: int) -> None:
    drawn = np.array([variances(students, [77, panel]) for panel in range(panels)])
    for j, (name, truth) in enumerate((("readings", study.TAU), ("pieces", study.OMEGA))):
        for i, kind in enumerate(("maximum likelihood", "adjusted")):
            spread = np.sqrt(drawn[:, i, j])
            say(
                of=name,
                by=kind,
                panels=panels,
                mean=float(spread.mean()),
                mean_se=float(spread.std(ddof=1) / np.sqrt(panels)),
                rmse=float(np.sqrt(np.mean((spread - truth) ** 2))),
            )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
