"""The hierarchical rater model and Dawid-Skene: likelihood by enumeration, derivatives by differences, estimates
against other programs and against known truth."""

import itertools
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import special, stats

import raterlens as rl
from raterlens.engine import student_items as student_items_module
from raterlens.engine.seam import Nodes
from raterlens.errors import InputError, OptionError
from raterlens.estimation import latent_class as latent_class_module
from raterlens.estimation.latent_class import estimate_latent_class, posterior_truth
from raterlens.estimation.latent_information import observed_information
from raterlens.estimation.latent_marginal import NO_ABILITY, LatentClassMarginal
from raterlens.inference.hrm import fit_latent_class
from raterlens.inference.latent_cautions import latent_class_cautions
from raterlens.inference.latent_spread import latent_class_spread
from raterlens.links import get_link
from raterlens.models.hrm import LatentClassModel

ITEMS = ["spe", "coh", "str", "gra", "con"]
NODES = Nodes.equally_spaced(-6.0, 6.0, 0.25)
BOTH = pytest.mark.parametrize("rasch", [True, False])
# Central differences with h = 1e-5 of numbers near 1e3: rounding 1e-13 * 1e3 / h.
DIFFERENCE = 1e-4


def long(rows) -> rl.Ratings:
    """Ratings from (student, rater, item, score)."""
    frame = pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row")
    return rl.read(frame, student="student", rater="rater", item="item", score="score")


def rows_of(ratings: rl.Ratings) -> list[tuple[int, int, int, int]]:
    columns = (ratings.student, ratings.rater, ratings.item, ratings.score)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@pytest.fixture(scope="module")
def panel() -> rl.Ratings:
    """40 students, 3 items, 2 of 5 raters each; some ratings twice, one rater who passes everything."""
    ratings = rl.simulate(model="hrm", students=40, raters=5, items=3, raters_per_student=2, seed=3).ratings
    rows = rows_of(ratings)
    rows += rows[:7] + [(s, r, i, 1 - y) for s, r, i, y in rows[7:10]]
    rows += [(s, 9, i, 1) for s in range(20) for i in range(2)]
    return long(rows)


def problem_on(ratings, rasch=True, link="logit") -> LatentClassMarginal:
    return LatentClassMarginal(
        ratings, LatentClassModel(ratings.n_raters, ratings.n_items, get_link(link), rasch)
    )


def somewhere(problem, seed=0):
    """Parameters with nothing special about them."""
    rng, blocks = np.random.default_rng(seed), problem.model.blocks
    x = rng.normal(0, 0.7, blocks.size)
    x[blocks["slope"]] = rng.uniform(0.5, 4, problem.model.n_raters)
    x[blocks["sigma"]] = 1.4
    return x


def nodes_of(problem):
    return NODES if problem.model.rasch else NO_ABILITY


# ---------------------------------------------------------------------------------------- likelihood


@BOTH
def test_likelihood_is_the_sum_over_all_true_categories(panel, rasch):
    """For each student, over all 2^items combinations of true categories and all abilities."""
    problem = problem_on(panel, rasch)
    x, nodes = somewhere(problem), nodes_of(problem)
    line = problem.model.lines(x)
    prevalence = problem.model.prevalence(x, nodes.points)
    expected, truths = 0.0, []
    for student in range(panel.n_students):
        mine = panel.student == student
        total, passed = np.zeros(len(nodes.points)), np.zeros(panel.n_items)
        for truth in itertools.product((0, 1), repeat=panel.n_items):
            category = np.array(truth)[panel.item[mine]]
            passing = 1 - stats.logistic.cdf(line[panel.rater[mine], category])
            ratings = np.prod(np.where(panel.score[mine] == 1, passing, 1 - passing))
            level_2 = np.prod([prevalence[xi, item] for item, xi in enumerate(truth)], axis=0)
            total += ratings * level_2
            passed += np.array(truth) * ((ratings * level_2) @ np.exp(nodes.log_weights))
        marginal = total @ np.exp(nodes.log_weights)
        expected += np.log(marginal)
        truths += list(passed[np.unique(panel.item[mine])] / marginal)
    assert problem.value(x, nodes).loglik == pytest.approx(expected, abs=1e-9)
    np.testing.assert_allclose(posterior_truth(problem, x, nodes), truths, atol=1e-10)


