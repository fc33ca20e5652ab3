"""Bootstrap: standard errors against the delta method, and runs that go on where they stopped."""

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import InputError, OptionError
from raterlens.estimation.scoring import place
from raterlens.inference.resampling import Bootstrap, redrawn, resampled
from raterlens.ratings.packed import StoredRatings, open_packed
from tests.support.nightly import mostly_nightly

# 40 replicates leave 11 % of chance in a standard error, and 4 raters halve it.
REPLICATES, BY_CHANCE = 40, 0.25


@pytest.fixture(scope="module")
def ratings():
    return rl.simulate(students=150, raters=4, items=3, slope=[1.8, 1.2, 0.9, 0.6], seed=6).ratings


@pytest.fixture(scope="module")
def fit(ratings):
    return rl.fit(ratings, model="gmf")


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["students", "parametric"])
def test_standard_errors_agree_with_the_delta_method(fit, ratings, kind):
    found = fit.bootstrap(ratings, replicates=REPLICATES, kind=kind, seed=1, workers=1)
    eta = found.raters("eta")["se"] / fit.raters["eta_se"]
    kappa = (found.raters()["se"] / fit.raters["kappa_se"])[1:]  # the first is the yardstick
    assert np.sqrt(np.mean(eta.to_numpy() ** 2)) == pytest.approx(1, abs=BY_CHANCE)
    assert np.sqrt(np.mean(kappa.to_numpy() ** 2)) == pytest.approx(1, abs=BY_CHANCE)
    table = found.raters()
    assert table.columns == ["rater", "kappa", "bias", "se", "replicates"]  # quantiles cover too little
    assert table["bias"].abs().max() < 0.1


def test_the_same_seed_gives_the_same_replicates_with_any_number_of_workers(fit, ratings):
    one = fit.bootstrap(ratings, replicates=3, seed=5, workers=1)
    two = fit.bootstrap(ratings, replicates=3, seed=5, workers=2)
    for name in ("kappa", "rho", "eta", "sigma"):
        np.testing.assert_allclose(one.replicates[name], two.replicates[name], rtol=1e-6)
    other = fit.bootstrap(ratings, replicates=3, seed=6, workers=1)
    assert not np.allclose(one.replicates["kappa"], other.replicates["kappa"])


def test_an_interrupted_bootstrap_goes_on(fit, ratings, tmp_path):
    seen: list[tuple[int, int]] = []

    def stop(done: int, total: int) -> None:
        seen.append((done, total))
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit.bootstrap(ratings, replicates=6, seed=2, workers=1, folder=tmp_path, progress=stop)
    assert seen == [(0, 6), (1, 6), (2, 6), (3, 6)]
    seen.clear()
    again = fit.bootstrap(
        ratings, replicates=6, seed=2, workers=1, folder=tmp_path, progress=lambda *at: seen.append(at)
    )
    assert seen[0] == (3, 6)
    whole = fit.bootstrap(ratings, replicates=6, seed=2, workers=1)
    assert again.replicates.equals(whole.replicates)


def test_a_folder_is_for_one_bootstrap(fit, ratings, tmp_path):
    fit.bootstrap(ratings, replicates=2, seed=2, workers=1, folder=tmp_path)
    with pytest.raises(OptionError, match="seed 2"):
        fit.bootstrap(ratings, replicates=2, seed=3, workers=1, folder=tmp_path)
    with pytest.raises(OptionError, match="another fit"):
        rl.fit(ratings, model="tfm").bootstrap(ratings, replicates=2, seed=2, workers=1, folder=tmp_path)


def test_a_rater_who_is_not_always_drawn(tmp_path):
    """Two students by one rater: some samples have none of them."""
    made = rl.simulate(students=30, raters=3, items=2, seed=1).ratings
    frame = pl.DataFrame(
        {
            "student": made.students.gather(made.student),
            "rater": made.raters.gather(made.rater),
            "item": made.items.gather(made.item),
            "score": made.score,
        }
    )
    rare = (pl.col("rater") != "R3") | pl.col("student").is_in(["S01", "S02"])
    ratings = rl.read(frame.filter(rare))
    fit = rl.fit(ratings, model="gmf")
    found = fit.bootstrap(ratings, replicates=25, seed=0, workers=1)
    drawn = found.raters()["replicates"].to_list()
    assert drawn[:2] == [25, 25]
    assert 15 < drawn[2] < 25  # (28 / 30)^30 = 13 % have none


