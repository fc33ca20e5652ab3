"""Distributions of students: means of groups, and an estimated shape."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import linalg, optimize, special

import raterlens as rl
from raterlens.base.errors import RaterlensError
from raterlens.capability.links import get_link
from raterlens.estimation.scoring import place
from raterlens.inference.covariance import covariance, in_full
from raterlens.likelihood.marginal import FacetsMarginal, marginal
from raterlens.likelihood.nodes import Nodes
from raterlens.likelihood.priors import PanelPrior, pseudo_ratings
from raterlens.models.build import build
from raterlens.models.facets import centre, redundancy
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options
from raterlens.models.terms.students import SHAPE, GroupMeans
from raterlens.ratings.groupings import with_sets_of_raters
from tests.support.facets_models import assert_gradient, by_differences, somewhere

PLAIN = {"halo": "none", "ability": "normal"}
NODES = Nodes.equally_spaced(-7, 7, 0.2)


def schools(
    students: int = 120,
    n_schools: int = 4,
    seed: int = 1,
    crossed: float = 0.4,
    sd: float = 0.8,
    high: int = 1,
) -> tuple[pl.DataFrame, np.ndarray]:
    """Two raters per school, who mark its students; a part of these is marked by another rater as well."""
    random = np.random.default_rng(seed)
    means = sd * random.standard_normal(n_schools)
    raters = 2 * n_schools
    severity, rows = 0.5 * random.standard_normal(raters), []
    for student in range(students):
        school = student % n_schools
        ability = means[school] + random.standard_normal()
        chosen = {2 * school + int(random.integers(2))}
        if random.random() < crossed:
            chosen.add(int(random.integers(raters)))
        for rater in chosen:
            for item in range(3):
                reach = 1.3 * ability - severity[rater] - 0.4 * (item - 1)
                score = int(random.binomial(high, special.expit(reach)))
                rows.append((student, f"r{rater}", f"i{item}", f"s{school}", score))
    names = ["student", "rater", "item", "school", "score"]
    return pl.DataFrame(rows, schema=names, orient="row"), means - means.mean()


def read(table: pl.DataFrame) -> rl.Ratings:
    return rl.read(table, student="student", rater="rater", item="item", score="score", group="school")


@pytest.mark.parametrize(
    ("link", "scale", "high", "halo"),
    [
        ("logit", "rating scale", 1, "none"),
        ("probit", "rating scale", 1, "none"),
        ("logit", "partial credit", 2, "none"),
        ("logit", "rating scale", 2, "rater"),
    ],
)
def test_gradient_and_information_agree_with_differences(link, scale, high, halo) -> None:
    ratings = read(schools(24, high=high)[0])
    options = Options(MODELS["gmf"], get_link(link), scale, halo=halo, groups="each")
    model, response = build(ratings, options)
    problem = marginal(ratings, model, response, pseudo_ratings(model, response.n_categories))
    x = somewhere(model)
    if halo != "none":
        x[model.blocks["halo"]] = 0.5 + np.abs(x[model.blocks["halo"]])
    assert_gradient(lambda y: problem.value(y, NODES), x)
    expected = by_differences(problem, x, NODES)
    np.testing.assert_allclose(
        in_full(problem.information(x, NODES)), expected, atol=1e-5 * np.abs(expected).max()
    )
    scores = problem.student_scores(x, NODES).toarray().sum(axis=0)
    np.testing.assert_allclose(
        scores[model.blocks["group"]], problem.value(x, NODES).gradient[model.blocks["group"]], atol=1e-8
    )
    known = redundancy(model, x)
    for direction in known.directions:
        moved = x + 1e-5 * direction
        assert problem.value(moved, NODES).loglik == pytest.approx(problem.value(x, NODES).loglik, abs=1e-6)


def test_the_likelihood_is_that_of_plain_loops_and_means_are_found() -> None:
    table, means = schools(400, sd=1.0)
    ratings = read(table)
    fit = rl.fit(ratings, "gmf", **PLAIN)
    effects, labels = fit.calibration.effects, fit.calibration.labels
    t = np.linspace(-9, 9, 1501)
    weight = np.log(t[1] - t[0]) - np.log(2 * np.pi) / 2
    places = {name: {label: place for place, label in enumerate(labels[name])} for name in labels}
    whole = 0.0
    for _, rows in table.group_by("student"):
        rater = [places["rater"][each] for each in rows["rater"]]
        item = [places["item"][each] for each in rows["item"]]
        s = np.multiply.outer(effects["slope"][rater], t)
        s -= (effects["severity"][rater] + effects["difficulty"][item])[:, None]
        y = rows["score"].to_numpy()[:, None]
        mean = effects["group"][places["group"][rows["school"][0]]]
        log = special.log_expit(np.where(y == 1, s, -s)).sum(axis=0) - (t - mean) ** 2 / 2 + weight
        whole += float(special.logsumexp(log))
    assert fit.loglik == pytest.approx(whole, abs=1e-3)
    groups = fit.table("groups")
    assert groups["n"].to_list() == [100] * 4
    np.testing.assert_allclose(groups["n"] @ groups["mean"], 0, atol=1e-6)
    assert (np.abs(groups["mean"].to_numpy() - means) < 4 * groups["mean_se"].to_numpy()).all()
    np.testing.assert_allclose(fit.score(ratings)["theta"], fit.students["theta"], atol=1e-8)
    assert fit.n_parameters == rl.fit(read(table), "gmf", **PLAIN).n_parameters
    assert fit.calibration.between_variance == pytest.approx(np.mean(groups["mean"].to_numpy() ** 2))


@pytest.mark.parametrize("spread", [1.0, 0.05])
def test_a_panel_prior_says_nothing_of_where_abilities_are_counted_from(spread) -> None:
    ratings = read(schools(60)[0])
    model, response = build(ratings, Options(MODELS["gmf"], get_link("logit"), groups="each"))
    prior = PanelPrior.of(model)
    assert prior is not None
    prior = prior.at(0.5, spread)
    problem = marginal(ratings, model, response, pseudo_ratings(model, 2, raters=False))
    problem = replace(problem, prior=prior)
    x = somewhere(model)
    x[model.blocks["slope"]] = 1 + 0.2 * np.abs(x[model.blocks["slope"]])
    assert_gradient(lambda y: problem.value(y, NODES), x)
    for direction in redundancy(model, x).directions:
        assert prior.value(x + 0.1 * direction)[0] == pytest.approx(prior.value(x)[0], abs=1e-10)
    # The covariance, against second differences of the objective among what centring allows.
    best = optimize.minimize(
        lambda y: -problem.value(y, NODES).objective, x, jac=lambda y: -gradient_at(problem, y), method="BFGS"
    )
    x = centre(model, best.x)
    known = redundancy(model, x)
    inside = linalg.null_space(known.constraints)
    second = np.array(
        [(gradient_at(problem, x + 1e-4 * d) - gradient_at(problem, x - 1e-4 * d)) for d in inside.T]
    )
    expected = inside @ np.linalg.inv(-second @ inside / 2e-4) @ inside.T
    found = covariance(problem.information(x, NODES), known, np.zeros(len(x), dtype=bool)).matrix
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


def gradient_at(problem: FacetsMarginal, x: np.ndarray) -> np.ndarray:
    return problem.value(x, NODES).gradient


def test_raters_of_schools_are_a_sample_by_default() -> None:
    table, means = schools(400, sd=1.0)
    fit = rl.fit(read(table))
    assert fit.config.prior == "panel"
    assert fit.config.ability in (None, "normal")
    groups = fit.table("groups")
    assert (np.abs(groups["mean"].to_numpy() - means) < 4 * groups["mean_se"].to_numpy()).all()


def test_a_fit_with_groups_is_saved_and_asks_for_them(tmp_path) -> None:
    table, _ = schools()
    ratings = read(table)
    fit = rl.fit(ratings, "tfm", **PLAIN)
    fit.save(tmp_path / "fit.json")
    again = rl.load(tmp_path / "fit.json")
    np.testing.assert_allclose(again.score(ratings)["theta"], fit.students["theta"], atol=1e-8)
    with pytest.raises(RaterlensError, match="name no groups"):
        again.score(rl.read(table.drop("school")))


def test_many_groups_are_a_sample() -> None:
    table, means = schools(600, n_schools=30, sd=0.7)
    fit = rl.fit(read(table), "tfm", **PLAIN)
    (spread,) = fit.table("spreads").iter_rows(named=True)
    assert spread["term"] == "group"
    assert spread["low"] < 0.7 < spread["high"]
    assert spread["p"] < 1e-6
    school = fit.table("groups")["group"].str.slice(1).cast(int).to_numpy()
    assert np.corrcoef(fit.table("groups")["mean"].to_numpy(), means[school])[0, 1] > 0.6


def test_groups_that_no_rater_links_are_centred_apart() -> None:
    table, _ = schools(crossed=0.0)
    fit = rl.fit(read(table), "tfm", **PLAIN)
    np.testing.assert_allclose(fit.table("groups")["mean"], 0.0, atol=1e-8)
    assert any(each.startswith("no rater marks students of") and "s3" in each for each in fit.warnings)
    plain = rl.fit(rl.read(table.drop("school")), "tfm", **PLAIN)
    assert fit.loglik == pytest.approx(plain.loglik, abs=1e-4)


@pytest.mark.parametrize("options", [{"method": "laplace"}, {"ability": "smooth"}, {"link": "log"}])
def test_what_does_not_go_with_groups_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(RaterlensError, match="does not go with"):
        rl.fit(read(schools(40)[0]), "gmf", **options)


def test_groups_on_a_line_have_its_likelihood() -> None:
    table, _ = schools(240, sd=1.0)
    numbered = table.with_columns(grade=2020 + table["school"].str.slice(1).cast(int) / 2)
    named = {"student": "student", "rater": "rater", "item": "item", "score": "score"}
    ratings = rl.read(numbered, **named, group="grade")
    options = Options(MODELS["gmf"], get_link("logit"), groups="linear")
    model, response = build(ratings, options)
    problem = marginal(ratings, model, response, pseudo_ratings(model, 2))
    x = somewhere(model)
    assert_gradient(lambda y: problem.value(y, NODES), x)
    expected = by_differences(problem, x, NODES)
    np.testing.assert_allclose(
        in_full(problem.information(x, NODES)), expected, atol=1e-5 * np.abs(expected).max()
    )
    line = rl.fit(ratings, "gmf", group_means="linear", **PLAIN)
    each, none = (rl.fit(ratings, "gmf", group_means=how, **PLAIN) for how in ("each", "none"))
    assert none.loglik < line.loglik < each.loglik
    assert line.n_parameters == none.n_parameters + 1
    means = line.table("groups")["mean"].to_numpy()
    np.testing.assert_allclose(np.diff(means, 2), 0, atol=1e-9)
    np.testing.assert_allclose(line.score(ratings)["theta"], line.students["theta"], atol=1e-8)
    with pytest.raises(RaterlensError, match="no numbers"):
        rl.fit(read(table), "gmf", group_means="linear")


def test_fair_across_groups_leaves_out_what_a_group_says(tmp_path) -> None:
    ratings = read(schools(240, sd=1.5)[0])
    within = rl.fit(ratings, "gmf", **PLAIN)
    across = rl.fit(ratings, "gmf", fair="across", **PLAIN)
    np.testing.assert_allclose(across.raters["eta"], within.raters["eta"], atol=1e-9)
    # By Bayes' rule with the population of all students together.
    t = np.linspace(-9, 9, 1201)
    means = within.table("groups")["mean"].to_numpy()
    share = np.mean(np.exp(-((t[:, None] - means) ** 2) / 2), axis=1)
    effects, labels = within.calibration.effects, within.calibration.labels
    one = ratings.student == 5
    rater, item = (
        places_of(labels[name], each) for name, each in (("rater", ratings.raters), ("item", ratings.items))
    )
    s = np.multiply.outer(effects["slope"][rater[ratings.rater[one]]], t)
    s -= (effects["severity"][rater[ratings.rater[one]]] + effects["difficulty"][item[ratings.item[one]]])[
        :, None
    ]
    posterior = share * np.exp(special.log_expit(np.where(ratings.score[one, None] == 1, s, -s)).sum(axis=0))
    assert across.students["theta"][5] == pytest.approx(float(posterior @ t / posterior.sum()), abs=1e-6)
    across.save(tmp_path / "fit.json")
    np.testing.assert_allclose(
        rl.load(tmp_path / "fit.json").score(ratings)["theta"], across.students["theta"], atol=1e-8
    )


def places_of(known, labels) -> np.ndarray:
    return np.array([known.to_list().index(label) for label in labels])


def test_students_of_different_raters_are_told_apart_without_a_column() -> None:
    named = {"student": "student", "rater": "rater", "item": "item", "score": "score"}
    table, _ = schools(400, sd=1.3, seed=3)
    fit = rl.fit(rl.read(table, **named, beside="school"))
    (found,) = fit.assumptions.filter(assumption="assignment").iter_rows(named=True)
    assert found["taken"]
    assert "'school'" in found["words"]
    assert fit.config.group_means == "raters"
    assert fit.table("spreads").filter(pl.col("term") == "group")["p"].item() < 0.01
    ratings = rl.read(table, **named)
    np.testing.assert_allclose(fit.score(ratings)["theta"], fit.students["theta"], atol=1e-8)
    warned = rl.fit(ratings, "gmf", **PLAIN)
    assert any(each.startswith("Students of different raters differ") for each in warned.warnings)
    alike, _ = schools(400, sd=0.0, seed=3)
    fit = rl.fit(rl.read(alike, **named))
    (found,) = fit.assumptions.filter(assumption="assignment").iter_rows(named=True)
    assert found["p"] > 0.01
    assert found["words"].startswith("Ability does not vary")
    assert fit.table("spreads").filter(pl.col("term") == "group")["spread"].item() == 0


def test_the_fit_is_that_of_a_latent_regression_maximised_elsewhere() -> None:
    """Abilities integrated by Gauss and Hermite's rule around the mean of the student's group, slopes alike."""
    table, _ = schools(152, sd=0.9, seed=8)
    ratings = read(table)
    t, weight = np.polynomial.hermite_e.hermegauss(41)
    r, i, g = ratings.n_raters, ratings.n_items, len(ratings.group.labels)
    group = ratings.student_groups

    def minus_loglik(x: np.ndarray) -> float:
        slope, severity, difficulty, mean = x[0], x[1 : 1 + r], x[1 + r : r + i], x[r + i :]
        ability = np.append(mean, -mean.sum())[group][:, None] + t  # groups are of one size
        s = slope * ability[ratings.student] - severity[ratings.rater, None]
        s -= np.append(difficulty, -difficulty.sum())[ratings.item, None]
        log = special.log_expit(np.where(ratings.score[:, None] == 1, s, -s))
        each = np.zeros((ratings.n_students, len(t)))
        np.add.at(each, ratings.student, log)
        return -float(special.logsumexp(each + np.log(weight / weight.sum()), axis=1).sum())

    best = optimize.minimize(minus_loglik, np.append(1.0, np.zeros(r + i + g - 2)), method="BFGS")
    fit = rl.fit(ratings, "tfm", assumptions="ignore", **PLAIN)
    assert fit.loglik == pytest.approx(-best.fun, abs=1e-3)
    means = np.append(best.x[r + i :], -best.x[r + i :].sum())
    np.testing.assert_allclose(fit.table("groups")["mean"], means, atol=1e-3)


def test_many_groups_are_drawn_unless_they_are_large() -> None:
    small, large = (read(schools(students, 25, crossed=0.3)[0]) for students in (500, 2500))
    assert GroupMeans.of(small).drawn
    assert not GroupMeans.of(large).drawn
    assert GroupMeans.of(large, "raters").drawn


def test_large_sets_of_raters_are_told_apart_by_a_checksum() -> None:
    rows = [
        (student, f"r{rater}", 1) for student in "ab" for rater in range(8) if student == "a" or rater != 6
    ]
    table = pl.DataFrame(rows, schema=["student", "rater", "score"], orient="row")
    found = with_sets_of_raters(rl.read(table.with_columns(score=pl.int_range(pl.len()) % 2)))
    first, second = found.group.labels
    assert first != second
    assert {label[: label.index(" (")] for label in (first, second)} == {
        "r0 + r1 + r2 + 5 more",
        "r0 + r1 + r2 + 4 more",
    }


# ----------------------------------------------------------------------------------------------------
# Particulars of a shape of the students' distribution.


SHAPE_NODES = Nodes.equally_spaced(-8.0, 8.0, 0.2)


@pytest.fixture(scope="module")
def drawn():
    return rl.simulate(students=60, raters=4, items=2, halo=0.5, seed=4).ratings


def test_a_normal_shape_has_the_likelihood_of_no_shape(drawn):
    fit = rl.fit(drawn, model="gmf", ability="normal", halo="none", standard_errors=False)
    placed = place(_with(fit.calibration, {**fit.calibration.effects, SHAPE: np.zeros(2)}), drawn)
    assert placed.loglik() == pytest.approx(fit.loglik, abs=1e-5)


def _with(calibration, effects):
    from dataclasses import replace

    return replace(calibration, effects=effects, covariance=None)
