"""Judges who were asked several times: how often intervals hold the truth, with draws and with separate ratings.

`python -m benchmarks.truth.draws [PANELS] [DRAWS]`: 8 judges, 200 answers, each asked DRAWS times (3); readings of an
answer vary by 0, 1, 3, or from judge to judge by 0 to 3. Shares of 95 % intervals of kappa (against a rater without
noise) and of ability that hold the truth, with the spread of the share over panels.

`python -m benchmarks.truth.draws [PANELS] [DRAWS] hrm` or `dawid-skene`: pass rates given the true category, .65 to .95
right of each, vary from answer to answer by a beta distribution, so that draws are correlated by 0, .3, .7, or 0 to 1.
The second number is then how much surer of the true categories the fit is than it is right.

`python -m benchmarks.truth.draws DATA`: what repeating buys on two public sets, pairs-judges.csv and anesthesia.csv of
that folder.
"""

import sys
from pathlib import Path

import numpy as np
import polars as pl

import raterlens as rl
from raterlens.base.arrays import Array, Mask
from raterlens.inference.draw_table import majority_capability
from raterlens.models.terms.draws import FLATTENING

JUDGES, ANSWERS = 8, 200
SPREADS: dict[str, list[float]] = {"0": [0.0], "1": [1.0], "3": [3.0], "mixed": [0.0, 1.0, 2.0, 3.0] * 2}
NORMAL_95 = 1.959964


def panel(seed: int, spreads: list[float], draws: int) -> tuple[rl.Ratings, Array, Array]:
    """Ratings, true kappas and abilities."""
    random = np.random.default_rng(seed)
    slope, severity = 1.5 * np.exp(0.3 * random.standard_normal(JUDGES)), 0.7 * random.standard_normal(JUDGES)
    severity -= severity.mean()
    spread = np.broadcast_to(np.array(spreads), JUDGES)
    stretch = np.sqrt(1 + FLATTENING["logit"] * spread**2)
    ability, reading = random.standard_normal((ANSWERS, 1)), random.standard_normal((ANSWERS, JUDGES))
    logit = stretch * (slope * ability - severity) + spread * reading
    passed: Mask = random.random((ANSWERS, JUDGES, draws)) < 1 / (1 + np.exp(-logit))[..., None]
    return _read(passed), majority_capability(slope, severity, spread, 1), ability[:, 0]


def _read(passed: Mask) -> rl.Ratings:
    student, rater, draw = (each.ravel() for each in np.indices(passed.shape))
    columns = {"student": student, "rater": rater, "score": passed.ravel().astype(int), "epoch": draw}
    return rl.read(pl.DataFrame(columns), draw="epoch")


def covered(ratings: rl.Ratings, repeats: str, kappa: Array, ability: Array) -> tuple[float, float]:
    fit = rl.fit(ratings, model="gmf", reference="perfect", assumptions="ignore", repeats=repeats)
    low, high = fit.raters.sort("rater").select("kappa_low", "kappa_high").to_numpy().T
    mean, error = fit.students.sort("student").select("theta", "theta_se").to_numpy().T
    within = np.abs(mean - ability) <= NORMAL_95 * error
    return float(np.mean((low <= kappa) & (kappa <= high))), float(np.mean(within))


CORRELATIONS: dict[str, list[float]] = {
    "0": [0.0],
    ".3": [0.3],
    ".7": [0.7],
    "mixed": [0.0, 0.3, 0.7, 1.0] * 2,
}


def class_panel(seed: int, correlations: list[float], draws: int) -> tuple[rl.Ratings, Array, Array]:
    """Ratings, true kappas and categories."""
    random = np.random.default_rng(seed)
    good = random.random(ANSWERS) < 0.5
    right = random.uniform(0.65, 0.95, (2, JUDGES))
    rate = np.where(good[:, None], right[1], 1 - right[0])
    correlation = np.broadcast_to(np.clip(correlations, 1e-9, 1 - 1e-9), JUDGES)
    spread = 1 / correlation - 1
    chance = random.beta(rate * spread, (1 - rate) * spread)
    passed = random.random((ANSWERS, JUDGES, draws)) < chance[..., None]
    return _read(passed), right.sum(axis=0) - 1, good.astype(float)


