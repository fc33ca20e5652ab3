"""Fits side by side, and how sensitive one is to choices."""

from collections import Counter
from collections.abc import Mapping, Sequence
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
        models, raters = self.tables["models"], self.tables["raters"]
        name = models.sort("aic")["fit"][0]
        rows = raters.sort(f"kappa {name}", descending=True, nulls_last=True)
        nothing = float("nan")
        points: list[Point] = [
            (str(label), nothing if kappa is None else kappa, nothing, nothing)
            for label, kappa in rows.select("rater", f"kappa {name}").iter_rows()
        ]
        columns = ("fit", "loglik", "n_parameters", "aic", "bic", "p")
        return shown(
            f"{counted(models.height, 'fit')} compared",
            table(columns, models.select(columns).iter_rows()),
            lines([*self.words(), *self.warnings]),
            intervals(points, (0.0, 1.0), f"capability, {name}"),
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
            name: table.with_columns(cs.float().fill_nan(None)).to_dicts()
            for name, table in self.tables.items()
        }
        return dumps({**rows, "words": self.words(), "warnings": self.warnings}, ensure_ascii=False)

    def words(self) -> list[str]:
        """Conclusions, one sentence each."""
        lines = [_tested(row) for row in self.tables["models"].iter_rows(named=True)]
        if not self.warnings:
            best = {name: self.tables["models"].sort(name)["fit"][0] for name in ("aic", "bic")}
            lines.append(f"AIC is lowest for {best['aic']}, BIC for {best['bic']}.")
            lines += _preferred(self.tables["models"])
        lines += [_agreed(row) for row in self.tables["agreement"].iter_rows(named=True)]
        moved = self.tables["raters"].filter(pl.col("moved") > 0).sort("moved", descending=True).head(_NAMED)
        if moved.height:
            names = [f"{row['rater']} ({row['moved']})" for row in moved.iter_rows(named=True)]
            lines.append(f"Largest changes of rank: {', '.join(names)}.")
        else:
            lines.append("No rater changes rank.")
        return lines


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
    raters, warnings = _rankings(named), list(_warnings(named))
    tables = {"models": _models(named), "raters": raters, "agreement": _agreement(raters, called)}
    return Comparison(tables, tuple(warnings), fits[0].backend)


# -------------------------------------------------------------------------------------------------- models


def _models(fits: Mapping[str, Result]) -> pl.DataFrame:
    rows = []
    for name, fit in fits.items():
        row: dict[str, Any] = {"fit": name, "model": fit.model, "method": fit.method, "link": fit.link}
        row |= {"scale": _scale(fit), "loglik": fit.loglik, "n_parameters": fit.n_parameters}
        row |= {"aic": fit.aic, "bic": fit.bic}
        within = {other: smaller for other, smaller in fits.items() if _testable(smaller, fit)}
        if within:
            against = max(within, key=lambda other: within[other].n_parameters)
            lr = 2 * (fit.loglik - within[against].loglik)
            df = fit.n_parameters - within[against].n_parameters
            row |= {"against": against, "lr": lr, "df": df, "p": float(stats.chi2.sf(max(lr, 0.0), df))}
        rows.append(row)
    types = {"scale": pl.String, "against": pl.String, "lr": pl.Float64, "df": pl.Int64, "p": pl.Float64}
    names = ["fit", "model", "method", "link", "scale", "loglik", "n_parameters", "aic", "bic"]
    return pl.DataFrame(rows, schema=dict.fromkeys([*names, *types]), schema_overrides=types)


def _scale(fit: Result) -> str | None:
    """How raters use the scale, by the fit; None for pass or fail."""
    known = fit.calibration
    return None if known is None or len(known.scores) == 2 else fit.config.scale or known.scale


def _preferred(models: pl.DataFrame) -> list[str]:
    """The scale that the ratings prefer, and by how much, where fits have different ones."""
    best = models.drop_nulls("scale").sort("aic").unique("scale", keep="first", maintain_order=True)
    if best.height < 2:
        return []
    one, *others = best.iter_rows(named=True)
    by = []
    for other in others:
        rise, fall = (one[name] - other[name] for name in ("loglik", "aic"))
        by.append(f"{other['scale']!r} (log-likelihood {rise:+.1f}, AIC {fall:+.1f})")
    return [f"The ratings prefer the scale {one['scale']!r} to {' and '.join(by)}."]


def _testable(small: Result, large: Result) -> bool:
    both = small.method == large.method == "mml" and small.n_parameters < large.n_parameters
    return both and nested(small, large) and _same_data(small, large)


def nested(small: Result, large: Result) -> bool:
    """Whether every distribution of `small` is one of `large`: each of its parts must be as free or less."""
    one, other = small.calibration, large.calibration
    if one is None or other is None or one.anchored or other.anchored or one.link != other.link:
        return False
    if (one.scale == "graded") != (other.scale == "graded") and len(one.scores) > 2:
        return False
    if "probit" in (small.model, large.model) and small.model != large.model:
        return False
    return (
        _slopes(small) <= _slopes(large)
        and bool(one.covariates) >= bool(other.covariates)
        and (not other.covariates or set(one.covariates) <= set(other.covariates))
        and set(one.effects) <= set(other.effects)
        and (small.config.halo == "rater") <= (large.config.halo == "rater")
        and (len(one.scores) == 2 or one.scale != "partial credit" or other.scale == "partial credit")
    )


def _slopes(fit: Result) -> int:
    """How freely raters' slopes vary: not at all, with covariates, or each by its own."""
    if fit.model == "tfm":
        return 0
    return 1 if fit.calibration is not None and fit.calibration.covariates else 2


