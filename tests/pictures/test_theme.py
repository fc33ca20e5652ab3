"""What all charts share."""

import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import OptionError
from raterlens.pictures.theme import extent, values


@pytest.mark.parametrize("width", [200, 5000])
def test_a_width_that_nobody_could_read_is_refused(three, width):
    with pytest.raises(OptionError, match="380 for a phone"):
        rl.charts.capability(three.fit, width=width)


def test_values_are_complete_and_without_nan():
    frame = pl.DataFrame({"x": [float("nan"), 1.0] * 2501})
    rows = values(frame).to_dict()["values"]
    assert len(rows) == 5002
    assert rows[0]["x"] is None
    assert values(frame.head(2))["x"].to_list() == [None, 1.0]


def test_extent_ignores_what_is_missing():
    assert extent(pl.Series([None, 3.0]), pl.Series([float("nan"), -1.0])) == (-1.0, 3.0)
    assert extent(pl.Series([], dtype=pl.Float64)) == (0.0, 0.0)
