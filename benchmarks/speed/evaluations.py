"""How many evaluations of the likelihood a fit takes: `python -m benchmarks.speed.evaluations [SIZE ...]`.

Against SciPy's L-BFGS-B, in the same coordinates, from the same start, to the same gradient, on the final grid from the
beginning: what a rough grid, and an optimiser that keeps its memory when the grid changes, save. Work is evaluations
times ability nodes.
"""

import argparse
from collections.abc import Callable
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

import raterlens as rl
from benchmarks.speed.cases import SIZES
from raterlens.capability.links import get_link
from raterlens.estimation.facets_estimate import FacetsEstimate, information_scale, starting_values
from raterlens.estimation.methods import estimate
from raterlens.likelihood.marginal import FacetsMarginal, Value
from raterlens.likelihood.nodes import Nodes
from raterlens.models.build import build
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options
from raterlens.ratings.coded import Ratings

Array = NDArray[np.float64]


def compared(ratings: Ratings, model_name: str) -> str:
    options = Options(MODELS[model_name], get_link("logit"), "rating scale", False)
    model, response = build(ratings, options, 2)
    found, work = _with_work(lambda: estimate(ratings, model, response, options.link, "mml"))
    start = starting_values(ratings, model, options.link)
    scale = np.sqrt(information_scale(model, start))
    lower, upper = model.bounds(allow_reversed=False)

    def negative(x: Array) -> tuple[float, Array]:
        value = found.problem.value(x / scale, found.nodes)
        return -value.objective, -value.gradient / scale

    theirs = optimize.minimize(
        negative,
        np.clip(start, lower, upper) * scale,
        jac=True,
        method="L-BFGS-B",
        bounds=optimize.Bounds(lower * scale, upper * scale),
        options={"maxcor": 20, "gtol": found.record.tolerance, "ftol": 0.0},
    )
    n_nodes = len(found.nodes.points)
    return (
        f"{ratings.n_ratings:>11,} {model_name}: {found.record.evaluations:>3} evaluations, {work:>6,} with nodes; "
        f"L-BFGS-B on {n_nodes} nodes {theirs.nfev:>3}, {theirs.nfev * n_nodes:>6,}; "
        f"log-likelihood {found.value.objective + theirs.fun:+.6f} from its"
    )


def _with_work(fit: Callable[[], FacetsEstimate]) -> tuple[FacetsEstimate, int]:
    """The estimate, and evaluations times nodes on the way."""
    work, plain = 0, FacetsMarginal.value

    def counting(problem: FacetsMarginal, parameters: Array, nodes: Nodes) -> Value:
        nonlocal work
        work += len(nodes.points)
        return plain(problem, parameters, nodes)

    with patch.object(FacetsMarginal, "value", counting):
        found = fit()
    return found, work


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.evaluations", description=__doc__)
    parser.add_argument("sizes", nargs="*", choices=SIZES, default=["7k", "80k", "800k"], metavar="SIZE")
    for name in parser.parse_args().sizes:
        ratings = rl.read(SIZES[name].file(), student="student", rater="rater", item="item", score="score")
        for model in ("tfm", "gmf"):
            print(compared(ratings, model), flush=True)


if __name__ == "__main__":
    main()