def _same_data(one: Result, other: Result) -> bool:
    """The same students, raters and items, each with the same number of ratings and mean score."""
    return all(
        one.table(name).height == other.table(name).height
        and one.table(name)["n"].equals(other.table(name)["n"])
        and np.allclose(one.table(name)["mean_score"], other.table(name)["mean_score"])
        for name in ("raters", "items", "students")
    )


def _warnings(fits: Mapping[str, Result]) -> list[str]:
    first_name, first = next(iter(fits.items()))
    warnings = [
        f"{name!r} is a fit of other ratings than {first_name!r} ({fit.n_ratings:,} and {first.n_ratings:,}): their "
        "log-likelihoods, AIC and BIC cannot be compared"
        for name, fit in fits.items()
        if not _same_data(first, fit)
    ]
    others = sorted({fit.method for fit in fits.values()} - {"mml"})
    if others:
        warnings.append(
            f"log-likelihoods of method {listed(others)} are not maxima of the marginal likelihood: compare models by "
            "AIC, BIC or likelihood ratio among fits by 'mml' only"
        )
    warnings += [
        f"{name!r} did not converge: its log-likelihood is too low"
        for name, fit in fits.items()
        if not fit.converged
    ]
    anchored = [
        name for name, fit in fits.items() if fit.calibration is not None and fit.calibration.anchored
    ]
    if anchored:
        warnings.append(
            f"{listed(anchored)} hold parameters at given values; no likelihood ratio is given for them"
        )
    yardsticks = {fit.yardstick for fit in fits.values()}
    if len(yardsticks) > 1:
        warnings.append("the fits measure kappa by different yardsticks; compare ranks rather than values")
    return warnings


# ------------------------------------------------------------------------------------------------ rankings


def _rankings(fits: Mapping[str, Result]) -> pl.DataFrame:
    """Raters that all fits have; ranks among them."""
    table: pl.DataFrame | None = None
    for name, fit in fits.items():
        own = fit.table("raters").select(
            pl.col("rater").cast(pl.String), pl.col("kappa").alias(f"kappa {name}")
        )
        table = own if table is None else table.join(own, on="rater", how="inner", maintain_order="left")
    assert table is not None
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
    parts = [
        (
            fit.model,
            fit.link,
            fit.method,
            _scale(fit) or "",
            "item slopes" if fit.calibration is not None and fit.calibration.item_slopes else "",
            "covariates" if fit.calibration is not None and fit.calibration.covariates else "",
            f"yardstick {fit.yardstick.reference}",
        )
        for fit in fits
    ]
    differing = [0] + [i for i in range(1, len(parts[0])) if len({part[i] for part in parts}) > 1]
    names = [" ".join(part[i] for i in differing if part[i]) for part in parts]
    total, seen = Counter(names), Counter[str]()
    for place, name in enumerate(names):
        seen[name] += 1
        if total[name] > 1:
            names[place] = f"{name} ({seen[name]})"
    return names


def _tested(row: Mapping[str, object]) -> str:
    if row["against"] is None:
        return f"No other fit is a special case of {row['fit']}."
    p = float(str(row["p"]))
    words = (
        "fits clearly better"
        if p < 0.01
        else "fits a little better"
        if p < 0.05
        else "fits no better than chance would"
    )
    return (
        f"{row['fit']} against {row['against']}: likelihood ratio {row['lr']:.2f} on {row['df']} degrees of freedom, "
        f"p = {p:.2g}; it {words}."
    )


def _agreed(row: Mapping[str, object]) -> str:
    if not np.isfinite(float(str(row["spearman"]))):
        return f"{row['fit']} or {row['other']} has the same kappa for every rater: there is no ranking to compare."
    return (
        f"Rankings of {row['fit']} and {row['other']}: Spearman's correlation {row['spearman']:.3f}, "
        f"Kendall's {row['kendall']:.3f}."
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
    if fit.model == "gmf":
        yardstick = int(fit.table("raters")["rho"].arg_max() or 0)
        label = own["rater"][yardstick]
        # Whoever is left discriminates best in its place.
        reference = None if fit.config.reference == label else fit.config.reference
        others = known[ratings.rater] != yardstick
        if others.any():
            parts.append(_refit(f"without {label}", fit, ratings.subset(others), reference=reference))
    parts += [_refit(f"link {link}", fit, ratings, **_link(fit, link)) for link in links if link != fit.link]
    parts += [_refit(f"model {model}", fit, ratings, model=model) for model in models if model != fit.model]
    for name, (codes, labels) in groups_of(groups or (), ratings).items():
        for code, label in enumerate(labels):
            parts.append(_refit(f"without {name} {label}", fit, ratings.subset(codes != code)))
    if not parts:
        raise OptionError(
            "nothing to change", "give links, models or groups other than those of the fit", option="links"
        )
    return (
        pl.concat(parts)
        .join(own, on="rater", how="left", maintain_order="left")
        .select("rater", "change", "kappa", "other", difference=pl.col("other") - pl.col("kappa"))
    )


def _refit(change: str, fit: "Fit", ratings: Ratings, **changes: Unpack[FitOptions]) -> pl.DataFrame:
    # Only the change is looked at; but some yardsticks follow from standard errors.
    options: FitOptions = {**changes, "standard_errors": fit.yardstick.follows_from_errors}
    other = fit.refit(ratings, **{**fit.settled(), **options})
    return other.table("raters").select(
        pl.col("rater").cast(pl.String), change=pl.lit(change), other=pl.col("kappa")
    )


def _link(fit: "Fit", link: str) -> FitOptions:
    """Another link; ordered scores then have to be graded."""
    return {"link": link, "scale": "graded"} if "thresholds" in fit.tables else {"link": link}
