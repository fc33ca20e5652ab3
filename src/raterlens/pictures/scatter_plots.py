"""Points: infit and outfit, observed against expected scores, decisions about students, and two fits compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from raterlens.base.arrays import NORMAL_95
from raterlens.base.layers import LIMIT, Area, Axis, Bars, Layer, Line, Marks, Names, Stroke, around, rule
from raterlens.base.picture import Picture, plot
from raterlens.base.style import CAPABLE, mark
from raterlens.base.text import counted, distinct, number, printable
from raterlens.diagnostics.diagnosis import Diagnosis
from raterlens.diagnostics.fit_statistics import curves, rater_fit
from raterlens.diagnostics.residuals import Residuals, residuals
from raterlens.pictures.rater_pictures import ability_calibration, rater_name, with_words

if TYPE_CHECKING:
    from raterlens.grading.decisions import Decisions
    from raterlens.inference.result import Result
    from raterlens.ratings.coded import Ratings

_TABLES: dict[str, Callable[[Residuals], pl.DataFrame]] = {"raters": rater_fit, "curves": curves}


def diagnosis_table(fit: Result, ratings: Ratings | Diagnosis, table: str) -> pl.DataFrame:
    """`raters` (fit statistics) or `curves` (observed and expected), with labels as text."""
    found = (
        ratings.tables[table] if isinstance(ratings, Diagnosis) else _TABLES[table](residuals(fit, ratings))
    )
    return found.with_columns(pl.col("rater").cast(pl.String))


# ------------------------------------------------------------------------------------------------- infit and outfit

USUAL = (0.5, 1.5)
"""Mean squares that do no harm in practice, whatever their test says (Linacre, 2002)."""
CLEAR = 3.0
"""Standardised values beyond this are rarely chance, even among hundreds of raters."""

EXPECTED, NOISY, PREDICTABLE = "as expected", "noisier than expected", "more predictable than expected"
_FITS = {
    EXPECTED: mark("circle", "accent", EXPECTED),
    NOISY: mark("triangle-up", "severe", NOISY),
    PREDICTABLE: mark("square", "weak", PREDICTABLE),
}


def fit_statistics_data(fit: Result, ratings: Ratings | Diagnosis) -> pl.DataFrame:
    """One row per rater: rater, n, infit, infit_z, outfit, outfit_z, kind, words."""
    ability_calibration(fit, "fit_statistics", "it has no residuals by ability", "capability")
    rows = diagnosis_table(fit, ratings, "raters")
    noisy = pl.max_horizontal("infit_z", "outfit_z") > CLEAR
    predictable = pl.min_horizontal("infit_z", "outfit_z") < -CLEAR
    kind = pl.when(noisy).then(pl.lit(NOISY)).when(predictable).then(pl.lit(PREDICTABLE))
    names = pl.Series("rater", distinct(rows["rater"]))
    kinds = kind.otherwise(pl.lit(EXPECTED)).alias("kind")
    return with_words(
        rows.select(names, "n", "infit", "infit_z", "outfit", "outfit_z", kinds),
        lambda row: (
            f"{row['rater']}: infit {number(row['infit'])} (z {number(row['infit_z'], 1)}), outfit "
            f"{number(row['outfit'])} (z {number(row['outfit_z'], 1)})"
        ),
    )


def fit_statistics(fit: Result, ratings: Ratings | Diagnosis) -> Picture:
    """Infit against outfit of every rater; values in the shaded square are unproblematic."""
    data = fit_statistics_data(fit, ratings)
    reach = data.select("infit", "outfit").to_numpy()
    low, high = min(0.45, 0.95 * float(np.nanmin(reach))), max(1.6, 1.05 * float(np.nanmax(reach)))
    x, y = (Axis(low, high, f"{name} mean square", log=True) for name in ("Infit", "Outfit"))
    square = pl.DataFrame({"low": [USUAL[0]], "high": [USUAL[1]]})
    far = pl.max_horizontal(pl.col("infit", "outfit").log().abs())
    named = data.sort(pl.col("kind") == EXPECTED, far, descending=[False, True]).head(30)
    cross = Stroke("faint", dash="4 3")
    layers: list[Layer] = [
        Bars(square, "low", "low", "high", "high", "accent", 0.09),
        rule((x, y), cross, x=1.0),
        rule((x, y), cross, y=1.0),
        Marks(data, "infit", "outfit", _FITS, 0.95 if data.height <= 200 else 0.61),
        Names(named, "infit", "outfit"),
    ]
    odd = data.filter(pl.col("kind") != EXPECTED).height
    description = (
        f"Infit and outfit mean squares of {counted(data.height, 'rater')}; "
        f"{counted(odd, 'rater differs', 'raters differ')} clearly from what the model expects."
    )
    return plot(x, y, layers, description, 400)


# --------------------------------------------------------------------------------------------- observed and expected

OBSERVED, BY_MODEL = "observed mean score", "expected by the model, with its 95 % margin"


def expected_data(fit: Result, ratings: Ratings | Diagnosis, rater: object) -> pl.DataFrame:
    """One row per group of students, from the weakest to the ablest according to the other raters: group, n, ability,
    observed, expected, low, high (the 95 % range of the observed mean under the model), words. The lowest score counts
    as 0, the next as 1, and so on."""
    why = "it expects categories, not scores along ability"
    lowest, *_, highest = ability_calibration(fit, "expected", why, "capability").values.tolist()
    rows = diagnosis_table(fit, ratings, "curves").filter(rater=rater_name(fit, rater)).sort("group")
    reach = NORMAL_95 * pl.col("se")
    return with_words(
        rows.select(
            pl.exclude("rater", "se"),
            low=(pl.col("expected") - reach).clip(lowest, highest),
            high=(pl.col("expected") + reach).clip(lowest, highest),
        ),
        lambda row: (
            f"{counted(row['n'], 'rating')} at ability {number(row['ability'])}: observed {number(row['observed'])}, "
            f"expected {number(row['expected'])}"
        ),
    )


def expected(fit: Result, ratings: Ratings | Diagnosis, rater: object) -> Picture:
    """Mean scores of a rater by ability, observed and as the model expects them."""
    data = expected_data(fit, ratings, rater)
    x = Axis(*around(data["ability"], 0.03), "Ability θ according to the other raters", (6, 6))
    y = Axis(*around(data.select("observed", "low", "high"), 0.04), "Mean score", (5, 5), grid=True)
    layers: list[Layer] = [
        Area(data, "ability", "low", "high", "faint", 0.25),
        Line(data, "ability", "expected", Stroke("soft", 2.2, "6 3", words=BY_MODEL)),
        Marks(data, "ability", "observed", mark("circle", "severe", OBSERVED), 1.1),
    ]
    outside = data.filter(~pl.col("observed").is_between("low", "high")).height
    description = (
        f"Observed and expected mean scores of {printable(rater)} by ability: {outside} of "
        f"{counted(data.height, 'group')} of students outside the 95 % margin."
    )
    return plot(x, y, layers, description, 320)


# --------------------------------------------------------------------------------------------------------- decisions

MOST_POINTS = 1_500
"""Students in one picture; of more, some drawn at random."""

SAFE, UNSAFE = "safe", "not safe"
_DECISIONS = {
    SAFE: mark("circle", "accent", "safe decision"),
    UNSAFE: mark("triangle-up", "severe", "not safe: ability may lie on the other side of a cut"),
}


def decision_points(found: Decisions, most: int = MOST_POINTS) -> pl.DataFrame:
    """One row per student, those that are not safe last: student, raw, theta, grade, sure, kind, words. `sure` is the
    probability of the grade."""
    rows = found.table.filter(pl.col("raw").is_not_null())
    if rows.height > most:
        drawn = np.random.default_rng(0).choice(rows.height, most, replace=False)
        rows = rows[np.sort(drawn)]
    sure = pl.max_horizontal(f"p_{grade}" for grade in found.cuts.grades)
    kind = pl.when("safe").then(pl.lit(SAFE)).otherwise(pl.lit(UNSAFE))
    rows = rows.select(pl.col("student").cast(pl.String), "raw", "theta", "grade", sure=sure, kind=kind)
    rows = with_words(
        rows,
        lambda row: (
            f"{printable(row['student'])}: raw {number(row['raw'])}, ability {number(row['theta'])}, "
            f"{printable(row['grade'])} with probability {number(row['sure'])}"
        ),
    )
    return rows.sort(pl.col("kind") == UNSAFE, maintain_order=True)


def decisions(found: Decisions) -> Picture:
    """Ability against the raw result of every student, with the cuts."""
    data, cuts = decision_points(found), found.cuts
    held = [np.concatenate(pair) for pair in ((data["raw"], cuts.score), (data["theta"], cuts.ability))]
    x = Axis(*around(held[0], 0.04), "Raw result (mean score)", (10, 5), grid=True)
    y = Axis(*around(held[1], 0.04), "Ability θ", (8, 8), grid=True)
    layers: list[Layer] = []
    for score, ability in zip(cuts.score.tolist(), cuts.ability.tolist(), strict=True):
        layers += [rule((x, y), LIMIT, x=score), rule((x, y), LIMIT, y=ability)]
    layers.append(Marks(data, "raw", "theta", _DECISIONS, 0.61))
    description = (
        f"Ability against the raw result of {counted(found.table.height, 'student')}; "
        f"{counted(found.unsafe, 'decision is', 'decisions are')} not safe."
    )
    return plot(x, y, layers, description, 420)


# --------------------------------------------------------------------------------------------------------- two fits

SAME = "capable in both or in neither"
BETTER, WORSE = "capable in the second only", "capable in the first only"
_COMPARED = {
    SAME: mark("circle", "accent", SAME),
    BETTER: mark("triangle-up", "extreme", BETTER),
    WORSE: mark("triangle-down", "severe", WORSE),
}


def two_fits_data(raters: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """One row per rater whose capability both fits know: rater, one, two, kind, words. `raters` is
    `Comparison.raters`."""
    one, two = (pl.col(f"kappa {name}") for name in names)
    rows = raters.filter(one.is_finite() & two.is_finite())
    names_shown = pl.Series("rater", distinct(rows["rater"]))
    then, now = one >= CAPABLE, two >= CAPABLE
    kind = pl.when(now == then).then(pl.lit(SAME)).when(now).then(pl.lit(BETTER)).otherwise(pl.lit(WORSE))
    rows = rows.select(names_shown, one=one, two=two, kind=kind)
    return with_words(rows, lambda row: f"{row['rater']}: {number(row['one'])} and {number(row['two'])}")


def two_fits(raters: pl.DataFrame, names: Sequence[str]) -> Picture:
    """Capability in one fit against another: on the diagonal it is the same.

    `raters` is `rl.compare(one, two, names=names).raters`.

    Examples
    --------
    >>> import raterlens as rl
    >>> ratings, names = rl.load_example(), ["gmf", "tfm"]
    >>> both = rl.compare(rl.fit(ratings, model="gmf"), rl.fit(ratings, model="tfm"), names=names)
    >>> two_fits(both.raters, names).description[:51]
    'Capability of 16 raters in gmf and in tfm: 6 raters'
    """
    data = two_fits_data(raters, names)
    known = data.select("one", "two").to_numpy()
    low = float(np.floor(5 * min(known.min(initial=CAPABLE), CAPABLE)) / 5)
    high = 1.03 * float(known.max(initial=1.0))
    x, y = (Axis(low, high, f"Capability κ̄ in {name}", (5, 5)) for name in names)
    diagonal = pl.DataFrame({"one": [low, high], "two": [low, high]})
    apart = (pl.col("one") - pl.col("two")).abs()
    named = data.sort(apart, descending=True, maintain_order=True).head(12)
    layers: list[Layer] = [
        Line(diagonal, "one", "two", Stroke("faint")),
        rule((x, y), LIMIT, x=CAPABLE),
        rule((x, y), LIMIT, y=CAPABLE),
        Marks(data, "one", "two", _COMPARED, 0.95 if data.height <= 200 else 0.55),
        Names(named, "one", "two"),
    ]
    changed = data.filter(pl.col("kind") != SAME).height
    description = (
        f"Capability of {counted(data.height, 'rater')} in {names[0]} and in {names[1]}: "
        f"{counted(changed, 'rater is', 'raters are')} capable in one of them only."
    )
    return plot(x, y, layers, description, (400, 300))
