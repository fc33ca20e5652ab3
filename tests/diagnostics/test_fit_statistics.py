"""Mean squares against mirt; unexpected ratings and curves against the ratings themselves."""

import polars as pl
import pytest

import raterlens as rl
from benchmarks.truth.planted_faults import diagnosed, panel
from raterlens.base.errors import OptionError

# Both programs maximise the same likelihood; what is left is their optimisers' last step.
AGREES = 2e-5

# mirt 1.2.0: fit_mfrm(ManyFacetRaschModel(5, [Facet("rater", 16)]), scores, {"rater": rater}, item_indices=item)
INFIT = [0.92779, 1.05919, 1.19728, 1.10838, 1.01297, 0.99443, 1.02867, 0.9909]

INFIT += [1.01306, 0.93388, 1.00935, 0.89058, 1.00046, 0.89682, 1.01762, 0.92037]

OUTFIT = [1.15715, 1.23784, 1.81711, 2.03816, 1.01141, 1.21247, 1.17539, 0.87823]

OUTFIT += [0.8609, 0.80437, 0.89405, 0.91679, 0.79514, 0.72887, 0.90648, 0.69879]

ITEM_INFIT = [0.9713691, 0.96764751, 0.90192328, 1.13748842, 1.0078092]

ITEM_OUTFIT = [1.0898441, 0.78219171, 0.80215115, 1.62664798, 1.03530834]


def test_mean_squares_equal_those_of_mirt(writing):
    tables = rl.fit(writing, model="tfm").diagnose(writing)
    raters, items = tables.table("raters"), tables.table("items")
    assert raters["infit"].to_list() == pytest.approx(INFIT, abs=AGREES)
    assert raters["outfit"].to_list() == pytest.approx(OUTFIT, abs=AGREES)
    assert items["infit"].to_list() == pytest.approx(ITEM_INFIT, abs=AGREES)
    assert items["outfit"].to_list() == pytest.approx(ITEM_OUTFIT, abs=AGREES)


def test_students_and_unexpected_ratings():
    ratings = panel(1, "reversed")
    diagnosis = diagnosed(ratings)
    students, odd = diagnosis.table("students"), diagnosis.table("unexpected")
    assert students.height == ratings.n_students
    assert odd["probability"].is_sorted()
    assert odd["probability"].max() <= 0.05
    assert isinstance(odd, pl.DataFrame)
    first = odd.row(0, named=True)
    assert ratings.score[first["row"]] == first["score"]


def test_curves_of_one_rater_are_its_mean_scores_along_ability():
    ratings = panel(1, "reversed")
    diagnosis = diagnosed(ratings)
    mine = diagnosis.curves("R01")
    own = ratings.rater == 0
    assert mine["n"].sum() == own.sum()
    assert (mine["n"] * mine["observed"]).sum() == ratings.score[own].sum()
    assert mine["ability"].is_sorted()
    # A reversed rater gives too much to the weak and too little to the strong.
    assert mine["difference"][0] > 3 * mine["se"][0]
    assert mine["difference"][-1] < -3 * mine["se"][-1]
    with pytest.raises(OptionError, match="R99"):
        diagnosis.curves("R99")
