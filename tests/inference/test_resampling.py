"""Ratings drawn anew, and the bootstrap."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import InputError, OptionError
from raterlens.estimation.scoring import place
from raterlens.inference.resampling import Bootstrap, redrawn, resampled
from raterlens.likelihood.nodes import Nodes
from raterlens.models.terms.students import SHAPE, SHAPE_RIDGE
from raterlens.ratings.groupings import with_sets_of_raters
from raterlens.ratings.packed import StoredRatings, open_packed
from tests.support.facets_models import make, ordered, somewhere
from tests.support.nightly import mostly_nightly
from tests.support.piece_ratings import ratings_of as pieces_of
from tests.support.shared_panels import panel

# ----------------------------------------------------------------------------------------------------
# Ratings drawn again: from the model by quadrature, and students with all their ratings.


def test_redrawn_ratings_follow_the_model(small):
    """Pass rates of contexts, over many draws, against the marginal probability by quadrature."""
    for kind in ("gmf", "rating scale"):
        ratings = ordered(small) if kind == "rating scale" else small
        model, response = make(small, kind)
        x, random = somewhere(model), np.random.default_rng(1)
        scores = np.stack([redrawn(ratings, model, response, x, random).score for _ in range(400)])
        nodes = Nodes.equally_spaced(-7, 7, 0.1)
        chance = np.exp(response.log_prob(model.predictor(x), nodes.points)) @ np.exp(nodes.log_weights)
        expected = (chance @ np.arange(response.n_categories))[model.contexts.places(ratings)]
        error = (scores.mean(axis=0) - expected) / (scores.std(axis=0, ddof=1) / 20 + 1e-3)
        assert np.abs(error).max() < 5
        assert np.std(error) < 1.3


@pytest.mark.parametrize("odds", [False, True])
def test_redrawn_marks_follow_the_model(odds: bool) -> None:
    """Marks in steps of a half, and probabilities, have the mean and the spread that each rater's have."""
    drawn = rl.simulate(scale="continuous", students=300, raters=3, items=1, noise=[5.0, 8.0, 12.0], seed=1)
    rows = drawn.ratings.table().with_columns(pl.col("score") / 2)
    if odds:
        rows = rows.with_columns((1 / (1 + (2.5 - pl.col("score") / 10).exp())).round(2))
    ratings = rl.read(rows)
    placed = place(rl.fit(ratings, model="gmf", assumptions="ignore").calibration, ratings)
    given = placed.ratings, placed.problem.model, placed.problem.response, placed.parameters
    scores = np.stack([redrawn(*given, np.random.default_rng(seed)).score for seed in range(20)])
    for rater in range(ratings.n_raters):
        own, again = ratings.score[ratings.rater == rater], scores[:, ratings.rater == rater]
        assert again.mean() == pytest.approx(own.mean(), abs=0.3 * own.std())
        assert again.std() == pytest.approx(own.std(), rel=0.1)


def test_resampled_students_keep_their_ratings(small):
    drawn = resampled(small, np.random.default_rng(5))
    assert drawn.n_students == small.n_students
    profiles = {
        tuple(
            zip(
                small.rater[small.student == n],
                small.item[small.student == n],
                small.score[small.student == n],
                strict=True,
            )
        )
        for n in range(small.n_students)
    }
    back_rater, back_item = (
        np.searchsorted(old, new) for old, new in ((small.raters, drawn.raters), (small.items, drawn.items))
    )
    for n in range(drawn.n_students):
        own = drawn.student == n
        profile = tuple(
            zip(back_rater[drawn.rater[own]], back_item[drawn.item[own]], drawn.score[own], strict=True)
        )
        assert profile in profiles


def test_a_rater_who_was_not_drawn_is_left_out():
    frame = pl.DataFrame(
        {"student": [0, 0, 1, 2, 3, 4], "rater": list("abaaaa"), "score": [1, 0, 1, 0, 1, 0]}
    )
    ratings = rl.read(frame)
    seen = {tuple(resampled(ratings, np.random.default_rng(seed)).raters) for seed in range(20)}
    assert seen == {("a",), ("a", "b")}


@pytest.mark.parametrize("kind", ["reading effects and a shape", "pieces", "a shared bias and known answers"])
def test_gradients_vanish_on_average_over_ratings_drawn_from_the_model(kind):
    """E[d log p / dx] = 0 where ratings are the model's own: by every parameter, those of spreads included."""
    if kind == "pieces":
        ratings = pieces_of(students=20, pieces=2, tau=0.5)
        fit = rl.fit(ratings, model="gmf", halo="common", standard_errors=False)
    elif kind == "a shared bias and known answers":
        ratings = panel(students=40, raters=5, known=15, seed=1).ratings
        fit = rl.fit(ratings, model="gmf", shared=True, standard_errors=False)
    else:
        ratings = rl.simulate(students=50, raters=3, items=3, halo=1.0, seed=2).ratings
        fit = rl.fit(ratings, model="gmf", halo="rater", ability="smooth", standard_errors=False)
    placed = place(fit.calibration, ratings)
    model, x, scores = placed.problem.model, placed.parameters, np.asarray(fit.calibration.scores, np.int16)
    x = np.clip(x, *(0.9 * bound for bound in model.bounds(allow_reversed=True)))
    blocks = {name: model.blocks[name] for name in ("halo", "bias", "piece") if name in model.blocks}
    for block in blocks.values():
        x[block] = 0.7  # clear of 0
    random, gradients = np.random.default_rng(3), []
    problem: Any = placed.problem
    nodes = problem.rough_nodes() if kind.startswith("a shared") else Nodes.equally_spaced(-7, 7, 0.2)
    for _ in range(40):
        drawn = redrawn(placed.ratings, model, problem.response, x, random).with_scores(scores)
        gradients.append(place(fit.calibration, drawn).problem.value(x, nodes).gradient)
    found = np.array(gradients)
    if SHAPE in model:  # a ridge holds the shape
        found[:, model.blocks[SHAPE]] += SHAPE_RIDGE * x[model.blocks[SHAPE]]
    z = found.mean(axis=0) / (found.std(axis=0, ddof=1) / np.sqrt(40) + 1e-9)
    assert np.abs(z).max() < 4
    assert np.mean(z**2) < 2
    assert blocks


def test_students_are_redrawn_around_the_mean_of_the_raters_that_they_have():
    ratings = rl.simulate(students=60, raters=5, items=1, raters_per_student=3, seed=4).ratings
    fit = rl.fit(ratings, model="gmf", group_means="raters", standard_errors=False, assumptions="ignore")
    at = place(fit.calibrated("it has no common scale"), ratings)
    assert at.ratings.group is None
    model, random = at.problem.model, np.random.default_rng(0)
    x = at.parameters.copy()
    x[model.blocks["group"]] = 40.0 * np.where(np.arange(model.n_groups) == 0, 1, -1)
    again = redrawn(at.ratings, model, at.problem.response, x, random)
    first = np.asarray(with_sets_of_raters(ratings).student_groups) == 0
    passed = again.score[first[again.student]].mean()
    assert passed > 0.9 > 0.1 > again.score[~first[again.student]].mean()


# ----------------------------------------------------------------------------------------------------
# Bootstrap: standard errors against the delta method, and runs that go on where they stopped.


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
