"""Is the maximum the maximum? Random small designs, fitted here and by SciPy's L-BFGS-B from 20 random starts.

`python -m benchmarks.truth.independent_optimum [DESIGNS] [FIRST_SEED] [MODELS]`: two to thirty raters, sparse,
disconnected and extreme designs, each with so many models, in turn, or with all: `tfm`, `gmf`, `probit`, `hrm` and
`dawid-skene` on pass/fail scores, `gmf` on ordered ones with every scale. The likelihood that SciPy maximises is
written out in `plain_likelihoods.py`, with half a rating of the other kind for raters and items who only pass or only
fail, within the same bounds. Starts climb on a rough grid of abilities; those that come near the best climb on, on a
fine one. Two numbers are compared: the log-likelihood of the fit with this one at the same parameters, and this
objective there with the best of all starts. Maxima at which a single rater defines ability do not count, as a fit
does not look for them.
"""

import sys
import time
from contextlib import suppress
from typing import Any

import numpy as np
from scipy import optimize

import raterlens as rl
from benchmarks.truth.plain_likelihoods import FINE, ROUGH, Array, Classes, Facets, Grid, Likelihood
from benchmarks.truth.small_designs import SmallDesign, drawn

STARTS, CLOSE = 20, 1e-3
# Rough ends this near the best one are climbed on from, once for each that differs by more than the second number.
_NEAR, _SAME = 0.5, 1e-4
KINDS = {
    "tfm": ("tfm", None),
    "gmf": ("gmf", None),
    "probit": ("probit", None),
    "rating-scale": ("gmf", "rating scale"),
    "partial-credit": ("gmf", "partial credit"),
    "graded": ("gmf", "graded"),
    "hrm": ("hrm", None),
    "dawid-skene": ("dawid-skene", None),
}


def likelihood(of: SmallDesign, model: str, scale: str | None) -> Likelihood:
    if model in ("hrm", "dawid-skene"):
        return Classes(of, ability=model == "hrm")
    return Facets(of, model, scale or "rating scale")


def estimates(fit: rl.Fit) -> Array:
    """The fit's parameters, in the order of `plain_likelihoods.py`."""
    raters, items = fit.table("raters"), fit.table("items")
    if fit.calibration is None:
        difficulty = items["delta"].to_numpy() - fit.alpha
        sigma = [fit.sigma] if fit.model == "hrm" else []
        return np.concatenate([raters["eta"].to_numpy(), raters["slope"].to_numpy(), difficulty, sigma])
    effects = fit.calibration.effects
    slope = effects["slope"]
    steps = np.nan_to_num(effects.get("threshold", np.empty((0, 0))))
    if fit.config.scale == "graded":
        steps = np.diff(steps, axis=1, prepend=0.0)
    return np.concatenate(
        [
            slope[:1] if fit.model == "tfm" else slope,
            effects["severity"],
            effects["difficulty"],
            steps.ravel(),
        ]
    )


def climbed(of: Likelihood, start: Array, grid: Grid, gain: float) -> tuple[float, Array]:
    def fall(x: Array) -> tuple[float, Array]:
        loglik, added, gradient = of.value(x, grid)
        return -loglik - added, -gradient

    low, high = of.bounds
    found = optimize.minimize(
        fall,
        np.clip(start, low, high),
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(low, high, strict=True)),
        options={"maxiter": 500, "maxcor": 20, "ftol": gain, "gtol": 1e-5},
    )
    return -float(found.fun), found.x


def best_of_starts(of: Likelihood, seed: int, fewest: int) -> float:
    random, best = np.random.default_rng(seed), -np.inf
    ends = [climbed(of, of.start(random), ROUGH, 1e-8) for _ in range(STARTS)]
    ends = sorted((end for end in ends if of.discriminating(end[1]) >= fewest), key=lambda end: -end[0])
    last = np.inf
    for height, x in ends:
        if height < ends[0][0] - _NEAR:
            break
        if last - height > _SAME:
            last = height
            height, x = climbed(of, x, FINE, 1e-12)
            if of.discriminating(x) >= fewest:
                best = max(best, height)
    return best


def compared(of: SmallDesign, model: str, scale: str | None, seed: int) -> tuple[float, float] | None:
    """By how much the log-likelihoods differ at the same parameters, and what the best of all starts has more; None
    where the fit is refused."""
    plain = likelihood(of, model, scale)
    options: dict[str, Any] = {"scale": scale} if scale else {}
    if isinstance(plain, Facets):
        options |= {"halo": "none", "ability": "normal"}
    try:
        fit = rl.fit(of.frame(), model, standard_errors=False, **options)
    except rl.RaterlensError:
        return None
    x = estimates(fit)
    loglik, added, _ = plain.value(x, FINE)
    fewest = min(2, plain.discriminating(x))
    return fit.loglik - loglik, best_of_starts(plain, seed, fewest) - loglik - added


def run(designs: int = 20, first: int = 0, each: int = len(KINDS)) -> None:
    names = list(KINDS)
    found: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
    refused, began = dict.fromkeys(KINDS, 0), time.process_time()
    with suppress(KeyboardInterrupt):  # what was compared until then is told
        for seed in range(first, first + designs):
            for turn in range(each):
                kind = names[(seed + turn * len(names) // each) % len(names)]
                model, scale = KINDS[kind]
                difference = compared(drawn(seed, ordered=scale is not None), model, scale, seed)
                if difference is None:
                    refused[kind] += 1
                    continue
                found[kind].append(difference)
                if abs(difference[0]) > CLOSE or difference[1] > CLOSE:
                    print(
                        f"  {kind}, seed {seed}: likelihood off by {difference[0]:.4f}, missed {difference[1]:.4f}",
                        flush=True,
                    )
    print("model | designs | refused | within 0.001 | largest miss | better by more | likelihoods differ by")
    for kind, differences in found.items():
        off, less = np.array(differences).reshape(-1, 2).T
        print(
            f"{kind} | {len(less)} | {refused[kind]} | {np.mean(less <= CLOSE):.1%} | {less.max(initial=0):.4f} | "
            f"{np.mean(less < -CLOSE):.1%} | {np.abs(off).max(initial=0):.0e}"
        )
    less = np.concatenate([np.array(differences).reshape(-1, 2)[:, 1] for differences in found.values()])
    print(f"together {np.mean(less <= CLOSE):.2%} of {len(less)}; CPU {time.process_time() - began:.0f} s")


if __name__ == "__main__":
    run(*map(int, sys.argv[1:]))