def test_a_pattern_is_one_cell_however_its_rows_are_ordered():
    one = [("A", "R1", "I1", 1), ("A", "R2", "I1", 0), ("A", "R1", "I1", 1)]
    other = [("B", "R2", "I1", 0), ("B", "R1", "I1", 1), ("B", "R1", "I1", 1)]
    different = [("C", "R1", "I1", 1), ("C", "R2", "I1", 0), ("C", "R1", "I1", 0)]
    units = problem_on(long(one + other + different)).units
    assert units.cell[0] == units.cell[1] != units.cell[2]
    assert units.n.tolist() == [3, 3, 3]
    assert units.passes.tolist() == [2, 2, 1]
    assert units.members[[units.cell[0]]].toarray().tolist() == [[0, 2, 1, 0]]


def test_parts_of_students_make_no_difference(panel, monkeypatch):
    whole = problem_on(panel)
    x = somewhere(whole)
    monkeypatch.setattr(student_items_module, "_PART", 7)
    parted = problem_on(panel)
    assert len(parted.parts) == 6
    one, many = whole.value(x, NODES), parted.value(x, NODES)
    assert many.loglik == pytest.approx(one.loglik, rel=1e-12)
    np.testing.assert_allclose(many.gradient, one.gradient, atol=1e-9)
    np.testing.assert_allclose(
        observed_information(parted, x, NODES), observed_information(whole, x, NODES), atol=1e-8
    )
    tables = parted.tables(x, NODES)
    moments, expected = parted.engine.moments(tables, NODES), parted.engine.evaluate(tables, NODES)
    alone = whole.engine.moments(whole.tables(x, NODES), NODES)
    np.testing.assert_allclose(moments.mean, alone.mean, atol=1e-12)
    np.testing.assert_allclose(moments.sd, alone.sd, atol=1e-12)
    assert parted.engine.n_students == panel.n_students
    assert expected.loglik == pytest.approx(one.loglik, rel=1e-12)
    assert expected.counts.sum() == pytest.approx(len(parted.units.item))


@BOTH
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_gradient_and_information_are_exact(panel, rasch, link):
    problem = problem_on(panel, rasch, link)
    x, nodes, h = somewhere(problem, 1), nodes_of(problem), 1e-5
    ahead = [problem.value(x + h * e, nodes) for e in np.eye(len(x))]
    behind = [problem.value(x - h * e, nodes) for e in np.eye(len(x))]
    slope = [(a.objective - b.objective) / (2 * h) for a, b in zip(ahead, behind, strict=True)]
    bend = [(a.gradient - b.gradient) / (2 * h) for a, b in zip(ahead, behind, strict=True)]
    np.testing.assert_allclose(problem.value(x, nodes).gradient, slope, atol=DIFFERENCE)
    np.testing.assert_allclose(observed_information(problem, x, nodes), -np.array(bend), atol=DIFFERENCE)


# ------------------------------------------------------------------------------------ other programs


@pytest.fixture(scope="module")
def annotations() -> np.ndarray:
    """300 tasks labelled by 5 annotators."""
    rng = np.random.default_rng(7)
    sensitivity, specificity = np.array([0.9, 0.8, 0.7, 0.95, 0.6]), np.array([0.85, 0.9, 0.75, 0.7, 0.65])
    truth = rng.random(300) < 0.4
    return np.where(
        truth[:, None], rng.random((300, 5)) < sensitivity, rng.random((300, 5)) >= specificity
    ).astype(int)


def as_ratings(labels: np.ndarray) -> rl.Ratings:
    tasks, annotators = labels.shape
    frame = pl.DataFrame(
        {
            "student": np.repeat(np.arange(tasks), annotators),
            "rater": np.tile(np.arange(annotators), tasks),
            "score": labels.ravel(),
        }
    )
    return rl.read(frame, student="student", rater="rater", score="score")


# PyPI crowd-kit 1.4.2 (left out of the dev tools for its 800 MB of dependencies) on `annotations`:
#   frame = pd.DataFrame({"task": ..., "worker": ..., "label": ...})
#   fitted = crowdkit.aggregation.DawidSkene(n_iter=100000, tol=1e-14).fit(frame)
#   fitted.errors_.loc[(worker, 1), 1], fitted.errors_.loc[(worker, 0), 0], fitted.priors_[1], fitted.probas_[1]
CROWD_KIT = {
    "sensitivity": [0.9476430620, 0.8541828504, 0.7796486500, 0.9125183109, 0.6884779727],
    "specificity": [0.8359599445, 0.8872302734, 0.7394255478, 0.6005770130, 0.6345486471],
    "prevalence": [0.36493],
}
CROWD_KIT_TASKS = [0.000126, 0.007529, 0.000126, 0.646750, 0.083506]


