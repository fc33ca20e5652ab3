"""Tables of a few ratings, fitted with every option: results that make sense, or a refusal in one line."""

import math
from pathlib import Path
from typing import Any, get_args

import polars as pl
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

import raterlens as rl
from audit.subject import Case, Subject, refusal
from raterlens.config import CovarianceKind, HaloKind, LinkName, Method, Prior, Scale
from raterlens.errors import RaterlensError
from raterlens.models.registry import MODELS

OPTIONS: dict[str, SearchStrategy[Any]] = {
    "model": st.sampled_from(sorted(MODELS)),
    "method": st.sampled_from(get_args(Method)),
    "link": st.sampled_from(get_args(LinkName)),
    "scale": st.sampled_from(get_args(Scale)),
    "item_slopes": st.booleans(),
    "halo": st.sampled_from(get_args(HaloKind)),
    "reference": st.sampled_from(["max", "max corrected", "perfect", "quantile 0.5", "r0", 1.5]),
    "population": st.sampled_from(["estimated", "normal 0.5 1.2", "window -1 1"]),
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


def cases() -> SearchStrategy[Case]:
    def ratings(size: tuple[int, int, int, int]) -> SearchStrategy[Any]:
        students, raters, items, highest = size
        row = st.tuples(
            st.integers(0, students), st.integers(0, raters), st.integers(0, items), st.integers(0, highest)
        )
        return st.lists(row.map(list), min_size=6, max_size=30)

    sizes = st.tuples(
        st.integers(1, 9), st.integers(0, 3), st.integers(0, 2), st.sampled_from([1, 1, 1, 2, 4])
    )
    few = st.lists(st.sampled_from(sorted(OPTIONS)), max_size=3, unique=True).flatmap(
        lambda names: st.fixed_dictionaries({name: OPTIONS[name] for name in names})
    )
    return st.fixed_dictionaries({"ratings": sizes.flatmap(ratings), "options": few})


def check(case: Case, folder: Path) -> str:
    frame = pl.DataFrame(
        [(f"s{s}", f"r{r}", f"i{i}", score) for s, r, i, score in case["ratings"]],
        schema=["student", "rater", "item", "score"],
        orient="row",
    )
    try:
        fit = rl.fit(frame, **case["options"])
    except RaterlensError as error:
        return refusal(error)
    _sensible(fit)
    fit.save(folder / "fit.json")
    again = rl.load(folder / "fit.json")
    assert again.raters.equals(fit.raters), "the saved fit has other raters"
    return "fitted"


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


SUBJECT = Subject("small designs", cases, check, share=0.2, batch=15)
