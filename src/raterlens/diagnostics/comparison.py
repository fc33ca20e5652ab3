"""Fits side by side, and how sensitive one is to choices."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from json import dumps
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import polars as pl
import polars.selectors as cs
from scipy import stats

from raterlens.base.errors import OptionError
from raterlens.base.notebook import Point, intervals, lines, shown, table
from raterlens.base.text import Message, Option, counted, listed
from raterlens.config import FitOptions
from raterlens.estimation.scoring import places_of
from raterlens.inference.result import Result
from raterlens.ratings.coded import Backend, Ratings, to_backend
from raterlens.ratings.groupings import GroupColumns, groups_of

if TYPE_CHECKING:
    from raterlens.fitting.fit import Fit


# ---------------------------------------------------------------------------------------------------- comparison


# Movers named in the summary.
_NAMED = 5


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Fits of the same ratings, compared."""

    tables: Mapping[str, pl.DataFrame]
    """`models`, `raters` and `agreement`, as polars has them."""
    warnings: tuple[str, ...]
    """Why numbers may not be comparable."""
    backend: Backend = "polars"

    @property
    def models(self) -> Any:
        """A row per fit: fit, model, method, link, scale, loglik, n_parameters, aic, bic; and against the largest of
        the given fits that is nested in it: against, lr (twice the difference in log-likelihood), df and p."""
        return to_backend(self.tables["models"], self.backend)

    @property
    def raters(self) -> Any:
        """A row per rater: kappa and rank in every fit (1 is the most capable), and the largest change of rank."""
        return to_backend(self.tables["raters"], self.backend)

    @property
    def agreement(self) -> Any:
        """A row per pair of fits: Spearman's and Kendall's correlation of their kappas."""
        return to_backend(self.tables["agreement"], self.backend)

    def __repr__(self) -> str:
        names = ", ".join(self.tables["models"]["fit"])
        return f"<Comparison of {names[:120]}: see summary()>"

    def _repr_html_(self) -> str:
        models, nothing = self.tables["models"], float("nan")
        best = f"kappa {models.sort('aic')['fit'][0]}"
        rows = self.tables["raters"].sort(best, descending=True, nulls_last=True).select("rater", best)
        points: list[Point] = [
            (str(label), nothing if kappa is None else kappa, nothing, nothing)
            for label, kappa in rows.iter_rows()
        ]
        columns = ("fit", "loglik", "n_parameters", "aic", "bic", "p")
        return shown(
            f"{counted(models.height, 'fit')} compared",
            table(columns, models.select(columns).iter_rows()),
            lines([*self.words(), *self.warnings]),
            intervals(points, (0.0, 1.0), f"capability, {best.removeprefix('kappa ')}"),
        )

    def summary(self) -> str:
        """The comparison in plain words."""
        width = max(len("fit"), *(len(name) for name in self.tables["models"]["fit"])) + 2
        lines = [f"{'fit':<{width}}{'log-likelihood':>16}{'parameters':>12}{'AIC':>11}{'BIC':>11}"]
        for row in self.tables["models"].iter_rows(named=True):
            numbers = f"{row['loglik']:>16.4f}{row['n_parameters']:>12}{row['aic']:>11.1f}{row['bic']:>11.1f}"
            lines.append(f"{row['fit']:<{width}}{numbers}")
        return "\n".join([*lines, "", *self.words(), *(f"Warning: {warning}" for warning in self.warnings)])

    def to_json(self) -> str:
        """The tables as lists of rows, and what they say in words; not-a-number becomes null."""
        rows = {
            name: one.with_columns(cs.float().fill_nan(None)).to_dicts() for name, one in self.tables.items()
        }
        return dumps({**rows, "words": self.words(), "warnings": self.warnings}, ensure_ascii=False)

    def words(self) -> list[str]:
        """Conclusions, one sentence each."""
        models = self.tables["models"]
        lines = [_tested(row) for row in models.iter_rows(named=True)]
        if not self.warnings:
            aic, bic = (models.sort(name)["fit"][0] for name in ("aic", "bic"))
            lines.append(f"AIC is lowest for {aic}, BIC for {bic}.")
            # The scale that the ratings prefer, and by how much, where fits have different ones.
            best = models.drop_nulls("scale").sort("aic").unique("scale", keep="first", maintain_order=True)
            others = [
                f"{scale!r} (log-likelihood {best['loglik'][0] - loglik:+.1f}, AIC {best['aic'][0] - aic:+.1f})"
                for scale, loglik, aic in best.select("scale", "loglik", "aic")[1:].iter_rows()
            ]
            if others:
                lines.append(f"The ratings prefer the scale {best['scale'][0]!r} to {' and '.join(others)}.")
        for row in self.tables["agreement"].iter_rows(named=True):
            one, other = row["fit"], row["other"]
            lines.append(
                f"Rankings of {one} and {other}: Spearman's correlation {row['spearman']:.3f}, Kendall's "
                f"{row['kendall']:.3f}."
                if np.isfinite(row["spearman"])
                else f"{one} or {other} has the same kappa for every rater: there is no ranking to compare."
            )
        moved = self.tables["raters"].filter(pl.col("moved") > 0).sort("moved", descending=True).head(_NAMED)
        names = ", ".join(f"{rater} ({by})" for rater, by in moved.select("rater", "moved").iter_rows())
        return [*lines, f"Largest changes of rank: {names}." if names else "No rater changes rank."]


