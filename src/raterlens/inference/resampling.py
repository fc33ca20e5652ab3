"""Ratings that could have been, and the bootstrap: the whole analysis on them.

`students`: the same students drawn with replacement; holds whatever the model. `parametric`: new abilities and ratings
from the fitted model on the same design; sharper where the model is right, and the only choice where students are few
or raters have few of them.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.random import Generator
from numpy.typing import NDArray

from raterlens.base.arrays import Array
from raterlens.base.errors import InputError, OptionError, RaterlensError, choose
from raterlens.base.processes import OnDone, Parts, run_missing_parts
from raterlens.base.text import Message, Option
from raterlens.estimation.scoring import place
from raterlens.models.facets import FacetsModel
from raterlens.models.responses import Response
from raterlens.models.term import Redrawn
from raterlens.ratings.coded import Ratings, renumbered, to_backend
from raterlens.ratings.packed import StoredRatings

if TYPE_CHECKING:
    from distributed import Client

    from raterlens.fitting.fit import Fit
    from raterlens.inference.result import Result


# Pass or fail ratings drawn at a time; fewer with more scores.
_BLOCK = 2**20


def redrawn(
    ratings: Ratings, model: FacetsModel, response: Response, parameters: Array, random: Generator
) -> Ratings:
    """New abilities from the population, new impressions where the model has them, and new scores from
    the model, for every rating and known answer."""
    model, response, known = model.single, response.single, ratings.known
    if known is None or not model.contexts.n_answers:
        return replace(ratings, score=_scores(ratings, model, response, parameters, random))
    every = ratings.with_answers()
    drawn = _scores(every, model, response, parameters, random)
    answered = every.rater == ratings.n_raters
    score = np.empty(ratings.n_ratings, dtype=np.int16)
    score[np.argsort(ratings.student, kind="stable")] = drawn[~answered]
    return replace(ratings, score=score, known=replace(known, answer=drawn[answered]))


def _scores(
    ratings: Ratings, model: FacetsModel, response: Response, parameters: Array, random: Generator
) -> NDArray[np.int16]:
    """(ratings,)"""
    context, nothing = model.contexts.places(ratings), np.zeros(ratings.n_ratings)
    ability, predictor = random.standard_normal(ratings.n_students), model.predictor(parameters)
    at = Redrawn(ratings, context, model.contexts.rater, ability, predictor, nothing, nothing, random)
    for term in model.terms:
        at = term.redraw(parameters[model.blocks[term.name]], at)
    score = np.empty(ratings.n_ratings, dtype=np.int16)
    size = max(1, 2 * _BLOCK // response.n_categories)
    for first in range(0, ratings.n_ratings, size):
        rows = slice(first, first + size)
        of_rows, quality = context[rows], at.ability[ratings.student[rows]] + at.off[rows]
        reach = at.predictor.slope[of_rows] * quality + at.besides[rows]
        chance = response.chances(at.predictor.of_ratings(of_rows, reach, response.lever), np.zeros(1))[
            ..., 0
        ]
        passed = random.random(len(of_rows))[:, None] > np.cumsum(chance, axis=1)[:, :-1]
        score[rows] = passed.sum(axis=1)
    return score


def resampled(ratings: Ratings, random: Generator) -> Ratings:
    """As many students, drawn with replacement, each with all ratings; levels that were not drawn are left out."""
    n = ratings.n_students
    order = np.argsort(ratings.student, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(ratings.student, minlength=n))])
    drawn = random.integers(n, size=n)
    size = first[drawn + 1] - first[drawn]
    start = np.repeat(first[drawn] - np.concatenate([[0], np.cumsum(size)[:-1]]), size)
    rows = order[start + np.arange(size.sum())]
    known = None if ratings.known is None else ratings.known.of_students(drawn)
    if known is not None:
        known = known.among(np.arange(n), renumbered(ratings.item[rows], ratings.n_items))
    return replace(
        ratings.subset(rows),
        student=np.repeat(np.arange(n, dtype=np.int32), size),
        students=pl.Series("student", np.arange(n)),
        known=known,
    )


def check_same(fit: "Result", ratings: Ratings) -> None:
    """Raise where these are not the ratings that were fitted."""
    table = fit.table("raters")
    counts = np.bincount(ratings.rater, minlength=ratings.n_raters)
    same = (fit.n_ratings, fit.n_students, fit.n_items) == (
        ratings.n_ratings,
        ratings.n_students,
        ratings.n_items,
    )
    labels = ratings.raters.cast(pl.String).to_list()
    same = same and table["rater"].cast(pl.String).to_list() == labels
    if not same or table["n"].to_list() != counts.tolist():
        raise InputError(
            f"these are not the ratings that were fitted: {ratings.n_ratings:,} of {ratings.n_students:,} students, "
            f"where the fit had {fit.n_ratings:,} of {fit.n_students:,}",
            "give the ratings that went into rl.fit",
            value=ratings.n_ratings,
        )


KINDS = ("students", "parametric")
_QUANTITIES = ("kappa", "rho", "eta")


@dataclass(frozen=True, slots=True, eq=False)
class Bootstrap:
    """A fit and its replicates."""

    fit: "Fit"
    kind: str
    replicates: pl.DataFrame
    """A row for every replicate and rater: replicate, rater, kappa, rho, eta, sigma; null where not drawn."""

    def raters(self, quantity: str = "kappa") -> Any:
        """Standard error and bias of every rater. For intervals use those in `fit.raters`: quantiles of replicates
        cover too little on small panels (docs/uncertainty.md).

        Parameters
        ----------
        quantity
            `kappa`, `rho` or `eta`.

        Returns
        -------
        dataframe
            rater, the estimate, `bias` (how far replicates are off the estimate on average: take it off to correct the
            estimate), `se`, and `replicates`, the number behind them.
        """
        choose("quantity", quantity, _QUANTITIES)
        estimate = self.fit.table("raters").select("rater", quantity)
        rows = []
        for rater, value in estimate.iter_rows():
            drawn = self.replicates.filter(pl.col("rater") == rater)[quantity].drop_nulls().to_numpy()
            known = len(drawn) > 1
            bias, se = (float(drawn.mean() - value), float(drawn.std(ddof=1))) if known else (np.nan, np.nan)
            rows.append((rater, value, bias, se, len(drawn)))
        found = pl.DataFrame(rows, schema=["rater", quantity, "bias", "se", "replicates"], orient="row")
        return to_backend(found.cast({"rater": estimate["rater"].dtype}), self.fit.backend)


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Work of a bootstrap, with all that a worker needs to know."""

    ratings: Ratings
    fit: "Fit"
    kind: str
    seed: int
    replicates: int


