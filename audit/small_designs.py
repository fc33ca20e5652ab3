"""Tables of a few ratings, fitted with every option: results that make sense, or a refusal in one line."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

import raterlens as rl
from audit.subject import Case, Subject, refusal
from raterlens.base.errors import RaterlensError
from raterlens.config import CovarianceKind, HaloKind, LinkName, Method, Prior, Scale, SharedKind
from raterlens.config.fit_config import AbilityKind
from raterlens.models.registry import MODELS

OPTIONS: dict[str, SearchStrategy[Any]] = {
    "model": st.sampled_from(sorted(MODELS)),
    "method": st.sampled_from(get_args(Method)),
    "link": st.sampled_from(get_args(LinkName)),
    "scale": st.sampled_from(get_args(Scale)),
    "item_slopes": st.booleans(),
    "halo": st.sampled_from(get_args(HaloKind)),
    "interactions": st.just("rater:item"),
    "reference": st.sampled_from(["max", "max corrected", "perfect", "quantile 0.5", "r0", 1.5]),
    "population": st.sampled_from(["estimated", "normal 0.5 1.2", "window -1 1"]),
    "ability": st.sampled_from(get_args(AbilityKind)),
    "trusted": st.sampled_from(["r0", ["r0", "r1"], "r9"]),
    "shared": st.sampled_from(get_args(SharedKind)),
    "known_slope": st.sampled_from([3.0, 10.0]),
    "origin": st.sampled_from(["average", "absolute", 0.5]),
    "prior": st.sampled_from(get_args(Prior)),
    "allow_reversed": st.booleans(),
    "starts": st.integers(1, 3),
    "seed": st.integers(0, 3),
    "standard_errors": st.booleans(),
    "covariance": st.sampled_from(get_args(CovarianceKind)),
    "max_iterations": st.sampled_from([1, 3, 200]),
}
"""As users give them."""
SMALLEST = -1e-9


QUESTIONS: dict[str, Callable[[rl.Fit, Any], object]] = {
    "decisions": lambda fit, ratings: fit.decisions(ratings, cut=0.5).summary(),
    "remark": lambda fit, ratings: fit.remark(ratings, cut=0.5, budget=3).marks,
    "next": lambda fit, ratings: rl.next_marks(fit, ratings, 3).summary(),
    "diagnose": lambda fit, ratings: fit.diagnose(ratings),
    "sensitivity": lambda fit, ratings: fit.sensitivity(ratings),
    "consequences": lambda fit, ratings: fit.consequences(ratings),
    "worth knowing": lambda fit, ratings: fit.worth_knowing(ratings, 3),
    "score": lambda fit, ratings: fit.score(ratings),
    "compare": lambda fit, ratings: rl.compare(fit, rl.fit(ratings, model="tfm")).summary(),
    "monitor": lambda fit, ratings: fit.monitor(ratings),
    "replacement": lambda fit, ratings: rl.can_replace(fit, "r1", ratings, people=["r0"]),
}
"""Questions to a fit."""
NONE = -1
"""Stands for a known answer that is not known."""


def designs() -> SearchStrategy[Any]:
    """A few rows: student, rater, item, score, piece of work, known answer; the last two are often left out."""

    def ratings(size: tuple[int, int, int, int, bool, bool]) -> SearchStrategy[Any]:
        students, raters, items, highest, pieces, known = size
        row = st.tuples(
            st.integers(0, students),
            st.integers(0, raters),
            st.integers(0, items),
            st.integers(0, highest),
            *([st.integers(0, 1)] if pieces or known else []),
            *([st.integers(NONE, highest)] if known else []),
        )
        return st.lists(row.map(list), min_size=6, max_size=30)

    sizes = st.tuples(
        st.integers(1, 9),
        st.integers(0, 3),
        st.integers(0, 2),
        st.sampled_from([1, 1, 1, 2, 4]),
        *(st.booleans(), st.booleans()),
    )
    return sizes.flatmap(ratings)


def table(rows: list[list[int]]) -> pl.DataFrame:
    """A student and item have one known answer: that of their first row. Schools are there to group by."""
    answers: dict[tuple[int, int], int] = {}
    found = []
    for student, rater, item, score, *more in rows:
        piece, known = [*more, 0, NONE][:2] if len(more) < 2 else more
        known = answers.setdefault((student, item), known)
        given = None if known == NONE else known
        found.append(
            (f"s{student}", f"r{rater}", f"i{item}", score, f"p{student}.{piece}", given, student % 2)
        )
    frame = pl.DataFrame(
        found,
        schema={
            **dict.fromkeys(("student", "rater", "item"), pl.String),
            **{"score": pl.Int64, "piece": pl.String, "known": pl.Int64, "school": pl.Int64},
        },
        orient="row",
    )
    width = len(rows[0]) - 4
    return frame.drop(["known", "piece"][: 2 - width])


def cases() -> SearchStrategy[Case]:
    few = st.lists(st.sampled_from(sorted(OPTIONS)), max_size=3, unique=True).flatmap(
        lambda names: st.fixed_dictionaries({name: OPTIONS[name] for name in names})
    )
    return st.fixed_dictionaries(
        {
            "ratings": designs(),
            "options": few,
            "columns": st.sampled_from([[], ["known"], ["piece"], ["known", "piece"]]),
            "asked": st.none() | st.sampled_from(sorted(QUESTIONS)),
            "of": st.sampled_from(["the same", "the same", "fewer", "strangers"]),
        }
    )


def check(case: Case, folder: Path) -> str:
    frame = table(case["ratings"])
    columns = {name: name for name in case["columns"] if name in frame.columns}
    try:
        ratings = rl.read(frame, **columns)
        fit = rl.fit(ratings, **case["options"])
    except RaterlensError as error:
        return refusal(error)
    _sensible(fit)
    fit.save(folder / "fit.json")
    again = rl.load(folder / "fit.json")
    assert again.raters.equals(fit.raters), "the saved fit has other raters"
    if case["asked"]:
        try:
            QUESTIONS[case["asked"]](fit, _others(ratings, case["of"]))
        except RaterlensError as error:
            return f"fitted; {case['asked']} {refusal(error)}"
        return f"fitted; {case['asked']} answered"
    return "fitted"


def _others(ratings: rl.Ratings, which: str) -> rl.Ratings:
    """Ratings that somebody may give in place of those that were fitted."""
    if which == "strangers":
        return replace(ratings, raters=ratings.raters.reverse() + "?")
    return ratings.subset(np.arange(ratings.n_ratings // 2)) if which == "fewer" else ratings


def _sensible(fit: rl.Fit) -> None:
    assert math.isfinite(fit.loglik), f"log-likelihood {fit.loglik}"
    assert fit.loglik <= -SMALLEST, f"log-likelihood {fit.loglik} of a probability"
    raters = fit.raters
    assert raters["rater"].n_unique() == len(raters)
    kappa = raters["kappa"].drop_nulls()
    latent_class = fit.config.model in ("hrm", "dawid-skene")
    reversed_allowed = fit.config.allow_reversed or latent_class or fit.spread is not None
    # A yardstick other than the sharpest rater may be blunter than some.
    most = 1.0 if fit.config.reference in (None, "max", "perfect") else math.inf
    least = -most if reversed_allowed else 0.0
    for value in kappa:
        assert math.isfinite(value), f"kappa {value}"
        assert value >= least + SMALLEST, f"kappa {value}"
        assert value <= most - SMALLEST, f"kappa {value}"
    for name in raters.columns:
        if name.endswith("_se"):
            errors = raters[name].drop_nulls().drop_nans()
            assert (errors >= 0).all(), f"{name} {errors.to_list()}"
    assert fit.converged or fit.warnings, "not converged, and nothing said of it"


SUBJECT = Subject("small designs", cases, check, share=0.15, batch=15)