def compare(*fits: Result, names: Sequence[str] | None = None) -> Comparison:
    """Compare fits of the same ratings.

    Parameters
    ----------
    fits
        Two or more, from `rl.fit` or `rl.load`.
    names
        What to call them; their models (with what sets them apart) where left out.

    Returns
    -------
    Comparison
        Tables of the models, of the raters' kappas and ranks, and of how well the rankings agree; `summary()` says
        it in words. A likelihood ratio is given where one fit is a special case of another (for example `tfm` of
        `gmf`, or `rating scale` of `partial credit`) and both are marginal maximum likelihood on the same ratings.

    Examples
    --------
    >>> import raterlens as rl
    >>> ratings = rl.load_example()
    >>> both = rl.compare(rl.fit(ratings, model="tfm"), rl.fit(ratings, model="gmf"))
    >>> both.models.select("fit", "against", "df").rows()
    [('tfm', None, None), ('gmf', 'tfm', 15)]
    """
    if len(fits) < 2 or not all(isinstance(fit, Result) for fit in fits):
        raise OptionError(
            f"compare got {listed(fits) or 'nothing'}",
            "give two or more fits, from rl.fit or rl.load",
            value=fits,
        )
    called = list(names) if names is not None else _names(fits)
    if len(called) != len(fits) or len(set(called)) != len(called):
        raise OptionError(
            Message(Option("names", called)),
            f"give each of the {len(fits)} fits a name of its own",
        )
    named = dict(zip(called, fits, strict=True))
    raters = _rankings(named)
    tables = {"models": _models(named), "raters": raters, "agreement": _agreement(raters, called)}
    return Comparison(tables, tuple(_warnings(named)), fits[0].backend)


# -------------------------------------------------------------------------------------------------- models