def test_dawid_skene_agrees_with_crowd_kit(annotations):
    fit = fit_latent_class(as_ratings(annotations), rasch=False)
    for name, expected in CROWD_KIT.items():
        np.testing.assert_allclose(getattr(fit, name), expected, atol=1e-5)
    np.testing.assert_allclose(fit.truth["probability"][:5], CROWD_KIT_TASKS, atol=2e-6)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_dawid_skene_agrees_with_a_few_lines_of_em(annotations, link):
    seen = np.random.default_rng(0).random(annotations.shape) < 0.7
    seen[:, 0] = True
    probability = (annotations * seen).sum(axis=1) / seen.sum(axis=1)
    for _ in range(3000):
        weights = np.stack([1 - probability, probability])
        rate = weights @ (annotations * seen) / (weights @ seen)
        prior = weights.mean(axis=1)
        given = np.where(seen, np.where(annotations == 1, rate[:, None], 1 - rate[:, None]), 1.0).prod(axis=2)
        joint = prior[:, None] * given
        probability = joint[1] / joint.sum(axis=0)
    task, annotator = np.nonzero(seen)
    rows = zip(
        task.tolist(), annotator.tolist(), ["all"] * len(task), annotations[seen].tolist(), strict=True
    )
    fit = fit_latent_class(long(list(rows)), rasch=False, link=link)
    assert fit.loglik == pytest.approx(np.log(joint.sum(axis=0)).sum(), abs=1e-7)
    np.testing.assert_allclose(fit.sensitivity, rate[1], atol=1e-5)
    np.testing.assert_allclose(fit.specificity, 1 - rate[0], atol=1e-5)
    np.testing.assert_allclose(fit.kappa, rate[1] - rate[0], atol=1e-5)
    np.testing.assert_allclose(fit.truth["probability"], probability, atol=1e-5)


@pytest.fixture(scope="module")
def first_essays(writing_path) -> rl.Ratings:
    """The writing data with only the first of repeated (student, rater, topic) rows."""
    rows = pl.read_csv(writing_path).unique(["pid", "rater", "topic"], keep="first", maintain_order=True)
    return rl.read(rows, student="pid", rater=["rater", "topic"], items=ITEMS, cut=3)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_writing_data_above_sirt_and_equal_to_an_independent_fit(first_essays, link):
    """rater = rater:topic, item = criterion, so that the essays of a student on several topics share a true category.

    R: sirt::rm.sdt(dat, pid, rater, est.c.rater = "r", est.d.rater = "r") stops at -2636.85. A direct maximisation
    with SciPy, apart from this package (81 nodes on [-8, 8]), reaches -2627.1339 and sigma 7.857 from every start.
    """
    assert first_essays.n_ratings == 5355
    fit = fit_latent_class(first_essays, link=link)
    assert fit.loglik > -2636.85
    assert fit.loglik == pytest.approx(-2627.1339, abs=1e-3)
    assert fit.sigma == pytest.approx(7.857, abs=2e-3)
    assert fit.record.converged
    assert fit.n_parameters == 16 + 16 + 5 + 1
    # With the probit link some starts end at another maximum, 0.62 lower, which Newton's method confirms.
    assert np.sum(fit.reached > fit.reached[0] - 0.1) == 3
    assert fit.flags == [""] * 16
    single, *several = fit.warnings
    assert single.startswith("145 of 1,815 student-items (8%) have a single rating")
    assert [text[:35] for text in several] == ["the likelihood has several maxima: "] * (link == "probit")
    assert np.nanmax(fit.kappa_se) < 0.07
    assert len(fit.truth) == 1815


