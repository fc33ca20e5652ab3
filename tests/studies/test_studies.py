"""The other studies: their designs, what they must show, and that each runs from draw to page."""

import numpy as np
import polars as pl
import pytest

from raterlens.simulation.simulate import simulate
from raterlens.studies import linkage, misspecified, noise, recovery, study2
from raterlens.studies import rater_covariates as covariates
from raterlens.studies import ratings_per_student as ratings
from raterlens.studies.accuracy import accuracy
from raterlens.studies.catalogue import STUDIES
from raterlens.studies.study import Study, Task, get_study


def replicated(rows: pl.DataFrame) -> pl.DataFrame:
    """Two replications of the same rows: enough for every summary."""
    return pl.concat([rows.select(pl.lit(i, pl.Int32).alias("replication"), pl.all()) for i in range(2)])


def test_accuracy_by_hand():
    rows = pl.DataFrame(
        {
            "replication": [0, 0, 1, 1],
            "level": ["a", "b", "a", "b"],
            "truth": 1.0,
            "estimate": [1.1, 0.9, 1.3, 0.9],
        }
    )
    each = accuracy(rows, ["level"])
    assert each["bias"].to_list() == pytest.approx([0.2, -0.1])
    assert each["rmse"].to_list() == pytest.approx([np.sqrt((0.01 + 0.09) / 2), 0.1])
    assert each["bias_se"].to_list() == pytest.approx([np.std([0.1, 0.3], ddof=1) / np.sqrt(2), 0.0])
    pooled = accuracy(rows.with_columns(all=pl.lit("all")), ["all"])
    assert pooled["bias"].item() == pytest.approx(0.05)
    assert pooled["rmse"].item() == pytest.approx(np.sqrt(np.mean([0.01, 0.01, 0.09, 0.01])))


def test_standard_errors_are_those_of_repeated_studies():
    # 400 studies of 50 replications each: the spread of their bias and RMSE is the mean standard error they report.
    random = np.random.default_rng(1)
    rows = pl.DataFrame(
        {
            "study": np.repeat(np.arange(400), 50),
            "replication": np.tile(np.arange(50), 400),
            "truth": 0.0,
            "estimate": random.normal(0.3, 1.0, 20_000),
        }
    )
    found = accuracy(rows, ["study"])
    assert found["bias"].std() == pytest.approx(found["bias_se"].mean(), rel=0.15)
    assert found["rmse"].std() == pytest.approx(found["rmse_se"].mean(), rel=0.15)


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_of_the_catalogue_is_there(name):
    study = get_study(name)
    assert isinstance(study, Study)
    assert study.name == name


def test_study2_gives_every_rater_every_severity_and_keeps_the_average_rater():
    table = np.array([study2.severities(k) for k in range(51)])
    np.testing.assert_allclose(table.sum(axis=1), 0, atol=1e-12)
    for column in table.T:
        np.testing.assert_array_equal(np.sort(column), study2.GRID)


def test_study2_from_draw_to_page():
    results = study2.summarise(replicated(study2.replicate(Task(1, 0), conditions=range(0, 51, 25))))
    boxes = results.tables["boxes"]
    assert set(boxes["method"]) == {"hl", "mml"}
    assert (boxes["q05"] <= boxes["q95"]).all()
    assert "| AM:Sport | 0.48 | -1.77 |" in results.markdown


def test_flipped_ratings_are_the_share_asked_for():
    drawn = simulate(students=2000, raters=4, items=5, severity=-6.0, slope=0.0, difficulty=0.0).ratings
    noisy = np.array([True, False, True, False])
    flipped = noise.flip(drawn, noisy, 0.4, np.random.default_rng(0))
    fails = np.bincount(flipped.rater, 1 - flipped.score) / np.bincount(flipped.rater)
    np.testing.assert_allclose(fails, 0.2 * noisy, atol=0.02)


@pytest.mark.parametrize("kind", [linkage.SET, linkage.CHAIN])
@pytest.mark.parametrize("common", linkage.COMMON)
def test_linkage_designs_give_every_rater_the_same_work(kind, common):
    student, rater = linkage.design(kind, common)
    assert np.unique(student).size == student.max() + 1
    np.testing.assert_array_equal(np.bincount(rater), linkage.WORK)
    raters_of = np.bincount(student)
    shared = np.bincount(rater[raters_of[student] > 1], minlength=linkage.RATERS)
    np.testing.assert_array_equal(shared, common)
    if common:
        assert raters_of.max() == (linkage.RATERS if kind == linkage.SET else 2)


def test_sorted_students_have_abilities_in_the_order_of_their_raters():
    student, rater = linkage.design(linkage.SET, 0)
    ability = linkage.abilities(student, rater, linkage.SORTED, np.random.default_rng(0))
    means = np.bincount(rater, ability[student]) / linkage.WORK
    assert np.corrcoef(np.arange(linkage.RATERS), means)[0, 1] > 0.9
    assert ability.std() == pytest.approx(1)


@pytest.mark.parametrize("source", misspecified.SOURCES)
def test_misspecified_sources_pass_and_fail_often(source):
    drawn = misspecified.draw(source, [1, 2])
    rate = np.bincount(drawn.ratings.rater, drawn.ratings.score) / np.bincount(drawn.ratings.rater)
    assert 0.1 < rate.min() < rate.max() < 0.9
    assert drawn.truth.ability.std() == pytest.approx(1, abs=0.15)


def test_recovery_of_every_model_from_draw_to_page():
    rows = recovery.replicate(Task(1, 0), sizes=(100, 400))
    assert set(rows["case"]) == set(recovery.CASES)
    text = recovery.summarise(replicated(rows)).markdown
    assert "| GMF log | slope |" in text


def test_fewer_ratings_a_student_make_hierarchical_likelihood_overstate_severities():
    designs = {200: ratings.DESIGNS[200], 10: ratings.DESIGNS[10]}
    rows = ratings.replicate(Task(1, 0), designs, total=8_000)
    spread = {
        (method, each): estimate
        for method, each, estimate in rows.filter(pl.col("level") == ratings.SEVERITY)
        .select("method", "each", "estimate")
        .iter_rows()
    }
    assert spread["hl", 10] > spread["mml", 10] + 0.15
    assert abs(spread["hl", 200] - spread["mml", 200]) < 0.03
    assert abs(spread["laplace", 200] - spread["mml", 200]) < 0.01


@pytest.mark.parametrize(
    "study", [noise.STUDY, misspecified.STUDY, covariates.STUDY, linkage.STUDY], ids=lambda study: study.name
)
def test_other_studies_from_draw_to_page(study):
    results = study.summarise(replicated(study.replicate(Task(1, 0))))
    assert results.markdown.startswith("# ")
    assert f"raterlens study {study.name} --replications 2" in results.markdown
