"""Is the maximum the maximum? Random small designs, fitted here and by SciPy's L-BFGS-B from 20 random starts.

`python -m benchmarks.independent_optimum [DESIGNS] [FIRST_SEED]`: two to thirty raters, sparse, disconnected and
extreme designs, each with `tfm`, `gmf` and `probit` on pass/fail scores and `gmf` on ordered ones (rating scale and
partial credit). The likelihood that SciPy maximises is written out below, one row per rating and ability node, with
half a rating of the other kind for raters and items who only pass or only fail, within the same bounds. Two numbers are
compared: the log-likelihood of the fit with this one at the same parameters, and this objective there with the best of
all starts. Maxima at which a single rater defines ability do not count, as a fit does not look for them.
"""

import sys
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import optimize, special

import raterlens as rl

Array = NDArray[np.float64]
NODES = np.arange(-7.5, 7.51, 0.125)
WEIGHTS = -(NODES**2) / 2 - special.logsumexp(-(NODES**2) / 2)
STARTS, CLOSE, BLUNT = 20, 1e-3, 0.05
LARGEST_SLOPE, LARGEST_EFFECT, SMALLEST_COMMON = 10.0, 30.0, 0.01


@dataclass(frozen=True, eq=False)
class Design:
    """Ratings by place, and what is fitted to them."""

    student: NDArray[np.int64]
    rater: NDArray[np.int64]
    item: NDArray[np.int64]
    score: NDArray[np.int64]
    model: str
    scale: str

    @property
    def highest(self) -> int:
        return int(self.score.max())

    @property
    def n_thresholds(self) -> int:
        steps = self.highest if self.highest > 1 else 0
        return steps * ((self.item.max() + 1) if self.scale == "partial credit" else 1)

    def sizes(self) -> list[int]:
        raters, items = int(self.rater.max()) + 1, int(self.item.max()) + 1
        return [1 if self.model == "tfm" else raters, raters, items, int(self.n_thresholds)]

    def frame(self) -> pl.DataFrame:
        names = {"student": self.student, "rater": self.rater, "item": self.item}
        table = pl.DataFrame(
            {name: [f"{name[0]}{code:03}" for code in codes] for name, codes in names.items()}
        )
        return table.with_columns(score=self.score)

    def pseudo(self) -> tuple[NDArray[np.int64], Array, NDArray[np.int64]]:
        """Rows, weights and scores of the half ratings of extreme raters and items; and of scores that an item with
        thresholds of its own never got, up to its highest."""
        rows, weights, scores = [], [], []
        own = self.scale == "partial credit" and self.highest > 1
        top = np.full(int(self.item.max()) + 1, self.highest)
        if own:
            top = np.array([max(self.score[self.item == i].max(), 1) for i in range(len(top))])
        for level in (self.rater, self.item):
            for code in np.unique(level):
                mine = np.flatnonzero(level == code)
                given, most = self.score[mine], top[self.item[mine]]
                for extreme, other in ((given.sum() == 0, most), ((given == most).all(), 0 * most)):
                    if extreme:
                        rows.append(mine)
                        weights.append(np.full(len(mine), 0.5 / len(mine)))
                        scores.append(other)
        for code in range(len(top)) if own else ():
            mine = np.flatnonzero(self.item == code)
            for never in sorted(set(range(top[code] + 1)) - set(self.score[mine].tolist())):
                rows.append(mine)
                weights.append(np.full(len(mine), 0.5 / len(mine)))
                scores.append(np.full(len(mine), never))
        nothing = np.empty(0, dtype=np.int64)
        return (
            np.concatenate([nothing, *rows]),
            np.concatenate([np.empty(0), *weights]),
            np.concatenate([nothing, *scores]),
        )