def test_ordered_scores_and_their_own_numbers(writing_scores):
    """Scores 0, 1, 2, 3 come back as such from the fitted model."""
    from dataclasses import replace

    odd = replace(writing_scores, score=(2 * writing_scores.score + 1).astype(np.int16))
    fit = rl.fit(odd, model="gmf", standard_errors=False)
    found = fit.bootstrap(odd, replicates=2, kind="parametric", workers=1)
    assert np.abs(found.raters()["bias"].to_numpy()).max() < 0.3


def test_other_ratings_than_the_fit_had_are_refused(fit, small):
    with pytest.raises(InputError, match="not the ratings that were fitted"):
        fit.bootstrap(small)
    with pytest.raises(InputError, match="not the ratings that were fitted"):
        fit.profile(small)


def test_wrong_options_say_what_to_do(fit, ratings):
    with pytest.raises(OptionError, match="replicates=1"):
        fit.bootstrap(ratings, replicates=1)
    with pytest.raises(OptionError, match="unknown kind"):
        fit.bootstrap(ratings, kind="jackknife")
    with pytest.raises(OptionError, match="model 'gmf' with covariates or anchors"):
        rl.fit(ratings, model="gmf", anchors=fit).bootstrap(ratings)
    with pytest.raises(OptionError, match="model 'dawid-skene'; bootstrap"):
        rl.fit(ratings, "dawid-skene").bootstrap(ratings)


@pytest.mark.parametrize(
    "options",
    mostly_nightly(
        [
            {
                "item_slopes": True,
                "reference": "quantile 0.75",
                "population": (0.4, 0.8),
                "origin": "absolute",
            },
            {"method": "laplace", "reference": "R2", "allow_reversed": True},
            {"model": "probit", "origin": "average"},
            {"prior": "panel", "covariance": "sandwich"},
        ],
        keep=1,
    ),
    ids=str,
)
@pytest.mark.parametrize("kind", ["students", "parametric"])
def test_a_replicate_is_the_fit_s_own_request_on_other_ratings(small, options, kind):
    fit = rl.fit(small, **{"model": "gmf"} | options)
    found = fit.bootstrap(small, replicates=2, kind=kind, seed=3, workers=1).replicates.filter(replicate=0)
    random = np.random.default_rng([3, 0])
    if kind == "students":
        drawn = resampled(small, random)
    else:
        placed = place(fit.calibration, small)
        drawn = redrawn(
            placed.ratings, placed.problem.model, placed.problem.response, placed.parameters, random
        )
    again = rl.fit(drawn, start=fit, **{"model": "gmf"} | options)
    for name in ("kappa", "rho", "eta"):
        np.testing.assert_allclose(found[name], again.raters[name], rtol=1e-10, err_msg=name)
    assert found["sigma"][0] == pytest.approx(again.sigma)


def test_bias_and_error_are_those_of_the_replicates(fit):
    drawn = np.concatenate([np.zeros(30), np.linspace(0.01, 0.7, 70)])
    first, second = fit.table("raters")["rater"][:2]
    rows = [(first, value) for value in drawn] + [(second, 0.4)]
    found = Bootstrap(fit, "students", pl.DataFrame(rows, schema=["rater", "kappa"], orient="row")).raters()
    one, other = found.filter(pl.col("rater").is_in([first, second])).iter_rows(named=True)
    assert one["bias"] == pytest.approx(drawn.mean() - one["kappa"])
    assert one["se"] == pytest.approx(drawn.std(ddof=1))
    assert (one["replicates"], other["replicates"]) == (100, 1)
    assert np.isnan([other["bias"], other["se"]]).all()


@pytest.mark.parametrize("reference", [1.5, "max corrected"])
def test_yardsticks_that_are_fixed_or_follow_from_standard_errors(ratings, reference):
    fit = rl.fit(ratings, model="gmf", reference=reference)
    sigma = fit.bootstrap(ratings, replicates=2, seed=1, workers=1).replicates["sigma"].to_numpy()
    if reference == 1.5:
        assert (sigma == 1.5).all()
    else:
        assert 0 < np.ptp(sigma) < 1.0
        assert (np.abs(sigma - fit.sigma) < 1.0).all()


def test_ratings_on_disk_are_drawn_from_as_those_in_memory(fit, ratings, tmp_path, capsys):
    packed = rl.pack(ratings.table(), tmp_path / "ratings.rlpack")
    stored = StoredRatings(open_packed(packed))
    here, there = (
        rl.fit(given, model="gmf", standard_errors=False).bootstrap(
            given, replicates=2, seed=4, workers=1, progress=shown
        )
        for given, shown in ((rl.read(packed), False), (stored, True))
    )
    np.testing.assert_allclose(there.replicates["kappa"], here.replicates["kappa"], rtol=1e-5)
    assert capsys.readouterr().out == ""
