"""A report for every kind of fit: each opens in the browser, and its first rater has a page."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens import Ratings


def scores() -> Ratings:
    """Four raters who give 0 to 3."""
    rng = np.random.default_rng(1)
    ability = np.repeat(rng.normal(size=100), 4)
    score = np.clip(np.round(1.2 * ability + 1.5 + 0.6 * rng.normal(size=400)), 0, 3).astype(int)
    rater = np.tile(np.array(list("ABCD")), 100)
    return rl.read(pl.DataFrame({"student": np.repeat(np.arange(100), 4), "rater": rater, "score": score}))


def alone() -> Ratings:
    return rl.simulate(students=80, raters=1, items=6, raters_per_student=1, seed=4).ratings


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("kind", "options", "has_curve"),
    [
        ("small", {"model": "tfm"}, True),
        ("small", {"standard_errors": False}, True),
        ("small", {"model": "hrm", "starts": 1}, False),
        ("small", {"model": "dawid-skene", "starts": 1}, False),
        ("scores", {}, True),
        ("alone", {}, True),
    ],
    ids=["tfm", "no errors", "hrm", "dawid-skene", "ordered", "one rater"],
)
def test_every_kind_of_fit_has_a_report(page, small: Ratings, tmp_path: Path, kind, options, has_curve):
    ratings = {"small": lambda: small, "scores": scores, "alone": alone}[kind]()
    fit = rl.fit(ratings, **{"model": "gmf"} | options)
    page.goto(fit.report(tmp_path / "report.html", ratings).as_uri())
    ranked = page.locator(
        "table.ranked th[data-column=rank]"
    ).count()  # not where chance explains all differences
    best = fit.raters.sort("kappa" if ranked else "rater", descending=bool(ranked)).row(0, named=True)
    first = page.locator("table.ranked tbody tr").first
    assert first.locator("bdi").inner_text() == best["rater"]
    first.locator("a").click()
    page.locator("#rater [data-fill=kappa]:not(:empty)").wait_for()  # filled when the address has changed
    assert page.locator("#rater [data-fill=kappa]").inner_text() == f"{best['kappa']:.2f}"
    assert page.locator("#rater .curve").count() == has_curve
    assert page.locator("#rater .what-if .line").get_attribute("d").count("L") == 80
    assert page.locator("#rater [data-fill=feedback]").inner_text() != ""
    page.get_by_label("Severity", exact=True).fill("2")
    assert "at severity 2.00" in page.locator("[data-fill=answer]").inner_text().lower()