def bootstrap(
    plan: Plan,
    *,
    workers: int | None = None,
    client: "Client | None" = None,
    folder: str | Path | None = None,
    progress: OnDone | bool = False,
) -> Bootstrap:
    """Fit again and again on ratings that could have been: `Fit.bootstrap`."""
    _check(plan)
    if isinstance(plan.ratings, StoredRatings):
        # Students are drawn from all of them: ratings on disk come into memory.
        plan = replace(plan, ratings=plan.ratings.in_memory())
    found: dict[int, pl.DataFrame] = {}
    parts = None if folder is None else Parts(Path(folder), Path(folder) / "bootstrap.json")
    if parts is not None:
        codes = (plan.ratings.student, plan.ratings.rater, plan.ratings.item, plan.ratings.score)
        digest = hashlib.sha256(plan.fit.to_json().encode())
        for column in codes:
            digest.update(np.ascontiguousarray(column).tobytes())
        parts.open({"kind": plan.kind, "seed": plan.seed, "fit or ratings": digest.hexdigest()})
        there = [number for number in range(plan.replicates) if parts.part(number).exists()]
        found = {number: pl.read_parquet(parts.part(number)) for number in there}

    def keep(number: int, rows: pl.DataFrame) -> None:
        found[number] = rows
        if parts is not None:
            parts.keep(number, rows)

    missing = [number for number in range(plan.replicates) if number not in found]
    with _shown(progress) as on_done:
        work = (replicate, plan, plan.replicates, missing, keep)
        run_missing_parts(*work, workers=workers, client=client, on_done=on_done)
    rows = pl.concat([found[number] for number in range(plan.replicates)])
    return Bootstrap(plan.fit, plan.kind, rows)


def replicate(plan: Plan, index: int) -> pl.DataFrame:
    """One replicate: a pure function of the plan and its number."""
    fit, random = plan.fit, np.random.default_rng([plan.seed, index])
    if plan.kind == "parametric":
        known = fit.calibrated("there is nothing to draw from")
        placed = place(known, plan.ratings)
        problem = placed.problem
        drawn = redrawn(placed.ratings, problem.model, problem.response, placed.parameters, random)
        drawn = drawn.with_scores(np.asarray(known.scores, dtype=np.int16))
    else:
        drawn = resampled(plan.ratings, random)
    # Estimates are all that is wanted, unless the yardstick follows from their standard errors.
    errors = fit.yardstick.follows_from_errors
    values = {name: np.full(plan.ratings.n_raters, np.nan) for name in (*_QUANTITIES, "sigma")}
    try:
        again = fit.refit(drawn, start=fit, standard_errors=errors, **fit.settled())
    except RaterlensError:
        pass  # nothing can be said of these: the yardstick was not drawn, or only one student
    else:
        who = plan.ratings.raters.is_in(drawn.raters.implode()).to_numpy()
        for name in _QUANTITIES:
            values[name][who] = again.table("raters")[name]
        values["sigma"][:] = again.sigma
    rows = pl.DataFrame({"rater": plan.ratings.raters, **values}).with_columns(pl.col(*values).fill_nan(None))
    return rows.select(pl.lit(index, pl.Int32).alias("replicate"), pl.all())


@contextmanager
def _shown(progress: OnDone | bool) -> Iterator[OnDone]:
    """The callback: the user's own, a bar, or none."""
    if progress is not True:
        yield progress or (lambda done, total: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("bootstrap"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("bootstrap", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _check(plan: Plan) -> None:
    choose("kind", plan.kind, KINDS)
    known = plan.fit.calibration
    if known is None or known.covariates or known.anchored:
        raise OptionError(
            f"this is a fit of model {plan.fit.model!r}{' with covariates or anchors' if known else ''}",
            "bootstrap a fit of 'gmf', 'tfm' or 'probit' without covariates or anchors",
            option="model",
        )
    check_same(plan.fit, plan.ratings)
    for name, value, least in (("replicates", plan.replicates, 2), ("seed", plan.seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise OptionError(
                Message(Option(name, value)),
                f"give a whole number of at least {least}",
            )
