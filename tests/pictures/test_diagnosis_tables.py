"""Tables for charts: those of the diagnosis."""

import pytest

from raterlens.pictures.diagnosis_tables import diagnosis_table


@pytest.mark.parametrize("table", ["raters", "curves"])
def test_tables_are_those_of_the_diagnosis(three, table):
    from_ratings = diagnosis_table(three.fit, three.ratings, table)
    from_diagnosis = diagnosis_table(three.fit, three.fit.diagnose(three.ratings), table)
    assert from_ratings.equals(from_diagnosis.select(from_ratings.columns))