# ------------------------------------------------------------------------------------------ estimates


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_parameters_are_recovered_within_their_standard_errors(link):
    slope = np.array([1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 2.0, 3.0]) / (1 if link == "logit" else 1.7)
    sample = rl.simulate(
        model="hrm", link=link, students=1500, raters=8, items=4, raters_per_student=2, slope=slope, sigma=1.5, seed=2
    )  # fmt: skip
    fit, truth = fit_latent_class(sample.ratings, link=link), sample.truth
    assert fit.record.converged
    assert fit.warnings == ()
    z = np.concatenate(
        [
            (fit.criterion - truth.severity) / fit.criterion_se,
            (fit.slope - truth.slope) / fit.slope_se,
            (fit.delta - truth.difficulty) / fit.delta_se,
            [(fit.sigma - truth.sigma) / fit.sigma_se],
            (fit.kappa - truth.kappa) / fit.kappa_se,
        ]
    )
    assert np.abs(z).max() < 3.5
    assert 0.6 < np.sqrt(np.mean(z**2)) < 1.4
    np.testing.assert_allclose(fit.alpha, truth.alpha, atol=0.2)
    assert ((fit.kappa_low < fit.kappa) & (fit.kappa < fit.kappa_high)).all()
    # Of a posterior mean, the covariance with the truth is its own variance.
    assert np.corrcoef(fit.moments.mean, truth.ability)[0, 1] == pytest.approx(
        fit.moments.mean.std(), abs=0.05
    )
    items = fit.truth.group_by("item", maintain_order=True).agg(pl.col("probability").mean())
    np.testing.assert_allclose(items["probability"], fit.prevalence, atol=0.02)


def test_standard_errors_do_not_depend_on_the_parametrisation_of_f():
    ratings = rl.simulate(model="hrm", students=300, raters=6, items=2, raters_per_student=3, seed=5).ratings
    logit, probit = (fit_latent_class(ratings, link=link) for link in ("logit", "probit"))
    assert logit.loglik == pytest.approx(probit.loglik, abs=1e-4)
    np.testing.assert_allclose(logit.kappa, probit.kappa, atol=1e-3)
    np.testing.assert_allclose(logit.kappa_se, probit.kappa_se, atol=2e-3)
    np.testing.assert_allclose(logit.sigma_se, probit.sigma_se, rtol=1e-2)


def test_repeated_ratings_share_the_true_category():
    """Ratings that merely repeat an earlier one are no second student: the model must not take them for agreement."""
    ratings = rl.simulate(model="hrm", students=200, raters=4, items=1, raters_per_student=2, seed=8).ratings
    rows = rows_of(ratings)
    twice = problem_on(long(rows + rows), rasch=False)
    x = somewhere(twice)
    units = twice.units
    assert (units.n == 4).all()
    one = problem_on(long(rows), rasch=False)
    log_answers = one.model.responses(x).log_prob.reshape(-1, 2)
    given = (one.units.members @ log_answers)[one.units.cell]
    prevalence = np.log(one.model.prevalence(x, NO_ABILITY.points)[:, 0, 0])
    expected = special.logsumexp(2 * given + prevalence, axis=1).sum()
    assert twice.value(x, NO_ABILITY).loglik == pytest.approx(expected, abs=1e-9)


def test_perfect_passing_and_failing_raters_are_finite_and_flagged():
    sample = rl.simulate(
        model="hrm",
        students=150,
        raters=3,
        items=2,
        slope=[3.0, 3.0, 3.0],
        criterion=[1.5, 1.5, 1.5],
        seed=11,
    )
    rows = [(s, f"R{r}", i, y) for s, r, i, y in rows_of(sample.ratings)]
    majority = {(s, i): [] for s, _, i, _ in rows}
    for s, _, i, y in rows:
        majority[s, i].append(y)
    for (s, i), scores in majority.items():
        rows += [(s, "all pass", i, 1), (s, "all fail", i, 0), (s, "perfect", i, int(np.mean(scores) > 0.5))]
    fit = fit_latent_class(long(rows))
    assert fit.flags == ["", "", "", "all fail", "all pass", "slope at limit"]
    assert fit.record.converged
    for name in ("criterion", "slope", "kappa", "kappa_se", "kappa_low", "kappa_high"):
        assert np.isfinite(getattr(fit, name)).all(), name
    assert (fit.kappa[3:5] < 0.01).all()
    assert (fit.kappa_high[3:5] < 0.1).all()
    assert fit.kappa[5] > 0.98
    assert 0.9 < fit.kappa_low[5] < fit.kappa[5]
    assert ((fit.kappa_low <= fit.kappa) & (fit.kappa <= fit.kappa_high)).all()
    assert any(w.startswith("no error of 'perfect'") for w in fit.warnings)


def test_a_rater_who_guesses_has_capability_zero_and_a_one_sided_interval():
    sample = rl.simulate(
        model="hrm", students=400, raters=4, items=1, slope=[4, 4, 4, 0], criterion=[2, 2, 2, 0], seed=2
    )
    fit = fit_latent_class(sample.ratings, rasch=False)
    assert fit.kappa[3] < 0.12
    assert fit.kappa_low[3] == 0
    assert 0.02 < fit.kappa_high[3] < 0.25
    rows = rows_of(sample.ratings)
    rows += [(s, 4, i, 1 - y) for s, r, i, y in rows if r == 0 and s < 200]
    against = fit_latent_class(long(rows), rasch=False)
    assert against.flags[4] == "slope at 0"
    assert against.kappa[4] == 0
    assert against.kappa_low[4] == 0
    assert 0 < against.kappa_high[4] < 0.2