def objective(x: Array, of: Design) -> tuple[float, float, Array]:
    """Log-likelihood, what half ratings add, and the gradient of the sum."""
    slope, severity, difficulty, steps = np.split(x, np.cumsum(of.sizes())[:-1])
    a = np.broadcast_to(slope, severity.shape)[of.rater]
    weight = a if of.model == "probit" else np.ones_like(a)
    base = -severity[of.rater] - weight * difficulty[of.item]
    logs, d_base, d_steps = _scores(a[:, None] * NODES + base[:, None], of.score, of, steps, of.item)
    students = np.zeros((int(of.student.max()) + 1, len(NODES)))
    np.add.at(students, of.student, logs)
    each = special.logsumexp(students + WEIGHTS, axis=1)
    posterior = np.exp(students + WEIGHTS - each[:, None])[of.student]
    gradient = _gradient(of, x, posterior, d_base, d_steps, np.arange(len(of.score)))
    rows, count, score = of.pseudo()
    s = a[rows, None] * NODES + base[rows, None]
    logs, d_base, d_steps = _scores(s, score, of, steps, of.item[rows])
    spread = count[:, None] * np.exp(WEIGHTS)
    gradient += _gradient(of, x, spread, d_base, d_steps, rows)
    return float(each.sum()), float((spread * logs).sum()), gradient


def _scores(
    s: Array, score: NDArray[np.int64], of: Design, steps: Array, item: NDArray[np.int64]
) -> tuple[Array, Array, Array]:
    """Log-probabilities (rows, nodes), and their derivatives in the base and in each threshold (rows, nodes, steps)."""
    if of.highest == 1:
        sign = np.where(score == 1, 1.0, -1.0)[:, None]
        nothing = np.zeros((*s.shape, 0))
        if of.model == "probit":
            logs = special.log_ndtr(sign * s)
            return logs, sign * np.exp(-(s**2) / 2 - np.log(2 * np.pi) / 2 - logs), nothing
        return special.log_expit(sign * s), sign * special.expit(-sign * s), nothing
    tau = steps.reshape(-1, of.highest)
    tau = tau[item] if len(tau) > 1 else np.repeat(tau, len(item), axis=0)
    k = np.arange(of.highest + 1)
    logits = k * s[..., None] - np.append(np.zeros((len(tau), 1)), np.cumsum(tau, axis=1), axis=1)[:, None]
    if of.scale == "partial credit":
        top = np.array([max(of.score[of.item == i].max(), 1) for i in range(int(of.item.max()) + 1)])
        logits = np.where(k <= top[item][:, None, None], logits, -np.inf)
    p = special.softmax(logits, axis=2)
    logs = np.take_along_axis(special.log_softmax(logits, axis=2), score[:, None, None], axis=2)[..., 0]
    reached = np.cumsum(p[..., ::-1], axis=2)[..., ::-1][..., 1:]
    return logs, score[:, None] - p @ k, reached - (score[:, None] >= k[1:])[:, None]