def _models(fits: Mapping[str, Result]) -> pl.DataFrame:
    rows = []
    for name, fit in fits.items():
        within = {
            other: smaller
            for other, smaller in fits.items()
            if smaller.method == fit.method == "mml"
            and smaller.n_parameters < fit.n_parameters
            and nested(smaller, fit)
            and _same_data(smaller, fit)
        }
        tested: tuple[str | None, float | None, int | None, float | None] = (None,) * 4
        if within:
            against = max(within, key=lambda other: within[other].n_parameters)
            lr = 2 * (fit.loglik - within[against].loglik)
            df = fit.n_parameters - within[against].n_parameters
            tested = against, lr, df, float(stats.chi2.sf(max(lr, 0.0), df))
        numbers = fit.loglik, fit.n_parameters, fit.aic, fit.bic
        rows.append((name, fit.model, fit.method, fit.link, _scale(fit), *numbers, *tested))
    schema: dict[str, Any] = dict.fromkeys(("fit", "model", "method", "link", "scale"), pl.String)
    schema |= {"loglik": pl.Float64, "n_parameters": pl.Int64, "aic": pl.Float64, "bic": pl.Float64}
    schema |= {"against": pl.String, "lr": pl.Float64, "df": pl.Int64, "p": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _scale(fit: Result) -> str | None:
    """How raters use the scale, by the fit; None for pass or fail."""
    known = fit.calibration
    return None if known is None or len(known.scores) == 2 else fit.config.scale or known.scale


def nested(small: Result, large: Result) -> bool:
    """Whether every distribution of `small` is one of `large`: each of its parts must be as free or less."""
    one, other = small.calibration, large.calibration
    if one is None or other is None or one.anchored or other.anchored or one.link != other.link:
        return False
    if (one.scale == "graded") != (other.scale == "graded") and len(one.scores) > 2:
        return False
    if "probit" in (small.model, large.model) and small.model != large.model:
        return False
    # Raters' slopes vary not at all, with covariates, or each by its own.
    few, many = (
        0 if fit.model == "tfm" else 1 if known.covariates else 2
        for fit, known in ((small, one), (large, other))
    )
    return (
        few <= many
        and bool(one.covariates) >= bool(other.covariates)
        and (not other.covariates or set(one.covariates) <= set(other.covariates))
        and set(one.effects) <= set(other.effects)
        and (small.config.halo == "rater") <= (large.config.halo == "rater")
        and (len(one.scores) == 2 or one.scale != "partial credit" or other.scale == "partial credit")
    )


def _same_data(one: Result, other: Result) -> bool:
    """The same students, raters and items, each with the same number of ratings and mean score."""
    return all(
        one.table(name).height == other.table(name).height
        and one.table(name)["n"].equals(other.table(name)["n"])
        and np.allclose(one.table(name)["mean_score"], other.table(name)["mean_score"])
        for name in ("raters", "items", "students")
    )


def _warnings(fits: Mapping[str, Result]) -> Iterator[str]:
    first_name, first = next(iter(fits.items()))
    for name, fit in fits.items():
        if not _same_data(first, fit):
            yield (
                f"{name!r} is a fit of other ratings than {first_name!r} ({fit.n_ratings:,} and {first.n_ratings:,}): "
                "their log-likelihoods, AIC and BIC cannot be compared"
            )
    if others := sorted({fit.method for fit in fits.values()} - {"mml"}):
        yield (
            f"log-likelihoods of method {listed(others)} are not maxima of the marginal likelihood: compare models by "
            "AIC, BIC or likelihood ratio among fits by 'mml' only"
        )
    for name, fit in fits.items():
        if not fit.converged:
            yield f"{name!r} did not converge: its log-likelihood is too low"
    if anchored := [name for name, fit in fits.items() if fit.calibration and fit.calibration.anchored]:
        yield f"{listed(anchored)} hold parameters at given values; no likelihood ratio is given for them"
    if len({fit.yardstick for fit in fits.values()}) > 1:
        yield "the fits measure kappa by different yardsticks; compare ranks rather than values"


# ------------------------------------------------------------------------------------------------ rankings


def _rankings(fits: Mapping[str, Result]) -> pl.DataFrame:
    """Raters that all fits have; ranks among them."""
    table, *others = (
        fit.table("raters").select(pl.col("rater").cast(pl.String), pl.col("kappa").alias(f"kappa {name}"))
        for name, fit in fits.items()
    )
    for own in others:
        table = table.join(own, on="rater", how="inner", maintain_order="left")
    if table.height < 2:
        raise OptionError("the fits share fewer than two raters", "compare fits of the same panel")
    ranks = [f"rank {name}" for name in fits]
    table = table.with_columns(
        pl.col(f"kappa {name}").rank("min", descending=True).cast(pl.Int64).alias(f"rank {name}")
        for name in fits
    )
    return table.with_columns((pl.max_horizontal(ranks) - pl.min_horizontal(ranks)).alias("moved"))


def _agreement(raters: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    rows = []
    for one, other in combinations(names, 2):
        pair = raters[f"kappa {one}"].to_numpy(), raters[f"kappa {other}"].to_numpy()
        constant = min(np.ptp(pair[0]), np.ptp(pair[1])) == 0
        both = (np.nan, np.nan) if constant else (stats.spearmanr(*pair)[0], stats.kendalltau(*pair)[0])
        rows.append((one, other, float(both[0]), float(both[1])))
    return pl.DataFrame(rows, schema=["fit", "other", "spearman", "kendall"], orient="row")


# --------------------------------------------------------------------------------------------------- words


def _names(fits: Sequence[Result]) -> list[str]:
    """The shortest description that sets every fit apart."""
    parts = []
    for fit in fits:
        known = fit.calibration
        further = ("item slopes", known and known.item_slopes), ("covariates", known and known.covariates)
        own = [name * bool(has) for name, has in further]
        scale, yardstick = _scale(fit) or "", f"yardstick {fit.yardstick.reference}"
        parts.append((fit.model, fit.link, fit.method, scale, *own, yardstick))
    differing = [
        place for place, column in enumerate(zip(*parts, strict=True)) if not place or len(set(column)) > 1
    ]
    names = [" ".join(part[place] for place in differing if part[place]) for part in parts]
    return [
        f"{name} ({names[: place + 1].count(name)})" if names.count(name) > 1 else name
        for place, name in enumerate(names)
    ]


def _tested(row: Mapping[str, Any]) -> str:
    if row["against"] is None:
        return f"No other fit is a special case of {row['fit']}."
    p = row["p"]
    how = "clearly better" if p < 0.01 else "a little better" if p < 0.05 else "no better than chance would"
    return (
        f"{row['fit']} against {row['against']}: likelihood ratio {row['lr']:.2f} on {row['df']} degrees of freedom, "
        f"p = {p:.2g}; it fits {how}."
    )


# --------------------------------------------------------------------------------------------------- sensitivity


# Would the answer change? Capability again without the yardstick's rater, by another link or model, without some
# students. Each is a fit of its own; standard errors are left out, since only the change is looked at.


def sensitivity(
    fit: "Fit",
    ratings: Ratings,
    *,
    links: tuple[str, ...] = ("probit",),
    models: tuple[str, ...] = ("tfm",),
    groups: GroupColumns | None = None,
) -> pl.DataFrame:
    """Kappa-bar of every rater under other choices: `Fit.sensitivity`."""
    if fit.calibration is None or fit.model == "probit":
        raise OptionError(
            f"model {fit.model!r} has no other link or yardstick to compare with",
            "fit 'gmf' or 'tfm'",
            option="model",
        )
    own = fit.table("raters").select(pl.col("rater").cast(pl.String), "kappa")
    known, parts = places_of(ratings.raters, own["rater"], "raters"), []

    def refit(change: str, some: Ratings, **changes: Unpack[FitOptions]) -> None:
        # Only the change is looked at; but some yardsticks follow from standard errors.
        options: FitOptions = {**changes, "standard_errors": fit.yardstick.follows_from_errors}
        other = fit.refit(some, **{**fit.settled(), **options}).table("raters")
        parts.append(
            other.select(pl.col("rater").cast(pl.String), change=pl.lit(change), other=pl.col("kappa"))
        )

    if fit.model == "gmf":
        yardstick = int(fit.table("raters")["rho"].arg_max() or 0)
        label = own["rater"][yardstick]
        others = known[ratings.rater] != yardstick
        if others.any():  # whoever is left discriminates best in its place
            reference = None if fit.config.reference == label else fit.config.reference
            refit(f"without {label}", ratings.subset(others), reference=reference)
    for link in links:
        if link != fit.link:  # ordered scores then have to be graded
            to_graded: FitOptions = {"link": link, "scale": "graded"}
            refit(f"link {link}", ratings, **(to_graded if "thresholds" in fit.tables else {"link": link}))
    for model in models:
        if model != fit.model:
            refit(f"model {model}", ratings, model=model)
    for name, (codes, labels) in groups_of(groups or (), ratings).items():
        for code, label in enumerate(labels):
            refit(f"without {name} {label}", ratings.subset(codes != code))
    if not parts:
        raise OptionError(
            "nothing to change", "give links, models or groups other than those of the fit", option="links"
        )
    return (
        pl.concat(parts)
        .join(own, on="rater", how="left", maintain_order="left")
        .select("rater", "change", "kappa", "other", difference=pl.col("other") - pl.col("kappa"))
    )
