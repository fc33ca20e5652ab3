"""A panel that shares one bias looks capable; the trusted raters' view tells."""

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import InputError, OptionError

HUMANS, JUDGES = [f"human {n}" for n in range(4)], [f"judge {n}" for n in range(5)]


def panel(bias: float, seed: int, students: int = 300) -> rl.Ratings:
    """Humans see ability sharply; judges less so, and a second thing besides, the same for all of them."""
    rng = np.random.default_rng(seed)
    ability, impression = rng.normal(size=(2, students))
    rows = []
    for rater in HUMANS + JUDGES:
        seen = 1.8 * ability if rater in HUMANS else 1.2 * ability + bias * impression
        severity = rng.normal(0, 0.5)
        rated = rng.random(students) < (0.75 if rater in HUMANS else 1.0)
        for item, difficulty in (("a", -0.5), ("b", 0.5)):
            passes = rng.random(students) < 1 / (1 + np.exp(severity + difficulty - seen))
            rows.append(
                pl.DataFrame(
                    {"student": np.arange(students), "rater": rater, "item": item, "score": passes}
                ).filter(rated)
            )
    return rl.read(pl.concat(rows))


@pytest.fixture(scope="module")
def biased() -> rl.Ratings:
    return panel(1.5, seed=0)


def test_the_panel_is_fooled_and_the_check_is_not(biased):
    fit = rl.fit(biased)
    kappa = dict(fit.table("raters").select("rater", "kappa").iter_rows())
    # What goes wrong without the check: judges look more capable than the humans, who are sharper.
    assert min(kappa[judge] for judge in JUDGES) > max(kappa[human] for human in HUMANS)
    found = fit.check_shared_bias(biased, trusted=HUMANS)
    assert found.found
    assert set(found.table.filter("flagged")["rater"]) == set(JUDGES)
    by_trusted = dict(found.table.select("rater", "kappa").iter_rows())
    assert max(by_trusted[judge] for judge in JUDGES) < min(by_trusted[human] for human in HUMANS)
    # The impression has standard deviation 1.5; the size is a first-order one, and somewhat small.
    shared = found.table.drop_nulls("shared")["shared"].to_numpy()
    assert ((shared > 0.9) & (shared < 1.6)).all()
    assert found.correlation < found.correlation_expected - 0.2
    assert "Next: read answers" in found.summary()


@pytest.mark.parametrize("seed", [0, 1])
def test_judges_without_a_bias_pass(seed):
    clean = panel(0.0, seed)
    found = rl.fit(clean, standard_errors=False).check_shared_bias(clean, trusted=HUMANS)
    assert not found.found
    assert abs(found.correlation - found.correlation_expected) < 0.1
    assert found.summary().startswith("No shared bias found in")


def test_what_cannot_be_checked_is_refused(biased):
    fit = rl.fit(biased, "tfm", standard_errors=False)
    with pytest.raises(OptionError, match="did you mean 'human 1'"):
        fit.check_shared_bias(biased, trusted=["humann 1"])
    with pytest.raises(OptionError, match="no trusted raters"):
        fit.check_shared_bias(biased, trusted=[])
    with pytest.raises(OptionError, match="1 rater besides the trusted ones; it takes two"):
        fit.check_shared_bias(biased, trusted=HUMANS + JUDGES[1:])
    few = panel(0.0, 0, students=25)
    with pytest.raises(InputError, match="25 students rated by both"):
        rl.fit(few, standard_errors=False).check_shared_bias(few, trusted=HUMANS)


def test_a_fit_without_standard_errors_or_by_hl_is_checked_all_the_same(biased):
    """The check makes fits of its own, with intervals."""
    plain = rl.fit(biased).check_shared_bias(biased, trusted=HUMANS)
    for options in ({"standard_errors": False}, {"method": "hl", "covariance": "conditional"}):
        found = rl.fit(biased, **options).check_shared_bias(biased, trusted=HUMANS)
        np.testing.assert_allclose(found.table["kappa"], plain.table["kappa"], atol=1e-6)
        assert found.table["kappa_low"].is_finite().all()


def test_what_is_shared_is_told_in_the_units_of_the_link(biased):
    found = rl.fit(biased, link="probit", standard_errors=False).check_shared_bias(biased, trusted=HUMANS)
    assert " probits with the others" in found.summary()
    assert "logit" not in found.summary()
