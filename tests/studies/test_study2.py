"""Study 2 and the paper's outlook: noise, linkage, outlook."""

import numpy as np
import polars as pl
import pytest

from raterlens.simulation import example as writing
from raterlens.simulation.simulate import simulate
from raterlens.studies import outlook, study2
from raterlens.studies.figures import WIDTH, save
from raterlens.studies.study import Results, Task
from tests.support.replications import replicated


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


@pytest.mark.nightly
def test_study2_is_drawn_for_every_rater_and_topic(tmp_path):
    boxes = pl.DataFrame(
        [
            {
                "method": "mml",
                "level": level,
                "severity": x,
                "truth": 0.5,
                "rater": level[:2],
                "topic": level[3:],
            }
            | dict.fromkeys(("q05", "q25", "q50", "q75", "q95"), 0.5)
            for level in writing.RATERS
            for x in (-2.5, 2.5)
        ]
    )
    (svg, _) = save({"study2": study2.draw(Results("", {"boxes": boxes}))}, tmp_path)
    text = svg.read_text(encoding="utf-8")
    for level in writing.RATERS:
        assert level.replace(":", ", ") in text


def test_flipped_ratings_are_the_share_asked_for():
    drawn = simulate(students=2000, raters=4, items=5, severity=-6.0, slope=0.0, difficulty=0.0).ratings
    noisy = np.array([True, False, True, False])
    flipped = outlook.flip(drawn, noisy, 0.4, np.random.default_rng(0))
    fails = np.bincount(flipped.rater, 1 - flipped.score) / np.bincount(flipped.rater)
    np.testing.assert_allclose(fails, 0.2 * noisy, atol=0.02)


def test_from_draw_to_page_and_figure():
    study = outlook.NOISE
    results = study.summarise(replicated(study.replicate(Task(1, 0))))
    assert results.markdown.startswith("# ")
    assert f"raterlens study {study.name} --replications 2" in results.markdown
    assert "truth for noisy raters: 1 − s" in study.draw(results).svg(WIDTH)


@pytest.mark.parametrize("kind", [outlook.SET, outlook.CHAIN])
@pytest.mark.parametrize("common", outlook.COMMON)
def test_linkage_designs_give_every_rater_the_same_work(kind, common):
    student, rater = outlook.design(kind, common)
    assert np.unique(student).size == student.max() + 1
    np.testing.assert_array_equal(np.bincount(rater), outlook.WORK)
    raters_of = np.bincount(student)
    shared = np.bincount(rater[raters_of[student] > 1], minlength=outlook.LINKED)
    np.testing.assert_array_equal(shared, common)
    if common:
        assert raters_of.max() == (outlook.LINKED if kind == outlook.SET else 2)


def test_sorted_students_have_abilities_in_the_order_of_their_raters():
    student, rater = outlook.design(outlook.SET, 0)
    ability = outlook.abilities(student, rater, outlook.SORTED, np.random.default_rng(0))
    means = np.bincount(rater, ability[student]) / outlook.WORK
    assert np.corrcoef(np.arange(outlook.LINKED), means)[0, 1] > 0.9
    assert ability.std() == pytest.approx(1)


def test_from_draw_to_page_and_figure_of_linkage():
    study = outlook.LINKAGE
    results = study.summarise(replicated(study.replicate(Task(1, 0))))
    assert results.markdown.startswith("# ")
    assert f"raterlens study {study.name} --replications 2" in results.markdown
    assert "RMSE of severity η" in study.draw(results).svg(WIDTH)


def test_experience_explains_raters_better_than_their_own_few_ratings():
    study = outlook.COVARIATES
    rows = study.replicate(Task(1, 0))
    results = study.summarise(replicated(rows))
    error = results.tables["accuracy"].filter(parameter="kappa", scatter=0.0)
    rmse = dict(error.select("how", "rmse").iter_rows())
    assert rmse[outlook.EXPLAINED] < 0.5 * rmse[outlook.OWN]
    effects = rows.filter(pl.col("parameter") == "coefficient", pl.col("scatter") == 0.0)
    assert (effects["estimate"] - effects["truth"]).abs().max() < 0.03
    assert f"raterlens study {study.name} --replications 2" in results.markdown
    assert "What experience does not explain" in study.draw(results).svg(WIDTH)
