"""Where a shared dimension is refused, with the reason, and where it is left out in silence."""

import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import RaterlensError
from tests.support.shared_panels import panel


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior": "panel"}, "shared='yes' does not go with prior='panel'; leave out one of them"),
        ({"covariance": "sandwich"}, "does not go with covariance='sandwich'"),
        ({"link": "cauchit"}, "does not go with link='cauchit'"),
        ({"item_slopes": True}, "does not go with item_slopes=True"),
        ({"trusted": ["r00", "r01", "r02", "r03"]}, "6 raters, 4 of them trusted, are too few"),
    ],
)
def test_refused_where_asked_for_and_left_out_where_not(options: dict[str, object], message: str) -> None:
    ratings = panel(students=80, raters=6, known=60).ratings
    with pytest.raises(RaterlensError) as refused:
        rl.fit(ratings, shared=True, **{"model": "gmf"} | options)
    assert message in str(refused.value)
    assert "shared" not in rl.fit(ratings, **{"model": "gmf"} | options).tables


@pytest.mark.parametrize(
    ("known", "raters", "caution"),
    [
        (19, 6, "19 known answers may be taken"),
        (60, 4, "4 raters, 0 of them trusted, are too few"),
        (20, 6, ""),
    ],
)
def test_too_few_to_tell_the_truth_from_what_is_shared(known: int, raters: int, caution: str) -> None:
    ratings = panel(students=80, raters=raters, known=known).ratings
    fit = rl.fit(ratings, model="gmf", standard_errors=False)
    assert ("shared" in fit.tables) == (not caution)
    said = [text for text in map(str, fit.warnings) if "raters who share a bias outvote" in text]
    assert len(said) == bool(caution)
    assert all(caution in text for text in said)


def test_nothing_known_and_nobody_trusted() -> None:
    table = panel(students=40, raters=6).table.drop("gold")
    with pytest.raises(RaterlensError, match="no answer is known and no rater trusted"):
        rl.fit(table, model="gmf", shared=True)
    assert "shared" not in rl.fit(table, model="gmf").tables


def test_trusted_raters_who_share_no_student() -> None:
    table = panel(students=40, raters=6).table.drop("gold")
    apart = table.filter((pl.col("rater") == "r00") == (pl.col("student") < 20))
    with pytest.raises(RaterlensError, match="the trusted raters and the others share no student"):
        rl.fit(apart, model="gmf", shared=True, trusted="r00")