def classes_covered(
    model: str, ratings: rl.Ratings, repeats: str, kappa: Array, good: Array
) -> tuple[float, float]:
    """The share of kappas covered, and how much surer of the true category the fit is than it should be."""
    fit = rl.fit(ratings, model=model, repeats=repeats)
    low, high = fit.raters.sort("rater").select("kappa_low", "kappa_high").to_numpy().T
    probability = fit.table("truth").sort("student")["probability"].to_numpy()
    sure = np.maximum(probability, 1 - probability).mean() - np.mean((probability > 0.5) == good)
    return float(np.mean((low <= kappa) & (kappa <= high))), float(sure)


def classes(panels: int, draws: int, model: str) -> None:
    for name, correlations in CORRELATIONS.items():
        for repeats in ("draws", "separate"):
            found = np.array(
                [
                    classes_covered(model, ratings, repeats, *truth)
                    for ratings, *truth in (class_panel(s, correlations, draws) for s in range(panels))
                ]
            )
            (kappa, sure), error = found.mean(axis=0), found.std(axis=0) / np.sqrt(panels)
            print(
                f"{model}, {draws} draws, correlation {name:6s}{repeats:9s} kappa {kappa:.3f} ({error[0]:.3f})  "
                f"too sure of the truth by {sure:.3f} ({error[1]:.3f})",
                flush=True,
            )


def main(panels: int = 100, draws: int = 3) -> None:
    for name, spreads in SPREADS.items():
        for repeats in ("draws", "separate"):
            found = np.array(
                [
                    covered(ratings, repeats, *truth)
                    for ratings, *truth in (panel(s, spreads, draws) for s in range(panels))
                ]
            )
            (kappa, theta), error = found.mean(axis=0), found.std(axis=0) / np.sqrt(panels)
            print(
                f"{draws} draws, spread {name:6s}{repeats:9s} kappa {kappa:.3f} ({error[0]:.3f})  "
                f"theta {theta:.3f} ({error[1]:.3f})",
                flush=True,
            )


def public(folder: Path) -> None:
    """Consistency, shares of variance and the next verdict to buy; for the judges, how many there really are."""
    pairs = pl.read_csv(folder / "pairs-judges.csv").drop_nulls("winner")
    pairs = pairs.with_columns(score=(pl.col("winner") == 1).cast(int), gold=(pl.col("gold") == 1).cast(int))
    judges = rl.read(pairs, student="pair", rater="judge", score="score", draw="shown_first")
    patients = rl.read(pl.read_csv(folder / "anesthesia.csv"), student="item", rater="rater", score="rating")
    for name, ratings in (("65 judges, both orders", judges), ("5 anaesthetists", patients)):
        table = rl.fit(ratings, model="gmf", reference="perfect", assumptions="ignore").table("draws")
        table = table.sort("consistency")
        print(f"{name}: {ratings}")
        shown = [each for each in table.columns if table[each].dtype == pl.Float64]
        print(table.select(pl.col(shown).median()).with_columns(pl.all().round(2)).to_dicts()[0])
        ends = table["consistency"].to_numpy()[[0, -1]]
        at_once = int((table["second_judge"] == 1).sum())
        print(
            f"consistency {float(ends[0]):.2f} to {float(ends[1]):.2f}; another is the better buy at once: {at_once}"
        )
    for n_known in (60, 100):
        known = pairs["pair"].unique(maintain_order=True).sample(n_known, seed=1)
        gold = pl.when(pl.col("pair").is_in(known.implode())).then("gold")
        report = rl.judge(
            pairs.with_columns(gold=gold), student="pair", rater="judge", score="score", draw="shown_first",
            known="gold",
        )  # fmt: skip
        print(f"{n_known} known: {report.effective_judges}")


if __name__ == "__main__":
    if Path(sys.argv[-1]).is_dir():
        public(Path(sys.argv[-1]))
        sys.exit()
    numbers, model = [int(each) for each in sys.argv[1:3]], sys.argv[3:]
    if model:
        classes(numbers[0], numbers[1], model[0])
    else:
        main(*numbers)