def test_single_ratings_are_counted_and_said_plainly():
    sample = rl.simulate(model="hrm", students=80, raters=4, items=2, raters_per_student=1, seed=1)
    fit = fit_latent_class(sample.ratings, starts=2)
    assert fit.warnings[0].startswith("160 of 160 student-items (100%) have a single rating")
    assert "rated by two or more" in fit.warnings[0]
    assert np.nanmin(fit.kappa_high) > 0.3  # next to nothing is known, and the intervals say so
    with pytest.raises(InputError, match="single rating"):
        fit_latent_class(sample.ratings, rasch=False)


def test_starts_are_seeded_and_stop_when_three_agree(annotations):
    ratings = as_ratings(annotations[:60])
    fits = [fit_latent_class(ratings, rasch=False, seed=seed) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(fits[0].reached, fits[1].reached)
    np.testing.assert_array_equal(fits[0].kappa, fits[1].kappa)
    assert not np.array_equal(fits[0].reached, fits[2].reached)
    np.testing.assert_allclose(fits[0].kappa, fits[2].kappa, atol=1e-4)
    for fit in fits:
        assert len(fit.reached) == 3
        assert (np.diff(fit.reached) <= 0).all()
        assert fit.loglik >= fit.reached[0] - 1e-6


@BOTH
def test_starts_on_a_sample_of_students_end_at_the_same_maximum(monkeypatch, rasch):
    sample = rl.simulate(model="hrm", students=300, raters=5, items=2, raters_per_student=3, seed=6)
    rows = rows_of(sample.ratings)
    rows += [(s, 5, i, y) for s, r, i, y in rows if s < 3 and r < 2]  # hardly in any sample
    ratings = long(rows)
    model = problem_on(ratings, rasch).model
    whole = estimate_latent_class(ratings, model)
    monkeypatch.setattr(latent_class_module, "_ENOUGH_RATINGS", 400)
    sampled = estimate_latent_class(ratings, model)
    assert sampled.reached[0] > whole.reached[0] / 3
    assert sampled.loglik == pytest.approx(whole.loglik, abs=1e-5)
    np.testing.assert_allclose(sampled.parameters[:5], whole.parameters[:5], atol=1e-3)


@pytest.mark.parametrize(
    ("reached", "said"),
    [
        ([-100.0, -100.05, -100.09], None),
        (
            [-100.0, -100.05, -103.2, -104.6],
            "of 4 starts, 2 reached the best, and the others fell short by up to 4.6",
        ),
        ([-100.0, -100.3], "no second start found it"),
    ],
)
def test_several_maxima_are_said_plainly(panel, reached, said):
    found = estimate_latent_class(panel, problem_on(panel, rasch=False).model, starts=1)
    found = replace(found, reached=np.array(reached))
    spread = latent_class_spread(found, panel, standard_errors=False)
    warnings = [w for w in latent_class_cautions(panel, found, spread) if "several maxima" in w]
    assert (len(warnings) == 0) if said is None else (said in warnings[0])


def test_reported_gradient_vanishes_at_the_estimate(panel):
    found = estimate_latent_class(panel, problem_on(panel).model, starts=1)
    value = found.problem.value(found.parameters, found.nodes)
    lower, upper = found.problem.model.bounds()
    free = (found.parameters > lower) & (found.parameters < upper)
    assert np.abs(value.gradient[free]).max() < 1e-3
    assert value.loglik == found.loglik


def test_wrong_requests_say_what_to_do(writing_scores, panel):
    with pytest.raises(InputError, match="cut=3"):
        fit_latent_class(writing_scores)
    with pytest.raises(OptionError, match="probit"):
        fit_latent_class(panel, link="cloglog")
    with pytest.raises(OptionError, match="starts=0"):
        fit_latent_class(panel, starts=0)


def test_without_standard_errors_everything_else_stays(panel):
    quick, full = (fit_latent_class(panel, starts=1, standard_errors=wanted) for wanted in (False, True))
    np.testing.assert_array_equal(quick.kappa, full.kappa)
    assert np.isnan(quick.kappa_se).all()
    assert quick.flags == full.flags