def _gradient(
    of: Design, x: Array, weight: Array, d_base: Array, d_steps: Array, rows: NDArray[np.int64]
) -> Array:
    sizes = of.sizes()
    slope, severity, difficulty, _ = np.split(x, np.cumsum(sizes)[:-1])
    rater, item, d = of.rater[rows], of.item[rows], weight * d_base
    total, by_slope = d.sum(axis=1), d @ NODES
    on_items = total
    if of.model == "probit":
        on_items = total * np.broadcast_to(slope, severity.shape)[rater]
        by_slope = by_slope - total * difficulty[item]
    own = np.bincount(rater, by_slope, sizes[1])
    thresholds = np.zeros((sizes[3] // of.highest if sizes[3] else 0, of.highest))
    if sizes[3]:
        np.add.at(
            thresholds, item if len(thresholds) > 1 else 0 * item, np.einsum("nq,nqk->nk", weight, d_steps)
        )
    return np.concatenate(
        [
            [own.sum()] if sizes[0] == 1 and sizes[1] > 1 else own,
            -np.bincount(rater, total, sizes[1]),
            -np.bincount(item, on_items, sizes[2]),
            thresholds.ravel(),
        ]
    )


def drawn(seed: int, model: str, scale: str) -> Design:
    """A design with ratings of raters who differ."""
    random = np.random.default_rng(seed)
    raters, students, items = (
        int(random.integers(2, 31)),
        int(random.integers(5, 26)),
        int(random.integers(1, 4)),
    )
    per_student = int(random.integers(1, 4))
    apart = random.random() < 0.2  # two halves that share nobody
    highest = 1 if scale == "none" else int(random.integers(2, 4))
    slope, severity = 1.5 * np.exp(0.5 * random.standard_normal(raters)), random.standard_normal(raters)
    severity[random.random(raters) < 0.1] *= 4  # raters who only pass or only fail
    theta, difficulty = random.standard_normal(students), random.standard_normal(items)
    rows = []
    for n in range(students):
        some = np.flatnonzero(np.arange(raters) % 2 == n % 2) if apart and raters > 3 else np.arange(raters)
        for r in random.choice(some, min(per_student, len(some)), replace=False):
            for i in range(items):
                s = slope[r] * theta[n] - severity[r] - difficulty[i]
                steps = s - np.linspace(-1, 1, highest) * (highest > 1)
                rows.append((n, r, i, int((random.logistic(size=1) < steps).sum())))
    student, rater, item, score = (np.unique(each, return_inverse=True)[1] for each in np.array(rows).T)
    return Design(student, rater, item, score, model, scale)


def bounds(of: Design) -> tuple[Array, Array]:
    sizes = of.sizes()
    low = np.full(sum(sizes), -LARGEST_EFFECT)
    low[: sizes[0]] = SMALLEST_COMMON if of.model == "tfm" else 0.0
    high = np.full(sum(sizes), LARGEST_EFFECT)
    high[: sizes[0]] = LARGEST_SLOPE
    return low, high


def best_of_starts(of: Design, seed: int, fewest: int) -> float:
    random, limits = np.random.default_rng(seed), bounds(of)

    def fall(x: Array) -> tuple[float, Array]:
        loglik, added, gradient = objective(x, of)
        return -loglik - added, -gradient

    best = -np.inf
    for _ in range(STARTS):
        start = 0.7 * random.standard_normal(len(limits[0]))
        n = of.sizes()[0]
        start[:n] = 1.2 * np.exp(0.8 * random.standard_normal(n)) * (random.random(n) < 0.8)
        found = optimize.minimize(
            fall,
            np.clip(start, *limits),
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(*limits, strict=True)),
            options={"maxiter": 500, "ftol": 1e-11, "gtol": 1e-5},
        )
        if of.model == "tfm" or np.count_nonzero(found.x[:n] > BLUNT) >= fewest:
            best = max(best, -float(found.fun))
    return best


def compared(of: Design, seed: int) -> tuple[float, float] | None:
    """By how much the log-likelihoods differ at the same parameters, and what the best of all starts has more."""
    scale = "rating scale" if of.scale == "none" else of.scale
    try:
        fit = rl.fit(
            of.frame(), of.model, scale=scale, halo="none", ability="normal", standard_errors=False, seed=seed
        )
    except rl.RaterlensError:
        return None
    assert fit.calibration is not None
    effects = fit.calibration.effects
    steps = effects.get("threshold", np.empty(0)).ravel()
    slope = effects["slope"]
    x = np.concatenate(
        [
            slope[:1] if of.model == "tfm" else slope,
            effects["severity"],
            effects["difficulty"],
            np.nan_to_num(steps),
        ]
    )
    loglik, added, _ = objective(x, of)
    fewest = min(2, int(np.count_nonzero(slope > BLUNT)))
    return fit.loglik - loglik, best_of_starts(of, seed, fewest) - loglik - added


KINDS = (
    ("tfm", "none"),
    ("gmf", "none"),
    ("probit", "none"),
    ("gmf", "rating scale"),
    ("gmf", "partial credit"),
)


def run(designs: int = 20, first: int = 0) -> None:
    total = missed = 0
    for kind in KINDS:
        found = []
        for seed in range(first, first + designs):
            difference = compared(drawn(seed, *kind), seed)
            if difference is None:
                continue
            found.append(difference)
            if abs(difference[0]) > CLOSE or difference[1] > CLOSE:
                print(
                    f"  seed {seed}, {kind}: likelihood off by {difference[0]:.4f}, missed {difference[1]:.4f}"
                )
        off, less = np.array(found).T
        total, missed = total + len(found), missed + int((less > CLOSE).sum())
        print(
            f"{' '.join(kind)}: {len(found)} designs, {np.mean(less <= CLOSE):.1%} within {CLOSE} of the best of "
            f"{STARTS} starts; likelihoods differ by at most {np.abs(off).max():.1e}"
        )
    print(f"together {1 - missed / total:.1%} of {total}")


if __name__ == "__main__":
    run(*map(int, sys.argv[1:]))
